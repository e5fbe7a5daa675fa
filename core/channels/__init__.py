"""Channels: the rules of each platform, and the contract of adapters."""

from trunkline.core.channels.adapter import (
    Actions,
    ChannelAdapter,
    Directory,
    InboundStream,
    PlaceReadiness,
    Queries,
    Readiness,
    Ready,
    Recipients,
    Resolved,
)
from trunkline.core.channels.capabilities import (
    check_capabilities,
    check_poll,
    for_action,
    for_notice,
    require,
    require_action,
)
from trunkline.core.channels.directory import DirectoryEntry, find_in_directory
from trunkline.core.channels.registry import (
    ChannelRulebook,
    known_channels,
    register_channel,
    registered_channel,
    rules_for,
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
from trunkline.core.channels.text_and_media import TextAndMediaChannel

__all__ = [
    "Actions",
    "ChannelAdapter",
    "ChannelRulebook",
    "ChannelRules",
    "CurrentConversation",
    "Directory",
    "DirectoryEntry",
    "Hints",
    "InboundPlace",
    "InboundStream",
    "OutboundPlace",
    "ParsedTarget",
    "PlaceReadiness",
    "Queries",
    "Readiness",
    "Ready",
    "Recipients",
    "Resolved",
    "TargetText",
    "TextAndMediaChannel",
    "check_capabilities",
    "check_poll",
    "find_in_directory",
    "for_action",
    "for_notice",
    "known_channels",
    "register_channel",
    "registered_channel",
    "require",
    "require_action",
    "rules_for",
]
