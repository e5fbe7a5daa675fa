"""What the messages of a delegation say of its callback."""

import itertools

import pytest

from tests.support.for_each import for_each
from trunkline.core.hands.callback_fold import Folded, ReportMessage, can_resume, can_retry, event_of_messages, fold
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CALLBACK_TRANSITIONS, CallbackEvent, CallbackState
from trunkline.core.states.intent import OPEN
from trunkline.core.values import IntentKind, IntentState

S, E, C = IntentState, CallbackEvent, CallbackState
ENDS = sorted(set(S) - OPEN)


def message(state: IntentState, reason: Reason | None = None, **fields: str) -> ReportMessage:
    kind = IntentKind(fields.get("kind", "reply"))
    return ReportMessage(fields.get("id", "d1.back.reply"), kind, state, reason)


@for_each("state", ENDS)
def test_a_single_message_decides_alone(state: IntentState) -> None:
    found = fold([message(state, Reason.REFUSED)])
    expected = {
        S.DELIVERED: Folded(E.DELIVER, None),
        S.PARTIAL: Folded(E.PARK, Reason.REFUSED),
        S.UNKNOWN: Folded(E.PARK, Reason.REFUSED),
        S.CANCELLED: Folded(E.SUPPRESS, Reason.REFUSED),
    }.get(state, Folded(E.FAIL, Reason.REFUSED))
    assert found == expected


@for_each("state", ENDS)
@for_each("is_open", sorted(OPEN))
def test_an_open_message_leaves_it_undecided(state: IntentState, is_open: IntentState) -> None:
    assert fold([message(state), message(is_open)]) is None


def test_no_message_decides_nothing() -> None:
    assert fold([]) is None


@for_each(("one", "other"), itertools.combinations_with_replacement(ENDS, 2))
def test_the_order_of_messages_does_not_matter(one: IntentState, other: IntentState) -> None:
    first, second = fold([message(one), message(other)]), fold([message(other), message(one)])
    assert first == second
    assert first is not None
    # A half or a doubt weighs most, then what arrived, then a failure; only what was all cancelled is suppressed.
    weights = [E.PARK, E.DELIVER, E.FAIL, E.SUPPRESS]
    single = [fold([message(state)]) for state in (one, other)]
    assert first.event == min((found.event for found in single if found is not None), key=weights.index)


@pytest.mark.parametrize("reason", [Reason.CALL_ENDED, Reason.NO_SECOND_CHANNEL])
def test_what_missed_its_call_is_parked(reason: Reason) -> None:
    unsaid = message(S.FAILED, reason)
    assert fold([unsaid]) == Folded(E.PARK, reason)
    assert fold([message(S.FAILED, Reason.REFUSED), unsaid]) == Folded(E.PARK, reason)
    assert fold([message(S.PARTIAL, reason)]) == Folded(E.PARK, reason)
    assert fold([unsaid, message(S.DELIVERED, id="d1.back.reply2")]) == Folded(E.DELIVER, None)
    # Said at the second channel, or expired after an operator's retry.
    second = message(S.DELIVERED, id="d1.back.reply.second", kind="second")
    assert fold([message(S.PARTIAL, reason), second]) == Folded(E.DELIVER, None)
    assert fold([unsaid, message(S.DELIVERED, id="d1.back.reply.second", kind="second")]) == Folded(E.DELIVER, None)
    assert fold([unsaid, message(S.PREPARED, id="d1.back.reply.second", kind="second")]) is None
    assert fold([message(S.EXPIRED, Reason.TOO_OLD)]) == Folded(E.FAIL, Reason.TOO_OLD)


def test_what_arrived_in_part_waits_with_the_reason_even_if_another_message_arrived_whole() -> None:
    half = message(S.PARTIAL, Reason.PLACE_GONE)
    assert fold([half]) == Folded(E.PARK, Reason.PLACE_GONE)
    assert fold([half, message(S.DELIVERED)]) == Folded(E.PARK, Reason.PLACE_GONE)


def test_what_was_broken_off_can_be_tried_again_once_nothing_is_open_or_in_doubt() -> None:
    assert can_retry(C.PARKED, Reason.PLACE_GONE, {S.PARTIAL, S.DELIVERED})
    assert not can_retry(C.PARKED, Reason.PLACE_GONE, {S.PARTIAL, S.UNKNOWN})
    assert not can_retry(C.PARKED, Reason.NOT_READY, {S.PARTIAL, S.PREPARED})
    assert can_retry(C.PARKED, Reason.CALL_ENDED, {S.FAILED})


def test_a_doubt_that_an_operator_has_given_up_is_a_failure() -> None:
    assert fold([message(S.UNKNOWN, Reason.ABANDONED)]) == Folded(E.FAIL, Reason.ABANDONED)


def test_a_notice_of_a_failure_is_no_report() -> None:
    notice = message(S.DELIVERED, id="d1.back.reply.notice", kind="notice")
    assert fold([message(S.FAILED, Reason.REFUSED), notice]) == Folded(E.FAIL, Reason.REFUSED)
    assert fold([notice]) is None
    # Nor is one that is posted instead of a result that is withheld.
    assert fold([message(S.DELIVERED, id="d1.post1", kind="notice")]) is None


@for_each("state", C)
@for_each("end", ENDS)
def test_messages_never_ask_for_what_the_table_does_not_allow(state: CallbackState, end: IntentState) -> None:
    found = event_of_messages(state, [message(end)])
    assert found is None or found.event in CALLBACK_TRANSITIONS[state]
    if state in (C.WAITING, C.PENDING_TURN, C.IN_TURN):
        # The turn itself may still say more.
        assert found is None


def test_only_what_waits_or_has_failed_can_go_on() -> None:
    assert {state for state in C if can_resume(state)} == {C.PARKED, C.UNDELIVERABLE}
