"""Messages of the message tool: resolved, judged, checked, prepared, and queued as intents."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from trunkline.core.actions.result import ActionResult, ActionStatus
from trunkline.core.channels.capabilities import check_able
from trunkline.core.delivery.answers import SaidInTurn, says_no_reply
from trunkline.core.delivery.mirror_text import said
from trunkline.core.errors import InvalidSend
from trunkline.core.message_tool.conversations import same_conversation
from trunkline.core.message_tool.planning.plan import check_call
from trunkline.core.message_tool.references import named
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import ContentPart, IntentRow
from trunkline.core.runtime.client_sends.target_resolution import ResolvedTarget, TargetResolver
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.intent_drafts import IntentDrafts, TurnMessage
from trunkline.core.runtime.message_tool.results import Results
from trunkline.core.runtime.message_tool.tool_call import ToolCall, ToolMessage
from trunkline.core.runtime.outbound.context_policy import ContextPolicy
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.store.commands import Enqueue
from trunkline.core.store.queries import FindIntentFate
from trunkline.core.values import Capabilities, IntentId, IntentKind, Receipt


class MessageSender:
    """Queues the messages of the message tool."""

    def __init__(
        self,
        context: Context,
        *,
        targets: TargetResolver,
        preparer: Preparer,
        policy: ContextPolicy,
        deliver: Callable[[IntentRow, int | None], None],
    ) -> None:
        self._ctx = context
        self._targets = targets
        self._preparer = preparer
        self._policy = policy
        self._deliver = deliver
        self._drafts = IntentDrafts(context)
        self._results = Results(context)

    async def send(self, call: ToolCall, what: ToolMessage, called: int, *, target: int = 0) -> ActionResult:
        """Queue a message; durable on return. `target`: its number in a broadcast. Raises `UsageError`."""
        result = await self._send(call, what, called, target)
        if result.status is ActionStatus.QUEUED and result.place is not None:
            call.said.append(SaidInTurn(result.place, what.text))
        return result

    async def _send(self, call: ToolCall, what: ToolMessage, called: int, target: int) -> ActionResult:
        action, intent = what.action, call.intent(target)
        if call.again and not what.dry_run:
            before = await self._results.of_earlier_run(action, intent, call, what.text, called)
            if before is not None:
                return before
        answered = await self._find_answered(what.aim.reply_to)
        if answered is not None:
            what = msgspec.structs.replace(what, aim=msgspec.structs.replace(what.aim, reply_to=answered.provider_id))
        aim = await self._targets.aim(call.work.agent, what.aim, call.work.reply_to, called, call.ids)
        if aim is None:
            raise InvalidSend(f"Action {action.value} requires a target.", Reason.NO_TARGET)
        if answered is not None and not same_conversation(answered.address, aim.address):
            # Its id may be that of another message there.
            facts = f"{action}: the message that it answers is in {answered.address}, and not in {aim.address}"
            raise InvalidSend(facts, Reason.OTHER_CONVERSATION)
        mark, cause = None, aim.cause
        if what.aim.to is not None and not self._policy.is_at_home(call.work, aim.address):
            text = what.aim.to if isinstance(what.aim.to, str) else ""
            mark = await self._policy.check(call.work, action, aim.address, cause, text=text)
        if mark is None and call.work.origin is not None:
            mark = call.work.origin.mark_at(aim.address)
        if not what.is_plain or what.planned is not None:
            what = self._checked(what, aim)
        draft = self._drafts.of_turn(call.work, call.session, _turn_message(what, intent, aim))
        if what.dry_run:
            row = self._preparer.preview(draft, what.text, mark)
            text = said(row.content.chunks)
            return self._results.record_preview(action, call, row.address, text, cause, session=row.mirror_key)
        if what.is_plain and says_no_reply(what.text):
            return self._results.record_invisible(action, call, draft, what.text, called)
        row = await self._preparer.prepare(draft, what.text, cause, mark, call.work)
        if row.is_invisible:
            return self._results.record_invisible(action, call, row, what.text, called)
        return await self._enqueue(call, what, row, cause)

    def _checked(self, what: ToolMessage, aim: ResolvedTarget) -> ToolMessage:
        """The message as its adapter can send it. Raises `UsageError` for what it cannot."""
        place = aim.address
        adapter = self._ctx.adapters.get((place.channel, place.account))
        can = None if adapter is None else adapter.capabilities
        if what.planned is not None:
            check_call(what.planned, self._ctx.config, can)
        poll = check_able(
            can or Capabilities(),
            f"on {place.channel}:{place.account}",
            media=what.media,
            poll=what.poll,
            payload=what.payload,
            parts=what.parts,
        )
        return msgspec.structs.replace(what, poll=poll)

    async def _find_answered(self, name: str | None) -> Receipt | None:
        """The receipt of the message to answer, if the agent names it by its intent. Raises `InvalidSend`."""
        if name is None or not name.strip():
            return None
        fate = await self._ctx.store.read(FindIntentFate(intent=IntentId(name.strip())))
        if fate is None:
            return None
        known = [receipt for receipt in fate.receipts if named(receipt)]
        if not known:
            facts = f"message {name!r} has no id yet: it is {fate.state.value}"
            raise InvalidSend(facts, Reason.UNKNOWN_MESSAGE)
        return known[-1]

    async def _enqueue(self, call: ToolCall, what: ToolMessage, row: IntentRow, cause: int) -> ActionResult:
        """Store the message and queue it for delivery."""
        ctx, targeted = self._ctx, what.aim.to is not None
        reason = Reason.EXPLICIT_TARGET if targeted else call.work.reply_reason

        def story(new: bool) -> int | None:
            if not new:
                self._results.record_repeat(call, row.id, what.text, cause)
                return None
            return ctx.record_prepared(row, targeted=targeted, reason=reason, cause=cause)

        def then(prepared: int | None) -> None:
            if prepared is not None:
                self._deliver(row, prepared)

        await ctx.store.write(Enqueue(intent=row, now=ctx.env.now()), story, then=then)
        return self._results.stored(what.action, row)


def _turn_message(what: ToolMessage, intent: IntentId, aim: ResolvedTarget) -> TurnMessage:
    return TurnMessage(
        kind=IntentKind.TOOL,
        id=intent,
        text=what.text,
        to=aim.address,
        route=aim.route,
        session=aim.session,
        content=ContentPart(media=what.media, reply_to=aim.reply_to, poll=what.poll, payload=what.payload),
        parts=what.parts,
        best_effort=what.best_effort,
    )
