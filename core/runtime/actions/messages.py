"""Messages of the message tool: resolved, checked, prepared, and queued as intents."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.core.actions.marker import ContextMark
from trunkline.core.actions.result import ActionResult, ActionStatus
from trunkline.core.channels.capabilities import check_able
from trunkline.core.errors import InvalidSend
from trunkline.core.events.actions import ActionPreviewed
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.reasons import Reason
from trunkline.core.runtime.actions.context_policy import ContextPolicy
from trunkline.core.runtime.actions.tool_call import ToolCall, ToolMessage
from trunkline.core.runtime.client_sends.target_resolution import ResolvedTarget, TargetResolver
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.inbound.intent_drafts import IntentDrafts, TurnMessage
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.store.commands import Enqueue
from trunkline.core.store.queries import LoadIntents
from trunkline.core.store.records import IntentRow
from trunkline.core.values import Capabilities, IntentId, IntentKind, IntentState, Poll

#: results of actions that go through the queue
CORE = "core"
#: results of dry runs
DRY_RUN = "dry-run"


class MessageSender:
    """Queues the messages of the message tool."""

    def __init__(
        self,
        context: Context,
        *,
        targets: TargetResolver,
        preparer: Preparer,
        deliver: Callable[[IntentRow, int | None], None],
    ) -> None:
        self._ctx = context
        self._targets = targets
        self._preparer = preparer
        self._deliver = deliver
        self._drafts = IntentDrafts(context)
        self._policy = ContextPolicy(context)

    async def send(self, call: ToolCall, what: ToolMessage, called: int, *, target: int = 0) -> ActionResult:
        """Queue a message; durable on return. `target`: its number in a broadcast. Raises `UsageError`."""
        intent = call.intent(target)
        if call.again and not what.dry_run:
            before = await self._sent_before(call, what, intent, called)
            if before is not None:
                return before
        aim = await self._targets.aim(call.work.agent, what.aim, call.work.reply_to, called, call.ids)
        if aim is None:
            raise InvalidSend(f"Action {what.action.value} requires a target.", Reason.NO_ORIGIN)
        mark = None
        if what.aim.to is not None:
            named = what.aim.to if isinstance(what.aim.to, str) else ""
            mark = await self._policy.check(call.work, what.action, aim.address, aim.cause, text=named)
        poll = self._check_able(what, aim)
        draft = self._drafts.of_turn(call.work, call.session, _turn_message(what, intent, aim, poll))
        if what.dry_run:
            return self._preview(call, what, draft, aim, mark)
        row = await self._preparer.prepare(draft, what.text, aim.cause, mark)
        if not row.chunks and row.state is not IntentState.CANCELLED:
            return self._nothing_visible(call, what, row, called)
        return await self._enqueue(call, what, row, aim.cause)

    async def _sent_before(
        self, call: ToolCall, what: ToolMessage, intent: IntentId, called: int
    ) -> ActionResult | None:
        """The result of the same call in an earlier run of the turn, before the process died."""
        loaded = await self._ctx.store.read(LoadIntents(ids=(intent,)))
        if not loaded.rows:
            return None
        self._already_queued(call, what, intent, called)
        return _result(what, loaded.rows[0])

    def _check_able(self, what: ToolMessage, aim: ResolvedTarget) -> Poll | None:
        """Check what the adapter can send; returns the poll to send. Raises `InvalidSend`."""
        if what.is_plain:
            return None
        place = aim.address
        adapter = self._ctx.adapters.get((place.channel, place.account))
        can = Capabilities() if adapter is None else adapter.capabilities
        where = f"on {place.channel}:{place.account}"
        return check_able(can, where, media=what.media, poll=what.poll, payload=what.payload, parts=what.parts)

    def _preview(
        self, call: ToolCall, what: ToolMessage, draft: IntentRow, aim: ResolvedTarget, mark: ContextMark | None
    ) -> ActionResult:
        """The result of a dry run, which has no effects."""
        row = self._preparer.preview(draft, what.text, mark)
        body = ActionPreviewed(
            action=what.action, channel=row.address.channel, place=row.address, text="\n".join(row.chunks)
        )
        self._ctx.events.record(body, aim.cause, **call.ids)
        return ActionResult(
            action=what.action,
            status=ActionStatus.DRY_RUN,
            handled_by=DRY_RUN,
            channel=row.address.channel,
            place=row.address,
            session_key=row.mirror_key,
        )

    def _nothing_visible(self, call: ToolCall, what: ToolMessage, row: IntentRow, called: int) -> ActionResult:
        suppressed = IntentSuppressed(reason=Reason.NO_REPLY, text=what.text)
        self._ctx.events.record(suppressed, called, **call.ids)
        return ActionResult(
            action=what.action,
            status=ActionStatus.SUPPRESSED,
            handled_by=CORE,
            channel=row.address.channel,
            place=row.address,
            reason=Reason.NO_REPLY,
            detail=Reason.NO_REPLY.sentence,
        )

    async def _enqueue(self, call: ToolCall, what: ToolMessage, row: IntentRow, cause: int) -> ActionResult:
        """Store the message and queue it for delivery."""
        ctx, targeted = self._ctx, what.aim.to is not None
        reason = Reason.EXPLICIT_TARGET if targeted else call.work.reply_reason

        def story(new: bool) -> int | None:
            if not new:
                self._already_queued(call, what, row.id, cause)
                return None
            return ctx.record_prepared(row, targeted=targeted, reason=reason, cause=cause)

        def then(prepared: int | None) -> None:
            if prepared is not None:
                self._deliver(row, prepared)

        await ctx.store.write(Enqueue(intent=row, now=ctx.env.now()), story, then=then)
        return _result(what, row)

    def _already_queued(self, call: ToolCall, what: ToolMessage, intent: IntentId, cause: int) -> None:
        body = IntentSuppressed(reason=Reason.ALREADY_QUEUED, text=what.text)
        self._ctx.events.record(body, cause, turn=call.work.turn, intent=intent)


def _turn_message(what: ToolMessage, intent: IntentId, aim: ResolvedTarget, poll: Poll | None) -> TurnMessage:
    return TurnMessage(
        kind=IntentKind.TOOL,
        id=intent,
        text=what.text,
        to=aim.address,
        route=aim.route,
        session=aim.session,
        media=what.media,
        reply_to=aim.reply_to,
        poll=poll,
        payload=what.payload,
        parts=what.parts,
        best_effort=what.best_effort,
    )


def _result(what: ToolMessage, row: IntentRow) -> ActionResult:
    """The result of a stored message: queued, or cancelled by a hook. The same in every run of its turn."""
    cancelled = row.state is IntentState.CANCELLED
    return ActionResult(
        action=what.action,
        status=ActionStatus.SUPPRESSED if cancelled else ActionStatus.QUEUED,
        handled_by=CORE,
        channel=row.address.channel,
        place=row.address,
        intent=row.id,
        session_key=row.mirror_key,
        reason=row.reason if cancelled else None,
        detail=row.reason.sentence if cancelled and row.reason is not None else "",
    )
