"""An utterance is heard in its call only: V2.

The platform records in which call people hear what, independently of the place that the gateway and its adapter name.
"""

from trunkline.core.events import Event, delivery
from trunkline.core.values import Address
from trunkline.sim.events import wire, world
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.index.projection import on
from trunkline.sim.invariants.base import Checker, EvidenceKind

#: the second channel's message is named after the one that could not be said
_SECOND = ".second"


class SaidInItsCall(Checker, symptoms=("wrong place",)):
    """V2: Said in its own call.

    What is heard in a call belongs to it: it answers what was said there, or it was sent to that call, or to its number
    while no other call with it was going on. On a second channel only the same person gets it, after the call, and only
    if it was not heard to its end.
    """

    evidence = EvidenceKind.MISPLACED

    #: message -> where it was said
    _said: dict[str, Event] = {}

    def on_peer_said(self, event: Event, _body: world.PeerSaid) -> None:
        self._said[event.inbound or ""] = event

    def on_heard(self, event: Event, body: world.SpeechHeard) -> None:
        self.exercised += 1
        facts = self.run.intents.get(event.intent or "")
        asked = self._asked_in(facts)
        if asked is not None and not _names_another(facts, asked):
            place = asked.body.address if isinstance(asked.body, world.PeerSaid) else body.address
            if place.lane != body.address.lane:
                self._report(event, body, facts, f"only in {self.run.name(place)}, where it was asked for", asked)
        elif body.requested.thread is not None:
            if body.requested.lane != body.address.lane:
                expected = f"only in {self.run.name(body.requested)}, for which it was meant"
                self._report(event, body, facts, expected, None)
        else:
            there = [call.address.lane for call in self.run.calls.going_on(body.requested)]
            # The one in which it was heard may have ended in the middle of it.
            if body.address.lane[:3] != body.requested.lane[:3] or any(lane != body.address.lane for lane in there):
                expected = f"in the only call with {self.run.name(body.requested)}, or nowhere"
                self._report(event, body, facts, expected, None)

    def _asked_in(self, facts: IntentFacts | None) -> Event | None:
        """The words of the person that a text answers, directly or after a hand has worked on it."""
        if facts is None:
            return None
        return self._said.get(self.run.message_behind(facts.prepared.inbound))

    def _report(
        self, event: Event, body: world.SpeechHeard, facts: IntentFacts | None, expected: str, asked: Event | None
    ) -> None:
        where, whole = self.run.name(body.address), "" if body.whole else " in part"
        causes = filter(None, (asked, None if facts is None else facts.prepared))
        summary = f"{event.intent} was heard{whole} in {where}, to which it does not belong"
        self.accuse(event, summary, expected, *causes, shown=f"“{body.text}” in {where}")

    @on(wire.WireAccepted, after=(delivery.Fallback,))
    def _accepted(self, event: Event, body: wire.WireAccepted) -> None:
        second = self.run.calls.second.get(event.intent or "")
        if second is None:
            return
        self.exercised += 1
        call = self.run.calls.at(second.asked)
        if call is None or call.on or call.ended is None:
            self._astray(event, body, f"after {self.run.name(second.asked)} has ended, while nothing can be said there")
        elif not self._same_person(second.asked, body.address):
            self._astray(event, body, f"to the person of {self.run.name(second.asked)}, whom identity links name there")
        elif self._heard_all((event.intent or "").removesuffix(_SECOND)):
            self._astray(event, body, f"not at all: it was heard to its end in {self.run.name(second.asked)}")

    def _same_person(self, call: Address, place: Address) -> bool:
        person = self.run.scopes.person(call)
        return person.startswith("*") and person == self.run.scopes.person(place)

    def _heard_all(self, intent: str) -> bool:
        facts = self.run.intents.get(intent)
        return facts is not None and len(facts.accepts) >= facts.body.chunks

    def _astray(self, event: Event, body: wire.WireAccepted, expected: str) -> None:
        summary = f"{event.intent} went to a second channel, {self.run.name(body.address)}, against its rules"
        self.accuse(event, summary, expected, shown=f"“{body.text}” at {self.run.name(body.address)}")


def _names_another(facts: IntentFacts | None, asked: Event) -> bool:
    """Whether an agent has named another place than the one of the words that it answers."""
    place = asked.body.address if isinstance(asked.body, world.PeerSaid) else None
    return facts is not None and facts.body.targeted and place is not None and place.lane != facts.lane
