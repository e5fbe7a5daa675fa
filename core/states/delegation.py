"""The two state machines of a delegation, as tables: the work of the hand, and the callback that reports it.

They are separate columns, because "the hand has finished" and "the person has got it" are different facts. The first
result wins: a later one is illegal here, and the caller records it as ignored.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from trunkline.core.errors import IllegalTransition


class HandOutcome(StrEnum):
    """How a delegated run ended."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    #: an agent, a person or an operator ended it
    CANCELLED = "cancelled"
    #: the process that ran it died
    LOST = "lost"


class WorkState(StrEnum):
    """The state of the hand's work."""

    #: committed; the hand has not started, or no worker has taken the task
    ACCEPTED = "accepted"
    #: the hand is working
    RUNNING = "running"
    #: it returned a result
    SUCCEEDED = "succeeded"
    #: it raised, or returned something unusable
    FAILED = "failed"
    #: its deadline passed first
    TIMED_OUT = "timed_out"
    #: an agent, a person or an operator ended it
    CANCELLED = "cancelled"
    #: the process that ran it died, and it may not run again
    LOST = "lost"


class WorkEvent(StrEnum):
    """An event in the work of a hand."""

    START = "start"
    SUCCEED = "succeed"
    FAIL = "fail"
    TIME_OUT = "time-out"
    CANCEL = "cancel"
    LOSE = "lose"


class CallbackState(StrEnum):
    """How far the report of a delegation has come."""

    #: the work has not ended
    WAITING = "waiting"
    #: the callback is stored, and its turn has not started
    PENDING_TURN = "pending_turn"
    #: the agent that delegated works on it
    IN_TURN = "in_turn"
    #: its message is in the delivery queue
    QUEUED = "queued"
    #: its message cannot be delivered now, was broken off, or is in doubt: it waits for its adapter or for an operator
    PARKED = "parked"
    #: the platform has accepted it
    DELIVERED = "delivered"
    #: it cannot be delivered, or its turn failed
    UNDELIVERABLE = "undeliverable"
    #: deliberately nothing is sent: there is nothing to say, or the result went into that of the parent
    SUPPRESSED = "suppressed"


class CallbackEvent(StrEnum):
    """An event in the report of a delegation."""

    #: the callback turn is stored
    ADMIT = "admit"
    #: the result, or a notice instead of it, is queued without a turn
    POST = "post"
    #: nothing is reported, or the callback turn has ended without a message
    SUPPRESS = "suppress"
    #: the callback turn has begun
    BEGIN = "begin"
    #: the callback turn has ended, and its messages are queued
    ENQUEUE = "enqueue"
    #: a message of it waits for its adapter, or is in doubt
    PARK = "park"
    #: it may be sent again
    RESUME = "resume"
    DELIVER = "deliver"
    #: no message of it can be delivered, or its turn has failed
    FAIL = "fail"
    #: an operator has its turn run again
    RERUN = "rerun"
    #: an operator has given it up
    DISCARD = "discard"


_W, _V = WorkState, WorkEvent
_ENDS = {
    _V.SUCCEED: _W.SUCCEEDED,
    _V.FAIL: _W.FAILED,
    _V.TIME_OUT: _W.TIMED_OUT,
    _V.CANCEL: _W.CANCELLED,
    _V.LOSE: _W.LOST,
}

WORK_TRANSITIONS: dict[WorkState, dict[WorkEvent, WorkState]] = {
    _W.ACCEPTED: {_V.START: _W.RUNNING, **_ENDS},
    # A process that restarts a repeatable hand starts it again.
    _W.RUNNING: {_V.START: _W.RUNNING, **_ENDS},
    _W.SUCCEEDED: {},
    _W.FAILED: {},
    _W.TIMED_OUT: {},
    _W.CANCELLED: {},
    _W.LOST: {},
}

_C, _E = CallbackState, CallbackEvent
#: what may become of a message that is queued or parked
_SENT = {_E.DELIVER: _C.DELIVERED, _E.FAIL: _C.UNDELIVERABLE, _E.SUPPRESS: _C.SUPPRESSED, _E.DISCARD: _C.SUPPRESSED}
#: what may become of a turn that is due or running
_TURN = {
    _E.BEGIN: _C.IN_TURN,
    _E.ENQUEUE: _C.QUEUED,
    _E.SUPPRESS: _C.SUPPRESSED,
    _E.FAIL: _C.UNDELIVERABLE,
    _E.DISCARD: _C.SUPPRESSED,
}

CALLBACK_TRANSITIONS: dict[CallbackState, dict[CallbackEvent, CallbackState]] = {
    _C.WAITING: {_E.ADMIT: _C.PENDING_TURN, _E.POST: _C.QUEUED, _E.SUPPRESS: _C.SUPPRESSED},
    _C.PENDING_TURN: _TURN,
    # A turn whose process died runs again.
    _C.IN_TURN: _TURN,
    _C.QUEUED: {_E.PARK: _C.PARKED, **_SENT},
    _C.PARKED: {_E.PARK: _C.PARKED, _E.RESUME: _C.QUEUED, **_SENT},
    _C.DELIVERED: {},
    _C.UNDELIVERABLE: {_E.RESUME: _C.QUEUED, _E.RERUN: _C.PENDING_TURN, _E.DISCARD: _C.SUPPRESSED},
    # What an operator discards may be on its way already, and arrive.
    _C.SUPPRESSED: {_E.DELIVER: _C.DELIVERED},
}

#: the work has not ended
OPEN_WORK = frozenset({WorkState.ACCEPTED, WorkState.RUNNING})
#: nothing changes by itself any more
CLOSED_CALLBACK = frozenset({CallbackState.DELIVERED, CallbackState.UNDELIVERABLE, CallbackState.SUPPRESSED})

#: the event of each outcome
ENDED_BY: Mapping[HandOutcome, WorkEvent] = {
    HandOutcome.OK: WorkEvent.SUCCEED,
    HandOutcome.ERROR: WorkEvent.FAIL,
    HandOutcome.TIMEOUT: WorkEvent.TIME_OUT,
    HandOutcome.CANCELLED: WorkEvent.CANCEL,
    HandOutcome.LOST: WorkEvent.LOSE,
}

_State = TypeVar("_State", bound=StrEnum)
_Event = TypeVar("_Event", bound=StrEnum)


def _next(table: Mapping[_State, Mapping[_Event, _State]], state: _State, event: _Event, what: str) -> _State:
    after = table[state].get(event)
    if after is None:
        raise IllegalTransition(f"{event.value!r} on {what} that is {state.value!r}")
    return after


def next_work_state(state: WorkState, event: WorkEvent) -> WorkState:
    """The state of the work after an event. Raises `IllegalTransition` for one that the table does not allow."""
    return _next(WORK_TRANSITIONS, state, event, "a delegation")


def next_callback_state(state: CallbackState, event: CallbackEvent) -> CallbackState:
    """The state of the callback after an event. Raises `IllegalTransition` for one that the table does not allow."""
    return _next(CALLBACK_TRANSITIONS, state, event, "a callback")
