"""The index of route bindings: the winner of a message is looked up, however many bindings there are.

Claims are filed by channel and account, there by what their tier is about (a peer, a guild, ...). Where several are
about the same, a bucket knows the first one without further demands, and the first one for each combination of guild,
team and role that is demanded besides. A message asks for the few combinations that it can meet, so that the work
depends on the message (the roles of the sender), never on the number of bindings. Most of many bindings are cold in
memory: on the way to a claim lie as few objects as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import msgspec

from core.config import GatewayConfig
from core.routing.claims import (
    ACCOUNT,
    ANY,
    CHANNEL,
    GUILD,
    GUILD_ROLES,
    PARENT,
    PEER,
    TEAM,
    WILDCARD,
    Claim,
    claims_of,
)
from core.routing.memo import while_it_lives
from core.routing.query import RouteQuery
from core.values import ChatKind

#: how many claims an explanation of what is near lists at most, and so a bucket
_NEAR = 32

#: guild, team and role that a claim wants on top of what it is filed under
Demand = tuple[str | None, str | None, str | None]


class Found(NamedTuple):
    """The claim that wins, and the tier in which it does."""

    tier: str
    claim: Claim


class _Bucket(msgspec.Struct, gc=False):
    """Several claims on one peer, one guild, one team..., in the order of declaration."""

    #: the first that demands nothing more
    plain: Claim | None = None
    #: the first for each further demand
    narrow: dict[Demand, Claim] = msgspec.field(default_factory=dict[Demand, Claim])
    #: the first few, for explanations
    listed: list[Claim] = msgspec.field(default_factory=list[Claim])

    def add(self, claim: Claim, demands: list[Demand]) -> None:
        """File a claim under each of its demands; one without any wins over all that come after it."""
        if len(self.listed) < _NEAR:
            self.listed.append(claim)
        if self.plain is not None:
            return
        if not demands:
            self.plain = claim
        for demand in demands:
            self.narrow.setdefault(demand, claim)


#: a claim without further demands that is alone needs no bucket
_Entry = _Bucket | Claim
_Shelf = dict[str, _Entry]
#: a shelf with nothing on it, as most are
_EMPTY: _Shelf = {}
#: what stands on a shelf where no id tells things apart
_PERSON, _GROUP, _ALL = "person", "group", "all"


class _Table:
    """The claims for one account of a channel, or for any: shelves, by id."""

    __slots__ = ("groups", "guilds", "people", "rest", "roles", "teams", "wild")

    def __init__(self) -> None:
        #: one peer
        self.people = self.groups = _EMPTY
        #: every peer of a kind
        self.wild = _EMPTY
        #: one guild, with roles and without
        self.roles = self.guilds = _EMPTY
        self.teams = _EMPTY
        #: neither peer nor guild nor team
        self.rest = _EMPTY

    def peers(self, kind: ChatKind) -> _Shelf:
        """The shelf of one kind; group and channel are one."""
        return self.people if kind is ChatKind.DIRECT else self.groups

    def file(self, claim: Claim, tier: str) -> None:
        """Put a claim where a message asks for it."""
        name, about = _place(claim, tier)
        shelf: _Shelf = getattr(self, name)
        if shelf is _EMPTY:
            shelf = {}
            setattr(self, name, shelf)
        there, demands = shelf.get(about), _demands(claim, tier)
        if there is None and not demands:
            shelf[about] = claim
            return
        bucket = there if isinstance(there, _Bucket) else _Bucket()
        if isinstance(there, Claim):
            bucket.add(there, [])
        bucket.add(claim, demands)
        shelf[about] = bucket


_NO_TABLE = _Table()


class RouteIndex:
    """The compiled bindings of one configuration."""

    def __init__(self, claims: tuple[Claim, ...], default_agent: str) -> None:
        self.claims = claims
        self.default_agent = default_agent
        #: some places have session settings of their own
        self.has_own_scopes = any(claim.session is not None for claim in claims)
        self._channels: dict[str, dict[str, _Table]] = {}
        for claim in claims:
            tier = claim.tier
            # Nothing matches a blank channel or a blank peer.
            if claim.channel and not (tier == PEER and claim.peer is None):
                accounts = self._channels.setdefault(claim.channel, {})
                table = accounts.get(claim.account) or accounts.setdefault(claim.account, _Table())
                table.file(claim, tier)

    def find(self, query: RouteQuery) -> Found | None:
        """The claim that wins a message: the first declared of the most specific tier in which any fits."""
        offers: list[Demand] | None = None
        for tier, *entries in self._asked(query):
            best: Claim | None = None
            for entry in entries:
                if not isinstance(entry, _Bucket):
                    best = _earlier(best, entry)
                    continue
                best = _earlier(best, entry.plain)
                offers = offers or _offers(query)
                for offer in offers if entry.narrow else ():
                    best = _earlier(best, entry.narrow.get(offer))
            if best is not None:
                return Found(tier, best)
        return None

    def near(self, query: RouteQuery, found: Found | None) -> list[Claim]:
        """The claims that have to do with a message, in the order of declaration: the winner, and the first by tier.

        That is, those about its peers, its guild, its team, its account or its channel, whether they hold or not.
        """
        near = {} if found is None else {found.claim.number: found.claim}
        for _, *entries in self._asked(query):
            for entry in entries:
                for claim in () if entry is None else (entry,) if isinstance(entry, Claim) else entry.listed:
                    if len(near) < _NEAR:
                        near[claim.number] = claim
        return [near[number] for number in sorted(near)]

    def _asked(self, query: RouteQuery) -> Iterator[tuple[str, _Entry | None, _Entry | None]]:
        """What has to do with a message, by tier: for its account, and for any account."""
        accounts = self._channels.get(query.channel)
        if accounts is None:
            return
        own, every = accounts.get(query.account, _NO_TABLE), accounts.get(ANY, _NO_TABLE)
        kind, peer = query.kind, query.id
        if kind is not None and peer is not None:
            yield PEER, own.peers(kind).get(peer), every.peers(kind).get(peer)
        if query.parent_kind is not None and query.parent is not None:
            parents = query.parent_kind
            yield PARENT, own.peers(parents).get(query.parent), every.peers(parents).get(query.parent)
        if kind is not None and peer is not None:
            about = _PERSON if kind is ChatKind.DIRECT else _GROUP
            yield WILDCARD, own.wild.get(about), every.wild.get(about)
        if query.guild is not None:
            yield GUILD_ROLES, own.roles.get(query.guild), every.roles.get(query.guild)
            yield GUILD, own.guilds.get(query.guild), every.guilds.get(query.guild)
        if query.team is not None:
            yield TEAM, own.teams.get(query.team), every.teams.get(query.team)
        yield ACCOUNT, own.rest.get(_ALL), None
        yield CHANNEL, every.rest.get(_ALL), None


def _earlier(one: Claim | None, other: Claim | None) -> Claim | None:
    """The one that is declared first."""
    if one is None or other is None:
        return one or other
    return one if one.number < other.number else other


def _place(claim: Claim, tier: str) -> tuple[str, str]:
    """The shelf of a claim, and the id there."""
    if tier == PEER:
        return "people" if claim.direct else "groups", claim.peer or ""
    if tier == WILDCARD:
        return "wild", _PERSON if claim.direct else _GROUP
    if tier in (GUILD_ROLES, GUILD):
        return "roles" if tier == GUILD_ROLES else "guilds", claim.guild or ""
    return ("teams", claim.team or "") if tier == TEAM else ("rest", _ALL)


def _demands(claim: Claim, tier: str) -> list[Demand]:
    """What a claim wants on top of what its bucket is about: nothing, or any one of these."""
    guild = claim.guild if tier in (PEER, WILDCARD) else None
    team = claim.team if tier != TEAM else None
    if claim.roles:
        return [(guild, team, role) for role in claim.roles]
    return [] if guild is None and team is None else [(guild, team, None)]


def _offers(query: RouteQuery) -> list[Demand]:
    """Every combination of guild, team and role that a message meets; none stands for: not demanded."""
    guilds = (None,) if query.guild is None else (None, query.guild)
    teams = (None,) if query.team is None else (None, query.team)
    return list(product(guilds, teams, (None, *query.roles)))


@while_it_lives
def index_of(config: GatewayConfig) -> RouteIndex:
    """The index of a configuration. It is made at the first question, and kept as long as the configuration."""
    return RouteIndex(tuple(claims_of(config)), config.default_agent)
