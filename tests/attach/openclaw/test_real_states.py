"""What is found in the state folders of gateways that really ran OpenClaw 2026.9.6, and were struck by a fault."""

from pathlib import Path

import pytest

from tests.attach.openclaw.states import real_state
from trunkline.app.imports.openclaw.findings import After, find
from trunkline.app.imports.openclaw.reading import read_state
from trunkline.app.report.openclaw_state import state_text


def test_killed_when_the_platform_had_accepted(tmp_path: Path) -> None:
    found = find(read_state(real_state("killed-when-accepted", tmp_path)))

    (doubt,) = found.doubts
    assert (doubt.recovery, doubt.texts, str(doubt.place)) == (
        "send_attempt_started",
        ("Done. AZm1-g1",),
        "telegram:970312941",
    )
    # Its process holds a claim on it for a minute, dead or not; then it is closed, because Telegram cannot be asked.
    (prospect,) = found.prospects
    assert prospect.after is After.REFUSED
    assert prospect.not_before == pytest.approx(1795438086.792)
    assert [one.key for one in found.owed] == ["agent:main:main"]
    assert not found.dead and not found.resumed and not found.stranded


def test_a_topic_was_deleted(tmp_path: Path) -> None:
    found = find(read_state(real_state("topic-deleted", tmp_path)))

    # The row itself keeps neither text nor place: the session still has them.
    (dead,) = found.dead
    assert (dead.texts, str(dead.place), dead.recovery) == (
        ("Done. AZm1-g1",),
        "telegram:-1003540094308:topic:161",
        "completed_permanent",
    )
    assert [(one.key, one.owes_notice) for one in found.owed] == [
        ("agent:main:telegram:group:-1003540094308:topic:161", True)
    ]
    assert not found.doubts and not found.prospects


def test_killed_between_the_end_of_the_turn_and_the_queue(tmp_path: Path) -> None:
    state = read_state(real_state("killed-a-moment-after", tmp_path))
    found = find(state)

    assert [one.key for one in found.stranded] == ["agent:main:main"]
    assert not (found.resumed or found.prospects or found.doubts or found.dead or found.owed)
    assert "Answers that nothing will send (1): the turn ended, and its answer was never queued" in state_text(state)


def test_the_version_and_the_places_are_those_of_the_gateway(tmp_path: Path) -> None:
    state = read_state(real_state("topic-deleted", tmp_path))

    assert state.version == "2026.9.6"
    (session,) = state.sessions
    assert [str(place) for place in session.places] == ["telegram:-1003540094308:topic:161"]
    assert session.people == ("970312941",)
    assert not state.unreadable and not state.notes
