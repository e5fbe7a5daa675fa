"""The SQL of the queue for operators."""

import sqlite3

import msgspec

from trunkline.core.errors import StoreError, TrunklineError
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.states.intent import TRANSITIONS, DeliveryEvent
from trunkline.core.store.commands import ResolveIntent, RetryIntent
from trunkline.core.store.operators import queue as overview
from trunkline.core.store.operators.cursors import cursor_of, read_cursor
from trunkline.core.store.queries import CountIntents, ListIntents, ShowIntent
from trunkline.core.store.queue_admin import IntentDetails, QueueFilter
from trunkline.core.store.sqlite.lease import holder_of
from trunkline.core.store.sqlite.sql import queue
from trunkline.core.values import IntentId


class _Behind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A position in the queue: behind the intent with this number, which an intent that is reopened leaves."""

    intent: int


def read_overview(c: sqlite3.Connection, query: overview.ReadQueueOverview) -> overview.QueueOverview:
    which, after = query.which, read_cursor(query.cursor, _Behind).intent if query.cursor else 0
    rows = queue.list_intents(c, ListIntents(which=which, after=after, limit=query.limit))
    # A page that is not full is the last one.
    more = queue.count_behind(c, which, rows[-1].n) if rows and len(rows) == query.limit else 0
    return overview.QueueOverview(
        counts=queue.count_intents(c, CountIntents(which=QueueFilter())),
        rows=rows,
        more=more,
        holder=holder_of(c, query.now),
        at=query.now,
        next=cursor_of(_Behind(rows[-1].n)) if more else None,
    )


def inspect(c: sqlite3.Connection, query: overview.InspectIntent) -> overview.IntentInspection:
    holder, now = holder_of(c, query.now), query.now
    details, problem = None, ""
    try:
        details = queue.show_intent(c, ShowIntent(intent=query.intent))
    except StoreError as error:
        problem = error.facts
    [row] = queue.list_intents(c, ListIntents(which=QueueFilter(ids=(query.intent,)), limit=1))
    if details is None:
        return overview.IntentInspection(row=row, details=None, problem=problem, holder=holder, at=now)
    return overview.IntentInspection(row=row, details=details, can=_possible(details), holder=holder, at=now)


def _possible(shown: IntentDetails) -> tuple[DeliveryEvent, ...]:
    row = shown.intent
    lost = any(receipt.lost for receipt in shown.receipts)
    if (shown.replaced_by is not None or lost) and row.progress.state in overview.RETRYABLE:
        return ()
    last = row.progress.acked + 1 == len(row.content.chunks)
    other = DeliveryEvent.RESOLVE_CHUNK if last else DeliveryEvent.RESOLVE_LAST
    never = (other, DeliveryEvent.ABANDON) if row.progress.reason is Reason.ABANDONED else (other,)
    return tuple(
        event for event in overview.OPERATOR_EVENTS if event in TRANSITIONS[row.progress.state] and event not in never
    )


def change_queue(c: sqlite3.Connection, command: overview.ChangeQueue) -> overview.QueueChanges:
    changes: list[overview.QueueChange] = []
    skipped: list[overview.SkippedIntent] = []
    for change in command.changes:
        try:
            changes.append(_change(c, change))
        except TrunklineError as error:
            if not command.skip:
                raise
            # It is refused before anything of it is written.
            skipped.append(overview.SkippedIntent(id=IntentId(change.intent), why=error.facts))
    return overview.QueueChanges(changes=tuple(changes), skipped=tuple(skipped), holder=holder_of(c, command.now))


def _change(c: sqlite3.Connection, command: RetryIntent | ResolveIntent) -> overview.QueueChange:
    before: IntentRow = queue.retry(c, command) if isinstance(command, RetryIntent) else queue.resolve(c, command)
    after = queue.show_intent(c, ShowIntent(intent=before.id)).intent
    return overview.QueueChange(
        id=before.id,
        before=before.progress.state,
        after=after.progress.state,
        acked=after.progress.acked,
        chunks=len(after.content.chunks),
        was_in_doubt=before.progress.reason is Reason.ABANDONED and after.progress.reason is Reason.OPERATOR_UNSENT,
    )
