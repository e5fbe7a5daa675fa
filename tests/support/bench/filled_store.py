"""Stores with a long past, or with a long queue: rows of the product, multiplied behind its back by SQL.

A gateway would take a long time for a million messages. One message goes through it, and each row that it left becomes
a template: the others differ only in what names a message, a conversation or a session. So this follows the schema.
"""

import contextlib
import sqlite3
from pathlib import Path

import anyio

from tests.support.bench.product import place, serving
from trunkline import SendMessage

_KEY = "template"
_PLACED = "replace({0}, :conversation, numbers.conversation)"
#: what is not the same for all, by table; the first names the row
_OWN = {
    "intents": {"id": "'send:' || numbers.key", "address": _PLACED, "mirror_key": _PLACED},
    "transcript": {"ref": "'send:' || numbers.key", "session_id": "numbers.session"},
}


def _mix(number: int) -> int:
    """A number of 63 bits whose order tells nothing."""
    return (number * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) % 2**63


def _number(connection: sqlite3.Connection, count: int, conversations: int, session_key: str) -> None:
    """A table of so many messages. Their keys are like random ones, and their rows are made in that order: an index is
    made far faster then, and is the same in the end."""
    connection.create_function("mix", 1, _mix, deterministic=True)
    connection.execute("CREATE TEMP TABLE conversations (name TEXT PRIMARY KEY, session TEXT) WITHOUT ROWID")
    connection.execute("CREATE TEMP TABLE numbers (key TEXT PRIMARY KEY, conversation TEXT, session TEXT)")
    first = place(0).conversation
    names = [(place(number).conversation,) for number in range(conversations)]
    connection.executemany(
        "INSERT INTO conversations SELECT :name, session_id FROM session_map"
        " WHERE session_key = replace(:key, :first, :name)",
        [{"name": name, "key": session_key, "first": first} for (name,) in names],
    )
    connection.execute(
        "INSERT INTO numbers WITH RECURSIVE up (x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM up WHERE x + 1 < ?)"
        " SELECT printf('%016x', mix(x)), name, session FROM up"
        " JOIN conversations ON name = CAST(? + x % ? AS TEXT)",
        (count, int(first), conversations),
    )


def _multiply(connection: sqlite3.Connection, table: str) -> None:
    """Rows for all numbers, as the template's."""
    own = _OWN[table]
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != "n"]
    values = [own[name].format(f"t.{name}") if name in own else f"t.{name}" for name in columns]
    connection.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)} FROM {table} t, numbers"
        f" WHERE t.{next(iter(own))} = :template ORDER BY numbers.key",
        {"template": f"send:{_KEY}", "conversation": place(0).conversation},
    )


async def _template(path: Path, *, over: bool) -> None:
    """One message: delivered, or durable and not sent."""
    async with serving(path, request_timeout=600) as running:
        if not over:
            running.platform.open = anyio.Event()
        await running.gateway.enqueue(SendMessage(to=place(0), text="an older message", key=_KEY))
        if over:
            await running.settled(1)


async def fill(path: Path, count: int, conversations: int, *, over: bool) -> None:
    """Add messages to a store that has the sessions of the conversations: delivered ones, or open ones."""
    await _template(path, over=over)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=-400000")
        connection.execute("PRAGMA temp_store=MEMORY")
        sql = "SELECT mirror_key FROM intents WHERE id = ?"
        (session_key,) = connection.execute(sql, (f"send:{_KEY}",)).fetchone()
        connection.execute("BEGIN")
        # The template is one of them.
        _number(connection, count - 1, conversations, session_key)
        for table in _OWN:
            _multiply(connection, table)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
