"""Channels: the rules of each platform, and the contract of adapters."""

from functools import lru_cache

from trunkline.core.channels.adapter import (
    ChannelAdapter,
    Directory,
    Edits,
    InboundStream,
    Reactions,
    Readiness,
    Ready,
    Resolved,
)
from trunkline.core.channels.capabilities import check_capabilities, check_poll, require
from trunkline.core.channels.platforms import (
    bluebubbles,
    discord,
    feishu,
    imessage,
    matrix,
    mattermost,
    msteams,
    nextcloud_talk,
    nostr,
    signal,
    slack,
    telegram,
    tlon,
    voice,
    whatsapp,
    zalo,
    zalouser,
)
from trunkline.core.channels.rules import (
    ChannelRules,
    CurrentConversation,
    Hints,
    InboundPlace,
    OutboundPlace,
    ParsedTarget,
    TargetText,
)

_ALL: tuple[ChannelRules, ...] = (
    bluebubbles.RULES,
    discord.RULES,
    feishu.RULES,
    imessage.RULES,
    matrix.RULES,
    mattermost.RULES,
    msteams.RULES,
    nextcloud_talk.RULES,
    nostr.RULES,
    signal.RULES,
    slack.RULES,
    telegram.RULES,
    tlon.RULES,
    voice.RULES,
    whatsapp.RULES,
    zalo.RULES,
    zalouser.RULES,
)
_KNOWN = {rules.channel: rules for rules in _ALL}
#: the generic rules of platforms without a module
_generic = lru_cache(maxsize=256)(ChannelRules)


def rules_for(channel: str) -> ChannelRules:
    """The rules of a platform; a platform without a module gets the generic ones."""
    return _KNOWN.get(channel) or _generic(channel)


def known_channels() -> tuple[str, ...]:
    """The platforms that have a module here, sorted by name."""
    return tuple(sorted(_KNOWN))


__all__ = [
    "ChannelAdapter",
    "ChannelRules",
    "CurrentConversation",
    "Directory",
    "Edits",
    "Hints",
    "InboundPlace",
    "InboundStream",
    "OutboundPlace",
    "ParsedTarget",
    "Reactions",
    "Readiness",
    "Ready",
    "Resolved",
    "TargetText",
    "check_capabilities",
    "check_poll",
    "known_channels",
    "require",
    "rules_for",
]
