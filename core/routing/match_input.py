"""What a message shows to the route bindings: one plain value, in the form in which everything is compared.

Channels are folded, accounts are canonical, ids are trimmed and keep their case; what is blank is not there.
"""

from __future__ import annotations

import msgspec

from trunkline.core.channels import rules_for
from trunkline.core.channels.rules import DEFAULT_ACCOUNT, given
from trunkline.core.keys.openclaw import account_id
from trunkline.core.profiles import Profile
from trunkline.core.values import Address, ChatKind, Envelope


class RouteQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message, as bindings see it. `read_query`, `query_of` and `query_at` make it."""

    channel: str
    account: str = DEFAULT_ACCOUNT
    #: none: the message comes from no conversation at all
    kind: ChatKind | None = None
    id: str | None = None
    #: what the conversation hangs under: a thread's channel, a topic's group
    parent_kind: ChatKind | None = None
    parent: str | None = None
    guild: str | None = None
    team: str | None = None
    roles: tuple[str, ...] = ()

    @property
    def by_place(self) -> RouteQuery:
        """The same place, without what only an inbound message tells."""
        if self.guild is None and self.team is None and not self.roles:
            return self
        return msgspec.structs.replace(self, guild=None, team=None, roles=())


def canonical_account(account: str, profile: Profile) -> str:
    """An account as it is compared; none means the default one. Upstream makes a slug of it."""
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
    """A query from texts as they come."""
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
    place = envelope.address
    peer, parent = _peers(place, profile)
    return read_query(
        profile,
        channel=place.channel,
        account=place.account,
        kind=place.kind,
        peer=peer,
        parent_kind=place.kind,
        parent=parent,
        guild=envelope.guild,
        team=envelope.team,
        roles=envelope.roles,
    )


def query_at(place: Address, profile: Profile) -> RouteQuery:
    """The query of a place. Nobody speaks: an outbound message has no guild, no team and no roles."""
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
    """The id of a conversation and of what it hangs under: a topic under its group, a thread under its channel."""
    if place.kind is ChatKind.DIRECT:
        # A thread with a person belongs to the person.
        return place.conversation, None
    if place.thread is None:
        return place.conversation, place.parent
    if not profile.upstream:
        return f"{place.conversation}:{place.thread}", place.conversation
    # Upstream: a topic is a peer of its own, while a thread is one peer with its room.
    if rules_for(place.channel).thread_word == "topic":
        return f"{place.conversation}:topic:{place.thread}", place.conversation
    return place.conversation, place.parent
