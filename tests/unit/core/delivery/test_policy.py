"""What follows an attempt: tables of cases."""

from itertools import product
from typing import Any

import pytest

from tests.support.factories import direct, group, receipt, room
from tests.support.for_each import for_each
from trunkline.core.channels.registry import is_misplaced
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.policy import (
    AttemptFacts,
    AttemptOutcome,
    DeliveryDecision,
    NextStep,
    after_attempt,
    before_attempt,
    counted_at_closed,
    outcome_of,
    reason_of_end,
    wait_after,
)
from trunkline.core.errors import (
    Ambiguous,
    CallEnded,
    NotSent,
    PlaceArchived,
    PlaceGone,
    PlatformError,
    RateLimited,
    Refused,
    Unauthorized,
)
from trunkline.core.reasons import Reason
from trunkline.core.states.intent import TRANSITIONS, DeliveryEvent
from trunkline.core.values import Address, Capabilities, DeliveryMode, Idempotency, IntentState, Transport

NOW = 1000.0
CONFIG = DeliveryConfig.model_validate({"max_attempts": 3, "backoff": [5, 25, 120], "max_age": 3600})

KEY, LOOKUP, NONE = Idempotency.KEY, Idempotency.LOOKUP, Idempotency.NONE
LOST, DOWN, GONE, CLOSED = Ambiguous(), PlatformError(), PlaceGone(), PlaceArchived()
LIMITED, UNSENT, DENIED, BAD_TOKEN = RateLimited(), NotSent(), Refused(), Unauthorized()


def decide(outcome: AttemptOutcome, *, attempts: int = 1, can: Idempotency = KEY, **instead: Any) -> DeliveryDecision:
    given: dict[str, Any] = {"now": NOW, "config": CONFIG, "created_at": NOW, "left_at": NOW, **instead}
    now, config = given.pop("now"), given.pop("config")
    more = {name: given.pop(name) for name in ("mode", "key_seconds") if name in given}
    return after_attempt(
        outcome,
        tried=AttemptFacts(attempts=attempts, **given),
        now=now,
        can=Capabilities(idempotency=can, in_flight_seconds=30.0, **more),
        config=config,
    )


#: failure, attempts made, what the platform can do -> next, event, reason, seconds from now
CASES = [
    # A lost answer: what the platform can do decides, and there is no blind resend.
    (LOST, 1, KEY, NextStep.RETRY, DeliveryEvent.DEFER, Reason.SAME_KEY_RESEND, 5.0),
    (LOST, 2, KEY, NextStep.RETRY, DeliveryEvent.DEFER, Reason.SAME_KEY_RESEND, 25.0),
    (LOST, 3, KEY, NextStep.PARK, DeliveryEvent.PARK, Reason.PARKED, None),
    (LOST, 1, LOOKUP, NextStep.LOOKUP, DeliveryEvent.DEFER, Reason.RESPONSE_LOST, 30.0),
    (LOST, 3, LOOKUP, NextStep.LOOKUP, DeliveryEvent.DEFER, Reason.RESPONSE_LOST, 30.0),
    (LOST, 1, NONE, NextStep.PARK, DeliveryEvent.PARK, Reason.PARKED, None),
    (LOST, 3, NONE, NextStep.PARK, DeliveryEvent.PARK, Reason.PARKED, None),
    # A failure that proves that nothing was accepted: the same on all platforms.
    *[(DOWN, 1, can, NextStep.RETRY, DeliveryEvent.DEFER, Reason.PLATFORM_ERROR, 5.0) for can in Idempotency],
    *[(DOWN, 2, can, NextStep.RETRY, DeliveryEvent.DEFER, Reason.PLATFORM_ERROR, 25.0) for can in Idempotency],
    *[(DOWN, 3, can, NextStep.FAIL, DeliveryEvent.EXHAUST, Reason.ATTEMPTS_EXHAUSTED, None) for can in Idempotency],
    *[(UNSENT, 1, can, NextStep.RETRY, DeliveryEvent.DEFER, Reason.NOT_SENT, 5.0) for can in Idempotency],
    (LIMITED, 1, KEY, NextStep.RETRY, DeliveryEvent.DEFER, Reason.RATE_LIMITED, 5.0),
    (BAD_TOKEN, 1, KEY, NextStep.RETRY, DeliveryEvent.DEFER, Reason.UNAUTHORIZED, 5.0),
    # Refused for good: at once, whatever the number of attempts.
    *[(DENIED, 1, can, NextStep.FAIL, DeliveryEvent.REFUSE, Reason.REFUSED, None) for can in Idempotency],
    *[(GONE, 1, can, NextStep.FAIL, DeliveryEvent.REFUSE, Reason.PLACE_GONE, None) for can in Idempotency],
    (GONE, 9, KEY, NextStep.FAIL, DeliveryEvent.REFUSE, Reason.PLACE_GONE, None),
    # A closed place may be opened again, whatever the number of attempts.
    *[(CLOSED, 1, can, NextStep.RETRY, DeliveryEvent.DEFER, Reason.PLACE_CLOSED, 5.0) for can in Idempotency],
    *[(CLOSED, 99, can, NextStep.RETRY, DeliveryEvent.DEFER, Reason.PLACE_CLOSED, 5.0) for can in Idempotency],
]


@for_each(
    ("error", "attempts", "can", "step", "event", "reason", "wait"),
    CASES,
    ids=[f"{type(case[0]).__name__}-{case[1]}-{case[2].value}" for case in CASES],
)
def test_after_a_failure(
    error: PlatformError,
    attempts: int,
    can: Idempotency,
    step: NextStep,
    event: DeliveryEvent,
    reason: Reason,
    wait: float | None,
) -> None:
    decision = decide(outcome_of(error), attempts=attempts, can=can)
    at = None if wait is None else NOW + wait
    doubt = NOW if error.ambiguous and at is not None else None
    assert decision == DeliveryDecision(next=step, event=event, reason=reason, at=at, doubt_at=doubt)


#: age of the message, begun, it may wait, best effort, in doubt since -> next, reason, seconds from now
AT_CLOSED = [
    (0.0, False, True, False, None, NextStep.RETRY, Reason.PLACE_CLOSED, 5.0),
    (40.0, False, True, False, None, NextStep.RETRY, Reason.PLACE_CLOSED, 40.0),
    (2000.0, False, True, False, None, NextStep.RETRY, Reason.PLACE_CLOSED, 600.0),
    # The last attempt is made at the age limit, which holds for the rest of a message, too.
    (3590.0, False, True, False, None, NextStep.RETRY, Reason.PLACE_CLOSED, 10.0),
    (3600.0, False, True, False, None, NextStep.FAIL, Reason.PLACE_CLOSED, None),
    (3600.0, True, True, False, None, NextStep.FAIL, Reason.PLACE_CLOSED, None),
    # A bound thread could not be opened, a notice goes to the room, and best effort is one attempt.
    (0.0, False, False, False, None, NextStep.FAIL, Reason.PLACE_CLOSED, None),
    (0.0, False, True, True, None, NextStep.FAIL, Reason.PLACE_CLOSED, None),
    # What is in doubt stays so.
    (40.0, False, True, False, NOW - 30, NextStep.RETRY, Reason.PLACE_CLOSED, 40.0),
    (3600.0, False, True, False, NOW - 30, NextStep.PARK, Reason.PLACE_CLOSED, None),
    (0.0, False, False, False, NOW - 30, NextStep.PARK, Reason.PLACE_CLOSED, None),
]


@for_each(("age", "begun", "waits", "best_effort", "doubt", "step", "reason", "wait"), AT_CLOSED)
def test_a_message_waits_for_a_closed_place_until_it_is_too_old(
    age: float,
    begun: bool,
    waits: bool,
    best_effort: bool,
    doubt: float | None,
    step: NextStep,
    reason: Reason,
    wait: float | None,
) -> None:
    facts: dict[str, Any] = {"begun": begun, "waits": waits, "best_effort": best_effort, "doubt_at": doubt}
    decided = decide(outcome_of(CLOSED), attempts=9, created_at=NOW - age, **facts)
    assert (decided.next, decided.reason) == (step, reason)
    assert decided.at == (None if wait is None else NOW + wait)
    assert step is not NextStep.RETRY or decided.doubt_at == doubt


def test_a_key_that_is_lost_before_a_closed_place_is_asked_again_parks() -> None:
    decided = decide(outcome_of(CLOSED), created_at=NOW - 40, doubt_at=NOW - 40, key_seconds=90.0)
    assert (decided.next, decided.reason) == (NextStep.PARK, Reason.KEY_EXPIRED)


@for_each(
    ("reason", "last", "end"),
    [
        (Reason.TOO_OLD, Reason.PLACE_CLOSED, Reason.PLACE_CLOSED),
        (Reason.TOO_OLD, Reason.NOT_SENT, Reason.TOO_OLD),
        (Reason.TOO_OLD, None, Reason.TOO_OLD),
        (Reason.REFUSED, Reason.PLACE_CLOSED, Reason.REFUSED),
    ],
)
def test_what_waited_for_its_place_ends_for_that(reason: Reason, last: Reason | None, end: Reason) -> None:
    assert reason_of_end(reason, last) is end


@for_each(("stored", "after"), [(1, 1), (2, 1), (3, 2), (9, 8)])
def test_only_the_first_attempt_at_a_closed_place_counts(stored: int, after: int) -> None:
    assert counted_at_closed(stored) == after


@for_each(("can", "attempts"), product(Idempotency, [1, 3, 99]))
def test_a_receipt_settles(can: Idempotency, attempts: int) -> None:
    decision = decide(AttemptOutcome(receipt=receipt()), attempts=attempts, can=can)
    assert (decision.next, decision.reason, decision.at) == (NextStep.SETTLE, Reason.ACCEPTED, None)


@for_each(("can", "attempts"), product(Idempotency, [1, 3, 99]))
@for_each("reason", [Reason.ACCEPTED, Reason.FOUND_BY_LOOKUP])
def test_a_receipt_of_another_place_ends_the_intent_as_misplaced(
    can: Idempotency, attempts: int, reason: Reason
) -> None:
    decision = decide(AttemptOutcome(receipt=receipt(), reason=reason, misplaced=True), attempts=attempts, can=can)
    expected = DeliveryDecision(next=NextStep.MISPLACED, event=DeliveryEvent.MISPLACE, reason=Reason.MISPLACED)
    assert decision == expected


TOPIC = group("-1007", thread="10")

#: what was asked for, what the receipt shows -> is it another place?
PLACES = [
    (room("500"), room("500"), False),
    (room("500"), room("501"), True),
    (room("500"), room("500", parent="7"), False),
    (TOPIC, TOPIC, False),
    (TOPIC, group("-1007"), True),
    (TOPIC, group("-1007", thread="11"), True),
    (group("-1007"), TOPIC, True),
    (group("-1007"), group("-1008"), True),
    # Ids are compared as the platform distinguishes them.
    (room("C1", channel="slack"), room("c1", channel="slack"), False),
    (room("!Ab:x.org", channel="matrix"), room("!ab:x.org", channel="matrix"), True),
    # A direct conversation has several names: the user's, the channel's.
    (direct("U1", channel="slack"), direct("D9", channel="slack"), False),
    (direct("U1", channel="slack"), direct("D9", channel="slack", thread="17.5"), True),
    (direct("5", channel="telegram", thread="9"), direct("5", channel="telegram"), True),
]


@for_each(("asked", "found", "elsewhere"), PLACES, ids=[f"{a} at {b}" for a, b, _ in PLACES])
def test_a_receipt_is_misplaced_when_people_see_it_elsewhere(asked: Address, found: Address, elsewhere: bool) -> None:
    assert is_misplaced(asked, receipt(address=found)) is elsewhere


def test_what_a_look_up_found_settles_under_its_own_reason() -> None:
    decision = decide(AttemptOutcome(receipt=receipt(), reason=Reason.FOUND_BY_LOOKUP), can=LOOKUP)
    assert (decision.next, decision.reason) == (NextStep.SETTLE, Reason.FOUND_BY_LOOKUP)


def test_what_a_look_up_did_not_find_is_sent_again() -> None:
    decision = decide(AttemptOutcome(reason=Reason.NOT_FOUND_BY_LOOKUP, retryable=True), can=LOOKUP)
    assert (decision.next, decision.reason, decision.at) == (NextStep.RETRY, Reason.NOT_FOUND_BY_LOOKUP, NOW + 5)


def test_a_look_up_that_failed_is_asked_again_and_is_no_no() -> None:
    decision = decide(AttemptOutcome(reason=Reason.LOOKUP_FAILED, ambiguous=True), can=LOOKUP)
    assert (decision.next, decision.reason, decision.at) == (NextStep.LOOKUP, Reason.LOOKUP_FAILED, NOW + 30)


@for_each(("can", "attempts"), product(Idempotency, range(1, 8)))
@for_each("age", [0.0, 1e9])
def test_an_ambiguous_chunk_is_never_resent_blindly_nor_called_dead(
    can: Idempotency, attempts: int, age: float
) -> None:
    decision = decide(outcome_of(LOST), attempts=attempts, can=can, created_at=NOW - age)
    assert decision.next is not NextStep.FAIL
    assert decision.next is not NextStep.RETRY or (can is KEY and decision.reason is Reason.SAME_KEY_RESEND)


@pytest.mark.parametrize(("asked", "wait"), [(None, 5.0), (0.0, 5.0), (4.9, 5.0), (60.0, 60.0)])
def test_the_platform_may_ask_for_more_than_the_backoff_not_for_less(asked: float | None, wait: float) -> None:
    assert decide(outcome_of(RateLimited(retry_after=asked))).at == NOW + wait


@pytest.mark.parametrize(("attempts", "wait"), [(1, 5.0), (2, 25.0), (3, 120.0), (4, 120.0), (50, 120.0)])
def test_the_backoff_goes_up_and_its_last_step_repeats(attempts: int, wait: float) -> None:
    assert wait_after(attempts, CONFIG.backoff) == wait


@pytest.mark.parametrize(
    ("age_at_retry", "step", "event"),
    [(3600.0, NextStep.RETRY, DeliveryEvent.DEFER), (3600.5, NextStep.FAIL, DeliveryEvent.EXPIRE)],
)
def test_what_would_be_too_old_by_its_next_attempt_expires(
    age_at_retry: float, step: NextStep, event: DeliveryEvent
) -> None:
    decision = decide(outcome_of(DOWN), created_at=NOW + 5.0 - age_at_retry)
    assert (decision.next, decision.event) == (step, event)


def test_what_people_have_begun_to_read_does_not_expire_between_its_chunks() -> None:
    assert decide(outcome_of(DOWN), created_at=NOW - 1e6, begun=True).next is NextStep.RETRY


@for_each("error", [LOST, DOWN, UNSENT, LIMITED, DENIED, GONE, BAD_TOKEN], ids=lambda e: type(e).__name__)
@for_each("can", Idempotency)
def test_nothing_but_a_look_up_that_finds_nothing_lets_a_chunk_in_doubt_end_otherwise_than_parked(
    error: PlatformError, can: Idempotency
) -> None:
    for attempts, age, marked, best in product(range(1, 8), (0.0, 3600.0, 1e9), (False, True), (False, True)):
        decision = decide(
            outcome_of(error),
            attempts=attempts,
            can=can,
            created_at=NOW - age,
            doubt_at=NOW - 5,
            marked=marked,
            best_effort=best,
        )
        assert decision.next in (NextStep.RETRY, NextStep.LOOKUP, NextStep.PARK)
        assert decision.doubt_at == NOW - 5 or decision.next is NextStep.PARK


def test_a_wait_that_the_platform_asks_for_counts_towards_the_age() -> None:
    decision = decide(outcome_of(RateLimited(retry_after=3601.0)))
    assert (decision.next, decision.reason) == (NextStep.FAIL, Reason.TOO_OLD)


OUTCOMES = [
    AttemptOutcome(receipt=receipt()),
    AttemptOutcome(receipt=receipt(), misplaced=True),
    AttemptOutcome(reason=Reason.NOT_FOUND_BY_LOOKUP, retryable=True),
    AttemptOutcome(reason=Reason.LOOKUP_FAILED, ambiguous=True),
    *[outcome_of(error) for error in (LOST, DOWN, GONE, LIMITED, UNSENT, DENIED, BAD_TOKEN)],
    outcome_of(RateLimited(retry_after=1e6)),
]


@for_each("state", [IntentState.PREPARED, IntentState.SENDING])
@for_each("outcome", OUTCOMES, ids=lambda one: f"{one.reason.value}-{one.retry_after}")
def test_every_decision_is_an_event_that_the_state_machine_allows(outcome: AttemptOutcome, state: IntentState) -> None:
    for can, attempts, age in product(Idempotency, range(1, 5), (0.0, 3600.0, 1e9)):
        decision = decide(outcome, attempts=attempts, can=can, created_at=NOW - age)
        assert decision.event in TRANSITIONS[state]
        assert (decision.at is not None) is (decision.next in (NextStep.RETRY, NextStep.LOOKUP))


@for_each("error", [PlatformError, NotSent, RateLimited, Refused, PlaceGone, Unauthorized, Ambiguous])
def test_an_outcome_says_what_its_error_says(error: type[PlatformError]) -> None:
    outcome = outcome_of(error("details", retry_after=3.0))
    assert outcome == AttemptOutcome(
        reason=error.reason,
        retryable=error.retryable,
        unsent=error is NotSent,
        ambiguous=error.ambiguous,
        retry_after=3.0,
        detail="details",
    )


def test_look_ups_that_keep_failing_end():
    can = Capabilities(idempotency=Idempotency.LOOKUP)
    lost = AttemptOutcome(ambiguous=True, reason=Reason.LOOKUP_FAILED)
    config = DeliveryConfig(max_attempts=3)
    nexts = [
        after_attempt(
            lost, tried=AttemptFacts(attempts=n, created_at=0.0, left_at=0.0), now=1.0, can=can, config=config
        ).next
        for n in range(1, 6)
    ]
    assert nexts == [NextStep.LOOKUP, NextStep.LOOKUP, NextStep.LOOKUP, NextStep.PARK, NextStep.PARK]


# -------------------------------------------------------------------- what is in doubt stays in doubt


@pytest.mark.parametrize("error", [DENIED, GONE], ids=["denied", "gone"])
@pytest.mark.parametrize("can", [KEY, NONE])
def test_a_refusal_after_an_attempt_in_doubt_is_no_proof(error: PlatformError, can: Idempotency) -> None:
    decision = decide(outcome_of(error), attempts=2, can=can, doubt_at=NOW - 5)
    # What is said about it must not go to a place that is gone either.
    reason = Reason.PLACE_GONE if error is GONE else Reason.PARKED
    assert (decision.next, decision.reason) == (NextStep.PARK, reason)


def test_a_failure_after_an_attempt_in_doubt_keeps_the_doubt_until_the_end() -> None:
    again = decide(outcome_of(DOWN), attempts=2, doubt_at=NOW - 5)
    assert (again.next, again.doubt_at) == (NextStep.RETRY, NOW - 5)
    parked = decide(outcome_of(DOWN), attempts=3, doubt_at=NOW - 5)
    assert (parked.next, parked.reason) == (NextStep.PARK, Reason.ATTEMPTS_EXHAUSTED)
    assert decide(outcome_of(DOWN), attempts=3).next is NextStep.FAIL


def test_a_look_up_that_finds_nothing_ends_the_doubt() -> None:
    nothing = AttemptOutcome(reason=Reason.NOT_FOUND_BY_LOOKUP, retryable=True)
    assert decide(nothing, attempts=1, can=LOOKUP, doubt_at=NOW - 30).doubt_at is None
    assert decide(nothing, attempts=3, can=LOOKUP, doubt_at=NOW - 30).next is NextStep.FAIL


def test_a_chunk_in_doubt_is_not_resent_under_a_key_that_the_platform_has_forgotten() -> None:
    # A resend may take until its time-out and 30 s more: 5 + 10 + 30 s.
    assert decide(outcome_of(LOST), key_seconds=45.0).next is NextStep.RETRY
    assert decide(outcome_of(LOST), key_seconds=44.9).reason is Reason.KEY_EXPIRED
    late = decide(outcome_of(LOST), key_seconds=60.0, doubt_at=NOW - 58)
    assert (late.next, late.reason) == (NextStep.PARK, Reason.KEY_EXPIRED)
    assert decide(outcome_of(DOWN), key_seconds=60.0, doubt_at=NOW - 58).reason is Reason.KEY_EXPIRED
    assert decide(outcome_of(DOWN), key_seconds=60.0).next is NextStep.RETRY


def test_a_doubt_counts_from_the_moment_when_the_attempt_left() -> None:
    noticed_late = decide(outcome_of(LOST), left_at=NOW - 40, key_seconds=60.0)
    assert (noticed_late.next, noticed_late.reason) == (NextStep.PARK, Reason.KEY_EXPIRED)
    assert decide(outcome_of(LOST), left_at=NOW - 10).doubt_at == NOW - 10
    assert decide(outcome_of(LOST), left_at=NOW - 10, doubt_at=NOW - 50).doubt_at == NOW - 50


def judge(key_seconds: float | None = 60.0, **instead: Any) -> tuple[NextStep, Reason] | None:
    given: dict[str, Any] = {"created_at": NOW, "doubt_at": None, "begun": False, **instead}
    can = Capabilities(idempotency=KEY, key_seconds=key_seconds)
    forbidden = before_attempt(**given, now=NOW, can=can, config=CONFIG)
    return None if forbidden is None else (forbidden.next, forbidden.reason)


def test_right_before_it_is_sent_a_chunk_is_judged_again() -> None:
    assert judge() is None
    assert judge(doubt_at=NOW - 20) is None
    assert judge(doubt_at=NOW - 20.1) == (NextStep.PARK, Reason.KEY_EXPIRED)
    assert judge(None, doubt_at=NOW - 3000) is None
    assert judge(created_at=NOW - 3600) is None
    assert judge(created_at=NOW - 3600.1) == (NextStep.FAIL, Reason.TOO_OLD)
    assert judge(None, created_at=NOW - 3600.1, doubt_at=NOW - 9) == (NextStep.PARK, Reason.TOO_OLD)
    assert judge(created_at=NOW - 3600.1, begun=True) is None


HYBRID: dict[str, Any] = {"mode": DeliveryMode.HYBRID}


def test_a_hybrid_falls_back_on_proof_only() -> None:
    decision = decide(outcome_of(UNSENT), **HYBRID)
    assert (decision.next, decision.reason) == (NextStep.FALLBACK, Reason.GATEWAY_PATH)
    for error in (LOST, DOWN, LIMITED, BAD_TOKEN, DENIED, GONE):
        for can in Idempotency:
            assert decide(outcome_of(error), can=can, **HYBRID).next is not NextStep.FALLBACK
    assert decide(outcome_of(UNSENT)).next is NextStep.RETRY


def test_a_hybrid_does_not_fall_back_twice_nor_with_an_earlier_attempt_in_doubt() -> None:
    assert decide(outcome_of(UNSENT), transport=Transport.GATEWAY, **HYBRID).next is NextStep.RETRY
    assert decide(outcome_of(UNSENT), attempts=2, doubt_at=NOW - 5, **HYBRID).next is NextStep.RETRY


MARKING = DeliveryConfig.model_validate({**CONFIG.model_dump(), "ambiguous": "resend-marked"})


def test_by_policy_a_chunk_in_doubt_is_resent_once_with_a_mark() -> None:
    first = decide(outcome_of(LOST), can=NONE, config=MARKING)
    assert (first.next, first.reason, first.mark, first.at) == (NextStep.RETRY, Reason.MARKED_RESEND, True, NOW + 5)
    assert decide(outcome_of(LOST), attempts=2, can=NONE, config=MARKING, marked=True).next is NextStep.PARK
    assert decide(outcome_of(LOST), attempts=3, can=NONE, config=MARKING).next is NextStep.PARK
    # What can be told is never marked.
    assert not any(decide(outcome_of(LOST), can=can, config=MARKING).mark for can in (KEY, LOOKUP))


def test_best_effort_is_one_attempt_and_never_a_success() -> None:
    assert decide(outcome_of(DOWN), best_effort=True).next is NextStep.FAIL
    assert decide(outcome_of(LOST), best_effort=True).next is NextStep.PARK
    assert decide(outcome_of(LOST), best_effort=True, can=LOOKUP).next is NextStep.LOOKUP
    assert decide(outcome_of(LOST), best_effort=True, can=NONE, config=MARKING).next is NextStep.PARK


@pytest.mark.parametrize("idempotency", Idempotency)
def test_the_end_of_a_call_ends_the_doubt_where_texts_have_keys(idempotency: Idempotency) -> None:
    decision = decide(outcome_of(CallEnded("over")), attempts=2, can=idempotency, doubt_at=NOW - 5)
    if idempotency is Idempotency.KEY:
        # What was said to its end under this key would have been answered with its receipt.
        assert (decision.next, decision.reason) == (NextStep.FAIL, Reason.CALL_ENDED)
    else:
        assert (decision.next, decision.reason) == (NextStep.PARK, Reason.PARKED)
    assert decide(outcome_of(CallEnded("over")), can=idempotency).reason is Reason.CALL_ENDED
