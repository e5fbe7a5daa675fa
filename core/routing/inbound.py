"""Inbound routes: which agent answers in which session, and why every other route rule lost (docs/routing.md).

Tiers, most specific first: peer, parent peer, peer wildcard, guild with roles, guild, team, account, channel, default;
within a tier the rule declared first wins. All constraints of a rule must hold. The winner is looked up in
`core.routing.index`; the losers are judged one by one, only as many as an explanation needs.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from trunkline.core.config import DmScope, GatewayConfig
from trunkline.core.events.gateway import Candidate
from trunkline.core.identity_memo import while_it_lives
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.routing.index import RouteIndex, RuleMatch, index_of
from trunkline.core.routing.match_input import MatchRules, RouteQuery, query_at, query_of
from trunkline.core.routing.route_rules import RouteRule, judge
from trunkline.core.routing.scopes import ScopeRules
from trunkline.core.routing.session_keys import SessionKeyRules, key_of_place
from trunkline.core.values import Address, ChatKind, Envelope

#: which losing rules to explain: all, those related to the message, or none
Explain = Literal["all", "near", "none"]
#: by default all rules are explained up to this number
_ALL_UP_TO = 100
DEFAULT = "default"


class RouteDecision(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The route of an inbound message, with the reasons for and against the route rules."""

    agent: str
    key: SessionKey
    #: one of `trunkline.core.routing.route_rules.TIERS`, or ``default``
    matched_by: str
    #: name of the route rule that matched, or id of the session binding
    binding: str | None
    #: the scope that determined the key, e.g. ``per-channel-peer`` or ``per-group``
    scope: str
    candidates: tuple[Candidate, ...] = ()
    #: number of rules that are not among the candidates
    others: int = 0
    #: revision of the configuration that decided
    revision: int = 1

    @property
    def main_key(self) -> SessionKey:
        """The main session of the agent."""
        return SessionKey(agent=self.agent)

    @property
    def last_route(self) -> Literal["main", "session"]:
        """Which session records where the message came from: the agent's main one only if the message is in it."""
        return "main" if self.key == self.main_key else "session"


def resolve_route(envelope: Envelope, config: GatewayConfig, explain: Explain | None = None) -> RouteDecision:
    """Decide agent and session of an inbound message. The live path and explanations share this code."""
    return decide(query_of(envelope, config.rules[MatchRules]), envelope.address, config, explain)


def decide(
    query: RouteQuery, place: Address | None, config: GatewayConfig, explain: Explain | None = None
) -> RouteDecision:
    """Decide for a query and a place. Without a place, the key is that of the agent's main session."""
    index, by = index_of(config), config.rules
    found = index.find(query)
    rule = None if found is None else found.rule
    agent = index.default_agent if rule is None else rule.agent
    session = by[ScopeRules].of_message(agent, rule, query, config) if index.has_own_scopes else config.session
    candidates = _candidates(index, query, found, explain)
    return RouteDecision(
        agent=agent,
        key=SessionKey(agent=agent) if place is None else key_of_place(agent, place, session, by),
        matched_by=DEFAULT if found is None else found.tier,
        binding=None if rule is None else rule.name,
        scope=(DmScope.MAIN if place is None else by[SessionKeyRules].scope_of(place.kind, session)).value,
        candidates=candidates,
        others=len(index.rules) - len(candidates),
        revision=index.revision,
    )


def _candidates(
    index: RouteIndex, query: RouteQuery, found: RuleMatch | None, explain: Explain | None
) -> tuple[Candidate, ...]:
    """The rules to explain, in the order of declaration."""
    if explain is None:
        explain = "all" if len(index.rules) <= _ALL_UP_TO else "near"
    if explain == "none":
        return ()
    explained = index.rules if explain == "all" else index.near(query, found)
    return tuple(_candidate(rule, query, found) for rule in explained)


def _candidate(rule: RouteRule, query: RouteQuery, found: RuleMatch | None) -> Candidate:
    """One rule, and why it won or lost."""
    if found is not None and found.rule is rule:
        return Candidate(binding=rule.name, tier=found.tier, chosen=True, reason=Reason.MATCHED)
    tier, reason = judge(rule, query)
    if reason is None:
        same = found is not None and found.tier == tier
        reason = Reason.DECLARED_LATER if same else Reason.LESS_SPECIFIC
    return Candidate(binding=rule.name, tier=tier, chosen=False, reason=reason)


def account_of_agent(
    agent: str, channel: str, source: Address | None, accounts: Sequence[str], config: GatewayConfig
) -> str | None:
    """The account that the route rules give an agent on a channel; None: they give it none there.

    The first rule that names an account wins, but the account of the turn (`source`) if one of them names it. An agent
    that answers by an account also writes by it, wherever its turn comes from. `accounts`: those that are served.
    """
    named = _named_accounts(config).get((agent, channel), ())
    served = {account.lower(): account for account in accounts} if named else {}
    own = [served[name] for name in named if name in served]
    if source is not None and source.channel == channel and source.account in own:
        return source.account
    return own[0] if own else None


@while_it_lives
def _named_accounts(config: GatewayConfig) -> Mapping[tuple[str, str], Sequence[str]]:
    """By agent and channel: the accounts that its rules name, in the order of declaration, in lower case."""
    found: dict[tuple[str, str], list[str]] = {}
    for rule in config.bindings:
        account = (rule.match.account or "").strip().lower()
        if account not in ("", "*"):
            found.setdefault((rule.agent, rule.match.channel.strip().lower()), []).append(account)
    return found


def other_agent_at(place: Address, agent: str, config: GatewayConfig) -> RouteDecision | None:
    """The route of an answer from a place, if another agent gets it; None if it is the same or cannot be known.

    What an answer in a group will say of guild, team and roles is not known before it comes.
    """
    if len(config.agents) < 2 or (place.kind is not ChatKind.DIRECT and place.channel in _by_sender(config)):
        return None
    route = decide(query_at(place, config.rules[MatchRules]), place, config, "none")
    return None if route.agent == agent else route


@while_it_lives
def _by_sender(config: GatewayConfig) -> frozenset[str]:
    """The channels with rules on guild, team or roles."""
    return frozenset(
        rule.match.channel.strip().lower()
        for rule in config.bindings
        if rule.match.guild is not None or rule.match.team is not None or rule.match.roles
    )
