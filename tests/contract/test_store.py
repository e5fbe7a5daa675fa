"""Every store does what the kit says: SQLite over a real file and its thread and inline in virtual time, PostgreSQL."""

import contextlib
import dataclasses
import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from tests.contract.store_kit.bench import CHECKS, Check, Opened
from tests.support.postgres import Server, running
from trunkline.core.errors import LeaseLost
from trunkline.core.events import EventLog
from trunkline.core.store.postgres.address import server_address
from trunkline.core.store.postgres.connection import PgConnection
from trunkline.core.store.postgres.store import PostgresStore, connect_server
from trunkline.core.store.sqlite.connection import Db, connect_file
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.sim.loop import SimLoop, run
from trunkline.sim.store.disk import Disk


@asynccontextmanager
async def open_store(
    connect: Callable[[], Db], durable: Callable[[Db], int], kind: type[SqliteStore] = SqliteStore, **disk: Any
) -> AsyncGenerator[Opened, None]:
    """An open store with its writer. `disk`: what another one than SQLite does instead."""
    dbs: list[Db] = []

    def keep() -> Db:
        dbs.append(connect())
        return dbs[0]

    log = EventLog(lambda: 0.0)
    store = kind(keep, log.recorder("gateway"))
    await store.open()

    ended = anyio.Event()

    async def write() -> None:
        try:
            await store.run()
        except LeaseLost:
            ended.set()

    async def set_room(pages: str) -> None:
        await dbs[0].run(lambda raw: raw.execute(f"PRAGMA max_page_count = {pages}").fetchall())

    async def fill_disk() -> None:
        count = await dbs[0].run(lambda raw: raw.execute("PRAGMA page_count").fetchone())
        await set_room(str(count[0]))

    async def spoil(intent: str, column: str, value: object, table: str = "intents") -> None:
        # Texts that are none can only come by this way.
        key = "n" if table == "hand_posts" else "id"
        sql = f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE {key} = ?"
        plain = f"UPDATE {table} SET {column} = ? WHERE {key} = ?"
        await dbs[0].run(
            lambda raw: raw.execute(sql if isinstance(value, bytes) else plain, (value, intent)).fetchall()
        )

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(write)
            opened = Opened(
                store=store,
                log=log,
                fill_disk=fill_disk,
                free_disk=lambda: set_room("1000000"),
                commits=lambda: store.commits,
                durable=lambda: durable(dbs[0]),
                die=dbs[0].process_lock.drop,
                ended=ended,
                spoil=spoil,
            )
            replaced = {name: partial(do, dbs[0]) for name, do in disk.items()}
            yield dataclasses.replace(opened, **replaced)
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


class FileBench:
    """A file on disk, through aiosqlite's thread."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def opened(self) -> contextlib.AbstractAsyncContextManager[Opened]:
        return open_store(lambda: connect_file(self._path, durability="normal"), self._durable)

    def _durable(self, _db: Db) -> int:
        """As another process sees it."""
        with contextlib.closing(sqlite3.connect(self._path)) as other:
            return other.execute("SELECT count(*) FROM inbox").fetchone()[0]


class DiskBench:
    """The simulator's disk, inline in the loop."""

    def __init__(self) -> None:
        self._disk = Disk(lambda: None, lambda _: None)

    def opened(self) -> contextlib.AbstractAsyncContextManager[Opened]:
        return open_store(self._disk.connect, self._durable)

    def _durable(self, db: Db) -> int:
        """No other process can read the disk: a row is durable when no transaction is open."""
        raw = self._disk.open()
        return -1 if raw.in_transaction else raw.execute("SELECT count(*) FROM inbox").fetchone()[0]

    def discard(self) -> None:
        self._disk.discard()


class GivenClock(PostgresStore):
    """A store whose server has the time that the checks give."""

    async def _server_time(self, now: float) -> float:
        return now


#: what the server says of a full disk, when a long text is stored
_FULL = """
CREATE OR REPLACE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF pg_column_size(NEW) > 1000 THEN RAISE 'the disk is full' USING ERRCODE = 'disk_full'; END IF; RETURN NEW;
END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION fill();
"""
#: a column that no sound row has so, for values that PostgreSQL does not take in a column
_UNREADABLE = {"bindings": "body"}


class ServerBench:
    """A schema on a PostgreSQL server."""

    def __init__(self, server: Server) -> None:
        self._url = server.url()

    def opened(self) -> contextlib.AbstractAsyncContextManager[Opened]:
        return open_store(
            lambda: connect_server(self._url),
            self._durable,
            GivenClock,
            fill_disk=lambda db: _run_sql(db, _FULL),
            free_disk=lambda db: _run_sql(db, "DROP TRIGGER full_disk ON inbox"),
            spoil=_spoil,
        )

    def _durable(self, _db: Db) -> int:
        with contextlib.closing(PgConnection(server_address(self._url))) as other:
            return other.execute("SELECT count(*) FROM inbox").fetchone()[0]


async def _run_sql(db: Db, sql: str) -> None:
    await db.run(lambda c: cast("PgConnection", c).raw.execute(sql.encode()))


async def _spoil(db: Db, name: str, column: str, value: object, table: str = "intents") -> None:
    """Corrupt a column. What PostgreSQL keeps out (bytes that are no text, texts for numbers) spoils another one."""

    def change(c: sqlite3.Connection) -> None:
        key = "n" if table == "hand_posts" else "id"
        kind = c.execute("SELECT data_type FROM information_schema.columns WHERE table_name = ? AND column_name = ?"
                         " AND table_schema = current_schema()", (table, column)).fetchone()[0]  # fmt: skip
        taken = isinstance(value, {"text": str, "bytea": bytes, "bigint": int, "double precision": float}[kind])
        if not taken and column in ("status", "callback"):
            c.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", ("\ufffd", name))
        elif not taken:
            c.execute(f"UPDATE {table} SET {_UNREADABLE.get(table, 'chunks')} = '{{' WHERE {key} = ?", (name,))
        else:
            c.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (value, name if key == "id" else int(name)))

    await db.run(change)


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with running() as started:
        yield started


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_postgres(check: Check, server: Server) -> None:
    await check(ServerBench(server))


@pytest.mark.slow(every=8)
@pytest.mark.anyio
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_sqlite_over_a_file(check: Check, tmp_path: Path) -> None:
    await check(FileBench(tmp_path / "store.db"))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_sqlite_in_virtual_time(check: Check) -> None:
    bench = DiskBench()

    async def main(_: SimLoop) -> None:
        await check(bench)

    try:
        # In the order in which tasks begin, as on a real loop: checks rely on the order of writes.
        run(main, order="fifo")
    finally:
        bench.discard()
