"""Routes and session keys by the configuration alone: S6."""

from collections.abc import Iterator
from functools import lru_cache

from trunkline.core.channels import rules_for
from trunkline.core.config import DmScope, GatewayConfig, GroupScope, RouteRuleConfig
from trunkline.core.events import Event, delivery
from trunkline.core.values import Address, ChatKind, IntentKind, WorkKind
from trunkline.sim.events import actions, hands, world
from trunkline.sim.index.intent_facts import Lane
from trunkline.sim.index.run_facts import config_of
from trunkline.sim.invariants.base import Checker

#: what stands in a key as it is
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._~@+")
#: stands for any account or any peer
_ANY = "*"


class RoutedAsConfigured(Checker):
    """S6: agent and session of a place, read from the configuration. Costs one key for each turn and each send."""

    title = "Routed as configured"
    our_keys_only = True
    sentence = (
        "A message gets to the agent, and into the session, that the route rules, scopes and links of the "
        "configuration give its place, and what is sent to a place is remembered in the session that they give it, "
        "unless the place is bound or the session is named."
    )

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
