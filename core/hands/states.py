"""The state machine of a delegation, as a table.

Finishing and reporting are separate: a hand may have finished before its result is reported. The first result wins; a
later one is illegal here, and the caller records it as ignored.
"""

from __future__ import annotations

from enum import StrEnum

from trunkline.core.errors import IllegalTransition


class DelegationState(StrEnum):
    """The state of a delegation."""

    #: committed; the hand may not have started
    ACCEPTED = "accepted"
    #: the hand is working
    RUNNING = "running"
    #: its first result is stored, but not yet reported
    FINISHED = "finished"
    #: the result was reported to the requester
    TOLD = "told"


class DelegationEvent(StrEnum):
    """An event in the life of a delegation."""

    START = "start"
    #: any result: ok, error, timeout, lost
    FINISH = "finish"
    TELL = "tell"


_S, _E = DelegationState, DelegationEvent

DELEGATION_TRANSITIONS: dict[DelegationState, dict[DelegationEvent, DelegationState]] = {
    _S.ACCEPTED: {_E.START: _S.RUNNING, _E.FINISH: _S.FINISHED},
    # A process that restarts a repeatable hand starts it again.
    _S.RUNNING: {_E.START: _S.RUNNING, _E.FINISH: _S.FINISHED},
    _S.FINISHED: {_E.TELL: _S.TOLD},
    _S.TOLD: {},
}


def next_delegation_state(state: DelegationState, event: DelegationEvent) -> DelegationState:
    """The state after an event. Raises `IllegalTransition` for one that the table does not allow."""
    after = DELEGATION_TRANSITIONS[state].get(event)
    if after is None:
        raise IllegalTransition(f"{event.value!r} on a delegation that is {state.value!r}")
    return after
