"""`trunkline transcript`: what a session remembers, read beside whatever runs."""

import asyncio
import contextlib
import json
import sqlite3
import subprocess
import sys
import tracemalloc
from pathlib import Path

import anyio
import pytest

from tests.support.contract.version_1 import write_version_1
from tests.support.paths import ROOT
from trunkline.app.operators.port import transcript_pages
from trunkline.app.operators.store_file import StoreFileOperator
from trunkline.core.errors import UsageError
from trunkline.core.events import EventLog
from trunkline.core.store.operators.sessions import ReadSessions
from trunkline.core.store.sqlite.connection import connect_file
from trunkline.core.store.sqlite.handlers import ask
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.store import SqliteStore

ANA = "main:discord:default:direct:100"
BEN = "main:discord:default:direct:200"
TOPIC = "main:telegram:default:group:-1007:topic:10"


def session(raw: sqlite3.Connection, key: str, name: str, generation: int = 1) -> None:
    raw.execute(
        "INSERT INTO session_map (session_key, agent_id, session_id, generation, created_at, updated_at)"
        " VALUES (?, 'main', ?, ?, 1.0, 1.0)",
        (key, name, generation),
    )


def line(raw: sqlite3.Connection, name: str, ref: str, text: str = "hello", **row: object) -> None:
    values = {"session_id": name, "role": "user", "text": text, "ref": ref, "partial": False, "at": 1.5, **row}
    marks = ", ".join("?" * len(values))
    raw.execute(f"INSERT INTO transcript ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))


@contextlib.contextmanager
def writing(path: Path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        yield raw


@pytest.fixture
def store(tmp_path):
    """Ana's session, in its second generation, and Ben's; and one that nobody has spoken in."""
    path = tmp_path / "store #1 100%.db"
    with writing(path) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        migrate(raw)
        session(raw, ANA, "s-ana2", 2)
        session(raw, BEN, "s-ben")
        session(raw, TOPIC, "s-topic")
        raw.execute("INSERT INTO session_history VALUES ('s-ana', ?, 1, 'reset', 2.0)", (ANA,))
        raw.execute("INSERT INTO session_moves VALUES ('main:discord:direct:200', ?)", (BEN,))
        line(raw, "s-ana", "m1", "long ago")
        line(raw, "s-ana2", "m2", "count the stars")
        line(raw, "s-ben", "m3")
        line(raw, "s-ana2", "m2.reply", "one, two", role="assistant", partial=True, at=1_700_000_000.25)
    return path


def shown_lines(trunkline, *arguments) -> list[dict]:
    """The lines of a transcript."""
    code, out, err = trunkline("transcript", *arguments)
    assert (code, err) == (0, "")
    return [json.loads(one) for one in out.splitlines()]


def refused(trunkline, *arguments) -> str:
    """The complaint about a command."""
    code, out, err = trunkline("transcript", *arguments)
    assert (code, out) == (2, "")
    return err


def test_a_transcript_is_a_header_and_a_line_for_everything_that_was_said(trunkline, store):
    assert shown_lines(trunkline, ANA, "--store", store) == [
        {"type": "session", "version": 1, "session_key": ANA, "session_id": "s-ana2", "generation": 2, "ended": None},
        {
            "type": "line",
            "role": "user",
            "text": "count the stars",
            "ref": "m2",
            "partial": False,
            "at": 1.5,
            "time": "1970-01-01T00:00:01.500+00:00",
        },
        {
            "type": "line",
            "role": "assistant",
            "text": "one, two",
            "ref": "m2.reply",
            "partial": True,
            "at": 1_700_000_000.25,
            "time": "2023-11-14T22:13:20.250+00:00",
        },
    ]


def test_what_was_edited_and_deleted_is_in_it_with_what_it_said_before(trunkline, store):
    with writing(store) as raw:
        line(raw, "s-topic", "a.reply", "two", role="assistant", was='["one"]')
        line(raw, "s-topic", "b.reply", "three", role="assistant", deleted=1)
    _, edited, deleted = shown_lines(trunkline, TOPIC, "--store", store)
    assert (edited["text"], edited["was"], "deleted" in edited) == ("two", ["one"], False)
    assert (deleted["text"], "was" in deleted, deleted["deleted"]) == ("three", False, True)


def test_a_session_in_which_nobody_spoke_has_a_header_only(trunkline, store):
    assert [one["session_id"] for one in shown_lines(trunkline, TOPIC, "--store", store)] == ["s-topic"]


def test_a_session_that_was_reset_is_found_by_its_id(trunkline, store):
    header, said = shown_lines(trunkline, "s-ana", "--store", store)
    assert (header["session_key"], header["generation"], header["ended"]) == (ANA, 1, "reset")
    assert said["text"] == "long ago"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("s-ben", "s-ben"),
        (f" {BEN} ", "s-ben"),
        ("main:discord:direct:200", "s-ben"),
        ("MAIN:Discord:Default:Direct:200", "s-ben"),
        ("agent:main:discord:default:direct:200", "s-ben"),
    ],
)
def test_a_session_is_found_by_its_id_and_by_every_form_of_its_key(trunkline, store, name, found):
    assert shown_lines(trunkline, name, "--store", store)[0]["session_id"] == found


def test_without_a_session_all_of_them_are_listed(trunkline, store):
    code, out, err = trunkline("transcript", "--store", store)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"{ANA}  s-ana  generation 1, 1 line, ended (reset)",
        f"{ANA}  s-ana2  generation 2, 2 lines",
        f"{BEN}  s-ben  generation 1, 1 line",
        f"{TOPIC}  s-topic  generation 1, 0 lines",
    ]


def test_a_store_of_version_1_can_be_read(trunkline, tmp_path):
    path = tmp_path / "old.db"
    write_version_1(path)
    _, out, _ = trunkline("transcript", "--store", path)
    keys = [one.split("  ")[0] for one in out.splitlines()]
    assert keys == sorted(keys)
    assert len(keys) > 3
    header, *lines = shown_lines(trunkline, keys[-1], "--store", path)
    assert header["session_key"] == keys[-1]
    assert [one["type"] for one in lines] == ["line"] * len(lines)
    assert "no session" in refused(trunkline, "nobody", "--store", path)


# ---------------------------------------------------------------- odd texts


ODD = 'é 😀 \x00 \x1b[31m \x9b31m \x7f \x85 \u2028 \u2029 \r\n\t "quoted" \\ \''


def test_texts_come_back_as_they_were_on_lines_that_nothing_breaks(trunkline, store):
    with writing(store) as raw:
        line(raw, "s-topic", "m9", ODD)
    _, out, _ = trunkline("transcript", TOPIC, "--store", store)
    assert len(out.splitlines()) == 2
    assert json.loads(out.splitlines()[1])["text"] == ODD
    assert "é 😀" in out
    assert all(char.isprintable() or char == "\n" for char in out)


def test_a_listed_name_cannot_write_to_the_terminal(trunkline, store):
    with writing(store) as raw:
        session(raw, "main:x:\x1b[2J\n:direct:1", "s-\x9b")
    _, out, _ = trunkline("transcript", "--store", store)
    assert len(out.splitlines()) == 5
    assert out.replace("\n", "").isprintable()


@pytest.mark.parametrize("at", [1e300, -1e18])
def test_a_time_that_is_no_date_is_a_number_all_the_same(trunkline, store, at):
    with writing(store) as raw:
        line(raw, "s-topic", "m9", at=at)
    said = shown_lines(trunkline, TOPIC, "--store", store)[1]
    assert (said["at"], said["time"]) == (at, None)


# ---------------------------------------------------------------- what is wrong


def test_an_unknown_session_is_reported_with_names_near_it(trunkline, store):
    assert f"did you mean: {ANA}" in refused(trunkline, "main:discord:default:direct:10", "--store", store)
    assert f"did you mean: {TOPIC}" in refused(trunkline, "topic:10", "--store", store)
    wrong = refused(trunkline, "main:discord:defualt:direct:200", "--store", store)
    assert BEN in wrong and "no session 'main:discord:defualt:direct:200'" in wrong


@pytest.mark.parametrize("name", ["zzz", "", "x" * 100_000])
def test_an_unknown_session_without_any_near_it_points_to_the_list(trunkline, store, name):
    assert "the list of sessions has all of them" in refused(trunkline, name, "--store", store)


def test_a_store_without_sessions_has_none_near(trunkline, tmp_path):
    path = tmp_path / "new.db"
    with writing(path) as raw:
        migrate(raw)
    assert trunkline("transcript", "--store", path) == (0, "", "")
    assert "no session" in refused(trunkline, ANA, "--store", path)


def write_foreign(path: Path) -> None:
    with writing(path) as raw:
        raw.execute("CREATE TABLE songs (name TEXT)")


def write_newer(path: Path) -> None:
    with writing(path) as raw:
        migrate(raw)
        raw.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "a folder, and no store"),
        (lambda path: path.write_text("dear diary, " * 1000), "file is not a database"),
        (lambda path: path.write_bytes(b""), "an empty database"),
        (write_foreign, "a SQLite database of another program"),
        (write_newer, "upgrade Trunkline"),
    ],
    ids=["none", "folder", "text", "empty", "foreign", "newer"],
)
@pytest.mark.parametrize("arguments", [(), (ANA,)], ids=["list", "one"])
def test_what_is_no_store_is_refused_and_stays_as_it_is(trunkline, tmp_path, make, says, arguments):
    path = tmp_path / "x.db"
    make(path)
    before = path.read_bytes() if path.is_file() else path.exists()
    complaint = refused(trunkline, *arguments, "--store", path)
    assert says in complaint and str(path) in complaint
    assert (path.read_bytes() if path.is_file() else path.exists()) == before


def test_a_store_must_be_named(trunkline):
    assert "--store" in refused(trunkline, ANA)


def test_a_store_that_breaks_while_it_is_read_is_reported(talkative):
    def read() -> None:
        for _ in transcript_pages(StoreFileOperator(talkative), TOPIC):
            with writing(talkative) as raw:
                raw.execute("DROP TABLE IF EXISTS transcript")

    with pytest.raises(UsageError, match=r"store #1 100%\.db: no such table"):
        read()


# ---------------------------------------------------------------- beside a gateway


def test_reading_changes_nothing(trunkline, store):
    before = store.read_bytes()
    shown_lines(trunkline, ANA, "--store", store)
    trunkline("transcript", "--store", store)
    assert store.read_bytes() == before


def test_a_store_can_be_read_while_a_gateway_works_it(trunkline, store):
    async def main() -> None:
        gateway = SqliteStore(lambda: connect_file(store), EventLog(lambda: 0.0).recorder("gateway"))
        await gateway.open()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(gateway.run)
                with writing(store) as raw:
                    # In the middle of a transaction: what is committed is told, and nobody waits.
                    raw.execute("BEGIN IMMEDIATE")
                    line(raw, "s-topic", "m8", "not yet")
                    assert len(shown_lines(trunkline, TOPIC, "--store", store)) == 1
                    raw.execute("COMMIT")
                assert shown_lines(trunkline, TOPIC, "--store", store)[1]["text"] == "not yet"
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await gateway.close()

    asyncio.run(main())


LONG, MANY = 20_000, 1_000


@pytest.fixture
def talkative(store):
    with writing(store) as raw:
        raw.execute("BEGIN")
        for number in range(MANY):
            line(raw, "s-topic", f"m{number}", f"{number} " + "x" * LONG)
        raw.execute("COMMIT")
    return store


def test_a_long_transcript_is_not_held_in_memory(talkative):
    tracemalloc.start()
    try:
        pages = transcript_pages(StoreFileOperator(talkative), TOPIC)
        found = sum(len(one.text) > LONG for page in pages for one in page.lines)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == MANY
    assert peak < 20 * LONG


def test_a_slow_reader_holds_up_no_checkpoint_and_misses_no_line(talkative):
    pages = transcript_pages(StoreFileOperator(talkative), TOPIC)
    read = [next(pages) for _ in range(3)]
    with writing(talkative) as raw:
        line(raw, "s-topic", "later")
        busy, *_ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert busy == 0
    assert [one.ref for page in [*read, *pages] for one in page.lines] == [f"m{number}" for number in range(MANY)]


def test_a_reader_may_close_the_pipe(talkative):
    command = [sys.executable, "-m", "trunkline", "transcript", TOPIC, "--store", str(talkative)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert json.loads(process.stdout.readline())["type"] == "session"
        process.stdout.close()
        assert process.wait(30) == 1
        assert process.stderr.read() == b""


def test_the_lines_of_sessions_are_counted_without_reading_them(store: Path) -> None:
    asked: list[str] = []
    with writing(store) as raw:
        raw.set_trace_callback(asked.append)
        assert ask(raw, ReadSessions()).sessions[0].lines
        raw.set_trace_callback(None)
        (counting,) = (sql for sql in asked if "transcript" in sql)
        plan = [step for *_, step in raw.execute(f"EXPLAIN QUERY PLAN {counting}") if " transcript " in step]
    assert plan
    assert all("COVERING INDEX" in step or "INTEGER PRIMARY KEY" in step for step in plan), plan
