"""The steps of a call that need no platform: parse, broadcast, target rules, channel; then, at dispatch, what it needs.

The order is part of the contract: it decides which of two mistakes an agent gets to know (docs/message-tool.md).
"""

from collections.abc import Mapping, Sequence

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.channels import rules_for
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import ActionCall, CallContext, PlannedCall
from trunkline.core.message_tool.parsing.parse import parse_call
from trunkline.core.message_tool.planning.requirements import check_core, check_requirements
from trunkline.core.message_tool.planning.target_rules import choose_call_channel, choose_target, named_channel
from trunkline.core.reasons import Reason
from trunkline.core.text.model_text import CURRENT_MESSAGE
from trunkline.core.values import Capabilities

# Plans a broadcast: one send for each channel and target, each of which is resolved and judged by itself.

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
    return PlannedCall(call=call, channel=channels[0], channels=tuple(channels))


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


class BroadcastRules:
    def check(
        self, planned: PlannedCall, params: Mapping[str, object], context: CallContext, config: GatewayConfig
    ) -> None:
        """Raise `InvalidAction` for what is wrong with all of its sends, so that it is said once."""
        check_targets(planned, config.message_tool(context.agent).broadcast.max_sends)
        choose_target(planned.call.action, params, context, config.rules)
        check_core(planned.sends[0].call, config.rules)


def plan_call(
    params: Mapping[str, object], context: CallContext, config: GatewayConfig, served: Sequence[str]
) -> PlannedCall:
    """Plan a call up to the resolution of its target. Raises `InvalidAction`.

    `params`: the tool's parameters with their wire names, `action` among them. `served`: the channels that have an
    adapter. What follows in the runtime: account, attachments, target, policy, then `check_call`.
    """
    call = parse_call(params, config.rules)
    if call.reply_to == CURRENT_MESSAGE:
        call = msgspec.structs.replace(call, reply_to=context.message_id)
    if call.action is Action.BROADCAST:
        planned = plan_broadcast(call, context, config, served)
        config.rules[BroadcastRules].check(planned, params, context, config)
        return planned
    target = choose_target(call.action, params, context, config.rules)
    channel = choose_call_channel(call.channel, context, served, config.rules)
    if target.alias is not None and target.text is not None:
        text = rules_for(channel).target_by_alias(target.alias, target.text)
        target = msgspec.structs.replace(target, text=text)
    return PlannedCall(call=call, channel=channel, target=target)


def check_call(planned: PlannedCall, config: GatewayConfig, capabilities: Capabilities | None = None) -> None:
    """Check, right before an action is carried out, that its channel has it and that nothing is missing.

    `capabilities`: those of the account's adapter; None: not known (yet). Of a broadcast each of its sends is checked.
    Raises `InvalidAction`.
    """
    check_requirements(planned, config, capabilities)
