"""Runs of hands: their tasks, requesters and results, and how the results were announced.

A run has its frozen origin, its deadline, its own session, its callback turn and its announcements. One that is past
its deadline without a result is shown as wrong before any verdict is.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Event
from trunkline.core.events.bindings import BindingBound, RouterDecided
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import TurnEnded, TurnStarted
from trunkline.core.events.hands import (
    CompletionPlanned,
    CompletionStep,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationStarted,
)
from trunkline.core.hands.results import HandOutcome
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, IntentState, WorkKind
from trunkline.sim.events.wire import WireAccepted

#: seconds until the end of a run is written down; and within which an idle requester must begin to read it (L2)
_GRACE, _WITHIN = 1.0, 60.0


class HandState(StrEnum):
    """The state of a hand's run, as screens show it."""

    LATER = "later"
    ACCEPTED = "DISPATCHED"
    RUNNING = "RUNNING"
    #: its process has died, and no other has taken over yet
    ORPHANED = "ORPHAN"
    #: ended, and not yet reported to the requester; screens show the outcome
    FINISHED = "DONE"
    #: the same, lost with its process
    LOST = "LOST"
    #: the requester is reading the result
    CALLBACK = "CALLBACK"
    #: the requester has read the result, and people saw an announcement
    ANNOUNCED = "SAID"
    #: the requester has read the result, and people saw nothing of it
    HEARD = "HEARD"
    #: deliberately not announced: a hook cancelled it, or the requester is gone
    KEPT = "NOT SAID"


#: states of a run whose report is finished
OVER = frozenset({HandState.ANNOUNCED, HandState.HEARD, HandState.KEPT})
_UNREPORTED = frozenset({HandState.FINISHED, HandState.LOST})
#: labels of outcomes
OUTCOMES = {
    HandOutcome.OK: "DONE",
    HandOutcome.ERROR: "ERROR",
    HandOutcome.TIMEOUT: "TIMEOUT",
    HandOutcome.LOST: "LOST",
}


class Announcement(msgspec.Struct, frozen=True):
    """An announcement of a run, as people saw it."""

    seq: int
    at: float
    address: Address
    intent: str
    kind: IntentKind


class HandRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a hand after an event. Numbers are seqs; 0 if it has not happened."""

    id: str
    name: str
    hand: str
    task: str
    agent: str
    origin: Address | None
    #: session of the requester, and of the run itself
    requester: str
    session: str
    state: HandState
    since: int
    started: int = 0
    #: how often it was started
    runs: int = 0
    finished: int = 0
    outcome: HandOutcome | None = None
    reason: Reason | None = None
    callback: int = 0
    said: tuple[Announcement, ...] = ()
    #: later results that did not count
    ignored: int = 0
    #: how long it ran, or has run so far
    age: float = 0.0
    #: how long its result has waited to be announced
    waits: float | None = None
    #: ids of the invariants that it broke
    broken: tuple[str, ...] = ()
    #: the scenario run is over, and this was not reported
    over: bool = False
    #: its deadline; none in traces without the field
    deadline: float | None = None
    #: past its deadline without a result
    overdue: bool = False

    @property
    def wrong(self) -> bool:
        """Whether it violated an invariant, or is overdue or unreported."""
        return bool(self.broken) or self.over or self.overdue

    @property
    def word(self) -> str:
        """Its state, or its outcome if it has ended."""
        return (
            OUTCOMES.get(self.outcome, str(self.state))
            if self.state in _UNREPORTED and self.outcome
            else str(self.state)
        )

    @property
    def overran(self) -> bool:
        """It was ended by its deadline."""
        return self.reason is Reason.HAND_DEADLINE or self.outcome is HandOutcome.TIMEOUT


class _Run:
    """One delegation with its events."""

    def __init__(self, accepted: Event, body: DelegationAccepted) -> None:
        self.accepted = accepted
        self.body = body
        self.agent = ""
        self.session = ""
        self.started: list[Event] = []
        self.finished: Event | None = None
        self.ignored: list[Event] = []
        self.callbacks: list[Event] = []
        #: seqs of the ends of its callback turns; and of decisions not to announce it
        self.heard: list[int] = []
        self.kept: list[int] = []
        #: its requester was busy when it ended, for an unknown time
        self.busy = False
        self.said: list[Announcement] = []
        self.broken: list[tuple[int, str]] = []
        #: cached rows: before it was accepted, and from its last event on
        self.ahead: HandRow | None = None
        self.over: tuple[int, HandRow] | None = None

    def forget(self) -> None:
        """Drop the cached rows after a new event."""
        self.ahead = self.over = None

    @property
    def last(self) -> int:
        """The last event that changes its row so far."""
        finished = [self.finished] if self.finished is not None else []
        events = (self.accepted, *self.started, *self.ignored, *self.callbacks, *finished)
        others = (*self.heard, *(one.seq for one in self.said), *(at for at, _ in self.broken))
        return max(*(event.seq for event in events), *others, 0)


class HandRuns(Sequence[str]):
    """The runs of hands in order of acceptance; as a sequence, their ids."""

    def __init__(self, view: RunView, histories: MessageHistories) -> None:
        self._view = view
        self._lives = histories
        self._runs: dict[str, _Run] = {}
        self._ids: list[str] = []
        #: callback turn -> its run
        self._turns: dict[str, _Run] = {}
        self._judged = 0
        self._done = 0
        self.grow()

    def grow(self) -> None:
        """Take the events and violations that are new since the last call. The message histories have grown already."""
        for event in self._view.events[self._done :]:
            if event.delegation is not None or event.turn in self._turns:
                self._learn(event)
            if isinstance(event.body, WireAccepted):
                self._say(event, event.body)
            elif isinstance(event.body, BindingBound) and event.body.by == "spawn":
                self._bind(event, event.body)
        self._done = self._view.last
        self._judge()

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, index: int) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._ids[index]

    def name(self, delegation: str) -> str:
        """The name of a run on screens: ``h1`` for the first."""
        return f"h{self._ids.index(delegation) + 1}" if delegation in self._runs else delegation

    def said(self, delegation: str) -> Sequence[Announcement]:
        return self._runs[delegation].said if delegation in self._runs else ()

    def concerned(self, event: Event) -> str | None:
        """The run of an event: by its id, its callback turn, or its announcement."""
        if event.delegation in self._runs:
            return event.delegation
        run = self._turns.get(event.turn or "")
        if run is not None:
            return run.accepted.delegation
        history = self._lives.of(event.intent)
        near = history.prepared.delegation if history is not None and history.prepared is not None else None
        return near if near in self._runs else None

    # ------------------------------------------------------------ at a moment

    def rows(self, seq: int) -> list[HandRow]:
        return [self._known(index, run, seq) for index, run in enumerate(self._runs.values(), 1)]

    def _known(self, number: int, run: _Run, seq: int) -> HandRow:
        """Its row after event `seq`; cached for runs that are still to come and for finished ones."""
        if seq < run.accepted.seq:
            run.ahead = run.ahead or self._row(number, run, seq)
            return run.ahead
        if run.over is not None and seq >= run.over[0]:
            return run.over[1]
        row = self._row(number, run, seq)
        if row.state in (HandState.ANNOUNCED, HandState.HEARD) and seq >= (last := run.last):
            run.over = last, row
        return row

    def _row(self, number: int, run: _Run, seq: int) -> HandRow:
        now = self._view.time(seq)
        finished = run.finished if run.finished is not None and run.finished.seq <= seq else None
        done = finished.body if finished is not None and isinstance(finished.body, DelegationFinished) else None
        state = self._state(run, done, seq)
        started = [event for event in run.started if event.seq <= seq]
        callback = next((event.seq for event in run.callbacks if event.seq <= seq), 0)
        unreported = state in _UNREPORTED
        deadline = _deadline_of(run, started)
        return HandRow(
            id=run.accepted.delegation or "",
            name=f"h{number}",
            hand=run.body.hand,
            task=run.body.task,
            agent=run.agent,
            origin=run.body.origin,
            requester=run.body.session_key,
            session=run.session,
            state=state,
            since=run.accepted.seq,
            started=started[0].seq if started else 0,
            runs=len(started),
            finished=finished.seq if finished is not None else 0,
            outcome=done.outcome if done is not None else None,
            reason=done.reason if done is not None else None,
            callback=callback,
            said=tuple(one for one in run.said if one.seq <= seq),
            ignored=sum(event.seq <= seq for event in run.ignored),
            age=max((finished.at if finished is not None else now) - run.accepted.at, 0.0),
            waits=now - finished.at if unreported and finished is not None else None,
            broken=tuple(dict.fromkeys(name for at, name in run.broken if at <= seq)),
            over=self._view.over <= seq and state not in (*OVER, HandState.LATER),
            deadline=deadline,
            overdue=_overdue(run, state, finished, deadline, now),
        )

    def _state(self, run: _Run, done: DelegationFinished | None, seq: int) -> HandState:
        if run.accepted.seq > seq:
            return HandState.LATER
        if done is not None:
            if any(one.seq <= seq for one in run.said):
                return HandState.ANNOUNCED
            if any(at <= seq for at in run.heard):
                return HandState.HEARD
            if any(event.seq <= seq for event in run.callbacks):
                return HandState.CALLBACK
            if any(at <= seq for at in run.kept):
                return HandState.KEPT
            return HandState.LOST if done.outcome is HandOutcome.LOST else HandState.FINISHED
        last = next((event for event in reversed([run.accepted, *run.started]) if event.seq <= seq), run.accepted)
        died = self._lives.deaths.get(last.generation)
        if died is not None and last.seq < died <= seq:
            return HandState.ORPHANED
        return HandState.RUNNING if last is not run.accepted else HandState.ACCEPTED

    # ------------------------------------------------------------ over the run

    def _learn(self, event: Event) -> None:
        body = event.body
        if isinstance(body, DelegationAccepted):
            if event.delegation not in self._runs:
                self._ids.append(event.delegation or "")
            self._runs.setdefault(event.delegation or "", _Run(event, body)).agent = self._agent(event)
            return
        run = self._runs.get(event.delegation or "") or self._turns.get(event.turn or "")
        if run is None:
            return
        run.forget()
        match body:
            case DelegationStarted():
                run.started.append(event)
            case DelegationFinished():
                run.finished = run.finished or event
            case DelegationIgnored():
                run.ignored.append(event)
            case TurnStarted(work=WorkKind.CALLBACK):
                run.callbacks.append(event)
                self._turns[event.turn or ""] = run
            case TurnEnded() if event.turn in self._turns:
                run.heard.append(event.seq)
            case CompletionPlanned(steps=steps, requester_busy=busy):
                run.busy = busy
                if steps and all(_announces_nothing(step) for step in steps):
                    run.kept.append(event.seq)
            case IntentSettled(state=IntentState.CANCELLED):
                run.kept.append(event.seq)
            case RouterDecided(target_session_key=key):
                run.session = run.session or (key if key != run.body.session_key else "")
            case _:
                pass

    def _agent(self, accepted: Event) -> str:
        turn = self._view.nearest(accepted.seq, TurnStarted)
        return turn.body.agent if turn is not None and isinstance(turn.body, TurnStarted) else ""

    def _say(self, event: Event, body: WireAccepted) -> None:
        """Record an accepted message that announces a finished run."""
        history = self._lives.of(event.intent)
        run = self._runs.get(history.prepared.delegation or "") if history is not None and history.prepared else None
        if (
            history is None
            or history.body is None
            or run is None
            or run.finished is None
            or history.seq < run.finished.seq
        ):
            return
        run.said.append(Announcement(event.seq, event.at, body.address, history.id, history.body.intent_kind))
        run.forget()

    def _bind(self, event: Event, body: BindingBound) -> None:
        """Record the session of a run whose thread was bound to it."""
        run = self._runs.get(event.delegation or "") or self._child(body.session_key)
        if run is not None:
            run.session = run.session or body.session_key
            run.forget()

    def _judge(self) -> None:
        for violation in self._view.marks.found[self._judged :]:
            self._judged += 1
            for seq in violation.evidence:
                event = self._view.event(seq) if 0 < seq <= self._view.last else None
                run = self._runs.get(self.concerned(event) or "") if event is not None else None
                if run is not None:
                    insort(run.broken, (violation.at, violation.invariant))
                    run.forget()

    def _child(self, key: str) -> _Run | None:
        """The run whose id is the end of a session key."""
        parts = key.split(":")
        names = (":".join(parts[at:]) for at in range(1, len(parts)))
        return next((run for name in names if (run := self._runs.get(name)) is not None), None)


def _deadline_of(run: _Run, started: Sequence[Event]) -> float | None:
    """Its deadline: the time allowed at dispatch, counted from its last start."""
    if run.body.deadline is None:
        return None
    began = started[-1].at if started else run.accepted.at
    return run.body.deadline + began - run.accepted.at


def _overdue(run: _Run, state: HandState, finished: Event | None, deadline: float | None, now: float) -> bool:
    """Whether it is past its deadline without a callback. A requester that was busy at its end may take longer."""
    if deadline is None or state in OVER or state in (HandState.LATER, HandState.CALLBACK):
        return False
    if finished is None:
        return now > deadline + _GRACE
    return not run.busy and now > max(deadline, finished.at + _WITHIN)


def _announces_nothing(step: CompletionStep) -> bool:
    return step.mode == "kept" or (step.address is None and step.reason is Reason.REQUESTER_REPLACED)
