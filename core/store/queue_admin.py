"""The queue as operators see and change the queue, as values (see `trunkline.core.store.commands`)."""

from enum import StrEnum

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.records.rows import CallbackChange, IntentRow, ProgressPart
from trunkline.core.states.intent import DeliveryEvent, next_state
from trunkline.core.values import Address, IntentId, IntentKind, IntentState, Receipt

#: most rows of a table that one transaction removes or visits, so that no other writer waits long
BATCH = 500
#: the verb of a `Nudge` that reports a purge
PURGE = "purge"


class PurgedBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How many intents a batch has removed, and where the next one goes on; none: that was the last."""

    removed: int
    progress: int | None


class QueueVerdict(StrEnum):
    """The operator's verdict on an ambiguous chunk."""

    #: the platform has it
    SENT = "sent"
    #: the platform does not have it: it is sent
    UNSENT = "unsent"
    #: neither it nor what follows it is sent
    ABANDON = "abandon"


class QueueFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which intents: all given conditions must hold. Empty: every intent."""

    ids: tuple[str, ...] = ()
    states: tuple[IntentState, ...] = ()
    channel: str = ""
    #: last written before this time
    before: float | None = None


class QueueRow(msgspec.Struct, frozen=True, kw_only=True):
    """An intent in a list. Times: seconds on the clock of the gateway."""

    n: int
    id: IntentId
    #: none, as for the place: it cannot be read
    kind: IntentKind | None
    state: IntentState
    reason: Reason | None
    address: Address | None
    acked: int
    chunks: int
    attempts: int
    next_at: float | None
    created_at: float
    updated_at: float
    text: str
    #: what it does, if it is a change instead of a message
    action: str = ""


class IntentDetails(msgspec.Struct, frozen=True, kw_only=True):
    intent: IntentRow
    receipts: tuple[Receipt, ...]
    #: its transcript line has yet to be stored
    mirror_due: bool = False
    #: the later try of the same client send; only that one counts
    replaced_by: IntentId | None = None


class Nudge(msgspec.Struct, frozen=True, kw_only=True):
    """A note to the gateway that works the store: an operator changed an intent, or purged some."""

    #: none, like `before`: a purge
    intent: IntentId | None = None
    #: ``retry``, a verdict, or ``purge``
    verb: str
    before: IntentState | None = None
    detail: str = ""
    #: what became of the report that the intent belongs to
    callback: CallbackChange | None = None


class SweepProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a retention sweep: the last number visited in each table. None: its end."""

    intents: int | None = 0
    inbounds: int | None = 0
    aliases: int | None = 0
    bindings: int | None = 0
    delegations: int | None = 0
    mailbox: int | None = 0

    @property
    def over(self) -> bool:
        return all(at is None for at in msgspec.structs.astuple(self))


class PruneCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows of each kind were removed."""

    intents: int
    inbounds: int
    sends: int
    bindings: int = 0
    delegations: int = 0
    #: messages for people who are reached through the API
    mailbox: int = 0
    #: where the sweep goes on
    progress: SweepProgress = SweepProgress()

    @property
    def some(self) -> bool:
        counts = self.intents, self.inbounds, self.sends, self.bindings, self.delegations, self.mailbox
        return any(counts)


def reopened(row: IntentRow, event: DeliveryEvent, reason: Reason, now: float) -> IntentRow:
    """The intent once an operator has it sent: as young as a new one. Raises `IllegalTransition`."""
    was = row.progress
    progress = ProgressPart(state=next_state(was.state, event), acked=was.acked, reason=reason, open_on=was.open_on)
    return msgspec.structs.replace(row, progress=progress, created_at=now)


def resolved(row: IntentRow, event: DeliveryEvent, reason: Reason) -> IntentRow:
    """The intent once an operator has ended it. Raises `IllegalTransition`."""
    state = next_state(row.progress.state, event)
    return row.with_progress(state=state, reason=reason, next_at=None, doubt_at=None)


def purge_summary(which: QueueFilter, removed: int) -> str:
    """A line about a purge, for the trace."""
    return f"{removed} intents: {', '.join(state.value for state in which.states) or 'all that have ended'}"
