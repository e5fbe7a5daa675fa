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

from trunkline.core.errors import StoreError
from trunkline.core.store.commands import PurgeIntents, ResolveIntent, RetryIntent
from trunkline.core.store.operators.queue import ChangeQueue, QueueChanges, check_purge, joined
from trunkline.core.store.queries import ListIntents
from trunkline.core.store.queue_admin import BATCH, QueueFilter, QueueVerdict
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.migrate import check_ours, newest
from trunkline.core.store.sqlite.offline.reading import reading
from trunkline.core.store.sqlite.sql.operators.holder import holder_of
from trunkline.core.store.sqlite.sql.queue import note_purge

#: seconds that a change waits for other writers
_TIMEOUT = 10.0
#: intents that one transaction reopens
_PAGE = 100
#: more intents than a store has
_ALL = sys.maxsize


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


# ---------------------------------------------------------------- changes


def retry(connection: sqlite3.Connection, intents: Sequence[str], *, now: float) -> QueueChanges:
    """Reopen all of these intents, or none. Raises as `RetryIntent`."""
    return _change(connection, [RetryIntent(intent=intent, now=now) for intent in dict.fromkeys(intents)], now=now)


def retry_all(connection: sqlite3.Connection, which: QueueFilter, *, now: float) -> QueueChanges:
    """Reopen all matching intents that can be reopened."""
    found = [row.id for row in ask(connection, ListIntents(which=which, limit=_ALL))]
    done = QueueChanges(changes=())
    for start in range(0, len(found), _PAGE):
        commands = [RetryIntent(intent=intent, now=now) for intent in found[start : start + _PAGE]]
        done = joined(done, _change(connection, commands, now=now, skip=True))
    return msgspec.structs.replace(done, holder=holder_of(connection, now))


def resolve(
    connection: sqlite3.Connection, intent: str, verdict: QueueVerdict, *, now: float, provider_id: str = ""
) -> QueueChanges:
    """Record what became of the chunk in doubt. Raises as `ResolveIntent`."""
    command = ResolveIntent(intent=intent, verdict=verdict, now=now, provider_id=provider_id)
    return _change(connection, [command], now=now)


def _change(
    connection: sqlite3.Connection, changes: Sequence[RetryIntent | ResolveIntent], *, now: float, skip: bool = False
) -> QueueChanges:
    with in_transaction(connection):
        return execute(connection, ChangeQueue(changes=tuple(changes), skip=skip, now=now))


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
