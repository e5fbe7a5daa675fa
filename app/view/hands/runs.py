"""The delegations of a run: their tasks, origins and results, and how far the reports of the results have come.

Each has two columns, the work of the hand and the callback. Both are as recorded; where a trace of an older version
does not record the callback, it is derived from the turn and the messages. A delegation that is past its deadline
without a result is shown as wrong before any verdict is.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter

import msgspec

from trunkline.app.view.hands.columns import ENDED_AS, OPEN_WORK, Announcement, HandCounts, HandRow, WorkPhase
from trunkline.app.view.index.evidence import BrokenThings
from trunkline.app.view.index.growing import EventHistory, GrowingRows, LazySequence, Tally
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.core.events import Body, Event, bindings, hands
from trunkline.core.events.delivery import IntentPrepared, IntentReopened, IntentSettled, IntentSuppressed
from trunkline.core.events.gateway import InboundAdmitted, InboundReceived, TurnEnded, TurnStarted
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CLOSED_CALLBACK, CallbackState
from trunkline.core.values import IntentState, Peer, WorkKind
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.index.projection import on
from trunkline.sim.invariants.base import Violation

# One delegation over the whole run: its events, and its two columns after any of them.


class CallbackStep(msgspec.Struct, frozen=True):
    seq: int
    at: float
    state: CallbackState
    reason: Reason | None = None


#: states of intents by which the report is over, the strongest first
_OUTCOMES = (
    (CallbackState.PARKED, frozenset({IntentState.PARTIAL, IntentState.UNKNOWN})),
    (CallbackState.DELIVERED, frozenset({IntentState.DELIVERED})),
    (CallbackState.UNDELIVERABLE, frozenset(IntentState) - {IntentState.CANCELLED}),
)
#: the events of which a delegation may have several
_LISTED: tuple[type[Body], ...] = (
    hands.DelegationStarted,
    hands.DelegationProgressed,
    hands.DelegationIgnored,
    hands.AnswerTurnedAway,
)
#: outcomes of a callback turn after which nobody gets anything
_TURN_OUTCOMES = {"silent": CallbackState.SUPPRESSED, "failed": CallbackState.UNDELIVERABLE}
#: counted beside the states of callbacks
ACCEPTED, FINISHED = "accepted", "finished"


class DelegationHistory(EventHistory):
    def __init__(self, accepted: Event, body: hands.DelegationAccepted, name: str) -> None:
        self.accepted = accepted
        self.body = body
        #: its name on screens: ``h1`` for the first
        self.name = name
        self.agent = ""
        self.asked_by: Peer | None = body.asked_by
        self.message_id = body.message_id
        self.session = ""
        #: the delegation that its caller works on, and those that its hand made
        self.above: DelegationHistory | None = None
        self.children: list[DelegationHistory] = []
        self.finished: Event | None = None
        #: starts of its callback turns
        self.callbacks = GrowingRows[Event](attrgetter("seq"))
        self._lists = {kind: GrowingRows[Event](attrgetter("seq")) for kind in _LISTED}
        self.started, self.progress, self.ignored, self.refused = self._lists.values()
        #: its requester was busy when it ended, for an unknown time
        self.busy = False
        self.said: list[Announcement] = []
        #: the messages that report it, with their states
        self.intents: dict[str, IntentState] = {}
        self.steps = GrowingRows[CallbackStep](attrgetter("seq"))
        #: whether the trace records how the callback changes; older ones leave it to be derived
        self.recorded = False
        #: the first event at which a violation of it was detected
        self.broken_at: int | None = None
        #: the last event that concerns it
        self.last = accepted.seq

    @property
    def id(self) -> str:
        return self.accepted.delegation or ""

    @property
    def line(self) -> "Iterator[DelegationHistory]":
        """The delegations above it, the nearest first."""
        above = self.above
        while above is not None:
            yield above
            above = above.above

    def callback(self, seq: int) -> CallbackStep:
        last = self.steps.last(seq)
        return last or CallbackStep(self.accepted.seq, self.accepted.at, CallbackState.WAITING)

    def ended(self, seq: int) -> Event | None:
        """The end of the work, if it has ended by event `seq`."""
        return self.finished if self.finished is not None and self.finished.seq <= seq else None

    def work(self, seq: int, deaths: dict[int, int]) -> WorkPhase:
        """The work after event `seq`. `deaths`: process -> the event that ended it."""
        if self.accepted.seq > seq:
            return WorkPhase.LATER
        ended = self.ended(seq)
        if ended is not None and isinstance(ended.body, hands.DelegationFinished):
            return ENDED_AS[ended.body.outcome]
        last = self.started.last(seq) or self.accepted
        died = deaths.get(last.generation)
        if self.body.hand_kind != "worker" and died is not None and last.seq < died <= seq:
            return WorkPhase.ORPHANED
        return WorkPhase.RUNNING if last is not self.accepted else WorkPhase.ACCEPTED

    def deadline(self, started: Event | None) -> float | None:
        """The deadline: the time allowed at acceptance, counted from its last start unless a worker has it."""
        if self.body.deadline is None:
            return None
        began = self.accepted.at if started is None or self.body.hand_kind == "worker" else started.at
        return self.body.deadline + began - self.accepted.at

    def learn(self, event: Event) -> None:
        """Take one event of the delegation, of its callback turn or of a message that reports it."""
        self.last = event.seq
        super().learn(event)

    def counts(self) -> Iterator[tuple[int, tuple[str, int]]]:
        """The numbers that a delegation adds to the tally, with the events."""
        yield self.accepted.seq, (ACCEPTED, 1)
        if self.finished is not None:
            yield self.finished.seq, (FINISHED, 1)
        for step in self.steps:
            yield step.seq, (step.state, 1)
        for before, step in pairwise(self.steps):
            yield step.seq, (before.state, -1)

    def _derive(self, event: Event, state: CallbackState, reason: Reason | None = None) -> None:
        """Change the callback where an older trace does not record it."""
        if not self.recorded and (self.steps[-1].state if self.steps else CallbackState.WAITING) is not state:
            self.steps.add(CallbackStep(event.seq, event.at, state, reason))

    def on_changed(self, event: Event, body: hands.CallbackChanged) -> None:
        """Take a recorded change; what was derived before gives way."""
        if not self.recorded:
            self.recorded, self.steps = True, GrowingRows[CallbackStep](attrgetter("seq"))
        self.steps.add(CallbackStep(event.seq, event.at, body.state, body.reason))

    @on(*_LISTED)
    def _listed(self, event: Event, body: Body) -> None:
        self._lists[type(body)].add(event)

    def on_finished(self, event: Event, _body: hands.DelegationFinished) -> None:
        self.finished = self.finished or event

    def on_planned(self, event: Event, body: hands.CompletionPlanned) -> None:
        self.busy = body.requester_busy
        replaced = Reason.REQUESTER_REPLACED
        unsaid = (step.mode == "kept" or (step.address is None and step.reason is replaced) for step in body.steps)
        if body.steps and all(unsaid):
            self._derive(event, CallbackState.SUPPRESSED, body.steps[0].reason)

    def on_admitted(self, event: Event, body: InboundAdmitted) -> None:
        if body.work is WorkKind.CALLBACK:
            self._derive(event, CallbackState.PENDING_TURN)

    def on_turn_started(self, event: Event, body: TurnStarted) -> None:
        if body.work is WorkKind.CALLBACK:
            self.callbacks.add(event)
            self._derive(event, CallbackState.IN_TURN)

    def on_turn_ended(self, event: Event, body: TurnEnded) -> None:
        state = _TURN_OUTCOMES.get(body.outcome)
        if state is not None and self.callbacks and self.callbacks[-1].turn == event.turn and not self.intents:
            self._derive(event, state, body.reason)

    def on_unsaid(self, event: Event, body: IntentSuppressed) -> None:
        if self.finished is not None and not self.intents:
            self._derive(event, CallbackState.SUPPRESSED, body.reason)

    def on_queued(self, event: Event, body: IntentPrepared | IntentReopened) -> None:
        prepared = isinstance(body, IntentPrepared) and self.finished is not None and event.delegation == self.id
        if prepared or (isinstance(body, IntentReopened) and event.intent in self.intents):
            self.intents[event.intent or ""] = IntentState.PREPARED
            self._derive(event, CallbackState.QUEUED)

    def on_settled(self, event: Event, body: IntentSettled) -> None:
        """A message has ended; with the last one the report is over."""
        if event.intent not in self.intents and self.finished is None:
            return
        self.intents[event.intent or ""] = body.state
        ends = self.intents.values()
        if IntentState.PREPARED in ends:
            return
        outcome = (callback for callback, states in _OUTCOMES if any(end in states for end in ends))
        found = next(outcome, CallbackState.SUPPRESSED)
        self._derive(event, found, None if found is CallbackState.DELIVERED else body.reason)

    def on_routed(self, _event: Event, body: bindings.RouterDecided) -> None:
        key = body.target_session_key
        self.session = self.session or (key if key != self.body.session_key else "")


#: seconds until the end of a run is written down; and within which an idle requester must begin to read it (L2)
_GRACE, _WITHIN = 1.0, 60.0
#: fields of a row that are those of its run
_AS_THE_RUN = ("id", "name", "body", "agent", "asked_by", "message_id", "session")
#: states of a callback that has not begun to move
_DUE = frozenset({CallbackState.WAITING, CallbackState.PENDING_TURN})
#: states of a callback that is as far as it comes, at least without an operator
_REPORTED = (CallbackState.DELIVERED, CallbackState.SUPPRESSED, CallbackState.PARKED, CallbackState.UNDELIVERABLE)


class HandRuns(GrowingView, Sequence[str]):
    """The delegations in order of acceptance; as a sequence, their ids."""

    def __init__(self, view: RunView, histories: MessageHistories) -> None:
        super().__init__(view)
        #: the messages of the run
        self.messages = histories
        self._runs: dict[str, DelegationHistory] = {}
        #: all of them, children below their parents: the order of `rows`
        self.histories: list[DelegationHistory] = []
        #: those that changed since the order and the numbers were computed
        self._changed: dict[str, DelegationHistory] = {}
        #: callback turn -> its delegation; turn -> the first that it delegated
        self._turns: dict[str, DelegationHistory] = {}
        self._made: dict[str, DelegationHistory] = {}
        #: message -> the delegation that it reports
        self._intents: dict[str, DelegationHistory] = {}
        self._tally = Tally()
        #: what each delegation adds to the numbers
        self._counted: dict[str, list[tuple[int, tuple[str, int]]]] = {}
        self._broken = BrokenThings()
        #: rows that change no more: from their last event on
        self._final: dict[str, tuple[int, HandRow]] = {}
        self.grow()

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, index: int) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return list(self._runs)[index]

    def name(self, delegation: str) -> str:
        """The name of a delegation on screens: ``h1`` for the first."""
        return self._runs[delegation].name if delegation in self._runs else delegation

    def history(self, delegation: str) -> DelegationHistory | None:
        return self._runs.get(delegation)

    def concerned(self, event: Event) -> str | None:
        """The delegation of an event: by its id, its callback turn, or its announcement."""
        if event.delegation in self._runs:
            return event.delegation
        run = self._turns.get(event.turn or "")
        if run is not None:
            return run.id
        history = self.messages.of(event.intent)
        near = history.prepared.delegation if history is not None and history.prepared is not None else None
        return near if near in self._runs else None

    def led_to(self, event: Event) -> str | None:
        """The delegation that an event leads to: its own, else the first that its turn made."""
        if own := self.concerned(event):
            return own
        history = self.messages.of_event(event)
        turn = history.prepared.turn if history is not None and history.prepared is not None else event.turn
        made = self._made.get(turn or "") or self._made.get(event.inbound or "")
        return made.id if made is not None else None

    def rows(self, seq: int) -> Sequence[HandRow]:
        """The delegations after event `seq`, children below their parents; each is computed when it is looked at."""
        return LazySequence(self.histories, lambda run: self.row(run, seq))

    def counts(self, seq: int) -> HandCounts:
        """How many there are in which state after event `seq`."""
        numbers = self._tally.at(seq)
        accepted, finished = numbers.get(ACCEPTED, 0), numbers.get(FINISHED, 0)
        ended = {state.value: numbers.get(state, 0) for state in _REPORTED}
        reporting = finished - sum(ended.values())
        return HandCounts(accepted, {"open": accepted - finished, "on their way": reporting, **ended})

    def wrong(self, seq: int) -> list[int]:
        """The numbers of the rows that violate an invariant, are overdue or unreported."""
        now, over = self.view.time(seq), self.view.over <= seq
        return [at for at, run in enumerate(self.histories) if self._wrong(run, seq, now, over=over)]

    def _wrong(self, run: DelegationHistory, seq: int, now: float, *, over: bool) -> bool:
        if run.accepted.seq > seq:
            return False
        if run.broken_at is not None and run.broken_at <= seq:
            return True
        callback = run.callback(seq).state
        if callback in CLOSED_CALLBACK:
            return False
        return (over and _unreported(callback)) or _overdue(run, callback, seq, now)

    def row(self, run: DelegationHistory, seq: int) -> HandRow:
        """A delegation after event `seq`."""
        known = self._final.get(run.id)
        if known is not None and seq >= known[0] == run.last:
            return known[1]
        row = self._row(run, seq)
        if seq >= run.last and row.callback in CLOSED_CALLBACK:
            self._final[run.id] = run.last, row
        return row

    def _row(self, run: DelegationHistory, seq: int) -> HandRow:
        now = self.view.time(seq)
        ended = run.ended(seq)
        work = run.work(seq, self.messages.deaths)
        step = run.callback(seq)
        started, progress, turn = run.started.last(seq), run.progress.last(seq), run.callbacks.last(seq)
        taken, reported, done = (event.body if event is not None else None for event in (started, progress, ended))
        deadline = run.deadline(started)
        later = work is WorkPhase.LATER
        due = ended is not None and step.state in _DUE
        return HandRow(
            **{name: getattr(run, name) for name in _AS_THE_RUN},
            work=work,
            callback=step.state,
            callback_reason=step.reason,
            callback_since=0 if later else step.seq,
            since=run.accepted.seq,
            started=run.started[0].seq if started is not None else 0,
            runs=run.started.upto(seq),
            worker=taken.worker if isinstance(taken, hands.DelegationStarted) else "",
            finished=ended.seq if ended is not None else 0,
            result=done if isinstance(done, hands.DelegationFinished) else None,
            progress=reported.text if isinstance(reported, hands.DelegationProgressed) else "",
            progressed=progress.seq if progress is not None else 0,
            turn=turn.seq if turn is not None else 0,
            said=tuple(message for message in run.said if message.seq <= seq),
            refused=run.refused.upto(seq),
            parent=run.above.id if run.above is not None else "",
            depth=sum(1 for _ in run.line),
            age=max((ended.at if ended is not None else now) - run.accepted.at, 0.0),
            waits=now - ended.at if due and ended is not None else None,
            broken=self._broken.names(run.id, seq),
            over=not later and self.view.over <= seq and _unreported(step.state),
            deadline=deadline,
            left=deadline - now if deadline is not None and work in OPEN_WORK else None,
            overdue=not later and _overdue(run, step.state, seq, now),
        )

    def first_broken(self, run: DelegationHistory) -> dict[str, int]:
        """The invariants that a delegation broke, each with the event where it broke first."""
        return self._broken.first(run.id)

    def take_event(self, event: Event) -> None:
        """Show an event to its delegation. The message histories have grown already."""
        if isinstance(event.body, hands.DelegationAccepted):
            self._accept(event, event.body)
        elif event.delegation is not None or event.turn in self._turns or event.intent in self._intents:
            named = self._runs.get(event.delegation or "")
            run = named or self._turns.get(event.turn or "") or self._intents.get(event.intent or "")
            if run is not None:
                run.learn(event)
                self._changed[run.id] = run
                if isinstance(event.body, TurnStarted) and event.body.work is WorkKind.CALLBACK:
                    self._turns[event.turn or ""] = run
                elif isinstance(event.body, IntentPrepared) and event.intent in run.intents:
                    self._intents[event.intent] = run
        super().take_event(event)

    def _accept(self, event: Event, body: hands.DelegationAccepted) -> None:
        if event.delegation is None or event.delegation in self._runs:
            return
        run = DelegationHistory(event, body, self.view.delegations.of(event.delegation))
        self._runs[run.id] = self._changed[run.id] = run
        # Violations may concern it before it is accepted.
        self._mark(run)
        for made in (event.turn, event.inbound):
            if made:
                self._made.setdefault(made, run)
        if body.hand_kind == "agent":
            run.session = str(SessionKey(agent=body.hand, subagent=run.id))
        turn, heard = self.view.nearest_body(event.seq, TurnStarted), self.view.nearest_body(event.seq, InboundReceived)
        run.agent = turn.agent if turn is not None else ""
        if heard is not None:
            run.asked_by, run.message_id = run.asked_by or heard.peer, run.message_id or heard.message_id
        # One that comes after its child, in an altered trace, is not above it: so there are no circles.
        run.above = self._runs.get(body.parent or "") if body.parent != run.id else None
        if run.above is not None:
            run.above.children.append(run)

    def on_announced(self, event: Event, body: WireAccepted) -> None:
        """Record an accepted message that announces a finished delegation."""
        history = self.messages.of(event.intent)
        prepared = history.prepared if history is not None else None
        run = self._runs.get(prepared.delegation or "") if prepared is not None else None
        if history is not None and run is not None and run.finished is not None and history.seq >= run.finished.seq:
            run.said.append(Announcement(event.seq, body.address))
            run.last = event.seq

    def on_bound(self, event: Event, body: bindings.BindingBound) -> None:
        """Record the session of a delegation whose thread was bound to it."""
        run = (self._runs.get(event.delegation or "") or self._child(body.session_key)) if body.by == "spawn" else None
        if run is not None:
            run.session = run.session or body.session_key
            run.last = event.seq

    def judge(self, violation: Violation, event: Event) -> None:
        delegation = self.concerned(event) or event.delegation
        if delegation is not None:
            self._broken.add(delegation, violation, event.seq)
            self._final.pop(delegation, None)
            if delegation in self._runs:
                self._mark(self._runs[delegation])

    def _mark(self, run: DelegationHistory) -> None:
        """Notify a delegation that it was broken."""
        span = self._broken.span(run.id)
        if span is not None:
            run.broken_at, run.last = span[0], max(run.last, span[1])

    def settle(self) -> None:
        """Put children below their parents, and count what changed."""
        if len(self.histories) != len(self._runs):
            roots = (run for run in self._runs.values() if run.above is None)
            self.histories = [run for root in roots for run in _family(root)]
        for run in self._changed.values():
            before, now = self._counted.get(run.id, []), list(run.counts())
            self._tally.remove(*(count for count in before if count not in now))
            self._tally.add(*(count for count in now if count not in before))
            self._counted[run.id] = now
        self._changed = {}

    def _child(self, key: str) -> DelegationHistory | None:
        """The run whose id is the end of a session key."""
        parts = key.split(":")
        names = (":".join(parts[at:]) for at in range(1, len(parts)))
        return next((run for name in names if (run := self._runs.get(name)) is not None), None)


def _family(root: DelegationHistory) -> Iterator[DelegationHistory]:
    """A delegation, then those below it, in depth first order."""
    open_ = [root]
    while open_:
        run = open_.pop()
        yield run
        open_.extend(reversed(run.children))


def _unreported(callback: CallbackState) -> bool:
    """Whether the report has not come as far as the queue."""
    return callback in _DUE or callback is CallbackState.IN_TURN


def _overdue(run: DelegationHistory, callback: CallbackState, seq: int, now: float) -> bool:
    """Whether it is past its deadline without a callback. A requester that was busy at its end may take longer."""
    ended, deadline = run.ended(seq), None if callback not in _DUE else run.deadline(run.started.last(seq))
    if deadline is None:
        return False
    if ended is None:
        return now > deadline + _GRACE
    return not run.busy and now > max(deadline, ended.at + _WITHIN)
