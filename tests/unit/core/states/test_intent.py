"""The two state machines, walked completely. The store's refusals: tests/contract/store_kit."""

from collections.abc import Mapping
from enum import Enum
from itertools import product

import pytest

from tests.support.for_each import for_each
from trunkline.core.errors import IllegalTransition
from trunkline.core.states.delegation import CALLBACK_TRANSITIONS, WORK_TRANSITIONS, CallbackState, WorkState
from trunkline.core.states.intent import TRANSITIONS, DeliveryEvent, end_state, is_final, next_state
from trunkline.core.values import IntentState

S, E = IntentState, DeliveryEvent

#: written by hand from DESIGN section 5, not read from the table
DELIVERY = {
    (S.PREPARED, E.MARK): S.SENDING,
    (S.PREPARED, E.ACK_CHUNK): S.PREPARED,
    (S.PREPARED, E.ACK_LAST): S.DELIVERED,
    (S.PREPARED, E.DEFER): S.PREPARED,
    (S.PREPARED, E.REFUSE): S.FAILED,
    (S.PREPARED, E.EXHAUST): S.DEAD,
    (S.PREPARED, E.EXPIRE): S.EXPIRED,
    (S.PREPARED, E.PARK): S.UNKNOWN,
    (S.PREPARED, E.CANCEL): S.CANCELLED,
    (S.PREPARED, E.MISPLACE): S.MISPLACED,
    (S.DELIVERED, E.LOSE): S.FAILED,
    (S.PARTIAL, E.LOSE): S.FAILED,
    (S.PARTIAL, E.RETRY): S.PREPARED,
    (S.FAILED, E.RETRY): S.PREPARED,
    (S.DEAD, E.RETRY): S.PREPARED,
    (S.EXPIRED, E.RETRY): S.PREPARED,
    (S.UNKNOWN, E.RESOLVE_CHUNK): S.PREPARED,
    (S.UNKNOWN, E.RESOLVE_LAST): S.DELIVERED,
    (S.UNKNOWN, E.RESOLVE_UNSENT): S.PREPARED,
    (S.UNKNOWN, E.ABANDON): S.UNKNOWN,
    (S.SENDING, E.ACK_CHUNK): S.PREPARED,
    (S.SENDING, E.ACK_LAST): S.DELIVERED,
    (S.SENDING, E.DEFER): S.PREPARED,
    (S.SENDING, E.REFUSE): S.FAILED,
    (S.SENDING, E.EXHAUST): S.DEAD,
    (S.SENDING, E.EXPIRE): S.EXPIRED,
    (S.SENDING, E.PARK): S.UNKNOWN,
    (S.SENDING, E.MISPLACE): S.MISPLACED,
}


@for_each(("state", "event"), product(S, E))
def test_an_intent_does_what_the_table_says_or_refuses(state: IntentState, event: DeliveryEvent) -> None:
    after = DELIVERY.get((state, event))
    if after is not None:
        assert next_state(state, event) is after
        return
    with pytest.raises(IllegalTransition, match=f"'{event.value}' on an intent that is '{state.value}'"):
        next_state(state, event)


@pytest.mark.parametrize(
    ("table", "states"),
    [(TRANSITIONS, IntentState), (WORK_TRANSITIONS, WorkState), (CALLBACK_TRANSITIONS, CallbackState)],
    ids=["intent", "work", "callback"],
)
def test_every_state_is_in_the_table_and_every_open_one_has_a_way_to_an_end(
    table: Mapping[object, Mapping[object, object]], states: type[Enum]
) -> None:
    assert set(table) == set(states)
    ends = {state for state, row in table.items() if not row}
    reach = set(ends)
    while True:
        more = {state for state, row in table.items() if reach & set(row.values())} | reach
        if more == reach:
            break
        reach = more
    assert ends
    assert reach == set(states)


@pytest.mark.parametrize(
    ("table", "first"),
    [(TRANSITIONS, S.PREPARED), (WORK_TRANSITIONS, WorkState.ACCEPTED), (CALLBACK_TRANSITIONS, CallbackState.WAITING)],
    ids=["intent", "work", "callback"],
)
def test_every_state_can_be_reached(table: Mapping[object, Mapping[object, object]], first: object) -> None:
    reached: set[object] = {first}
    while True:
        more = reached | {after for state in reached for after in table[state].values()}
        if more == reached:
            break
        reached = more
    # Partial is reached by the rule of accepted chunks, which no single row can say.
    assert reached | {S.PARTIAL} == set(table) | {S.PARTIAL}


def test_a_refusal_says_what_would_be_allowed() -> None:
    with pytest.raises(IllegalTransition) as refusal:
        next_state(S.SENDING, E.MARK)
    assert "allowed: ack-chunk, ack-last, defer, refuse, exhaust, expire, park, misplace)" in str(refusal.value)
    with pytest.raises(IllegalTransition, match="nothing: it is final"):
        next_state(S.CANCELLED, E.ACK_LAST)


@for_each("state", [S.PREPARED, S.SENDING, S.DELIVERED, S.PARTIAL])
@for_each("event", E)
def test_what_ends_after_some_chunks_were_accepted_is_partial(state: IntentState, event: DeliveryEvent) -> None:
    whole = DELIVERY.get((state, event))
    if whole is None:
        with pytest.raises(IllegalTransition):
            next_state(state, event, accepted_chunks=1)
        return
    broken_off = whole in (S.FAILED, S.DEAD, S.EXPIRED, S.CANCELLED)
    assert next_state(state, event, accepted_chunks=1) is (S.PARTIAL if broken_off else whole)


#: events that carry a fact on the chunk in doubt: a receipt, a look-up, an operator
FACTS = (E.ACK_CHUNK, E.ACK_LAST, E.MISPLACE, E.RESOLVE_CHUNK, E.RESOLVE_LAST, E.RESOLVE_UNSENT)


@pytest.mark.parametrize("accepted", [0, 2])
def test_from_a_doubt_no_path_without_a_fact_leads_to_an_end_that_denies_it(accepted: int) -> None:
    reached, edge = set[S](), {S.PREPARED, S.SENDING, S.UNKNOWN}
    while edge:
        reached |= edge
        edge = {
            next_state(state, event, accepted_chunks=accepted, in_doubt=True)
            for state in edge
            for event in TRANSITIONS[state]
            if event not in FACTS
        } - reached
    assert reached == {S.PREPARED, S.SENDING, S.UNKNOWN}


@for_each("state", [S.PREPARED, S.SENDING])
@for_each("event", [E.REFUSE, E.EXHAUST, E.EXPIRE, E.PARK])
@for_each("accepted", [0, 1])
def test_what_is_in_doubt_ends_as_unknown_only(state: IntentState, event: DeliveryEvent, accepted: int) -> None:
    assert end_state(state, event, accepted_chunks=accepted, in_doubt=True) is S.UNKNOWN


def test_a_parked_chunk_stays_unknown_whatever_was_accepted_before() -> None:
    assert next_state(S.SENDING, E.PARK, accepted_chunks=3) is S.UNKNOWN


def test_a_misplaced_chunk_is_misplaced_whatever_was_accepted_before() -> None:
    assert next_state(S.PREPARED, E.MISPLACE, accepted_chunks=3) is S.MISPLACED
    with pytest.raises(IllegalTransition):
        end_state(S.PREPARED, E.MISPLACE, accepted_chunks=3, in_doubt=False)


def test_the_final_states_are_these() -> None:
    assert {state for state in S if not is_final(state)} == {S.PREPARED, S.SENDING}


@for_each("state", S)
@for_each("event", E)
def test_an_intent_ends_only_by_an_event_other_than_a_receipt(state: IntentState, event: DeliveryEvent) -> None:
    ends = {E.REFUSE: S.FAILED, E.EXHAUST: S.DEAD, E.EXPIRE: S.EXPIRED, E.PARK: S.UNKNOWN}
    ends |= {E.CANCEL: S.CANCELLED} if state is S.PREPARED else {}
    if state not in (S.PREPARED, S.SENDING) or event not in ends:
        with pytest.raises(IllegalTransition):
            end_state(state, event, accepted_chunks=0, in_doubt=False)
        return
    assert end_state(state, event, accepted_chunks=0, in_doubt=False) is ends[event]
    assert end_state(state, event, accepted_chunks=1, in_doubt=False) is (S.UNKNOWN if event is E.PARK else S.PARTIAL)
