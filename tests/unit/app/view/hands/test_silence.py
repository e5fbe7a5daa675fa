"""S36: for any delegation without a visible message, one sentence says why."""

import msgspec
import pytest

from trunkline.app.view.hands.columns import WorkPhase
from trunkline.app.view.hands.facts import why_unseen
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState


def why(hands, view, name: str, seq: int | None = None):
    at = view.last if seq is None else seq
    row = next(row for row in hands.rows(at) if row.name == name)
    return why_unseen(view, hands, row, at)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("h3", "the hand still works on it; it reported “81 of 90 files”"),
        ("h4", "the agent read the result and had nothing to say"),
        ("h5", "its message is failed"),
        ("h6", "its message waits: "),
        ("h7", "its result went to the hand that delegated it, and is part of h2 of hand lead"),
        ("h8", "the agent that delegated it cancelled it itself"),
    ],
)
def test_the_reason_in_the_end(view, hands, name, words):
    found = why(hands, view, name)
    assert found is not None
    text, seq = found
    assert words in text
    assert 0 < seq <= view.last


def test_what_people_have_seen_needs_no_reason(view, hands):
    assert why(hands, view, "h1") is None


def test_s36_there_is_a_reason_at_every_event_until_something_is_visible(view, hands):
    for seq in range(view.last + 1):
        for row in hands.rows(seq):
            found = why_unseen(view, hands, row, seq)
            assert (found is None) is (bool(row.said) or row.callback is CallbackState.DELIVERED), (seq, row.name)
            if found is not None and not row.later:
                text, at = found
                assert text
                assert text.isprintable()
                assert 0 < at <= seq, (row.name, text)


@pytest.mark.parametrize("state", [CallbackState.SUPPRESSED, CallbackState.UNDELIVERABLE, CallbackState.PARKED])
def test_every_reason_of_a_state_has_a_sentence(view, hands, state):
    row = next(row for row in hands.rows(view.last) if row.name == "h4")
    for reason in (None, *Reason):
        changed = msgspec.structs.replace(row, callback=state, callback_reason=reason)
        found = why_unseen(view, hands, changed, view.last)
        assert found is not None, reason
        assert len(found[0]) > 10, reason


def test_a_worker_that_nobody_took_is_named(view, hands):
    accepted = next(row for row in hands.rows(view.last) if row.name == "h3").since
    found = why(hands, view, "h3", accepted)
    assert found is not None
    assert found[0] == "no worker has taken the task"


def test_a_delegation_of_the_future_says_so(view, hands):
    row = next(row for row in hands.rows(0) if row.name == "h8")
    assert row.work is WorkPhase.LATER
    found = why_unseen(view, hands, row, 0)
    assert found is not None
    assert "later in the run" in found[0]
