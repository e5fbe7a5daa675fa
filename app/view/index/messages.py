"""The histories of all messages of a run, computed in one pass for the Messages, Queue and Hands screens.

A message that was deliberately not sent has a history too, a short one with the reason.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import msgspec

from trunkline.app.view.index.message import (
    OPEN,
    AttemptKind,
    AttemptRecord,
    MessageHistory,
    QueueState,
    StateChange,
    state_of,
)
from trunkline.core.events import Body, Event
from trunkline.core.events.delivery import (
    AttemptEnded,
    AttemptStarted,
    ChunkAcked,
    Fallback,
    IntentPrepared,
    IntentReopened,
    IntentSettled,
    IntentSuppressed,
    LaneWaiting,
    MirrorAppended,
    OperatorActed,
    RecoveryDecided,
    SendPreviewed,
    SendRefused,
)
from trunkline.core.events.leases import LeaseGone
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireLookedUp, WireRefused, WireResponseLost


class MessageHistories(Sequence[MessageHistory]):
    """The histories of a run, in the order of their beginnings."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        #: the last event that was taken
        self.last = 0
        self._by_id: dict[str, MessageHistory] = {}
        #: seq of an event -> its attempt
        self._tries: dict[int, AttemptRecord] = {}
        self._keys: dict[str, MessageHistory] = {}
        #: process -> the messages that it works on, by id
        self._held: dict[int, dict[str, MessageHistory]] = {}
        #: process -> the event that ended it
        self.deaths: dict[int, int] = {}
        #: in the order of their beginnings
        self._all: list[MessageHistory] = []
        self._index: dict[str, int] = {}
        #: incremented when the order of earlier histories changes
        self.reordered = 0
        #: histories that the last `grow` changed
        self.touched: dict[str, MessageHistory] = {}
        self.grow()

    def grow(self) -> None:
        self.touched = {}
        for event in self._events[self.last :]:
            self._learn(event)
        self.last = len(self._events)

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, index: int) -> MessageHistory:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._all[index]

    def __iter__(self) -> Iterator[MessageHistory]:
        return iter(self._all)

    def of(self, name: str | None) -> MessageHistory | None:
        """A history by the id of its intent."""
        return self._by_id.get(name or "")

    def of_event(self, event: Event) -> MessageHistory | None:
        own = self._by_id.get(event.intent or "") or self._by_id.get(_unsaid(event))
        if own is None and isinstance(event.body, WireLookedUp):
            return self._keys.get(_stem(event.body.key))
        return own

    def try_of(self, event: Event) -> AttemptRecord | None:
        return self._tries.get(event.seq)

    def place(self, history: MessageHistory) -> int:
        """Its index in the order."""
        return self._index[history.id]

    def prepared_by(self, seq: int) -> list[MessageHistory]:
        """Every intent that was prepared up to event `seq`, in order."""
        begun = bisect_right(self._all, seq, key=lambda one: one.seq)
        return [one for one in self._all[:begun] if one.prepared is not None]

    # ------------------------------------------------------------ one pass

    def _learn(self, event: Event) -> None:
        body = event.body
        if isinstance(body, ProcessCrashed | ProcessStopped | LeaseGone):
            self._died(event)
        elif isinstance(body, IntentSuppressed | SendPreviewed | SendRefused) and event.intent is None:
            history = self._begin(_unsaid(event), event)
            history.events.append(event)
            history.steps.append(_step(event, QueueState.UNSAID, why=str(body.reason)))
        elif event.intent is not None:
            history = self._by_id.get(event.intent) or self._begin(event.intent, event)
            self._add(history, event)
        elif isinstance(body, WireLookedUp):
            history = self._keys.get(_stem(body.key))
            if history is not None and history.tries:
                history.tries[-1].wire.append(event)
                self.touched[history.id] = history

    def _begin(self, name: str, event: Event) -> MessageHistory:
        history = self._by_id[name] = self.touched[name] = MessageHistory(name, event)
        self._index[name] = len(self._all)
        self._all.append(history)
        return history

    def _add(self, history: MessageHistory, event: Event) -> None:
        self.touched[history.id] = history
        history.events.append(event)
        fold = _FOLDS.get(type(event.body))
        if fold is not None:
            fold(self, history, event, event.body)

    def _died(self, event: Event) -> None:
        self.deaths[event.generation] = event.seq
        for history in self._held.pop(event.generation, {}).values():
            now = history.steps[-1]
            if now.state is QueueState.LEASED and now.owners == (event.generation,):
                history.steps.append(_step(event, QueueState.ORPHANED, now, owners=now.owners, why="its process died"))
                self.touched[history.id] = history

    # ------------------------------------------------------------ for the folds

    def begin(self, history: MessageHistory, part: AttemptKind, event: Event, chunk: int, number: int) -> AttemptRecord:
        one = AttemptRecord(part, event, chunk, number)
        history.tries.append(one)
        self._tries[event.seq] = one
        return one

    def belongs(self, history: MessageHistory, event: Event) -> AttemptRecord | None:
        """The attempt of an event: by its cause, else by its chunk and attempt numbers, else the last one."""
        one = (
            self._tries.get(event.cause or 0)
            or _numbered(history, event)
            or (history.tries[-1] if history.tries else None)
        )
        if one is not None:
            self._tries[event.seq] = one
        return one

    def prepare(self, history: MessageHistory, event: Event) -> None:
        """Begin a history. If it had earlier events, it moves behind the histories that began since."""
        if history.prepared is None:
            place = self.place(history)
            history.prepared = event
            if history.first is not event:
                self._all.append(self._all.pop(place))
                self._index.update((one.id, at) for at, one in enumerate(self._all[place:], place))
                self.reordered += 1

    def know(self, history: MessageHistory, key: str) -> None:
        """Remember its key: look-ups name no intent."""
        self._keys[_stem(key)] = history

    def take(self, history: MessageHistory, event: Event) -> tuple[int, ...]:
        """A process starts to work on it. Returns all processes that do."""
        before = history.steps[-1] if history.steps else None
        others = before.owners if before and before.state is QueueState.LEASED else ()
        self._held.setdefault(event.generation, {})[history.id] = history
        return tuple(dict.fromkeys((*others, event.generation)))

    def leave(self, history: MessageHistory, event: Event) -> tuple[int, ...]:
        """A process is done with it. Returns the processes that still work on it."""
        self._held.get(event.generation, {}).pop(history.id, None)
        now = history.steps[-1] if history.steps else None
        return tuple(one for one in now.owners if one != event.generation) if now else ()


def _unsaid(event: Event) -> str:
    """The id of a message that has no intent."""
    return f"#{event.seq}"


def _stem(key: str) -> str:
    """A key without its chunk number."""
    return key.rpartition("/")[0] or key


def _numbered(history: MessageHistory, event: Event) -> AttemptRecord | None:
    chunk, number = getattr(event.body, "chunk", None), getattr(event.body, "attempt", None)
    same = (one for one in reversed(history.tries) if one.chunk == chunk and number in (None, one.number))
    return next(same, None) if chunk is not None else None


def _step(
    event: Event,
    state: QueueState,
    before: StateChange | None = None,
    *,
    tries: int | None = None,
    owners: tuple[int, ...] = (),
    due: float | None = None,
    why: str = "",
) -> StateChange:
    tries = (before.tries if before else 0) if tries is None else tries
    return StateChange(seq=event.seq, at=event.at, state=state, tries=tries, owners=owners, due=due, why=why)


def _now(history: MessageHistory) -> StateChange | None:
    return history.steps[-1] if history.steps else None


# ---------------------------------------------------------------- one small function for each kind of event


def _prepared(histories: MessageHistories, history: MessageHistory, event: Event, body: IntentPrepared) -> None:
    histories.prepare(history, event)
    histories.know(history, body.key)
    step = _step(event, QueueState.PENDING, why=str(body.reason))
    history.steps.append(msgspec.structs.replace(step, entered=True))


def _attempt(histories: MessageHistories, history: MessageHistory, event: Event, body: AttemptStarted) -> None:
    histories.begin(history, AttemptKind.ATTEMPT, event, body.chunk, body.attempt)
    owners = histories.take(history, event)
    tries = max(body.attempt, 1)
    history.steps.append(_step(event, QueueState.LEASED, tries=tries, owners=owners))


def _attempt_ended(histories: MessageHistories, history: MessageHistory, event: Event, body: AttemptEnded) -> None:
    one = histories.belongs(history, event)
    if one is not None and one.ended is None:
        one.ended = event
    left = histories.leave(history, event)
    now = _now(history)
    if now is None or now.state not in OPEN:
        return
    ending = history.ending
    if left:
        history.steps.append(_step(event, QueueState.LEASED, now, owners=left, why=str(body.reason)))
    elif ending is not None:
        # A process unaware of the end sent it again, which does not change the state in the queue.
        why = f"sent again after its end, by process {event.generation}: {body.reason}"
        history.steps.append(msgspec.structs.replace(_step(event, ending.state, now, why=why), back=True))
    elif body.retry_at is not None:
        history.steps.append(
            _step(event, QueueState.RETRY, now, due=body.retry_at, why=f"{body.decision}: {body.reason}")
        )


def _recovery(histories: MessageHistories, history: MessageHistory, event: Event, body: RecoveryDecided) -> None:
    if body.decision not in ("send", "resend"):
        histories.begin(history, AttemptKind.RECOVERY, event, 0, body.attempts)
    now = _now(history)
    state = QueueState.PENDING if body.at is None else QueueState.RETRY
    why = f"recovery: {body.decision}, {body.reason}"
    history.steps.append(_step(event, state, now, tries=body.attempts, due=body.at, why=why))


def _waiting(_lives: MessageHistories, history: MessageHistory, event: Event, body: LaneWaiting) -> None:
    now = _now(history)
    if now is not None and now.state in OPEN:
        history.steps.append(_step(event, QueueState.PENDING, now, due=body.until, why=f"waits: {body.reason}"))


def _wire(histories: MessageHistories, history: MessageHistory, event: Event, body: Body) -> None:
    one = histories.belongs(history, event)
    if one is not None:
        one.wire.append(event)
    if isinstance(body, WireAccepted):
        history.accepted.append(event)


def _acked(histories: MessageHistories, history: MessageHistory, event: Event, body: ChunkAcked) -> None:
    one = histories.belongs(history, event)
    if one is not None and one.acked is None:
        one.acked = event
    history.acked.append(event)
    now = _now(history)
    if now is not None and now.state in OPEN and history.body and body.chunk + 1 < history.body.chunks:
        history.steps.append(_step(event, QueueState.PENDING, now, tries=0, why=f"chunk {body.chunk + 1} is next"))


def _mirrored(histories: MessageHistories, history: MessageHistory, event: Event, _body: MirrorAppended) -> None:
    one = histories.belongs(history, event)
    if one is not None:
        one.mirrored.append(event)
    history.mirrored.append(event)


def _settled(histories: MessageHistories, history: MessageHistory, event: Event, body: IntentSettled) -> None:
    one = histories.belongs(history, event)
    if one is not None and one.settled is None:
        one.settled = event
    histories.leave(history, event)
    history.settled.append(event)
    step = _step(event, state_of(body.state), _now(history), why=str(body.reason))
    history.steps.append(msgspec.structs.replace(step, reopened=history.operator_acted))
    history.operator_acted = False


def _reopened(_lives: MessageHistories, history: MessageHistory, event: Event, body: IntentReopened) -> None:
    step = _step(event, QueueState.PENDING, tries=0, why=str(body.reason))
    history.steps.append(msgspec.structs.replace(step, reopened=True))
    history.operator_acted = False


def _operator(histories: MessageHistories, history: MessageHistory, event: Event, _body: OperatorActed) -> None:
    history.operator_acted = True
    histories.begin(history, AttemptKind.OPERATOR, event, 0, 0)


def _fallback(_lives: MessageHistories, history: MessageHistory, event: Event, _body: Fallback) -> None:
    history.fallbacks.append(event)


_FOLDS = cast(
    "dict[type[Body], Callable[[MessageHistories, MessageHistory, Event, Body], None]]",
    {
        IntentPrepared: _prepared,
        AttemptStarted: _attempt,
        AttemptEnded: _attempt_ended,
        RecoveryDecided: _recovery,
        LaneWaiting: _waiting,
        WireAccepted: _wire,
        WireDeduplicated: _wire,
        WireRefused: _wire,
        WireResponseLost: _wire,
        WireLookedUp: _wire,
        ChunkAcked: _acked,
        MirrorAppended: _mirrored,
        IntentSettled: _settled,
        IntentReopened: _reopened,
        OperatorActed: _operator,
        Fallback: _fallback,
    },
)
