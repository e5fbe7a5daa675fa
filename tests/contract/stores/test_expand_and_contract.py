"""A release and the one before it on one store: the schema expands at a start, and is contracted by an operator."""

import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from anyio.abc import TaskGroup

from tests.support.factories import session, work
from tests.support.postgres import PASSWORD, Server, running
from trunkline.app.cli.store.care import migrate_
from trunkline.app.serve import server as server_module
from trunkline.app.serve.config import ServeConfig
from trunkline.app.serve.settings import Settings
from trunkline.core.errors import StoreTooNew, UsageError
from trunkline.core.events import EventLog
from trunkline.core.store.commands import Admit
from trunkline.core.store.port import answer
from trunkline.core.store.postgres import migrate as pg_migrate
from trunkline.core.store.postgres.address import is_address, server_address
from trunkline.core.store.postgres.connection import PgConnection
from trunkline.core.store.postgres.store import PostgresStore, connect_server
from trunkline.core.store.sqlite import migrate as file_migrate
from trunkline.core.store.sqlite.connection import connect_file
from trunkline.core.store.sqlite.handlers import ReadSql
from trunkline.core.store.sqlite.migrate import newest, number_of, parts_of
from trunkline.core.store.sqlite.store import SqliteStore

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
BEFORE = newest()
AFTER = BEFORE + 1
#: the next release has another name for a column: both are there until the old one is removed
EXPAND = "ALTER TABLE timers ADD COLUMN plan text;"
CONTRACT = "ALTER TABLE timers DROP COLUMN plan;"
Release = Callable[[], contextlib.AbstractContextManager[None]]


@pytest.fixture
def next_release(tmp_path: Path) -> Release:
    folders: dict[object, Path] = {}
    for module in (file_migrate, pg_migrate):
        folder = tmp_path / module.__name__
        shutil.copytree(module.FOLDER, folder)
        (folder / f"{AFTER:04}_plan.sql").write_text(EXPAND)
        (folder / "contract").mkdir(exist_ok=True)
        (folder / "contract" / f"{AFTER:04}_plan.sql").write_text(CONTRACT)
        folders[module] = folder

    @contextlib.contextmanager
    def is_installed() -> Generator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for module, folder in folders.items():
                patch.setattr(module, "FOLDER", folder)
            yield

    return is_installed


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with running() as started:
        yield started


class Process:
    """A gateway process of either release."""

    def __init__(self, store: str) -> None:
        events = EventLog(lambda: 0.0).recorder("gateway")
        if is_address(store):
            self.store: SqliteStore = PostgresStore(lambda: connect_server(store), events)
        else:
            self.store = SqliteStore(lambda: connect_file(Path(store)), events)

    async def begin(self, group: TaskGroup) -> None:
        await self.store.open()
        self.scope = anyio.CancelScope()

        async def run() -> None:
            with self.scope:
                await self.store.run()

        group.start_soon(run)

    async def end(self) -> None:
        self.scope.cancel()
        await anyio.sleep(0.01)
        await self.store.close()

    async def claims(self) -> bool:
        return (await self.store.claim(0.0, 60.0)).taken

    async def admits(self, name: str) -> None:
        await self.store.write(Admit(work=work(name), identity=name, session=session(), now=1.0), answer)

    async def admitted(self) -> list[str]:
        sql = "SELECT id FROM inbox ORDER BY n"
        return await self.store.read(ReadSql(op=lambda c: [name for (name,) in c.execute(sql).fetchall()]))


def numbers(store: str) -> tuple[int, int]:
    """The version of a store, and the oldest Trunkline that works with it."""
    sql = "SELECT user_version FROM pragma_user_version"
    if is_address(store):
        with contextlib.closing(PgConnection(server_address(store))) as c:
            return parts_of(c.execute(sql).fetchone()[0])
    with contextlib.closing(sqlite3.connect(store)) as c:
        return parts_of(c.execute(sql).fetchone()[0])


@pytest.mark.parametrize("kind", ["file", "server"])
async def test_two_releases_run_on_one_store_until_it_is_contracted(
    kind: str, server: Server, tmp_path: Path, next_release: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    store = server.url() if kind == "server" else str(tmp_path / "store.db")
    old, new = Process(store), Process(store)
    async with anyio.create_task_group() as group:
        await old.begin(group)
        assert await old.claims()
        await old.admits("one")
        with next_release():
            await new.begin(group)
            assert not await new.claims()
        # A server expands at the start of the first process, a file when its holder changes.
        assert numbers(store) == ((AFTER if kind == "server" else BEFORE), BEFORE)
        await old.admits("two")
        await old.end()
        with next_release():
            assert await new.claims()
            await new.admits("three")
        assert numbers(store) == (AFTER, BEFORE)
        back = Process(store)
        await back.begin(group)
        assert not await back.claims()
        await new.end()
        assert await back.claims()
        await back.admits("four")
        await back.end()
        # The release before knows no contraction.
        assert (migrate_(store), numbers(store)) == (0, (AFTER, BEFORE))
        with next_release():
            assert (migrate_(store), numbers(store)) == (0, (AFTER, AFTER))
            assert migrate_(store) == 0
            last = Process(store)
            await last.begin(group)
            assert await last.claims()
            await last.admits("five")
            assert await last.admitted() == ["one", "two", "three", "four", "five"]
            await last.end()
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in printed] == ["nothing to migrate", "migrated", "nothing to migrate"]
    assert PASSWORD not in "".join(printed) and "a%20pass" not in "".join(printed)
    with pytest.raises(StoreTooNew, match=f"it has version {AFTER}, this Trunkline knows up to {BEFORE}"):
        await Process(store).store.open()


async def test_a_contraction_that_fails_leaves_the_store_as_it_was(tmp_path: Path, next_release: Release) -> None:
    store = str(tmp_path / "store.db")
    with next_release():
        it = Process(store)
        await it.store.open()
        await it.store.close()
        (file_migrate.FOLDER / "contract" / f"{AFTER:04}_plan.sql").write_text(CONTRACT + "DROP TABLE nowhere;")
        with pytest.raises(UsageError, match=f"migration {AFTER} failed and was undone"):
            migrate_(store)
        with contextlib.closing(sqlite3.connect(store)) as c:
            c.execute("SELECT plan FROM timers")
    assert numbers(store) == (AFTER, BEFORE)


async def test_a_migration_that_waited_for_another_one_begins_again(tmp_path: Path, next_release: Release) -> None:
    """Else it would write the number that it had read, and a contracted store would look as if it were not."""
    store = tmp_path / "store.db"
    with next_release():
        it = Process(str(store))
        await it.store.open()
        await it.store.close()
        assert migrate_(str(store)) == 0
        assert numbers(str(store)) == (AFTER, AFTER)
        (file_migrate.FOLDER / f"{AFTER + 1:04}_more.sql").write_text("CREATE TABLE more (n);")
        file_migrate.scripts.cache_clear()
        asked: list[int] = []

        class Late(sqlite3.Connection):
            """Reads the number as it was before the contraction, once."""

            def execute(self, sql: str, parameters: Any = (), /) -> Any:
                if "pragma_user_version" in sql and len(asked) < 2:
                    asked.append(1)
                    sql = sql.replace(
                        "SELECT user_version FROM pragma_user_version", f"SELECT {number_of(AFTER, BEFORE)}"
                    )
                return super().execute(sql, parameters)

        with contextlib.closing(sqlite3.connect(store, isolation_level=None, factory=Late)) as c:
            assert file_migrate.migrate(c) == 1
    file_migrate.scripts.cache_clear()
    assert numbers(str(store)) == (AFTER + 1, AFTER)


async def test_a_server_waits_for_a_store_that_it_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By `newer_store: wait`; otherwise it ends."""
    store = tmp_path / "gateway.db"
    it = Process(str(store))
    await it.store.open()
    await it.store.close()
    monkeypatch.setattr(server_module, "_LOOK_AGAIN", 0.05)

    def state(number: int) -> None:
        with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as c:
            c.execute(f"PRAGMA user_version = {number}")

    ran: list[str] = []

    class Gateway:
        async def run(self) -> None:
            ran.append("ran")

    def settings(newer: str) -> Settings:
        config = ServeConfig.model_validate({"store": str(store), "newer_store": newer})
        return Settings(config=config, path=None, state=tmp_path)

    state(number_of(AFTER, AFTER))
    gateway = cast("Any", Gateway())
    await server_module._run(settings("end"), gateway)
    assert ran == ["ran"]
    async with anyio.create_task_group() as group:
        group.start_soon(server_module._run, settings("wait"), gateway)
        await anyio.sleep(0.3)
        assert ran == ["ran"]
        state(number_of(AFTER, BEFORE))
    assert ran == ["ran", "ran"]
