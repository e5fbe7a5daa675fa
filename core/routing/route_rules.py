"""Route rules in compiled form, and which constraint of a rule fails first.

Each entry of `bindings` in the configuration is compiled once, by the `MatchRules` of the profile.
"""

from collections.abc import Iterator

import msgspec

from trunkline.core.config import DmScope, GatewayConfig, GroupScope, RouteRuleConfig, SessionConfig
from trunkline.core.events.gateway import RuleScopes
from trunkline.core.reasons import Reason
from trunkline.core.routing.match_input import ANY, MatchRules, RouteQuery, given
from trunkline.core.values import ChatKind

#: the tiers of a match
PEER = "binding.peer"
PARENT = "binding.peer.parent"
WILDCARD = "binding.peer.wildcard"
GUILD_ROLES = "binding.guild+roles"
GUILD = "binding.guild"
TEAM = "binding.team"
ACCOUNT = "binding.account"
CHANNEL = "binding.channel"
#: all tiers, most specific first
TIERS = (PEER, PARENT, WILDCARD, GUILD_ROLES, GUILD, TEAM, ACCOUNT, CHANNEL)


class RouteRule(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A route rule in the form that is compared with a `RouteQuery`."""

    #: its index in the order of declaration
    number: int
    #: the name from the configuration; may be empty
    label: str
    #: the agent that gets the messages
    agent: str
    channel: str
    #: an account, or `ANY`
    account: str
    #: whether the named peer is a person (group and channel count as one kind); None: no peer is named
    direct: bool | None = None
    #: id of the peer; None if no peer is named, if it is `wild`, or if it is blank, which nothing matches
    peer: str | None = None
    #: matches every peer of the kind
    wild: bool = False
    guild: str | None = None
    team: str | None = None
    roles: tuple[str, ...] = ()
    #: session settings of the matched conversations, if they differ from the gateway's
    session: SessionConfig | None = None

    @property
    def name(self) -> str:
        """Its name; by default its index."""
        return self.label or f"bindings[{self.number}]"

    @property
    def tier(self) -> str:
        """The tier of its constraints. A peer may also match as the parent of another one."""
        if self.direct is not None:
            return WILDCARD if self.wild else PEER
        if self.guild is not None:
            return GUILD_ROLES if self.roles else GUILD
        if self.team is not None:
            return TEAM
        return CHANNEL if self.account == ANY else ACCOUNT


def rules_of(config: GatewayConfig) -> Iterator[RouteRule]:
    """The compiled route rules of a configuration, in the order of declaration."""
    reads = config.rules[MatchRules]
    scoped: dict[tuple[DmScope | None, GroupScope | None], SessionConfig | None] = {(None, None): None}
    for number, binding in enumerate(config.bindings):
        own = reads.scopes(binding.session)
        if own not in scoped:
            dm, group = own
            session = config.session
            scoped[own] = session.model_copy(
                update={"dm_scope": dm or session.dm_scope, "group_scope": group or session.group_scope}
            )
        yield _rule(number, binding, reads.agent(binding.agent, config), scoped[own], reads)


def rule_scopes(config: GatewayConfig) -> tuple[RuleScopes, ...]:
    """The rules with scopes of their own, as events record them."""
    return tuple(
        RuleScopes(
            channel=rule.channel,
            account=rule.account,
            direct=rule.direct,
            peer=rule.peer,
            dm_scope=rule.session.dm_scope.value,
            group_scope=rule.session.group_scope.value,
        )
        for rule in rules_of(config)
        if rule.session is not None
    )


def _rule(
    number: int, binding: RouteRuleConfig, agent: str, session: SessionConfig | None, reads: MatchRules
) -> RouteRule:
    match = binding.match
    peer = match.peer
    wild = peer is not None and reads.is_wildcard(peer.id)
    account = (match.account or "").strip()
    return RouteRule(
        number=number,
        label=binding.name,
        agent=agent,
        channel=match.channel.strip().lower(),
        account=ANY if account == ANY else reads.account(account),
        direct=None if peer is None else peer.kind is ChatKind.DIRECT,
        peer=None if peer is None or wild else given(peer.id),
        wild=wild,
        guild=None if match.guild is None else reads.required(match.guild),
        team=None if match.team is None else reads.required(match.team),
        roles=match.roles,
        session=session,
    )


def judge(rule: RouteRule, query: RouteQuery) -> tuple[str, Reason | None]:
    """The tier of a rule for a message, and the reason of the first constraint that does not hold."""
    lost = _lost_on(rule, query)
    if rule.direct is None:
        return rule.tier, lost
    tier = _peer_tier(rule, query)
    return (PEER, lost or Reason.OTHER_PEER) if tier is None else (tier, lost)


def _peer_tier(rule: RouteRule, query: RouteQuery) -> str | None:
    """The tier in which a rule's peer matches, or None."""
    own = query.id is not None and _same_kind(rule, query.kind)
    if rule.wild:
        return WILDCARD if own else None
    if rule.peer is None:
        return None
    if own and rule.peer == query.id:
        return PEER
    return PARENT if rule.peer == query.parent and _same_kind(rule, query.parent_kind) else None


def _same_kind(rule: RouteRule, kind: ChatKind | None) -> bool:
    """Whether the kinds match; group and channel count as one kind."""
    return kind is not None and rule.direct is (kind is ChatKind.DIRECT)


def _lost_on(rule: RouteRule, query: RouteQuery) -> Reason | None:
    """The reason of the first constraint, other than the peer, that does not hold."""
    if not rule.channel or rule.channel != query.channel:
        return Reason.OTHER_CHANNEL
    if rule.account not in (ANY, query.account):
        return Reason.OTHER_ACCOUNT
    if rule.guild is not None and rule.guild != query.guild:
        return Reason.OTHER_GUILD
    if rule.team is not None and rule.team != query.team:
        return Reason.OTHER_TEAM
    if rule.roles and not any(role in query.roles for role in rule.roles):
        return Reason.ROLE_MISSING
    return None
