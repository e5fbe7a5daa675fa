"""Every store does what the kit says: SQLite over a real file and its thread, and inline in virtual time."""

import contextlib
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.contract.store_kit.bench import CHECKS, Check, Opened
from trunkline.core.errors import LeaseLost
from trunkline.core.events import EventLog
from trunkline.core.store.sqlite.connection import Db, connect_file
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.sim.loop import SimLoop, run
from trunkline.sim.store.disk import Disk


@asynccontextmanager
async def open_sqlite(connect: Callable[[], Db], durable: Callable[[Db], int]) -> AsyncGenerator[Opened, None]:
    """An open SQLite store with its writer."""
    dbs: list[Db] = []

    def keep() -> Db:
        dbs.append(connect())
        return dbs[0]

    log = EventLog(lambda: 0.0)
    store = SqliteStore(keep, log.recorder("gateway"))
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
            yield Opened(
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
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


class FileBench:
    """A file on disk, through aiosqlite's thread."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def opened(self) -> contextlib.AbstractAsyncContextManager[Opened]:
        return open_sqlite(lambda: connect_file(self._path, durability="normal"), self._durable)

    def _durable(self, _db: Db) -> int:
        """As another process sees it."""
        with contextlib.closing(sqlite3.connect(self._path)) as other:
            return other.execute("SELECT count(*) FROM inbox").fetchone()[0]


class DiskBench:
    """The simulator's disk, inline in the loop."""

    def __init__(self) -> None:
        self._disk = Disk(lambda: None, lambda _: None)

    def opened(self) -> contextlib.AbstractAsyncContextManager[Opened]:
        return open_sqlite(self._disk.connect, self._durable)

    def _durable(self, db: Db) -> int:
        """No other process can read the disk: a row is durable when no transaction is open."""
        raw = self._disk.open()
        return -1 if raw.in_transaction else raw.execute("SELECT count(*) FROM inbox").fetchone()[0]

    def discard(self) -> None:
        self._disk.discard()


@pytest.mark.slow(every=4)
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
