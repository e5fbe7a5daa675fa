"""Which channel a call goes to: the one it names, else that of the turn, else the only one there is."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.core.channels import ChannelRulebook, known_channels
from trunkline.core.channels.rules import WEB_CHAT
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import CallContext, ChannelSource, ChosenChannel
from trunkline.core.profile_rules import OURS, ProfileRules
from trunkline.core.reasons import Reason


class ChannelChoice:
    """What a profile decides of the channels of calls."""

    def accepts(self, name: str, served: Sequence[str]) -> bool:
        """Whether a call may go to a channel."""
        return name in served


def choose_call_channel(
    named: str | None, context: CallContext, served: Sequence[str], by: ProfileRules = OURS
) -> ChosenChannel:
    """The channel of a call. Raises `InvalidAction`. `served`: the channels that have an adapter."""
    there = list(filter(by[ChannelRulebook].delivers, served))
    others = [one for one in there if one != WEB_CHAT]
    if named is not None:
        return ChosenChannel(name=named_channel(named, there, by), source=ChannelSource.EXPLICIT)
    current = (context.channel or "").strip().lower()
    if by[ChannelChoice].accepts(current, there):
        return ChosenChannel(name=current, source=ChannelSource.CURRENT)
    if len(others or there) == 1:
        return ChosenChannel(name=(others or there)[0], source=ChannelSource.ONLY)
    if not there:
        raise _wrong("Channel is required (no configured channels detected).")
    raise _wrong(f"Channel is required when multiple channels are configured: {', '.join(there)}")


def named_channel(named: str, served: Sequence[str], by: ProfileRules = OURS) -> str:
    """The channel that a call names. Raises `InvalidAction` if nothing serves it."""
    name = named.strip().lower()
    if by[ChannelChoice].accepts(name, served):
        return name
    known = name in known_channels()
    remedy = f"There are: {', '.join(served)}." if served else "None is served."
    raise _wrong(f"Channel is unavailable: {name}" if known else f"Unknown channel: {name[:60]}", remedy)


def _wrong(sentence: str, remedy: str = "") -> InvalidAction:
    return InvalidAction(sentence, Reason.UNKNOWN_CHANNEL, remedy=remedy)
