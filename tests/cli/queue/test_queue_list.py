"""`trunkline queue list` and `show`."""

import shlex

import pytest

from tests.support.cli.queues import (
    BORN,
    NOW,
    S,
    bring,
    document,
    everything,
    made,
    queue_lines,
    refused,
    state_of,
    writing,
)
from tests.support.factories import changed, intent, room
from trunkline.app.report.queue import ago, moment
from trunkline.app.text.cells import span
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionPart
from trunkline.core.reasons import Reason
from trunkline.core.states.intent import TRANSITIONS
from trunkline.core.store.commands import Defer, Enqueue
from trunkline.core.store.operators.queue import OPERATOR_EVENTS
from trunkline.core.store.sqlite.handlers import execute
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.values import IntentId, IntentKind, IntentState, Poll, Transport


def names(lines: list[str]) -> list[str]:
    return [word for line in lines for word in line.split() if word.endswith(".reply")]


# ---------------------------------------------------------------- a list


def test_a_list_begins_with_all_there_is_and_has_what_wants_attention(trunkline, store):
    first, head, *lines = queue_lines(trunkline, "list", "--store", store)
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
    lines = queue_lines(trunkline, "list", *arguments, "--store", store)
    assert names(lines) == [f"{state}.reply" for state in found]
    assert lines[0].startswith("10 intents: ")


def test_what_a_limit_leaves_out_is_reported(trunkline, store):
    assert queue_lines(trunkline, "list", "--all", "--limit", 3, "--store", store)[-1] == "and 7 more: --limit 10"
    assert len(queue_lines(trunkline, "list", "--all", "--limit", 10, "--store", store)) == 12


def test_an_empty_queue_is_reported(trunkline, tmp_path):
    path = tmp_path / "new.db"
    with writing(path) as raw:
        migrate(raw)
    assert queue_lines(trunkline, "list", "--store", path) == ["0 intents", "nothing to list"]
    with writing(path) as raw:
        bring(raw, made("i1", "one"), S.DELIVERED, acked=1)
    assert queue_lines(trunkline, "list", "--store", path) == [
        "1 intent: 1 delivered",
        "none needs attention, and none is to be sent; --all lists them",
    ]
    assert queue_lines(trunkline, "list", "--channel", "slack", "--store", path)[1:] == [
        "none is in this state and for this platform"
    ]


def test_a_list_for_machines_has_every_field(trunkline, store):
    with writing(store) as raw:
        row = made("later", "one", "two", kind=IntentKind.TOOL, address=room("777", parent="500"))
        execute(raw, Enqueue(intent=row, now=BORN))
        execute(
            raw, Defer(intent=changed(row, attempts=1), next_at=NOW + 25, reason=Reason.RATE_LIMITED, now=NOW - 1.5)
        )
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
        "action": None,
    }
    [line] = [line for line in queue_lines(trunkline, "list", "--store", store) if "later" in line]
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
def test_times_are_shown_in_their_largest_units(seconds, text):
    assert span(seconds) == text
    assert ago(NOW - abs(seconds), NOW) == f"{text} ago"
    assert ago(NOW + 90, NOW) == "in 1m 30s"
    assert (moment(None), moment(1e300)) == (None, None)


# ---------------------------------------------------------------- one of them


def test_one_is_shown_with_all_that_is_known_of_it(trunkline, store):
    lines = queue_lines(trunkline, "show", "unknown.reply", "--store", store)
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
        hooks_pending=True,
        reply_to="m9",
        delegation="m1.hand1",
    )
    with writing(store) as raw:
        execute(raw, Enqueue(intent=row, now=BORN))
        tried = changed(row, attempts=1, marked=True, doubt_at=NOW - 60, transport=Transport.GATEWAY)
        execute(raw, Defer(intent=tried, next_at=NOW + 5, reason=Reason.MARKED_RESEND, now=NOW - 60))
    text = "\n".join(queue_lines(trunkline, "show", "odd", "--store", store))
    for part in (
        "main:discord:default:direct:100 (named by its caller)",
        "answers     m9",
        "1 of its next chunk, at most one (best effort)",
        "(in 5s)",
        "since 2023-11-15T01:17:20+00:00 (1m ago)",
        "transport   gateway",
        "its next attempt says that it may be a repeat",
        "chunk 1/1   in doubt  “where to?”",
        "a b.png",
        "where to?: sea | hills",
        '{"card": 1}',
        "not yet notified of its outcome",
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
    lines = queue_lines(trunkline, "show", "misplaced.reply", "--store", store)
    assert "chunk 1/3  accepted as 666 at discord:default/501  “one”" in lines
    found = document(trunkline, "show", "misplaced.reply", "--store", store)
    assert found["chunks"][0]["receipt"]["message_id"] == "666"
    assert [chunk["fate"] for chunk in found["chunks"]] == ["accepted", "not sent", "not sent"]


def test_a_line_that_is_still_to_be_stored_is_shown(trunkline, store):
    with writing(store) as raw:
        raw.execute("UPDATE intents SET mirror_due = 1 WHERE id = 'delivered.reply'")
    assert document(trunkline, "show", "delivered.reply", "--store", store)["intent"]["mirror_due"] is True
    assert (
        "its transcript line is not stored yet"
        in queue_lines(trunkline, "show", "delivered.reply", "--store", store)[-1]
    )


@pytest.mark.parametrize("state", list(IntentState))
@pytest.mark.parametrize("acked", [0, 2])
def test_what_can_be_done_is_what_the_table_allows_and_it_can_be_done(trunkline, store, state, acked):
    name = f"{state.value}.{acked}.reply"
    with writing(store) as raw:
        ended = S.PARTIAL if acked and state in (S.FAILED, S.DEAD, S.EXPIRED, S.CANCELLED) else state
        bring(raw, made(name), ended, acked=3 if state is S.DELIVERED else max(acked, ended is S.PARTIAL))
    can = document(trunkline, "show", name, "--store", store)["can"]
    operators = [event for event in TRANSITIONS[ended] if event in OPERATOR_EVENTS]
    # Whether a chunk that was sent is the last one is known.
    assert len(can) == len(operators) - (ended is S.UNKNOWN)
    before = everything(store)
    for command in can:
        program, *words = shlex.split(command)
        assert program == "trunkline"
        assert trunkline(*words)[0] == 0
        # What is abandoned stays unknown.
        assert (state_of(store, name) == ended.value) is ("--abandon" in words)
        with writing(store) as raw:
            raw.execute("DELETE FROM nudges")
            raw.execute("DELETE FROM intents")
            marks = ", ".join("?" * len(before[0][0]))
            raw.executemany(f"INSERT INTO intents VALUES ({marks})", before[0])


def test_an_unknown_intent_is_reported_with_those_that_look_like_it(trunkline, store):
    complaint = refused(trunkline, "show", "unknown", "--store", store, code=2)
    assert "no intent 'unknown'; did you mean unknown.reply?" in complaint


# ---------------------------------------------------------------- odd texts and broken rows


ODD = 'é 😀 \x00 \x1b[31m \x9b31m \x7f \x85 \u2028 \u202e \r\n\t "quoted" \\ \''


def test_texts_and_names_cannot_write_to_the_terminal(trunkline, store):
    odd = made(f"send:{ODD}", ODD, reply_to=ODD, agent=ODD, mirror_key=ODD, payload=ODD, media=(ODD,))
    with writing(store) as raw:
        bring(raw, odd, S.UNKNOWN)
    # Two lines, and one for each that is neither delivered nor cancelled.
    assert len(queue_lines(trunkline, "list", "--store", store)) == 2 + len(IntentState) - 2 + 1
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
    assert "dead.reply" in names(queue_lines(trunkline, "list", "--store", store))
    text = "\n".join(queue_lines(trunkline, "show", "dead.reply", "--store", store))
    assert "the row of intent dead.reply cannot be read" in text
    found = document(trunkline, "show", "dead.reply", "--store", store)
    assert (found["intent"]["state"], found["can"]) == ("dead", [])
    assert "cannot be read" in found["broken"]
    before = everything(store)
    assert "cannot be read" in refused(trunkline, "retry", "dead.reply", "--store", store)
    assert everything(store) == before
    assert queue_lines(trunkline, "purge", "--state", "dead", "--yes", "--store", store) == ["1 intent removed"]


def test_a_change_shows_what_it_does_and_to_which_message(trunkline, store):
    part = ActionPart(action=Action.EDIT, of=IntentId("m1.reply"), fields='{"silent":true}')
    with writing(store) as raw:
        execute(raw, Enqueue(intent=intent("fix", "hello Ana", mirror_key=None, action=part), now=BORN))
    [line] = [one for one in queue_lines(trunkline, "list", "--all", "--store", store) if " fix " in one]
    assert line.endswith("edit “hello Ana”")
    shown = "\n".join(queue_lines(trunkline, "show", "fix", "--store", store))
    for words in ("action     edit", "changes    m1.reply", 'fields     {"silent":true}'):
        assert words in shown
    whole = document(trunkline, "show", "fix", "--store", store)["intent"]
    assert (whole["action"], whole["change"]["of"]) == ("edit", "m1.reply")
