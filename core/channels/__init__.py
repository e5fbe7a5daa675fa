"""Channels: what is particular to a platform, one file each, and the contract of adapters."""

from core.channels import discord, slack, telegram
from core.channels.adapter import ChannelAdapter, InboundStream
from core.channels.base import ChannelRules, Current, Hints, Placement, Target, Written

_KNOWN: dict[str, ChannelRules] = {rules.channel: rules for rules in (discord.RULES, slack.RULES, telegram.RULES)}
#: platforms without a file, as they are asked for
_GENERIC: dict[str, ChannelRules] = {}
_MOST_GENERIC = 256


def rules_for(channel: str) -> ChannelRules:
    """The rules of a platform; a platform without a file gets the generic ones."""
    rules = _KNOWN.get(channel) or _GENERIC.get(channel)
    if rules is None:
        rules = ChannelRules(channel)
        if len(_GENERIC) < _MOST_GENERIC:
            _GENERIC[channel] = rules
    return rules


def known_channels() -> tuple[str, ...]:
    """The platforms that have a file here, in order of name."""
    return tuple(sorted(_KNOWN))


__all__ = [
    "ChannelAdapter",
    "ChannelRules",
    "Current",
    "Hints",
    "InboundStream",
    "Placement",
    "Target",
    "Written",
    "known_channels",
    "rules_for",
]
