"""Channels: the rules of each platform, and the contract of adapters."""

from functools import lru_cache

from trunkline.core.channels.adapter import (
    Actions,
    ChannelAdapter,
    Directory,
    Edits,
    InboundStream,
    Queries,
    Reactions,
    Readiness,
    Ready,
    Resolved,
)
from trunkline.core.channels.capabilities import check_capabilities, check_poll, for_action, require, require_action
from trunkline.core.channels.platforms.bluebubbles import BlueBubbles
from trunkline.core.channels.platforms.discord import Discord
from trunkline.core.channels.platforms.feishu import Feishu
from trunkline.core.channels.platforms.imessage import IMessage
from trunkline.core.channels.platforms.matrix import Matrix
from trunkline.core.channels.platforms.mattermost import Mattermost
from trunkline.core.channels.platforms.msteams import MsTeams
from trunkline.core.channels.platforms.nextcloud_talk import NextcloudTalk
from trunkline.core.channels.platforms.nostr import Nostr
from trunkline.core.channels.platforms.signal import Signal
from trunkline.core.channels.platforms.slack import Slack
from trunkline.core.channels.platforms.telegram import Telegram
from trunkline.core.channels.platforms.tlon import Tlon
from trunkline.core.channels.platforms.voice import Voice
from trunkline.core.channels.platforms.whatsapp import WhatsApp
from trunkline.core.channels.platforms.zalo import Zalo
from trunkline.core.channels.platforms.zalouser import ZaloPersonal
from trunkline.core.channels.rules import (
    ChannelRules,
    CurrentConversation,
    Hints,
    InboundPlace,
    OutboundPlace,
    ParsedTarget,
    TargetText,
)

_KNOWN = {
    rules.channel: rules
    for rules in (
        BlueBubbles(),
        Discord(),
        Feishu(),
        IMessage(),
        Matrix(),
        Mattermost(),
        MsTeams(),
        NextcloudTalk(),
        Nostr(),
        Signal(),
        Slack(),
        Telegram(),
        Tlon(),
        Voice(),
        WhatsApp(),
        Zalo(),
        ZaloPersonal(),
    )
}
#: the generic rules of platforms without a module
_generic = lru_cache(maxsize=256)(ChannelRules)


def rules_for(channel: str) -> ChannelRules:
    """The rules of a platform; a platform without a module gets the generic ones."""
    return _KNOWN.get(channel) or _generic(channel)


def known_channels() -> tuple[str, ...]:
    """The platforms that have a module here, sorted by name."""
    return tuple(sorted(_KNOWN))


__all__ = [
    "Actions",
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
    "Queries",
    "Reactions",
    "Readiness",
    "Ready",
    "Resolved",
    "TargetText",
    "check_capabilities",
    "check_poll",
    "for_action",
    "known_channels",
    "require",
    "require_action",
    "rules_for",
]
