"""The index of route rules: finds the rule that matches a message, in a time independent of the number of rules.

Rules are indexed by channel and account, then by the subject of their tier (a peer, a guild, ...). If several rules
have one subject, a bucket holds the first one without further constraints, and the first one for each combination of
guild, team and role that is required besides. A look-up tries the few combinations that the message can satisfy, so
the work depends on the sender's roles only. With many rules most are cold in memory, so a look-up touches few objects.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import msgspec

from trunkline.core.config import GatewayConfig
from trunkline.core.identity_memo import while_it_lives
from trunkline.core.routing import route_rules
from trunkline.core.routing.match_input import RouteQuery
from trunkline.core.values import ChatKind

#: maximum number of related rules in an explanation, and so in a bucket
_NEAR = 32

#: guild, team and role that a rule requires besides its subject
Demand = tuple[str | None, str | None, str | None]


class RuleMatch(NamedTuple):
    """The rule that matches a message, and its tier."""

    tier: str
    rule: route_rules.RouteRule


class _Bucket(msgspec.Struct, gc=False):
    """Several rules with one subject, in the order of declaration."""

    #: the first without further constraints
    plain: route_rules.RouteRule | None = None
    #: the first for each further constraint
    narrow: dict[Demand, route_rules.RouteRule] = msgspec.field(default_factory=dict[Demand, route_rules.RouteRule])
    #: the first few, for explanations
    listed: list[route_rules.RouteRule] = msgspec.field(default_factory=list[route_rules.RouteRule])

    def add(self, rule: route_rules.RouteRule) -> None:
        """Add a rule under each of its demands; one without any wins over all later ones."""
        if len(self.listed) < _NEAR:
            self.listed.append(rule)
        if self.plain is not None:
            return
        demands = _demands(rule)
        if not demands:
            self.plain = rule
        for demand in demands:
            self.narrow.setdefault(demand, rule)


#: one rule, or several
_Entry = route_rules.RouteRule | _Bucket
#: rules by id; None: any id. The key None exists from the start: a CPython dict with only string keys does not store
#: the hashes, so that a look-up would also touch the texts of other keys
_Entries = dict[str | None, _Entry | None]
#: shared by all empty ones, as most are
_EMPTY: _Entries = {}


class _Table:
    """The rules for one account of a channel, or for any account."""

    __slots__ = ("groups", "guilds", "people", "rest", "roles", "teams")

    def __init__(self) -> None:
        self.people = self.groups = _EMPTY
        #: guilds, with roles and without
        self.roles = self.guilds = _EMPTY
        self.teams = _EMPTY
        #: neither peer nor guild nor team
        self.rest: _Entry | None = None

    def peers(self, kind: ChatKind) -> _Entries:
        """The rules by peer of a kind; group and channel count as one kind."""
        return self.people if kind is ChatKind.DIRECT else self.groups

    def add(self, rule: route_rules.RouteRule) -> None:
        """Add a rule under its subject."""
        name, about = _subject(rule)
        if name == "rest":
            self.rest = _joined(self.rest, rule)
            return
        entries: _Entries = getattr(self, name)
        if entries is _EMPTY:
            entries = {None: None}
            setattr(self, name, entries)
        entries[about] = _joined(entries.get(about), rule)


_NO_TABLE = _Table()


class RouteIndex:
    """The compiled route rules of one configuration."""

    def __init__(self, rules: tuple[route_rules.RouteRule, ...], default_agent: str, revision: int = 1) -> None:
        self.rules = rules
        self.default_agent = default_agent
        #: revision of the configuration; reading it from the model is slow
        self.revision = revision
        #: whether any rule has its own session settings
        self.has_own_scopes = any(rule.session is not None for rule in rules)
        #: by channel and account; None: any account
        self._channels: dict[str, dict[str | None, _Table]] = {}
        for rule in rules:
            # Nothing matches a blank channel or a blank peer.
            if rule.channel and not (rule.tier == route_rules.PEER and rule.peer is None):
                accounts = self._channels.get(rule.channel)
                if accounts is None:
                    accounts = self._channels[rule.channel] = {None: _Table()}
                account = None if rule.account == route_rules.ANY else rule.account
                table = accounts.get(account) or accounts.setdefault(account, _Table())
                table.add(rule)

    def find(self, query: RouteQuery) -> RuleMatch | None:
        """The rule that matches a message: the first declared in the most specific tier that has a match."""
        offers: list[Demand] | None = None
        for tier, own, every in self._asked(query):
            if own is None and every is None:
                continue
            best: route_rules.RouteRule | None = None
            for entry in (own, every):
                if isinstance(entry, _Bucket):
                    offers = offers or _offers(query)
                    best = _earlier(best, _first(entry, offers))
                elif entry is not None and _meets(entry, query):
                    best = _earlier(best, entry)
            if best is not None:
                return RuleMatch(tier, best)
        return None

    def near(self, query: RouteQuery, found: RuleMatch | None) -> list[route_rules.RouteRule]:
        """The winner and the first rules related to a message, in the order of declaration, whether they match or not.

        A rule is related if its subject is a peer, the guild, the team, the account or the channel of the message.
        """
        near = {} if found is None else {found.rule.number: found.rule}
        for _, own, every in self._asked(query):
            for entry in (own, every):
                for rule in (
                    () if entry is None else (entry,) if isinstance(entry, route_rules.RouteRule) else entry.listed
                ):
                    if len(near) < _NEAR:
                        near[rule.number] = rule
        return [near[number] for number in sorted(near)]

    def _asked(self, query: RouteQuery) -> Iterator[tuple[str, _Entry | None, _Entry | None]]:
        """The related rules by tier: for the message's account, and for any account."""
        accounts = self._channels.get(query.channel)
        if accounts is None:
            return
        own, every = accounts.get(query.account, _NO_TABLE), accounts[None]
        kind, peer = query.kind, query.id
        if kind is not None and peer is not None:
            yield route_rules.PEER, own.peers(kind).get(peer), every.peers(kind).get(peer)
        if query.parent_kind is not None and query.parent is not None:
            parents = query.parent_kind
            yield route_rules.PARENT, own.peers(parents).get(query.parent), every.peers(parents).get(query.parent)
        if kind is not None and peer is not None:
            yield route_rules.WILDCARD, own.peers(kind).get(None), every.peers(kind).get(None)
        if query.guild is not None:
            yield route_rules.GUILD_ROLES, own.roles.get(query.guild), every.roles.get(query.guild)
            yield route_rules.GUILD, own.guilds.get(query.guild), every.guilds.get(query.guild)
        if query.team is not None:
            yield route_rules.TEAM, own.teams.get(query.team), every.teams.get(query.team)
        yield route_rules.ACCOUNT, own.rest, None
        yield route_rules.CHANNEL, every.rest, None


def _earlier(rule: route_rules.RouteRule | None, other: route_rules.RouteRule | None) -> route_rules.RouteRule | None:
    """The rule that was declared first."""
    if rule is None or other is None:
        return rule or other
    return rule if rule.number < other.number else other


def _first(bucket: _Bucket, offers: list[Demand]) -> route_rules.RouteRule | None:
    """The first rule of a bucket whose demands are all met."""
    best = bucket.plain
    for offer in offers if bucket.narrow else ():
        best = _earlier(best, bucket.narrow.get(offer))
    return best


def _meets(rule: route_rules.RouteRule, query: RouteQuery) -> bool:
    """Whether a message about a rule's subject satisfies its further constraints."""
    return (
        (rule.guild is None or rule.guild == query.guild)
        and (rule.team is None or rule.team == query.team)
        and (not rule.roles or any(role in query.roles for role in rule.roles))
    )


def _joined(there: _Entry | None, rule: route_rules.RouteRule) -> _Entry:
    """An entry with one more rule. A single rule needs no bucket."""
    if there is None:
        return rule
    if isinstance(there, route_rules.RouteRule):
        alone, there = there, _Bucket()
        there.add(alone)
    there.add(rule)
    return there


def _subject(rule: route_rules.RouteRule) -> tuple[str, str | None]:
    """The attribute of `_Table` that a rule belongs to, and its id there."""
    tier = rule.tier
    if tier in (route_rules.PEER, route_rules.WILDCARD):
        return "people" if rule.direct else "groups", rule.peer
    if tier in (route_rules.GUILD_ROLES, route_rules.GUILD):
        return "roles" if tier == route_rules.GUILD_ROLES else "guilds", rule.guild
    return ("teams", rule.team) if tier == route_rules.TEAM else ("rest", None)


def _demands(rule: route_rules.RouteRule) -> list[Demand]:
    """The constraints of a rule besides its subject, as alternatives; empty for none."""
    tier = rule.tier
    guild = rule.guild if tier in (route_rules.PEER, route_rules.WILDCARD) else None
    team = rule.team if tier != route_rules.TEAM else None
    if rule.roles:
        return [(guild, team, role) for role in rule.roles]
    return [] if guild is None and team is None else [(guild, team, None)]


def _offers(query: RouteQuery) -> list[Demand]:
    """Every combination of guild, team and role that a message satisfies; None stands for no constraint."""
    guilds = (None,) if query.guild is None else (None, query.guild)
    teams = (None,) if query.team is None else (None, query.team)
    return list(product(guilds, teams, (None, *query.roles)))


@while_it_lives
def index_of(config: GatewayConfig) -> RouteIndex:
    """The index of a configuration, built on first use and cached for the lifetime of the configuration."""
    return RouteIndex(tuple(route_rules.rules_of(config)), config.default_agent, config.revision)
