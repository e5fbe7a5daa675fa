"""Store files that are damaged, deleted, replaced or linked: said in words, and nothing that was stored is lost."""

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys

import anyio
import pytest

from tests.support.misbehaving import LoopAdapter, envelope, place, serve
from trunkline import EventLog, SqliteStore, connect_file
from trunkline.core.errors import StoreDamaged, StoreError, StoreGone
from trunkline.core.reasons import Reason
from trunkline.core.store.sqlite import damage
from trunkline.core.store.sqlite import store as store_module
from trunkline.core.store.sqlite.copies import check_store, restore
from trunkline.core.store.sqlite.damage import findings

MESSAGES = 40
PAGE = 4096


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(store_module, "_LOOK", 0.02)


@pytest.fixture
def store(tmp_path):
    """A store in which a gateway has answered some messages, closed in order."""
    path = tmp_path / "trunkline.db"
    messages = [envelope(f"{n} {'x' * 500}", str(n), address=place(f"c{n % 5}")) for n in range(MESSAGES)]
    adapter = LoopAdapter(messages=messages)
    run = anyio.run(lambda: serve(path, adapter, until=lambda run: len(run.adapter.accepted) == MESSAGES))
    assert run.error is None
    return path


def start(path, *, adapter=None, **options):
    """A start that ends by itself, if nothing else is said."""
    options = {"until": lambda run: run.error is not None, **options}
    return anyio.run(lambda: serve(path, adapter or LoopAdapter(), **options))  # pyright: ignore[reportArgumentType]


async def receive(gateway, name, conversation="c1"):
    """Hand a message in; whether it was promised. What else a gateway says that ends is tested elsewhere."""
    try:
        await gateway.receive(envelope(name.rstrip("0123456789"), name, address=place(conversation)))
    except Exception:  # noqa: BLE001 -- the gateway has ended
        return False
    return True


def errors(error):
    inner = getattr(error, "exceptions", None)
    return [error] if inner is None else [leaf for one in inner for leaf in errors(one)]


def gone(run):
    """The last error about the file, which names the rescue copy."""
    return [error for error in errors(run.error) if isinstance(error, StoreGone)][-1]


def used_pages(path):
    with contextlib.closing(sqlite3.connect(path)) as raw:
        return [n for (n,) in raw.execute("SELECT pageno FROM dbstat ORDER BY pageno")]


def spoil(path, page):
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(b"\xa5" * PAGE)


# ---------------------------------------------------------------- damage


def test_a_start_on_any_damaged_page_is_refused_in_words(store):
    whole = store.read_bytes()
    pages = used_pages(store)
    assert len(pages) > 30
    for page in pages:
        store.write_bytes(whole)
        spoil(store, page)
        run = start(store)
        [error] = errors(run.error)
        assert isinstance(error, StoreDamaged), (page, error)
        assert str(store) in error.facts
        assert "trunkline store restore BACKUP" in error.facts
        assert run.adapter.accepted == []


def test_a_large_store_that_was_closed_is_checked_in_part_and_one_that_was_not_whole(store, monkeypatch):
    monkeypatch.setattr(damage, "WHOLE", PAGE)
    with contextlib.closing(sqlite3.connect(store)) as raw:
        [(leaf,)] = raw.execute(
            "SELECT pageno FROM dbstat WHERE name = 'transcript' AND pagetype = 'leaf' ORDER BY pageno DESC LIMIT 1"
        )
    spoil(store, leaf)
    # It is refused when it is met.
    assert start(store, until=lambda run: run.of("process.started") != []).error is None
    store.with_name(f"{store.name}-wal").write_bytes(b"left by a crash")
    [error] = errors(start(store).error)
    assert isinstance(error, StoreDamaged)


def test_damage_that_is_met_while_it_works_ends_the_gateway_in_words(store):
    async def script(gateway):
        assert await receive(gateway, "before")
        raw = gateway._ctx.store._db
        # All pages are read from the file again.
        await raw.run(lambda c: c.execute("PRAGMA cache_size=0").fetchall())
        for page in used_pages(store)[1:]:
            spoil(store, page)
        await receive(gateway, "after")

    run = start(store, script=script)
    assert any(isinstance(error, StoreDamaged) for error in errors(run.error)), run.error
    assert {body.reason for body in run.of("store.warned")} == {Reason.STORE_DAMAGED}
    assert not any(isinstance(error, sqlite3.Error) for error in errors(run.error))


# ---------------------------------------------------------------- gone


def delete(path):
    path.unlink()


def replace_it(path):
    other = path.with_name("backup.db")
    with contextlib.closing(sqlite3.connect(path)) as raw, contextlib.closing(sqlite3.connect(other)) as copy:
        raw.backup(copy)
        copy.execute("DELETE FROM transcript")
        copy.commit()
    other.replace(path)


def delete_wal(path):
    path.with_name(f"{path.name}-wal").unlink()


def delete_all(path):
    for suffix in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink()


@pytest.mark.parametrize("strike", [delete, replace_it, delete_wal, delete_all])
def test_a_file_that_vanishes_is_rescued_and_the_rescue_goes_on(store, strike):
    async def script(gateway):
        assert await receive(gateway, "before")
        strike(store)
        # Stored, as far as anybody knows, in a file that nobody can open any more.
        while await receive(gateway, f"after{len(accepted)}", "c2"):
            accepted.append(f"after{len(accepted)}")
            await anyio.sleep(0.002)

    accepted = []
    run = start(store, script=script)
    error = gone(run)
    [copy] = store.parent.glob("trunkline.db.rescued-*")
    assert str(copy) in error.facts
    assert str(store) in error.facts
    assert Reason.STORE_GONE in {body.reason for body in run.of("store.warned")}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert not store.with_name(f"{store.name}-wal").exists()
    # Nothing that was promised is missing, and a gateway goes on with it.
    again = store.with_name("again.db")
    assert restore(copy, again).findings == ()
    with contextlib.closing(sqlite3.connect(again)) as raw:
        [(owner,)] = raw.execute("SELECT owner FROM lease")
        found = {text for (text,) in raw.execute("SELECT identity FROM inbox")}
    assert owner == ""
    assert all(any(name in identity for identity in found) for name in ("before", *accepted))
    # Everybody is answered once, by the one process or the other.
    adapter = LoopAdapter(before=run.adapter)
    # One more than was promised may be stored: of the last one nobody knew.
    after = sum("after" in identity for identity in found)
    assert after - len(accepted) in (0, 1)
    missing = 1 + after - len(run.adapter.accepted)
    assert start(again, adapter=adapter, until=lambda run: len(run.adapter.accepted) >= missing).error is None
    assert sorted(run.adapter.texts + adapter.texts) == sorted(["re before", *["re after"] * after])


def test_a_file_is_rescued_although_everything_is_cancelled_before_the_writer_knows(store):
    async def main():
        made = SqliteStore(lambda: connect_file(store), EventLog(lambda: 0.0).recorder("gateway"))
        await made.open()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(made.run)
                assert (await made.claim(1.0, 60.0)).taken
                # As by a caller whose write is refused at once.
                made._end(StoreGone("it was deleted"), Reason.STORE_GONE)
                group.cancel_scope.cancel()
        finally:
            await made.close()

    with pytest.raises(ExceptionGroup) as raised:
        anyio.run(main)
    [error] = errors(raised.value)
    [copy] = store.parent.glob("trunkline.db.rescued-*")
    assert isinstance(error, StoreGone)
    assert str(copy) in error.facts


def test_a_start_without_the_file_but_with_its_rescue_copy_is_refused(store):
    store.rename(store.with_name("trunkline.db.rescued-20260101T000000Z"))
    run = start(store)
    [error] = errors(run.error)
    assert isinstance(error, StoreError)
    assert "rescued-20260101T000000Z" in str(error)
    assert not store.exists()


def test_a_rescue_that_cannot_be_written_is_said(store, monkeypatch):
    async def script(gateway):
        assert await receive(gateway, "before")
        store.unlink()

    def refuse(*_args, **_named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("trunkline.core.store.sqlite.copies.copy_store", refuse)
    run = start(store, script=script)
    assert "No space left on device" in str(gone(run))
    # SQLite's log holds the newest commits: it is not removed.
    assert store.with_name(f"{store.name}-wal").exists()


# ---------------------------------------------------------------- new, linked, complete


def test_a_new_store_beside_an_old_lock_is_said(store):
    store.unlink()
    run = start(store, until=lambda run: run.of("store.warned") != [])
    [body] = run.of("store.warned")
    assert (body.reason, "is a new store" in body.detail, ".lock" in body.detail) == (Reason.STORE_FILE, True, True)


def test_the_wal_of_a_store_that_is_not_there_is_kept(store):
    wal = store.with_name(f"{store.name}-wal")
    store.unlink()
    wal.write_bytes(b"precious")
    run = start(store, until=lambda run: run.of("store.warned") != [])
    kept = store.with_name("trunkline.db.old-wal")
    assert kept.read_bytes() == b"precious"
    assert str(kept) in run.of("store.warned")[0].detail


def test_a_store_of_its_own_is_not_remarked(store):
    run = start(store, until=lambda run: run.of("lease.taken") != [])
    assert run.of("store.warned") == []


def test_what_was_stored_is_in_the_file_itself_soon(store):
    async def script(gateway):
        assert await receive(gateway, "hello")

        def is_there():
            copy = store.with_name("alone.db")
            copy.write_bytes(store.read_bytes())
            with contextlib.closing(sqlite3.connect(copy)) as raw:
                found = raw.execute("SELECT count(*) FROM inbox WHERE identity LIKE '%hello%'").fetchone()
                return found[0] == 1 and raw.execute("SELECT owner FROM lease").fetchone()[0] != ""

        with anyio.fail_after(10):
            while not is_there():  # noqa: ASYNC110 -- a file tells nobody
                await anyio.sleep(0.01)

    assert start(store, script=script, until=lambda _: True).error is None


def test_migrations_are_in_the_file_itself_before_anything_else(tmp_path):
    async def main():
        opened = SqliteStore(lambda: connect_file(tmp_path / "new.db"), EventLog(lambda: 0.0).recorder("gateway"))
        await opened.open()
        (tmp_path / "alone.db").write_bytes((tmp_path / "new.db").read_bytes())
        await opened.close()

    anyio.run(main)
    assert check_store(tmp_path / "alone.db").findings == ()


#: a process that has a store open under a name, as a gateway has it, until its input ends
HOLDER = """
import sqlite3, sys
raw = sqlite3.connect(sys.argv[1], isolation_level=None)
raw.execute("PRAGMA journal_mode=WAL")
raw.execute("SELECT count(*) FROM sqlite_master").fetchone()
print("open", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held(path):
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"open\n"
        yield
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


def test_a_store_that_is_used_under_another_name_is_refused(store):
    other = store.with_name("other.db")
    os.link(store, other)
    with held(other):
        run = start(store)
        [error] = errors(run.error)
        assert "several names (hard links), and another process works with it under another one" in str(error)
    # Both names alone, and the same name twice, are said and served.
    with held(store):
        run = start(store, until=lambda run: run.of("lease.taken") != [])
    assert run.error is None
    assert [body.reason for body in run.of("store.warned")] == [Reason.STORE_FILE]


def test_a_name_that_comes_while_it_works_is_said_once(store):
    async def script(gateway):
        assert await receive(gateway, "hello")
        os.link(store, store.with_name("other.db"))
        await anyio.sleep(0.3)

    run = start(store, script=script, until=lambda run: run.of("store.warned") != [])
    assert [("hard links" in body.detail) for body in run.of("store.warned")] == [True]


def test_what_a_check_finds_is_in_sentences(store):
    with contextlib.closing(sqlite3.connect(store)) as raw:
        assert findings(raw, "integrity_check") == ()
    spoil(store, used_pages(store)[-1])
    with contextlib.closing(sqlite3.connect(store)) as raw:
        found = findings(raw, "integrity_check")
    assert found
    assert not any("\n" in line or line.startswith("***") for line in found)
