"""Which target a call has: the one it names, a parameter that stands for it, or the current conversation."""

from __future__ import annotations

from collections.abc import Mapping

from trunkline.core.action_names import Action
from trunkline.core.actions.spec import ActionSpec
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import ActionCall, CallContext, ChosenTarget, TargetSource
from trunkline.core.message_tool.parsing.param_values import read_value
from trunkline.core.message_tool.parsing.params import PARAMS
from trunkline.core.profile_rules import Profile
from trunkline.core.reasons import Reason

_EXPLICIT = frozenset(
    {Action.SEND, Action.SEND_WITH_EFFECT, Action.SEND_ATTACHMENT, Action.REPLY, Action.THREAD_REPLY, Action.BROADCAST}
)
#: upstream's name for the sender of a heartbeat, which is no conversation
_HEARTBEAT = "heartbeat"
_ALIAS_OF_MESSAGE = "messageId"
_LEGACY = "Use `target` instead of `to`/`channelId`."


def has_target(spec: ActionSpec, params: Mapping[str, object]) -> bool:
    """Whether the parameters of an action name its target: `to`, `channelId`, or what stands for it."""
    return any(_named(params, name) for name in ("to", "channelId")) or alias_of(spec, params) is not None


def alias_of(spec: ActionSpec, params: Mapping[str, object]) -> str | None:
    """The parameter that stands for the target of an action, if there is one that is not blank."""
    return next((name for name in spec.aliases if _named(params, name)), None)


def choose_target(
    spec: ActionSpec, params: Mapping[str, object], context: CallContext, profile: Profile = Profile.TRUNKLINE
) -> ChosenTarget:
    """The target of a call before it is resolved. Raises `InvalidAction`.

    `to` and `channelId` are former names of `target`. Upstream ignores them beside a `target`; here that is an error,
    since they may name another place. An action that has no target may use `channelId` as a filter.
    """
    target, to, channel_id = (_named(params, name) for name in ("target", "to", "channelId"))
    if not spec.requires_target:
        _check_no_target(spec, target, to, params, profile)
        return ChosenTarget()
    legacy = to or channel_id
    if target:
        if (legacy and not profile.upstream) or (not legacy and _left_over(params, profile)):
            raise _wrong(_LEGACY)
        return ChosenTarget(text=target, source=TargetSource.EXPLICIT)
    if legacy:
        if to and channel_id and to != channel_id and not profile.upstream:
            raise _wrong(_LEGACY)
        return ChosenTarget(text=legacy, source=TargetSource.EXPLICIT)
    if _left_over(params, profile):
        raise _wrong(_LEGACY)
    if alias := alias_of(spec, params):
        text = None if alias == _ALIAS_OF_MESSAGE else _named(params, alias)
        return ChosenTarget(text=text, source=TargetSource.ALIAS, alias=alias)
    current = (context.target or "").strip()
    # Upstream takes the id of a conversation to another channel.
    elsewhere = not profile.upstream and _is_elsewhere(params, context)
    if not current or current == _HEARTBEAT or elsewhere:
        why = "The current conversation is on another channel" if current and elsewhere else "There is no current one"
        sentence = f"Action {spec.action} requires a target."
        raise InvalidAction(sentence, Reason.NO_TARGET, remedy=f"{why}: give `target`.")
    return ChosenTarget(text=current, source=TargetSource.CURRENT)


def require_explicit_target(call: ActionCall, params: Mapping[str, object], context: CallContext) -> None:
    """Raise `InvalidAction` if the turn has to name a target for this action and does not."""
    if not context.explicit_target or call.action not in _EXPLICIT or call.targets:
        return
    if not any(_named(params, name) for name in ("target", "to", "channelId")):
        raise InvalidAction(
            "Explicit message target required for this run. Provide target/targets (and channel when needed).",
            Reason.NO_TARGET,
        )


def _check_no_target(
    spec: ActionSpec, target: str | None, to: str | None, params: Mapping[str, object], profile: Profile
) -> None:
    legacy = to or _named(params, "channelId")
    # Upstream ignores former names beside a target, which it then refuses.
    if not (target and legacy) and (to or (_strict(profile) and isinstance(params.get("to"), str))):
        raise _wrong("Use `target` for actions that accept a destination.")
    if target:
        mode = "targets" if spec.action is Action.BROADCAST else "the parameters of its schema"
        raise _wrong(f"Action {spec.action} does not accept a target.", f"It takes {mode}.")


def _is_elsewhere(params: Mapping[str, object], context: CallContext) -> bool:
    """Whether a call names another channel than the current one."""
    named = (_named(params, "channel") or "").lower()
    return bool(named) and named != (context.channel or "").strip().lower()


def _left_over(params: Mapping[str, object], profile: Profile) -> bool:
    """Whether a former name is there and blank. Upstream minded until August; models fill in what they do not use."""
    return _strict(profile) and any(isinstance(params.get(name), str) for name in ("to", "channelId"))


def _strict(profile: Profile) -> bool:
    return profile.upstream and not profile.august


def _named(params: Mapping[str, object], name: str) -> str | None:
    """A parameter as text without the blanks around it; None if it is blank or no text."""
    param = PARAMS[name]
    try:
        value = read_value(param, params.get(name))
    except InvalidAction:
        # `parse_call` reports it.
        return None
    return value.strip() if isinstance(value, str) else None


def _wrong(sentence: str, remedy: str = "") -> InvalidAction:
    return InvalidAction(sentence, Reason.BAD_TARGET, remedy=remedy)
