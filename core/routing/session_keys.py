"""From a place to its session key: one rule for inbound messages, outbound messages and mirrors (invariant S1).

For one agent, a place has the same key in every direction. Direct conversations follow the DM scope and the identity
links; groups and channels follow the group scope, which by default gives each its own session. The settings of a place
are chosen in `trunkline.core.routing.scopes`.
"""

from __future__ import annotations

from trunkline.core.channels import ChannelRules, rules_for
from trunkline.core.config import DmScope, GroupScope, SessionConfig
from trunkline.core.identity_memo import for_a_few
from trunkline.core.keys import SessionKey
from trunkline.core.profile_rules import Profile
from trunkline.core.values import Address, ChatKind

_WITH_CHANNEL = (DmScope.PER_CHANNEL_PEER, DmScope.PER_ACCOUNT_CHANNEL_PEER)


def scope_of(kind: ChatKind, config: SessionConfig, profile: Profile = Profile.TRUNKLINE) -> DmScope | GroupScope:
    """The scope that applies to a kind of conversation."""
    if kind is ChatKind.DIRECT:
        return config.dm_scope
    # Upstream of March has no group scope: each group has its own session.
    return GroupScope.PER_GROUP if profile is Profile.OPENCLAW else config.group_scope


def session_key_for(
    agent: str, address: Address, config: SessionConfig, profile: Profile = Profile.TRUNKLINE
) -> SessionKey:
    """The session key of a place for an agent under the given settings."""
    rules, kind = rules_for(address.channel), address.kind
    scope = scope_of(kind, config, profile)
    if scope is GroupScope.MAIN:
        return SessionKey(agent=agent)
    thread = rules.key_thread(address, profile)
    peer = rules.fold(kind, address.conversation, profile)
    if scope is GroupScope.PER_GROUP:
        # Upstream: two accounts in one group share a session.
        account = None if profile.upstream else address.account
        return SessionKey(agent=agent, channel=address.channel, account=account, kind=kind, peer=peer, thread=thread)
    if scope is DmScope.MAIN:
        # Upstream forks the main session for a thread of a direct conversation.
        return SessionKey(agent=agent, thread=thread if profile.upstream else None)
    linked = linked_name(rules, address.conversation, config.identity_links, profile)
    return SessionKey(
        agent=agent,
        channel=address.channel if scope in _WITH_CHANNEL else None,
        account=address.account if scope is DmScope.PER_ACCOUNT_CHANNEL_PEER else None,
        kind=kind,
        peer=linked or peer,
        linked=linked is not None,
        thread=thread,
    )


# ---------------------------------------------------------------- identity links

_Links = dict[str, tuple[int, str]]


def linked_name(rules: ChannelRules, peer: str, links: dict[str, tuple[str, ...]], profile: Profile) -> str | None:
    """The canonical name that identity links give a peer, or None. The link declared first wins.

    Ids are compared as the platform distinguishes them: case-insensitively only where case is insignificant, and also
    in their folded form (a WhatsApp number and its JID). `links` is read once and must not change afterwards.
    """
    own = peer.strip()
    if not links or not own:
        return None
    exact, folded = _linked(links)
    spellings = (own,) if profile.upstream else (own, rules.fold(ChatKind.DIRECT, own))
    sensitive = rules.case_sensitive and not profile.upstream
    first: tuple[int, str] | None = None
    for text in spellings:
        for entry in (text, f"{rules.channel}:{text}"):
            link = exact.get(entry) if sensitive else folded.get(entry.lower())
            if link is not None and (first is None or link < first):
                first = link
    return None if first is None else first[1]


@for_a_few
def _linked(links: dict[str, tuple[str, ...]]) -> tuple[_Links, _Links]:
    """Position and canonical name of the first link of each id: as written, and in lower case."""
    exact: _Links = {}
    folded: _Links = {}
    for position, (name, ids) in enumerate(links.items()):
        link = (position, name.strip().lower())
        for entry in ids if link[1] else ():
            exact.setdefault(entry.strip(), link)
            folded.setdefault(entry.strip().lower(), link)
    return exact, folded
