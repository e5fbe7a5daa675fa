"""Addresses on the wire, and audiences: R4, P1."""

import re

from trunkline.core.events import Event, delivery, gateway
from trunkline.core.message_tool.conversations import is_conversation
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import PeerSaid, WorldAccount, WorldPlace
from trunkline.sim.index.run_facts import IntentFacts, Lane, is_one_place
from trunkline.sim.invariants.base import Checker, EvidenceKind


class AddressFidelity(Checker):
    """R4: adapters get the platform's own ids, of an existing account.

    An agent, a client or a hook may name a place that is none. Its platform says so, the intent ends as failed, and
    nobody else is to blame.
    """

    title = "Address fidelity"
    sentence = (
        "Wire addresses are the platform's own ids, byte for byte, of an account on that platform; a thread is named "
        "only if the conversation has it."
    )

    _accounts: dict[str, set[str]] = {}
    _places: set[Lane] = set()
    #: channel -> the ids of its conversations
    _ids: dict[str, set[str]] = {}
    #: seq -> a target that an agent or a client named
    _named: dict[int, delivery.TargetResolved] = {}
    #: threads that the gateway must open before it names them
    _to_open: set[Lane] = set()

    def on_routed(self, event: Event, body: gateway.RouteDecided) -> None:
        if body.reply_reason is Reason.REPLY_IN_OPENED_THREAD and body.reply_to is not None:
            self._to_open.add(body.reply_to.lane)

    def on_account(self, event: Event, body: WorldAccount) -> None:
        self._accounts.setdefault(body.channel, set()).add(body.account)

    def on_place(self, event: Event, body: WorldPlace) -> None:
        self._places.add(body.address.lane)
        self._ids.setdefault(body.address.channel, set()).add(body.address.conversation)

    def on_resolved(self, event: Event, body: delivery.TargetResolved) -> None:
        self._named[event.seq] = body

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        if not self.run.witnessed:
            return
        there = self._accounts.get(body.address.channel, set())
        self.exercised += 1
        if body.address.account not in there:
            known = ", ".join(sorted(there)) or "none"
            self._report(event, body.address, f"{body.address.channel} has no such account; it has: {known}")

    def on_asked(self, event: Event, body: WireAccepted | WireRefused) -> None:
        asked = body.requested if isinstance(body, WireAccepted) else body.address
        self.exercised += 1
        if asked.lane in self._places or not is_conversation(asked):
            return
        if event.intent is None and isinstance(body, WireRefused) and body.action is not None:
            # A question about a place that the agent made up: it is answered with the refusal.
            return
        facts = self.run.intents.get(event.intent or "")
        as_named = facts is not None and facts.lane == asked.lane
        if as_named and isinstance(body, WireAccepted) and is_one_place(asked, body.address):
            return  # the platform knows this spelling of the id too
        if (
            facts is not None
            and facts.body.action is None
            and asked.thread in self.run.answered.quotable(facts.prepared.turn)
        ):
            # The thread of a message that the agent answers; its first answer makes it.
            return
        if facts is None or not as_named:
            # The intent names another place: the id was changed on its way to the wire.
            self._report(event, asked, f"{asked.channel} has issued no such id")
        elif isinstance(body, WireAccepted) or not self._invented(facts, asked):
            self._report(event, asked, f"{asked.channel} has issued no such id", facts.prepared)

    def _invented(self, facts: IntentFacts, asked: Address) -> bool:
        """Whether the agent, the client or the hook that named the target made the refused id up."""
        if any(self._made_up(asked, target) for target in self.run.hooks.targets(facts.prepared.intent)):
            return True
        if not facts.body.targeted:
            return False
        target = self._named.get(facts.prepared.cause or 0)
        if target is None:
            return True
        if asked.conversation not in self._ids.get(asked.channel, ()):
            return self._made_up(asked, target.target)
        # The thread of the turn's own message is context that the gateway added, unless the target spells it.
        home = self.run.home(facts.prepared.inbound)
        added = asked.thread is not None and home is not None and home.thread == asked.thread
        return not added or _spelled(asked.thread or "", target.target)

    def _made_up(self, asked: Address, target: str) -> bool:
        """Whether a target names an id that the platform has not issued."""
        ids = self._ids.get(asked.channel, ())
        # Blame falls on what changed the spelling of an id that the platform did issue.
        # The channel of a thread is not what was changed: the agent names the thread apart from it.
        meant = any(_spelled(number, target) for number in ids if number != asked.parent)
        return asked.conversation not in ids and (_spelled(asked.conversation, target) or not meant)

    def _report(self, event: Event, asked: Address, why: str, prepared: Event | None = None) -> None:
        """Report a wrong address, or a right one of a thread that nothing opened after the preparation."""
        summary, expected = f"{event.intent} was addressed to {asked}: {why}", "an address that the platform issued"
        missing = prepared if asked.lane in self._to_open else None
        wrong = None if prepared is None or missing is not None else prepared.seq
        causes = filter(None, [prepared])
        self.accuse(event, summary, expected, *causes, shown=f"{asked}", missing=missing, first_wrong=wrong)


def _spelled(part: str, target: str) -> bool:
    """Whether a target has an id in it, letter by letter and not as a part of a longer one."""
    return re.search(rf"(?<!\w){re.escape(part)}(?!\w)", target) is not None


class AudienceConfinement(Checker):
    """P1: a conversation's private words reach only its own people."""

    title = "Audience confinement"
    evidence = EvidenceKind.MISPLACED
    sentence = (
        "Private words of a conversation appear in no other one, unless the agent named that target, or the scope "
        "merges the two."
    )

    _secrets: dict[str, tuple[Address, Event]] = {}
    #: place -> its parent room
    _above: dict[Lane, str] = {}

    def on_place(self, event: Event, body: WorldPlace) -> None:
        self._above[body.address.lane] = body.under or body.name

    def on_said(self, event: Event, body: PeerSaid) -> None:
        if body.secret:
            self._secrets.setdefault(body.secret, (body.address, event))

    def _audience(self, place: Address) -> tuple[str, ...]:
        """The readers of a place: the person, on any platform, or the members of the room."""
        name = self._above.get(place.lane, place.conversation)
        return (name,) if place.kind is ChatKind.DIRECT else (place.channel, name)

    def on_accepted(self, event: Event, body: WireAccepted) -> None:
        facts = self.run.intents.get(event.intent or "")
        for secret, (place, said) in self._secrets.items():
            if self._audience(place) == self._audience(body.address):
                continue
            self.exercised += 1
            explicit = facts is not None and facts.body.targeted
            merged = self.run.scopes.may_be_main(place) and self.run.scopes.may_be_main(body.address)
            if secret in body.text and not explicit and not merged:
                self._report_leak(secret, said, event)

    def _report_leak(self, secret: str, said: Event, event: Event) -> None:
        body, facts = event.body, self.run.intents.get(event.intent or "")
        assert isinstance(body, WireAccepted)
        wrong = event if facts is None else self._route_to_shared(facts.prepared, said) or facts.prepared
        summary = f"“{secret}”, said at {self.run.name(getattr(said.body, 'address', None))}, was seen elsewhere"
        expected = f"not visible at {self.run.name(body.address)}"
        seen = f"“{body.text}” at {self.run.name(body.address)}"
        self.accuse(event, summary, expected, said, shown=seen, first_wrong=wrong.seq)

    def _route_to_shared(self, prepared: Event, said: Event) -> Event | None:
        """The route of an answer to a session that the place of the words has, too."""
        routed = self.run.routed.get(prepared.inbound or "")
        if routed is None or not isinstance(routed.body, gateway.RouteDecided) or not isinstance(said.body, PeerSaid):
            return None
        key, place = routed.body.session_key, said.body.address.lane
        routes = [route.body for route in self.run.routed.values() if isinstance(route.body, gateway.RouteDecided)]
        shared = any(body.session_key == key and body.reply_to and body.reply_to.lane == place for body in routes)
        return routed if shared else None
