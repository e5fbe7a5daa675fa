"""The requester of a hand gets the result: L2."""

import msgspec

from trunkline.core.events import Event, bindings, delivery, gateway, hands, leases
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.values import Address, IntentKind, IntentState, WorkKind
from trunkline.sim.events.processes import ProcessThawed
from trunkline.sim.index.projection import on
from trunkline.sim.invariants.base import Checker, cited

#: seconds within which an idle requester must begin to read a result
_WITHIN = 60.0
#: before it no hand has run
_DELEGATED = (hands.DelegationAccepted,)
#: why nothing reports an end -> the ends that it may be said of
_QUIET = {
    Reason.CALLBACK_OFF: (HandOutcome.TIMEOUT, HandOutcome.CANCELLED),
    Reason.CANCELLED_BY_AGENT: (HandOutcome.CANCELLED,),
    Reason.PARENT_ENDED: (HandOutcome.CANCELLED,),
}


class _Run(msgspec.Struct):
    """A run of a hand, from its dispatch until its result is reported."""

    accepted: Event
    planned: Event | None = None
    #: the callback that was stored, and its turns so far
    callback: Event | None = None
    turns: list[Event] = []
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
        return self.accepted.body.origin if isinstance(self.accepted.body, hands.DelegationAccepted) else None


class EveryRunReports(Checker, symptoms=("lost",)):
    """L2: Every hand run reports back.

    A run that was dispatched leads, however it ends, to one callback turn of its requester, which begins within a
    minute of the requester being idle, or to a message or a notice at its origin. What is posted in the run's own
    thread only is also in the transcript of its requester.
    """

    _runs: dict[str, _Run] = {}
    #: callback work -> its run
    _backs: dict[str, str] = {}
    #: session -> end of its last turn
    _idle: dict[str, float] = {}
    #: since when a process that holds the store has been awake
    _up = 0.0

    def on_accepted(self, event: Event, _body: hands.DelegationAccepted) -> None:
        self.exercised += 1
        self._runs.setdefault(event.delegation or "", _Run(event))

    def on_planned(self, event: Event, body: hands.CompletionPlanned) -> None:
        """For a requester that is gone and had no place, the plan itself is the notice to the operator."""
        run = self._runs.get(event.delegation or "")
        if run is None:
            return
        run.planned = event
        gone = [step.reason is Reason.REQUESTER_REPLACED for step in body.steps]
        run.reported |= run.origin is None and bool(gone) and all(gone)

    def on_changed(self, event: Event, body: hands.CallbackChanged) -> None:
        """Note a report that is discarded, as the operator or the caller wants, or that an operator has read again."""
        run = self._runs.get(event.delegation or "")
        if run is None:
            return
        if body.state is CallbackState.PENDING_TURN and body.before is not CallbackState.WAITING:
            run.read = run.callback = None
        elif body.state is CallbackState.SUPPRESSED and body.reason is not None:
            ended = self.run.hands.run_of(event.delegation).result
            outcome = None if ended is None else ended.outcome
            run.reported |= body.reason is Reason.DISCARDED or outcome in _QUIET.get(body.reason, ())

    @on(delivery.IntentPrepared, after=_DELEGATED)
    def _prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
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

    @on(gateway.TranscriptAppended, after=_DELEGATED)
    def _appended(self, event: Event, body: gateway.TranscriptAppended) -> None:
        run = self._runs.get(event.delegation or "")
        if run is not None and body.session_id == self.run.delegated_in.get(event.delegation or ""):
            run.line = event

    def on_denied(self, event: Event, _body: bindings.FallbackDenied) -> None:
        """A denied fallback counts as a report: the operator configured it for unusable conversations."""
        run = self._runs.get(event.delegation or "")
        if run is not None:
            run.reported = True

    @on(delivery.IntentSettled, after=_DELEGATED)
    def _settled(self, event: Event, body: delivery.IntentSettled) -> None:
        """A hook that cancels the announcement ends the report."""
        run = self._runs.get(event.delegation or "")
        cancelled = body.state is IntentState.CANCELLED
        if run is not None and run.planned is not None and cancelled and (event.cause or 0) >= run.planned.seq:
            run.reported = True

    @on(gateway.InboundAdmitted, after=_DELEGATED)
    def _admitted(self, event: Event, body: gateway.InboundAdmitted) -> None:
        run = self._runs.get(event.delegation or "")
        if run is None or body.work is not WorkKind.CALLBACK:
            return
        self._backs[event.inbound or ""] = event.delegation or ""
        if run.callback is None:
            run.callback = event
        elif run.callback.inbound != event.inbound:
            self._twice(run, run.callback, event)

    def _twice(self, run: _Run, first: Event, event: Event) -> None:
        shown = [cited(e, f"{e.kind} {e.inbound}") for e in (first, event)]
        summary = f"the result of {run.accepted.delegation} was handed to its requester twice"
        self.accuse(event, summary, "one callback for one run", run.accepted, first, shown=shown)

    @on(gateway.TurnStarted, after=_DELEGATED)
    def _started(self, event: Event, body: gateway.TurnStarted) -> None:
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
        summary = f"the requester of {run.accepted.delegation} was idle for {idle}"
        expected = f"its callback turn begins within {_WITHIN:.0f} s of {since:.3f}s"
        shown = [cited(run.callback, "stored"), cited(event, "begun")]
        self.accuse(event, summary, expected, run.callback, shown=shown)

    @on(gateway.TurnEnded, after=_DELEGATED)
    def _ended(self, event: Event, _body: gateway.TurnEnded) -> None:
        session = self.run.running.get(event.turn or "", "")
        self._idle[session] = event.at
        run = self._runs.get(self._backs.get(event.inbound or "", ""))
        if run is not None:
            run.reported = True
            run.read = event

    def on_process_up(self, event: Event, _body: gateway.ProcessStarted | leases.LeaseTaken | ProcessThawed) -> None:
        """Without a process nothing is reported; the next one repeats an interrupted turn. One may stand by."""
        if self.run.processes.holds(event.generation):
            self._up = event.at

    def finish(self, last: Event) -> None:
        """Report every run whose requester never got the result."""
        for run in self._runs.values():
            if not run.reported:
                self._report_loss(run, last)
            elif run.posted is not None and run.line is None and run.callback is None:
                summary = f"the result of {run.accepted.delegation} was posted, and its requester never learned of it"
                expected = "a line of the requester's transcript, or a callback turn"
                shown = f"{run.posted.kind}, and nothing for the requester"
                self.miss(last, run.posted, summary, expected, run.accepted, shown=shown)

    def _report_loss(self, run: _Run, last: Event) -> None:
        """The result was lost after the last event that is known of the run."""
        finished = self.run.hands.run_of(run.accepted.delegation).finished
        known = [run.accepted, finished, run.planned, run.callback, *run.turns[-1:]]
        steps = [event for event in known if event is not None]
        hand = getattr(run.accepted.body, "hand", "")
        how = "ended" if finished is not None else "began to work"
        summary = f"{hand} {how} for {run.accepted.delegation}, and its requester never got the result"
        expected = "a callback turn of the requester, or a message or a notice at the origin"
        self.miss(last, steps[-1], summary, expected, *steps, shown=[*map(cited, steps), "and nothing after it"])


def _is_replaced(planned: Event | None) -> bool:
    """Whether the requester has another session meanwhile, which must not get the result."""
    steps = planned.body.steps if planned is not None and isinstance(planned.body, hands.CompletionPlanned) else ()
    return any(step.reason is Reason.REQUESTER_REPLACED for step in steps)
