"""aiosqlite with one more verb: whole transactions in one hop to the connection's thread.

Each thread hop costs far more than a statement, so everything that is ready goes over together (DESIGN section 5.6).
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite
import msgspec

from trunkline.core.errors import LeaseLost, StoreError
from trunkline.core.store.sqlite import lease
from trunkline.core.store.sqlite.migrate import check_ours
from trunkline.core.store.sqlite.process_lock import FilePresence, NoPresence, Presence

#: fewer writes than this are done singly
_FEW = 8
#: KiB of pages that a connection keeps, at most. SQLite's own 2 MiB are less than the indexes that a busy day touches,
#: whose keys are as good as random: the same pages would be read again and again
_CACHE = 8192
T = TypeVar("T")
Op = Callable[[sqlite3.Connection], Any]


class Write(msgspec.Struct, frozen=True):
    """One write: what it does to the database, the story told after the commit, and what comes of it.

    `then` gets the story's answer on the loop, for all writes in the order of their commit (invariants O1, S4).
    """

    op: Op
    story: Callable[[Any], Any]
    then: Callable[[Any], None] | None = None
    #: gets the error of a write that failed for its own fault, where nobody waits for it
    failed: Callable[[Exception], None] | None = None
    #: how many writes of this kind are done at once, and what this one gives to that; `op` does the same singly
    bulk: Callable[[sqlite3.Connection, list[Any]], list[Any]] | None = None
    given: Any = None


class Failed(msgspec.Struct, frozen=True):
    """A write that was refused for its own fault; the others of its batch went through."""

    error: Exception


class Db(aiosqlite.Connection):
    """A connection in autocommit mode whose writes are explicit transactions."""

    _farewell: Any = None
    #: how other processes know that this one is dead
    presence: Presence = NoPresence()
    #: the lease that every transaction must still find; none: the store is used without one
    token: int | None = None

    def stop(self) -> Any:
        """Have the connection's thread end; see aiosqlite."""
        self._farewell = super().stop()  # pyright: ignore[reportUnknownMemberType]
        return self._farewell

    async def shut(self) -> None:
        """Close, and wait until the thread has nothing left to tell the loop, also when it never was open."""
        await self.close()
        if self._farewell is not None:
            await self._farewell

    async def transact(self, writes: Sequence[Write]) -> list[Any]:
        """Commit all writes in one transaction and return what their stories returned.

        A write that fails for its own fault gives `Failed`. Raises `sqlite3.OperationalError` when the database
        refuses everything (disk full, I/O error): nothing was stored then, and it may be tried again. When it refuses
        after some were stored, the answers of those are returned, fewer than asked: the others may be tried again.
        Raises `LeaseLost` when another process holds the store: nothing more was stored then.
        """
        return await self._execute(_transact, self._conn, writes, self.token)  # pyright: ignore[reportUnknownMemberType]

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function on the raw connection, in the connection's thread."""
        return await self._execute(work, self._conn)  # pyright: ignore[reportUnknownMemberType]


def _transact(connection: sqlite3.Connection, writes: Sequence[Write], token: int | None) -> list[Any]:
    try:
        answers = _together(connection, writes, token)
    except LeaseLost:
        raise
    except Exception as error:
        if _refuses_all(error):
            raise
        # One bad write must not sink its batch: find it by running them one by one.
        return _one_by_one(connection, writes, token)
    # Outside of the try: a story that raises must not have its write, which is committed, run again.
    return [write.story(answer) for write, answer in zip(writes, answers, strict=True)]


def _refuses_all(error: Exception) -> bool:
    """Whether the database would take no other write either: full, locked, I/O error.

    An error of the statement itself would come again for ever, and is the fault of its write.
    """
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.OperationalError) and code != sqlite3.SQLITE_ERROR


def _one_by_one(connection: sqlite3.Connection, writes: Sequence[Write], token: int | None) -> list[Any]:
    answers: list[Any] = []
    for write in writes:
        try:
            answers.append(_alone(connection, write, token))
        except sqlite3.OperationalError:
            # Only what would refuse every other write comes here.
            if not answers:
                raise
            break
    return answers


def _together(connection: sqlite3.Connection, writes: Sequence[Write], token: int | None) -> list[Any]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if token is not None:
            lease.check(connection, token)
        answers = _in_bulk(connection, writes) if len(writes) >= _FEW else _singly(connection, writes)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return answers


def _singly(connection: sqlite3.Connection, writes: Sequence[Write]) -> list[Any]:
    return [write.op(connection) for write in writes]


def _in_bulk(connection: sqlite3.Connection, writes: Sequence[Write]) -> list[Any]:
    """Do writes of one kind at once, as far as no other kind of write comes between; their answers, in order.

    The kinds that are done in bulk touch different rows, so between them the order does not matter.
    """
    answers: list[Any] = [None] * len(writes)
    waiting: dict[Any, list[int]] = {}
    for n, write in enumerate(writes):
        if write.bulk is not None:
            waiting.setdefault(write.bulk, []).append(n)
            continue
        _flush(connection, writes, waiting, answers)
        answers[n] = write.op(connection)
    _flush(connection, writes, waiting, answers)
    return answers


def _flush(
    connection: sqlite3.Connection, writes: Sequence[Write], waiting: dict[Any, list[int]], answers: list[Any]
) -> None:
    for bulk, places in waiting.items():
        found = _bulk(connection, bulk, [writes[n] for n in places])
        for n, answer in zip(places, found, strict=True):
            answers[n] = answer
    waiting.clear()


def _bulk(connection: sqlite3.Connection, bulk: Any, writes: Sequence[Write]) -> list[Any]:
    """Do writes of one kind; singly when they are few, or when one of them is not as usual."""
    if len(writes) < _FEW:
        return _singly(connection, writes)
    connection.execute("SAVEPOINT bulk")
    try:
        answers = bulk(connection, [write.given for write in writes])
    except (sqlite3.OperationalError, LeaseLost):
        raise
    except Exception:  # noqa: BLE001 -- whatever it is, doing them singly tells which of them it is
        connection.execute("ROLLBACK TO bulk")
        connection.execute("RELEASE bulk")
        return _singly(connection, writes)
    connection.execute("RELEASE bulk")
    return answers


def _alone(connection: sqlite3.Connection, write: Write, token: int | None) -> Any:
    try:
        answer = _together(connection, [write], token)[0]
    except LeaseLost:
        raise
    except Exception as error:
        if _refuses_all(error):
            raise
        return Failed(error)
    return write.story(answer)


def connect_file(path: Path, *, durability: str = "full") -> Db:
    """A connection to a store file. `durability`: ``full`` (a commit survives power loss) or ``normal``."""
    if durability not in ("full", "normal"):
        raise StoreError(f"durability {durability!r}: expected full or normal")

    def connect() -> sqlite3.Connection:
        _look_first(path)
        try:
            connection = sqlite3.connect(path, isolation_level=None, timeout=10.0)
        except sqlite3.Error as error:
            raise StoreError(f"{path}: {error}") from error
        try:
            # Before anything is written: even the journal mode is a change to a file that is not ours.
            _check(path, connection)
            connection.execute(f"PRAGMA cache_size={-_CACHE}")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={durability.upper()}")
        except BaseException as error:
            connection.close()
            if isinstance(error, sqlite3.Error):
                raise StoreError(f"{path}: {error}") from error
            raise
        return connection

    db = Db(connect, 64)
    db.presence = FilePresence(path)
    return db


def _check(path: Path, connection: sqlite3.Connection) -> None:
    """Raise, naming the file, for one that is not ours to change."""
    try:
        check_ours(connection)
    except StoreError as error:
        raise type(error)(f"{path}: {error.facts}") from None


def _look_first(path: Path) -> None:
    """Raise for a file that is not ours, if its last process crashed: to open and close such a one changes it."""
    if not path.with_name(f"{path.name}-wal").exists():
        return
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            _check(path, connection)
    except sqlite3.Error:
        # It cannot be read without being changed, or not at all: the real connection will tell.
        return
