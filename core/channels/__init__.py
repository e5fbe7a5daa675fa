"""Channels: the rules of each platform, and the contract of adapters."""

from trunkline.core.channels.account_adapter import TextAndMediaChannel
from trunkline.core.channels.adapter import (
    Actions,
    ChannelAdapter,
    Directory,
    InboundStream,
    LateOutcome,
    LateOutcomes,
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
__all__ += ["DirectoryEntry", "Hints", "InboundStream", "LateOutcome", "LateOutcomes", "OutboundPlace", "ParsedTarget"]
__all__ += ["PlaceReadiness", "Queries", "Readiness", "Ready", "Reopenings", "Resolved", "TargetText"]
__all__ += ["TextAndMediaChannel", "check_capabilities", "find_in_directory", "known_channels", "nearest_channel"]
__all__ += ["register_channel", "registered_channel", "require_action", "rules_for"]
