"""Where a call goes.

Its target is the one it names, a parameter that stands for it, or the current conversation; its channel the one it
names, else that of the turn, else the only one there is.
"""

from collections.abc import Mapping, Sequence

from trunkline.core.action_catalogue import Action
from trunkline.core.channels import ChannelRulebook, known_channels
from trunkline.core.channels.rules import WEB_CHAT
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import CallContext, ChosenTarget, TargetSource
from trunkline.core.message_tool.parsing.param_values import read_value
from trunkline.core.message_tool.parsing.params import PARAMS
from trunkline.core.profile_rules import OURS, ProfileRules
from trunkline.core.reasons import Reason

#: the sender of a heartbeat, which is no conversation
_HEARTBEAT = "heartbeat"
_ALIAS_OF_MESSAGE = "messageId"
FORMER_NAMES = "Use `target` instead of `to`/`channelId`."


class TargetRules:
    """Refusals of a profile for targets. `to` and `channelId` are former names of `target`."""

    def check_former_names(
        self, target: str | None, to: str | None, channel_id: str | None, params: Mapping[str, object]
    ) -> None:
        """Raise `InvalidAction` for former names that may name another place."""
        if (target and (to or channel_id)) or (to and channel_id and to != channel_id):
            raise wrong_target(FORMER_NAMES)

    def check_no_target(self, action: Action, target: str | None, to: str | None, params: Mapping[str, object]) -> None:
        """Raise `InvalidAction` for the target of an action that has none; it may use `channelId` as a filter."""
        if to and not target:
            raise wrong_target("Use `target` for actions that accept a destination.")
        if target:
            mode = "targets" if action is Action.BROADCAST else "the parameters of its schema"
            raise wrong_target(f"Action {action} does not accept a target.", f"It takes {mode}.")

    def is_elsewhere(self, params: Mapping[str, object], context: CallContext) -> bool:
        """Whether a call names another channel than the current one, whose conversation is then no target."""
        named = (named_text(params, "channel") or "").lower()
        return bool(named) and named != (context.channel or "").strip().lower()


def has_target(action: Action, params: Mapping[str, object]) -> bool:
    """Whether the parameters of an action name its target: `to`, `channelId`, or what stands for it."""
    return any(named_text(params, name) for name in ("to", "channelId")) or alias_of(action, params) is not None


def alias_of(action: Action, params: Mapping[str, object]) -> str | None:
    """The parameter that stands for the target of an action, if there is one that is not blank."""
    return next((name for name in action.spec.aliases if named_text(params, name)), None)


def choose_target(
    action: Action, params: Mapping[str, object], context: CallContext, by: ProfileRules = OURS
) -> ChosenTarget:
    """The target of a call before it is resolved. Raises `InvalidAction`."""
    rules = by[TargetRules]
    target, to, channel_id = (named_text(params, name) for name in ("target", "to", "channelId"))
    if not action.spec.requires_target:
        rules.check_no_target(action, target, to, params)
        return ChosenTarget()
    rules.check_former_names(target, to, channel_id, params)
    if named := target or to or channel_id:
        return ChosenTarget(text=named, source=TargetSource.EXPLICIT)
    if alias := alias_of(action, params):
        text = None if alias == _ALIAS_OF_MESSAGE else named_text(params, alias)
        return ChosenTarget(text=text, source=TargetSource.ALIAS, alias=alias)
    current = (context.target or "").strip()
    elsewhere = rules.is_elsewhere(params, context)
    if not current or current == _HEARTBEAT or elsewhere:
        why = "The current conversation is on another channel" if current and elsewhere else "There is no current one"
        sentence = f"Action {action} requires a target."
        raise InvalidAction(sentence, Reason.NO_TARGET, remedy=f"{why}: give `target`.")
    return ChosenTarget(text=current, source=TargetSource.CURRENT)


def named_text(params: Mapping[str, object], name: str) -> str | None:
    """A parameter as text without the blanks around it; None if it is blank or no text."""
    param = PARAMS[name]
    try:
        value = read_value(param, params.get(name))
    except InvalidAction:
        # `parse_call` reports it.
        return None
    return value.strip() if isinstance(value, str) else None


def wrong_target(sentence: str, remedy: str = "") -> InvalidAction:
    return InvalidAction(sentence, Reason.BAD_TARGET, remedy=remedy)


class ChannelChoice:
    def accepts(self, name: str, served: Sequence[str]) -> bool:
        """Whether a call may go to a channel."""
        return name in served


def choose_call_channel(named: str | None, context: CallContext, served: Sequence[str], by: ProfileRules = OURS) -> str:
    """The channel of a call. Raises `InvalidAction`. `served`: the channels that have an adapter."""
    there = list(filter(by[ChannelRulebook].delivers, served))
    others = [one for one in there if one != WEB_CHAT]
    if named is not None:
        return named_channel(named, there, by)
    current = (context.channel or "").strip().lower()
    if by[ChannelChoice].accepts(current, there):
        return current
    if len(others or there) == 1:
        return (others or there)[0]
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
