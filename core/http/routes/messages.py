"""Sends of clients: one message, or one to several targets."""

from typing import Annotated

import anyio
import msgspec
from msgspec import Meta

from trunkline.core.errors import SendFailed, UsageError
from trunkline.core.gateway import Gateway
from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint, Name
from trunkline.core.message_parts import MessageParts
from trunkline.core.sends.api import Broadcasted, SendMessage, SendOutcome, Target, spread
from trunkline.core.values import Poll

#: seconds that a request waits for a delivery by default, and at most
_WAIT = 30.0
_LONGEST = 300.0
Wait = Annotated[float, Meta(ge=0, le=_LONGEST)]


class MessageBody(SendMessage, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message to send."""

    #: idempotency key: what is sent with it is sent once, however often it is asked for
    key: Name
    #: wait until it is delivered, at most this many seconds; false: only until it is durable
    wait: bool | Wait = True


class BroadcastBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message to several targets, each with a separate key. See `SendMessage`."""

    targets: Annotated[tuple[Target, ...], Meta(min_length=1, max_length=100)]
    #: idempotency key: what is sent with it is sent once, however often it is asked for
    key: Name
    #: for targets that name none
    channel: str | None = None
    account: str | None = None
    text: str = ""
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    agent: str | None = None
    session_key: str | None = None
    poll: Poll | None = None
    payload: str | None = None
    parts: MessageParts | None = None
    best_effort: bool = False
    dry_run: bool = False
    #: wait until all are delivered, at most this many seconds; false: only until they are durable
    wait: bool | Wait = True


class BroadcastAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of each target, in their order."""

    results: tuple[Broadcasted, ...]


@Endpoint("POST", "/v1/messages", Scope.SEND, body=MessageBody, answer=SendOutcome, problems=(502,))
async def send(call: Call) -> SendOutcome:
    """Send a message, once per key; or say what would be sent, with `dry_run`."""
    body: MessageBody = call.body
    message = SendMessage(**{name: getattr(body, name) for name in body.__struct_fields__ if name != "wait"})
    gateway = call.served.gateway
    if body.wait is False:
        return await gateway.enqueue(message)
    with anyio.move_on_after(_seconds(body.wait)):
        return await gateway.send(message)
    # By the same key: it is stored now, if it was not yet.
    return await gateway.enqueue(message)


def _seconds(wait: bool | float) -> float:
    return _WAIT if wait is True else float(wait)


@Endpoint("POST", "/v1/messages/broadcast", Scope.SEND, body=BroadcastBody, answer=BroadcastAnswer)
async def broadcast(call: Call) -> BroadcastAnswer:
    """Send a message to several targets; the failure of one is in its result.

    Send to several targets, each as a message of its own.
    """
    body: BroadcastBody = call.body
    gateway = call.served.gateway
    fields = {name: getattr(body, name) for name in body.__struct_fields__ if name not in ("targets", "wait")}
    message = SendMessage(to="", **fields)
    if body.wait is not False:
        with anyio.move_on_after(_seconds(body.wait)):
            return BroadcastAnswer(results=await gateway.broadcast(message, body.targets))
    sends = zip(spread(message, body.targets), body.targets, strict=True)
    return BroadcastAnswer(results=tuple([await _enqueue(gateway, each, target) for each, target in sends]))


async def _enqueue(gateway: Gateway, message: SendMessage, target: Target) -> Broadcasted:
    try:
        return Broadcasted(target=target, outcome=await gateway.enqueue(message))
    except (UsageError, SendFailed) as error:
        return Broadcasted(target=target, error=error.facts)
