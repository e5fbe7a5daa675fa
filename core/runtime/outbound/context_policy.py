"""Asks the cross-context policy about the targets that turns name, and records what it says."""

from collections.abc import Mapping

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.marker import ContextMark
from trunkline.core.errors import PolicyDenied
from trunkline.core.message_tool.conversations import same_conversation
from trunkline.core.message_tool.policy import ContextDecision, ContextQuestion, policy_decided
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow, Work
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.store.schedule import FindLastRoute
from trunkline.core.values import Address, Capability, ChatKind, WorkKind

#: turns that work in no conversation, wherever their text goes
_NOWHERE = (WorkKind.HEARTBEAT, WorkKind.CRON, WorkKind.WAKE)
#: decisions on what stays where it is: nothing to report
_PLAIN = (Reason.SAME_CONVERSATION, Reason.NOT_GUARDED)


class ContextPolicy:
    def __init__(self, context: Context) -> None:
        self._ctx = context

    def is_at_home(self, work: Work, target: Address) -> bool:
        """Whether a target is exactly where the message of the turn was said, which no rule can make a crossing."""
        return work.kind is WorkKind.MESSAGE and work.place is not None and target.lane == work.place.lane

    async def check(
        self, work: Work, action: Action, target: Address, cause: int | None, *, text: str = ""
    ) -> ContextMark | None:
        """The mark that the message has to show, if any. `text`: the target as the agent named it.

        Raises `PolicyDenied`; then nothing may be stored. What crosses, or would, is recorded.
        """
        origin = _origin(work, target)
        question = ContextQuestion(
            action=action,
            agent=work.agent,
            work=work.kind,
            origin=origin,
            target=target,
            target_text=text,
            label=_name(work, origin),
            last=await self._last(work) if origin is None else None,
            embeds=self._embeds(target),
        )
        return self._record_decision(question, cause, {"inbound": work.id, "turn": work.turn})

    async def check_redirect(
        self, draft: IntentRow, target: Address, work: Work | None, cause: int | None
    ) -> ContextMark | None:
        """Like `check`, for a message that a hook sends elsewhere; one without a turn comes from where it was to go."""
        if work is not None:
            return await self.check(work, Action.SEND, target, cause)
        question = ContextQuestion(
            action=Action.SEND,
            agent=draft.agent,
            work=WorkKind.MESSAGE,
            origin=draft.address,
            target=target,
            embeds=self._embeds(target),
        )
        return self._record_decision(question, cause, ids_of(draft))

    def _record_decision(
        self, question: ContextQuestion, cause: int | None, ids: Mapping[str, str | None]
    ) -> ContextMark | None:
        ctx = self._ctx
        decision: ContextDecision = ctx.decisions.decide_context(question, ctx.config)
        if decision.reason not in _PLAIN:
            ctx.events.record(policy_decided(question, decision), cause, **ids)
        if not decision.allowed:
            raise PolicyDenied(decision.error)
        return decision.mark

    def _embeds(self, target: Address) -> bool:
        adapter = self._ctx.adapters.get((target.channel, target.account))
        return adapter is not None and Capability.EMBEDS in adapter.capabilities.can

    async def _last(self, work: Work) -> Address | None:
        """The place where a person wrote to the agent last, if the configuration asks for it."""
        if self._ctx.config.message_tool(work.agent).without_origin.reach != "last":
            return None
        found = await self._ctx.store.read(FindLastRoute(agent=work.agent))
        return None if found is None else found.address


def _origin(work: Work, target: Address) -> Address | None:
    """The place that a turn works in: its session's, or that where it answers, if the target is there."""
    if work.kind in _NOWHERE:
        return None
    answers = work.reply_to
    if answers is not None and (work.home is None or same_conversation(answers, target)):
        return answers
    if work.home is None and work.origin is not None and work.origin.work not in _NOWHERE:
        # A task, or a callback in its session: the rules of the conversation that it is done for hold for it, too.
        # Otherwise an agent could pass on to another one what it may not send itself.
        return work.origin.reply_to
    return work.home


def _name(work: Work, origin: Address | None) -> str:
    """The name of the origin, if it is known: a direct chat is called by the person in it."""
    # The author of a callback is the hand, and that of a task an agent: neither has a direct chat.
    person = work.asked_by if work.kind in (WorkKind.CALLBACK, WorkKind.TASK) else work.sender
    return person.name if person is not None and origin is not None and origin.kind is ChatKind.DIRECT else ""
