"""The two tables of a delegation: every pair of state and event does what stands here, or is refused."""

from itertools import product

import pytest

from tests.support.for_each import for_each
from trunkline.core.errors import IllegalTransition
from trunkline.core.states.delegation import (
    CallbackEvent,
    CallbackState,
    WorkEvent,
    WorkState,
    next_callback_state,
    next_work_state,
)

W, V = WorkState, WorkEvent
WORK = {(W.ACCEPTED, V.START): W.RUNNING, (W.RUNNING, V.START): W.RUNNING}
for _open in (W.ACCEPTED, W.RUNNING):
    WORK[_open, V.SUCCEED] = W.SUCCEEDED
    WORK[_open, V.FAIL] = W.FAILED
    WORK[_open, V.TIME_OUT] = W.TIMED_OUT
    WORK[_open, V.CANCEL] = W.CANCELLED
    WORK[_open, V.LOSE] = W.LOST

C, E = CallbackState, CallbackEvent
CALLBACK = {
    (C.WAITING, E.ADMIT): C.PENDING_TURN,
    (C.WAITING, E.POST): C.QUEUED,
    (C.WAITING, E.SUPPRESS): C.SUPPRESSED,
    (C.QUEUED, E.PARK): C.PARKED,
    (C.PARKED, E.PARK): C.PARKED,
    (C.PARKED, E.RESUME): C.QUEUED,
    (C.UNDELIVERABLE, E.RESUME): C.QUEUED,
    (C.UNDELIVERABLE, E.RERUN): C.PENDING_TURN,
    (C.UNDELIVERABLE, E.DISCARD): C.SUPPRESSED,
    # discarded while it was on its way
    (C.SUPPRESSED, E.DELIVER): C.DELIVERED,
}
for _turn in (C.PENDING_TURN, C.IN_TURN):
    CALLBACK[_turn, E.BEGIN] = C.IN_TURN
    CALLBACK[_turn, E.ENQUEUE] = C.QUEUED
    CALLBACK[_turn, E.SUPPRESS] = C.SUPPRESSED
    CALLBACK[_turn, E.FAIL] = C.UNDELIVERABLE
    CALLBACK[_turn, E.DISCARD] = C.SUPPRESSED
for _sent in (C.QUEUED, C.PARKED):
    CALLBACK[_sent, E.DELIVER] = C.DELIVERED
    CALLBACK[_sent, E.FAIL] = C.UNDELIVERABLE
    CALLBACK[_sent, E.SUPPRESS] = C.SUPPRESSED
    CALLBACK[_sent, E.DISCARD] = C.SUPPRESSED


@for_each(("state", "event"), product(W, V))
def test_work_does_what_the_table_says_or_refuses(state: WorkState, event: WorkEvent) -> None:
    after = WORK.get((state, event))
    if after is not None:
        assert next_work_state(state, event) is after
        return
    with pytest.raises(IllegalTransition, match=f"'{event.value}' on a delegation that is '{state.value}'"):
        next_work_state(state, event)


@for_each(("state", "event"), product(C, E))
def test_a_callback_does_what_the_table_says_or_refuses(state: CallbackState, event: CallbackEvent) -> None:
    after = CALLBACK.get((state, event))
    if after is not None:
        assert next_callback_state(state, event) is after
        return
    with pytest.raises(IllegalTransition, match=f"'{event.value}' on a callback that is '{state.value}'"):
        next_callback_state(state, event)
