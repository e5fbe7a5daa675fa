"""The outbound queue for operators: a page with the totals, one intent with what can be done to it, and changes."""

import msgspec

from trunkline.core.errors import IllegalTransition
from trunkline.core.states.intent import OPEN, TRANSITIONS, DeliveryEvent
from trunkline.core.store.commands import ResolveIntent, RetryIntent, Write
from trunkline.core.store.queries import Read
from trunkline.core.store.queue_admin import IntentDetails, QueueFilter, QueueRow
from trunkline.core.values import IntentId, IntentState

RETRYABLE = tuple(state for state in IntentState if DeliveryEvent.RETRY in TRANSITIONS[state])
#: states that need attention, and open states
NOTICEABLE = (
    IntentState.UNKNOWN,
    IntentState.DEAD,
    IntentState.FAILED,
    IntentState.EXPIRED,
    IntentState.PARTIAL,
    IntentState.MISPLACED,
    IntentState.PREPARED,
    IntentState.SENDING,
)
#: what operators do to an intent
OPERATOR_EVENTS = (
    DeliveryEvent.RETRY,
    DeliveryEvent.RESOLVE_CHUNK,
    DeliveryEvent.RESOLVE_LAST,
    DeliveryEvent.RESOLVE_UNSENT,
    DeliveryEvent.ABANDON,
)


class QueueOverview(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the queue, in the order of creation, and the totals."""

    counts: dict[IntentState, int]
    rows: tuple[QueueRow, ...]
    #: how many matching intents come after this page
    more: int
    #: the process that works the store, if any
    holder: str | None
    #: when this was read, in seconds on the gateway's clock
    at: float
    #: the cursor of the page behind this one; none: this is the last
    next: str | None = None


class IntentInspection(msgspec.Struct, frozen=True, kw_only=True):
    """An intent for an operator. `details` none: its row cannot be read, and `problem` says why."""

    row: QueueRow
    details: IntentDetails | None
    problem: str = ""
    #: what an operator can do to it now
    can: tuple[DeliveryEvent, ...] = ()
    holder: str | None = None
    #: when this was read, in seconds on the gateway's clock
    at: float


class QueueChange(msgspec.Struct, frozen=True, kw_only=True):
    id: IntentId
    before: IntentState
    after: IntentState
    #: chunks with a receipt, and all chunks
    acked: int
    chunks: int
    #: its next chunk was given up in doubt, and is sent again now
    was_in_doubt: bool = False


class SkippedIntent(msgspec.Struct, frozen=True, kw_only=True):
    id: IntentId
    why: str


class QueueChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of an operator's command. `holder`: the process that acts on them; none: the next one to start."""

    changes: tuple[QueueChange, ...]
    skipped: tuple[SkippedIntent, ...] = ()
    holder: str | None = None


def joined(first: QueueChanges, other: QueueChanges) -> QueueChanges:
    """The changes of two commands, as those of one."""
    return QueueChanges(
        changes=(*first.changes, *other.changes), skipped=(*first.skipped, *other.skipped), holder=other.holder
    )


class ReadQueueOverview(Read[QueueOverview], frozen=True, kw_only=True):
    """A page of the queue behind a cursor, and the totals. Raises `BadCursor`."""

    which: QueueFilter
    cursor: str = ""
    limit: int = 100
    now: float


class InspectIntent(Read[IntentInspection], frozen=True, kw_only=True):
    """An intent, and what an operator can do to it. Raises `UnknownName`."""

    intent: str
    now: float


class ChangeQueue(Write[QueueChanges], frozen=True, kw_only=True):
    """Carry out changes of operators, all or none; with `skip`, those that are possible.

    Raises what the changes raise. The process that works the store finds a note about each.
    """

    changes: tuple[RetryIntent | ResolveIntent, ...]
    skip: bool = False
    now: float


def check_purge(which: QueueFilter) -> None:
    """Raise `IllegalTransition` when a filter names an open state."""
    is_open = ", ".join(state.value for state in which.states if state in OPEN)
    if is_open:
        raise IllegalTransition(f"what is {is_open} is still to be sent, and is not removed")


def check_retry(which: QueueFilter) -> None:
    """Raise `IllegalTransition` when a filter names a state from which nothing can be retried."""
    never = ", ".join(state.value for state in which.states if state not in RETRYABLE)
    if never:
        can = ", ".join(state.value for state in RETRYABLE)
        raise IllegalTransition(f"what is {never} cannot be tried again; what is {can} can")
