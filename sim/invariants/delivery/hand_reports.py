"""The requester of a hand gets the result: L2."""

from __future__ import annotations

from dataclasses import dataclass, field

from trunkline.core.events import Event
from trunkline.core.events.bindings import FallbackDenied
from trunkline.core.events.delivery import IntentPrepared, IntentSettled
from trunkline.core.events.gateway import InboundAdmitted, ProcessStarted, TranscriptAppended, TurnEnded, TurnStarted
from trunkline.core.events.hands import CallbackChanged, CompletionPlanned, DelegationAccepted, DelegationFinished
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.values import Address, IntentKind, WorkKind
from trunkline.sim.events.processes import ProcessThawed
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants.base import Checker, cited

#: seconds within which an idle requester must begin to read a result
_WITHIN = 60.0
#: why nothing reports an end -> the ends that it may be said of
_QUIET = {
    Reason.CALLBACK_OFF: (HandOutcome.TIMEOUT, HandOutcome.CANCELLED),
    Reason.CANCELLED_BY_AGENT: (HandOutcome.CANCELLED,),
    Reason.PARENT_ENDED: (HandOutcome.CANCELLED,),
}


@dataclass(slots=True)
class _Run:
    """A run of a hand, from its dispatch until its result is reported."""

    accepted: Event
    finished: Event | None = None
    planned: Event | None = None
    #: the callback that was stored, and its turns so far
    callback: Event | None = None
    turns: list[Event] = field(default_factory=list[Event])
    #: the end of its callback turn
    read: Event | None = None
    #: reported to the requester, in that turn or by a message at the origin
    reported: bool = False
    #: posted in its own thread, which has another session than its requester
    posted: Event | None = None
    #: the result in the transcript of the requester
    line: Event | None = None

    @property
    def origin(self) -> Address | None:
        """The place of the request, if it came from one."""
        return self.accepted.body.origin if isinstance(self.accepted.body, DelegationAccepted) else None


class EveryRunReports(Checker):
    """L2: each run of a hand is reported to its requester once, however it ended and however busy the requester was."""

    id = "L2"
    title = "Every hand run reports back"
    sentence = (
        "A run that was dispatched leads, however it ends, to one callback turn of its requester, which begins within "
        "a minute of the requester being idle, or to a message or a notice at its origin. What is posted in the run's "
        "own thread only is also in the transcript of its requester."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        self._runs: dict[str, _Run] = {}
        #: callback work -> its run
        self._backs: dict[str, str] = {}
        #: session -> end of its last turn
        self._idle: dict[str, float] = {}
        #: since when a process that holds the store has been awake
        self._up = 0.0

    # ------------------------------------------------------------ a run

    @on(DelegationAccepted)
    def _accepted(self, event: Event, _body: DelegationAccepted) -> None:
        self.exercised += 1
        self._runs.setdefault(event.delegation or "", _Run(event))

    @on(DelegationFinished)
    def _finished(self, event: Event, _body: DelegationFinished) -> None:
        run = self._runs.get(event.delegation or "")
        if run is not None:
            run.finished = event

    @on(CompletionPlanned)
    def _planned(self, event: Event, body: CompletionPlanned) -> None:
        """For a requester that is gone and had no place, the plan itself is the notice to the operator."""
        run = self._runs.get(event.delegation or "")
        if run is None:
            return
        run.planned = event
        gone = [step.reason is Reason.REQUESTER_REPLACED for step in body.steps]
        run.reported |= run.origin is None and bool(gone) and all(gone)

    @on(CallbackChanged)
    def _changed(self, event: Event, body: CallbackChanged) -> None:
        """Note a report that is discarded, as the operator or the caller wants, or that an operator has read again."""
        run = self._runs.get(event.delegation or "")
        if run is None:
            return
        if body.state is CallbackState.PENDING_TURN and body.before is not CallbackState.WAITING:
            run.read = run.callback = None
        elif body.state is CallbackState.SUPPRESSED and body.reason is not None:
            ended = run.finished.body if run.finished is not None else None
            outcome = ended.outcome if isinstance(ended, DelegationFinished) else None
            run.reported |= body.reason is Reason.DISCARDED or outcome in _QUIET.get(body.reason, ())

    @on(IntentPrepared)
    def _prepared(self, event: Event, body: IntentPrepared) -> None:
        run = self._runs.get(event.delegation or "")
        if run is None or body.intent_kind not in (IntentKind.ANNOUNCE, IntentKind.NOTICE):
            return
        bound = self.run.bindings.of_delegation.get(event.delegation or "")
        places = [run.origin, None if bound is None else bound.body.conversation]
        run.reported |= any(place is not None and body.address.lane == place.lane for place in places)
        if self.run.hooks.may_go(event.intent, body.address):
            # A hook has it sent elsewhere: the requester's part is done.
            run.reported = True
            return
        away = run.origin is not None and body.address.lane != run.origin.lane
        if body.intent_kind is IntentKind.ANNOUNCE and away and not _is_replaced(run.planned):
            run.posted = event

    @on(TranscriptAppended)
    def _appended(self, event: Event, body: TranscriptAppended) -> None:
        run = self._runs.get(event.delegation or "")
        if run is not None and body.session_id == self.run.delegated_in.get(event.delegation or ""):
            run.line = event

    @on(FallbackDenied)
    def _denied(self, event: Event, _body: FallbackDenied) -> None:
        """A denied fallback counts as a report: the operator configured it for unusable conversations."""
        run = self._runs.get(event.delegation or "")
        if run is not None:
            run.reported = True

    @on(IntentSettled)
    def _settled(self, event: Event, _body: IntentSettled) -> None:
        """A hook that cancels the announcement ends the report."""
        run = self._runs.get(event.delegation or "")
        if run is not None and run.planned is not None and event.cause == run.planned.seq:
            run.reported = True

    # ------------------------------------------------------------ its callback

    @on(InboundAdmitted)
    def _admitted(self, event: Event, body: InboundAdmitted) -> None:
        run = self._runs.get(event.delegation or "")
        if run is None or body.work is not WorkKind.CALLBACK:
            return
        self._backs[event.inbound or ""] = event.delegation or ""
        if run.callback is None:
            run.callback = event
        elif run.callback.inbound != event.inbound:
            self._twice(run, run.callback, event)

    def _twice(self, run: _Run, first: Event, event: Event) -> None:
        self.violate(
            at=event.seq,
            summary=f"the result of {run.accepted.delegation} was handed to its requester twice",
            expected=["one callback for one run"],
            actual=[cited(e, f"{e.kind} {e.inbound}") for e in (first, event)],
            evidence=[run.accepted.seq, first.seq, event.seq],
        )

    @on(TurnStarted)
    def _started(self, event: Event, body: TurnStarted) -> None:
        run = self._runs.get(self._backs.get(event.inbound or "", ""))
        if run is None or not self.run.processes.holds(event.generation):
            return  # one that stood still, and whose turn the store will refuse
        run.turns.append(event)
        if run.read is not None:
            self._twice(run, run.read, event)
        else:
            self._reads(run, event, body.session_id)

    def _reads(self, run: _Run, event: Event, session: str) -> None:
        """The requester reads a result soon after it was stored and the requester became idle."""
        if run.callback is None:
            # A turn of another delegation's callback, in a trace that was altered.
            return
        since = max(run.callback.at, self._idle.get(session, 0.0), self._up)
        if event.at - since <= _WITHIN:
            return
        idle = f"{event.at - since:.0f} s before its callback"
        self.violate(
            at=event.seq,
            summary=f"the requester of {run.accepted.delegation} was idle for {idle}",
            expected=[f"its callback turn begins within {_WITHIN:.0f} s of {since:.3f}s"],
            actual=[cited(run.callback, "stored"), cited(event, "begun")],
            evidence=[run.callback.seq, event.seq],
        )

    @on(TurnEnded)
    def _ended(self, event: Event, _body: TurnEnded) -> None:
        session = self.run.running.get(event.turn or "", "")
        self._idle[session] = event.at
        run = self._runs.get(self._backs.get(event.inbound or "", ""))
        if run is not None:
            run.reported = True
            run.read = event

    @on(ProcessStarted, LeaseTaken, ProcessThawed)
    def _process_up(self, event: Event, _body: ProcessStarted | LeaseTaken | ProcessThawed) -> None:
        """Without a process nothing is reported; the next one repeats an interrupted turn. One may stand by."""
        if self.run.processes.holds(event.generation):
            self._up = event.at

    # ------------------------------------------------------------ the end

    def finish(self, last: Event) -> None:
        """Report every run whose requester never got the result."""
        for run in self._runs.values():
            if not run.reported:
                self._report_loss(run, last)
            elif run.posted is not None and run.line is None and run.callback is None:
                self._not_learned(run, run.posted, last)

    def _not_learned(self, run: _Run, posted: Event, last: Event) -> None:
        """The requester was left out: its transcript does not have the result."""
        self.violate(
            at=last.seq,
            summary=f"the result of {run.accepted.delegation} was posted, and its requester never learned of it",
            expected=["a line of the requester's transcript, or a callback turn"],
            actual=[cited(posted, f"{posted.kind}, and nothing for the requester")],
            evidence=[run.accepted.seq, posted.seq],
            missing_after=posted.seq,
        )

    def _report_loss(self, run: _Run, last: Event) -> None:
        """The result was lost after the last event that is known of the run."""
        known = [run.accepted, run.finished, run.planned, run.callback, *run.turns[-1:]]
        steps = [event for event in known if event is not None]
        hand = getattr(run.accepted.body, "hand", "")
        how = "ended" if run.finished is not None else "began to work"
        self.violate(
            at=last.seq,
            summary=f"{hand} {how} for {run.accepted.delegation}, and its requester never got the result",
            expected=["a callback turn of the requester, or a message or a notice at the origin"],
            actual=[cited(event) for event in steps] + ["and nothing after it"],
            evidence=[event.seq for event in steps],
            missing_after=steps[-1].seq,
        )


def _is_replaced(planned: Event | None) -> bool:
    """Whether the requester has another session meanwhile, which must not get the result."""
    steps = planned.body.steps if planned is not None and isinstance(planned.body, CompletionPlanned) else ()
    return any(step.reason is Reason.REQUESTER_REPLACED for step in steps)
