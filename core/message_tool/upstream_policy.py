"""The cross-context policy of the upstream gateway, which compares targets as texts."""

from __future__ import annotations

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.actions.catalogue import SPECS
from trunkline.core.actions.marker import ContextMark, make_mark, upstream_label
from trunkline.core.channels import rules_for
from trunkline.core.config import MessageToolConfig
from trunkline.core.profile_rules import Profile
from trunkline.core.reasons import Reason

#: actions that upstream judges since June 2026 (openclaw/openclaw#93358)
_SINCE_JUNE = frozenset({Action.UPLOAD_FILE, Action.EDIT, Action.DELETE, Action.PIN, Action.UNPIN})
#: the channel whose messages have an embed with the mark
_EMBEDS = "discord"


class UpstreamQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A call of the message tool, as upstream's policy sees it; blank texts are missing ones."""

    action: Action
    #: the channel of the target
    channel: str
    target: str = ""
    #: id of the conversation that the run is bound to
    current: str = ""
    #: and its channel
    provider: str = ""


class UpstreamAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What upstream decides; the error is word for word what it raises."""

    reason: Reason
    error: str = ""


def judge(question: UpstreamQuestion, tool: MessageToolConfig, profile: Profile) -> UpstreamAnswer:
    """Whether the call may leave the conversation that the run is bound to."""
    action, channel, cross = question.action.value, question.channel, tool.cross_context
    if not question.current.strip():
        return UpstreamAnswer(reason=Reason.WITHOUT_ORIGIN)
    if not is_guarded(question.action, profile):
        return UpstreamAnswer(reason=Reason.NOT_GUARDED)
    foreign = bool(question.provider.strip()) and question.provider != channel
    if tool.allow_cross_context_send or (foreign and cross.allow_across_providers):
        # Once another channel is allowed, the rule within a channel is not looked at.
        return UpstreamAnswer(reason=Reason.ACROSS_PROVIDERS if foreign else Reason.WITHIN_PROVIDER)
    if foreign:
        bound = f'target provider "{channel}" while bound to "{question.provider}"'
        return _denied(f"Cross-context messaging denied: action={action} {bound}.")
    if question.target.strip() and same_target(channel, question.target, question.current):
        return UpstreamAnswer(reason=Reason.SAME_CONVERSATION)
    if cross.allow_within_provider or not question.target.strip():
        return UpstreamAnswer(reason=Reason.WITHIN_PROVIDER)
    bound = f'target="{question.target}" while bound to "{question.current}" (channel={channel})'
    return _denied(f"Cross-context messaging denied: action={action} {bound}.")


def mark_of(question: UpstreamQuestion, tool: MessageToolConfig, profile: Profile, name: str) -> ContextMark | None:
    """The mark of an allowed message that upstream forwards; what an agent sends by itself has none.

    `name` is that of the current conversation in the directory, if it has one.
    """
    marker = tool.cross_context.marker
    marked = is_guarded(question.action, profile) and question.action is not Action.THREAD_CREATE
    if not marked or not marker.enabled or not question.current.strip():
        return None
    if not question.target.strip() or same_target(question.channel, question.target, question.current):
        return None
    label = upstream_label(question.channel, question.current, name)
    return make_mark(label, marker.prefix, marker.suffix, embeds=question.channel == _EMBEDS)


def is_guarded(action: Action, profile: Profile) -> bool:
    """Whether upstream's policy judges an action."""
    return SPECS[action].guarded or (profile.august and action in _SINCE_JUNE)


def same_target(channel: str, one: str, other: str) -> bool:
    """Whether two texts name the same conversation of a channel."""
    rules = rules_for(channel)
    return rules.comparable(one) == rules.comparable(other)


def _denied(error: str) -> UpstreamAnswer:
    return UpstreamAnswer(reason=Reason.CROSS_CONTEXT_DENIED, error=error)
