"""The message tool: carries out the calls of turns in their order of steps, and records what it refuses.

The order of steps: parse, broadcast, target rules, channel (`core.actions.planning`); then account, attachments,
target, policy, requirements, and at last the queue or the platform. A dry run ends before that last step.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.actions.catalogue import SPECS
from trunkline.core.actions.result import ActionResult, ActionStatus
from trunkline.core.actions.spec import ActionKind
from trunkline.core.channels import rules_for
from trunkline.core.errors import InvalidAction, UsageError
from trunkline.core.events.gateway import ToolCalled, ToolRefused
from trunkline.core.message_tool.attachments import attachment_url
from trunkline.core.message_tool.calls import CallContext, PlannedCall, TargetSource
from trunkline.core.message_tool.planning.availability import may_moderate
from trunkline.core.message_tool.planning.disabled import check_enabled
from trunkline.core.message_tool.planning.plan import check_call, plan_call
from trunkline.core.message_tool.schema import Surroundings, ToolSchema, tool_schema
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow, Work
from trunkline.core.runtime.client_sends.target_resolution import TargetResolver, refusal
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.message_tool.call_places import CallPlaces, aim_of
from trunkline.core.runtime.message_tool.messages import MessageSender
from trunkline.core.runtime.message_tool.questions import Questions
from trunkline.core.runtime.message_tool.results import CORE, DRY_RUN, Results
from trunkline.core.runtime.message_tool.tool_call import ToolCall, ToolMessage
from trunkline.core.runtime.outbound.changes import ChangeDraft, Changes
from trunkline.core.runtime.outbound.context_policy import ContextPolicy
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.values import Address, Capabilities, ChatKind, IntentState, WorkKind
from trunkline.core.well_formed import plain_text

TOOL = "message"
#: characters of a call in its event
_SHOWN = 200


class MessageTool:
    """Carries out calls of the message tool. What it refuses raises `UsageError`, and has no effect."""

    def __init__(
        self,
        context: Context,
        *,
        targets: TargetResolver,
        preparer: Preparer,
        deliver: Callable[[IntentRow, int | None], None],
    ) -> None:
        self._ctx = context
        changes = Changes(context, preparer, deliver)
        policy, places = ContextPolicy(context), CallPlaces(targets, changes)
        self._messages = MessageSender(context, targets=targets, preparer=preparer, policy=policy, deliver=deliver)
        self._changes = ChangeCalls(context, places, policy, changes)
        self._questions = Questions(context, places, policy, changes)

    async def send(self, call: ToolCall, what: ToolMessage) -> ActionResult:
        """Queue a message of typed arguments; durable on return. Raises `UsageError`."""
        where = str(what.aim.to or call.work.reply_to or "nowhere")
        called = self._record_call(call, where)
        return await self._refusing(call, called, self._send(call, what, called))

    async def _send(self, call: ToolCall, what: ToolMessage, called: int, target: int = 0) -> ActionResult:
        check_enabled(what.action, call.work.agent, self._ctx.config)
        return await self._messages.send(call, what, called, target=target)

    async def of_earlier_runs(self, work: Work) -> tuple[ActionResult, ...]:
        """The results of earlier runs of a turn; see `trunkline.core.agent.Turn.done_before`."""
        return await Results(self._ctx).of_earlier_runs(work)

    async def run(self, call: ToolCall, params: Mapping[str, object]) -> ActionResult:
        """Carry out a call with wire parameters.

        Raises `UsageError` for what is refused, and `PlatformError` for a question without a good answer.
        """
        ctx = self._ctx
        try:
            planned = plan_call(params, self._context(call.work), ctx.config, ctx.channels)
            check_enabled(planned.action, call.work.agent, ctx.config)
        except UsageError as error:
            action = plain_text(params.get("action")) or "no action"
            self.refuse(call, error, refusal(error), self._record_call(call, action[:_SHOWN]))
            raise
        called = self._record_call(call, _shown(planned))
        if planned.action is Action.BROADCAST:
            return await self._broadcast(call, planned, called)
        return await self._refusing(call, called, self._one(call, planned, called))

    async def _one(self, call: ToolCall, planned: PlannedCall, called: int, target: int = 0) -> ActionResult:
        """Carry out one call on one target."""
        kind = SPECS[planned.action].kind
        if kind is ActionKind.CHANGE:
            return await self._changes.queue_change(call, planned, called)
        if kind is ActionKind.QUERY:
            return await self._questions.ask(call, planned, called)
        return await self._send(call, self._message(call, planned), called, target)

    async def _broadcast(self, call: ToolCall, planned: PlannedCall, called: int) -> ActionResult:
        """Send to each target, each judged by itself; the failure of one is in its result."""
        results: list[ActionResult] = []
        for number, planned_send in enumerate(planned.sends, 1):
            try:
                results.append(await self._refusing(call, called, self._one(call, planned_send, called, number)))
            except UsageError as error:
                results.append(_failed(planned_send, error))
        ok = all(result.ok for result in results)
        status = ActionStatus.DRY_RUN if planned.dry_run else ActionStatus.QUEUED
        return ActionResult(
            action=planned.action,
            status=status if ok else ActionStatus.FAILED,
            handled_by=DRY_RUN if planned.dry_run else CORE,
            channel=planned.channel.name,
            detail="" if ok else f"{sum(not result.ok for result in results)} of {len(results)} targets failed",
            results=tuple(results),
        )

    def _message(self, call: ToolCall, planned: PlannedCall) -> ToolMessage:
        """The message of a call. Raises `InvalidAction` for an unusable attachment."""
        asked, media = planned.call, planned.call.media
        if asked.buffer is not None:
            most = self._ctx.config.message_tool(call.work.agent).max_attachment
            media = (*media, attachment_url(asked.buffer, asked.parts, most))
        aim = aim_of(call, planned)
        if planned.action is Action.REPLY and aim.reply_to is None:
            aim = msgspec.structs.replace(aim, reply_to=asked.message_id)
        blank = asked.poll is not None and not asked.message.strip()
        return ToolMessage(
            aim=aim,
            action=planned.action,
            text=asked.poll.question if blank and asked.poll is not None else asked.message,
            media=media,
            poll=asked.poll,
            parts=asked.parts,
            best_effort=asked.best_effort,
            dry_run=asked.dry_run,
            planned=planned,
        )

    def schema(self, work: Work) -> ToolSchema:
        """The tool as the agent of a turn is shown it."""
        channels: dict[str, list[Capabilities]] = {}
        for (channel, _), adapter in sorted(self._ctx.adapters.items()):
            channels.setdefault(channel, []).append(adapter.capabilities)
        origin = work.reply_to
        around = Surroundings(
            channels=channels,
            agent=work.agent,
            current=None if origin is None else origin.channel,
            direct=origin is not None and origin.kind is ChatKind.DIRECT,
        )
        return tool_schema(self._ctx.config, around)

    def _context(self, work: Work) -> CallContext:
        """The place and work of a turn, for its calls."""
        origin = work.reply_to
        if origin is None:
            return CallContext(agent=work.agent)
        here = work.place is not None and work.place.lane == origin.lane
        return CallContext(
            agent=work.agent,
            origin=origin,
            target=rules_for(origin.channel).write(origin).target,
            channel=origin.channel,
            account=origin.account,
            message_id=work.message_id if here and work.kind is WorkKind.MESSAGE else None,
        )

    def _record_call(self, call: ToolCall, detail: str) -> int:
        return self._ctx.events.record(ToolCalled(tool=TOOL, detail=detail), call.cause, **call.ids)

    async def _refusing(self, call: ToolCall, called: int, done: Awaitable[ActionResult]) -> ActionResult:
        """The result of a call; a refused one is recorded."""
        try:
            return await done
        except UsageError as error:
            self.refuse(call, error, refusal(error), called)
            raise

    def refuse(self, call: ToolCall, error: UsageError, reason: Reason, cause: int) -> None:
        """Record a refused call."""
        self._ctx.events.record(ToolRefused(tool=TOOL, reason=reason, detail=error.facts), cause, **call.ids)


def _shown(planned: PlannedCall) -> str:
    """A call in its event: the action, and where."""
    where = ", ".join(planned.call.targets) or planned.target.text or planned.call.message_id or ""
    return f"{planned.action} {where}".strip()[:_SHOWN]


def _failed(planned: PlannedCall, error: UsageError) -> ActionResult:
    return ActionResult(
        action=planned.action,
        status=ActionStatus.FAILED,
        handled_by=CORE,
        channel=planned.channel.name,
        reason=refusal(error),
        detail=f"{planned.target.text}: {error.facts}",
    )


class ChangeCalls:
    """Carries out the calls of the tool that change something."""

    def __init__(self, context: Context, places: CallPlaces, policy: ContextPolicy, changes: Changes) -> None:
        self._ctx = context
        self._places = places
        self._policy = policy
        self._changes = changes
        self._results = Results(context)

    async def queue_change(self, call: ToolCall, planned: PlannedCall, called: int) -> ActionResult:
        """Queue a change, which is durable on return. Raises `UsageError`."""
        action, work = planned.action, call.work
        if call.again and not planned.dry_run:
            before = await self._results.of_earlier_run(action, call.intent(), call, planned.call.message, called)
            if before is not None:
                return before
        aim = await self._places.resolve(call, planned, called)
        cause = aim.cause
        mark = await self._policy.check(work, action, aim.address, cause, text=planned.target.text or "")
        adapter = self._ctx.adapters.get((aim.address.channel, aim.address.account))
        check_call(planned, self._ctx.config, None if adapter is None else adapter.capabilities)
        draft = ChangeDraft(
            action=action,
            place=aim.address,
            message=planned.call.message_id,
            text=_text(planned),
            remove=planned.call.remove,
            fields=planned.call.fields,
            moderates=may_moderate(aim.address, action, self._ctx.config),
        )
        if planned.dry_run:
            place = await self._place_meant(call, draft)
            return self._results.record_preview(action, call, place, draft.text, cause)
        row = await self._changes.prepare(work, call.intent(), draft, cause, mark)
        if not row.content.chunks and row.progress.state is not IntentState.CANCELLED:
            raise InvalidAction(f"{action}: nothing of the new text is visible", Reason.NOTHING_TO_SEND)
        named = planned.target.source in (TargetSource.EXPLICIT, TargetSource.ALIAS)
        # The message itself names the room, if the turn answers in a thread that is opened on it.
        targeted = named or row.address != work.reply_to
        reason = Reason.EXPLICIT_TARGET if targeted else work.reply_reason
        await self._changes.enqueue(work, row, cause, targeted=targeted, reason=reason)
        return self._results.stored(action, row)

    async def _place_meant(self, call: ToolCall, draft: ChangeDraft) -> Address:
        """The conversation of the message that is meant, without any effect. Raises `InvalidAction`."""
        if not SPECS[draft.action].of_message:
            return draft.place
        meant = await self._changes.reference(
            call.work, draft.action, draft.message or "", draft.place, moderates=draft.moderates
        )
        return meant.address


def _text(planned: PlannedCall) -> str:
    """The text of a change's chunk: the new text, or the emoji."""
    return (planned.call.emoji or "") if planned.action is Action.REACT else planned.call.message
