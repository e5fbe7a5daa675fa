"""The normalised facts of a message that route rules are compared with.

Channels are in lower case, accounts canonical, ids trimmed with their case kept; blank values are None.
"""

from __future__ import annotations

import msgspec

from trunkline.core.channels import rules_for
from trunkline.core.channels.rules import DEFAULT_ACCOUNT, given
from trunkline.core.keys.openclaw import account_id
from trunkline.core.profile_rules import Profile
from trunkline.core.values import Address, ChatKind, Envelope


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
    def by_place(self) -> RouteQuery:
        """The same place without the guild, team and roles, which only inbound messages have."""
        if self.guild is None and self.team is None and not self.roles:
            return self
        return msgspec.structs.replace(self, guild=None, team=None, roles=())


def canonical_account(account: str, profile: Profile) -> str:
    """An account in canonical form; a blank one is the default account. Upstream makes a slug of it."""
    if profile.upstream:
        return account_id(account)
    return account.strip().lower() or DEFAULT_ACCOUNT


def read_query(
    profile: Profile,
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
        account=canonical_account(account, profile),
        kind=kind,
        id=given(peer),
        parent_kind=parent_kind,
        parent=given(parent),
        guild=given(guild),
        team=given(team),
        roles=roles,
    )


def query_of(envelope: Envelope, profile: Profile) -> RouteQuery:
    """The query of an inbound message."""
    place = query_at(envelope.address, profile)
    return msgspec.structs.replace(place, guild=given(envelope.guild), team=given(envelope.team), roles=envelope.roles)


def query_at(place: Address, profile: Profile) -> RouteQuery:
    """The query of a place, without a sender: an outbound message has no guild, team or roles."""
    peer, parent = _peers(place, profile)
    return read_query(
        profile,
        channel=place.channel,
        account=place.account,
        kind=place.kind,
        peer=peer,
        parent_kind=place.kind,
        parent=parent,
    )


def _peers(place: Address, profile: Profile) -> tuple[str, str | None]:
    """The ids of a conversation and of its parent: the group of a topic, the channel of a thread."""
    if place.kind is ChatKind.DIRECT:
        # A thread in a direct conversation belongs to the person.
        return place.conversation, None
    if place.thread is None:
        return place.conversation, place.parent
    if not profile.upstream:
        return f"{place.conversation}:{place.thread}", place.conversation
    # Upstream: a topic is a separate peer, while a thread is one peer with its room.
    if rules_for(place.channel).thread_word == "topic":
        return f"{place.conversation}:topic:{place.thread}", place.conversation
    return place.conversation, place.parent
