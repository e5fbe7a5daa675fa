"""Waits, eligibility, errors for good, and upstream's recovery of one row: tables of cases."""

import re
import time
from itertools import product
from typing import Any

import pytest

from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.backoff import (
    MAX_RETRIES,
    Answers,
    Bucket,
    Counted,
    Eligibility,
    Reconciled,
    RecoveryStep,
    Replay,
    Row,
    SendState,
    eligibility,
    is_permanent,
    recovery_step,
    wait_after,
)
from trunkline.core.delivery.policy import AttemptOutcome, outcome_of, outcome_of_error
from trunkline.core.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.profiles import Profile
from trunkline.core.reasons import Reason

NOW = 1_000_000.0
WAITS = DeliveryConfig().backoff

# ---------------------------------------------------------------- waits


def test_the_waits_are_those_of_the_configuration() -> None:
    assert [wait_after(count, WAITS) for count in range(-1, 7)] == [0, 0, 5, 25, 120, 600, 600, 600]
    assert [wait_after(count, (7.0,)) for count in range(3)] == [0, 7, 7]


@pytest.mark.parametrize(
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
    found = eligibility(Row(retries=retries, enqueued_at=enqueued, last_attempt_at=last), NOW, WAITS)
    assert found == Eligibility(eligible=remaining == 0, remaining=remaining)


def test_a_row_says_when_it_is_due() -> None:
    assert str(Eligibility(eligible=True)) == "due"
    assert str(Eligibility(eligible=False, remaining=2.5)) == "due in 2.5"


# ---------------------------------------------------------------- errors for good

#: what upstream's own expressions find; ours are no expressions
UPSTREAM = [
    r"no conversation reference found",
    r"chat not found",
    r"user not found",
    r"bot.*not.*member",
    r"bot was blocked by the user",
    r"forbidden: bot was kicked",
    r"chat_id is empty",
    r"recipient is not a valid",
    r"ambiguous .* recipient",
    r"user .* not in room",
]
FOR_GOOD = [
    "No conversation reference found for user:abc",
    "400 Bad Request: chat not found",
    "USER NOT FOUND",
    "403: Forbidden: bot is not a member of the channel chat",
    "the Bot may not write: no member of this group",
    "Forbidden: bot was blocked by the user",
    "Forbidden: bot was kicked from the supergroup chat",
    "Bad Request: chat_id is empty",
    "The recipient is not a valid WhatsApp user",
    'Ambiguous Discord recipient "123"',
    "ambiguous Slack or Teams recipient: C1",
    "first line\nM_FORBIDDEN: User @bot:example.org not in room !a:example.org",
]
PASSING = [
    "",
    "network down",
    "ETIMEDOUT",
    "socket hang up",
    "rate limited",
    "500 Internal Server Error",
    "chat was not found",
    "user  not found",
    "ambiguous recipient",
    "bot is a member, but not an admin",
    "member of what? not a bot",
    # One line does not go on in the next one.
    "the bot is\nnot a member",
    "User x\r\n not in room",
    "bot was kicked",
    "Outbound not configured for channel: telegram",
]


@pytest.mark.parametrize("text", [*FOR_GOOD, *PASSING])
def test_an_error_is_for_good_if_upstream_finds_it_so(text: str) -> None:
    found = any(re.search(pattern, text, re.IGNORECASE) for pattern in UPSTREAM)
    assert found is (text in FOR_GOOD)
    assert is_permanent(text) is found
    assert is_permanent(text.swapcase()) is found


@pytest.mark.parametrize(
    ("profile", "permanent"),
    [(Profile.OPENCLAW, True), (Profile.OPENCLAW_2026_08, False), (Profile.TRUNKLINE, False)],
)
def test_a_channel_that_is_not_loaded_was_given_up_until_august(profile: Profile, permanent: bool) -> None:
    assert is_permanent("Outbound not configured for channel: msteams", profile) is permanent
    assert all(is_permanent(text, profile) for text in FOR_GOOD)
    assert not any(is_permanent(text, profile) for text in PASSING[:-1])


def test_a_long_error_takes_no_longer_than_its_length() -> None:
    # To `bot.*not.*member` this costs the third power of the length: hours.
    text = "bot not " * 100_000
    before = time.process_time()
    assert not is_permanent(text)
    assert is_permanent(f"{text} member")
    assert time.process_time() - before < 1.0


# ---------------------------------------------------------------- what an adapter raises


@pytest.mark.parametrize(
    "error",
    [
        PlatformError("chat not found"),
        NotSent("the thread could not be opened (PlatformError: user not found)"),
        RateLimited("bot is not a member", retry_after=3.0),
        Unauthorized("Forbidden: bot was kicked"),
        RuntimeError("Telegram said: chat not found"),
        KeyError("user not found"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_words_that_no_retry_mends_refuse_for_good(error: Exception) -> None:
    outcome = outcome_of_error(error)
    assert (outcome.reason, outcome.retryable, outcome.ambiguous, outcome.unsent) == (
        Reason.REFUSED,
        False,
        False,
        False,
    )
    assert is_permanent(outcome.detail)


@pytest.mark.parametrize(
    "error",
    [
        Ambiguous("chat not found"),
        Ambiguous("connection reset"),
        PlaceGone("chat not found"),
        Refused("user not found"),
        PlatformError("500 Internal Server Error"),
        NotSent("connection refused"),
        RateLimited("slow down", retry_after=9.0),
        Unauthorized("bad token"),
    ],
    ids=lambda error: f"{type(error).__name__}-{error.facts}",
)
def test_an_error_that_says_what_it_is_tells_what_it_says(error: PlatformError) -> None:
    assert outcome_of_error(error) == outcome_of(error)


def test_after_a_defect_of_the_adapter_nobody_knows() -> None:
    expected = AttemptOutcome(
        reason=Reason.RESPONSE_LOST, retryable=True, ambiguous=True, detail="ValueError: bad json"
    )
    assert outcome_of_error(ValueError("bad json")) == expected


def test_an_error_that_cannot_say_what_it_is_is_a_defect_too() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise AttributeError("code")

    outcome = outcome_of_error(Mute())
    assert (outcome.ambiguous, outcome.detail) == (True, "Mute: it cannot be told")


# ---------------------------------------------------------------- recovery of a row


def step(
    *,
    retries: int = 0,
    state: SendState | None = None,
    last: float | None = None,
    reconciled: Reconciled = Reconciled.UNAVAILABLE,
    replay: Replay = Replay.SENT,
    error: str = "",
    **options: Any,
) -> RecoveryStep:
    row = Row(retries=retries, enqueued_at=NOW - 10_000, last_attempt_at=last, state=state)
    answers = Answers(reconciled=reconciled, replay=replay, error=error)
    return recovery_step(row, NOW, answers, waits=WAITS, **options)


def after(found: RecoveryStep) -> tuple[Bucket, Counted, bool, int | None, SendState | None]:
    """Where the row is, as what it counts, whether it was sent, its retries and its state."""
    row = found.row
    return found.bucket, found.counted, found.sends, row and row.retries, row and row.state


STARTED, UNKNOWN = SendState.STARTED, SendState.UNKNOWN
REMOVED, PENDING, DEAD = Bucket.REMOVED, Bucket.PENDING, Bucket.FAILED
RECOVERED, FAILED = Counted.RECOVERED, Counted.FAILED


@pytest.mark.parametrize(
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
def test_a_row_that_may_have_been_sent(
    state: SendState | None, reconciled: Reconciled, expected: tuple[object, ...]
) -> None:
    assert after(step(retries=2, state=state, reconciled=reconciled, error="api down")) == expected


@pytest.mark.parametrize(
    ("replay", "error", "expected"),
    [
        (Replay.SENT, "", (REMOVED, RECOVERED, True, None, None)),
        (Replay.FAILED, "network down", (PENDING, FAILED, True, 3, STARTED)),
        (Replay.UNSENT, "connection refused", (PENDING, FAILED, True, 3, None)),
        (Replay.PARTIAL, "network down", (PENDING, FAILED, True, 2, UNKNOWN)),
        (Replay.FAILED, "chat not found", (DEAD, FAILED, True, None, None)),
        (Replay.UNSENT, "chat not found", (DEAD, FAILED, True, None, None)),
        # Somebody has seen a part of it: that is not to be forgotten.
        (Replay.PARTIAL, "chat not found", (PENDING, FAILED, True, 2, UNKNOWN)),
    ],
)
def test_a_row_that_is_sent_again(replay: Replay, error: str, expected: tuple[object, ...]) -> None:
    found = step(retries=2, replay=replay, error=error)
    assert after(found) == expected
    assert found.error == (error or None)


def test_a_row_that_was_reconciled_as_unsent_may_fail_like_any_other() -> None:
    found = step(state=STARTED, reconciled=Reconciled.NOT_SENT, replay=Replay.UNSENT, error="connection refused")
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


def test_a_row_that_nobody_can_tell_of_is_looked_at_again_after_the_first_wait() -> None:
    first = step(state=STARTED).row
    assert first is not None
    assert eligibility(first, NOW, WAITS) == Eligibility(eligible=False, remaining=5)
    again = recovery_step(first, NOW + 4, Answers(), waits=WAITS)
    assert (again.counted, again.row) == (Counted.DEFERRED_BACKOFF, first)
    assert recovery_step(first, NOW + 5, Answers(), waits=WAITS).counted is FAILED


def test_a_failure_is_waited_for_from_when_it_was() -> None:
    row = step(retries=1, replay=Replay.FAILED, error="network down").row
    assert row is not None and row.last_attempt_at == NOW
    assert eligibility(row, NOW, WAITS).remaining == 120


def test_a_plugin_that_is_not_loaded_buries_a_row_by_the_rules_of_march_only() -> None:
    error = "Outbound not configured for channel: x"
    assert step(replay=Replay.FAILED, error=error).bucket is DEAD
    assert step(replay=Replay.FAILED, error=error, profile=Profile.OPENCLAW_2026_08).bucket is PENDING


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (step(), "removed, sent again: it was sent"),
        (step(retries=5), "failed, not sent: 5 of 5 retries are used up"),
        (step(replay=Replay.FAILED, error="network down"), "pending (retries: 1), sent again: network down"),
        (step(state=STARTED, reconciled=Reconciled.UNRESOLVABLE), "the adapter cannot tell, and never will"),
        (step(last=NOW), "pending (retries: 0), not sent: due in 5"),
    ],
)
def test_a_step_prints_what_happens_and_why(found: RecoveryStep, text: str) -> None:
    assert str(found).endswith(text)
