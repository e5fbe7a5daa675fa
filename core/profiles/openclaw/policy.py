"""The cross-context policy of OpenClaw, which compares targets as texts."""

from __future__ import annotations

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.actions.marker import ContextMark, make_mark, signed
from trunkline.core.config import GatewayConfig, MessageToolConfig
from trunkline.core.message_tool.policy import ACROSS, LEGACY, WITHIN, ContextDecision, ContextQuestion, text_of
from trunkline.core.profiles.openclaw.channels import MARCH_CHANNELS
from trunkline.core.profiles.openclaw.channels.base import OpenClawRules
from trunkline.core.reasons import Reason

#: the actions that are judged
MARCH_GUARDED = frozenset(
    {
        *(Action.SEND, Action.POLL, Action.REPLY, Action.THREAD_REPLY, Action.STICKER, Action.SEND_WITH_EFFECT),
        *(Action.SEND_ATTACHMENT, Action.THREAD_CREATE),
    }
)
#: since June 2026 (openclaw/openclaw#93358)
AUGUST_GUARDED = MARCH_GUARDED | {Action.UPLOAD_FILE, Action.EDIT, Action.DELETE, Action.PIN, Action.UNPIN}
_SIGNS = {"channel": "#", "group": "#", "room": "#", "conversation": "#", "user": "@", "dm": "@"}
#: the channel whose messages have an embed with the mark
_EMBEDS = "discord"


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


def mark_of(
    question: TextQuestion, tool: MessageToolConfig, guarded: frozenset[Action], name: str
) -> ContextMark | None:
    """The mark of an allowed message that is forwarded; what an agent sends by itself has none.

    `name` is that of the current conversation in the directory, if it has one.
    """
    marker = tool.cross_context.marker
    marked = question.action in guarded and question.action is not Action.THREAD_CREATE
    if not marked or not marker.enabled or not question.current.strip():
        return None
    if not question.target.strip() or same_target(question.channel, question.target, question.current):
        return None
    label = label_of(question.channel, question.current, name)
    return make_mark(label, marker.prefix, marker.suffix, embeds=question.channel == _EMBEDS)


def label_of(channel: str, current: str, name: str) -> str:
    """The name in the directory, else the id; the word before the id becomes ``#`` or ``@``."""
    bare = current.strip()
    if bare.lower().startswith(f"{channel.lower()}:"):
        bare = bare[len(channel) + 1 :].strip()
    word, colon, rest = bare.partition(":")
    sign = _SIGNS.get(word.lower(), "") if colon else ""
    return signed(name.strip() or (rest.strip() if sign else bare), sign)


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
