"""What the pipeline is measured against, on the same disk in the same run: the rows alone, and a plain way to do it.

The rows are those that the product itself stores for such messages, read from its own store before and after the sends:
so a yardstick follows the schema. `raw` writes them with `executemany` in big transactions, and does nothing else.
`naive` does what a simple gateway does: three commits for each message, through aiosqlite, without any grouping.
"""

import asyncio
import contextlib
import os
import shutil
import sqlite3
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import aiosqlite
import anyio

from tests.support.bench.product import Load, Platform, SlowCommits, Where, key, serving
from trunkline.core.store.postgres.address import server_address
from trunkline.core.store.postgres.connection import PgConnection

Row = tuple[Any, ...]
#: messages of a transaction of `raw`
BATCH = 512
#: callers of `naive`
PRODUCERS = 64
#: tables that have nothing to do with messages
_OTHERS = ("lease", "sqlite_sequence")
_MARK = "UPDATE intents SET state = 'sending' WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Step:
    """A statement, and its rows in the order of the messages."""

    table: str
    #: the columns that it sets, and those of the key by which it finds its row; an INSERT has no key, a DELETE no sets
    sets: tuple[str, ...]
    keys: tuple[str, ...]
    rows: list[Row]

    @property
    def sql(self) -> str:
        """The statement for one row."""
        if not self.keys:
            return f"INSERT INTO {self.table} ({', '.join(self.sets)}) VALUES ({', '.join('?' * len(self.sets))})"
        where = " AND ".join(f"{name} = ?" for name in self.keys)
        if not self.sets:
            return f"DELETE FROM {self.table} WHERE {where}"
        return f"UPDATE {self.table} SET {', '.join(f'{name} = ?' for name in self.sets)} WHERE {where}"

    def part(self, start: int, end: int, messages: int) -> list[Row]:
        """The rows of the messages from `start` to before `end`, of so many."""
        count = len(self.rows)
        return self.rows[start * count // messages : end * count // messages]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What the product wrote for messages: until they were durable, and from then until all was over."""

    messages: int
    intents: list[str]
    enqueue: list[Step]
    ack: list[Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What writing rows took: messages a second, and CPU seconds of a message."""

    rate: float
    cpu: float


Rows = dict[Row, Row]


class Table(NamedTuple):
    """A table of messages."""

    name: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]


def _tables(connection: sqlite3.Connection) -> Iterator[Table]:
    """The tables of messages, each with the columns of its key."""
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall():
        if name not in _OTHERS:
            found = connection.execute(f"PRAGMA table_info({name})").fetchall()
            keys = tuple(row[1] for row in found if row[5])
            yield Table(name, keys or ("rowid",), tuple(row[1] for row in found))


_SERVER_TABLES = """
    SELECT c.relname::text, (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey)), (SELECT array_agg(a.attname::text ORDER BY a.attnum)
        FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0)
    FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relname <> ALL ($1::text[]) ORDER BY 1
"""


@contextlib.contextmanager
def reading(path: Where) -> Iterator[tuple[Any, list[Table]]]:
    """A connection to a store, and its tables of messages."""
    if isinstance(path, str):
        with contextlib.closing(PgConnection(server_address(path))) as other:
            rows = other.raw.execute(_SERVER_TABLES.encode(), [list(_OTHERS)]).fetchall()
            yield (
                other,
                [Table(name, tuple(keys), tuple(columns)) for name, keys, columns in rows if name not in _OTHERS],
            )
        return
    with contextlib.closing(sqlite3.connect(path)) as connection:
        yield connection, list(_tables(connection))


def _snapshot(path: Where) -> dict[Table, Rows]:
    """All rows by their keys."""
    with reading(path) as (connection, tables):
        found: dict[Table, Rows] = {}
        for table in tables:
            keys, width = ", ".join(table.keys), len(table.keys)
            sql = f"SELECT {keys}, {', '.join(table.columns)} FROM {table.name} ORDER BY {keys}"
            found[table] = {row[:width]: row[width:] for row in connection.execute(sql).fetchall()}
        return found


def _steps(before: dict[Table, Rows], after: dict[Table, Rows], order: dict[Any, int]) -> list[Step]:
    """The statements that lead from one snapshot to the other."""
    steps: list[Step] = []
    for table, new in after.items():
        name, keys, columns = table
        old = before[table]
        # A row belongs to the message whose id it names.
        place = {k: min((order[v] for v in row if v in order), default=0) for k, row in new.items()}
        ids = sorted(new, key=lambda k: place[k])
        made = [new[k] for k in ids if k not in old]
        if made:
            steps.append(Step(name, columns, (), made))
        changed: dict[tuple[int, ...], list[Row]] = defaultdict(list)
        for k in ids:
            if k in old and old[k] != new[k]:
                which = tuple(n for n, (a, b) in enumerate(zip(old[k], new[k], strict=True)) if a != b)
                changed[which].append((*(new[k][n] for n in which), *k))
        for which, rows in changed.items():
            steps.append(Step(name, tuple(columns[n] for n in which), keys, rows))
        gone = [k for k in old if k not in new]
        if gone:
            steps.append(Step(name, (), keys, gone))
    return steps


async def record(path: Where, load: Load) -> Script:
    """Have the product deliver messages, and read what it writes for them."""
    intents = [f"send:{key(number)}" for number in range(load.messages)]
    order: dict[Any, int] = {intent: number for number, intent in enumerate(intents)}
    # Nobody takes anything while the rows are read.
    async with serving(path, request_timeout=600) as running:
        platform: Platform = running.platform
        await running.up()
        empty = _snapshot(path)
        platform.open = anyio.Event()
        await running.give(load)
        durable = _snapshot(path)
        platform.open.set()
        await running.settled(load.messages)
        over = _snapshot(path)
    enqueue, ack = _steps(empty, durable, order), _steps(durable, over, order)
    return Script(messages=load.messages, intents=intents, enqueue=enqueue, ack=ack)


def copied(base: Path, path: Path) -> Path:
    """A copy of a closed store."""
    shutil.copyfile(base, path)
    return path


def _opened(path: Path, slow: float) -> Any:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return SlowCommits(connection, slow) if slow else connection


def raw(path: Path, script: Script, *, slow: float = 0.0, batch: int = BATCH, most: int | None = None) -> Written:
    """The rows alone, of so many messages at most: two transactions for each batch, no asyncio."""
    messages = script.messages if most is None else most
    with contextlib.closing(_opened(path, slow)) as connection:
        cpu, before = time.process_time(), time.perf_counter()
        for start in range(0, messages, batch):
            end = min(start + batch, messages)
            for steps in (script.enqueue, script.ack):
                connection.execute("BEGIN IMMEDIATE")
                for step in steps:
                    connection.executemany(step.sql, step.part(start, end, script.messages))
                connection.execute("COMMIT")
        cpu, wall = time.process_time() - cpu, time.perf_counter() - before
    return Written(rate=messages / wall, cpu=cpu / messages)


async def naive(path: Path, script: Script, messages: int, conversations: int, *, slow: float = 0.0) -> float:
    """Messages per second with a commit for each step, and strict order inside conversations."""
    async with aiosqlite.Connection(lambda: _opened(path, slow), 64) as db:
        one = asyncio.Lock()
        lanes = [asyncio.Lock() for _ in range(conversations)]
        numbers = iter(range(messages))

        async def commit(*statements: tuple[str, Row]) -> None:
            async with one:
                await db.execute("BEGIN IMMEDIATE")
                for sql, row in statements:
                    await db.execute(sql, row)
                await db.execute("COMMIT")

        def rows(steps: list[Step], number: int) -> list[tuple[str, Row]]:
            return [(step.sql, row) for step in steps for row in step.part(number, number + 1, script.messages)]

        async def producer() -> None:
            for number in numbers:
                async with lanes[number % conversations]:
                    await commit(*rows(script.enqueue, number))
                    await commit((_MARK, (script.intents[number],)))
                    await asyncio.sleep(0)
                    await commit(*rows(script.ack, number))

        before = time.perf_counter()
        async with anyio.create_task_group() as group:
            for _ in range(PRODUCERS):
                group.start_soon(producer)
        return messages / (time.perf_counter() - before)


def contents(path: Where) -> dict[str, int]:
    """Rows of each table of a store, with those of intents that are delivered."""
    with reading(path) as (connection, tables):
        counted = {**{table.name: table.name for table in tables}, "delivered": "intents WHERE state = 'delivered'"}
        return {
            name: connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0] for name, what in counted.items()
        }


def fsync(path: Path, count: int = 100, *, slow: float = 0.0) -> tuple[float, float]:
    """How many times a second 4 KiB more of a file can be made durable, and the median seconds of one."""
    seconds: list[float] = []
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        for number in range(count):
            before = time.perf_counter()
            os.pwrite(file, b"x" * 4096, 4096 * number)
            os.fdatasync(file)
            if slow:
                time.sleep(slow)
            seconds.append(time.perf_counter() - before)
    finally:
        os.close(file)
    return count / sum(seconds), statistics.median(seconds)
