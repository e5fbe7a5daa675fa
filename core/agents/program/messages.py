"""The messages between the gateway and a program: a JSON object per line; `type` says which. Pure."""

import msgspec

from trunkline.core.agents.calls import CallOutcome, RequestedCall
from trunkline.core.agents.turn_document import PROTOCOL, TurnDocument
from trunkline.core.well_formed import decode_json


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits for a program: seconds, calls, characters and bytes."""

    timeout: float
    max_calls: int
    max_answer: int
    max_line: int


class Welcome(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="hello"):
    """The first message to a program."""

    protocol: int = PROTOCOL
    agent: str
    limits: Limits


class ResultMessage(CallOutcome, frozen=True, kw_only=True, tag_field="type", tag="result", omit_defaults=True):
    """The result of a call (`ok`), or the reason why nothing was done."""

    turn: str
    call: str


class CancelMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="cancel"):
    """The turn has ended without the program's answer; later messages for the turn are ignored."""

    turn: str
    why: str


ToProgram = Welcome | TurnDocument | ResultMessage | CancelMessage


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="hello", forbid_unknown_fields=True):
    """The first message of a program: ready, with the version of the protocol."""

    protocol: int


class CallMessage(RequestedCall, frozen=True, kw_only=True, tag_field="type", tag="call", forbid_unknown_fields=True):
    """A call of a tool. `call` is the program's own id, which comes back with the result."""

    turn: str


class AnswerMessage(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="answer", forbid_unknown_fields=True
):
    """The end of a turn: the text of the answer, or null for none."""

    turn: str
    text: str | None


class FailMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="fail", forbid_unknown_fields=True):
    """The end of a turn without an answer. `refused`: the program declines, as a model may."""

    turn: str
    error: str
    refused: bool = False


class LogMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="log", forbid_unknown_fields=True):
    text: str
    turn: str | None = None


OfTurn = CallMessage | AnswerMessage | FailMessage
FromProgram = Hello | OfTurn | LogMessage


class Malformed(msgspec.Struct, frozen=True, kw_only=True):
    """A malformed line. `turn`: the turn named by the line, if readable."""

    what: str
    turn: str | None = None


class _Head(msgspec.Struct, frozen=True):
    turn: str


_FROM_PROGRAM: msgspec.json.Decoder[FromProgram] = msgspec.json.Decoder(FromProgram)
_HEAD = msgspec.json.Decoder(_Head)
_ENCODER = msgspec.json.Encoder()


def encode(message: ToProgram) -> bytes:
    return _ENCODER.encode(message) + b"\n"


def decode(line: bytes) -> FromProgram | Malformed:
    try:
        return decode_json(_FROM_PROGRAM.decode, line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Malformed(what=what, turn=_turn_of(line))


def _turn_of(line: bytes) -> str | None:
    try:
        return decode_json(_HEAD.decode, line).turn
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
