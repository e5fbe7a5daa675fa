"""From a place to its session key: one rule for inbound messages, outbound messages and mirrors (invariant S1).

For one agent, a place has the same key in every direction. Direct conversations follow the DM scope and the identity
links; groups and channels follow the group scope, which by default gives each its own session. The settings of a place
are chosen in `trunkline.core.routing.scopes`.
"""

from trunkline.core.channels import ChannelRulebook, ChannelRules
from trunkline.core.config import DmScope, GroupScope, SessionConfig
from trunkline.core.identity_memo import for_a_few
from trunkline.core.keys import SessionKey
from trunkline.core.profile_rules import OURS, Profile, ProfileRules, profile_rules
from trunkline.core.values import Address, ChatKind

_WITH_CHANNEL = (DmScope.PER_CHANNEL_PEER, DmScope.PER_ACCOUNT_CHANNEL_PEER)
_Links = dict[str, tuple[int, str]]


class SessionKeyRules:
    """What a profile decides of the session keys of places."""

    def scope_of(self, kind: ChatKind, config: SessionConfig) -> DmScope | GroupScope:
        """The scope that applies to a kind of conversation."""
        return config.dm_scope if kind is ChatKind.DIRECT else config.group_scope

    def account_of_group(self, account: str) -> str | None:
        """The account in the key of a group; None: accounts in one group share its session."""
        return account

    def main_session(self, agent: str, thread: tuple[str, str] | None) -> SessionKey:
        """The key of a direct conversation under the scope ``main``."""
        return SessionKey(agent=agent)

    def linked_ids(self, peer: str, rules: ChannelRules) -> tuple[tuple[str, ...], bool]:
        """The ids by which identity links may mean a peer, and whether case counts in them.

        Ids are compared as the platform distinguishes them, and also in their folded form (a WhatsApp number and its
        JID).
        """
        return (peer, rules.fold(ChatKind.DIRECT, peer)), rules.case_sensitive


def session_key_for(
    agent: str, address: Address, config: SessionConfig, profile: Profile = Profile.TRUNKLINE
) -> SessionKey:
    """The session key of a place for an agent under the given settings."""
    return key_of_place(agent, address, config, profile_rules(profile))


def key_of_place(agent: str, address: Address, config: SessionConfig, by: ProfileRules) -> SessionKey:
    """The session key of a place for an agent, by the rules of a profile."""
    decides, rules, kind = by[SessionKeyRules], by[ChannelRulebook].of(address.channel), address.kind
    scope = decides.scope_of(kind, config)
    if scope is GroupScope.MAIN:
        return SessionKey(agent=agent)
    thread = rules.key_thread(address)
    if scope is DmScope.MAIN:
        return decides.main_session(agent, thread)
    peer = rules.fold(kind, address.conversation)
    if scope is GroupScope.PER_GROUP:
        account = decides.account_of_group(address.account)
        return SessionKey(agent=agent, channel=address.channel, account=account, kind=kind, peer=peer, thread=thread)
    linked = linked_name(rules, address.conversation, config.identity_links, by)
    return SessionKey(
        agent=agent,
        channel=address.channel if scope in _WITH_CHANNEL else None,
        account=address.account if scope is DmScope.PER_ACCOUNT_CHANNEL_PEER else None,
        kind=kind,
        peer=linked or peer,
        linked=linked is not None,
        thread=thread,
    )


def linked_name(
    rules: ChannelRules, peer: str, links: dict[str, tuple[str, ...]], by: ProfileRules = OURS
) -> str | None:
    """The canonical name that identity links give a peer, or None. The link declared first wins.

    `links` is read once and must not change afterwards.
    """
    own = peer.strip()
    if not links or not own:
        return None
    exact, folded = _linked(links)
    spellings, sensitive = by[SessionKeyRules].linked_ids(own, rules)
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
