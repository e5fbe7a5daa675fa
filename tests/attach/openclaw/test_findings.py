"""Sessions that split or merged, and what a restart does with what is queued."""

from pathlib import Path
from typing import Any

import pytest

from tests.attach.openclaw.states import old_entry, real_state, write_json
from trunkline.app.imports.openclaw.findings import After, OpenClawFindings, find
from trunkline.app.imports.openclaw.reading import read_state

AT = 1_770_000_000.0


def session(target: str, **changes: Any) -> dict[str, Any]:
    """An entry of a `sessions.json` as versions of spring 2026 had it."""
    route = {"lastChannel": "telegram", "lastTo": target, "lastAccountId": "default"}
    return {"sessionId": f"s-{target}", "updatedAt": 1_770_000_000_000, **route, **changes}


def found_in(folder: Path, sessions: dict[str, Any]) -> OpenClawFindings:
    write_json(folder / "agents" / "main" / "sessions" / "sessions.json", sessions)
    return find(read_state(folder))


def test_one_conversation_under_two_keys(tmp_path: Path) -> None:
    found = found_in(
        tmp_path,
        {
            "agent:main:telegram:direct:7": session("telegram:7", sessionId="a"),
            "agent:main:main": session("7", sessionId="b"),
            "agent:main:subagent:x": session("7", sessionId="c"),
            "agent:main:telegram:direct:8": session("telegram:8", sessionId="d"),
        },
    )

    (split,) = found.splits
    assert [one.key for one in split.sessions] == ["agent:main:telegram:direct:7", "agent:main:main"]
    assert str(split.place) == "telegram:7"
    assert not found.mergers


def test_two_topics_of_a_group_are_two_conversations(tmp_path: Path) -> None:
    found = found_in(
        tmp_path,
        {
            "agent:main:telegram:group:-1:topic:5": session("telegram:-1:topic:5", lastThreadId=5, sessionId="a"),
            "agent:main:telegram:group:-1:topic:6": session("telegram:-1", lastThreadId=6, sessionId="b"),
        },
    )

    assert not found.splits and not found.mergers


def test_keys_that_differ_in_spelling_only(tmp_path: Path) -> None:
    found = found_in(
        tmp_path,
        {
            "agent:main:telegram:dm:7": session("telegram:7", sessionId="a"),
            "agent:main:telegram:direct:7": session("telegram:7", sessionId="b"),
        },
    )

    (split,) = found.splits
    assert split.place is None
    assert len(split.sessions) == 2


def test_two_keys_with_one_session(tmp_path: Path) -> None:
    found = found_in(
        tmp_path,
        {
            "agent:main:telegram:group:-1": session("telegram:-1", sessionId="same"),
            "agent:main:telegram:group:-2": session("telegram:-2", sessionId="same"),
        },
    )

    (merger,) = found.mergers
    assert merger.keys == ("agent:main:telegram:group:-1", "agent:main:telegram:group:-2")
    assert [str(one) for one in merger.places] == ["telegram:-1", "telegram:-2"]


def test_two_people_in_the_main_session_of_a_real_gateway(tmp_path: Path) -> None:
    found = find(read_state(real_state("two-people-in-one-session", tmp_path)))

    (merger,) = found.mergers
    assert merger.keys == ("agent:main:main",)
    assert merger.by_setting
    assert [str(one) for one in merger.places] == ["telegram:970312941", "telegram:321096176"]
    # Both turns were cut off; the shared session goes on where it was spoken to last.
    assert [str(one.speaks_in) for one in found.resumed] == ["telegram:321096176", "telegram:-1003540094308:topic:161"]


@pytest.mark.parametrize(
    ("changes", "after", "not_before"),
    [
        ({}, After.SENT, None),
        ({"retryCount": 1, "lastAttemptAt": AT * 1000}, After.SENT, AT + 25),
        ({"retryCount": 3, "lastAttemptAt": AT * 1000}, After.SENT, AT + 600),
        ({"retryCount": 2}, After.SENT, AT + 120),
        ({"lastAttemptAt": AT * 1000}, After.SENT, AT + 5),
        ({"recoveryState": "producer_claimed", "availableAt": (AT + 60) * 1000}, After.SENT, AT + 60),
        ({"retryCount": 5}, After.GIVEN_UP, None),
        ({"retryCount": 2, "maxRetries": 2}, After.GIVEN_UP, None),
        ({"recoveryState": "send_attempt_started"}, After.REFUSED, None),
        ({"recoveryState": "unknown_after_send", "retryCount": 5}, After.REFUSED, None),
        ({"recoveryState": "send_attempt_started", "channel": "slack"}, After.ASKED, None),
        ({"recoveryState": "unknown_after_send", "channel": "matrix"}, After.ASKED, None),
        ({"recoveryState": "unknown_after_send", "channel": "discord"}, After.REFUSED, None),
        ({"recoveryState": "settlement_pending"}, After.FINISHED, None),
        ({"to": None}, After.KEPT, None),
    ],
    ids=lambda value: str(value) if isinstance(value, After) else None,
)
def test_what_a_restart_does(tmp_path: Path, changes: dict[str, Any], after: After, not_before: float | None) -> None:
    write_json(tmp_path / "delivery-queue" / "e1.json", old_entry(**changes))

    (prospect,) = find(read_state(tmp_path)).prospects

    assert (prospect.after, prospect.not_before) == (after, not_before)


def test_the_files_of_older_versions(tmp_path: Path) -> None:
    queue = tmp_path / "delivery-queue"
    write_json(queue / "later.json", old_entry(enqueuedAt=1_770_000_009_000))
    write_json(queue / "first.json", old_entry())
    write_json(queue / "failed" / "dead.json", old_entry(lastError="chat not found", retryCount=1))
    (queue / "sent.delivered").write_text("")
    write_json(
        tmp_path / "session-delivery-queue" / "wake.json", {"sessionKey": "agent:main:main", "message": "wake up"}
    )

    state = read_state(tmp_path)
    found = find(state)

    assert [one.entry.id for one in found.prospects] == ["wake", "first", "later"]
    assert [(one.id, one.last_error) for one in found.dead] == [("dead", "chat not found")]
    assert state.completed == 1
