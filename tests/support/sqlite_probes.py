"""What the tests of inline sqlite share."""

import contextlib
import sqlite3
from collections.abc import Awaitable
from functools import partial
from pathlib import Path

import aiosqlite


def connection_to(path: Path | str) -> aiosqlite.Connection:
    return aiosqlite.Connection(partial(sqlite3.connect, path, isolation_level=None), 64)


def count(path: Path | str) -> int:
    """How many rows the file holds, seen from outside."""
    with contextlib.closing(sqlite3.connect(path)) as raw:
        return raw.execute("SELECT count(*) FROM t").fetchone()[0]


async def refusal(awaitable: Awaitable[object]) -> str:
    """What an operation is refused with."""
    try:
        result = await awaitable
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        return f"{type(error).__name__}: {error}"
    return f"not refused: {result!r}"


async def insert(db: aiosqlite.Connection, number: int) -> None:
    await db.execute("INSERT INTO t VALUES (?)", (number,))
