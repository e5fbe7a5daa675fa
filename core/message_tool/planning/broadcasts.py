"""Plans a broadcast: one send for each channel and target, each of which is resolved and judged by itself."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import ActionCall, CallContext, ChannelSource, ChosenChannel, PlannedCall
from trunkline.core.message_tool.planning.channel_choice import named_channel
from trunkline.core.reasons import Reason

#: names every channel
_ALL = "all"


def plan_broadcast(call: ActionCall, context: CallContext, config: GatewayConfig, served: Sequence[str]) -> PlannedCall:
    """The plan of a broadcast, to the channel that it names or else to all. Raises `InvalidAction`."""
    settings = config.message_tool(context.agent).broadcast
    if not settings.enabled:
        sentence = "Broadcast is disabled. Set tools.message.broadcast.enabled to true."
        raise InvalidAction(sentence, Reason.ACTION_DISABLED)
    if not call.targets:
        raise InvalidAction("targets required", Reason.NO_TARGET, remedy="Give a list of targets.")
    there = list(served)
    if not there:
        raise InvalidAction("Broadcast requires at least one configured channel.", Reason.UNKNOWN_CHANNEL)
    hint = None if call.channel is None or call.channel.lower() == _ALL else call.channel
    channels = there if hint is None else [named_channel(hint, there, config.rules)]
    source = ChannelSource.ONLY if hint is None and len(there) == 1 else ChannelSource.EXPLICIT
    return PlannedCall(call=call, channel=ChosenChannel(name=channels[0], source=source), channels=tuple(channels))


def check_targets(planned: PlannedCall, most: int) -> None:
    """Raise `InvalidAction` for a target that is named twice, or too many sends."""
    targets = planned.call.targets
    twice = sorted({target for target in targets if targets.count(target) > 1})
    if twice:
        raise InvalidAction(f"targets: named twice: {', '.join(twice)}", Reason.BAD_TARGET)
    if (sends := len(targets) * len(planned.channels)) > most:
        sentence = f"Broadcast makes at most {most} sends, and this one would make {sends}."
        remedy = "Give fewer targets, name one channel, or raise tools.message.broadcast.max_sends."
        raise InvalidAction(sentence, Reason.BAD_TARGET, remedy=remedy)
