"""The normalised facts of a message that route rules are compared with.

Channels are in lower case, accounts canonical, ids trimmed with their case kept; blank values are None.
"""

from sys import intern

import msgspec

from trunkline.core.channels.rules import DEFAULT_ACCOUNT, given
from trunkline.core.config import DmScope, GatewayConfig, GroupScope, RuleSessionConfig
from trunkline.core.values import Address, ChatKind, Envelope

#: in a rule: every account, or every peer of a kind
ANY = "*"


class RouteQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The facts of a message that route rules look at. Made by `read_query`, `query_of` and `query_at`."""

    channel: str
    account: str = DEFAULT_ACCOUNT
    #: None: the message comes from no conversation
    kind: ChatKind | None = None
    id: str | None = None
    #: the parent of the conversation: a thread's channel, a topic's group
    parent_kind: ChatKind | None = None
    parent: str | None = None
    guild: str | None = None
    team: str | None = None
    roles: tuple[str, ...] = ()

    @property
    def by_place(self) -> "RouteQuery":
        """The same place without the guild, team and roles, which only inbound messages have."""
        if self.guild is None and self.team is None and not self.roles:
            return self
        return msgspec.structs.replace(self, guild=None, team=None, roles=())


class MatchRules:
    """What a profile decides of the facts of messages and route rules before they are compared."""

    def account(self, account: str) -> str:
        """An account in canonical form; a blank one is the default account."""
        return account.strip().lower() or DEFAULT_ACCOUNT

    def peers(self, place: Address) -> tuple[str, str | None]:
        """The ids of a conversation and of its parent: the group of a topic, the channel of a thread."""
        if place.kind is ChatKind.DIRECT:
            # A thread in a direct conversation belongs to the person.
            return place.conversation, None
        if place.thread is None:
            return place.conversation, place.parent
        return self.threaded(place, place.thread)

    def threaded(self, place: Address, thread: str) -> tuple[str, str | None]:
        """The ids of a thread in a room, and of its parent."""
        return f"{place.conversation}:{thread}", place.conversation

    def agent(self, named: str, config: GatewayConfig) -> str:
        """The agent that a route rule names; the configuration has checked that it exists."""
        # Interned: the agent of a rule is read for each message.
        return intern(named)

    def required(self, text: str) -> str | None:
        """The guild or team that a rule names. Nothing matches a blank one."""
        return text.strip()

    def is_wildcard(self, peer: str) -> bool:
        """Whether a rule's peer means every peer of its kind."""
        return peer.strip() == ANY

    def scopes(self, session: RuleSessionConfig) -> tuple[DmScope | None, GroupScope | None]:
        """The scopes that a rule sets itself."""
        return session.dm_scope, session.group_scope


def read_query(
    rules: MatchRules,
    *,
    channel: str,
    account: str,
    kind: ChatKind | None = None,
    peer: str | None = None,
    parent_kind: ChatKind | None = None,
    parent: str | None = None,
    guild: str | None = None,
    team: str | None = None,
    roles: tuple[str, ...] = (),
) -> RouteQuery:
    """A query from raw texts."""
    return RouteQuery(
        channel=channel.strip().lower(),
        account=rules.account(account),
        kind=kind,
        id=given(peer),
        parent_kind=parent_kind,
        parent=given(parent),
        guild=given(guild),
        team=given(team),
        roles=roles,
    )


def query_of(envelope: Envelope, rules: MatchRules) -> RouteQuery:
    """The query of an inbound message."""
    place = query_at(envelope.address, rules)
    return msgspec.structs.replace(place, guild=given(envelope.guild), team=given(envelope.team), roles=envelope.roles)


def query_at(place: Address, rules: MatchRules) -> RouteQuery:
    """The query of a place, without a sender: an outbound message has no guild, team or roles."""
    peer, parent = rules.peers(place)
    return read_query(
        rules,
        channel=place.channel,
        account=place.account,
        kind=place.kind,
        peer=peer,
        parent_kind=place.kind,
        parent=parent,
    )
