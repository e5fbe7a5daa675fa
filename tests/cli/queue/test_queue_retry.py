"""`trunkline queue` retries, resolves and purges."""

import io
import shlex
import sys
from typing import Any

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
from tests.support.factories import direct
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import SendRow, send_intent
from trunkline.core.states.intent import OPEN, DeliveryEvent
from trunkline.core.store.commands import BeginSend, EndIntent, ResolveIntent
from trunkline.core.store.operators.queue import RETRYABLE
from trunkline.core.store.queue_admin import QueueVerdict
from trunkline.core.store.sqlite.handlers import execute
from trunkline.core.values import IntentState

# ---------------------------------------------------------------- again


def test_what_is_named_is_tried_again(trunkline, store):
    lines = queue_lines(trunkline, "retry", "dead.reply", "partial.reply", "dead.reply", "--store", store)
    assert lines == [
        "dead.reply: was dead, is prepared, from chunk 1 of 3",
        "partial.reply: was partial, is prepared, from chunk 2 of 3",
        "no gateway holds this store: the next one that starts picks it up",
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
        bring(raw, made("abandoned"), S.UNKNOWN)
        execute(raw, ResolveIntent(intent="abandoned", verdict=QueueVerdict.ABANDON, now=BORN))
        bring(raw, made("broken"), S.DEAD)
        raw.execute("UPDATE intents SET chunks = '?' WHERE id = 'broken'")
        first = made(send_intent("k", 1))
        execute(
            raw,
            BeginSend(
                send=SendRow(key="k", intent=first.id, tries=1, session_key=None, channel="discord"),
                intent=first,
                entry=None,
                again=bool,
                now=BORN,
            ),
        )
        execute(
            raw,
            EndIntent(
                intent=first,
                event=DeliveryEvent.EXHAUST,
                reason=Reason.ATTEMPTS_EXHAUSTED,
                mirror=None,
                now=BORN,
                note=None,
                wake=None,
                mirror_due=False,
                notice=None,
            ),
        )
        execute(
            raw,
            BeginSend(
                send=SendRow(key="k", intent=first.id, tries=1, session_key=None, channel="discord"),
                intent=first,
                entry=None,
                again=bool,
                now=BORN,
            ),
        )
    found = document(trunkline, "retry", "--state", "dead", "--state", "partial", "--state", "failed", "--store", store)
    assert {one["id"]: (one["before"], one["after"], one["accepted_chunks"]) for one in found["changed"]} == {
        "partial.reply": ("partial", "prepared", 1),
        "failed.reply": ("failed", "prepared", 0),
        "dead.reply": ("dead", "prepared", 0),
    }
    why = {one["id"]: one["why"] for one in found["skipped"]}
    assert set(why) == {"broken", "send:k"}
    assert "cannot be read" in why["broken"]
    assert "the try that counts is send:k+2" in why["send:k"]
    # What was abandoned is in doubt still; who has it sent all the same gets a warning.
    assert "say first what became of it" in refused(trunkline, "retry", "abandoned", "--store", store)
    can = document(trunkline, "show", "abandoned", "--store", store)["can"]
    assert [shlex.split(command)[4] for command in can] == ["--sent", "--unsent"]
    lines = queue_lines(trunkline, "resolve", "abandoned", "--unsent", "--store", store)
    assert (
        lines[0]
        == "abandoned: was unknown, is prepared, from chunk 1 of 3; that chunk was in doubt, and may be seen twice"
    )
    assert "its client sent it again: send:k+2 counts" in "\n".join(
        queue_lines(trunkline, "show", "send:k", "--store", store)
    )
    assert document(trunkline, "show", "send:k", "--store", store)["can"] == []


def test_all_of_a_channel_are_tried_again_in_parts(trunkline, store, monkeypatch):
    monkeypatch.setattr("trunkline.core.runtime.queue_admin._RETRIED", 2)
    with writing(store) as raw:
        for n in range(5):
            bring(raw, made(f"t{n}", address=direct("7", channel="telegram")), S.DEAD)
    lines = queue_lines(trunkline, "retry", "--state", "dead", "--channel", "telegram", "--store", store)
    assert [line.partition(":")[0] for line in lines[:-1]] == [f"t{n}" for n in range(5)]
    assert state_of(store, "dead.reply") == "dead"
    assert queue_lines(trunkline, "retry", "--state", "dead", "--channel", "telegram", "--store", store) == [
        "nothing was changed"
    ]


@pytest.mark.parametrize("state", [state for state in IntentState if state not in RETRYABLE])
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
        (("--abandon",), "unknown.reply: was unknown, is unknown, and given up", "unknown"),
    ],
)
def test_a_word_on_a_chunk_in_doubt_is_taken(trunkline, store, arguments, line, state):
    lines = queue_lines(trunkline, "resolve", "unknown.reply", *arguments, "--store", store)
    assert lines == [line, "no gateway holds this store: the next one that starts picks it up"]
    assert state_of(store, "unknown.reply") == state
    before = everything(store)
    assert "nothing was changed" in refused(trunkline, "resolve", "unknown.reply", *arguments, "--store", store)
    assert everything(store) == before


def test_the_platforms_id_of_a_chunk_may_be_given(trunkline, store):
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
def test_wrong_use_is_reported_and_changes_nothing(trunkline, store, arguments, says):
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
    assert queue_lines(trunkline, "purge", "--state", "dead", "--yes", "--store", store) == ["1 intent removed"]
    assert queue_lines(trunkline, "purge", "--state", "dead", "--store", store) == ["0 intents removed"]


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
        S(line.split()[0]) for line in queue_lines(trunkline, "list", "--all", "--store", store)[2:]
    }
    assert queue_lines(trunkline, "purge", "--state", "unknown", "--yes", "--store", store) == ["1 intent removed"]


def test_a_purge_goes_by_age(trunkline, store):
    with writing(store) as raw:
        bring(raw, made("young"), S.DEAD, at=NOW - 3599)
    assert queue_lines(trunkline, "purge", "--state", "dead", "--older-than", "7d", "--store", store) == [
        "0 intents removed"
    ]
    assert queue_lines(trunkline, "purge", "--state", "dead", "--older-than", "1h", "--yes", "--store", store) == [
        "1 intent removed"
    ]
    assert state_of(store, "young") == "dead"
