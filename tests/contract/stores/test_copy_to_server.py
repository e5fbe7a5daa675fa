"""A store file is copied to a PostgreSQL server: whole or not at all, read back before it counts, and in parts."""

import contextlib
import gzip
import sqlite3
from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest

from tests.support.cutting_proxy import Cut, cutting
from tests.support.postgres import Server, running
from trunkline.core.errors import StoreError
from trunkline.core.store.postgres import copy as copying
from trunkline.core.store.postgres.address import server_address
from trunkline.core.store.postgres.connection import PgConnection
from trunkline.core.store.postgres.copy import copy_to_server
from trunkline.core.store.postgres.migrate import open_migrated, open_server
from trunkline.core.store.sqlite.copies import NotOverwritten, restore
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.process_lock import FileLock

pytestmark = pytest.mark.slow
STORES = Path("tests/fixtures/stores")


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with running() as started:
        yield started


def old_store(version: int, path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.executescript(gzip.decompress((STORES / f"version_{version}.sql.gz").read_bytes()).decode())
    return path


def migrated(store: Path, path: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows of a store file as today's version has them, by table."""
    restore(store, path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        migrate(raw)
        names = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: raw.execute(f"SELECT * FROM {name}").fetchall() for name in names}


def on_server(url: str, names: list[str]) -> dict[str, list[tuple[object, ...]]]:
    """The rows of a store on a server, read without any code of the product."""
    address, _, schema = url.partition("?schema=")
    with psycopg.connect(address) as raw:
        raw.execute(f"SET search_path = {schema}".encode())
        return {name: raw.execute(f"SELECT * FROM {name}".encode()).fetchall() for name in names}


def schemas(server: Server) -> set[str]:
    with psycopg.connect(server.url("x").partition("?")[0]) as raw:
        return {name for (name,) in raw.execute("SELECT schemaname FROM pg_tables")}


@pytest.mark.parametrize("version", range(1, 10))
def test_every_row_of_a_store_of_any_version_arrives_and_the_file_stays(
    server: Server, version: int, tmp_path: Path
) -> None:
    store, url = old_store(version, tmp_path / "store.db"), server.url()
    before = store.read_bytes()
    made = copy_to_server(store, url)
    assert store.read_bytes() == before
    expected = migrated(store, tmp_path / "today.db")
    found = on_server(url, list(expected))
    assert not made.before and made.rows == {name: len(rows) for name, rows in expected.items()}
    assert made.rows["intents"] > 10
    for name, rows in expected.items():
        # `id` and `n` make every row one of a kind, so that an order by text is one.
        assert sorted(map(repr, rows)) == sorted(map(repr, found[name])), name
    again = copy_to_server(store, url)
    assert again.before and again.rows == made.rows


def test_numbers_go_on_where_the_file_had_them(server: Server, tmp_path: Path) -> None:
    store, url = old_store(9, tmp_path / "store.db"), server.url()
    with contextlib.closing(sqlite3.connect(store)) as raw, raw:
        migrate(raw)
        raw.execute("INSERT OR REPLACE INTO sqlite_sequence VALUES ('hand_posts', 4711)")
    copy_to_server(store, url)
    address, _, schema = url.partition("?schema=")
    with psycopg.connect(address) as raw:
        assert raw.execute(f"SELECT {schema}.next_hand_posts()".encode()).fetchone() == (4712,)


def test_a_store_that_a_gateway_works_with_is_not_copied(server: Server, tmp_path: Path) -> None:
    store, url = old_store(9, tmp_path / "store.db"), server.url()
    held = FileLock(store)
    assert held.take()
    with pytest.raises(NotOverwritten, match=r"store\.db: stop it"):
        copy_to_server(store, url)
    assert url.rpartition("=")[2] not in schemas(server)
    held.drop()
    assert not copy_to_server(store, url).before


def test_another_store_in_the_schema_is_left_alone(server: Server, tmp_path: Path) -> None:
    first, second, url = old_store(9, tmp_path / "first.db"), old_store(8, tmp_path / "second.db"), server.url()
    names = list(copy_to_server(first, url).rows)
    before = on_server(url, names)
    with pytest.raises(NotOverwritten, match=r"holds another store, \w+ differs at row \d+: choose another schema"):
        copy_to_server(second, url)
    assert on_server(url, names) == before


@pytest.mark.parametrize("cut", ["before", "after"])
@pytest.mark.parametrize("commits", [1, 7, None], ids=["the mark", "a part", "the end"])
def test_a_copy_that_is_cut_off_at_a_commit_goes_on_from_there(
    server: Server, cut: Cut, commits: int | None, tmp_path: Path, monkeypatch
) -> None:
    store = old_store(9, tmp_path / "store.db")
    monkeypatch.setattr(copying, "_PART", 5)
    monkeypatch.setattr(copying, "_BATCH", 2)
    sent: list[int] = []
    compared, send_commit = copying._compared, PgConnection.send_commit
    with cutting(server.port) as proxy:
        url = server.url(port=proxy.port)
        # The tables have a commit of their own.
        open_migrated(server_address(url)).close()

        def counted(connection: PgConnection) -> str:
            sent.append(1)
            if len(sent) == commits:
                proxy.next_cut = cut
            return send_commit(connection)

        def at_the_end(*asked):
            if commits is None and not proxy.cuts:
                proxy.next_cut = cut
            return compared(*asked)

        monkeypatch.setattr(PgConnection, "send_commit", counted)
        monkeypatch.setattr(copying, "_compared", at_the_end)
        if cut == "before":
            with pytest.raises(StoreError, match="the copy is not whole: repeat it"):
                copy_to_server(store, url)
            if commits != 1:
                with pytest.raises(StoreError, match="a copy into it is not whole: repeat `trunkline store copy`"):
                    open_migrated(server_address(url))
                with pytest.raises(StoreError, match="a copy into it is not whole"), open_server(url):
                    pass
            first = len(sent)
            assert not copy_to_server(store, url).before
            # What arrived is not sent again: only the lease and the numbers are, and the end.
            assert commits is not None or len(sent) - first < 5 < first
        else:
            # It asks what became of its commit.
            assert not copy_to_server(store, url).before
        assert proxy.cuts == 1
        assert copy_to_server(store, url).before
        expected = migrated(store, tmp_path / "today.db")
        found = on_server(url, list(expected))
        for name, rows in expected.items():
            assert sorted(map(repr, rows)) == sorted(map(repr, found[name])), name


def test_what_the_server_gives_back_otherwise_is_no_store(server: Server, tmp_path: Path, monkeypatch) -> None:
    store, url = old_store(9, tmp_path / "store.db"), server.url()
    send = copying._send

    def changed(source, target, table):
        send(source, target, table)
        if table.name == "transcript":
            target.execute("UPDATE transcript SET text = text || '.' WHERE n = 1")

    monkeypatch.setattr(copying, "_send", changed)
    with pytest.raises(NotOverwritten, match="the server gave back something else, transcript differs at row 1"):
        copy_to_server(store, url)
    with pytest.raises(StoreError, match="a copy into it is not whole"):
        open_migrated(server_address(url))
