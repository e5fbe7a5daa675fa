"""Requirements of an action: the channel has it, its gate is open, and no parameter is missing."""

from collections.abc import Mapping

from trunkline.core.action_catalogue import Action
from trunkline.core.channels import ChannelRulebook, rules_for
from trunkline.core.channels.channel_actions import ChannelAction
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import ActionCall, PlannedCall
from trunkline.core.message_tool.planning.availability import UNSUPPORTED_POLL, is_open, refuse_unless_able
from trunkline.core.profile_rules import ProfileRules
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities

#: what the core itself requires of an action, on every channel
CORE_NEEDS: dict[Action, tuple[str, ...]] = {
    Action.SEND: ("message|media|path|filePath|card",),
    Action.POLL: ("pollQuestion", "pollOption>=2"),
    Action.BROADCAST: ("targets",),
}
TEXTS = frozenset({"message", "text", "newText", "content"})


class RequirementRules:
    #: parameter -> those that may take its place
    instead: Mapping[str, tuple[str, ...]] = {"media": ("buffer",), "card": ("components",)}

    def is_checked(self, planned: PlannedCall) -> bool:
        """Whether it is also checked what the channel requires, besides the core."""
        return True

    def check_target(self, call: ActionCall, *, has_target: bool) -> None:
        """Raise `InvalidAction` for a target that is missing after all."""

    def has(self, call: ActionCall, name: str) -> bool:
        if name in TEXTS:
            return bool(call.message.strip())
        if (name == "media" and call.media) or (name == "replyTo" and call.reply_to):
            return True
        return any(one in call.given for one in (name, *self.instead.get(name, ())))

    def check_poll(self, call: ActionCall, channel: str) -> None:
        """Raise `InvalidAction` for a poll that its channel cannot hold as asked: the option would be ignored."""
        _check_poll(call, channel)


def check_requirements(planned: PlannedCall, config: GatewayConfig, capabilities: Capabilities | None) -> None:
    """Raise `InvalidAction` for what a call cannot do on its channel, or lacks. See `plan.check_call`."""
    call, channel, by = planned.call, planned.channel, config.rules
    if call.action is Action.BROADCAST:
        for one in planned.sends:
            check_requirements(one, config, capabilities)
        return
    check_core(call, by)
    if not by[RequirementRules].is_checked(planned):
        return
    entry = supported(call.action, channel, by)
    if capabilities is not None:
        refuse_unless_able(call.action, channel, capabilities)
    check_needs(call, entry, by, target=planned.target.text is not None)
    if entry.gate is not None and not is_open(entry, channel, config):
        sentence = f"Action {call.action} is disabled on {channel}."
        remedy = f"Set channels.{channel}.actions.{entry.gate} to true."
        raise InvalidAction(sentence, Reason.ACTION_DISABLED, remedy=remedy)
    by[RequirementRules].check_poll(call, channel)


def check_core(call: ActionCall, by: ProfileRules) -> None:
    """Raise `InvalidAction` for what the core itself misses in a call."""
    for need in CORE_NEEDS.get(call.action, ()):
        if _is_there(call, need, by[RequirementRules]):
            continue
        name, _, least = need.partition(">=")
        if least and call.options:
            raise InvalidAction(f"{name} requires at least two values", Reason.BAD_POLL)
        reason = Reason.BAD_POLL if call.action is Action.POLL else Reason.NOTHING_TO_SEND
        raise InvalidAction(f"{name.split('|')[0]} required", reason, remedy=_how(need))


def supported(action: Action, channel: str, by: ProfileRules) -> ChannelAction:
    """The support of a channel for an action. Raises `InvalidAction` if it is nothing."""
    entry = by[ChannelRulebook].of(channel).action(action)
    if entry is None:
        sentence = UNSUPPORTED_POLL if action is Action.POLL else rules_for(channel).unsupported
        raise InvalidAction(sentence.format(action=action, channel=channel), Reason.UNSUPPORTED)
    return entry


def check_needs(call: ActionCall, entry: ChannelAction, by: ProfileRules, *, target: bool) -> None:
    """Raise `InvalidAction` for what a channel misses in a call. `target`: the call has one."""
    rules = by[RequirementRules]
    lacking = tuple(need for need in entry.needs if not _is_met(call, need, rules, target=target))
    if lacking:
        removes = lacking[0] == "emoji" and call.remove and "emoji to remove" in entry.errors
        sentence = entry.missing(("emoji to remove", *lacking[1:]) if removes else lacking)
        raise InvalidAction(sentence, remedy=_how(lacking[0]) if sentence.endswith(" required") else "")
    rules.check_target(call, has_target=target)


def _how(need: str) -> str:
    """The advice about a missing parameter."""
    names = [f"`{name}`" for name in need.partition(">=")[0].split("|")]
    return f"Give {'one of ' if len(names) > 1 else ''}{', '.join(names)}."


def _is_met(call: ActionCall, need: str, rules: RequirementRules, *, target: bool) -> bool:
    if need in ("to", "channelId") and call.action.spec.requires_target:
        return target
    return _is_there(call, need, rules)


def _is_there(call: ActionCall, need: str, rules: RequirementRules) -> bool:
    """Whether a call has a required parameter: ``a``, one of ``a|b``, or ``a>=2`` values."""
    names, _, least = need.partition(">=")
    if least:
        return call.options >= int(least)
    return any(rules.has(call, name) for name in names.split("|"))


def _check_poll(call: ActionCall, channel: str) -> None:
    if (poll := call.poll) is None:
        return
    polls = rules_for(channel).polls
    if poll.duration_hours is not None and poll.duration_seconds is not None:
        sentence = "durationHours and durationSeconds are mutually exclusive"
    elif poll.duration_hours is not None and poll.duration_hours < 1:
        sentence = "durationHours must be at least 1"
    elif poll.duration_seconds is not None and poll.duration_seconds < 1:
        sentence = "durationSeconds must be at least 1"
    elif poll.duration_seconds is not None and not polls.seconds:
        sentence = f"durationSeconds is not supported for {channel} polls"
    elif poll.duration_hours is not None and not polls.hours:
        sentence = f"durationHours is not supported for {channel} polls"
    elif poll.anonymous is not None and not polls.anonymous:
        sentence = f"isAnonymous is not supported for {channel} polls"
    else:
        return
    raise InvalidAction(sentence, Reason.BAD_POLL)
