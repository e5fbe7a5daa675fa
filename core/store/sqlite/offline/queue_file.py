"""Queue administration on a store file, beside a running gateway or without one.

A file is never created or migrated here. Changes are short transactions; the process that works the store is notified
(see `trunkline.core.store.sqlite.sql.queue`).
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from trunkline.core.delivery.states import OPEN, TRANSITIONS, DeliveryEvent
from trunkline.core.errors import IllegalTransition, StoreError, TrunklineError
from trunkline.core.reasons import Reason
from trunkline.core.store.commands import PurgeIntents, ResolveIntent, RetryIntent
from trunkline.core.store.queries import CountIntents, ListIntents, ShowIntent
from trunkline.core.store.queue_admin import BATCH, IntentDetails, QueueFilter, QueueRow, QueueVerdict
from trunkline.core.store.records import IntentRow
from trunkline.core.store.sqlite import lease
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.migrate import check_ours, newest
from trunkline.core.store.sqlite.offline.transcript_export import reading
from trunkline.core.store.sqlite.sql.queue import note_purge
from trunkline.core.values import IntentId, IntentState

#: seconds that a change waits for other writers
_TIMEOUT = 10.0
#: intents that one transaction reopens
_PAGE = 100
#: more intents than a store has
_ALL = sys.maxsize
#: states from which an operator can retry
RETRYABLE = tuple(state for state in IntentState if DeliveryEvent.RETRY in TRANSITIONS[state])
#: states that need attention, and open states
NOTICEABLE = (
    IntentState.UNKNOWN,
    IntentState.DEAD,
    IntentState.FAILED,
    IntentState.EXPIRED,
    IntentState.PARTIAL,
    IntentState.MISPLACED,
    IntentState.PREPARED,
    IntentState.SENDING,
)


class QueueOverview(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the queue, and the totals."""

    #: all intents of the store, by state
    counts: dict[IntentState, int]
    rows: tuple[QueueRow, ...]
    #: how many matching intents are not on this page
    more: int
    #: the process that works the store, if any
    holder: str | None


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """One intent for an operator. `details` none: its row cannot be read, and `problem` says why."""

    row: QueueRow
    details: IntentDetails | None
    problem: str = ""
    #: what an operator can do to it now
    can: tuple[DeliveryEvent, ...] = ()
    holder: str | None = None


class QueueChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one intent."""

    id: IntentId
    before: IntentState
    after: IntentState
    #: chunks with a receipt, and all chunks
    acked: int
    chunks: int
    #: its next chunk was given up in doubt, and is sent again now
    was_in_doubt: bool = False


class SkippedIntent(msgspec.Struct, frozen=True, kw_only=True):
    """An intent that was not changed, and why."""

    id: IntentId
    why: str


class QueueChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of an operator's command. `holder`: the process that acts on them; none: the next one to start."""

    changes: tuple[QueueChange, ...]
    skipped: tuple[SkippedIntent, ...] = ()
    holder: str | None = None


# ---------------------------------------------------------------- the file


@contextmanager
def open_to_read(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """Open a store in one read transaction. Raises `StoreError`, naming the file, unless it is of today's version."""
    with reading(path) as connection:
        _check(connection)
        connection.execute("BEGIN")
        yield connection


@contextmanager
def open_to_change(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """Open a store for changes. Raises as `open_to_read`; a file that is no store is left untouched."""
    with open_to_read(path):
        pass
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_TIMEOUT)) as connection:
            connection.execute("PRAGMA synchronous=FULL")
            yield connection
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from error


def _check(connection: sqlite3.Connection) -> None:
    version = check_ours(connection)
    if version != newest():
        today = newest()
        raise StoreError(
            f"it has version {version}, and today's is {today}: a gateway that starts brings it up to date"
        )


@contextmanager
def in_transaction(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Commit at the end, or roll back on an error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def holder_of(connection: sqlite3.Connection, now: float) -> str | None:
    """The process that works the store, according to its lease."""
    row = lease.read(connection)
    return row.owner if row.owner and now < row.until else None


# ---------------------------------------------------------------- queries


def overview(connection: sqlite3.Connection, which: QueueFilter, *, limit: int, now: float) -> QueueOverview:
    """The first `limit` matching intents in the order of their creation, and the totals."""
    rows = ask(connection, ListIntents(which=which, limit=limit))
    matching = ask(connection, CountIntents(which=which)) if len(rows) == limit else {}
    return QueueOverview(
        counts=ask(connection, CountIntents(which=QueueFilter())),
        rows=rows,
        more=max(sum(matching.values()) - len(rows), 0),
        holder=holder_of(connection, now),
    )


def inspect(connection: sqlite3.Connection, intent: str, *, now: float) -> Inspection:
    """One intent, and what an operator can do to it. Raises `UnknownName`."""
    holder, details, problem = holder_of(connection, now), None, ""
    try:
        details = ask(connection, ShowIntent(intent=intent))
    except StoreError as error:
        problem = error.facts
    [row] = ask(connection, ListIntents(which=QueueFilter(ids=(intent,)), limit=1))
    if details is None:
        return Inspection(row=row, details=None, problem=problem, holder=holder)
    stale = details.replaced_by is not None and row.state in RETRYABLE
    return Inspection(row=row, details=details, can=() if stale else _can(details.intent), holder=holder)


_OPERATORS = (
    DeliveryEvent.RETRY,
    DeliveryEvent.RESOLVE_CHUNK,
    DeliveryEvent.RESOLVE_LAST,
    DeliveryEvent.RESOLVE_UNSENT,
    DeliveryEvent.ABANDON,
)


def _can(row: IntentRow) -> tuple[DeliveryEvent, ...]:
    """The events that the state table allows an operator."""
    last = row.acked + 1 == len(row.chunks)
    other = DeliveryEvent.RESOLVE_CHUNK if last else DeliveryEvent.RESOLVE_LAST
    never = (other, DeliveryEvent.ABANDON) if row.reason is Reason.ABANDONED else (other,)
    return tuple(event for event in _OPERATORS if event in TRANSITIONS[row.state] and event not in never)


# ---------------------------------------------------------------- changes


def retry(connection: sqlite3.Connection, intents: Sequence[str], *, now: float) -> QueueChanges:
    """Reopen all of these intents, or none. Raises as `RetryIntent`."""
    with in_transaction(connection):
        changes = tuple([_retry(connection, intent, now) for intent in dict.fromkeys(intents)])
    return QueueChanges(changes=changes, holder=holder_of(connection, now))


def retry_all(connection: sqlite3.Connection, which: QueueFilter, *, now: float) -> QueueChanges:
    """Reopen all matching intents that can be reopened."""
    changes: list[QueueChange] = []
    skipped: list[SkippedIntent] = []
    ids = [row.id for row in ask(connection, ListIntents(which=which, limit=_ALL))]
    for start in range(0, len(ids), _PAGE):
        with in_transaction(connection):
            for intent in ids[start : start + _PAGE]:
                try:
                    changes.append(_retry(connection, intent, now))
                except TrunklineError as error:
                    skipped.append(SkippedIntent(id=intent, why=error.facts))
    return QueueChanges(changes=tuple(changes), skipped=tuple(skipped), holder=holder_of(connection, now))


def _retry(connection: sqlite3.Connection, intent: str, now: float) -> QueueChange:
    before = ask(connection, ShowIntent(intent=intent)).intent
    execute(connection, RetryIntent(intent=intent, now=now))
    return _change(connection, before)


def resolve(
    connection: sqlite3.Connection, intent: str, verdict: QueueVerdict, *, now: float, provider_id: str = ""
) -> QueueChanges:
    """Record what became of the chunk in doubt. Raises as `ResolveIntent`."""
    command = ResolveIntent(intent=intent, verdict=verdict, now=now, provider_id=provider_id)
    with in_transaction(connection):
        change = _change(connection, execute(connection, command))
    return QueueChanges(changes=(change,), holder=holder_of(connection, now))


def _change(connection: sqlite3.Connection, before: IntentRow) -> QueueChange:
    after = ask(connection, ShowIntent(intent=before.id)).intent
    return QueueChange(
        id=before.id,
        before=before.state,
        after=after.state,
        acked=after.acked,
        chunks=len(after.chunks),
        was_in_doubt=before.reason is Reason.ABANDONED and after.reason is Reason.OPERATOR_UNSENT,
    )


def purge(connection: sqlite3.Connection, which: QueueFilter) -> int:
    """Remove intents that have ended, in batches; how many. Raises `IllegalTransition` for open states."""
    check_purge(which)
    total, last = 0, BATCH
    while last == BATCH:
        with in_transaction(connection):
            last = execute(connection, PurgeIntents(which=which))
            if last:
                note_purge(connection, which, last)
        total += last
    return total


def check_purge(which: QueueFilter) -> None:
    """Raise `IllegalTransition` when a filter names an open state."""
    is_open = ", ".join(state.value for state in which.states if state in OPEN)
    if is_open:
        raise IllegalTransition(f"what is {is_open} is still to be sent, and is not removed")
