"""One delegation over the whole run: its events, and its two columns after any of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter

import msgspec

from trunkline.app.view.hands.columns import ENDED_AS, WorkPhase
from trunkline.app.view.hands.row import Announcement
from trunkline.app.view.index.growing import EventHistory, GrowingRows
from trunkline.core.events import Body, Event
from trunkline.core.events.bindings import RouterDecided
from trunkline.core.events.delivery import IntentPrepared, IntentReopened, IntentSettled, IntentSuppressed
from trunkline.core.events.gateway import InboundAdmitted, TurnEnded, TurnStarted
from trunkline.core.events.hands import (
    AnswerTurnedAway,
    CallbackChanged,
    CompletionPlanned,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationProgressed,
    DelegationStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import IntentState, Peer, WorkKind
from trunkline.sim.index.projection import on


class CallbackStep(msgspec.Struct, frozen=True):
    """A change of the callback: the state from this event on."""

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
_LISTED: tuple[type[Body], ...] = (DelegationStarted, DelegationProgressed, DelegationIgnored, AnswerTurnedAway)
#: outcomes of a callback turn after which nobody gets anything
_TURN_OUTCOMES = {"silent": CallbackState.SUPPRESSED, "failed": CallbackState.UNDELIVERABLE}
#: counted beside the states of callbacks
ACCEPTED, FINISHED = "accepted", "finished"


class DelegationHistory(EventHistory):
    """A delegation with its events."""

    def __init__(self, accepted: Event, body: DelegationAccepted, name: str) -> None:
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
    def line(self) -> Iterator[DelegationHistory]:
        """The delegations above it, the nearest first."""
        above = self.above
        while above is not None:
            yield above
            above = above.above

    # ------------------------------------------------------------ the callback

    def callback(self, seq: int) -> CallbackStep:
        """The callback after event `seq`."""
        last = self.steps.last(seq)
        return last or CallbackStep(self.accepted.seq, self.accepted.at, CallbackState.WAITING)

    # ------------------------------------------------------------ the work

    def ended(self, seq: int) -> Event | None:
        """The end of the work, if it has ended by event `seq`."""
        return self.finished if self.finished is not None and self.finished.seq <= seq else None

    def work(self, seq: int, deaths: dict[int, int]) -> WorkPhase:
        """The work after event `seq`. `deaths`: process -> the event that ended it."""
        if self.accepted.seq > seq:
            return WorkPhase.LATER
        ended = self.ended(seq)
        if ended is not None and isinstance(ended.body, DelegationFinished):
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

    # ------------------------------------------------------------ one event after the other

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

    @on(CallbackChanged)
    def _changed(self, event: Event, body: CallbackChanged) -> None:
        """Take a recorded change; what was derived before gives way."""
        if not self.recorded:
            self.recorded, self.steps = True, GrowingRows[CallbackStep](attrgetter("seq"))
        self.steps.add(CallbackStep(event.seq, event.at, body.state, body.reason))

    @on(*_LISTED)
    def _listed(self, event: Event, body: Body) -> None:
        self._lists[type(body)].add(event)

    @on(DelegationFinished)
    def _finished(self, event: Event, _body: DelegationFinished) -> None:
        self.finished = self.finished or event

    @on(CompletionPlanned)
    def _planned(self, event: Event, body: CompletionPlanned) -> None:
        self.busy = body.requester_busy
        replaced = Reason.REQUESTER_REPLACED
        unsaid = (step.mode == "kept" or (step.address is None and step.reason is replaced) for step in body.steps)
        if body.steps and all(unsaid):
            self._derive(event, CallbackState.SUPPRESSED, body.steps[0].reason)

    @on(InboundAdmitted)
    def _admitted(self, event: Event, body: InboundAdmitted) -> None:
        if body.work is WorkKind.CALLBACK:
            self._derive(event, CallbackState.PENDING_TURN)

    @on(TurnStarted)
    def _turn_started(self, event: Event, body: TurnStarted) -> None:
        if body.work is WorkKind.CALLBACK:
            self.callbacks.add(event)
            self._derive(event, CallbackState.IN_TURN)

    @on(TurnEnded)
    def _turn_ended(self, event: Event, body: TurnEnded) -> None:
        state = _TURN_OUTCOMES.get(body.outcome)
        if state is not None and self.callbacks and self.callbacks[-1].turn == event.turn and not self.intents:
            self._derive(event, state, body.reason)

    @on(IntentSuppressed)
    def _unsaid(self, event: Event, body: IntentSuppressed) -> None:
        if self.finished is not None and not self.intents:
            self._derive(event, CallbackState.SUPPRESSED, body.reason)

    @on(IntentPrepared, IntentReopened)
    def _queued(self, event: Event, body: IntentPrepared | IntentReopened) -> None:
        prepared = isinstance(body, IntentPrepared) and self.finished is not None and event.delegation == self.id
        if prepared or (isinstance(body, IntentReopened) and event.intent in self.intents):
            self.intents[event.intent or ""] = IntentState.PREPARED
            self._derive(event, CallbackState.QUEUED)

    @on(IntentSettled)
    def _settled(self, event: Event, body: IntentSettled) -> None:
        """A message has ended; with the last one the report is over."""
        if event.intent not in self.intents and self.finished is None:
            return
        self.intents[event.intent or ""] = body.state
        ends = self.intents.values()
        if IntentState.PREPARED in ends:
            return
        found = next((end for end, states in _OUTCOMES if any(one in states for one in ends)), CallbackState.SUPPRESSED)
        self._derive(event, found, None if found is CallbackState.DELIVERED else body.reason)

    @on(RouterDecided)
    def _routed(self, _event: Event, body: RouterDecided) -> None:
        key = body.target_session_key
        self.session = self.session or (key if key != self.body.session_key else "")
