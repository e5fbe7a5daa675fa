"""The history of one message: its attempts, and its state after any event. `messages` fills it."""

from __future__ import annotations

from bisect import bisect_right
from enum import StrEnum

import msgspec

from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.values import IntentState


class QueueState(StrEnum):
    """The state of a message in the queue."""

    #: not prepared yet
    LATER = "later"
    PENDING = "pending"
    #: handed to an adapter by a live process
    LEASED = "leased"
    #: handed to an adapter by a process that has died
    ORPHANED = "orphaned"
    RETRY = "retry"
    DELIVERED = "delivered"
    PARTIAL = "partial"
    UNKNOWN = "unknown"
    MISPLACED = "misplaced"
    FAILED = "failed"
    DEAD = "dead"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    #: never queued: suppressed, refused, or a dry run
    UNSAID = "unsaid"


#: states without an ending
OPEN = frozenset({QueueState.PENDING, QueueState.LEASED, QueueState.ORPHANED, QueueState.RETRY})


def state_of(state: IntentState) -> QueueState:
    """The queue state of a recorded intent state."""
    return QueueState.PENDING if state in (IntentState.PREPARED, IntentState.SENDING) else QueueState(state.value)


class StateChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of state: the state from this event on."""

    seq: int
    at: float
    state: QueueState
    #: attempts so far
    tries: int = 0
    #: processes that work on it; more than one violates D5
    owners: tuple[int, ...] = ()
    #: time of the next check
    due: float | None = None
    why: str = ""
    #: it entered the queue here; or an operator reopened it
    entered: bool = False
    reopened: bool = False
    #: back in an earlier final state, after a process unaware of that sent it again: not another ending
    back: bool = False

    @property
    def ends(self) -> bool:
        """Whether the message ended with this change."""
        return self.state not in OPEN and not self.back


class AttemptKind(StrEnum):
    """The kind of a row below an opened message."""

    ATTEMPT = "attempt"
    #: a process recovered it without sending it
    RECOVERY = "recovery"
    OPERATOR = "operator"


class AttemptRecord:
    """One attempt, recovery or operator action, with all its consequences."""

    __slots__ = ("acked", "chunk", "ended", "event", "mirrored", "number", "part", "settled", "wire")

    def __init__(self, part: AttemptKind, event: Event, chunk: int, number: int) -> None:
        self.part = part
        self.event = event
        self.chunk = chunk
        self.number = number
        #: the platform's reactions: accepted, deduplicated, refused, lost, looked up
        self.wire: list[Event] = []
        self.ended: Event | None = None
        self.acked: Event | None = None
        self.mirrored: list[Event] = []
        self.settled: Event | None = None


class MessageHistory:
    """The history of one intent, or of a message that was never queued."""

    def __init__(self, name: str, first: Event) -> None:
        self.id = name
        self.first = first
        self.prepared: Event | None = None
        self.tries: list[AttemptRecord] = []
        self.steps: list[StateChange] = []
        self.acked: list[Event] = []
        self.mirrored: list[Event] = []
        self.accepted: list[Event] = []
        self.settled: list[Event] = []
        self.fallbacks: list[Event] = []
        #: an operator acted on it, and the resulting event has not come yet
        self.operator_acted = False
        #: every event with its id
        self.events: list[Event] = []

    @property
    def seq(self) -> int:
        """The event that prepared it, else the first one about it."""
        return self.prepared.seq if self.prepared else self.first.seq

    @property
    def body(self) -> IntentPrepared | None:
        """The prepared intent; none for intents of an earlier run and for messages that were never queued."""
        return self.prepared.body if self.prepared and isinstance(self.prepared.body, IntentPrepared) else None

    @property
    def queued(self) -> bool:
        """Whether it was ever in the queue: prepared in this run, or found in the store."""
        return self.prepared is not None or bool(self.tries)

    def step(self, seq: int) -> StateChange:
        """Its state after event `seq`."""
        index = bisect_right(self.steps, seq, key=lambda step: step.seq) - 1
        if index < 0:
            return StateChange(seq=self.seq, at=self.first.at, state=QueueState.LATER)
        return self.steps[index]

    def endings(self, seq: int) -> int:
        """The number of its endings up to event `seq`, since it entered the queue or was reopened."""
        ended = 0
        for step in self.steps:
            if step.seq > seq:
                break
            ended = (0 if step.entered or step.reopened else ended) + step.ends
        return ended

    @property
    def ending(self) -> StateChange | None:
        """Its last ending since it entered the queue or was reopened, if any."""
        for step in reversed(self.steps):
            if step.ends:
                return step
            if step.entered or step.reopened:
                return None
        return None

    def tried(self, seq: int) -> list[AttemptRecord]:
        """The attempts that had begun by event `seq`."""
        return [one for one in self.tries if one.event.seq <= seq]
