"""The state machine of an intent, as one table.

Why these states
================

An intent outlives the process that made it. After a crash, the next process has its row and nothing else. So a state
does not say what a program was doing. It says what may have happened on the platform, in as few words as the next
process needs to go on without sending twice and without losing anything.

With its state, a row counts its receipts: how many leading chunks the platform has accepted. Both change in one
transaction, and only together they say where an intent stands.

Open: is anything on the wire?
------------------------------

``prepared``
    The bytes are final and durable. Every later step starts here: a chunk that got its receipt leads back to
    ``prepared`` with one receipt more, and an attempt that is put off leads back to it with a time.
``sending``
    An attempt may have left since the last write. The next process could not distinguish this from ``prepared``, so it
    costs a commit before the attempt. It is paid only where the answer matters (`needs_mark` in
    `core.delivery.recovery`): on platforms that cannot be asked, where keys age, and for retries. A first attempt on a
    platform with lasting keys or a look-up leaves from ``prepared``, and recovery assumes that it was made: to repeat
    it, or to ask, is safe there.

Waiting is no state. That a lane waits for its adapter, that a time has not come, that a text is not in memory: all that
belongs to a process and ends with it. A state for it would have to be cleaned up after each crash.

Doubt is no state either, but a time in the row (`doubt_at`): since when there is an attempt whose outcome nobody knows.
An intent in doubt may still be retried under the same key, looked up, or deferred; as a state, doubt would double every
other one. It decides only how an intent ends, so the transition takes it as a fact.

Ended: does the person have it?
-------------------------------

This is the one question at the end, for the person, for the transcript and for the operator alike. Each final state is
an answer to it; why it ended is said by its reason code.

======================  ==============================================================================================
``delivered``           yes: every chunk has a receipt
``partial``             the first chunks, and none of the others
``failed``              no: the platform refused it for good
``dead``                no: its attempts are used up; this is the dead letter
``expired``             no: it became too old before it could be sent
``cancelled``           no: a hook withdrew it, or an operator discarded the report that it belongs to
``misplaced``           a chunk is at another place than requested, and nothing more was sent
``unknown``             nobody knows: an attempt at the next chunk may have been accepted
======================  ==============================================================================================

Two rules keep the answers true, whichever event ends an intent (`_GIVES_UP`):

- ``failed``, ``dead``, ``expired`` and ``cancelled`` claim that nobody has it. With an attempt in doubt that would be a
  guess, so the intent ends as ``unknown``.
- Once a chunk was accepted, they would be false. So the intent ends as ``partial``; the transcript has what people saw.

``cancelled`` is reached from ``prepared`` only: after a mark, a message may be out and cannot be withdrawn any more.

After the end: the platform
---------------------------

After a receipt, only the platform can say that people do not have a chunk: it could not deliver it after all, or
somebody else has deleted it (``lose``). So the intent is ``failed``, or ``partial`` where other chunks are still there.
Nothing is sent again. The receipts stay, with a mark, so that a repeated report finds nothing to do.

After the end: operators
------------------------

Otherwise only operators leave final states, and each way out says what they know.

- ``retry`` reopens what surely did not arrive: it goes on with the first chunk that has no receipt, under the same id
  and key. ``delivered``, ``cancelled`` and ``misplaced`` have nothing to retry, and after a loss the store refuses it:
  there is a receipt, and under the same key the platform might answer with the lost copy.
- ``unknown`` cannot be retried: that would be the second copy which the state is there to prevent. The operator first
  says what became of the chunk (``resolve-chunk``, ``resolve-last``, ``resolve-unsent``), or gives it up (``abandon``),
  which changes the reason and leaves the state: still nobody knows.

How the table is used
---------------------

A command computes the intent as it is after it, by `next_state` or `end_state`, and carries both. The store writes the
second only over the first: state and number of receipts must be those that the caller saw. So an event that is illegal,
and one that is legal but late, raise `IllegalTransition` and change nothing. The diagram in docs/architecture.md is
generated from the table, and `tests/contract/store_kit/transitions.py` plays every cell of it on every store.

A new state is needed where the next process, or a person, would have to do something that no present state asks for.
A new reason for an old end is a `Reason`, and a new kind of waiting is a time or a flag of the row.
"""

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
    #: the platform takes an accepted chunk back: it was not delivered after all, or somebody else has deleted it
    LOSE = "lose"
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
    _S.DELIVERED: {_E.LOSE: _S.FAILED},
    _S.PARTIAL: {_E.RETRY: _S.PREPARED, _E.LOSE: _S.FAILED},
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

#: events that end an intent and prove nothing of the attempts before
_GIVES_UP = frozenset({_E.REFUSE, _E.EXHAUST, _E.EXPIRE, _E.CANCEL})


def next_state(
    state: IntentState, event: DeliveryEvent, *, accepted_chunks: int = 0, in_doubt: bool = False
) -> IntentState:
    """The state after an event. Raises `IllegalTransition` for an event that the table does not allow.

    `in_doubt`: an attempt may have been accepted unnoticed, and no receipt, look-up or operator has cleared that doubt.
    """
    after = TRANSITIONS[state].get(event)
    if after is None:
        allowed = ", ".join(TRANSITIONS[state]) or "nothing: it is final"
        raise IllegalTransition(f"{event.value!r} on an intent that is {state.value!r} (allowed: {allowed})")
    if in_doubt and event in _GIVES_UP:
        return IntentState.UNKNOWN
    some = accepted_chunks > 0 and (event in _GIVES_UP or event is _E.LOSE)
    return IntentState.PARTIAL if some else after


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
