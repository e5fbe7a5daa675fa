"""The requests to a webhook, and the responses: JSON. Pure."""

from typing import Any

import msgspec

from trunkline.core.agents.calls import CallOutcome, RequestedCall
from trunkline.core.agents.turn_document import TurnDocument
from trunkline.core.well_formed import decode_json


class DoneCall(CallOutcome, frozen=True, kw_only=True, omit_defaults=True):
    """A call of an earlier response, and the result (`ok`), or the reason why nothing was done."""

    call: str
    tool: str
    params: dict[str, Any]


class PostedTurn(TurnDocument, frozen=True, kw_only=True, tag_field="type", tag="turn"):
    """The body of a request: the turn, and every call made so far, in order."""

    #: 0, and one more for each response with calls
    round: int = 0
    calls: tuple[DoneCall, ...] = ()


class WebhookReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a response: exactly one of `answer`, `calls` and `error`."""

    #: the text of the answer, or null for none
    answer: str | msgspec.UnsetType | None = msgspec.UNSET
    #: tools to call, in order; their results come with the next request
    calls: tuple[RequestedCall, ...] | msgspec.UnsetType = msgspec.UNSET
    #: why the turn cannot be answered
    error: str | msgspec.UnsetType = msgspec.UNSET
    #: with `error`: the receiver declines to answer, as a model may
    refused: bool = False


class BadReply(Exception):
    """The body of a response is malformed."""


_REPLY = msgspec.json.Decoder(WebhookReply)


def posted(document: TurnDocument, number: int, done: tuple[DoneCall, ...]) -> bytes:
    fields = {name: getattr(document, name) for name in TurnDocument.__struct_fields__}
    return msgspec.json.encode(PostedTurn(**fields, round=number, calls=done))


def read_reply(body: bytes) -> WebhookReply:
    """The reply in a body. Raises `BadReply`."""
    try:
        reply = decode_json(_REPLY.decode, body)
    except RecursionError:
        raise BadReply("it is nested too deeply") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise BadReply(str(error)) from None
    given = [name for name in ("answer", "calls", "error") if getattr(reply, name) is not msgspec.UNSET]
    if len(given) != 1:
        found = f"it has {' and '.join(given)}" if given else "it has none of them"
        raise BadReply(f"a reply has exactly one of answer, calls and error; {found}")
    if reply.calls is not msgspec.UNSET and not reply.calls:
        raise BadReply("`calls` is empty: answer null if there is nothing to say")
    if reply.refused and reply.error is msgspec.UNSET:
        raise BadReply("`refused` goes with `error`")
    return reply
