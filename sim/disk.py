"""The disk: one in-memory SQLite database that outlives the processes that use it.

A crash leaves exactly what was committed. The connection that a process opens belongs to the disk; closing it closes
nothing. Commits are counted, so that a crash or an error can be put at any of them.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from functools import cache
from typing import Any

from core.store import Db, migrate
from sim.sqlite import make_inline


class SimConnection(sqlite3.Connection):
    """A connection that shows its disk each commit, and stays open when a process lets go of it."""

    disk: Disk

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run a statement; a COMMIT is told to the disk before and after."""
        if sql != "COMMIT":
            return super().execute(sql, parameters)
        self.disk.before_commit()
        cursor = super().execute(sql)
        self.disk.committed()
        return cursor

    def close(self) -> None:
        """Undo what is not committed; the data stays with the disk."""
        if self.in_transaction:
            super().execute("ROLLBACK")

    def discard(self) -> None:
        """Really close."""
        super().close()


class Disk:
    """Durable state of one run. `failing` may raise `sqlite3.OperationalError` before a commit."""

    def __init__(self, failing: Callable[[], None], on_commit: Callable[[int], None]) -> None:
        self._failing = failing
        self._on_commit = on_commit
        self._connection: SimConnection | None = None
        #: commits so far, over all processes
        self.commits = 0

    def open(self) -> sqlite3.Connection:
        """The raw connection, for whichever process is alive."""
        if self._connection is None:
            connection = sqlite3.connect(":memory:", isolation_level=None, factory=SimConnection, cached_statements=256)
            connection.disk = self
            _make_empty_store(connection)
            self._connection = connection
        return self._connection

    def connect(self) -> Db:
        """A connection as production code makes it, running inline in the simulated loop."""
        db = Db(self.open, 64)
        make_inline(db, latency=_latency)
        return db

    def before_commit(self) -> None:
        """A commit is about to happen."""
        self._failing()

    def committed(self) -> None:
        """A commit is durable. Whoever asked for it does not know yet."""
        self.commits += 1
        self._on_commit(self.commits)

    def crash(self) -> None:
        """The process died: what it had not committed is gone."""
        if self._connection is not None:
            self._connection.close()

    def discard(self) -> None:
        """The run is over."""
        if self._connection is not None:
            self._connection.discard()
            self._connection = None


@cache
def _empty_store() -> bytes:
    """A store in which nothing is yet, as the migrations make it."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        migrate(made)
        return made.serialize()


def _make_empty_store(connection: sqlite3.Connection) -> None:
    """What the migrations would make, for a tenth of what they cost: a sweep does it thousands of times."""
    with contextlib.closing(sqlite3.connect(":memory:")) as image:
        image.deserialize(_empty_store())
        image.backup(connection)


def _latency() -> float:
    """Virtual seconds of one statement or transaction."""
    return 0.0005
