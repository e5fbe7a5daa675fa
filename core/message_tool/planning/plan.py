"""The steps of a call that need no platform: parse, broadcast, target rules, channel; then, at dispatch, what it needs.

The order is part of the contract: it decides which of two mistakes an agent gets to know (docs/message-tool.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.channels import rules_for
from trunkline.core.config import GatewayConfig
from trunkline.core.message_tool.calls import CallContext, PlannedCall
from trunkline.core.message_tool.parsing.parse import parse_call
from trunkline.core.message_tool.parsing.text_marks import CURRENT_MESSAGE
from trunkline.core.message_tool.planning.broadcasts import check_targets, plan_broadcast
from trunkline.core.message_tool.planning.channel_choice import choose_call_channel
from trunkline.core.message_tool.planning.requirements import check_core, check_requirements
from trunkline.core.message_tool.planning.target_rules import choose_target, require_explicit_target
from trunkline.core.values import Capabilities


class BroadcastRules:
    """What a profile refuses in a broadcast."""

    def check(
        self, planned: PlannedCall, params: Mapping[str, object], context: CallContext, config: GatewayConfig
    ) -> None:
        """Raise `InvalidAction` for what is wrong with all of its sends, so that it is said once."""
        check_targets(planned, config.message_tool(context.agent).broadcast.max_sends)
        choose_target(planned.call.spec, params, context, config.rules)
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
    require_explicit_target(call, params, context)
    if call.action is Action.BROADCAST:
        planned = plan_broadcast(call, context, config, served)
        config.rules[BroadcastRules].check(planned, params, context, config)
        return planned
    target = choose_target(call.spec, params, context, config.rules)
    channel = choose_call_channel(call.channel, context, served, config.rules)
    if target.alias is not None and target.text is not None:
        text = rules_for(channel.name).target_by_alias(target.alias, target.text)
        target = msgspec.structs.replace(target, text=text)
    return PlannedCall(call=call, channel=channel, target=target)


def check_call(planned: PlannedCall, config: GatewayConfig, capabilities: Capabilities | None = None) -> None:
    """Check, right before an action is carried out, that its channel has it and that nothing is missing.

    `capabilities`: those of the account's adapter; None: not known (yet). Of a broadcast each of its sends is checked.
    Raises `InvalidAction`.
    """
    check_requirements(planned, config, capabilities)
