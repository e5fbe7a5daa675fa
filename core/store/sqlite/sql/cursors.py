"""The SQL of cursors: where the accounts of real platforms have read to."""

import sqlite3

from trunkline.core.store.cursors import FindCursor, SaveCursor

_SAVE = (
    "INSERT INTO cursors (channel, account, name, value) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (channel, account, name) DO UPDATE SET value = excluded.value"
)
_FIND = "SELECT value FROM cursors WHERE channel = ? AND account = ? AND name = ?"


def save(c: sqlite3.Connection, command: SaveCursor) -> None:
    c.execute(_SAVE, (command.channel, command.account, command.name, command.value))


def find(c: sqlite3.Connection, query: FindCursor) -> str | None:
    row = c.execute(_FIND, (query.channel, query.account, query.name)).fetchone()
    return None if row is None else str(row[0])
