"""The delegations of a run: their tasks, origins and results, and how far the reports of the results have come.

Each has two columns, the work of the hand and the callback. Both are as recorded; where a trace of an older version
does not record the callback, it is derived from the turn and the messages. A delegation that is past its deadline
without a result is shown as wrong before any verdict is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trunkline.app.text.lazy_sequence import LazySequence
from trunkline.app.view.hands.columns import OPEN_WORK, WorkPhase
from trunkline.app.view.hands.history import ACCEPTED, FINISHED, DelegationHistory
from trunkline.app.view.hands.row import Announcement, HandCounts, HandRow
from trunkline.app.view.index.evidence import BrokenThings
from trunkline.app.view.index.growing import Tally
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.core.events import Event
from trunkline.core.events.bindings import BindingBound
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.events.gateway import InboundReceived, TurnStarted
from trunkline.core.events.hands import (
    DelegationAccepted,
    DelegationFinished,
    DelegationProgressed,
    DelegationStarted,
)
from trunkline.core.keys import SessionKey
from trunkline.core.states.delegation import CLOSED_CALLBACK, CallbackState
from trunkline.core.values import WorkKind
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.index.projection import on
from trunkline.sim.invariants.base import Violation

#: seconds until the end of a run is written down; and within which an idle requester must begin to read it (L2)
_GRACE, _WITHIN = 1.0, 60.0
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
        self._ids: list[str] = []
        #: children below their parents
        self._order: list[DelegationHistory] = []
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
        return len(self._ids)

    def __getitem__(self, index: int) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._ids[index]

    def name(self, delegation: str) -> str:
        """The name of a delegation on screens: ``h1`` for the first."""
        return self._runs[delegation].name if delegation in self._runs else delegation

    def history(self, delegation: str) -> DelegationHistory | None:
        return self._runs.get(delegation)

    @property
    def histories(self) -> Sequence[DelegationHistory]:
        """All of them, children below their parents: the order of `rows`."""
        return self._order

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

    # ------------------------------------------------------------ at a moment

    def rows(self, seq: int) -> Sequence[HandRow]:
        """The delegations after event `seq`, children below their parents; each is computed when it is looked at."""
        return LazySequence(self._order, lambda run: self.row(run, seq))

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
        return [at for at, run in enumerate(self._order) if self._wrong(run, seq, now, over=over)]

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
            id=run.id,
            name=run.name,
            body=run.body,
            agent=run.agent,
            asked_by=run.asked_by,
            message_id=run.message_id,
            session=run.session,
            work=work,
            callback=step.state,
            callback_reason=step.reason,
            callback_since=0 if later else step.seq,
            since=run.accepted.seq,
            started=run.started[0].seq if started is not None else 0,
            runs=run.started.upto(seq),
            worker=taken.worker if isinstance(taken, DelegationStarted) else "",
            finished=ended.seq if ended is not None else 0,
            result=done if isinstance(done, DelegationFinished) else None,
            progress=reported.text if isinstance(reported, DelegationProgressed) else "",
            progressed=progress.seq if progress is not None else 0,
            turn=turn.seq if turn is not None else 0,
            said=tuple(one for one in run.said if one.seq <= seq),
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

    # ------------------------------------------------------------ over the run

    def take(self, event: Event) -> None:
        """Show an event to its delegation. The message histories have grown already."""
        if isinstance(event.body, DelegationAccepted):
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
        super().take(event)

    def _accept(self, event: Event, body: DelegationAccepted) -> None:
        if event.delegation is None or event.delegation in self._runs:
            return
        run = DelegationHistory(event, body, self.view.delegations.of(event.delegation))
        self._ids.append(run.id)
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

    @on(WireAccepted)
    def _announced(self, event: Event, body: WireAccepted) -> None:
        """Record an accepted message that announces a finished delegation."""
        history = self.messages.of(event.intent)
        prepared = history.prepared if history is not None else None
        run = self._runs.get(prepared.delegation or "") if prepared is not None else None
        if history is not None and run is not None and run.finished is not None and history.seq >= run.finished.seq:
            run.said.append(Announcement(event.seq, body.address))
            run.last = event.seq

    @on(BindingBound)
    def _bound(self, event: Event, body: BindingBound) -> None:
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
        ats = self._broken.ats(run.id)
        run.broken_at, run.last = min(ats, default=None), max(run.last, *ats, 0)

    def settle(self) -> None:
        """Put children below their parents, and count what changed."""
        if len(self._order) != len(self._runs):
            roots = (run for run in self._runs.values() if run.above is None)
            self._order = [run for root in roots for run in _family(root)]
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
