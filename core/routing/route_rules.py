"""Rules: the route bindings in the form in which they are compared, and which constraint of one fails first.

A rule is made once for each binding; making it applies what the profile says of accounts, wildcards, blank ids,
agents that are not there, and scopes.
"""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern

import msgspec

from trunkline.core.config import DmScope, GatewayConfig, GroupScope, RouteRuleConfig, RuleSessionConfig, SessionConfig
from trunkline.core.keys.openclaw import agent_id
from trunkline.core.profiles import Profile
from trunkline.core.reasons import Reason
from trunkline.core.routing.match_input import RouteQuery, canonical_account, given
from trunkline.core.values import ChatKind

ANY = "*"


#: how specific a match is
PEER = "binding.peer"
PARENT = "binding.peer.parent"
WILDCARD = "binding.peer.wildcard"
GUILD_ROLES = "binding.guild+roles"
GUILD = "binding.guild"
TEAM = "binding.team"
ACCOUNT = "binding.account"
CHANNEL = "binding.channel"
#: from the most to the least specific
TIERS = (PEER, PARENT, WILDCARD, GUILD_ROLES, GUILD, TEAM, ACCOUNT, CHANNEL)


class RouteRule(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A binding, as it is compared with a `RouteQuery`."""

    #: its place in the order of declaration
    number: int
    #: as declared; may be empty
    label: str
    #: the agent that gets what is claimed
    agent: str
    channel: str
    #: `ANY` or one
    account: str
    #: a peer is named: whether it is a person; group and channel are one kind here. None: no peer is named
    direct: bool | None = None
    #: id of the peer; none where none is named, where it is `wild`, and where it is blank, which nothing matches
    peer: str | None = None
    #: every peer of the kind
    wild: bool = False
    guild: str | None = None
    team: str | None = None
    roles: tuple[str, ...] = ()
    #: session settings of what is claimed, where they are not those of the whole gateway
    session: SessionConfig | None = None

    @property
    def name(self) -> str:
        """Its name, by default its place."""
        return self.label or f"bindings[{self.number}]"

    @property
    def tier(self) -> str:
        """The tier that it is declared for; a peer may also match as the parent of another one."""
        if self.direct is not None:
            return WILDCARD if self.wild else PEER
        if self.guild is not None:
            return GUILD_ROLES if self.roles else GUILD
        if self.team is not None:
            return TEAM
        return CHANNEL if self.account == ANY else ACCOUNT


def rules_of(config: GatewayConfig) -> Iterator[RouteRule]:
    """The rules of a configuration, in the order of its bindings."""
    known = frozenset(agent.id for agent in config.agents)
    scoped: dict[tuple[DmScope | None, GroupScope | None], SessionConfig | None] = {(None, None): None}
    for number, binding in enumerate(config.bindings):
        own = _own_scopes(binding.session, config.profile)
        if own not in scoped:
            dm, group = own
            session = config.session
            scoped[own] = session.model_copy(
                update={"dm_scope": dm or session.dm_scope, "group_scope": group or session.group_scope}
            )
        agent = _agent(binding.agent, known, config)
        yield _rule(number, binding, agent, scoped[own], config.profile)


def _rule(
    number: int, binding: RouteRuleConfig, agent: str, session: SessionConfig | None, profile: Profile
) -> RouteRule:
    match = binding.match
    peer = match.peer
    # Upstream of March reads `*` as an id like any other.
    wild = peer is not None and profile is not Profile.OPENCLAW and peer.id.strip() == ANY
    account = (match.account or "").strip()
    return RouteRule(
        number=number,
        label=binding.name,
        agent=agent,
        channel=match.channel.strip().lower(),
        account=ANY if account == ANY else canonical_account(account, profile),
        direct=None if peer is None else peer.kind is ChatKind.DIRECT,
        peer=None if peer is None or wild else given(peer.id),
        wild=wild,
        guild=_demanded(match.guild, profile),
        team=_demanded(match.team, profile),
        roles=match.roles,
        session=session,
    )


def _demanded(text: str | None, profile: Profile) -> str | None:
    """A guild or team that a binding names. A blank one matches nothing; upstream takes it for none."""
    if text is None:
        return None
    return given(text) if profile.upstream else text.strip()


def _agent(bound: str, known: frozenset[str], config: GatewayConfig) -> str:
    """The agent that a binding means. Our own configurations name agents that are there."""
    if not config.profile.upstream:
        # One text for all: the agent of a rule is looked at with each message.
        return intern(bound)
    # Upstream gives what an unknown agent would get to the default one, and knows all of them while none is listed.
    slug = agent_id(bound)
    if not bound.strip() or (known and slug not in known):
        return config.default_agent
    return slug


def _own_scopes(session: RuleSessionConfig, profile: Profile) -> tuple[DmScope | None, GroupScope | None]:
    """Scopes that a binding sets itself. Upstream of March has no such thing."""
    return (None, None) if profile is Profile.OPENCLAW else (session.dm_scope, session.group_scope)


# ---------------------------------------------------------------- explanation


def judge(rule: RouteRule, query: RouteQuery) -> tuple[str, Reason | None]:
    """The tier in which a rule stands for a message, and the first constraint that does not hold."""
    lost = _lost_on(rule, query)
    if rule.direct is None:
        return rule.tier, lost
    tier = _peer_tier(rule, query)
    return (PEER, lost or Reason.OTHER_PEER) if tier is None else (tier, lost)


def _peer_tier(rule: RouteRule, query: RouteQuery) -> str | None:
    """The tier in which a rule's peer fits, or none."""
    own = query.id is not None and _same_kind(rule, query.kind)
    if rule.wild:
        return WILDCARD if own else None
    if rule.peer is None:
        return None
    if own and rule.peer == query.id:
        return PEER
    return PARENT if rule.peer == query.parent and _same_kind(rule, query.parent_kind) else None


def _same_kind(rule: RouteRule, kind: ChatKind | None) -> bool:
    """Group and channel are one kind to a binding."""
    return kind is not None and rule.direct is (kind is ChatKind.DIRECT)


def _lost_on(rule: RouteRule, query: RouteQuery) -> Reason | None:
    """The first constraint, other than the peer, that does not hold."""
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
