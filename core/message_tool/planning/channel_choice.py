"""Which channel a call goes to: the one it names, else that of the turn, else the only one there is."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.core.channels import known_channels
from trunkline.core.channels.rules import WEB_CHAT
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import CallContext, ChannelSource, ChosenChannel
from trunkline.core.profile_rules import Profile
from trunkline.core.reasons import Reason


def choose_call_channel(
    named: str | None, context: CallContext, served: Sequence[str], profile: Profile = Profile.TRUNKLINE
) -> ChosenChannel:
    """The channel of a call. Raises `InvalidAction`. `served`: the channels that have an adapter."""
    others = [one for one in served if one != WEB_CHAT]
    there = others if profile.upstream else list(served)
    if named is not None:
        return ChosenChannel(name=named_channel(named, there, profile), source=ChannelSource.EXPLICIT)
    current = (context.channel or "").strip().lower()
    if current in there or (profile.upstream and current in known_channels()):
        return ChosenChannel(name=current, source=ChannelSource.CURRENT)
    if len(others or there) == 1:
        return ChosenChannel(name=(others or there)[0], source=ChannelSource.ONLY)
    if not there:
        raise _wrong("Channel is required (no configured channels detected).")
    raise _wrong(f"Channel is required when multiple channels are configured: {', '.join(there)}")


def named_channel(named: str, served: Sequence[str], profile: Profile = Profile.TRUNKLINE) -> str:
    """The channel that a call names. Raises `InvalidAction` if nothing serves it."""
    name = named.strip().lower()
    known = name in known_channels()
    # Upstream accepts a channel that it knows, and fails later if nothing serves it.
    if name in served or (known and profile.upstream):
        return name
    remedy = f"There are: {', '.join(served)}." if served else "None is served."
    raise _wrong(f"Channel is unavailable: {name}" if known else f"Unknown channel: {name[:60]}", remedy)


def _wrong(sentence: str, remedy: str = "") -> InvalidAction:
    return InvalidAction(sentence, Reason.UNKNOWN_CHANNEL, remedy=remedy)
