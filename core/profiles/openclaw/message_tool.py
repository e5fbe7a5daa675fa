"""OpenClaw's rules for calls of the message tool: what passes, what is required, and its cross-context policy."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from trunkline.core.action_catalogue import Action, TargetMode
from trunkline.core.channels import known_channels
from trunkline.core.config import GatewayConfig, MessageToolConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import ActionCall, CallContext, PlannedCall
from trunkline.core.message_tool.parsing.params import Param, ParamType
from trunkline.core.message_tool.parsing.parse import ParameterRules
from trunkline.core.message_tool.planning.plan import BroadcastRules
from trunkline.core.message_tool.planning.requirements import CORE_NEEDS, TEXTS, RequirementRules
from trunkline.core.message_tool.planning.target_rules import (
    FORMER_NAMES,
    ChannelChoice,
    TargetRules,
    named_text,
    wrong_target,
)
from trunkline.core.message_tool.policy import ACROSS, LEGACY, WITHIN, ContextDecision, ContextQuestion, text_of
from trunkline.core.profiles.openclaw.channels.base import OpenClawRules
from trunkline.core.profiles.openclaw.channels.platforms import MARCH_CHANNELS
from trunkline.core.reasons import Reason


class OpenClawParameters(ParameterRules):
    """Parameters that cannot be meant are ignored; only JSON has to be readable."""

    def check_known(self, name: str) -> None:
        """Unknown parameters are ignored."""

    def check_read(self, param: Param, error: InvalidAction) -> None:
        if param.type is ParamType.JSON:
            raise error

    def check_texts(self, texts: Mapping[str, str]) -> None:
        """The first text counts."""

    def check_taken(self, action: Action, names: Iterable[str]) -> None:
        """Parameters of other actions are ignored."""


class OpenClawChannelChoice(ChannelChoice):
    """A channel that is known is accepted; the call fails later if nothing serves it."""

    def accepts(self, name: str, served: Sequence[str]) -> bool:
        return name in served or name in known_channels()


class OpenClawCallTargets(TargetRules):
    """Former names are ignored beside `target`, and the current conversation is taken to another channel."""

    def check_former_names(
        self, target: str | None, to: str | None, channel_id: str | None, params: Mapping[str, object]
    ) -> None:
        """The first that is given counts."""

    def is_elsewhere(self, params: Mapping[str, object], context: CallContext) -> bool:
        return False


class MarchCallTargets(OpenClawCallTargets):
    """March minded blank former names too; models fill in what they do not use."""

    def check_former_names(
        self, target: str | None, to: str | None, channel_id: str | None, params: Mapping[str, object]
    ) -> None:
        blank = any(isinstance(params.get(name), str) for name in ("to", "channelId"))
        if blank and not (to or channel_id):
            raise wrong_target(FORMER_NAMES)

    def check_no_target(self, action: Action, target: str | None, to: str | None, params: Mapping[str, object]) -> None:
        beside = target and (to or named_text(params, "channelId"))
        if isinstance(params.get("to"), str) and not beside:
            raise wrong_target("Use `target` for actions that accept a destination.")
        super().check_no_target(action, target, to, params)


class OpenClawBroadcasts(BroadcastRules):
    """Nothing is wrong with a broadcast as a whole."""

    def check(
        self, planned: PlannedCall, params: Mapping[str, object], context: CallContext, config: GatewayConfig
    ) -> None:
        """Each send fails by itself."""


class OpenClawRequirements(RequirementRules):
    """A text has to be named, and a poll may ask for what its channel cannot hold."""

    instead: Mapping[str, tuple[str, ...]] = {}

    def is_checked(self, planned: PlannedCall) -> bool:
        """A dry run ends before a channel looks at its action."""
        return not planned.dry_run and planned.call.action not in CORE_NEEDS

    def check_target(self, call: ActionCall, *, has_target: bool) -> None:
        if call.action.spec.target is TargetMode.TO and not has_target and not call.action.spec.aliases:
            raise InvalidAction("to required", Reason.NO_TARGET)

    def has(self, call: ActionCall, name: str) -> bool:
        return super().has(call, name) and (name in call.given or name not in TEXTS)

    def check_poll(self, call: ActionCall, channel: str) -> None:
        """Options that a channel does not have are ignored."""


#: the actions that are judged
MARCH_GUARDED = frozenset(
    {
        *(Action.SEND, Action.POLL, Action.REPLY, Action.THREAD_REPLY, Action.STICKER, Action.SEND_WITH_EFFECT),
        *(Action.SEND_ATTACHMENT, Action.THREAD_CREATE),
    }
)
#: since June 2026 (openclaw/openclaw#93358)
AUGUST_GUARDED = MARCH_GUARDED | {Action.UPLOAD_FILE, Action.EDIT, Action.DELETE, Action.PIN, Action.UNPIN}


class TextQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A call of the message tool, as the policy sees it; blank texts are missing ones."""

    action: Action
    #: the channel of the target
    channel: str
    target: str = ""
    #: id of the conversation that the run is bound to
    current: str = ""
    #: and its channel
    provider: str = ""


class TextAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What is decided; the error is word for word what OpenClaw raises."""

    reason: Reason
    error: str = ""


def judge(question: TextQuestion, tool: MessageToolConfig, guarded: frozenset[Action]) -> TextAnswer:
    """Whether the call may leave the conversation that the run is bound to."""
    action, channel, cross = question.action.value, question.channel, tool.cross_context
    if not question.current.strip():
        return TextAnswer(reason=Reason.WITHOUT_ORIGIN)
    if question.action not in guarded:
        return TextAnswer(reason=Reason.NOT_GUARDED)
    foreign = bool(question.provider.strip()) and question.provider != channel
    if tool.allow_cross_context_send or (foreign and cross.allow_across_providers):
        # Once another channel is allowed, the rule within a channel is not looked at.
        return TextAnswer(reason=Reason.ACROSS_PROVIDERS if foreign else Reason.WITHIN_PROVIDER)
    if foreign:
        bound = f'target provider "{channel}" while bound to "{question.provider}"'
        return _denied(f"Cross-context messaging denied: action={action} {bound}.")
    if question.target.strip() and same_target(channel, question.target, question.current):
        return TextAnswer(reason=Reason.SAME_CONVERSATION)
    if cross.allow_within_provider or not question.target.strip():
        return TextAnswer(reason=Reason.WITHIN_PROVIDER)
    bound = f'target="{question.target}" while bound to "{question.current}" (channel={channel})'
    return _denied(f"Cross-context messaging denied: action={action} {bound}.")


def same_target(channel: str, one: str, other: str) -> bool:
    """Whether two texts name the same conversation of a channel."""
    # August compares them as March does.
    rules = MARCH_CHANNELS.of(channel)
    assert isinstance(rules, OpenClawRules)
    return rules.comparable(one) == rules.comparable(other)


def _denied(error: str) -> TextAnswer:
    return TextAnswer(reason=Reason.CROSS_CONTEXT_DENIED, error=error)


def decide_context(
    question: ContextQuestion, config: GatewayConfig, guarded: frozenset[Action] = AUGUST_GUARDED
) -> ContextDecision:
    """Whether the action may concern its target. What an agent sends by itself has no mark."""
    tool = config.message_tool(question.agent)
    origin, target = question.origin, question.target
    asked = TextQuestion(
        action=question.action,
        channel=target.channel,
        target=question.target_text or text_of(target),
        current="" if origin is None else text_of(origin),
        provider="" if origin is None else origin.channel,
    )
    answer = judge(asked, tool, guarded)
    allowed = answer.reason is not Reason.CROSS_CONTEXT_DENIED
    foreign = origin is not None and origin.channel != target.channel
    judged = answer.reason in (Reason.CROSS_CONTEXT_DENIED, Reason.WITHIN_PROVIDER, Reason.ACROSS_PROVIDERS)
    setting = "" if not judged else LEGACY if tool.allow_cross_context_send else ACROSS if foreign else WITHIN
    return ContextDecision(allowed=allowed, reason=answer.reason, error=answer.error, setting=setting)
