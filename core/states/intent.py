"""The state machine of an intent, as one table.

Every change of an intent's state goes through `next_state`; the store refuses what the table refuses. An illegal event
raises and changes nothing. The diagram in docs/architecture.md is generated from the table.
"""

from __future__ import annotations

from enum import StrEnum

from trunkline.core.errors import IllegalTransition
from trunkline.core.values import IntentState


class DeliveryEvent(StrEnum):
    """An event in the life of an intent."""

    #: a chunk is about to be sent by an adapter that cannot find out later whether it was accepted
    MARK = "mark"
    #: a chunk has its receipt; more chunks follow
    ACK_CHUNK = "ack-chunk"
    #: the last chunk has its receipt
    ACK_LAST = "ack-last"
    #: to be tried again later
    DEFER = "defer"
    #: rejected for good
    REFUSE = "refuse"
    #: attempts used up
    EXHAUST = "exhaust"
    #: older than allowed
    EXPIRE = "expire"
    #: ambiguous, and the platform cannot be asked
    PARK = "park"
    #: withdrawn
    CANCEL = "cancel"
    #: a receipt shows another place than the requested one
    MISPLACE = "misplace"
    #: an operator retries it
    RETRY = "retry"
    #: an operator confirms that the platform has the chunk in doubt; more chunks follow
    RESOLVE_CHUNK = "resolve-chunk"
    #: an operator confirms that the platform has the chunk in doubt, the last one
    RESOLVE_LAST = "resolve-last"
    #: an operator confirms that the platform does not have the chunk in doubt, so it is sent
    RESOLVE_UNSENT = "resolve-unsent"
    #: an operator gives up the chunk in doubt and the unsent ones after it; what became of it stays unknown
    ABANDON = "abandon"


_S, _E = IntentState, DeliveryEvent

TRANSITIONS: dict[IntentState, dict[DeliveryEvent, IntentState]] = {
    _S.PREPARED: {
        _E.MARK: _S.SENDING,
        _E.ACK_CHUNK: _S.PREPARED,
        _E.ACK_LAST: _S.DELIVERED,
        _E.DEFER: _S.PREPARED,
        _E.REFUSE: _S.FAILED,
        _E.EXHAUST: _S.DEAD,
        _E.EXPIRE: _S.EXPIRED,
        _E.PARK: _S.UNKNOWN,
        _E.CANCEL: _S.CANCELLED,
        _E.MISPLACE: _S.MISPLACED,
    },
    _S.SENDING: {
        _E.ACK_CHUNK: _S.PREPARED,
        _E.ACK_LAST: _S.DELIVERED,
        _E.DEFER: _S.PREPARED,
        _E.REFUSE: _S.FAILED,
        _E.EXHAUST: _S.DEAD,
        _E.EXPIRE: _S.EXPIRED,
        _E.PARK: _S.UNKNOWN,
        _E.MISPLACE: _S.MISPLACED,
    },
    _S.DELIVERED: {},
    _S.PARTIAL: {_E.RETRY: _S.PREPARED},
    _S.FAILED: {_E.RETRY: _S.PREPARED},
    _S.DEAD: {_E.RETRY: _S.PREPARED},
    _S.EXPIRED: {_E.RETRY: _S.PREPARED},
    _S.CANCELLED: {},
    _S.UNKNOWN: {
        _E.RESOLVE_CHUNK: _S.PREPARED,
        _E.RESOLVE_LAST: _S.DELIVERED,
        _E.RESOLVE_UNSENT: _S.PREPARED,
        _E.ABANDON: _S.UNKNOWN,
    },
    _S.MISPLACED: {},
}

#: states in which the delivery loop has work to do
OPEN = frozenset({_S.PREPARED, _S.SENDING})

#: events that end an intent and prove nothing of the attempts before: where one is in doubt it ends as unknown, and
#: where some chunks were accepted as partial
_GIVES_UP = frozenset({_E.REFUSE, _E.EXHAUST, _E.EXPIRE, _E.CANCEL})


def next_state(
    state: IntentState, event: DeliveryEvent, *, accepted_chunks: int = 0, in_doubt: bool = False
) -> IntentState:
    """The state after an event. Raises `IllegalTransition` for an event that the table does not allow.

    `in_doubt`: an attempt may have been accepted unnoticed. Such an intent ends as unknown, whatever ends it, until a
    receipt, a look-up or an operator clears the doubt. Otherwise an intent that ends with some chunks accepted is
    partial.
    """
    after = TRANSITIONS[state].get(event)
    if after is None:
        allowed = ", ".join(TRANSITIONS[state]) or "nothing: it is final"
        raise IllegalTransition(f"{event.value!r} on an intent that is {state.value!r} (allowed: {allowed})")
    if in_doubt and event in _GIVES_UP:
        return IntentState.UNKNOWN
    return IntentState.PARTIAL if accepted_chunks and event in _GIVES_UP else after


#: ends by a receipt, which has to be stored
_BY_RECEIPT = frozenset({_E.ACK_LAST, _E.MISPLACE})


def end_state(state: IntentState, event: DeliveryEvent, *, accepted_chunks: int, in_doubt: bool) -> IntentState:
    """The final state after an event other than a receipt. Raises `IllegalTransition` for one that ends nothing."""
    after = next_state(state, event, accepted_chunks=accepted_chunks, in_doubt=in_doubt)
    if is_final(state) or event in _BY_RECEIPT or not is_final(after):
        raise IllegalTransition(f"{event.value!r} does not end an intent")
    return after


def is_final(state: IntentState) -> bool:
    """Whether the delivery loop is done with the intent. An operator may still reopen it from some final states."""
    return state not in OPEN
