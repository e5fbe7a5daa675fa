"""The requests to a webhook, and the responses: JSON. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from trunkline.core.agents.calls import CallOutcome
from trunkline.core.agents.turn_document import TurnDocument
from trunkline.core.reasons import Reason

#: characters of a call's id, and of the error of a receiver
_LONGEST_ID = 200


class RequestedCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call of a tool. `call` is the receiver's own id, which comes back with the result."""

    call: str
    tool: str
    params: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class DoneCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call of an earlier response, and the result (`ok`), or the reason why nothing was done."""

    call: str
    tool: str
    params: dict[str, Any]
    ok: bool
    result: Any = None
    error: str = ""
    reason: Reason | None = None


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
    """The body of a request."""
    fields = {name: getattr(document, name) for name in TurnDocument.__struct_fields__}
    return msgspec.json.encode(PostedTurn(**fields, round=number, calls=done))


def done_call(call: RequestedCall, outcome: CallOutcome) -> DoneCall:
    """A call with the outcome."""
    return DoneCall(
        call=call.call,
        tool=call.tool,
        params=call.params,
        ok=outcome.ok,
        result=outcome.result,
        error=outcome.error,
        reason=outcome.reason,
    )


def read_reply(body: bytes) -> WebhookReply:
    """The reply in a body. Raises `BadReply`."""
    try:
        reply = _REPLY.decode(body)
    except RecursionError:
        raise BadReply("it is nested too deeply") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise BadReply(str(error)) from None
    given = [name for name in ("answer", "calls", "error") if getattr(reply, name) is not msgspec.UNSET]
    if len(given) != 1:
        found = f"it has {' and '.join(given)}" if given else "it has none of them"
        raise BadReply(f"a reply has exactly one of answer, calls and error; {found}")
    if reply.calls is not msgspec.UNSET:
        if not reply.calls:
            raise BadReply("`calls` is empty: answer null if there is nothing to say")
        if any(len(call.call) > _LONGEST_ID for call in reply.calls):
            raise BadReply(f"the id of a call has more than {_LONGEST_ID} characters")
    if reply.refused and reply.error is msgspec.UNSET:
        raise BadReply("`refused` goes with `error`")
    return reply
