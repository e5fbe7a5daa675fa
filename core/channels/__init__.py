"""Channels: what is particular to a platform, one file each, and the contract of adapters."""

from core.channels import discord, telegram
from core.channels.adapter import ChannelAdapter, InboundStream
from core.channels.base import ChannelRules

_KNOWN = {rules.channel: rules for rules in (discord.RULES, telegram.RULES)}


def rules_for(channel: str) -> ChannelRules:
    """The rules of a platform; a platform without a file gets the generic ones."""
    return _KNOWN.get(channel) or ChannelRules(channel=channel)


__all__ = ["ChannelAdapter", "ChannelRules", "InboundStream", "rules_for"]
