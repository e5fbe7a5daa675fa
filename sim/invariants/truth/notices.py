"""Notices for people who wait for an answer in vain: W1."""

from trunkline.core.delivery.notes import CLOSED_SUFFIX, NOTICE_SUFFIX
from trunkline.core.events import Event, delivery
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState
from trunkline.sim.events.wire import NO_PLACE, WireAccepted, WireRefused
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.invariants.base import Checker, cited

#: ends of which the person surely has nothing
_NOTHING = (IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED)
#: ends after which people wait for no notice: they have something of the answer
_SOMETHING = (IntentState.DELIVERED, IntentState.PARTIAL, IntentState.MISPLACED)
#: ends of a message that no place may be left for
_NO_WAY = (Reason.BROKEN_ROW, Reason.NO_ADAPTER, Reason.NO_SECOND_CHANNEL, Reason.SECOND_CHANNEL, Reason.ABANDONED)
#: refusals that the next message at the place would get too
_NOTHING_TAKEN = (*NO_PLACE, Reason.CALL_ENDED, Reason.UNAUTHORIZED)


class NobodyWaitsInSilence(Checker):
    """W1: people who wait for an answer in vain read so. Costs one look-up for each answer that ends badly."""

    title = "Nobody waits in silence"
    sentence = (
        "A person whose answer did not arrive, or may not have, gets the configured notice, where the platform takes "
        "anything from the gateway; nobody gets one about what arrived, and none goes to a place that is gone."
    )

    #: answer -> the outcome by which it waits until its place is opened
    _waits: dict[str, Event] = {}

    def on_ended(self, event: Event, body: delivery.AttemptEnded) -> None:
        if body.reason is Reason.PLACE_CLOSED and body.decision == "retry":
            self._waits.setdefault(event.intent or "", event)

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        """A notice goes where something can be posted."""
        answer = self._answer(event.intent or "", body.intent_kind)
        refused = None if answer is None else answer.refused
        if answer is None or refused is None or not isinstance(refused.body, WireRefused):
            return
        heard = answer.ended
        if heard is None or heard.seq < refused.seq or heard.generation != event.generation:
            return  # its process died before it knew
        if isinstance(heard.body, delivery.AttemptEnded) and heard.body.reason is not refused.body.reason:
            return  # so did it, and the next one has looked it up
        self.exercised += 1
        same = body.address.lane == refused.body.address.lane
        if same and refused.body.reason in (*NO_PLACE, Reason.CALL_ENDED) and refused.seq > answer.prepared.seq:
            summary = f"the notice about {answer.prepared.intent} goes where nothing can be posted"
            expected = f"another place than {self.run.name(body.address)}, or none"
            shown = [cited(refused, refused.body.reason.value), cited(event, f"“{body.text}”")]
            self.accuse(event, summary, expected, refused, shown=shown)

    def on_accepted(self, event: Event, body: WireAccepted) -> None:
        """A notice is about an answer that is not there, or of which nobody knows."""
        notice = self.run.intents.get(event.intent or "")
        answer = None if notice is None else self._answer(event.intent or "", notice.body.intent_kind)
        if answer is None or not answer.settled:
            return
        self.exercised += 1
        end = answer.settled[-1].body
        if isinstance(end, delivery.IntentSettled) and end.state in _SOMETHING and not answer.vouched:
            summary = f"people read that {answer.prepared.intent} did not arrive, and they have it"
            shown = f"“{body.text}” at {self.run.name(body.address)}"
            self.accuse(event, summary, "no notice about an answer that arrived", *answer.accepts, shown=shown)

    def _answer(self, name: str, kind: IntentKind) -> IntentFacts | None:
        """The answer that a notice is about."""
        about = kind is IntentKind.NOTICE and name.endswith(NOTICE_SUFFIX)
        return self.run.intents.get(name.removesuffix(NOTICE_SUFFIX)) if about else None

    def finish(self, last: Event) -> None:
        """Report the answers without the notice that their end, or their wait, asks for."""
        for name, waits in self._waits.items():
            facts, limits = self.run.intents.get(name), self.run.limits
            if facts is None or limits is None or limits.notices is None or not limits.notices[2]:
                continue
            place = facts.body.address
            reply = facts.body.intent_kind is IntentKind.REPLY and not facts.acked and facts.prepared.binding is None
            room = limits.notice_in_room and (place.thread is not None or place.parent is not None)
            notice = f"{name}{CLOSED_SUFFIX}"
            if reply and room and notice not in self.run.intents and notice not in self.run.speech.withdrawn:
                summary = f"{name} waits for its place to be opened, and the room above does not know"
                expected, shown = f"“{limits.notices[2]}”", "closed, and no notice after it"
                self.miss(last, waits, summary, expected, facts.prepared, shown=shown)
        for name, facts in self.run.intents.items():
            owed = self._owed(facts)
            if owed is None:
                continue
            self.exercised += 1
            settled = facts.settled[0]
            notice = self.run.intents.get(f"{name}{NOTICE_SUFFIX}")
            changed = f"{name}{NOTICE_SUFFIX}" in {*self.run.speech.rewritten, *self.run.speech.withdrawn}
            # A thread of which nothing may be said in its room has a notice of its own there.
            changed |= notice is not None and notice.body.address.lane != facts.body.address.lane
            if changed or (notice is not None and notice.body.text.split() == owed.split()):
                continue
            said = "no notice" if notice is None else f"“{notice.body.text}”"
            summary = f"{name} did not arrive, and the person who waits for it reads {said}"
            shown = f"it ended, and {said} followed"
            self.miss(last, settled, summary, f"“{owed}”", facts.prepared, shown=shown)

    def _owed(self, facts: IntentFacts) -> str | None:
        """The notice that the end of an answer asks for; none: it asks for none, or nobody knows."""
        limits, settled = self.run.limits, facts.settled[0].body if facts.settled else None
        if limits is None or limits.notices is None or not isinstance(settled, delivery.IntentSettled):
            return None
        failed, doubt, _ = limits.notices
        text = failed if settled.state in _NOTHING else doubt if settled.state is IntentState.UNKNOWN else ""
        bound, place = facts.prepared.binding is not None, facts.body.address
        if not text or facts.body.intent_kind is not IntentKind.REPLY or bound or settled.reason in _NO_WAY:
            return None
        if facts.acked or place.channel == "voice":
            return None
        refused = None if facts.refused is None else facts.refused.body
        reason = refused.reason if isinstance(refused, WireRefused) else None
        if reason not in _NOTHING_TAKEN:
            return text
        room = place.thread is not None or place.parent is not None
        return text if reason in NO_PLACE and room and limits.notice_in_room else None
