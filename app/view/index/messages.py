"""The histories of all messages of a run, computed in one pass for the Messages, Queue and Hands screens.

The history of a message has its attempts, and its state after any event. A message that was deliberately not sent has
one too, a short one with the reason.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import Any

import msgspec

from trunkline.app.view.index.evidence import BrokenThings
from trunkline.app.view.index.growing import EventHistory, GrowingRows
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.core.events import Body, Event, delivery
from trunkline.core.events.adapters import DeliveryFailed
from trunkline.core.events.delivery import IntentPrepared, IntentSuppressed, SendPreviewed, SendRefused
from trunkline.core.events.leases import LeaseGone
from trunkline.core.values import IntentState
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireLookedUp, WireRefused, WireResponseLost
from trunkline.sim.index.projection import on
from trunkline.sim.invariants.base import Violation


class QueueState(StrEnum):
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
    ATTEMPT = "attempt"
    #: a process recovered it without sending it
    RECOVERY = "recovery"
    OPERATOR = "operator"


class AttemptRecord(msgspec.Struct, eq=False):
    """An attempt, recovery or operator action, with all its consequences."""

    part: AttemptKind
    event: Event
    chunk: int = 0
    number: int = 0
    #: the platform's reactions: accepted, deduplicated, refused, lost, looked up
    wire: list[Event] = []
    ended: Event | None = None
    acked: Event | None = None
    mirrored: list[Event] = []
    settled: Event | None = None


class SharedRecords(msgspec.Struct, eq=False):
    """Shared by the histories of a run: attempts by event, and what each process works on."""

    #: seq of an event -> its attempt
    tries: dict[int, AttemptRecord] = {}
    #: process -> the messages that it works on, by id
    held: "dict[int, dict[str, MessageHistory]]" = {}


class MessageHistory(EventHistory):
    """The history of one intent, or of a message that was never queued."""

    def __init__(self, name: str, first: Event, shared: SharedRecords) -> None:
        self.id = name
        self.first = first
        self._shared = shared
        self.prepared: Event | None = None
        self.tries: list[AttemptRecord] = []
        self.steps: list[StateChange] = []
        self.acked: list[Event] = []
        self.mirrored: list[Event] = []
        self.accepted: list[Event] = []
        self.settled: list[Event] = []
        self.fallbacks: list[Event] = []
        #: an operator acted on it, and the resulting event has not come yet
        self._operator_acted = False
        #: every event with its id
        self.events: list[Event] = []

    @property
    def seq(self) -> int:
        """The event that prepared it, else the first one about it."""
        return self.prepared.seq if self.prepared else self.first.seq

    @property
    def body(self) -> delivery.IntentPrepared | None:
        """The prepared intent; none for intents of an earlier run and for messages that were never queued."""
        return self.prepared.body if self.prepared and isinstance(self.prepared.body, delivery.IntentPrepared) else None

    @property
    def queued(self) -> bool:
        """Whether it was ever in the queue: prepared in this run, or found in the store."""
        return self.prepared is not None or bool(self.tries)

    def step(self, seq: int) -> StateChange:
        index = bisect_right(self.steps, seq, key=lambda step: step.seq)
        return self.steps[index - 1] if index else StateChange(seq=self.seq, at=self.first.at, state=QueueState.LATER)

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
        """The last ending since the message entered the queue or was reopened, if any."""
        for step in reversed(self.steps):
            if step.ends:
                return step
            if step.entered or step.reopened:
                return None
        return None

    def tried(self, seq: int) -> list[AttemptRecord]:
        """The attempts that had begun by event `seq`."""
        return [attempt for attempt in self.tries if attempt.event.seq <= seq]

    def learn(self, event: Event) -> None:
        """Take the next event of the message."""
        self.events.append(event)
        super().learn(event)

    def enter(self, event: Event, state: QueueState, why: object = "", **details: Any) -> None:
        """Enter a state; the number of attempts stays unless `details` has one."""
        tries = details.pop("tries", self._now.tries if self._now else 0)
        self.steps.append(StateChange(seq=event.seq, at=event.at, state=state, tries=tries, why=str(why), **details))

    @property
    def _now(self) -> StateChange | None:
        return self.steps[-1] if self.steps else None

    @property
    def _is_open(self) -> bool:
        return self._now is not None and self._now.state in OPEN

    def _begin(self, part: AttemptKind, event: Event, chunk: int = 0, number: int = 0) -> None:
        record = self._shared.tries[event.seq] = AttemptRecord(part, event, chunk, number)
        self.tries.append(record)

    def _attempt_of(self, event: Event) -> AttemptRecord:
        """The attempt of an event: by its cause, else by its chunk and attempt numbers, else the last one."""
        chunk, number = getattr(event.body, "chunk", None), getattr(event.body, "attempt", None)
        same = (
            attempt for attempt in reversed(self.tries) if attempt.chunk == chunk and number in (None, attempt.number)
        )
        record = self._shared.tries.get(event.cause or 0) or next(same, None) or next(reversed(self.tries), None)
        if record is None:
            # Its attempts are not in the trace.
            return AttemptRecord(AttemptKind.ATTEMPT, event)
        self._shared.tries[event.seq] = record
        return record

    def _leave(self, event: Event) -> tuple[int, ...]:
        """A process is done with it. Returns the processes that still work on it."""
        self._shared.held.get(event.generation, {}).pop(self.id, None)
        return tuple(owner for owner in self._now.owners if owner != event.generation) if self._now else ()

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        self.prepared = self.prepared or event
        self.enter(event, QueueState.PENDING, body.reason, tries=0, entered=True)

    def on_attempt(self, event: Event, body: delivery.AttemptStarted) -> None:
        self._begin(AttemptKind.ATTEMPT, event, body.chunk, body.attempt)
        self._shared.held.setdefault(event.generation, {})[self.id] = self
        others = self._now.owners if self._now and self._now.state is QueueState.LEASED else ()
        owners = tuple(dict.fromkeys((*others, event.generation)))
        self.enter(event, QueueState.LEASED, tries=max(body.attempt, 1), owners=owners)

    def on_attempt_ended(self, event: Event, body: delivery.AttemptEnded) -> None:
        record = self._attempt_of(event)
        record.ended = record.ended or event
        left = self._leave(event)
        if not self._is_open:
            return
        ending = self.ending
        if left:
            self.enter(event, QueueState.LEASED, body.reason, owners=left)
        elif ending is not None:
            # A process unaware of the end sent it again, which does not change the state in the queue.
            why = f"sent again after its end, by process {event.generation}: {body.reason}"
            self.enter(event, ending.state, why, back=True)
        elif body.retry_at is not None:
            self.enter(event, QueueState.RETRY, f"{body.decision}: {body.reason}", due=body.retry_at)

    def on_recovered(self, event: Event, body: delivery.RecoveryDecided) -> None:
        if body.decision not in ("send", "resend"):
            self._begin(AttemptKind.RECOVERY, event, number=body.attempts)
        state = QueueState.PENDING if body.at is None else QueueState.RETRY
        why = f"recovery: {body.decision}, {body.reason}"
        self.enter(event, state, why, tries=body.attempts, due=body.at)

    def on_waits(self, event: Event, body: delivery.LaneWaiting) -> None:
        if self._is_open:
            self.enter(event, QueueState.PENDING, f"waits: {body.reason}", due=body.until)

    @on(WireAccepted, WireDeduplicated, WireRefused, WireResponseLost, WireLookedUp)
    def _reacted(self, event: Event, body: Body) -> None:
        self._attempt_of(event).wire.append(event)
        if isinstance(body, WireAccepted):
            self.accepted.append(event)

    def on_chunk_acked(self, event: Event, body: delivery.ChunkAcked) -> None:
        record = self._attempt_of(event)
        record.acked = record.acked or event
        self.acked.append(event)
        if self._is_open and self.body and body.chunk + 1 < self.body.chunks:
            self.enter(event, QueueState.PENDING, f"chunk {body.chunk + 1} is next", tries=0)

    def on_mirror_appended(self, event: Event, _body: delivery.MirrorAppended) -> None:
        self._attempt_of(event).mirrored.append(event)
        self.mirrored.append(event)

    def on_ended(self, event: Event, body: delivery.IntentSettled) -> None:
        record = self._attempt_of(event)
        record.settled = record.settled or event
        self._leave(event)
        self.settled.append(event)
        self.enter(event, state_of(body.state), body.reason, reopened=self._operator_acted)
        self._operator_acted = False

    def on_lost(self, event: Event, body: DeliveryFailed) -> None:
        if body.state is not None:
            self.enter(event, state_of(body.state), body.reason)

    def on_reopened(self, event: Event, body: delivery.IntentReopened) -> None:
        self.enter(event, QueueState.PENDING, body.reason, tries=0, reopened=True)
        self._operator_acted = False

    def on_operator(self, event: Event, _body: delivery.OperatorActed) -> None:
        self._operator_acted = True
        self._begin(AttemptKind.OPERATOR, event)

    def on_fell_back(self, event: Event, _body: delivery.Fallback) -> None:
        self.fallbacks.append(event)


class MessageHistories(GrowingView, Sequence[MessageHistory]):
    def __init__(self, view: RunView) -> None:
        super().__init__(view)
        self._by_id: dict[str, MessageHistory] = {}
        self._by_key: dict[str, MessageHistory] = {}
        self._shared = SharedRecords()
        #: process -> the event that ended it
        self.deaths: dict[int, int] = {}
        #: in the order of their beginnings
        self.all = GrowingRows[MessageHistory](attrgetter("seq"))
        #: what each event changed: a reader goes on from where it was, and knows what is new
        self.changed: list[MessageHistory] = []
        #: what the messages violated, by id
        self.broken = BrokenThings()
        self.grow()

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, index: int) -> MessageHistory:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.all[index]

    def __iter__(self) -> Iterator[MessageHistory]:
        return iter(self.all)

    def of(self, name: str | None) -> MessageHistory | None:
        return self._by_id.get(name or "")

    def of_event(self, event: Event) -> MessageHistory | None:
        own = self._by_id.get(event.intent or "") or self._by_id.get(_unsaid(event))
        if own is None and isinstance(event.body, WireLookedUp):
            return self._by_key.get(_stem(event.body.key))
        return own

    def try_of(self, event: Event) -> AttemptRecord | None:
        return self._shared.tries.get(event.seq)

    def place(self, history: MessageHistory) -> int:
        """The index of a history in the order."""
        place = self.all.place(history.seq)
        assert place is not None
        return place

    def prepared_by(self, seq: int) -> list[MessageHistory]:
        """Every intent that was prepared up to event `seq`, in order."""
        return [history for history in self.all[: self.all.upto(seq)] if history.prepared is not None]

    def evidence(self, history: MessageHistory, seq: int) -> int:
        """The best evidence against a message by then: a delivery, else the last event; 0 for none."""
        shown = self.broken.evidence(history.id, seq)
        seen = [evidence for evidence in shown if isinstance(self.view.event(evidence).body, WireAccepted)]
        return max(seen or shown, default=0)

    def take_event(self, event: Event) -> None:
        """Show an event to the history of its intent."""
        if event.intent is None or isinstance(event.body, ProcessCrashed | ProcessStopped | LeaseGone):
            super().take_event(event)
            return
        history = self._by_id.get(event.intent) or self._begin(event.intent, event)
        if isinstance(event.body, IntentPrepared):
            self._by_key[_stem(event.body.key)] = history
            if history.prepared is None and history.first is not event:
                # It moves behind those that began since.
                self.all.remove(history)
                history.prepared = event
                self.all.add(history)
        history.learn(event)
        self.changed.append(history)

    def _begin(self, name: str, event: Event) -> MessageHistory:
        history = self._by_id[name] = MessageHistory(name, event, self._shared)
        self.all.add(history)
        return history

    def on_not_sent(self, event: Event, body: IntentSuppressed | SendPreviewed | SendRefused) -> None:
        history = self._begin(_unsaid(event), event)
        history.learn(event)
        history.enter(event, QueueState.UNSAID, body.reason)
        self.changed.append(history)

    def on_looked_up(self, event: Event, body: WireLookedUp) -> None:
        """Take a look-up, which names a key and no intent."""
        history = self._by_key.get(_stem(body.key))
        if history is not None and history.tries:
            history.tries[-1].wire.append(event)
            self.changed.append(history)

    def on_died(self, event: Event, _body: ProcessCrashed | ProcessStopped | LeaseGone) -> None:
        self.deaths[event.generation] = event.seq
        for history in self._shared.held.pop(event.generation, {}).values():
            now = history.steps[-1]
            if now.state is QueueState.LEASED and now.owners == (event.generation,):
                history.enter(event, QueueState.ORPHANED, "its process died", owners=now.owners)
                self.changed.append(history)

    def judge(self, violation: Violation, event: Event) -> None:
        history = self.of_event(event)
        if history is not None:
            self.broken.add(history.id, violation, event.seq)


def _unsaid(event: Event) -> str:
    """The id of a message that has no intent."""
    return f"#{event.seq}"


def _stem(key: str) -> str:
    """A key without its chunk number."""
    return key.rpartition("/")[0] or key
