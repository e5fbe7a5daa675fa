"""What belongs to a person, table by table: rows of every table, some of ana and some that only look like hers."""

import json
import sqlite3
from collections import Counter
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from trunkline.core.errors import IllegalTransition, StoreError
from trunkline.core.store.operators.erasure import ErasePerson, Erasure, ListErasures
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.migrate import APPLICATION_ID, migrate, migrations
from trunkline.core.store.sqlite.sql.operators.erasure import (
    _THEIRS,  # pyright: ignore[reportPrivateUsage]
    scrub,
)

#: tables without words of people, and why
EXEMPT = {
    "cursors": "where accounts have read to",
    "erasures": "the records of erasures",
    "lease": "which process works the store",
    "results": "texts of results, by their hash: they go with the last delegation that needs them",
    "system_events": "texts of operators, programs and the schedule",
    "timers": "names of agents and schedules",
    "sqlite_sequence": "the last numbers of tables",
}
KEY, CHILD, OLD, MAIN = "main:webchat:default:direct:ana", "main:subagent:d1", "main:old", "main:main"


def place(of: str = "ana", kind: str = "direct", channel: str = "webchat") -> str:
    return json.dumps({"channel": channel, "account": "default", "kind": kind, "conversation": of})


def lane(of: str = "ana", kind: str = "direct") -> str:
    return "\x1f".join((kind, "webchat", "default", of, ""))


def work(kind: str, by: str = "ana", at: str | None = None, text: str = "SECRET", **more: object) -> str:
    peer = {"id": by, "name": text}
    return json.dumps({"kind": kind, "peer": peer, "text": text, "place": json.loads(at or place()), **more})


class Rows:
    """Puts rows into tables; a column that nobody names has the word, or a number."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw, self.n = raw, 0
        #: how many of each word, by table
        self.counts: dict[str, Counter[str]] = {"SECRET": Counter(), "KEPT": Counter()}

    def put(self, table: str, word: str, **given: Any) -> None:
        self.n += 1
        self.counts.setdefault(word, Counter())[table] += 1
        row = dict[str, Any]()
        for _, name, kind, needed, default, key in self.raw.execute(f"PRAGMA table_info({table})"):
            if name == "n" or (default is not None and name not in given):
                continue
            if name in given:
                row[name] = given[name]
            elif kind == "TEXT" and (needed or key):
                row[name] = f"{word}-{self.n}"
            elif needed:
                row[name] = 1
        marks = ", ".join("?" * len(row))
        self.raw.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


@pytest.fixture
def made() -> Generator[Rows]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection)
        made = Rows(connection)
        _put_hers(made.put)
        _put_of_others(made.put)
        yield made


@pytest.fixture
def raw(made: Rows) -> sqlite3.Connection:
    return made.raw


def _put_hers(put: Any) -> None:
    put("session_map", "SECRET", session_key=KEY, session_id="s-ana", address=place(), entry='{"label": "SECRET"}')
    put("session_map", "SECRET", session_key=OLD, session_id="s-old", address=place(), shared=1)
    put("session_map", "SECRET", session_key=CHILD, session_id="s-child")
    put("session_places", "SECRET", agent_id="main", lane=lane(), session_key=KEY, address=place())
    put("session_left", "SECRET", session_id="s-old", lane=lane())
    put("session_history", "SECRET", session_id="s-ana0", session_key=KEY)
    put("session_moves", "SECRET", old_key="SECRET-before", new_key=KEY)
    put("session_people", "SECRET", session_key=MAIN, person="webchat:ana")
    put("inbox", "SECRET", id="i1", kind="message", state="done", session_id="s-ana", work=work("message"))
    put(
        "inbox",
        "SECRET",
        id="i2",
        kind="message",
        state="done",
        session_id="s-room",
        work=work("message", at=place("r", "group")),
    )
    put("inbox", "SECRET", id="i3", kind="task", state="done", session_id="s-child", work=work("task", by="hand:d1"))
    back: dict[str, Any] = {"callback": {"delegation": "d1", "text": "SECRET"}}
    put(
        "inbox",
        "SECRET",
        id="i4",
        kind="callback",
        state="done",
        session_id="s-room",
        work=work("callback", by="hand:d1", **back),
    )
    put("inbox_aliases", "SECRET", inbound_id="i2")
    for session in ("s-ana", "s-ana0", "s-old", "s-child"):
        put("transcript", "SECRET", session_id=session)
    put("transcript", "SECRET", session_id="s-room", ref="i2", role="user")
    put("transcript", "SECRET", session_id="s-room", ref="long-ago", role="user", author="webchat:ana")
    put("transcript", "SECRET", session_id="s-room", ref="i2.reply", role="assistant")
    put("transcript", "SECRET", session_id="s-room", ref="delivery/i2.reply", role="delivery")
    put("transcript", "SECRET", session_id="s-room", ref="d1.back", role="hand")
    put("intents", "SECRET", id="i1.reply", state="delivered", address=place(), inbound_id="i1")
    put("intents", "SECRET", id="i2.reply", state="delivered", address=place("r", "group"), inbound_id="i2")
    put("intents", "SECRET", id="d1.post", state="unknown", address=place("r", "group"), delegation_id="d1")
    put("intents", "SECRET", id="send:k", state="dead", address=place())
    put("sends", "SECRET", intent_id="send:k")
    put("nudges", "SECRET", intent_id="send:k")
    put("heartbeat_texts", "SECRET", lane=lane())
    put(
        "mailbox",
        "SECRET",
        channel="webchat",
        conversation="ana",
        message=json.dumps({"address": json.loads(place()), "text": "SECRET"}),
    )
    told = {"address": json.loads(place("r", "group")), "intent": "i2.reply", "text": "SECRET"}
    put("mailbox", "SECRET", channel="webchat", conversation="r", message=json.dumps(told))
    put(
        "delegations",
        "SECRET",
        id="d1",
        state="succeeded",
        callback="delivered",
        session_id="s-ana",
        child_key=CHILD,
        result_ref="h1",
    )
    put("delegations", "SECRET", id="d2", state="failed", callback="suppressed", parent="d1", session_id="s-x")
    # An earlier version stored no session with it.
    put("delegations", "SECRET", id="d3", state="succeeded", callback="delivered", session_key=KEY, session_id=None)
    put("results", "SECRET", hash="h1", refs=1)
    put("late_results", "SECRET", delegation_id="d2")
    put("hand_posts", "SECRET", delegation_id="d2")
    put("worker_turns", "SECRET", session_id="s-child")
    body = json.dumps({"conversation": json.loads(place()), "label": "SECRET"})
    put("bindings", "SECRET", status="ended", body=body)


def _put_of_others(put: Any) -> None:
    """Rows of ben, of a room and of people who are called ana elsewhere."""
    room, other = place("ana", "group"), place("ana", channel="telegram")
    put("session_map", "KEPT", session_key=MAIN, session_id="s-main", address=place("ben"))
    put("session_map", "KEPT", session_key="main:room", session_id="s-room", address=room)
    put("session_places", "KEPT", agent_id="main", lane=lane("ben"), session_key=MAIN, address=place("ben"))
    put("session_places", "KEPT", agent_id="main", lane=lane("ana", "group"), session_key="main:room", address=room)
    put("session_places", "SECRET", agent_id="other", lane=lane(), session_key=MAIN, address=place())
    put("session_left", "KEPT", session_id="s-main", lane=lane("ben"))
    # She shares one with ben today, and of another one that only she has now ben has said something.
    put("session_map", "KEPT", session_key="main:both", session_id="s-both")
    put("session_places", "KEPT", agent_id="both", lane=lane("ben"), session_key="main:both", address=place("ben"))
    put("session_places", "SECRET", agent_id="both", lane=lane(), session_key="main:both", address=place())
    put("session_map", "KEPT", session_key="main:before", session_id="s-before")
    put("session_left", "KEPT", session_id="s-before", lane=lane("ben"))
    put("session_people", "KEPT", session_key="main:before", person="webchat:ben")
    put("session_places", "SECRET", agent_id="before", lane=lane(), session_key="main:before", address=place())
    put("session_left", "SECRET", session_id="s-main", lane=lane())
    put("session_history", "KEPT", session_id="s-main0", session_key=MAIN)
    put("session_moves", "KEPT", old_key="KEPT-before", new_key=MAIN)
    put("session_people", "KEPT", session_key=MAIN, person="webchat:ben")
    put(
        "inbox",
        "KEPT",
        id="j1",
        kind="message",
        state="pending",
        session_id="s-room",
        work=work("message", "ben", room, "KEPT"),
    )
    put(
        "inbox",
        "KEPT",
        id="j2",
        kind="message",
        state="done",
        session_id="s-tg",
        work=work("message", "ana", other, "KEPT"),
    )
    put("inbox", "KEPT", id="j3", kind="wake", state="done", session_id="s-main", work="{broken")
    put("inbox_aliases", "KEPT", inbound_id="j1")
    for session in ("s-main", "s-main0", "s-room", "s-tg", "s-both", "s-before"):
        put("transcript", "KEPT", session_id=session, author="webchat:ben")
    put("intents", "KEPT", id="j1.reply", state="prepared", address=room, inbound_id="j1")
    put("intents", "KEPT", id="j2.reply", state="delivered", address=other, inbound_id="j2")
    put("intents", "KEPT", id="j3.reply", state="delivered", address="{broken")
    put("sends", "KEPT", intent_id="send:other")
    put("nudges", "KEPT", intent_id="j1.reply")
    put("heartbeat_texts", "KEPT", lane=lane("ana", "group"))
    put(
        "mailbox",
        "KEPT",
        channel="webchat",
        conversation="ana",
        message=json.dumps({"address": json.loads(room), "text": "KEPT"}),
    )
    put("delegations", "KEPT", id="e1", state="running", callback="waiting", session_id="s-room", result_ref="h2")
    put("results", "KEPT", hash="h2", refs=1)
    put("late_results", "KEPT", delegation_id="e1")
    put("hand_posts", "KEPT", delegation_id="e1")
    put("worker_turns", "KEPT", session_id="s-room")
    put("bindings", "KEPT", status="active", body=json.dumps({"conversation": json.loads(room), "label": "KEPT"}))


def tables(raw: sqlite3.Connection) -> set[str]:
    return {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def rows(raw: sqlite3.Connection, word: str) -> dict[str, int]:
    """How many rows of each table have a word in any column."""
    found = dict[str, int]()
    for table in sorted(tables(raw)):
        count = sum(word in str(row) for row in raw.execute(f"SELECT * FROM {table}"))
        if count:
            found[table] = count
    return found


def erase(raw: sqlite3.Connection, person: str = "ana") -> Erasure:
    raw.execute("BEGIN")
    try:
        done = execute(raw, ErasePerson(channel="webchat", person=person, by="boss", now=5.0))
    except BaseException:
        raw.execute("ROLLBACK")
        raise
    raw.execute("COMMIT")
    return done


def test_a_table_is_erased_or_has_no_words_of_people(raw: sqlite3.Connection) -> None:
    assert tables(raw) == _THEIRS.keys() | EXEMPT.keys()


def test_every_row_of_the_person_goes_and_no_other(made: Rows) -> None:
    raw, hers, others = made.raw, made.counts["SECRET"], made.counts["KEPT"]
    assert hers.keys() == others.keys() == _THEIRS.keys() | {"results"}, "there is a row of each in each"
    done = erase(raw)
    assert rows(raw, "SECRET") == {}
    assert {table: raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in others} == others
    assert done.rows == {table: count for table, count in hers.items() if table != "results"}
    assert ask(raw, ListErasures()) == (done,)
    assert not any("ana" in str(row) for row in raw.execute("SELECT * FROM erasures"))
    assert erase(raw).rows == {}, "nothing is left"


def test_what_a_session_of_others_says_of_her_goes(raw: sqlite3.Connection) -> None:
    raw.execute("UPDATE session_map SET address = ?, entry = 'SECRET' WHERE session_key = ?", (place(), MAIN))
    erase(raw)
    assert rows(raw, "SECRET") == {}
    assert raw.execute("SELECT count(*) FROM session_map WHERE session_key = ?", (MAIN,)).fetchone() == (1,)


def test_a_result_that_others_need_stays(raw: sqlite3.Connection) -> None:
    raw.execute("UPDATE results SET refs = 2, text = 'the same for both' WHERE hash = 'h1'")
    erase(raw)
    assert raw.execute("SELECT refs FROM results WHERE hash = 'h1'").fetchone() == (1,)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("UPDATE inbox SET state = 'pending' WHERE id = 'i2'", "turn i2"),
        ("UPDATE intents SET state = 'prepared' WHERE id = 'i1.reply'", "message i1.reply"),
        ("UPDATE intents SET state = 'sending' WHERE id = 'd1.post'", "message d1.post"),
        ("UPDATE intents SET untold = 1 WHERE id = 'send:k'", "message send:k"),
        ("UPDATE intents SET mirror_due = 1 WHERE id = 'send:k'", "message send:k"),
        ("UPDATE delegations SET state = 'running' WHERE id = 'd2'", "delegation d2"),
        ("UPDATE delegations SET callback = 'in_turn' WHERE id = 'd1'", "delegation d1"),
        ("UPDATE bindings SET status = 'active', id = 'b1' WHERE id LIKE 'SECRET%'", "binding b1"),
    ],
)
def test_open_work_is_named_and_nothing_is_erased(raw: sqlite3.Connection, change: str, named: str) -> None:
    raw.execute(change)
    before = rows(raw, "SECRET")
    with pytest.raises(IllegalTransition, match=f"open work: {named}; wait until it has ended"):
        erase(raw)
    assert rows(raw, "SECRET") == before
    assert ask(raw, ListErasures()) == ()


def test_a_direct_conversation_with_an_id_of_its_own_is_found_by_its_messages(raw: sqlite3.Connection) -> None:
    raw.execute("UPDATE inbox SET work = ? WHERE id = 'i1'", (work("message", at=place("D77")),))
    Rows(raw).put("intents", "SECRET", id="later", state="delivered", address=place("D77"))
    erase(raw)
    assert rows(raw, "SECRET") == {}


def test_an_earlier_store_learns_who_wrote_its_lines() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        for _, sql in migrations()[:9]:
            raw.executescript(sql)
        raw.execute("PRAGMA user_version = 9")
        raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        put = Rows(raw).put
        put("inbox", "x", id="i1", kind="message", work=work("message"))
        put("inbox", "x", id="i2", kind="callback", work=work("callback", by="hand:x"))
        put("inbox", "x", id="i3", kind="message", work="{broken")
        for ref, role in (("i1", "user"), ("i2", "hand"), ("i3", "user"), ("gone", "user")):
            put("transcript", "x", session_id="s", ref=ref, role=role)
        migrate(raw)
        found = dict(raw.execute("SELECT ref, author FROM transcript"))
        assert found == {"i1": "webchat:ana", "i2": None, "i3": None, "gone": None}


# ---------------------------------------------------------------- the bytes


def deleted(path: Path) -> sqlite3.Connection:
    """A store whose rows were deleted by a SQLite that leaves them in the file, as most are built."""
    raw = sqlite3.connect(path, isolation_level=None, timeout=0.2)
    raw.execute("PRAGMA journal_mode=WAL")
    raw.execute("PRAGMA secure_delete=OFF")
    migrate(raw)
    for n in range(500):
        raw.execute(
            "INSERT INTO transcript (session_id, role, text, ref, at) VALUES ('s', 'user', 'SECRET', ?, 1)", (n,)
        )
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.execute("DELETE FROM transcript WHERE ref <> '7'")
    return raw


def in_files(folder: Path, word: bytes = b"SECRET") -> int:
    return sum(path.read_bytes().count(word) for path in folder.iterdir())


def test_what_was_deleted_is_in_no_byte_of_the_file(tmp_path: Path) -> None:
    with closing(deleted(tmp_path / "a.db")) as raw:
        assert in_files(tmp_path) > 100, "SQLite leaves what was deleted"
        scrub(raw)
        assert in_files(tmp_path) == 1, "what was not deleted"
        assert raw.execute("PRAGMA quick_check").fetchone() == ("ok",)


def test_a_reader_that_holds_the_old_bytes_is_an_error_that_says_to_repeat(tmp_path: Path) -> None:
    with closing(deleted(tmp_path / "a.db")) as raw, closing(sqlite3.connect(tmp_path / "a.db")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM transcript").fetchone()
        with pytest.raises(StoreError, match=r"another process is reading the store.*repeat"):
            scrub(raw)
        reader.rollback()
        scrub(raw)
        assert in_files(tmp_path) == 1
