"""What a store on a PostgreSQL server is measured against, on the same server in the same run.

`coalesced` writes the rows that the product itself stores, as `yardsticks.raw` does for SQLite: arrays of whole
columns, one statement for each table and batch, two transactions a batch, and nothing else. `outbox` is the queue that
many write themselves: a table, a commit for each step, workers that skip what others have locked. `procrastinate` is a
queue on PostgreSQL that people use; it is measured where it is installed.
"""

import asyncio
import contextlib
import importlib.util
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psycopg

from tests.support.bench.product import BODY, key
from tests.support.bench.yardsticks import BATCH, Script, Step, Written
from tests.support.postgres import Server
from trunkline.core.store.postgres.address import server_address
from trunkline.core.store.postgres.connection import PgConnection

#: callers, and connections, of the queues
CALLERS = 16
_TICKS = os.sysconf("SC_CLK_TCK")
_TYPES = (
    "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = current_schema()"
)
_OUTBOX = """
CREATE TABLE outbox (id text PRIMARY KEY, body text NOT NULL, state text NOT NULL, at timestamptz NOT NULL);
CREATE INDEX ready ON outbox (at) WHERE state = 'ready';
CREATE TABLE said (n bigserial PRIMARY KEY, id text NOT NULL, body text NOT NULL);
"""
_CLAIM = """
UPDATE outbox SET state = 'sending' WHERE id = (
    SELECT id FROM outbox WHERE state = 'ready' ORDER BY at LIMIT 1 FOR UPDATE SKIP LOCKED
) RETURNING id, body
"""


def server_cpu(server: Server) -> float:
    """CPU seconds of all processes of a server so far, also of those that have ended."""
    first, ticks = str(server.pid), 0
    for path in Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            # After the name, which may hold anything: state, parent, and from the 12th on the times.
            found = (path / "stat").read_text().rpartition(")")[2].split()
            if path.name == first:
                ticks += sum(map(int, found[11:15]))
            elif found[1] == first:
                ticks += sum(map(int, found[11:13]))
    return ticks / _TICKS


def copy_database(server: Server, base: str, name: str) -> str:
    """Make a copy of a database that nobody uses; what its address has for a name."""
    run_sql(server, f"CREATE DATABASE {name} TEMPLATE {base}")
    return name


def run_sql(server: Server, sql: str, database: str = "postgres") -> None:
    """Run a statement in a database."""
    with psycopg.connect(address_in(server, database), autocommit=True) as connection:
        connection.execute(sql.encode())


def address_in(server: Server, database: str) -> str:
    """The address of a database, for libpq."""
    return server.url("public").replace("/postgres?schema=public", f"/{database}")


def store_in(server: Server, database: str) -> str:
    """The address of the store in a database."""
    return f"{address_in(server, database)}?schema=s"


def _coalesced(step: Step, types: dict[tuple[str, str], str]) -> bytes:
    """The statement for many rows: an array for each column."""
    names = (*step.sets, *step.keys)
    arrays = ", ".join(f"${n}::{types[step.table, name]}[]" for n, name in enumerate(names, 1))
    if not step.keys:
        return f"INSERT INTO {step.table} ({', '.join(names)}) SELECT * FROM unnest({arrays})".encode()
    found = f"unnest({arrays}) AS v ({', '.join(f'v{n}' for n in range(len(names)))})"
    where = " AND ".join(f"t.{name} = v{n}" for n, name in enumerate(step.keys, len(step.sets)))
    if not step.sets:
        return f"DELETE FROM {step.table} AS t USING {found} WHERE {where}".encode()
    sets = ", ".join(f"{name} = v{n}" for n, name in enumerate(step.sets))
    return f"UPDATE {step.table} AS t SET {sets} FROM {found} WHERE {where}".encode()


def coalesced(url: str, script: Script, *, batch: int = BATCH) -> Written:
    """The rows alone: two transactions for each batch, no asyncio. `cpu` is of this process."""
    with contextlib.closing(PgConnection(server_address(url))) as connection:
        raw = connection.raw
        types = {(table, column): kind for table, column, kind in raw.execute(_TYPES.encode()).fetchall()}
        phases = [[(_coalesced(step, types), step) for step in steps] for steps in (script.enqueue, script.ack)]
        # Columns out of rows are made before the clock runs.
        transactions = [
            [
                (sql, [list(column) for column in zip(*rows, strict=True)])
                for sql, step in phase
                if (rows := step.part(start, min(start + batch, script.messages), script.messages))
            ]
            for start in range(0, script.messages, batch)
            for phase in phases
        ]
        cpu, before = time.process_time(), time.perf_counter()
        for statements in transactions:
            raw.execute(b"BEGIN")
            for sql, columns in statements:
                raw.cursor(binary=True).execute(sql, columns)
            raw.execute(b"COMMIT")
        cpu, wall = time.process_time() - cpu, time.perf_counter() - before
    return Written(rate=script.messages / wall, cpu=cpu / script.messages)


@asynccontextmanager
async def _connections(address: str) -> AsyncGenerator[list["psycopg.AsyncConnection[Any]"]]:
    async with contextlib.AsyncExitStack() as stack:
        found: list[psycopg.AsyncConnection[Any]] = []
        for _ in range(CALLERS):
            made = await psycopg.AsyncConnection[Any].connect(address, autocommit=True)
            found.append(await stack.enter_async_context(made))
        yield found


async def _outbox_sender(connection: "psycopg.AsyncConnection[Any]", numbers: Iterator[int]) -> None:
    for number in numbers:
        await connection.execute(
            "INSERT INTO outbox VALUES (%s, %s, 'ready', clock_timestamp())", [key(number), f"{BODY}{number}"]
        )
        # The message of any caller: it is sent by who comes first.
        name, body = await (await connection.execute(_CLAIM)).fetchone() or ("", "")
        await anyio.lowlevel.checkpoint()
        async with connection.transaction():
            await connection.execute("UPDATE outbox SET state = 'sent' WHERE id = %s", [name])
            await connection.execute("INSERT INTO said (id, body) VALUES (%s, %s)", [name, body])


async def outbox(address: str, messages: int) -> float:
    """Messages per second through a plain outbox."""
    async with _connections(address) as connections:
        await connections[0].execute(_OUTBOX.encode())
        numbers = iter(range(messages))
        before = time.perf_counter()
        async with anyio.create_task_group() as group:
            for connection in connections:
                group.start_soon(_outbox_sender, connection, numbers)
        wall = time.perf_counter() - before
        found = await (await connections[0].execute("SELECT count(*) FROM said")).fetchone()
        assert found == (messages,), found
    return messages / wall


def has_procrastinate() -> bool:
    """Whether procrastinate is installed; the project does not need it."""
    return importlib.util.find_spec("procrastinate") is not None


async def procrastinate(address: str, messages: int) -> float:
    """Messages per second through procrastinate, whose worker does nothing with them."""
    library: Any = importlib.import_module("procrastinate")
    app = library.App(connector=library.PsycopgConnector(conninfo=address, min_size=CALLERS, max_size=CALLERS))
    done, over = 0, asyncio.Event()

    async def send(name: str, body: str) -> None:
        nonlocal done
        assert name
        assert body
        done += 1
        if done == messages:
            over.set()

    task: Callable[..., Awaitable[Any]] = app.task(name="send")(send).defer_async
    numbers = iter(range(messages))

    async def caller() -> None:
        for number in numbers:
            await task(name=key(number), body=f"{BODY}{number}")

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        before = time.perf_counter()
        working = asyncio.create_task(
            app.run_worker_async(concurrency=CALLERS, install_signal_handlers=False, listen_notify=True)
        )
        await asyncio.gather(*(caller() for _ in range(CALLERS)))
        await over.wait()
        wall = time.perf_counter() - before
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    return messages / wall
