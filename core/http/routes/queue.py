"""The outbound queue: list, show, retry, resolve, purge."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline.core.errors import InvalidCall
from trunkline.core.http.endpoint import Call, Endpoint, Scope
from trunkline.core.http.routes.pages import Cursor, Limit, Name, Seconds
from trunkline.core.store.operators.queue import (
    InspectIntent,
    IntentInspection,
    QueueChanges,
    QueueOverview,
    ReadQueueOverview,
)
from trunkline.core.store.queue_admin import QueueFilter, QueueVerdict
from trunkline.core.values import IntentState

TAG = "Queue"


class QueueQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which intents, and which page of them."""

    state: tuple[IntentState, ...] = ()
    channel: str = ""
    cursor: Cursor = ""
    limit: Limit = 100


class RetryBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Either the ids of intents, which are retried all or none, or the states of those that are retried."""

    intents: Annotated[tuple[Name, ...], Meta(max_length=1000)] = ()
    state: tuple[IntentState, ...] = ()
    #: with states: only those to this platform
    channel: str = ""


class ResolveBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of the chunk in doubt."""

    verdict: QueueVerdict
    #: with ``sent``: the platform's id of the message
    message_id: Annotated[str, Meta(max_length=2000)] = ""


class PurgeBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which intents that have ended; at least one condition."""

    state: tuple[IntentState, ...] = ()
    channel: str = ""
    #: only those last written longer ago than this many seconds
    older_than: Seconds | None = None
    #: only count what would be removed
    dry_run: bool = False


class Purged(msgspec.Struct, frozen=True, kw_only=True):
    """What was removed."""

    #: how many intents matched, by state
    asked: dict[IntentState, int]
    removed: int


async def list_intents(call: Call) -> QueueOverview:
    """A page of the queue, and the totals."""
    asked: QueueQuery = call.query
    which = QueueFilter(states=asked.state, channel=asked.channel)
    now = call.served.env.now()
    query = ReadQueueOverview(which=which, cursor=asked.cursor, limit=asked.limit, now=now)
    return await call.served.store.read(query)


async def show_intent(call: Call) -> IntentInspection:
    """One intent with everything stored about it, and what can be done to it."""
    return await call.served.store.read(InspectIntent(intent=call.path["intent"], now=call.served.env.now()))


async def retry(call: Call) -> QueueChanges:
    """Retry intents that have ended."""
    body: RetryBody = call.body
    if bool(body.intents) == bool(body.state):
        raise InvalidCall("name the intents, or all of a state")
    if body.channel and not body.state:
        raise InvalidCall("a channel goes with a state")
    if body.intents:
        return await call.served.gateway.queue.retry(*body.intents)
    return await call.served.gateway.queue.retry_all(QueueFilter(states=body.state, channel=body.channel))


async def resolve(call: Call) -> QueueChanges:
    """Decide about a chunk in doubt."""
    body: ResolveBody = call.body
    if body.message_id and body.verdict is not QueueVerdict.SENT:
        raise InvalidCall("a message id goes with the verdict 'sent'")
    return await call.served.gateway.queue.resolve(call.path["intent"], body.verdict, body.message_id)


async def purge(call: Call) -> Purged:
    """Remove intents that have ended, or count them."""
    body: PurgeBody = call.body
    if not (body.state or body.channel or body.older_than is not None):
        raise InvalidCall("say which: a state, a channel or an age")
    before = None if body.older_than is None else call.served.env.now() - body.older_than
    which = QueueFilter(states=body.state, channel=body.channel, before=before)
    counts = await call.served.gateway.queue.purgeable(which)
    removed = 0 if body.dry_run or not counts else await call.served.gateway.queue.purge(which)
    return Purged(asked=counts, removed=removed)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/v1/queue",
        scope=Scope.READ,
        summary="List intents, in the order of their creation, with the totals by state.",
        run=list_intents,
        query=QueueQuery,
        answer=QueueOverview,
        problems=(400,),
        tag=TAG,
    ),
    Endpoint(
        method="POST",
        path="/v1/queue/retry",
        scope=Scope.OPERATE,
        summary="Retry intents that have ended: named ones, or all of some states.",
        run=retry,
        body=RetryBody,
        answer=QueueChanges,
        problems=(404, 409),
        tag=TAG,
    ),
    Endpoint(
        method="POST",
        path="/v1/queue/purge",
        scope=Scope.OPERATE,
        summary="Remove intents that have ended, or count what would be removed.",
        run=purge,
        body=PurgeBody,
        answer=Purged,
        problems=(409,),
        tag=TAG,
    ),
    Endpoint(
        method="GET",
        path="/v1/queue/{intent}",
        scope=Scope.READ,
        summary="Show one intent: chunks, receipts, attempts, and what can be done to it.",
        run=show_intent,
        answer=IntentInspection,
        problems=(404,),
        tag=TAG,
    ),
    Endpoint(
        method="POST",
        path="/v1/queue/{intent}/resolve",
        scope=Scope.OPERATE,
        summary="Say what became of a chunk in doubt.",
        run=resolve,
        body=ResolveBody,
        answer=QueueChanges,
        problems=(404, 409),
        tag=TAG,
    ),
)
