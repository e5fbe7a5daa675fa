"""The state machine of a delegation, as a table.

Work and telling are two facts: a hand may have finished while nobody was told yet (seed 004; S6 of the callback
semantics). The first result wins; a later one is illegal here and is recorded as ignored by the caller (S7).
"""

from __future__ import annotations

from enum import StrEnum

from trunkline.core.errors import IllegalTransition


class DelegationState(StrEnum):
    """Where a delegation stands."""

    #: committed; the hand may not have started
    ACCEPTED = "accepted"
    #: the hand works
    RUNNING = "running"
    #: its first result is stored, and somebody is to be told
    FINISHED = "finished"
    #: the requester was told
    TOLD = "told"


class DelegationEvent(StrEnum):
    """What can happen to a delegation."""

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
