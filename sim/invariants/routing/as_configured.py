"""Routes, session keys, addresses and audiences by the configuration alone: S6, R4, P1."""

import re
from collections.abc import Iterator
from functools import lru_cache

from trunkline.core.channels import rules_for
from trunkline.core.config import DmScope, GatewayConfig, GroupScope, RouteRuleConfig
from trunkline.core.events import Event, delivery, gateway
from trunkline.core.message_tool.conversations import is_conversation
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, IntentKind, WorkKind
from trunkline.sim.events import actions, hands, world
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import PeerSaid, WorldAccount, WorldPlace
from trunkline.sim.index.intent_facts import Lane
from trunkline.sim.index.run_facts import IntentFacts, config_of, is_one_place
from trunkline.sim.invariants.base import Checker, EvidenceKind

#: what stands in a key as it is
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._~@+")
#: stands for any account or any peer
_ANY = "*"


class RoutedAsConfigured(Checker, symptoms=("wrong place", "forgot")):
    """S6: Routed as configured.

    A message gets to the agent, and into the session, that the route rules, scopes and links of the configuration give
    its place, and what is sent to a place is remembered in the session that they give it, unless the place is bound or
    the session is named.
    """

    our_keys_only = True

    #: the configurations that may have decided, and their texts: a turn that goes on after a reload keeps its route
    _configs: list[GatewayConfig] = []
    _texts: list[str] = []
    #: lane of a home -> place and home of its last message, and the agents and keys that they may give
    _wanted: dict[Lane, tuple[Address, Address, list[tuple[str, str]]]] = {}

    def on_configured(self, _event: Event, body: world.WorldLimits) -> None:
        config = self.run.config
        if config is not None and body.config not in self._texts:
            self._configs.append(config)
            self._texts.append(body.config)
            self._wanted.clear()

    def on_answered(self, event: Event, body: hands.AgentAnswered) -> None:
        if body.work is not WorkKind.MESSAGE or body.place is None or not body.session_key:
            return
        home = self.run.home(self.run.hands.work_of.get(event.turn or "")) or body.place
        if self._is_bound(body.place) or self._is_bound(home):
            return
        known = self._wanted.get(home.lane)
        if known is None or known[0] != body.place or known[1] != home:
            found = [pair for text in self._texts for pair in _agents_and_keys(text, body.place, home)]
            known = self._wanted[home.lane] = body.place, home, found
        self._compare(event, (body.agent, body.session_key), known[2], home)

    def on_told(self, event: Event, body: actions.AgentTold) -> None:
        if body.session_key is not None and body.place is not None and '"session"' not in body.asked:
            self._of_place(event, body.session_key, body.place)

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        if body.intent_kind is IntentKind.SEND and body.mirror_key is not None and not body.named_session:
            self._of_place(event, body.mirror_key, body.address)

    def _of_place(self, event: Event, key: str, place: Address) -> None:
        """Compare the session of a send with that of its place, for the agent that the key names."""
        agent = next((a.id for config in self._configs for a in config.agents if key.startswith(f"{_part(a.id)}:")), "")
        if not self._is_bound(place):
            wanted = [(agent, key_of(agent, place, config)) for config in self._configs]
            self._compare(event, (agent, key), wanted, place)

    def _is_bound(self, place: Address) -> bool:
        """Whether a place has belonged to another session."""
        known = self.run.bindings
        return bool(known.at) and (place.lane in known.at or (place.channel, place.conversation, "") in known.shared)

    def _compare(self, event: Event, got: tuple[str, str], wanted: list[tuple[str, str]], place: Address) -> None:
        self.exercised += bool(wanted)
        if wanted and got not in wanted:
            agent, key = wanted[-1]
            what = f"{self.run.name(place)} is with {got[0]} in {got[1]}"
            self.accuse(event, what, f"{agent} in {key}, as configured")


@lru_cache(maxsize=1024)
def _agents_and_keys(text: str, place: Address, home: Address) -> list[tuple[str, str]]:
    """The agents for a message and their keys, by the text of a configuration, which the runs of a scenario share."""
    config = config_of(text)
    return [(agent, key_of(agent, home, config)) for agent in _agents(config, place)]


def key_of(agent: str, place: Address, config: GatewayConfig) -> str:
    """The session key of a place for an agent."""
    rule = next((rule for rule in _by_place(config, place)), None)
    own = None if rule is None or rule.agent != agent else rule.session
    if place.kind is not ChatKind.DIRECT:
        group = (own and own.group_scope) or config.session.group_scope
        if group is GroupScope.MAIN:
            return f"{_part(agent)}:main"
        return _key(agent, place, place.account)
    scope = (own and own.dm_scope) or config.session.dm_scope
    if scope is DmScope.MAIN:
        return f"{_part(agent)}:main"
    account = place.account if scope is DmScope.PER_ACCOUNT_CHANNEL_PEER else None
    return _key(agent, place, account, _linked(place, config), by_channel=scope is not DmScope.PER_PEER)


def _key(agent: str, place: Address, account: str | None, name: str = "", *, by_channel: bool = True) -> str:
    rules = rules_for(place.channel)
    peer = f"{_ANY}{_part(name)}" if name else _part(rules.fold(place.kind, place.conversation))
    thread = rules.key_thread(place) or ()
    where = (_part(place.channel) if by_channel else _ANY, _ANY if account is None else _part(account))
    return ":".join((_part(agent), *where, place.kind.value, peer, *map(_part, thread)))


@lru_cache(maxsize=4096)
def _part(text: str) -> str:
    """A part of a key: capitals and signs of no URL by their bytes."""
    signs = (sign if sign in _SAFE else "".join(f"%{byte:02x}" for byte in sign.encode()) for sign in text)
    return "".join(signs)


def _linked(place: Address, config: GatewayConfig) -> str:
    """The name of the person of a direct conversation in the links; empty: none."""
    rules, own = rules_for(place.channel), place.conversation.strip()
    ids = {own, rules.fold(place.kind, own)}
    known = {*ids, *(f"{place.channel}:{id_}" for id_ in ids)}
    fold = str if rules.case_sensitive else str.lower
    spelled = set(map(fold, known))
    links = config.session.identity_links.items()
    return next((name.strip().lower() for name, people in links if spelled & {fold(p.strip()) for p in people}), "")


def _agents(config: GatewayConfig, place: Address) -> Iterator[str]:
    """The agents for a message from a place: one, unless rules ask for more than the place."""
    rules = [rule for rule in config.bindings if rule.match.guild or rule.match.team or rule.match.roles]
    yield from (rule.agent for rule in rules)
    yield next((rule.agent for rule in _by_place(config, place)), config.default_agent)


def _by_place(config: GatewayConfig, place: Address) -> list[RouteRuleConfig]:
    """The rules for a place alone, the most specific first; of equals the first declared."""
    found = [(tier, rule) for rule in config.bindings if (tier := _tier(rule, place)) is not None]
    return [rule for _, rule in sorted(found, key=lambda pair: pair[0])]


def _tier(rule: RouteRuleConfig, place: Address) -> int | None:
    """The rank of a rule for a place, from 0; None: no match."""
    match, account = rule.match, (rule.match.account or "default").strip().lower()
    if match.guild or match.team or match.roles or match.channel.strip().lower() != place.channel:
        return None
    if account not in (_ANY, place.account.lower()):
        return None
    if match.peer is None:
        return 4 if account == _ANY else 3
    if (match.peer.kind is ChatKind.DIRECT) is not (place.kind is ChatKind.DIRECT):
        return None
    in_room = place.kind is not ChatKind.DIRECT and place.thread is not None
    own = f"{place.conversation}:{place.thread}" if in_room else place.conversation
    parent = place.conversation if in_room else place.parent
    return {own: 0, parent: 1, _ANY: 2}.get(match.peer.id.strip())


class AddressFidelity(Checker, symptoms=("wrong place",)):
    """R4: Address fidelity.

    Wire addresses are the platform's own ids, byte for byte, of an account on that platform; a thread is named only if
    the conversation has it.

    An agent, a client or a hook may name a place that is none. Its platform says so, the intent ends as failed, and
    nobody else is to blame.
    """

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


class AudienceConfinement(Checker, symptoms=("leaked",)):
    """P1: Audience confinement.

    Private words of a conversation appear in no other one, unless the agent named that target, or the scope merges the
    two.
    """

    evidence = EvidenceKind.MISPLACED

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
