"""One message of a run: its attempts, and its state at any moment. `trunkline.app.view.index.messages` writes them."""

from __future__ import annotations

from bisect import bisect_right
from enum import StrEnum

import msgspec

from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.values import IntentState


class QueueState(StrEnum):
    """What the queue holds of a message at a moment."""

    #: not prepared yet
    LATER = "later"
    PENDING = "pending"
    #: handed to an adapter by a process that lives
    LEASED = "leased"
    #: handed to an adapter by a process that has died since
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
    #: never meant for the queue: suppressed, refused, or a dry run
    UNSAID = "unsaid"


#: still to be done by somebody
OPEN = frozenset({QueueState.PENDING, QueueState.LEASED, QueueState.ORPHANED, QueueState.RETRY})


def state_of(state: IntentState) -> QueueState:
    """The state of the queue that a recorded one stands for."""
    return QueueState.PENDING if state in (IntentState.PREPARED, IntentState.SENDING) else QueueState(state.value)


class StateChange(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a message from an event on."""

    seq: int
    at: float
    state: QueueState
    #: attempts so far
    tries: int = 0
    #: processes that have it in their hands; more than one is wrong (invariant D5)
    owners: tuple[int, ...] = ()
    #: looked at again then
    due: float | None = None
    why: str = ""
    #: it came into the queue here, by being prepared; or what it was before counts no more, by an operator's word
    entered: bool = False
    reopened: bool = False
    #: what it had been before a process that knew nothing of that took it again: no ending of its own
    back: bool = False

    @property
    def ends(self) -> bool:
        """The message ended with this step."""
        return self.state not in OPEN and not self.back


class AttemptKind(StrEnum):
    """What a row of an opened message stands for."""

    ATTEMPT = "attempt"
    #: a process found it left over, and did something else than to send it
    RECOVERY = "recovery"
    OPERATOR = "operator"


class AttemptRecord:
    """One attempt, or what stands for one, with everything that came of it."""

    __slots__ = ("acked", "chunk", "ended", "event", "mirrored", "number", "part", "settled", "wire")

    def __init__(self, part: AttemptKind, event: Event, chunk: int, number: int) -> None:
        self.part = part
        self.event = event
        self.chunk = chunk
        self.number = number
        #: the platform's side: accepted, known, refused, lost, looked up
        self.wire: list[Event] = []
        self.ended: Event | None = None
        self.acked: Event | None = None
        self.mirrored: list[Event] = []
        self.settled: Event | None = None


class MessageHistory:
    """One intent."""

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
        #: an operator has said what is to become of it
        self.told = False
        #: everything that carries its id
        self.events: list[Event] = []

    @property
    def seq(self) -> int:
        """Where it begins: it was prepared, or first heard of."""
        return self.prepared.seq if self.prepared else self.first.seq

    @property
    def body(self) -> IntentPrepared | None:
        """What was prepared; none for what an earlier run left, and for what was never queued."""
        return self.prepared.body if self.prepared and isinstance(self.prepared.body, IntentPrepared) else None

    @property
    def queued(self) -> bool:
        """It was in the queue: prepared, or found there. What a hook cancelled never was."""
        return self.prepared is not None or bool(self.tries)

    def step(self, seq: int) -> StateChange:
        """Its state after event `seq`."""
        index = bisect_right(self.steps, seq, key=lambda step: step.seq) - 1
        if index < 0:
            return StateChange(seq=self.seq, at=self.first.at, state=QueueState.LATER)
        return self.steps[index]

    def endings(self, seq: int) -> int:
        """How often it ended since it came into the queue, or came back; after event `seq`."""
        ended = 0
        for step in self.steps:
            if step.seq > seq:
                break
            ended = (0 if step.entered or step.reopened else ended) + step.ends
        return ended

    @property
    def ending(self) -> StateChange | None:
        """The last step with which it ended, if it has since it came into the queue, or came back."""
        for step in reversed(self.steps):
            if step.ends:
                return step
            if step.entered or step.reopened:
                return None
        return None

    def tried(self, seq: int) -> list[AttemptRecord]:
        """The attempts that had begun after event `seq`."""
        return [one for one in self.tries if one.event.seq <= seq]
