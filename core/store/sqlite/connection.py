"""aiosqlite with whole transactions in one hop to the connection's thread.

A thread hop costs far more than a statement, so all pending writes go over together (`docs/architecture.md`).
"""

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite
import msgspec

from trunkline.core.errors import LeaseLost, StoreError
from trunkline.core.store.commands import Write
from trunkline.core.store.sqlite import lease
from trunkline.core.store.sqlite.damage import check_start, is_damage, store_error
from trunkline.core.store.sqlite.file_watch import FileWatch
from trunkline.core.store.sqlite.handlers import BULK, HANDLERS, Handler
from trunkline.core.store.sqlite.migrate import check_file, check_ours
from trunkline.core.store.sqlite.process_lock import FileLock, NoLock, ProcessLock

#: fewer writes than this are run singly
_FEW = 8
#: KiB of pages that a connection caches. SQLite's default of 2 MiB is less than the indexes that a busy day touches;
#: their keys are nearly random, so the same pages would be read over and over
_CACHE = 8192
T = TypeVar("T")
_Bulk = Callable[[sqlite3.Connection, list[Any]], list[Any]]


class PendingWrite(msgspec.Struct, frozen=True):
    """A command with its handlers and callbacks; for `story` and `then` see `core.store.port.Store`."""

    command: Write[Any]
    handle: Handler
    #: handles commands of this type together; none: this one is handled singly
    bulk: _Bulk | None
    story: Callable[[Any], Any]
    then: Callable[[Any], None] | None
    #: gets the error of a submitted write that was refused for its own fault
    failed: Callable[[Exception], None] | None


def pending(
    command: Write[Any],
    story: Callable[[Any], Any],
    then: Callable[[Any], None] | None = None,
    failed: Callable[[Exception], None] | None = None,
) -> PendingWrite:
    kind = type(command)
    bulk = BULK.get(kind)
    together = None if bulk is None or not bulk.takes(command) else bulk.handle
    return PendingWrite(command, HANDLERS[kind], together, story, then, failed)


class FailedWrite(msgspec.Struct, frozen=True):
    """A write that was refused for its own fault; the others of its batch were committed."""

    error: Exception


class CommitInDoubt(sqlite3.OperationalError):
    """A COMMIT without an answer from a server. `note` keeps the answers of the writes until its outcome is known."""

    def __init__(self, said: str, note: Callable[[Sequence[PendingWrite], list[Any]], None]) -> None:
        super().__init__(said)
        self.note = note


class Db(aiosqlite.Connection):
    """A connection in autocommit mode whose writes are explicit transactions."""

    _stopped: Any = None
    #: lets other processes find out that this one is dead
    process_lock: ProcessLock = NoLock()
    #: the file; none: the database is not in a file
    file: FileWatch | None = None
    #: fencing token of the lease, checked by every transaction; none: the store is used without a lease
    token: int | None = None

    def stop(self) -> Any:
        """End the connection's thread; see aiosqlite."""
        self._stopped = super().stop()  # pyright: ignore[reportUnknownMemberType]
        return self._stopped

    async def shut(self) -> None:
        """Close, and wait until the thread has made its last call to the loop, also if it never was open."""
        await self.close()
        if self._stopped is not None:
            await self._stopped

    async def close(self) -> None:
        """Close the connection, and then the watch of the file."""
        await super().close()
        if self.file is not None:
            self.file.closed()

    async def transact(self, writes: Sequence[PendingWrite]) -> list[Any]:
        """Commit all writes in one transaction and return the results of their stories.

        A write that fails for its own fault gives `FailedWrite`. Raises `sqlite3.OperationalError` when the database
        refuses everything (disk full, I/O error): nothing was stored, and it may be tried again. When it refuses
        everything after some writes were stored one by one, only their results are returned: try the others again.
        Raises `LeaseLost` when another process holds the store, and `StoreDamaged`: nothing more was stored.
        """
        try:
            return await self._execute(_transact, self._conn, writes, self.token)  # pyright: ignore[reportUnknownMemberType]
        except sqlite3.DatabaseError as error:
            raise self._in_words(error) from error

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function on the raw connection, in the connection's thread. Raises `StoreDamaged`."""
        try:
            return await self._execute(work, self._conn)  # pyright: ignore[reportUnknownMemberType]
        except sqlite3.DatabaseError as error:
            raise self._in_words(error) from error

    def _in_words(self, error: sqlite3.DatabaseError) -> Exception:
        path = None if self.file is None else self.file.path
        return store_error(path, error) if is_damage(error) else error


def _transact(connection: sqlite3.Connection, writes: Sequence[PendingWrite], token: int | None) -> list[Any]:
    try:
        answers = _together(connection, writes, token)
    except LeaseLost:
        raise
    except Exception as error:
        if _refuses_all(error) or is_damage(error):
            raise
        # One bad write must not fail its batch: run them one by one.
        return _one_by_one(connection, writes, token)
    # Outside of the try: when a story raises, its write is committed already and must not run again.
    return [write.story(answer) for write, answer in zip(writes, answers, strict=True)]


def _refuses_all(error: Exception) -> bool:
    """Whether the database would refuse any other write too: full, locked, I/O error, no memory.

    An error of the statement itself would repeat for ever: it is the fault of its write.
    """
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, MemoryError) or (
        isinstance(error, sqlite3.OperationalError) and code != sqlite3.SQLITE_ERROR
    )


def _one_by_one(connection: sqlite3.Connection, writes: Sequence[PendingWrite], token: int | None) -> list[Any]:
    answers: list[Any] = []
    for write in writes:
        try:
            (answer,) = _together(connection, [write], token)
        except LeaseLost:
            raise
        except Exception as error:
            if is_damage(error):
                raise
            if not _refuses_all(error):
                answers.append(FailedWrite(error))
            elif answers:
                break
            else:
                raise
        else:
            answers.append(write.story(answer))
    return answers


def _together(connection: sqlite3.Connection, writes: Sequence[PendingWrite], token: int | None) -> list[Any]:
    connection.execute("BEGIN IMMEDIATE")
    answers: list[Any] = []
    try:
        if token is not None:
            lease.check(connection, token)
        answers = _in_bulk(connection, writes) if len(writes) >= _FEW else _singly(connection, writes)
        connection.execute("COMMIT")
    except CommitInDoubt as doubt:
        doubt.note(writes, answers)
        raise
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return answers


def _singly(connection: sqlite3.Connection, writes: Sequence[PendingWrite]) -> list[Any]:
    return [write.handle(connection, write.command) for write in writes]


def _in_bulk(connection: sqlite3.Connection, writes: Sequence[PendingWrite]) -> list[Any]:
    """Run writes of one type together, unless a write without a bulk handler comes between; their answers, in order.

    The types with a bulk handler touch different rows, so their order among each other does not matter.
    """
    answers: list[Any] = [None] * len(writes)
    waiting: dict[_Bulk, list[int]] = {}
    for n, write in enumerate(writes):
        if write.bulk is not None:
            waiting.setdefault(write.bulk, []).append(n)
            continue
        _flush(connection, writes, waiting, answers)
        answers[n] = write.handle(connection, write.command)
    _flush(connection, writes, waiting, answers)
    return answers


def _flush(
    connection: sqlite3.Connection, writes: Sequence[PendingWrite], waiting: dict[_Bulk, list[int]], answers: list[Any]
) -> None:
    for bulk, places in waiting.items():
        found = _bulk(connection, bulk, [writes[n] for n in places])
        for n, answer in zip(places, found, strict=True):
            answers[n] = answer
    waiting.clear()


def _bulk(connection: sqlite3.Connection, bulk: _Bulk, writes: Sequence[PendingWrite]) -> list[Any]:
    """Run writes of one type; singly when they are few, or when one of them needs its single handler."""
    if len(writes) < _FEW:
        return _singly(connection, writes)
    connection.execute("SAVEPOINT bulk")
    try:
        answers = bulk(connection, [write.command for write in writes])
    except (sqlite3.OperationalError, LeaseLost, MemoryError):
        raise
    except Exception:  # noqa: BLE001 -- running them singly finds the one that failed
        connection.execute("ROLLBACK TO bulk")
        connection.execute("RELEASE bulk")
        return _singly(connection, writes)
    connection.execute("RELEASE bulk")
    return answers


def connect_file(path: Path, *, durability: str = "full") -> Db:
    """A connection to a store file. `durability`: ``full`` (a commit survives power loss) or ``normal``."""
    if durability not in ("full", "normal"):
        raise StoreError(f"durability {durability!r}: expected full or normal")

    file = FileWatch(path)

    def connect() -> sqlite3.Connection:
        try:
            closed = file.before_opening()
            _check_before_opening(path)
            connection = sqlite3.connect(path, isolation_level=None, timeout=10.0)
            try:
                # Before any write: even setting the journal mode changes a file that is not ours.
                check_file(path, connection)
                check_start(connection, path, closed=closed and not lease.is_held(connection))
                connection.execute(f"PRAGMA cache_size={-_CACHE}")
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute(f"PRAGMA synchronous={durability.upper()}")
                check_ours(connection)
                file.opened()
            except BaseException:
                connection.close()
                raise
        except BaseException as error:
            file.closed()
            if isinstance(error, sqlite3.Error | MemoryError | OSError):
                raise store_error(path, error) from error
            raise
        return connection

    db = Db(connect, 64)
    db.process_lock, db.file = FileLock(path), file
    return db


def _check_before_opening(path: Path) -> None:
    """Raise for a file of another program that crashed: opening and closing such a file changes it."""
    if not path.with_name(f"{path.name}-wal").exists():
        return
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            check_file(path, connection)
    except sqlite3.Error:
        # It cannot be read without a change, or not at all: the real connection raises the error.
        return
