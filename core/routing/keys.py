"""From a place to its session key: the one rule for inbound, outbound and mirroring (invariant S1).

Whoever answers at a place (`agent`), the same place gives the same key in every direction. Direct conversations follow
the DM scope and the identity links; groups and channels follow the group scope, which by default gives each its own
session.
"""

from __future__ import annotations

from core.channels import ChannelRules, rules_for
from core.config import DmScope, GroupScope, SessionConfig
from core.keys import SessionKey
from core.profiles import Profile
from core.values import Address, ChatKind

_WITH_CHANNEL = (DmScope.PER_CHANNEL_PEER, DmScope.PER_ACCOUNT_CHANNEL_PEER)


def linked_name(rules: ChannelRules, peer: str, links: dict[str, tuple[str, ...]], profile: Profile) -> str | None:
    """The canonical name under which a peer is linked over platforms, or none. First declared wins.

    Ids are compared as the platform tells them apart: without case only where case means nothing.
    """
    fold = str.strip if rules.case_sensitive and not profile.upstream else _folded
    wanted = (fold(peer), fold(f"{rules.channel}:{peer}"))
    for name, ids in links.items():
        if name.strip() and any(fold(entry) in wanted for entry in ids):
            return name.strip().lower()
    return None


def _folded(text: str) -> str:
    return text.strip().lower()


def session_key_for(
    agent: str, address: Address, config: SessionConfig, profile: Profile = Profile.TRUNKLINE
) -> SessionKey:
    """The session key of a place for an agent."""
    rules = rules_for(address.channel)
    peer = rules.fold(address.kind, address.conversation, profile)
    thread = rules.key_thread(address, profile)
    if address.kind is not ChatKind.DIRECT:
        if config.group_scope is GroupScope.MAIN:
            return SessionKey(agent=agent)
        return SessionKey(
            agent=agent,
            channel=address.channel,
            # Upstream: two accounts in one group share a session.
            account=None if profile.upstream else address.account,
            kind=address.kind,
            peer=peer,
            thread=thread,
        )
    scope = config.dm_scope
    if scope is DmScope.MAIN:
        # Upstream forks the main session for a thread of a direct conversation.
        return SessionKey(agent=agent, thread=thread if profile.upstream else None)
    linked = linked_name(rules, address.conversation, config.identity_links, profile)
    return SessionKey(
        agent=agent,
        channel=address.channel if scope in _WITH_CHANNEL else None,
        account=address.account if scope is DmScope.PER_ACCOUNT_CHANNEL_PEER else None,
        kind=ChatKind.DIRECT,
        peer=linked or peer,
        linked=linked is not None,
        thread=thread,
    )
