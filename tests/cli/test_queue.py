"""`trunkline queue`: what operators see of a store and do to it, beside whatever runs."""

import contextlib
import io
import json
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.support.contract.version_1 import write_version_1
from tests.support.factories import direct, intent, receipt, room
from tests.support.sending import Platform, message, serving, texts
from trunkline.app.report.queue import WATCH, ago, moment, span
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.states import OPEN, TRANSITIONS
from trunkline.core.errors import Ambiguous, SendFailed
from trunkline.core.events.delivery import IntentReopened, IntentSettled
from trunkline.core.reasons import Reason
from trunkline.core.store import IntentRow
from trunkline.core.store.records import SendRow, send_intent
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.offline import queue_file as outside
from trunkline.core.store.sqlite.sql import queue_admin as operate
from trunkline.core.store.sqlite.sql import writes as ops
from trunkline.core.store.sqlite.sql.queue_admin import Verdict
from trunkline.core.values import Capabilities, Idempotency, IntentKind, IntentState, Poll, Transport

S = IntentState
BORN, NOW = 1_700_000_000.0, 1_700_000_000.0 + 3 * 3600 + 5 * 60
replace = msgspec.structs.replace


@contextlib.contextmanager
def writing(path: Path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        yield raw


def bring(raw: sqlite3.Connection, row: IntentRow, state: IntentState, *, acked: int = 0, at: float = BORN) -> None:
    """Store an intent that has come to a state, after so many chunks."""
    ops.enqueue(raw, row, BORN)
    for n in range(acked):
        ops.ack_chunk(raw, replace(row, acked=n), receipt(f"90{n}", row.address), None, at)
    row = replace(row, acked=acked)
    if state is S.SENDING:
        ops.mark_sending(raw, replace(row, attempts=1), at)
    elif state is S.MISPLACED:
        ops.misplace(raw, row, receipt("666", room("501")), None, at)
    elif state is not S.PREPARED and acked < len(row.chunks):
        reason = {S.UNKNOWN: Reason.PARKED, S.EXPIRED: Reason.TOO_OLD}.get(state, Reason.PLACE_GONE)
        ops.end_intent(raw, replace(row, attempts=2), state, reason, None, at)


def made(name: str, *chunks: str, **fields: Any) -> IntentRow:
    return intent(name, *(chunks or ("one", "two", "three")), **{"created_at": BORN, **fields})


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr("trunkline.app.cli.store.queue.time.time", lambda: NOW)


@pytest.fixture
def store(tmp_path):
    """An intent in each state."""
    path = tmp_path / "store #1 100%.db"
    with writing(path) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        migrate(raw)
        for state in IntentState:
            chunks = {S.DELIVERED: 3, S.PARTIAL: 1, S.UNKNOWN: 1}.get(state, 0)
            bring(raw, made(f"{state.value}.reply"), state, acked=chunks)
    return path


def told(trunkline, *arguments) -> list[str]:
    code, out, err = trunkline("queue", *arguments)
    assert (code, err) == (0, "")
    return out.splitlines()


def document(trunkline, *arguments) -> dict[str, Any]:
    code, out, err = trunkline("queue", *arguments, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found.pop("trunkline_queue") == 1
    return found


def refused(trunkline, *arguments, code: int = 1) -> str:
    """The complaint about a command."""
    given, out, err = trunkline("queue", *arguments)
    assert (given, out) == (code, "")
    return err


def everything(path: Path) -> list[Any]:
    with writing(path) as raw:
        return [raw.execute(f"SELECT * FROM {table}").fetchall() for table in ("intents", "sends", "nudges")]


def state_of(path: Path, name: str) -> str:
    with writing(path) as raw:
        return raw.execute("SELECT state FROM intents WHERE id = ?", (name,)).fetchone()[0]


def names(lines: list[str]) -> list[str]:
    return [word for line in lines for word in line.split() if word.endswith(".reply")]


# ---------------------------------------------------------------- a list


def test_a_list_begins_with_all_there_is_and_has_what_wants_attention(trunkline, store):
    first, head, *lines = told(trunkline, "list", "--store", store)
    assert first == (
        "10 intents: 1 prepared, 1 sending, 1 delivered, 1 partial, 1 failed, 1 dead, 1 expired, 1 cancelled,"
        " 1 unknown, 1 misplaced"
    )
    assert head.split() == ["state", "age", "tries", "chunks", "reason", "next", "place", "id", "text"]
    hidden = {"delivered.reply", "cancelled.reply"}
    assert names(lines) == [f"{state.value}.reply" for state in IntentState if f"{state.value}.reply" not in hidden]
    [unknown] = [line for line in lines if "unknown.reply" in line]
    assert unknown.split() == [
        *("unknown", "3h", "5m", "2", "1/3", "parked", "–", "discord:default/100", "unknown.reply", "“one”")
    ]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("--all",), [state.value for state in IntentState]),
        (("--state", "dead"), ["dead"]),
        (("--state", "cancelled", "--state", "dead"), ["dead", "cancelled"]),
        (("--channel", "discord", "--state", "dead"), ["dead"]),
        (("--channel", "telegram"), []),
        (("--all", "--limit", "2"), ["prepared", "sending"]),
    ],
)
def test_a_list_is_as_narrow_as_it_was_asked_for(trunkline, store, arguments, found):
    lines = told(trunkline, "list", *arguments, "--store", store)
    assert names(lines) == [f"{state}.reply" for state in found]
    assert lines[0].startswith("10 intents: ")


def test_what_a_limit_leaves_out_is_told(trunkline, store):
    assert told(trunkline, "list", "--all", "--limit", 3, "--store", store)[-1] == "and 7 more: --limit 10"
    assert len(told(trunkline, "list", "--all", "--limit", 10, "--store", store)) == 12


def test_an_empty_queue_is_told(trunkline, tmp_path):
    path = tmp_path / "new.db"
    with writing(path) as raw:
        migrate(raw)
    assert told(trunkline, "list", "--store", path) == ["0 intents", "nothing to list"]
    with writing(path) as raw:
        bring(raw, made("i1", "one"), S.DELIVERED, acked=1)
    assert told(trunkline, "list", "--store", path) == [
        "1 intent: 1 delivered",
        "nothing of it was asked for; --all lists everything",
    ]


def test_a_list_for_machines_has_every_field(trunkline, store):
    with writing(store) as raw:
        row = made("later", "one", "two", kind=IntentKind.TOOL, address=room("777", parent="500"))
        ops.enqueue(raw, row, BORN)
        ops.defer(raw, replace(row, attempts=1), NOW + 25, Reason.RATE_LIMITED, NOW - 1.5)
    found = document(trunkline, "list", "--state", "prepared", "--store", store)
    assert (found["total"], found["more"], found["holder"]) == (11, 0, None)
    assert found["counts"] == {state.value: 2 if state is S.PREPARED else 1 for state in IntentState}
    assert found["intents"][1] == {
        "id": "later",
        "kind": "tool",
        "state": "prepared",
        "reason": "rate-limited",
        "sentence": "The platform asked to wait.",
        "place": {
            "channel": "discord",
            "account": "default",
            "kind": "channel",
            "conversation": "777",
            "thread": None,
            "parent": "500",
        },
        "accepted_chunks": 0,
        "chunks": 2,
        "attempts": 1,
        "age": 11100.0,
        "created_at": BORN,
        "created_time": "2023-11-14T22:13:20+00:00",
        "updated_at": NOW - 1.5,
        "updated_time": "2023-11-15T01:18:18+00:00",
        "next_at": NOW + 25,
        "next_time": "2023-11-15T01:18:45+00:00",
        "text": "one",
    }
    [line] = [line for line in told(trunkline, "list", "--store", store) if "later" in line]
    assert "  rate-limited  in 25s  " in line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.4, "0s"),
        (59, "59s"),
        (60, "1m"),
        (3661, "1h 1m"),
        (3600, "1h"),
        (86400 * 40 + 5, "40d"),
        (-90, "1m 30s"),
    ],
)
def test_times_are_told_in_their_largest_units(seconds, text):
    assert span(seconds) == text
    assert ago(NOW - abs(seconds), NOW) == f"{text} ago"
    assert ago(NOW + 90, NOW) == "in 1m 30s"
    assert (moment(None), moment(1e300)) == (None, None)


# ---------------------------------------------------------------- one of them


def test_one_is_shown_with_all_that_is_known_of_it(trunkline, store):
    lines = told(trunkline, "show", "unknown.reply", "--store", store)
    facts = [tuple(line.split(maxsplit=1)) for line in lines if not line.startswith(" ")]
    assert facts[:3] == [
        ("intent", "unknown.reply"),
        ("state", "unknown"),
        ("because", f"parked: {Reason.PARKED.sentence}"),
    ]
    assert ("place", "discord:default/100 (direct)") in facts
    assert ("session", "main:discord:default:direct:100") in facts
    assert ("created", "2023-11-14T22:13:20+00:00 (3h 5m ago)") in facts
    assert [line for line in lines if line.startswith("chunk")] == [
        "chunk 1/3  accepted as 900  “one”",
        "chunk 2/3  in doubt  “two”",
        "chunk 3/3  not sent  “three”",
    ]
    commands = [line.removeprefix("can").strip() for line in lines if "trunkline queue" in line]
    assert [line.partition("  (")[0] for line in commands] == [
        f"trunkline queue resolve unknown.reply {verdict} --store {shlex.quote(str(store))}"
        for verdict in ("--sent", "--unsent", "--abandon")
    ]


def test_what_is_unusual_of_one_is_shown_too(trunkline, store):
    row = made(
        "odd",
        "where to?",
        kind=IntentKind.SEND,
        named_session=True,
        media=("https://e.com/a%20b.png?x=1",),
        poll=Poll(question="where to?", options=("sea", "hills")),
        payload='{"card": 1}',
        best_effort=True,
        untold=True,
        reply_to="m9",
        delegation="m1.hand1",
    )
    with writing(store) as raw:
        ops.enqueue(raw, row, BORN)
        tried = replace(row, attempts=1, marked=True, doubt_at=NOW - 60, transport=Transport.GATEWAY)
        ops.defer(raw, tried, NOW + 5, Reason.MARKED_RESEND, NOW - 60)
    text = "\n".join(told(trunkline, "show", "odd", "--store", store))
    for part in (
        "main:discord:default:direct:100 (named by its caller)",
        "answers     m9",
        "1 of its next chunk, one and no more (best effort)",
        "(in 5s)",
        "since 2023-11-15T01:17:20+00:00 (1m ago)",
        "transport   gateway",
        "its next try says that it may be a repeat",
        "chunk 1/1   in doubt  “where to?”",
        "a b.png",
        "where to?: sea | hills",
        '{"card": 1}',
        "they are still to be told how it ends",
    ):
        assert part in text, part
    found = document(trunkline, "show", "odd", "--store", store)
    assert {name: found["intent"][name] for name in ("marked", "transport", "best_effort", "hooks_untold", "poll")} == {
        "marked": True,
        "transport": "gateway",
        "best_effort": True,
        "hooks_untold": True,
        "poll": {"question": "where to?", "options": ["sea", "hills"]},
    }
    assert (found["intent"]["doubt_time"], found["can"], found["broken"]) == ("2023-11-15T01:17:20+00:00", [], None)


def test_a_receipt_of_another_place_is_shown_with_that_place(trunkline, store):
    lines = told(trunkline, "show", "misplaced.reply", "--store", store)
    assert "chunk 1/3  accepted as 666 at discord:default/501  “one”" in lines
    found = document(trunkline, "show", "misplaced.reply", "--store", store)
    assert found["chunks"][0]["receipt"]["message_id"] == "666"
    assert [chunk["fate"] for chunk in found["chunks"]] == ["accepted", "not sent", "not sent"]


def test_a_line_that_is_still_to_be_stored_is_shown(trunkline, store):
    with writing(store) as raw:
        raw.execute("UPDATE intents SET mirror_due = 1 WHERE id = 'delivered.reply'")
    assert document(trunkline, "show", "delivered.reply", "--store", store)["intent"]["mirror_due"] is True
    assert (
        "its transcript line is still to be stored" in told(trunkline, "show", "delivered.reply", "--store", store)[-1]
    )


@pytest.mark.parametrize("state", list(IntentState))
@pytest.mark.parametrize("acked", [0, 2])
def test_what_can_be_done_is_what_the_table_allows_and_it_can_be_done(trunkline, store, state, acked):
    name = f"{state.value}.{acked}.reply"
    with writing(store) as raw:
        ended = S.PARTIAL if acked and state in (S.FAILED, S.DEAD, S.EXPIRED, S.CANCELLED) else state
        bring(raw, made(name), ended, acked=3 if state is S.DELIVERED else max(acked, ended is S.PARTIAL))
    can = document(trunkline, "show", name, "--store", store)["can"]
    operators = [event for event in TRANSITIONS[ended] if event in outside._OPERATORS]
    # Whether a chunk that was sent is the last one is known.
    assert len(can) == len(operators) - (ended is S.UNKNOWN)
    before = everything(store)
    for command in can:
        program, *words = shlex.split(command)
        assert program == "trunkline"
        assert trunkline(*words)[0] == 0
        assert state_of(store, name) != ended.value
        with writing(store) as raw:
            raw.execute("DELETE FROM nudges")
            raw.execute("DELETE FROM intents")
            marks = ", ".join("?" * len(before[0][0]))
            raw.executemany(f"INSERT INTO intents VALUES ({marks})", before[0])


def test_an_unknown_intent_is_told_with_those_that_look_like_it(trunkline, store):
    complaint = refused(trunkline, "show", "unknown", "--store", store, code=2)
    assert "no intent 'unknown'; did you mean unknown.reply?" in complaint


# ---------------------------------------------------------------- again


def test_what_is_named_is_tried_again(trunkline, store):
    lines = told(trunkline, "retry", "dead.reply", "partial.reply", "dead.reply", "--store", store)
    assert lines == [
        "dead.reply: was dead, is prepared, from chunk 1 of 3",
        "partial.reply: was partial, is prepared, from chunk 2 of 3",
        "no gateway works this store: the next one that starts takes it up",
    ]
    assert document(trunkline, "show", "dead.reply", "--store", store)["intent"]["created_at"] == NOW


@pytest.mark.parametrize(
    "bad", ["delivered.reply", "cancelled.reply", "unknown.reply", "prepared.reply", "misplaced.reply"]
)
def test_of_those_that_are_named_all_are_tried_again_or_none(trunkline, store, bad):
    before = everything(store)
    complaint = refused(trunkline, "retry", "dead.reply", bad, "--store", store)
    assert "nothing was changed" in complaint
    assert everything(store) == before
    refused(trunkline, "retry", "dead.reply", "nobody", "--store", store, code=2)
    assert everything(store) == before


def test_all_of_a_state_are_tried_again_but_for_those_that_cannot_be(trunkline, store):
    with writing(store) as raw:
        for name in ("abandoned", "part"):
            bring(raw, made(name), S.UNKNOWN, acked=name == "part")
            operate.resolve(raw, name, Verdict.ABANDON, BORN)
        bring(raw, made("broken"), S.DEAD)
        raw.execute("UPDATE intents SET chunks = '?' WHERE id = 'broken'")
        first = made(send_intent("k", 1))
        ops.begin_send(
            raw,
            SendRow(key="k", intent=first.id, tries=1, session_key=None, channel="discord"),
            first,
            None,
            bool,
            BORN,
        )
        ops.end_intent(raw, first, S.DEAD, Reason.ATTEMPTS_EXHAUSTED, None, BORN)
        ops.begin_send(
            raw,
            SendRow(key="k", intent=first.id, tries=1, session_key=None, channel="discord"),
            first,
            None,
            bool,
            BORN,
        )
    found = document(trunkline, "retry", "--state", "dead", "--state", "partial", "--state", "failed", "--store", store)
    assert {one["id"]: (one["before"], one["after"], one["accepted_chunks"]) for one in found["changed"]} == {
        "partial.reply": ("partial", "prepared", 1),
        "failed.reply": ("failed", "prepared", 0),
        "dead.reply": ("dead", "prepared", 0),
    }
    why = {one["id"]: one["why"] for one in found["skipped"]}
    assert set(why) == {"abandoned", "part", "broken", "send:k"}
    assert "abandoned while a chunk was in doubt" in why["abandoned"]
    assert "cannot be read" in why["broken"]
    assert "the try that counts is send:k+2" in why["send:k"]
    # Whoever names one that was abandoned is told what that may bring.
    lines = told(trunkline, "retry", "abandoned", "--store", store)
    assert (
        lines[0]
        == "abandoned: was dead, is prepared, from chunk 1 of 3; that chunk was in doubt, and may be seen twice"
    )
    assert "its client has tried again: send:k+2 counts" in "\n".join(
        told(trunkline, "show", "send:k", "--store", store)
    )
    assert document(trunkline, "show", "send:k", "--store", store)["can"] == []


def test_all_of_a_channel_are_tried_again_in_parts(trunkline, store, monkeypatch):
    monkeypatch.setattr(outside, "_SOME", 2)
    with writing(store) as raw:
        for n in range(5):
            bring(raw, made(f"t{n}", address=direct("7", channel="telegram")), S.DEAD)
    lines = told(trunkline, "retry", "--state", "dead", "--channel", "telegram", "--store", store)
    assert [line.partition(":")[0] for line in lines[:-1]] == [f"t{n}" for n in range(5)]
    assert state_of(store, "dead.reply") == "dead"
    assert told(trunkline, "retry", "--state", "dead", "--channel", "telegram", "--store", store) == [
        "nothing was changed"
    ]


@pytest.mark.parametrize("state", [state for state in IntentState if state not in outside.RETRYABLE])
def test_a_state_that_cannot_be_tried_again_is_refused(trunkline, store, state):
    before = everything(store)
    complaint = refused(trunkline, "retry", "--state", state.value, "--store", store)
    assert f"what is {state.value} cannot be tried again; what is partial, failed, dead, expired can" in complaint
    assert everything(store) == before


# ---------------------------------------------------------------- what is in doubt


@pytest.mark.parametrize(
    ("arguments", "line", "state"),
    [
        (("--sent",), "unknown.reply: was unknown, is prepared, from chunk 3 of 3", "prepared"),
        (("--unsent",), "unknown.reply: was unknown, is prepared, from chunk 2 of 3", "prepared"),
        (("--abandon",), "unknown.reply: was unknown, is partial", "partial"),
    ],
)
def test_a_word_on_a_chunk_in_doubt_is_taken(trunkline, store, arguments, line, state):
    lines = told(trunkline, "resolve", "unknown.reply", *arguments, "--store", store)
    assert lines == [line, "no gateway works this store: the next one that starts takes it up"]
    assert state_of(store, "unknown.reply") == state
    before = everything(store)
    assert "nothing was changed" in refused(trunkline, "resolve", "unknown.reply", *arguments, "--store", store)
    assert everything(store) == before


def test_the_platforms_id_of_a_chunk_may_be_told(trunkline, store):
    with writing(store) as raw:
        bring(raw, made("last", "one"), S.UNKNOWN)
    found = document(trunkline, "resolve", "last", "--sent", "--message-id", "777", "--store", store)
    assert (found["verb"], found["changed"][0]["after"], found["holder"]) == ("sent", "delivered", None)
    assert document(trunkline, "show", "last", "--store", store)["chunks"][0]["receipt"]["message_id"] == "777"


WRONG: list[Any] = [
    (("resolve", "unknown.reply"), "say one of --sent, --unsent and --abandon"),
    (("resolve", "unknown.reply", "--sent", "--abandon"), "say one of"),
    (("resolve", "unknown.reply", "--unsent", "--message-id", "7"), "--message-id goes with --sent"),
    (("resolve", "--sent"), "INTENT"),
    (("retry",), "name the intents, or all of a state"),
    (("retry", "dead.reply", "--state", "dead"), "name the intents, or all of a state"),
    (("retry", "dead.reply", "--channel", "discord"), "--channel goes with --state"),
    (("list", "--state", "asleep"), "asleep"),
    (("list", "--limit", "0"), "--limit must be at least 1"),
    (("list", "--all", "--state", "dead"), "--all goes without --state"),
    (("purge",), "say which"),
    (("purge", "--older-than", "long"), "'long' is not a time"),
    (("purge", "--older-than", "-7d"), "--older-than"),
    (("show",), "INTENT"),
    (("sing",), "sing"),
]


@pytest.mark.parametrize(("arguments", "says"), WRONG)
def test_wrong_use_is_told_and_changes_nothing(trunkline, store, arguments, says):
    before = everything(store)
    assert says in refused(trunkline, *arguments, "--store", store, code=2)
    assert everything(store) == before


# ---------------------------------------------------------------- away with it


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "gone"), [("y\n", True), ("YES\n", True), ("\n", False), ("n\n", False), ("", False)]
)
def test_a_purge_asks_first(trunkline, store, monkeypatch, answer, gone):
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    before = everything(store)
    code, out, err = trunkline("queue", "purge", "--state", "dead", "--state", "failed", "--store", store)
    assert "Remove 2 intents: 1 failed, 1 dead? What was said stays in the transcripts. [y/N] " in err
    assert (code, out) == ((0, "2 intents removed\n") if gone else (1, ""))
    assert (everything(store) == before) is not gone


def test_without_anybody_to_be_asked_a_purge_must_be_meant(trunkline, store):
    before = everything(store)
    complaint = refused(trunkline, "purge", "--state", "dead", "--store", store, code=2)
    assert "nobody to be asked whether to remove 1 intent: 1 dead: add --yes" in complaint
    assert everything(store) == before
    assert told(trunkline, "purge", "--state", "dead", "--yes", "--store", store) == ["1 intent removed"]
    assert told(trunkline, "purge", "--state", "dead", "--store", store) == ["0 intents removed"]


@pytest.mark.parametrize("state", sorted(OPEN))
def test_what_is_open_is_not_purged(trunkline, store, state):
    before = everything(store)
    complaint = refused(trunkline, "purge", "--state", state.value, "--state", "dead", "--yes", "--store", store)
    assert f"what is {state.value} is still to be sent, and is not removed" in complaint
    assert everything(store) == before


def test_what_is_in_doubt_is_purged_only_when_that_is_said(trunkline, store):
    found = document(trunkline, "purge", "--older-than", "1h", "--yes", "--store", store)
    assert found["removed"] == 7
    assert "unknown" not in found["asked"]
    assert {state for state in S if state in OPEN or state is S.UNKNOWN} == {
        S(line.split()[0]) for line in told(trunkline, "list", "--all", "--store", store)[2:]
    }
    assert told(trunkline, "purge", "--state", "unknown", "--yes", "--store", store) == ["1 intent removed"]


def test_a_purge_goes_by_age(trunkline, store):
    with writing(store) as raw:
        bring(raw, made("young"), S.DEAD, at=NOW - 3599)
    assert told(trunkline, "purge", "--state", "dead", "--older-than", "7d", "--store", store) == ["0 intents removed"]
    assert told(trunkline, "purge", "--state", "dead", "--older-than", "1h", "--yes", "--store", store) == [
        "1 intent removed"
    ]
    assert state_of(store, "young") == "dead"


# ---------------------------------------------------------------- odd texts and broken rows


ODD = 'é 😀 \x00 \x1b[31m \x9b31m \x7f \x85 \u2028 \u202e \r\n\t "quoted" \\ \''


def test_texts_and_names_cannot_write_to_the_terminal(trunkline, store):
    odd = made(f"send:{ODD}", ODD, reply_to=ODD, agent=ODD, mirror_key=ODD, payload=ODD, media=(ODD,))
    with writing(store) as raw:
        bring(raw, odd, S.UNKNOWN)
    # Two lines, and one for each that is neither delivered nor cancelled.
    assert len(told(trunkline, "list", "--store", store)) == 2 + len(IntentState) - 2 + 1
    for arguments in (("list",), ("show", odd.id), ("retry", odd.id), ("resolve", odd.id, "--sent"), ("show", ODD)):
        for as_json in ((), ("--json",)):
            _, out, err = trunkline("queue", *arguments, *as_json, "--store", store)
            assert all(char.isprintable() or char == "\n" or (as_json and char == "\u202e") for char in out), arguments
            assert arguments[0] == "list" or out or err
    found = document(trunkline, "show", odd.id, "--store", store)
    assert (found["intent"]["id"], found["chunks"][0]["text"], found["intent"]["payload"]) == (odd.id, ODD, ODD)


@pytest.mark.parametrize("column", ["chunks", "address", "kind", "receipts"])
def test_a_broken_row_is_listed_and_shown_as_such(trunkline, store, column):
    with writing(store) as raw:
        raw.execute(f"UPDATE intents SET {column} = '?' WHERE id = 'dead.reply'")
    assert "dead.reply" in names(told(trunkline, "list", "--store", store))
    text = "\n".join(told(trunkline, "show", "dead.reply", "--store", store))
    assert "the row of intent dead.reply cannot be read" in text
    found = document(trunkline, "show", "dead.reply", "--store", store)
    assert (found["intent"]["state"], found["can"]) == ("dead", [])
    assert "cannot be read" in found["broken"]
    before = everything(store)
    assert "cannot be read" in refused(trunkline, "retry", "dead.reply", "--store", store)
    assert everything(store) == before
    assert told(trunkline, "purge", "--state", "dead", "--yes", "--store", store) == ["1 intent removed"]


# ---------------------------------------------------------------- files


def write_foreign(path: Path) -> None:
    with writing(path) as raw:
        raw.execute("CREATE TABLE songs (name TEXT)")


def write_newer(path: Path) -> None:
    with writing(path) as raw:
        migrate(raw)
        raw.execute("PRAGMA user_version = 99")


COMMANDS: list[tuple[str, ...]] = [
    ("list",),
    ("show", "x"),
    ("retry", "x"),
    ("retry", "--state", "dead"),
    ("resolve", "x", "--sent"),
    ("purge", "--state", "dead", "--yes"),
]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "a folder, and no store"),
        (lambda path: path.write_text("dear diary, " * 1000), "file is not a database"),
        (lambda path: path.write_bytes(b""), "an empty database"),
        (write_foreign, "a SQLite database of another program"),
        (write_newer, "upgrade Trunkline"),
        (write_version_1, "it has version 1, and today's is"),
    ],
    ids=["none", "folder", "text", "empty", "foreign", "newer", "older"],
)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_what_is_no_store_of_today_is_refused_and_stays_as_it_is(trunkline, tmp_path, make, says, arguments):
    path = tmp_path / "x.db"
    make(path)
    before = path.read_bytes() if path.is_file() else path.exists()
    complaint = refused(trunkline, *arguments, "--store", path, code=2)
    assert says in complaint and str(path) in complaint
    assert (path.read_bytes() if path.is_file() else path.exists()) == before
    # SQLite may need files of its own beside it to look at it.
    found = {one.name for one in tmp_path.iterdir()} - {"x.db-wal", "x.db-shm"}
    assert found == (set() if before is False else {"x.db"})


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_store_must_be_named(trunkline, arguments):
    assert "--store" in refused(trunkline, *arguments, code=2)


def test_looking_changes_nothing(trunkline, store):
    before = store.read_bytes()
    told(trunkline, "list", "--store", store)
    told(trunkline, "show", "dead.reply", "--store", store)
    assert store.read_bytes() == before


def test_a_store_that_somebody_else_keeps_for_too_long_is_told(trunkline, store, monkeypatch):
    monkeypatch.setattr(outside, "_PATIENCE", 0.01)
    before = everything(store)
    with writing(store) as raw:
        raw.execute("BEGIN IMMEDIATE")
        complaint = refused(trunkline, "retry", "dead.reply", "--store", store)
        assert "database is locked; nothing was changed" in complaint
        # Looking needs no turn.
        assert len(told(trunkline, "list", "--store", store)) > 2
        raw.execute("ROLLBACK")
    assert everything(store) == before


# ---------------------------------------------------------------- beside a gateway


def test_what_is_done_beside_a_gateway_is_taken_up_by_it(trunkline, tmp_path, monkeypatch):
    monkeypatch.undo()
    path = tmp_path / "store.db"

    async def main() -> None:
        platform = Platform()
        platform.capabilities = Capabilities(idempotency=Idempotency.NONE)
        platform.errors = [Ambiguous("no answer")]
        async with serving(path, platform, delivery={"watch": "1ms"}) as running:
            with pytest.raises(SendFailed):
                await running.gateway.send(message())
            lines = await anyio.to_thread.run_sync(told, run, "resolve", "send:k", "--unsent", "--store", path)
            await running.until(IntentReopened)
            await running.until(IntentSettled, 2)
            assert texts(platform) == ["hi"]
        assert lines[0] == "send:k: was unknown, is prepared, from chunk 1 of 1"
        assert lines[1].endswith("works this store, and takes it up within its delivery.watch (20s by default)")
        platform.close()

    def run(*arguments):
        return trunkline(*arguments)

    anyio.run(main)
    assert DeliveryConfig().watch == WATCH


def test_the_command_needs_little_to_start(tmp_path):
    """Nothing of the app's screens, and nothing of the simulator."""
    code = (
        "import sys\nfrom trunkline.app.cli.commands import dispatch\n"
        f"try:\n    dispatch(['queue', 'list', '--store', {str(tmp_path / 'no.db')!r}])\nexcept Exception: pass\n"
        "print(*(name for name in ('textual', 'trunkline.sim', 'faker') if name in sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
