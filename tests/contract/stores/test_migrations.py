"""Migrations, and files that are no store of this version."""

import contextlib
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.contract.store_files import numbers, refusal, set_migrations, tables
from trunkline.core.errors import StoreError, StoreTooNew
from trunkline.core.events import EventLog
from trunkline.core.store.mailbox import ReadMailbox
from trunkline.core.store.queries import ListOpenIntents, ListUnnotified, Read
from trunkline.core.store.sqlite.connection import connect_file
from trunkline.core.store.sqlite.migrate import APPLICATION_ID, migrate, migrations, newest
from trunkline.core.store.sqlite.sql.intent_reads import list_open, list_unnotified
from trunkline.core.store.sqlite.sql.mailbox import read_mailbox
from trunkline.core.store.sqlite.store import SqliteStore

TOO_NEW = 9999


def memory() -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(":memory:", isolation_level=None))


def make_file(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        for statement in statements:
            raw.execute(statement)


def everything_in(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


async def open_and_close(path: Path) -> None:
    store = SqliteStore(lambda: connect_file(path), EventLog(lambda: 0.0).recorder("gateway"))
    await store.open()
    await store.close()


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [number for number, _ in migrations()] == list(range(1, newest() + 1))


def test_an_empty_database_gets_everything() -> None:
    with memory() as raw:
        assert migrate(raw) == newest()
        assert numbers(raw) == (newest(), APPLICATION_ID)
        assert {"session_map", "inbox", "transcript", "intents", "delegations"} <= tables(raw)


def test_a_database_that_is_up_to_date_is_left_alone() -> None:
    with memory() as raw:
        migrate(raw)
        before = raw.total_changes
        assert migrate(raw) == 0
        assert raw.total_changes == before


def test_the_session_map_has_the_columns_of_the_seed() -> None:
    with memory() as raw:
        migrate(raw)
        columns = {row[1] for row in raw.execute("PRAGMA table_info(session_map)")}
    assert {"agent_id", "session_key", "session_id", "created_at", "updated_at"} <= columns


def test_a_database_of_an_older_version_gets_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with memory() as raw:
        set_migrations(monkeypatch, "CREATE TABLE one (n);")
        migrate(raw)
        raw.execute("INSERT INTO one VALUES (7)")
        set_migrations(monkeypatch, "CREATE TABLE one (n);", "CREATE TABLE two (n);", "ALTER TABLE one ADD m;")
        assert migrate(raw) == 2
        assert numbers(raw) == (3, APPLICATION_ID)
        assert raw.execute("SELECT n, m FROM one").fetchall() == [(7, None)]


def test_a_migration_that_fails_is_undone_and_those_before_it_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = (
        "CREATE TABLE one (n);",
        "CREATE TABLE two (n); INSERT INTO one VALUES (1); INSERT INTO nowhere VALUES (1);",
    )
    with memory() as raw:
        set_migrations(monkeypatch, good, bad)
        with pytest.raises(StoreError, match=r"migration 2 failed and was undone: no such table: nowhere"):
            migrate(raw)
        assert not raw.in_transaction
        assert numbers(raw) == (1, APPLICATION_ID)
        assert tables(raw) == {"one"}
        assert raw.execute("SELECT count(*) FROM one").fetchone() == (0,)
        set_migrations(monkeypatch, good, "CREATE TABLE two (n);")
        assert migrate(raw) == 1


# ---------------------------------------------------------------- files


@pytest.mark.anyio
async def test_a_file_is_made_and_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await open_and_close(path)
    before = path.read_bytes()
    await open_and_close(path)
    assert path.read_bytes() == before
    assert list(everything_in(tmp_path)) == ["store.db"]


@pytest.mark.anyio
async def test_a_file_without_content_is_a_new_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    await open_and_close(path)
    with contextlib.closing(sqlite3.connect(path)) as raw:
        assert numbers(raw) == (newest(), APPLICATION_ID)


def age(path: Path, version: int) -> None:
    make_file(path, f"PRAGMA user_version = {version}", "CREATE TABLE of_the_future (n)")


@pytest.mark.anyio
@pytest.mark.parametrize("version", [newest() + 1, TOO_NEW])
async def test_a_store_of_a_newer_version_is_refused_and_left_untouched(version: int, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await open_and_close(path)
    age(path, version)
    before = everything_in(tmp_path)
    error = await refusal(path)
    assert isinstance(error, StoreTooNew)
    assert f"{path}: it has version {version}, this Trunkline knows up to {newest()}: upgrade Trunkline" in str(error)
    assert everything_in(tmp_path) == before


CRASHED = """
import os, sqlite3, sys
raw = sqlite3.connect(sys.argv[1], isolation_level=None)
raw.execute("PRAGMA journal_mode=WAL")
for statement in sys.argv[2:]:
    raw.execute(statement)
os._exit(0)
"""


def crash_in(path: Path, *statements: str) -> None:
    """Have a process change a file and die, so that what it did last is still beside the file."""
    subprocess.run([sys.executable, "-c", CRASHED, str(path), *statements], check=True)
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0


@pytest.mark.anyio
async def test_a_store_of_a_newer_version_whose_process_crashed_is_left_untouched_too(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await open_and_close(path)
    crash_in(path, f"PRAGMA user_version = {newest() + 1}", "CREATE TABLE of_the_future (n)")
    before = everything_in(tmp_path)
    assert isinstance(await refusal(path), StoreTooNew)
    after = everything_in(tmp_path)
    # SQLite's notes in shared memory say nothing that lasts.
    assert [after[name] == before[name] for name in ("store.db", "store.db-wal")] == [True, True]


@pytest.mark.anyio
async def test_a_database_of_another_program_that_crashed_is_left_untouched_too(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    crash_in(path, "CREATE TABLE theirs (n)")
    before = everything_in(tmp_path)
    assert "another program" in str(await refusal(path))
    after = everything_in(tmp_path)
    assert [after[name] == before[name] for name in ("theirs.db", "theirs.db-wal")] == [True, True]


@pytest.mark.anyio
async def test_a_store_of_our_own_whose_process_crashed_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await open_and_close(path)
    crash_in(path, "INSERT INTO session_people VALUES ('k', 'd:1')")
    await open_and_close(path)
    with contextlib.closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT count(*) FROM session_people").fetchone() == (1,)


FOREIGN = {
    "tables": ["CREATE TABLE theirs (n)", "INSERT INTO theirs VALUES (1)"],
    "an owner": ["PRAGMA application_id = 1234", "CREATE TABLE theirs (n)"],
    "an owner alone": ["PRAGMA application_id = 1234"],
    "a version": ["PRAGMA user_version = 1", "CREATE TABLE theirs (n)"],
}


@pytest.mark.anyio
@pytest.mark.parametrize("name", FOREIGN)
async def test_a_database_of_another_program_is_refused_and_left_untouched(name: str, tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    make_file(path, *FOREIGN[name])
    before = everything_in(tmp_path)
    error = await refusal(path)
    assert f"{path}: the file is a SQLite database of another program: choose another path" in str(error)
    assert everything_in(tmp_path) == before


@pytest.mark.anyio
async def test_a_file_that_is_no_database_is_refused_and_left_untouched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be looked at: " * 100)
    before = everything_in(tmp_path)
    error = await refusal(path)
    assert re.search(r"notes\.txt: file is not a database", str(error))
    assert everything_in(tmp_path) == before


@pytest.mark.anyio
async def test_a_path_that_cannot_be_a_file_is_refused(tmp_path: Path) -> None:
    error = await refusal(tmp_path / "none" / "store.db")
    assert re.search(r"store\.db: unable to open database file", str(error))
    assert everything_in(tmp_path) == {}


@pytest.mark.anyio
async def test_a_store_whose_migration_fails_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_migrations(monkeypatch, "CREATE TABLE one (n);", "nonsense;")
    error = await refusal(tmp_path / "store.db")
    assert "migration 2 failed and was undone" in str(error)


def test_an_unknown_durability_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="durability 'some': expected full or normal"):
        connect_file(tmp_path / "store.db", durability="some")


@pytest.mark.anyio
@pytest.mark.parametrize(("durability", "level"), [("full", 2), ("normal", 1)])
async def test_a_commit_is_as_durable_as_was_asked(durability: str, level: int, tmp_path: Path) -> None:
    db = connect_file(tmp_path / "store.db", durability=durability)
    async with db:
        found = await db.run(
            lambda raw: [raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
        )
    assert found == ["wal", level]


# ---------------------------------------------------------------- version 1


pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("handler", "query"),
    [(list_open, ListOpenIntents(after=0, limit=1)), (list_unnotified, ListUnnotified(after=0, limit=1))],
)
def test_the_queries_of_due_intents_use_their_index(handler: Callable[..., object], query: Read[object]) -> None:
    with memory() as raw:
        migrate(raw)
        asked: list[str] = []
        raw.set_trace_callback(asked.append)
        handler(raw, query)
        raw.set_trace_callback(None)
        assert len(asked) == 1
        plan = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {asked[0]}")]
    assert plan == ["SEARCH intents USING INDEX intents_due (n>?)"]


@pytest.mark.parametrize(
    ("conversation", "plan"),
    [
        pytest.param(None, "mailbox_account (channel=? AND account=? AND rowid>?)", id="of an account"),
        pytest.param(
            "ana", "mailbox_place (channel=? AND account=? AND conversation=? AND n>?)", id="of a conversation"
        ),
    ],
)
def test_a_mailbox_is_read_from_its_cursor_on(conversation: str | None, plan: str) -> None:
    with memory() as raw:
        migrate(raw)
        asked: list[str] = []
        raw.set_trace_callback(asked.append)
        read_mailbox(raw, ReadMailbox(channel="webchat", account="default", conversation=conversation, after=7))
        raw.set_trace_callback(None)
        found = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {asked[0]}")]
    assert found == [f"SEARCH mailbox USING INDEX {plan}"]


def test_what_an_earlier_version_left_for_a_retry_and_what_was_abandoned_keep_their_doubt() -> None:
    rows = [
        # id, state, attempts, reason, doubt_at -> state, reason
        ("new", "prepared", 0, None, None, ("prepared", None)),
        ("retry", "prepared", 1, "rate-limited", None, ("prepared", "recovered")),
        ("asked", "prepared", 1, "response-lost", None, ("prepared", "response-lost")),
        ("doubt", "prepared", 1, "platform-error", 5.0, ("prepared", "platform-error")),
        ("marked", "sending", 1, "rate-limited", None, ("sending", "rate-limited")),
        ("abandoned", "dead", 1, "parked", None, ("unknown", "abandoned")),
        ("in part", "partial", 1, "parked", None, ("unknown", "abandoned")),
        ("dead", "dead", 5, "attempts-exhausted", None, ("dead", "attempts-exhausted")),
        ("parked", "unknown", 1, "parked", 5.0, ("unknown", "parked")),
    ]
    with memory() as raw:
        for number, statements in migrations():
            if number == 5:
                for name, state, attempts, reason, doubt, _ in rows:
                    raw.execute(
                        "INSERT INTO intents (id, state, kind, address, chunks, attempts, reason, doubt_at, agent_id,"
                        " created_at, updated_at) VALUES (?, ?, 'send', '{}', '[]', ?, ?, ?, 'main', 1, 1)",
                        (name, state, attempts, reason, doubt),
                    )
            raw.executescript(statements)
        found = {row[0]: row[1:] for row in raw.execute("SELECT id, state, reason FROM intents")}
    assert found == {name: after for name, *_, after in rows}
