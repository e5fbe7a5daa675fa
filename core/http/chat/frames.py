"""The frames of `/v1/chat/ws`: JSON objects whose `type` says which. docs/http.md describes the protocol."""

from enum import IntEnum
from typing import Annotated

import msgspec

from trunkline.core.http.problems import Problem, ProblemDocument, document_of
from trunkline.core.message_parts import MessageParts
from trunkline.core.untrusted import check_ids
from trunkline.core.values import Poll
from trunkline.core.well_formed import decode_json

#: longest id of a message
LONGEST_ID = 200
#: longest name or id of a person
LONGEST_NAME = 200
#: longest text, in characters; the limit of frames counts bytes
LONGEST_TEXT = 200_000
#: greatest whole number that JavaScript counts exactly
MOST = 2**53 - 1


class Close(IntEnum):
    """Codes with which the server closes a socket: 4000 plus a status of HTTP, where one fits."""

    #: the server stops or starts again: connect again, with the cursor
    RESTART = 1012
    #: no usable `hello`
    BAD_HELLO = 4400
    #: the token is not known
    UNAUTHORIZED = 4401
    #: the token lacks the scope `send`, or is not bound to the person
    MISSING_SCOPE = 4403
    #: there is no mailbox account of this name
    UNKNOWN_ACCOUNT = 4404
    #: no `hello` came in time
    HELLO_TIMEOUT = 4408
    #: the client did not take what it was sent: connect again, with the cursor
    LAGGED = 4413
    #: too many sockets are open
    TOO_MANY = 4429
    #: the gateway has a defect; its log says more under the id of the request
    FAILED = 4500
    #: the gateway takes no work at the moment: connect again later
    STANDBY = 4503


class _Incoming(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    pass


class Person(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The person who speaks. The gateway knows a person by the id."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]
    name: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)] = ""

    def __post_init__(self) -> None:
        check_ids(self, "id")
        if self.id != self.id.strip():
            raise ValueError("`id` has blanks around it")


class HelloFrame(_Incoming, frozen=True, kw_only=True, tag="hello"):
    """The first frame: the person who speaks, the account, and the cursor of the client."""

    peer: Person
    #: not needed if the request had an `Authorization` header
    token: str | None = None
    channel: str = "webchat"
    account: str = "default"
    #: cursor of the last message that the client has; 0: all that the mailbox still holds
    after: Annotated[int, msgspec.Meta(ge=0, le=MOST)] = 0


class SayFrame(_Incoming, frozen=True, kw_only=True, tag="say"):
    """A message of the person. The same `id` and text again stores nothing, and is answered as the first time."""

    #: chosen by the client, unique among the messages of this conversation
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_ID)]
    text: Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
    #: cursor of the message whose button was pressed; `text` is the value of the button
    pressed: Annotated[int, msgspec.Meta(ge=1, le=MOST)] | None = None

    def __post_init__(self) -> None:
        check_ids(self, "id")


class PingFrame(_Incoming, frozen=True, kw_only=True, tag="ping"):
    """Asks for a `pong`: pages cannot see the pings of the WebSocket protocol."""


Incoming = HelloFrame | SayFrame | PingFrame


class ServerFrame(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """A frame from the server."""


class ReadyFrame(ServerFrame, frozen=True, kw_only=True, tag="ready"):
    """The answer to `hello`. Messages behind the cursor follow."""

    channel: str
    account: str
    peer: Person
    #: the cursor that the messages follow: that of `hello`, or 0 if the store is another one than the client has seen
    after: int
    #: messages up to this cursor are no longer kept
    pruned: int
    #: largest frame in bytes that the server reads; a larger one closes the socket
    max_frame: int


class SaidFrame(ServerFrame, frozen=True, kw_only=True, omit_defaults=True, tag="said"):
    """A message of the person is stored, or was dropped."""

    id: str
    #: ``admitted``, ``duplicate`` or ``dropped``
    status: str
    #: id of the stored message; of a duplicate, of the first one
    inbound: str | None = None
    #: why it was dropped, or that it is a duplicate
    reason: str | None = None
    #: what is wrong with a dropped message
    detail: str = ""
    session_id: str | None = None
    agent: str | None = None


class OwnFrame(ServerFrame, frozen=True, kw_only=True, tag="own"):
    """The person said this on another socket of the conversation, and it is stored."""

    id: str
    text: str
    #: seconds since the epoch
    at: float


class MessageFrame(ServerFrame, frozen=True, kw_only=True, omit_defaults=True, tag="message"):
    """A message to the person, in the order of the mailbox."""

    #: give the highest as `after` to go on behind it
    cursor: int
    text: str
    #: seconds since the epoch
    at: float
    media: tuple[str, ...] = ()
    #: id of the message that this one quotes
    reply_to: str | None = None
    thread: str | None = None
    poll: Poll | None = None
    #: JSON that only the client understands
    payload: str | None = None
    #: buttons, a card, ...
    parts: MessageParts | None = None


class CaughtUpFrame(ServerFrame, frozen=True, kw_only=True, tag="caught_up"):
    """All messages that were stored when the socket was opened have been sent."""

    cursor: int


class TypingFrame(ServerFrame, frozen=True, kw_only=True, tag="typing"):
    """The state of the conversation: whether a turn is under way."""

    on: bool


class FailedFrame(ServerFrame, frozen=True, kw_only=True, omit_defaults=True, tag="failed"):
    """A turn of the conversation has failed: only `turns.error_notice` answers it, if that is set."""

    #: a reason code; docs/reasons.md explains it
    reason: str | None = None


class PongFrame(ServerFrame, frozen=True, kw_only=True, tag="pong"):
    """The answer to `ping`."""


class ProblemFrame(ServerFrame, frozen=True, kw_only=True, omit_defaults=True, tag="problem"):
    """A problem with a frame, as HTTP answers it."""

    problem: ProblemDocument
    #: id of the message that was refused; none: the problem concerns another frame, or the socket
    id: str | None = None


class _Named(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_ID)]


_DECODER = msgspec.json.Decoder(Incoming)
_NAMES = msgspec.json.Decoder(_Named)
_ENCODER = msgspec.json.Encoder()


def decode(text: str) -> Incoming:
    """A frame of a client. Raises `Problem` 400 for what is no JSON, 422 for an unknown type and wrong fields."""
    try:
        return decode_json(_DECODER.decode, text)
    except msgspec.ValidationError as error:
        raise Problem(422, "invalid-frame", f"The frame is unusable: {error}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Problem(400, "invalid-json", f"The frame is not JSON: {said}") from None


def id_of(text: str) -> str | None:
    """The id of the message in a frame that `decode` refuses, so that its client learns which one it was."""
    try:
        return decode_json(_NAMES.decode, text).id
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def encode(frame: ServerFrame) -> str:
    return _ENCODER.encode(frame).decode()


def problem_frame(problem: Problem, request_id: str, said: str | None = None) -> ProblemFrame:
    """The frame of a problem; `said` is the id of the message that it concerns."""
    return ProblemFrame(problem=document_of(problem, request_id), id=said)
