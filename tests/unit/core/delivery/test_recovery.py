"""The recovery decisions on intents that an earlier process left open: tables of cases."""

from typing import Any

import pytest

from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.policy import (
    InterruptedIntent,
    RecoveryAction,
    RecoveryDecision,
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
    left = InterruptedIntent(state=state, head=head, attempts=attempts, created_at=0.0, next_at=next_at, reason=reason)
    return recover(left, now=now, can=Capabilities(idempotency=can), config=DeliveryConfig(max_attempts=limit))


@pytest.mark.parametrize(("state", "head", "can", "action", "reason"), RECOVERED)
def test_what_an_earlier_process_left_open(
    state: IntentState, head: bool, can: Idempotency, action: RecoveryAction, reason: Reason
) -> None:
    decision = found(state, head=head, can=can)
    assert (decision.action, decision.reason) == (action, reason)


def test_only_what_surely_was_not_sent_is_sent_as_if_new() -> None:
    for can in Idempotency:
        decision = found(SENDING, head=True, can=can)
        assert decision.action is not RecoveryAction.SEND


def test_a_message_that_kills_its_sender_is_parked_when_its_attempts_are_used_up():
    actions = [found(PREPARED, head=True, can=KEY, attempts=n, limit=3).action for n in range(4)]
    assert actions == [RecoveryAction.RESEND, RecoveryAction.RESEND, RecoveryAction.PARK, RecoveryAction.PARK]


@pytest.mark.parametrize("can", Idempotency)
def test_what_was_refused_and_waits_goes_on_waiting(can: Idempotency) -> None:
    decision = found(PREPARED, head=True, can=can, attempts=2, next_at=160.0, reason=Reason.RATE_LIMITED)
    assert (decision.action, decision.at, decision.counts) == (RecoveryAction.SEND, 160.0, False)


@pytest.mark.parametrize(("can", "action"), [(KEY, RecoveryAction.RESEND), (LOOKUP, RecoveryAction.LOOKUP)])
def test_what_was_in_doubt_and_waits_stays_in_doubt(can: Idempotency, action: RecoveryAction) -> None:
    decision = found(PREPARED, head=True, can=can, attempts=2, next_at=160.0, reason=Reason.RESPONSE_LOST)
    assert (decision.action, decision.at, decision.counts) == (action, 160.0, False)


@pytest.mark.parametrize("can", [KEY, LOOKUP])
def test_what_was_due_may_have_been_tried_and_counts(can: Idempotency) -> None:
    decision = found(PREPARED, head=True, can=can, attempts=2, next_at=60.0, reason=Reason.RATE_LIMITED)
    assert decision.counts


def test_a_look_up_waits_until_the_request_cannot_arrive_any_more() -> None:
    assert found(PREPARED, head=True, can=LOOKUP).at == 100.0 + Capabilities().in_flight_seconds


def test_what_is_too_old_is_not_sent_after_a_long_night() -> None:
    morning = 90_000.0
    unsent = found(PREPARED, head=True, can=NONE, attempts=1, now=morning)
    assert (unsent.action, unsent.reason) == (RecoveryAction.EXPIRE, Reason.TOO_OLD)
    for can in (KEY, LOOKUP):
        doubtful = found(PREPARED, head=True, can=can, now=morning)
        assert (doubtful.action, doubtful.reason) == (RecoveryAction.PARK, Reason.TOO_OLD)


MARKING = DeliveryConfig.model_validate({**CONFIG.model_dump(), "ambiguous": "resend-marked"})


def left(**facts: Any) -> InterruptedIntent:
    return InterruptedIntent(**{"state": IntentState.PREPARED, "head": True, "attempts": 0, "created_at": NOW, **facts})


def recall(what: InterruptedIntent, can: Idempotency, config: DeliveryConfig = CONFIG, **more: Any) -> RecoveryDecision:
    return recover(what, now=NOW, can=Capabilities(idempotency=can, **more), config=config)


def test_after_a_crash_a_marked_attempt_is_made_once() -> None:
    crashed = left(state=IntentState.SENDING)
    decision = recall(crashed, NONE, MARKING)
    assert (decision.action, decision.mark, decision.counts) == (RecoveryAction.RESEND, True, True)
    assert recall(crashed, NONE).action is RecoveryAction.PARK
    assert recall(left(state=IntentState.SENDING, marked=True), NONE, MARKING).action is RecoveryAction.PARK
    resting = left(attempts=1, marked=True, next_at=NOW + 5, doubt_at=NOW - 1, reason=Reason.MARKED_RESEND)
    assert recall(resting, NONE, MARKING).action is RecoveryAction.SEND
    assert recall(left(attempts=1, next_at=NOW + 5, doubt_at=NOW - 1), NONE, MARKING).action is RecoveryAction.PARK


def test_after_a_crash_a_forgotten_key_is_not_used() -> None:
    long_ago = left(updated_at=NOW - 100)
    assert recall(long_ago, KEY, key_seconds=60.0).reason is Reason.KEY_EXPIRED
    assert recall(long_ago, KEY, key_seconds=600.0).action is RecoveryAction.RESEND
    in_doubt = left(updated_at=NOW - 10, doubt_at=NOW - 100)
    assert recall(in_doubt, KEY, key_seconds=60.0).action is RecoveryAction.PARK
