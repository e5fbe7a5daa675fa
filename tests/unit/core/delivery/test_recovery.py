"""The recovery decisions on intents that an earlier process left open: tables of cases."""

from typing import Any

import pytest

from tests.support.for_each import for_each
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.recovery import (
    InterruptedIntent,
    RecoveryAction,
    RecoveryDecision,
    doubt_of,
    needs_mark,
    recover,
)
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Idempotency, IntentState

NOW = 1000.0
CONFIG = DeliveryConfig.model_validate({"max_attempts": 3, "backoff": [5, 25, 120], "max_age": 3600})
KEY, LOOKUP, NONE = Idempotency.KEY, Idempotency.LOOKUP, Idempotency.NONE
PREPARED, SENDING = IntentState.PREPARED, IntentState.SENDING
RECOVERED = [
    (PREPARED, True, KEY, RecoveryAction.RESEND, Reason.SAME_KEY_RESEND),
    (SENDING, True, KEY, RecoveryAction.RESEND, Reason.SAME_KEY_RESEND),
    (PREPARED, True, LOOKUP, RecoveryAction.LOOKUP, Reason.CRASH_AMBIGUOUS),
    (SENDING, True, LOOKUP, RecoveryAction.LOOKUP, Reason.CRASH_AMBIGUOUS),
    # Without either, an attempt is marked before it is made: what is not marked was not sent.
    (PREPARED, True, NONE, RecoveryAction.SEND, Reason.RECOVERED),
    (SENDING, True, NONE, RecoveryAction.PARK, Reason.CRASH_AMBIGUOUS),
    *[(PREPARED, False, can, RecoveryAction.SEND, Reason.RECOVERED) for can in Idempotency],
    # What an operator has reopened is before it now; its mark says that it may have been sent.
    (SENDING, False, NONE, RecoveryAction.PARK, Reason.CRASH_AMBIGUOUS),
]


def found(
    state: IntentState,
    *,
    head: bool,
    can: Idempotency,
    attempts: int = 0,
    next_at: float | None = None,
    reason: Reason | None = None,
    now: float = 100.0,
    limit: int = 5,
) -> RecoveryDecision:
    """What is decided at 100 s on an intent of 0 s."""
    left = InterruptedIntent(
        state=state, head=head, attempts=attempts, created_at=0.0, next_at=next_at, reason=reason, updated_at=1.0
    )
    return recover(left, now=now, can=Capabilities(idempotency=can), config=DeliveryConfig(max_attempts=limit))


@for_each(("state", "head", "can", "action", "reason"), RECOVERED)
def test_what_an_earlier_process_left_open(
    state: IntentState, head: bool, can: Idempotency, action: RecoveryAction, reason: Reason
) -> None:
    decision = found(state, head=head, can=can)
    assert (decision.action, decision.reason) == (action, reason)


def test_only_what_surely_was_not_sent_is_sent_as_if_new() -> None:
    for can in Idempotency:
        decision = found(SENDING, head=True, can=can)
        assert decision.action is not RecoveryAction.SEND


def killed(attempts: int, interrupted: int, can: Idempotency = KEY) -> RecoveryDecision:
    """The decision on a chunk whose last attempt was interrupted, after so many attempts and earlier interruptions."""
    left = InterruptedIntent(
        state=SENDING, head=True, attempts=attempts, interrupted=interrupted, created_at=0.0, updated_at=1.0
    )
    config = DeliveryConfig(max_attempts=3, max_interrupted=4, backoff=(5.0, 25.0))
    return recover(left, now=100.0, can=Capabilities(idempotency=can), config=config)


def test_attempts_that_a_death_interrupted_do_not_count_until_there_are_many() -> None:
    # The first attempt is not marked, and counted by the next process; each later one is counted by its mark.
    first = found(PREPARED, head=True, can=KEY, limit=3)
    assert (first.action, first.counts, first.interrupted) == (RecoveryAction.RESEND, True, True)
    later = [killed(n, n - 1) for n in range(1, 9)]
    assert [one.counts for one in later] == [False] * 8
    assert [one.action for one in later] == [RecoveryAction.RESEND] * 6 + [RecoveryAction.PARK] * 2
    assert later[6].reason is Reason.ATTEMPTS_EXHAUSTED


def test_a_chunk_that_was_interrupted_again_and_again_lets_everything_else_go_first() -> None:
    assert [killed(n, n - 1).at for n in range(1, 5)] == [None, 105.0, 125.0, 125.0]


def test_attempts_that_failed_count_beside_the_interrupted_ones() -> None:
    assert killed(4, 1).action is RecoveryAction.RESEND
    assert killed(5, 1).reason is Reason.ATTEMPTS_EXHAUSTED


def test_a_platform_that_can_be_asked_is_asked_however_often_a_process_died() -> None:
    assert killed(50, 49, LOOKUP).action is RecoveryAction.LOOKUP


@pytest.mark.parametrize("can", Idempotency)
def test_what_was_refused_and_waits_goes_on_waiting(can: Idempotency) -> None:
    decision = found(PREPARED, head=True, can=can, attempts=2, next_at=160.0, reason=Reason.RATE_LIMITED)
    assert (decision.action, decision.at, decision.counts) == (RecoveryAction.SEND, 160.0, False)


@pytest.mark.parametrize(("can", "action"), [(KEY, RecoveryAction.RESEND), (LOOKUP, RecoveryAction.LOOKUP)])
def test_what_was_in_doubt_and_waits_stays_in_doubt(can: Idempotency, action: RecoveryAction) -> None:
    decision = found(PREPARED, head=True, can=can, attempts=2, next_at=160.0, reason=Reason.RESPONSE_LOST)
    assert (decision.action, decision.at, decision.counts) == (action, 160.0, False)


@for_each("can", Idempotency)
@for_each("attempts", [1, 2, 5])
def test_a_retry_that_was_due_was_not_made_without_a_mark(can: Idempotency, attempts: int) -> None:
    decision = found(PREPARED, head=True, can=can, attempts=attempts, next_at=60.0, reason=Reason.RATE_LIMITED)
    assert (decision.action, decision.at, decision.counts) == (RecoveryAction.SEND, None, False)


@pytest.mark.parametrize("reason", [Reason.RESPONSE_LOST, Reason.CRASH_AMBIGUOUS])
def test_a_look_up_that_is_due_is_made_at_once_and_counts_nothing(reason: Reason) -> None:
    for attempts in range(1, 7):
        decision = found(PREPARED, head=True, can=LOOKUP, attempts=attempts, next_at=60.0, reason=reason)
        assert (decision.action, decision.at, decision.counts) == (RecoveryAction.LOOKUP, None, False)


def test_restarts_without_an_attempt_count_one_at_most() -> None:
    for can in (KEY, LOOKUP):
        attempts, updated, doubt, next_at, reason = 0, 1.0, None, None, None
        for start in range(100, 200, 10):
            left = InterruptedIntent(
                state=PREPARED,
                head=True,
                attempts=attempts,
                created_at=0.0,
                updated_at=updated,
                doubt_at=doubt,
                next_at=next_at,
                reason=reason,
            )
            decision = recover(left, now=float(start), can=Capabilities(idempotency=can), config=DeliveryConfig())
            attempts, doubt, reason = attempts + decision.counts, decision.doubt_at, decision.reason
            if decision.counts:
                updated, next_at = float(start), decision.at or float(start)
            assert (attempts, doubt, decision.action) == (
                1,
                1.0,
                RecoveryAction[{KEY: "RESEND", LOOKUP: "LOOKUP"}[can]],
            )


def test_what_an_earlier_version_left_for_a_retry_may_have_left_since() -> None:
    for can, action in ((KEY, RecoveryAction.RESEND), (LOOKUP, RecoveryAction.LOOKUP), (NONE, RecoveryAction.SEND)):
        decision = found(PREPARED, head=True, can=can, attempts=2, next_at=60.0, reason=Reason.RECOVERED)
        assert (decision.action, decision.counts) == (action, can is not NONE)


def test_a_mark_precedes_what_recovery_could_not_tell() -> None:
    ages = Capabilities(idempotency=KEY, key_seconds=60.0)
    firsts = [needs_mark(can, 0) for can in (*[Capabilities(idempotency=one) for one in (KEY, LOOKUP, NONE)], ages)]
    assert firsts == [False, False, True, True]
    assert all(needs_mark(Capabilities(idempotency=can), 1) for can in Idempotency)
    # So what has no mark was not sent, and is no older than a new message.
    assert recall(left(updated_at=0.0), KEY, key_seconds=60.0).action is RecoveryAction.SEND


@for_each("can", [None, *Idempotency], ids=str)
@for_each("state", [PREPARED, SENDING])
@for_each("head", [True, False])
def test_doubt_without_an_adapter_is_never_less_than_with_one(
    can: Idempotency | None, state: IntentState, head: bool
) -> None:
    known = None if can is None else Capabilities(idempotency=can)
    one = InterruptedIntent(state=state, head=head, attempts=0, created_at=0.0, updated_at=7.0)
    doubt = doubt_of(one, known)
    assert doubt in (None, 7.0)
    assert doubt is None or doubt_of(one, None) == doubt
    assert (doubt is None) is (state is PREPARED and (not head or can is NONE))


def test_a_look_up_waits_until_the_request_cannot_arrive_any_more() -> None:
    assert found(PREPARED, head=True, can=LOOKUP).at == 100.0 + Capabilities().in_flight_seconds


def test_what_is_too_old_is_not_sent_after_a_long_night() -> None:
    morning = 90_000.0
    unsent = found(PREPARED, head=True, can=NONE, attempts=1, now=morning)
    assert (unsent.action, unsent.reason) == (RecoveryAction.EXPIRE, Reason.TOO_OLD)
    doubtful = found(PREPARED, head=True, can=KEY, now=morning)
    assert (doubtful.action, doubtful.reason) == (RecoveryAction.PARK, Reason.TOO_OLD)
    # The platform can tell whether people have it: then it is delivered, else it expires.
    assert found(PREPARED, head=True, can=LOOKUP, now=morning).action is RecoveryAction.LOOKUP


@pytest.mark.parametrize("can", Idempotency)
def test_what_people_have_begun_to_read_is_finished_whatever_its_age(can: Idempotency) -> None:
    begun = left(begun=True, created_at=NOW - 1e6, updated_at=NOW - 1)
    assert recall(begun, can).action not in (RecoveryAction.PARK, RecoveryAction.EXPIRE)


MARKING = DeliveryConfig.model_validate({**CONFIG.model_dump(), "ambiguous": "resend-marked"})


def left(**facts: Any) -> InterruptedIntent:
    return InterruptedIntent(**{"state": IntentState.PREPARED, "head": True, "attempts": 0, "created_at": NOW, **facts})


def recall(what: InterruptedIntent, can: Idempotency, config: DeliveryConfig = CONFIG, **more: Any) -> RecoveryDecision:
    return recover(what, now=NOW, can=Capabilities(idempotency=can, **more), config=config)


def test_after_a_crash_a_marked_attempt_is_made_once() -> None:
    crashed = left(state=IntentState.SENDING)
    decision = recall(crashed, NONE, MARKING)
    assert (decision.action, decision.mark, decision.counts) == (RecoveryAction.RESEND, True, False)
    assert recall(crashed, NONE).action is RecoveryAction.PARK
    assert recall(left(state=IntentState.SENDING, marked=True), NONE, MARKING).action is RecoveryAction.PARK
    due = left(attempts=1, marked=True, next_at=NOW - 5, doubt_at=NOW - 9, created_at=NOW - 9e9)
    # However old: with a doubt nothing expires.
    assert recall(due, NONE, MARKING).action is not RecoveryAction.EXPIRE
    resting = left(attempts=1, marked=True, next_at=NOW + 5, doubt_at=NOW - 1, reason=Reason.MARKED_RESEND)
    assert recall(resting, NONE, MARKING).action is RecoveryAction.SEND
    assert recall(left(attempts=1, next_at=NOW + 5, doubt_at=NOW - 1), NONE, MARKING).action is RecoveryAction.PARK


def test_after_a_crash_a_forgotten_key_is_not_used() -> None:
    long_ago = left(state=SENDING, attempts=1, updated_at=NOW - 100)
    assert recall(long_ago, KEY, key_seconds=60.0).reason is Reason.KEY_EXPIRED
    assert recall(long_ago, KEY, key_seconds=600.0).action is RecoveryAction.RESEND
    # The request may take until its time-out, and 30 s more.
    assert recall(long_ago, KEY, key_seconds=139.9).reason is Reason.KEY_EXPIRED
    assert recall(long_ago, KEY, key_seconds=140.0).action is RecoveryAction.RESEND
    in_doubt = left(updated_at=NOW - 10, doubt_at=NOW - 100)
    assert recall(in_doubt, KEY, key_seconds=60.0).action is RecoveryAction.PARK
