"""Channels: the rules of each platform, and the contract of adapters."""

from trunkline.core.channels.account_adapter import TextAndMediaChannel
from trunkline.core.channels.adapter import (
    Actions,
    ChannelAdapter,
    Directory,
    InboundStream,
    PlaceReadiness,
    Queries,
    Readiness,
    Ready,
    Reopenings,
    Resolved,
)
from trunkline.core.channels.capabilities import check_capabilities, require_action
from trunkline.core.channels.directory import DirectoryEntry, find_in_directory
from trunkline.core.channels.registry import (
    ChannelRulebook,
    known_channels,
    nearest_channel,
    register_channel,
    registered_channel,
    rules_for,
)
from trunkline.core.channels.rules import (
    ChannelRules,
    CurrentConversation,
    Hints,
    OutboundPlace,
    ParsedTarget,
    TargetText,
)

__all__ = ["Actions", "ChannelAdapter", "ChannelRulebook", "ChannelRules", "CurrentConversation", "Directory"]
__all__ += ["DirectoryEntry", "Hints", "InboundStream", "OutboundPlace", "ParsedTarget", "PlaceReadiness", "Queries"]
__all__ += ["Readiness", "Ready", "Reopenings", "Resolved", "TargetText", "TextAndMediaChannel", "check_capabilities"]
__all__ += ["find_in_directory", "known_channels", "nearest_channel", "register_channel", "registered_channel"]
__all__ += ["require_action", "rules_for"]
