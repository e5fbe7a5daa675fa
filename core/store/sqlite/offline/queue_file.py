"""The queue of a store file from outside: what operators see and do beside a gateway that runs, or without one.

A file is never created or brought up to date here. What is changed is changed in short transactions, for whose end
other writers wait; the process that works the store learns of it (see `trunkline.core.store.sqlite.sql.queue_admin`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from trunkline.core.delivery.states import OPEN, TRANSITIONS, DeliveryEvent
from trunkline.core.errors import IllegalTransition, StoreError, TrunklineError
from trunkline.core.reasons import Reason
from trunkline.core.store.records import IntentRow
from trunkline.core.store.sqlite import lease
from trunkline.core.store.sqlite.migrate import check_ours, newest
from trunkline.core.store.sqlite.offline.transcript_export import reading
from trunkline.core.store.sqlite.sql import queue_admin as operate
from trunkline.core.store.sqlite.sql.queue_admin import BATCH, Filter, QueueRow, Shown, Verdict
from trunkline.core.values import IntentId, IntentState

#: seconds that a change waits for other writers
_PATIENCE = 10.0
#: intents that are reopened in one transaction
_SOME = 100
#: states that an operator can have tried again
RETRYABLE = tuple(state for state in IntentState if DeliveryEvent.RETRY in TRANSITIONS[state])
#: states that want somebody's attention, and those in which something is still to be done
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


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the queue, and how much there is in all."""

    #: every intent of the store is in one of these states
    counts: dict[IntentState, int]
    rows: tuple[QueueRow, ...]
    #: how many more were asked for than are told here
    more: int
    #: who works the store; none: nobody does
    holder: str | None


class Inspected(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of an intent. `shown` none: its row cannot be read, and `problem` tells why."""

    row: QueueRow
    shown: Shown | None
    problem: str = ""
    #: its transcript line is still to be stored
    mirror_due: bool = False
    #: the try of its client's send that counts instead of it
    replaced_by: IntentId | None = None
    #: what an operator can do to it now
    can: tuple[DeliveryEvent, ...] = ()
    holder: str | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to an intent."""

    id: IntentId
    before: IntentState
    after: IntentState
    #: chunks with a receipt, and all of them
    acked: int
    chunks: int
    #: nobody knew of its next chunk whether it was sent, and it is sent now
    was_in_doubt: bool = False


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """An intent that was left as it was, and why."""

    id: IntentId
    why: str


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an operator's word. `holder`: who works the store, and takes it up; none: whoever starts next."""

    changes: tuple[Change, ...]
    skipped: tuple[Skipped, ...] = ()
    holder: str | None = None


# ---------------------------------------------------------------- the file


@contextmanager
def looking(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """A store to look into. Raises `StoreError`, naming the file, for what is no store of today's version."""
    with reading(path) as connection:
        _check(connection)
        connection.execute("BEGIN")
        yield connection


@contextmanager
def changing(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """A store to be changed. Raises as `looking`: what is no store is left as it is."""
    with looking(path):
        pass
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_PATIENCE)) as connection:
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
    """All of it, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def holder_of(connection: sqlite3.Connection, now: float) -> str | None:
    """Who works the store, as far as its lease tells."""
    row = lease.read(connection)
    return row.owner if row.owner and now < row.until else None


# ---------------------------------------------------------------- what there is


def overview(connection: sqlite3.Connection, which: Filter, *, limit: int, now: float) -> Overview:
    """Intents in the order in which they were created, at most `limit`."""
    rows = operate.list_intents(connection, which, limit=limit)
    left = operate.count(connection, which) - len(rows) if len(rows) == limit else 0
    return Overview(counts=operate.counts(connection), rows=rows, more=left, holder=holder_of(connection, now))


def inspect(connection: sqlite3.Connection, intent: str, *, now: float) -> Inspected:
    """One intent, and what can be done to it. Raises `UnknownName`."""
    holder, shown, problem = holder_of(connection, now), None, ""
    try:
        shown = operate.show(connection, intent)
    except StoreError as error:
        problem = error.facts
    [row] = operate.list_intents(connection, Filter(ids=(intent,)), limit=1)
    if shown is None:
        return Inspected(row=row, shown=None, problem=problem, holder=holder)
    replaced = operate.replaced_by(connection, shown.intent)
    return Inspected(
        row=row,
        shown=shown,
        mirror_due=operate.is_mirror_due(connection, row.id),
        replaced_by=replaced,
        can=() if replaced is not None and row.state in RETRYABLE else _can(shown.intent),
        holder=holder,
    )


_OPERATORS = (
    DeliveryEvent.RETRY,
    DeliveryEvent.RESOLVE_CHUNK,
    DeliveryEvent.RESOLVE_LAST,
    DeliveryEvent.RESOLVE_UNSENT,
    DeliveryEvent.ABANDON,
)


def _can(row: IntentRow) -> tuple[DeliveryEvent, ...]:
    """What the state machine lets an operator do to an intent."""
    last = row.acked + 1 == len(row.chunks)
    other = DeliveryEvent.RESOLVE_CHUNK if last else DeliveryEvent.RESOLVE_LAST
    return tuple(event for event in _OPERATORS if event in TRANSITIONS[row.state] and event is not other)


# ---------------------------------------------------------------- what is done


def retry(connection: sqlite3.Connection, intents: Sequence[str], *, now: float) -> Changed:
    """Have intents tried again: all of them, or none. Raises as `operate.retry`."""
    with in_transaction(connection):
        changes = tuple([_retry(connection, intent, now) for intent in dict.fromkeys(intents)])
    return Changed(changes=changes, holder=holder_of(connection, now))


def retry_all(connection: sqlite3.Connection, which: Filter, *, now: float) -> Changed:
    """Have all intents tried again that a filter finds, but for those that cannot be.

    Those that were abandoned in doubt are left alone: whoever wants them to be sent names them.
    """
    changes: list[Change] = []
    skipped: list[Skipped] = []
    ids = operate.ids(connection, which)
    for start in range(0, len(ids), _SOME):
        with in_transaction(connection):
            for intent in ids[start : start + _SOME]:
                try:
                    changes.append(_retry(connection, intent, now, in_doubt=False))
                except TrunklineError as error:
                    skipped.append(Skipped(id=intent, why=error.facts))
    return Changed(changes=tuple(changes), skipped=tuple(skipped), holder=holder_of(connection, now))


def _retry(connection: sqlite3.Connection, intent: str, now: float, *, in_doubt: bool = True) -> Change:
    before = operate.show(connection, intent).intent
    # Only an operator ends with this reason what may be tried again.
    abandoned = before.reason is Reason.PARKED and before.state in RETRYABLE
    if abandoned and not in_doubt:
        raise IllegalTransition(f"{intent}: it was abandoned while a chunk was in doubt; name it to have it sent again")
    operate.retry(connection, intent, now)
    return _changed(connection, before, was_in_doubt=abandoned)


def resolve(
    connection: sqlite3.Connection, intent: str, verdict: Verdict, *, now: float, provider_id: str = ""
) -> Changed:
    """Say what became of the chunk in doubt. Raises as `operate.resolve`."""
    with in_transaction(connection):
        before, _ = operate.resolve(connection, intent, verdict, now, provider_id=provider_id)
        change = _changed(connection, before)
    return Changed(changes=(change,), holder=holder_of(connection, now))


def _changed(connection: sqlite3.Connection, before: IntentRow, *, was_in_doubt: bool = False) -> Change:
    after = operate.show(connection, before.id).intent
    return Change(
        id=before.id,
        before=before.state,
        after=after.state,
        acked=after.acked,
        chunks=len(after.chunks),
        was_in_doubt=was_in_doubt,
    )


def purge(connection: sqlite3.Connection, which: Filter) -> int:
    """Remove intents that have ended, some at a time; how many. Raises `IllegalTransition` for states that are open."""
    check_purge(which)
    total, last = 0, BATCH
    while last == BATCH:
        with in_transaction(connection):
            last = operate.purge(connection, which)
            if last:
                operate.note_purge(connection, which, last)
        total += last
    return total


def check_purge(which: Filter) -> None:
    """Raise `IllegalTransition` where what is open is to be removed."""
    is_open = ", ".join(state.value for state in which.states if state in OPEN)
    if is_open:
        raise IllegalTransition(f"what is {is_open} is still to be sent, and is not removed")
