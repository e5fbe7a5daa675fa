"""An empty store that one run hands to the next one, with its statements prepared.

A run prepares some forty statements, and that is a sixth of what it costs. Whoever makes many runs keeps a spare.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class _Empty(msgspec.Struct, frozen=True):
    """What a store looks like in which nothing is yet."""

    versions: tuple[int, int]
    #: table -> the rows that are there from the start
    tables: Mapping[str, Sequence[tuple[Any, ...]]]


class ReusableStore:
    """At most one connection to an empty store, for runs one after the other in one thread."""

    def __init__(self) -> None:
        self._held: sqlite3.Connection | None = None
        self._empty: _Empty | None = None

    def take(self) -> sqlite3.Connection | None:
        """The connection, if there is one: whoever takes it gives it back, or closes it."""
        held, self._held = self._held, None
        return held

    def note(self, connection: sqlite3.Connection) -> None:
        """Look at a new store, to know later what an empty one is."""
        if self._empty is None:
            names = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            tables = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}  # noqa: S608
            self._empty = _Empty(_versions(connection), tables)

    def give(self, connection: sqlite3.Connection) -> bool:
        """Empty a store and keep it; false for one that cannot be made as it was, which is not kept."""
        empty = self._empty
        if empty is None or self._held is not None:
            return False
        with contextlib.suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.rollback()
            if _versions(connection) != empty.versions:
                return False
            _wipe(connection, empty)
            self._held = connection
        return self._held is connection

    def __del__(self) -> None:
        if self._held is not None:
            sqlite3.Connection.close(self._held)


def _versions(connection: sqlite3.Connection) -> tuple[int, int]:
    """Schema cookie and version of the store: as they were, the tables are what they were."""
    return tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("schema_version", "user_version"))


def _wipe(connection: sqlite3.Connection, empty: _Empty) -> None:
    # The words differ from those of a store's own transactions, which a disk counts.
    connection.execute("SAVEPOINT wipe")
    for name, rows in empty.tables.items():
        connection.execute(f'DELETE FROM "{name}"')  # noqa: S608
        for row in rows:
            marks = ", ".join("?" * len(row))
            connection.execute(f'INSERT INTO "{name}" VALUES ({marks})', row)  # noqa: S608
    connection.execute("RELEASE wipe")
