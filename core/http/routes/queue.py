"""The outbound queue: list, show, retry, resolve, purge."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline.core.errors import InvalidCall
from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Cursor, Limit, Name, Seconds, Verb, VerbCall
from trunkline.core.store.operators.queue import (
    InspectIntent,
    IntentInspection,
    QueueChanges,
    QueueOverview,
    ReadQueueOverview,
)
from trunkline.core.store.queue_admin import QueueFilter, QueueVerdict
from trunkline.core.values import IntentState


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


@Verb("GET", "/v1/queue", Scope.READ, query=QueueQuery, answer=QueueOverview, problems=(400,))
async def list_intents(call: VerbCall) -> QueueOverview:
    """List intents, in the order of their creation, with the totals by state."""
    asked: QueueQuery = call.query
    which = QueueFilter(states=asked.state, channel=asked.channel)
    now = call.operated.now()
    return await call.operated.read(ReadQueueOverview(which=which, cursor=asked.cursor, limit=asked.limit, now=now))


@Verb("GET", "/v1/queue/{intent}", Scope.READ, answer=IntentInspection, problems=(404,))
async def show_intent(call: VerbCall) -> IntentInspection:
    """Show one intent: chunks, receipts, attempts, and what can be done to it."""
    return await call.operated.read(InspectIntent(intent=call.path["intent"], now=call.operated.now()))


@Verb("POST", "/v1/queue/retry", Scope.OPERATE, body=RetryBody, answer=QueueChanges, problems=(404, 409))
async def retry(call: VerbCall) -> QueueChanges:
    """Retry intents that have ended: named ones, or all of some states."""
    body: RetryBody = call.body
    if bool(body.intents) == bool(body.state):
        raise InvalidCall("name the intents, or all of a state")
    if body.channel and not body.state:
        raise InvalidCall("a channel goes with a state")
    if body.intents:
        return await call.operated.queue.retry(*body.intents)
    return await call.operated.queue.retry_all(QueueFilter(states=body.state, channel=body.channel))


@Verb("POST", "/v1/queue/{intent}/resolve", Scope.OPERATE, body=ResolveBody, answer=QueueChanges, problems=(404, 409))
async def resolve(call: VerbCall) -> QueueChanges:
    """Say what became of a chunk in doubt."""
    body: ResolveBody = call.body
    if body.message_id and body.verdict is not QueueVerdict.SENT:
        raise InvalidCall("a message id goes with the verdict 'sent'")
    return await call.operated.queue.resolve(call.path["intent"], body.verdict, body.message_id)


@Verb("POST", "/v1/queue/purge", Scope.OPERATE, body=PurgeBody, answer=Purged, problems=(409,))
async def purge(call: VerbCall) -> Purged:
    """Remove intents that have ended, or count what would be removed."""
    body: PurgeBody = call.body
    if not (body.state or body.channel or body.older_than is not None):
        raise InvalidCall("say which: a state, a channel or an age")
    before = None if body.older_than is None else call.operated.now() - body.older_than
    which = QueueFilter(states=body.state, channel=body.channel, before=before)
    counts = await call.operated.queue.purgeable(which)
    removed = 0 if body.dry_run or not counts else await call.operated.queue.purge(which)
    return Purged(asked=counts, removed=removed)
