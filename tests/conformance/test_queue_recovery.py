"""Upstream's queue: eligibility, permanent errors and the recovery of one row, as tables of cases."""

from itertools import product
from typing import Any

import pytest

from tests.conformance.upstream.queue_recovery import (
    MAX_RETRIES,
    Bucket,
    Counted,
    Eligibility,
    QueuedRow,
    Reconciled,
    RecoveryAnswers,
    RecoveryStep,
    ReplayResult,
    SendState,
    eligibility,
    is_permanent_under,
    recovery_step,
)
from tests.support.for_each import for_each
from trunkline.core.config import DeliveryConfig
from trunkline.core.profile_rules import Profile

NOW = 1_000_000.0
WAITS = DeliveryConfig().backoff
PERMANENT = ["400 Bad Request: chat not found", "ambiguous Slack or Teams recipient: C1"]
PASSING = ["network down", "rate limited"]


@for_each(
    ("retries", "last", "enqueued", "remaining"),
    [
        # Never tried: its process has died.
        (0, None, NOW, 0),
        # Put off once, and not tried: the first wait.
        (0, NOW, NOW - 900, 5),
        (0, NOW - 4.5, NOW - 900, 0.5),
        (0, NOW - 5, NOW - 900, 0),
        (1, NOW, NOW - 900, 25),
        (3, NOW, NOW - 900, 600),
        (4, NOW - 599, NOW - 900, 1),
        (9, NOW, NOW - 900, 600),
        # A time that is none: since it was queued.
        (1, None, NOW - 20, 5),
        (1, 0.0, NOW - 25, 0),
        (1, -3.0, NOW - 20, 5),
        (1, float("nan"), NOW - 20, 5),
        (1, float("inf"), NOW - 20, 5),
        (0, 0.0, NOW - 1, 4),
    ],
)
def test_a_row_is_due_after_the_wait_of_its_next_failure(
    retries: int, last: float | None, enqueued: float, remaining: float
) -> None:
    found = eligibility(QueuedRow(retries=retries, enqueued_at=enqueued, last_attempt_at=last), NOW, WAITS)
    assert found == Eligibility(eligible=remaining == 0, remaining=remaining)


def test_a_row_says_when_it_is_due() -> None:
    assert str(Eligibility(eligible=True)) == "due"
    assert str(Eligibility(eligible=False, remaining=2.5)) == "due in 2.5"


@pytest.mark.parametrize(
    ("profile", "permanent"), [(Profile.OPENCLAW, True), (Profile.OPENCLAW_2026_08, False), (Profile.TRUNKLINE, False)]
)
def test_a_channel_that_is_not_loaded_was_given_up_until_august(profile: Profile, permanent: bool) -> None:
    assert is_permanent_under("Outbound not configured for channel: msteams", profile) is permanent
    assert all(is_permanent_under(text, profile) for text in PERMANENT)
    assert not any(is_permanent_under(text, profile) for text in PASSING)


def step(
    *,
    retries: int = 0,
    state: SendState | None = None,
    last: float | None = None,
    reconciled: Reconciled = Reconciled.UNAVAILABLE,
    replay: ReplayResult = ReplayResult.SENT,
    error: str = "",
    **options: Any,
) -> RecoveryStep:
    row = QueuedRow(retries=retries, enqueued_at=NOW - 10_000, last_attempt_at=last, state=state)
    answers = RecoveryAnswers(reconciled=reconciled, replay=replay, error=error)
    return recovery_step(row, NOW, answers, waits=WAITS, **options)


def after(found: RecoveryStep) -> tuple[Bucket, Counted, bool, int | None, SendState | None]:
    """Where the row is, as what it counts, whether it was sent, its retries and its state."""
    row = found.row
    return found.bucket, found.counted, found.sends, row and row.retries, row and row.state


STARTED, UNKNOWN = SendState.STARTED, SendState.UNKNOWN
REMOVED, PENDING, DEAD = Bucket.REMOVED, Bucket.PENDING, Bucket.FAILED
RECOVERED, FAILED = Counted.RECOVERED, Counted.FAILED


@for_each(
    ("state", "reconciled", "expected"),
    [
        *[(state, Reconciled.SENT, (REMOVED, RECOVERED, False, None, None)) for state in SendState],
        (STARTED, Reconciled.NOT_SENT, (REMOVED, RECOVERED, True, None, None)),
        (UNKNOWN, Reconciled.NOT_SENT, (DEAD, FAILED, False, None, None)),
        *[(state, Reconciled.UNRESOLVED, (PENDING, FAILED, False, 3, state)) for state in SendState],
        *[(state, Reconciled.UNRESOLVABLE, (DEAD, FAILED, False, None, None)) for state in SendState],
        *[(state, Reconciled.UNAVAILABLE, (PENDING, FAILED, False, 2, state)) for state in SendState],
        # Surely not sent: nobody is asked.
        *[(None, answer, (REMOVED, RECOVERED, True, None, None)) for answer in Reconciled],
    ],
)
def test_a_row_that_may_have_been_sent_goes_by_what_is_known(
    state: SendState | None, reconciled: Reconciled, expected: tuple[object, ...]
) -> None:
    assert after(step(retries=2, state=state, reconciled=reconciled, error="api down")) == expected


@for_each(
    ("replay", "error", "expected"),
    [
        (ReplayResult.SENT, "", (REMOVED, RECOVERED, True, None, None)),
        (ReplayResult.FAILED, "network down", (PENDING, FAILED, True, 3, STARTED)),
        (ReplayResult.UNSENT, "connection refused", (PENDING, FAILED, True, 3, None)),
        (ReplayResult.PARTIAL, "network down", (PENDING, FAILED, True, 2, UNKNOWN)),
        (ReplayResult.FAILED, "chat not found", (DEAD, FAILED, True, None, None)),
        (ReplayResult.UNSENT, "chat not found", (DEAD, FAILED, True, None, None)),
        # Somebody has seen a part of it: that is not to be forgotten.
        (ReplayResult.PARTIAL, "chat not found", (PENDING, FAILED, True, 2, UNKNOWN)),
    ],
)
def test_a_row_that_is_sent_again_goes_by_its_outcome(
    replay: ReplayResult, error: str, expected: tuple[object, ...]
) -> None:
    found = step(retries=2, replay=replay, error=error)
    assert after(found) == expected
    assert found.error == (error or None)


def test_a_row_that_was_reconciled_as_unsent_may_fail_like_any_other() -> None:
    found = step(state=STARTED, reconciled=Reconciled.NOT_SENT, replay=ReplayResult.UNSENT, error="connection refused")
    assert after(found) == (PENDING, FAILED, True, 1, None)


def test_nothing_is_asked_or_sent_when_the_retries_are_used_up() -> None:
    for state, reconciled, retries in product([None, *SendState], Reconciled, (MAX_RETRIES, 9)):
        found = step(retries=retries, state=state, reconciled=reconciled)
        assert after(found) == (DEAD, Counted.SKIPPED_MAX_RETRIES, False, None, None)
    assert after(step(retries=MAX_RETRIES, most=9))[0] is REMOVED


def test_a_row_that_is_not_due_waits_and_is_as_it_was() -> None:
    for state in [None, *SendState]:
        found = step(retries=3, state=state, last=NOW - 1)
        assert after(found) == (PENDING, Counted.DEFERRED_BACKOFF, False, 3, state)
        assert found.row is not None and found.row.last_attempt_at == NOW - 1


def test_a_row_in_doubt_is_looked_at_again_after_the_first_wait() -> None:
    first = step(state=STARTED).row
    assert first is not None
    assert eligibility(first, NOW, WAITS) == Eligibility(eligible=False, remaining=5)
    again = recovery_step(first, NOW + 4, RecoveryAnswers(), waits=WAITS)
    assert (again.counted, again.row) == (Counted.DEFERRED_BACKOFF, first)
    assert recovery_step(first, NOW + 5, RecoveryAnswers(), waits=WAITS).counted is FAILED


def test_a_failure_is_waited_for_from_when_it_was() -> None:
    row = step(retries=1, replay=ReplayResult.FAILED, error="network down").row
    assert row is not None and row.last_attempt_at == NOW
    assert eligibility(row, NOW, WAITS).remaining == 120


def test_a_plugin_that_is_not_loaded_buries_a_row_by_the_rules_of_march_only() -> None:
    error = "Outbound not configured for channel: x"
    assert step(replay=ReplayResult.FAILED, error=error).bucket is DEAD
    assert step(replay=ReplayResult.FAILED, error=error, profile=Profile.OPENCLAW_2026_08).bucket is PENDING


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (step(), "removed, sent again: it was sent"),
        (step(retries=5), "failed, not sent: 5 of 5 retries are used up"),
        (step(replay=ReplayResult.FAILED, error="network down"), "pending (retries: 1), sent again: network down"),
        (step(state=STARTED, reconciled=Reconciled.UNRESOLVABLE), "the adapter cannot tell, and never will"),
        (step(last=NOW), "pending (retries: 0), not sent: due in 5"),
    ],
)
def test_a_step_prints_what_happens_and_why(found: RecoveryStep, text: str) -> None:
    assert str(found).endswith(text)
