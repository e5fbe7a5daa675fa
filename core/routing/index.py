"""The index of route bindings: the winner of a message is looked up, however many bindings there are.

Rules are filed by channel and account, there by what their tier is about (a peer, a guild, ...). Where several are
about the same, a bucket knows the first one without further demands, and the first one for each combination of guild,
team and role that is demanded besides. A message asks for the few combinations that it can meet, so that the work
depends on the message (the roles of the sender), never on the number of bindings. Most of many bindings are cold in
memory: on the way to a rule lie as few objects as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import msgspec

from trunkline.core.config import GatewayConfig
from trunkline.core.routing.identity_memo import while_it_lives
from trunkline.core.routing.match_input import RouteQuery
from trunkline.core.routing.route_rules import (
    ACCOUNT,
    ANY,
    CHANNEL,
    GUILD,
    GUILD_ROLES,
    PARENT,
    PEER,
    TEAM,
    WILDCARD,
    RouteRule,
    rules_of,
)
from trunkline.core.values import ChatKind

#: how many rules an explanation of what is near lists at most, and so a bucket
_NEAR = 32

#: guild, team and role that a rule wants on top of what it is filed under
Demand = tuple[str | None, str | None, str | None]


class RuleMatch(NamedTuple):
    """The rule that wins, and the tier in which it does."""

    tier: str
    rule: RouteRule


class _Bucket(msgspec.Struct, gc=False):
    """Several rules on one peer, one guild, one team..., in the order of declaration."""

    #: the first that demands nothing more
    plain: RouteRule | None = None
    #: the first for each further demand
    narrow: dict[Demand, RouteRule] = msgspec.field(default_factory=dict[Demand, RouteRule])
    #: the first few, for explanations
    listed: list[RouteRule] = msgspec.field(default_factory=list[RouteRule])

    def add(self, rule: RouteRule) -> None:
        """File a rule under each of its demands; one without any wins over all that come after it."""
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
_Entry = RouteRule | _Bucket
#: by id; none: every id. As a key that is no text, it is there from the start: without one, CPython does not keep the
#: hashes beside the keys, and a look-up has to touch the texts of other keys too.
_Shelf = dict[str | None, _Entry | None]
#: a shelf with nothing on it, as most are
_EMPTY: _Shelf = {}


class _Table:
    """The rules for one account of a channel, or for any."""

    __slots__ = ("groups", "guilds", "people", "rest", "roles", "teams")

    def __init__(self) -> None:
        self.people = self.groups = _EMPTY
        #: guilds, with roles and without
        self.roles = self.guilds = _EMPTY
        self.teams = _EMPTY
        #: neither peer nor guild nor team
        self.rest: _Entry | None = None

    def peers(self, kind: ChatKind) -> _Shelf:
        """The shelf of one kind; group and channel are one."""
        return self.people if kind is ChatKind.DIRECT else self.groups

    def file(self, rule: RouteRule) -> None:
        """Put a rule where a message asks for it."""
        name, about = _place(rule)
        if name == "rest":
            self.rest = _joined(self.rest, rule)
            return
        shelf: _Shelf = getattr(self, name)
        if shelf is _EMPTY:
            shelf = {None: None}
            setattr(self, name, shelf)
        shelf[about] = _joined(shelf.get(about), rule)


_NO_TABLE = _Table()


class RouteIndex:
    """The compiled bindings of one configuration."""

    def __init__(self, rules: tuple[RouteRule, ...], default_agent: str, revision: int = 1) -> None:
        self.rules = rules
        self.default_agent = default_agent
        #: number of the configuration, which is slow to ask for there
        self.revision = revision
        #: some places have session settings of their own
        self.has_own_scopes = any(rule.session is not None for rule in rules)
        #: by channel and account; none: any account
        self._channels: dict[str, dict[str | None, _Table]] = {}
        for rule in rules:
            # Nothing matches a blank channel or a blank peer.
            if rule.channel and not (rule.tier == PEER and rule.peer is None):
                accounts = self._channels.get(rule.channel)
                if accounts is None:
                    accounts = self._channels[rule.channel] = {None: _Table()}
                account = None if rule.account == ANY else rule.account
                table = accounts.get(account) or accounts.setdefault(account, _Table())
                table.file(rule)

    def find(self, query: RouteQuery) -> RuleMatch | None:
        """The rule that wins a message: the first declared of the most specific tier in which any fits."""
        offers: list[Demand] | None = None
        for tier, own, every in self._asked(query):
            if own is None and every is None:
                continue
            best: RouteRule | None = None
            for entry in (own, every):
                if isinstance(entry, _Bucket):
                    offers = offers or _offers(query)
                    best = _earlier(best, _first(entry, offers))
                elif entry is not None and _meets(entry, query):
                    best = _earlier(best, entry)
            if best is not None:
                return RuleMatch(tier, best)
        return None

    def near(self, query: RouteQuery, found: RuleMatch | None) -> list[RouteRule]:
        """The rules that have to do with a message, in the order of declaration: the winner, and the first by tier.

        That is, those about its peers, its guild, its team, its account or its channel, whether they hold or not.
        """
        near = {} if found is None else {found.rule.number: found.rule}
        for _, own, every in self._asked(query):
            for entry in (own, every):
                for rule in () if entry is None else (entry,) if isinstance(entry, RouteRule) else entry.listed:
                    if len(near) < _NEAR:
                        near[rule.number] = rule
        return [near[number] for number in sorted(near)]

    def _asked(self, query: RouteQuery) -> Iterator[tuple[str, _Entry | None, _Entry | None]]:
        """What has to do with a message, by tier: for its account, and for any account."""
        accounts = self._channels.get(query.channel)
        if accounts is None:
            return
        own, every = accounts.get(query.account, _NO_TABLE), accounts[None]
        kind, peer = query.kind, query.id
        if kind is not None and peer is not None:
            yield PEER, own.peers(kind).get(peer), every.peers(kind).get(peer)
        if query.parent_kind is not None and query.parent is not None:
            parents = query.parent_kind
            yield PARENT, own.peers(parents).get(query.parent), every.peers(parents).get(query.parent)
        if kind is not None and peer is not None:
            yield WILDCARD, own.peers(kind).get(None), every.peers(kind).get(None)
        if query.guild is not None:
            yield GUILD_ROLES, own.roles.get(query.guild), every.roles.get(query.guild)
            yield GUILD, own.guilds.get(query.guild), every.guilds.get(query.guild)
        if query.team is not None:
            yield TEAM, own.teams.get(query.team), every.teams.get(query.team)
        yield ACCOUNT, own.rest, None
        yield CHANNEL, every.rest, None


def _earlier(one: RouteRule | None, other: RouteRule | None) -> RouteRule | None:
    """The one that is declared first."""
    if one is None or other is None:
        return one or other
    return one if one.number < other.number else other


def _first(bucket: _Bucket, offers: list[Demand]) -> RouteRule | None:
    """The first rule of a bucket of which all demands are met."""
    best = bucket.plain
    for offer in offers if bucket.narrow else ():
        best = _earlier(best, bucket.narrow.get(offer))
    return best


def _meets(rule: RouteRule, query: RouteQuery) -> bool:
    """Whether a message from the place that a rule is about has what it demands besides."""
    return (
        (rule.guild is None or rule.guild == query.guild)
        and (rule.team is None or rule.team == query.team)
        and (not rule.roles or any(role in query.roles for role in rule.roles))
    )


def _joined(there: _Entry | None, rule: RouteRule) -> _Entry:
    """What stands in a place after a rule is put there. One that is alone needs no bucket."""
    if there is None:
        return rule
    if isinstance(there, RouteRule):
        alone, there = there, _Bucket()
        there.add(alone)
    there.add(rule)
    return there


def _place(rule: RouteRule) -> tuple[str, str | None]:
    """The shelf of a rule, and the id there."""
    tier = rule.tier
    if tier in (PEER, WILDCARD):
        return "people" if rule.direct else "groups", rule.peer
    if tier in (GUILD_ROLES, GUILD):
        return "roles" if tier == GUILD_ROLES else "guilds", rule.guild
    return ("teams", rule.team) if tier == TEAM else ("rest", None)


def _demands(rule: RouteRule) -> list[Demand]:
    """What a rule wants on top of what it is about: nothing, or any one of these."""
    tier = rule.tier
    guild = rule.guild if tier in (PEER, WILDCARD) else None
    team = rule.team if tier != TEAM else None
    if rule.roles:
        return [(guild, team, role) for role in rule.roles]
    return [] if guild is None and team is None else [(guild, team, None)]


def _offers(query: RouteQuery) -> list[Demand]:
    """Every combination of guild, team and role that a message meets; none stands for: not demanded."""
    guilds = (None,) if query.guild is None else (None, query.guild)
    teams = (None,) if query.team is None else (None, query.team)
    return list(product(guilds, teams, (None, *query.roles)))


@while_it_lives
def index_of(config: GatewayConfig) -> RouteIndex:
    """The index of a configuration. It is made at the first question, and kept as long as the configuration."""
    return RouteIndex(tuple(rules_of(config)), config.default_agent, config.revision)
