"""The cross-context policy: whether a turn may write, or change something, outside of the conversation it works in.

It is decided before anything is stored. A turn that works in no conversation, such as a heartbeat, is a context of its
own. What each setting means: docs/policy.md.
"""

import msgspec

from trunkline.core.action_catalogue import Action, ActionKind
from trunkline.core.actions.marker import ContextMark, label_of, make_mark
from trunkline.core.channels import rules_for
from trunkline.core.config import GatewayConfig, MessageToolConfig
from trunkline.core.events.actions import PolicyDecided
from trunkline.core.message_tool.conversations import is_listed, same_conversation
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, WorkKind

#: settings that decide, by their path below `tools.message`
LEGACY = "allow_cross_context_send"
WITHIN = "cross_context.allow_within_provider"
ACROSS = "cross_context.allow_across_providers"
REACH = "without_origin.reach"
TARGETS = "without_origin.targets"


class ContextQuestion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An action on a target; of a broadcast there is a question for each target."""

    action: Action
    agent: str
    #: why the turn runs
    work: WorkKind
    #: the place that the turn works in; None: nowhere, as a heartbeat does
    origin: Address | None
    target: Address
    #: the target as the agent wrote it, for the error
    target_text: str = ""
    #: the name of the origin in a directory, for the mark
    label: str = ""
    #: the place that the turn's session had last; only needed without an origin, if `without_origin.reach` is `last`
    last: Address | None = None
    #: whether the target's platform shows embeds
    embeds: bool = False


class ContextDecision(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    allowed: bool
    reason: Reason
    #: for the agent, if it is denied
    error: str = ""
    #: what the message has to show, if it is marked
    mark: ContextMark | None = None
    #: the setting below `tools.message` that decided; empty: none can change it
    setting: str = ""


def decide_context(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
    """Whether the action may concern the target, and how a message is marked."""
    tool = config.message_tool(question.agent)
    if not question.action.spec.guarded:
        return _allowed(Reason.NOT_GUARDED)
    if question.origin is None:
        return _without_origin(question, tool)
    if same_conversation(question.origin, question.target):
        return _allowed(Reason.SAME_CONVERSATION)
    return _crossing(question, question.origin, tool)


def policy_decided(question: ContextQuestion, decision: ContextDecision) -> PolicyDecided:
    """The event of a decision: the live path records it, explanations print it."""
    mark = decision.mark
    return PolicyDecided(
        action=question.action,
        allowed=decision.allowed,
        reason=decision.reason,
        origin=question.origin,
        target=question.target,
        mark="" if mark is None else mark.prefix,
        mark_after="" if mark is None else mark.suffix,
        mark_embed="" if mark is None else mark.embed or "",
        setting=decision.setting,
        detail=decision.error,
    )


def _crossing(question: ContextQuestion, origin: Address, tool: MessageToolConfig) -> ContextDecision:
    """The decision on another conversation than the turn's own."""
    across, cross = origin.channel != question.target.channel, tool.cross_context
    setting = ACROSS if across else WITHIN
    allowed = cross.allow_across_providers if across else cross.allow_within_provider
    if not allowed and not tool.allow_cross_context_send:
        return _denied(question, origin, setting)
    marked = cross.marker.enabled and (across or cross.marker.within_provider)
    return _allowed(
        Reason.ACROSS_PROVIDERS if across else Reason.WITHIN_PROVIDER,
        setting if allowed else LEGACY,
        _mark(question, tool) if marked else None,
    )


def _without_origin(question: ContextQuestion, tool: MessageToolConfig) -> ContextDecision:
    settings = tool.without_origin
    listed = any(is_listed(question.target, entry) for entry in settings.targets)
    last = settings.reach == "last" and question.last is not None and same_conversation(question.last, question.target)
    if not listed and not last and settings.reach != "any":
        return _denied(question, None, REACH)
    mark = _mark(question, tool) if settings.marked else None
    return _allowed(Reason.WITHOUT_ORIGIN, TARGETS if listed else REACH, mark)


def _mark(question: ContextQuestion, tool: MessageToolConfig) -> ContextMark | None:
    """The mark of an action whose text people read. An edit is marked too, or it would take the mark away."""
    message = question.action.spec.kind is ActionKind.MESSAGE and question.action is not Action.STICKER
    if not message and question.action is not Action.EDIT:
        return None
    marker = tool.cross_context.marker
    label = label_of(question.origin, question.label, question.work, question.target)
    return make_mark(label, marker.prefix, marker.suffix, embeds=question.embeds and message)


def _allowed(reason: Reason, setting: str = "", mark: ContextMark | None = None) -> ContextDecision:
    return ContextDecision(allowed=True, reason=reason, setting=setting, mark=mark)


def _denied(question: ContextQuestion, origin: Address | None, setting: str) -> ContextDecision:
    action, target = question.action.value, question.target
    remedy = f"tools.message.{setting} allows it"
    if origin is None:
        bound, remedy = f"from {label_of(None, '', question.work, target)}", "tools.message.without_origin allows it"
    else:
        bound = f'while bound to "{text_of(origin)}"'
    what = f'target="{question.target_text or text_of(target)}" {bound} (channel={target.channel})'
    if origin is not None and origin.channel != target.channel:
        what = f'target provider "{target.channel}" while bound to "{origin.channel}"'
    error = f"Cross-context messaging denied: action={action} {what}. {remedy}."
    return ContextDecision(allowed=False, reason=Reason.CROSS_CONTEXT_DENIED, error=error, setting=setting)


def text_of(place: Address) -> str:
    return rules_for(place.channel).write(place).target
