"""Where results are delivered, and whether that is known: C3, C4."""

import msgspec

from trunkline.core.channels import rules_for
from trunkline.core.events import Event, delivery, gateway, hands
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CLOSED_CALLBACK, CallbackState
from trunkline.core.values import Address, IntentKind
from trunkline.sim.events.hands import AgentDelegated
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.index.hand_facts import HandRun
from trunkline.sim.index.intent_facts import IntentFacts, Lane
from trunkline.sim.index.projection import on, on_intent
from trunkline.sim.invariants.base import Checker, EvidenceKind, cited


class RightPlace(Checker, symptoms=("wrong place",)):
    """C3: Back to where it was asked.

    What is said of a result is accepted in the conversation and thread of the message for which its agent called the
    hand, by the account that got that message; elsewhere only as bound, as named at the call, or after a recorded
    fallback.

    R1 follows the gateway's own record of who delegated. This one follows the agent's call.
    """

    evidence = EvidenceKind.MISPLACED

    @on_intent(WireAccepted, after=(AgentDelegated,))
    def _accepted(self, event: Event, body: WireAccepted, facts: IntentFacts) -> None:
        if facts.prepared.delegation is None or facts.body.targeted:
            return
        right = self._right(facts.prepared.delegation, facts)
        if not right:
            return
        self.exercised += 1
        if body.address.lane in right or body.requested.lane in right:
            return
        if self.run.hooks.may_go(event.intent, body.address):
            return
        places = {place.lane: self.run.name(place) for place in self._places(facts.prepared.delegation)}
        expected = " or ".join(dict.fromkeys(places.values())) or "the place that its agent named"
        where, wrong = self.run.name(body.address), self._first_wrong(event, facts, right)
        summary = f"the result of {facts.prepared.delegation} went to {where}"
        expected, shown = f"at {expected}, by the account that got the request", f"“{body.text}” at {where}"
        self.accuse(event, summary, expected, facts.prepared, shown=shown, first_wrong=wrong)

    def _right(self, delegation: str, facts: IntentFacts) -> set[Lane]:
        """The places where a result may be seen; none if nothing says where it was asked for."""
        asked = self._places(delegation)
        found = {place.lane for place in asked}
        if facts.body.intent_kind is IntentKind.NOTICE:
            # What cannot be said in a thread is noticed in its room.
            found |= {rules_for(place.channel).room_above(place).lane for place in asked}
        top = self.run.hands.top(delegation)
        if top.asked is not None and top.asked.reply_to is not None:
            found.add(top.asked.reply_to.lane)
        if not found:
            return found
        found |= self.run.bound_above(delegation)
        fallbacks = self.run.bindings.fallbacks
        return found | fallbacks.get(delegation, set()) | fallbacks.get(facts.prepared.intent, set())

    def _places(self, delegation: str) -> list[Address]:
        """The place of the message that asked, and the thread that was opened on it."""
        received = self.run.request_of(delegation)
        if self.run.hands.top(delegation).asked is None:
            # Traces of earlier versions say nothing of calls; and a process may have died in one.
            return []
        if received is None or not isinstance(received.body, gateway.InboundReceived):
            return []
        place, message = received.body.address, received.body.subject
        inbound = received.inbound or ""
        found = [place, self.run.home(inbound), self.run.opened_on(place, message)]
        return [place for place in found if place is not None]

    def _first_wrong(self, event: Event, facts: IntentFacts, right: set[Lane]) -> int:
        """The call, if its origin was already wrong; else the intent, or the request."""
        run = self.run.hands.run_of(facts.prepared.delegation)
        if run.accepted is not None and run.origin is not None and run.origin.lane not in right:
            return run.accepted.seq
        return facts.prepared.seq if facts.lane not in right else event.seq


#: there is nothing to report before one of these
_OF_HANDS = (hands.DelegationAccepted, hands.CallbackChanged, AgentDelegated)
#: seconds in which a message may already be on its way that the loop has begun to send
_ON_ITS_WAY = 1.0


class _Report(msgspec.Struct):
    """How far the report of one delegation has come."""

    changed: Event
    body: hands.CallbackChanged


class OneCompletion(Checker, symptoms=("lost",)):
    """C4: Seen once, or a reason why not.

    The report of each ended hand comes to an end: `delivered` only of what a platform accepted, else with a reason, and
    never `suppressed` or `undeliverable` of what people have seen. Once an operator has discarded it, nothing more of
    it is sent.
    """

    _reports: dict[str, _Report] = {}
    #: delegation -> the accepts of what reports it
    _seen: dict[str, list[Event]] = {}
    #: delegation -> when its report was discarded
    _discarded: dict[str, Event] = {}
    #: delegation -> the end of its callback turn
    _turns: dict[str, tuple[Event, str]] = {}

    @on_intent(WireAccepted, after=_OF_HANDS)
    def _accepted(self, event: Event, _body: WireAccepted, facts: IntentFacts) -> None:
        if facts.prepared.delegation is not None:
            self._seen.setdefault(facts.prepared.delegation, []).append(event)

    def on_changed(self, event: Event, body: hands.CallbackChanged) -> None:
        delegation = event.delegation or ""
        self.exercised += 1
        before = self._reports.get(delegation)
        self._reports[delegation] = _Report(event, body)
        if before is not None and before.body.state is not body.before:
            shown = [_line(change) for change in (before.changed, event)]
            summary, expected = f"the report of {delegation} skipped a state", "each change from the state before"
            self.accuse(event, summary, expected, shown=shown)
        if body.state is CallbackState.SUPPRESSED and body.reason is Reason.DISCARDED:
            self._discarded[delegation] = event
        if body.state is CallbackState.DELIVERED and self.run.witnessed and not self._was_seen(delegation):
            summary = f"the report of {delegation} counts as delivered, and nobody saw it"
            self.accuse(event, summary, "a platform that accepted a message of it before", shown=[_line(event)])
        elif body.state in (CallbackState.SUPPRESSED, CallbackState.UNDELIVERABLE, CallbackState.PARKED):
            self._unseen(event, body, delegation)

    @on_intent(delivery.AttemptStarted, after=(hands.CallbackChanged,))
    def _sent(self, event: Event, body: delivery.AttemptStarted, facts: IntentFacts) -> None:
        """A chunk on its way when a report is discarded ends as it does; nothing else of the report is sent."""
        discarded = self._discarded.get(facts.prepared.delegation or "")
        if discarded is None or body.attempt > 1 or body.chunk > 0:
            return
        if event.at > discarded.at + _ON_ITS_WAY:
            summary = f"the report of {facts.prepared.delegation} was discarded, and is sent all the same"
            shown = [_line(discarded), cited(event, f"a request to {self.run.name(body.address)}")]
            self.accuse(event, summary, f"nothing more of it after #{discarded.seq}", discarded, shown=shown)

    @on(gateway.TurnEnded, after=_OF_HANDS)
    def _turn_ended(self, event: Event, body: gateway.TurnEnded) -> None:
        delegation = self.run.callbacks.get(event.inbound or "")
        if delegation is not None:
            self._turns[delegation] = (event, body.outcome)

    def _unseen(self, event: Event, body: hands.CallbackChanged, delegation: str) -> None:
        ended, outcome = self._turns.get(delegation, (None, ""))
        if body.state is CallbackState.UNDELIVERABLE and body.before is CallbackState.IN_TURN and outcome == "silent":
            summary = f"the report of {delegation} counts as undeliverable, and nobody sent it"
            of, expected = filter(None, [ended]), "suppressed: its agent wanted to say nothing"
            self.accuse(event, summary, expected, *of, shown=[_line(event)])
        elif body.reason is None:
            summary = f"nothing says why the report of {delegation} is {body.state.value}"
            self.accuse(event, summary, "a reason", shown=[_line(event)])

    def _was_seen(self, delegation: str) -> bool:
        """Whether a platform accepted a message of a report, or an operator says so."""
        if self._seen.get(delegation):
            return True
        return any(facts.vouched for facts in self.run.intents.values() if facts.prepared.delegation == delegation)

    def finish(self, last: Event) -> None:
        """Report what never came to an end, and ends that are not what people saw."""
        for delegation, run in self.run.hands.runs.items():
            report = self._reports.get(delegation)
            if run.finished is None:
                continue
            if report is None:
                if self._has_columns(run):
                    self._missing(last, run.finished, delegation, "nothing was recorded of it")
            elif report.body.state not in CLOSED_CALLBACK and not self._waits(report, delegation):
                self._missing(last, report.changed, delegation, f"it is {report.body.state.value}")
            elif report.body.state in (CallbackState.SUPPRESSED, CallbackState.UNDELIVERABLE):
                self._report_contradiction(report, delegation)

    def _has_columns(self, run: HandRun) -> bool:
        """Whether the trace is of a version that records how far reports have come."""
        return bool(self._reports) and run.accepted is not None

    def _waits(self, report: _Report, delegation: str) -> bool:
        """Whether messages of a report are still open, which L1 and L4 judge; or it waits for an operator."""
        if report.body.state is CallbackState.PARKED:
            return True
        return any(not facts.over for facts in self.run.intents.values() if facts.prepared.delegation == delegation)

    def _report_contradiction(self, report: _Report, delegation: str) -> None:
        """A whole message that people saw is no missing report, unless the platform put it somewhere else."""
        for event in self._seen.get(delegation, ()):
            facts, at = self.run.intents[event.intent or ""], event.body
            assert isinstance(at, WireAccepted)
            if report.body.reason is Reason.MISPLACED and at.address.lane != at.requested.lane:
                continue
            if facts.body.targeted or facts.body.intent_kind in (IntentKind.TOOL, IntentKind.NOTICE):
                continue
            if len(facts.accepted_chunks) == facts.body.chunks and facts.acked == facts.body.chunks:
                shown = [_line(report.changed), cited(event, "accepted")]
                summary = f"the report of {delegation} counts as {report.body.state.value}, and people saw it"
                wrong = report.changed
                self.accuse(wrong, summary, "delivered", event, shown=shown)
                return

    def _missing(self, last: Event, after: Event, delegation: str, what: str) -> None:
        summary, expected = f"the report of {delegation} never ended: {what}", "delivered, undeliverable or suppressed"
        self.miss(last, after, summary, expected, shown=[f"nothing after #{after.seq} {after.at:.3f}s"])


def _line(event: Event) -> str:
    body = event.body
    assert isinstance(body, hands.CallbackChanged)
    reason = "no reason" if body.reason is None else body.reason.value
    return cited(event, f"callback {body.before.value} → {body.state.value} ({reason})")
