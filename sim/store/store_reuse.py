"""Reuses one in-memory database between runs to keep its prepared statements.

A run prepares some forty statements, which is a sixth of its cost.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class _Empty(msgspec.Struct, frozen=True):
    """The contents of an empty store."""

    versions: tuple[int, int]
    #: table -> its initial rows
    tables: Mapping[str, Sequence[tuple[Any, ...]]]


class ReusableStore:
    """Holds at most one connection to an empty store, for consecutive runs in one thread.

    SQLite lets no other thread use it, so a run in another thread gets a new one.
    """

    def __init__(self) -> None:
        self._held: sqlite3.Connection | None = None
        self._thread = 0
        self._empty: _Empty | None = None

    def take_connection(self) -> sqlite3.Connection | None:
        """Hand out the connection, if there is one for this thread. The caller gives it back, or closes it."""
        if self._thread != threading.get_ident():
            return None
        held, self._held = self._held, None
        return held

    def note(self, connection: sqlite3.Connection) -> None:
        """Remember the contents of a new store."""
        if self._empty is None:
            names = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            tables = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}  # noqa: S608
            self._empty = _Empty(_versions(connection), tables)

    def give(self, connection: sqlite3.Connection) -> bool:
        """Empty a store and keep it; false, without keeping it, if it cannot be restored."""
        empty = self._empty
        if empty is None or self._held is not None:
            return False
        with contextlib.suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.rollback()
            if _versions(connection) != empty.versions:
                return False
            _wipe(connection, empty)
            self._held, self._thread = connection, threading.get_ident()
        return self._held is connection

    def __del__(self) -> None:
        if self._held is not None and self._thread == threading.get_ident():  # SQLite refuses any other
            sqlite3.Connection.close(self._held)


def _versions(connection: sqlite3.Connection) -> tuple[int, int]:
    """Schema cookie and version of the store: while both are unchanged, so are the tables."""
    return tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("schema_version", "user_version"))


def _wipe(connection: sqlite3.Connection, empty: _Empty) -> None:
    # A savepoint, because the disk counts the transactions of a store.
    connection.execute("SAVEPOINT wipe")
    for name, rows in empty.tables.items():
        connection.execute(f'DELETE FROM "{name}"')  # noqa: S608
        for row in rows:
            marks = ", ".join("?" * len(row))
            connection.execute(f'INSERT INTO "{name}" VALUES ({marks})', row)  # noqa: S608
    connection.execute("RELEASE wipe")
