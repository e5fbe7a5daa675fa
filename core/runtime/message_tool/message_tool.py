"""The message tool: carries out the calls of turns in their order of steps, and records what it refuses.

The order of steps: parse, broadcast, target rules, channel (`core.actions.planning`); then account, attachments,
target, policy, requirements, and at last the queue or the platform. A dry run ends before that last step.
"""

from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec

from trunkline.core.action_catalogue import Action, ActionKind, TargetMode
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.actions.result import ActionResult, ActionStatus
from trunkline.core.channels import Queries, require_action, rules_for
from trunkline.core.channels.capabilities import check_able
from trunkline.core.delivery.answers import SaidInTurn, says_no_reply
from trunkline.core.errors import InvalidAction, InvalidSend, PlatformError, UsageError
from trunkline.core.events.actions import ActionAnswered
from trunkline.core.events.gateway import ToolCalled
from trunkline.core.message_tool.attachments import attachment_url
from trunkline.core.message_tool.calls import CallContext, PlannedCall, TargetSource
from trunkline.core.message_tool.conversations import same_conversation, server_place
from trunkline.core.message_tool.planning.availability import check_enabled, may_moderate
from trunkline.core.message_tool.planning.plan import check_call, plan_call
from trunkline.core.message_tool.references import named
from trunkline.core.message_tool.schema import Surroundings, ToolSchema, tool_schema
from trunkline.core.reasons import Reason
from trunkline.core.records.heartbeat import HeartbeatText
from trunkline.core.records.rows import ContentPart, IntentRow, Work
from trunkline.core.runtime.client_sends.target_resolution import ResolvedTarget, TargetResolver, ToolSend, refusal
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.deadlines import Deadlines
from trunkline.core.runtime.intent_drafts import TurnMessage
from trunkline.core.runtime.message_tool.results import (
    ADAPTER,
    CORE,
    DRY_RUN,
    Results,
    ToolCall,
    ToolMessage,
    record_refusal,
)
from trunkline.core.runtime.outbound.changes import ChangeDraft, Changes
from trunkline.core.runtime.outbound.context_policy import ContextPolicy
from trunkline.core.runtime.outbound.heartbeat_outcome import heartbeat_text, is_repeated
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.store.queries import FindIntentFate
from trunkline.core.text.mirror_text import said
from trunkline.core.text.model_text import CURRENT_MESSAGE, read_model_text
from trunkline.core.untrusted import check_json
from trunkline.core.values import Address, Capabilities, ChatKind, IntentId, IntentKind, IntentState, Receipt, WorkKind
from trunkline.core.well_formed import describe, plain_text

#: parameters that name a server (Discord: guild, Slack and Teams: team)
_SERVERS = ("guildId", "teamId")


class CallPlaces:
    """Resolves the places of calls: by target, by a named message, or of a whole server or account."""

    def __init__(self, targets: TargetResolver, changes: Changes) -> None:
        self._targets = targets
        self._changes = changes

    async def resolve(self, call: ToolCall, planned: PlannedCall, called: int) -> ResolvedTarget:
        """The place of a change or question. Raises `UsageError`."""
        if planned.action.spec.target is TargetMode.NONE:
            return self._whole(call, planned, called)
        if planned.target.source is TargetSource.ALIAS and planned.target.text is None:
            return await self._of_message(call, planned, called)
        work = call.work
        is_current = planned.target.source is TargetSource.CURRENT
        if is_current and planned.call.message_id is not None and work.reply_to is not None:
            place = await self._find_room(call, planned, work.reply_to)
            if place is not None:
                return ResolvedTarget(address=place, cause=called)
        asked = aim_of(call, planned)
        aim = await self._targets.aim(call.work.agent, asked, call.work.reply_to, called, call.ids)
        if aim is None:
            raise InvalidAction(f"Action {planned.action} requires a target.", Reason.NO_TARGET)
        check_kind(planned, aim.address)
        place = None if planned.call.thread is not None else await self._find_room(call, planned, aim.address)
        return aim if place is None else msgspec.structs.replace(aim, address=place)

    async def _find_room(self, call: ToolCall, planned: PlannedCall, at: Address) -> Address | None:
        """The room of a named message or of a call without a target, instead of `at`, the thread for the turn's answer.

        That thread may not be open yet, and of its messages only our own can be known. `at` may be of another account.
        None: it is `at`.
        """
        work, named = call.work, planned.call.message_id
        if work.open_on is None or work.place is None or work.reply_to is None:
            return None
        if named is None and planned.target.source is not TargetSource.CURRENT:
            return None
        if at != msgspec.structs.replace(work.reply_to, account=at.account):
            return None
        if named is not None and await self._changes.place_of_message(work, named) == at:
            return at
        return msgspec.structs.replace(work.place, account=at.account)

    def _whole(self, call: ToolCall, planned: PlannedCall, called: int) -> ResolvedTarget:
        channel = planned.channel
        account = self._targets.account(channel, planned.call.account, call.work.reply_to, call.work.agent)
        given = fields_of(planned)
        server = next((str(given[name]) for name in _SERVERS if given.get(name)), None)
        return ResolvedTarget(address=server_place(channel, account, server), cause=called)

    async def _of_message(self, call: ToolCall, planned: PlannedCall, called: int) -> ResolvedTarget:
        """The conversation of the named message, else the conversation of the turn."""
        name, origin = planned.call.message_id or "", call.work.reply_to
        place = await self._changes.place_of_message(call.work, name)
        if place is None and origin is not None and origin.channel == planned.channel:
            place = origin
        if place is None:
            remedy = "Name the conversation of the message."
            raise InvalidAction(f"Action {planned.action} requires a target.", Reason.NO_TARGET, remedy=remedy)
        self._targets.check_served(place, origin)
        return ResolvedTarget(address=place, cause=called)


def aim_of(call: ToolCall, planned: PlannedCall) -> ToolSend:
    """The target of a call, for the resolver. The current conversation is an exact place, unless something is named."""
    asked, channel, origin = planned.call, planned.channel, call.work.reply_to
    account = (asked.account or "").strip() or None
    exact = (
        planned.target.source is TargetSource.CURRENT
        and origin is not None
        and asked.thread is None
        and (channel, account or origin.account) == (origin.channel, origin.account)
    )
    return ToolSend(
        running=call.session,
        to=None if exact else planned.target.text,
        channel=channel,
        account=account,
        thread=asked.thread,
        reply_to=asked.reply_to,
    )


def check_kind(planned: PlannedCall, place: Address) -> None:
    """Raise `InvalidAction` for a person where a channel or a group is meant."""
    if place.kind is not ChatKind.DIRECT:
        return
    text = planned.target.text or ""
    if planned.action.spec.target is TargetMode.CHANNEL_ID:
        raise InvalidAction(f'Channel id "{text}" resolved to a user target.', Reason.BAD_TARGET)
    entry = rules_for(place.channel).action(planned.action)
    if entry is not None and entry.group_only:
        sentence = f'Action {planned.action} needs a group, and "{text}" is a person.'
        raise InvalidAction(sentence, Reason.BAD_TARGET)


def fields_of(planned: PlannedCall) -> dict[str, Any]:
    """The parameters of a call without own fields."""
    return {} if planned.call.fields is None else msgspec.json.decode(planned.call.fields)


# Messages of the message tool: resolved, judged, checked, prepared, and queued as intents.


class MessageSender:
    def __init__(self, context: Context, targets: TargetResolver, preparer: Preparer, policy: ContextPolicy) -> None:
        self._ctx = context
        self._targets = targets
        self._preparer = preparer
        self._policy = policy
        self._results = Results(context)

    async def send(self, call: ToolCall, what: ToolMessage, called: int, *, target: int = 0) -> ActionResult:
        """Queue a message; durable on return. `target`: its number in a broadcast. Raises `UsageError`."""
        result = await self._send(call, what, called, target)
        if result.status is ActionStatus.QUEUED and result.place is not None:
            call.said.append(SaidInTurn(place=result.place, text=what.text, media=what.media, intent=result.intent))
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
        draft = self._preparer.drafts.of_turn(call.work, call.session, _turn_message(what, intent, aim))
        if what.dry_run:
            row = self._preparer.preview(draft, what.text, mark)
            text = said(row.content.chunks)
            return self._results.record_preview(action, call, row.address, text, cause, session=row.mirror_key)
        if what.is_plain and says_no_reply(what.text):
            return self._results.record_unsent(action, call, draft, what.text, called)
        once = what.is_plain and call.work.kind is WorkKind.HEARTBEAT
        if once and await is_repeated(self._ctx, draft.agent, draft.address, what.text):
            return self._results.record_unsent(action, call, draft, what.text, called, Reason.DUPLICATE)
        row = await self._preparer.prepare(draft, what.text, cause, mark, call.work)
        if row.is_invisible:
            return self._results.record_unsent(action, call, row, what.text, called)
        return await self._enqueue(call, what, row, cause, heartbeat_text(row, what.text) if once else None)

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

    async def _enqueue(
        self, call: ToolCall, what: ToolMessage, row: IntentRow, cause: int, says: HeartbeatText | None
    ) -> ActionResult:
        targeted = what.aim.to is not None
        await self._preparer.enqueue(
            row,
            reason=Reason.EXPLICIT_TARGET if targeted else call.work.reply_reason,
            cause=cause,
            targeted=targeted,
            said=says,
            repeated=lambda: self._results.record_repeat(call, row.id, what.text, cause),
        )
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


# Questions of the message tool: asked of the platform at once, answered to the agent, never stored.

#: seconds that a platform has for an answer
_ANSWER_TIMEOUT = 30.0


class _CallHandler:
    def __init__(self, context: Context, places: CallPlaces, policy: ContextPolicy, changes: Changes) -> None:
        self._ctx = context
        self._places = places
        self._policy = policy
        self._changes = changes
        self._results = Results(context)
        self._limits = Deadlines()


class Questions(_CallHandler):
    async def ask(self, call: ToolCall, planned: PlannedCall, called: int) -> ActionResult:
        """Ask the platform. Raises `UsageError` for a bad question, and `PlatformError` if there is no good answer."""
        action, asked = planned.action, planned.call
        aim = await self._places.resolve(call, planned, called)
        place, message, cause = aim.address, asked.message_id, aim.cause
        await self._policy.check(call.work, action, place, cause, text=planned.target.text or "")
        adapter = self._ctx.adapters.get((place.channel, place.account))
        check_call(planned, self._ctx.config, None if adapter is None else adapter.capabilities)
        if adapter is None:
            facts = f"{action}: the adapter of {place.channel}:{place.account} is not there"
            raise InvalidAction(facts, Reason.NO_ADAPTER)
        require_action(adapter, adapter.capabilities, action, f"{place.channel}:{place.account}")
        if action.spec.of_message:
            place, message = await self._message(call, action, message or "", place)
        if planned.dry_run:
            return self._results.record_preview(action, call, place, "", cause)
        assert isinstance(adapter, Queries)
        query = ActionQuery(action=action, address=place, message_id=message, fields=asked.fields, cause=cause)
        try:
            data = await self._answer(adapter, query)
        except PlatformError as error:
            self._record(call, query, error.reason, error.facts, cause)
            raise
        except Exception as error:
            # Like a platform that fails: the agent may ask again.
            self._record(call, query, Reason.PLATFORM_ERROR, describe(error), cause)
            raise PlatformError(f"{action}: {describe(error)}") from error
        self._record(call, query, None, "", cause)
        return ActionResult(
            action=action, status=ActionStatus.DONE, handled_by=ADAPTER, channel=place.channel, place=place, data=data
        )

    async def _message(self, call: ToolCall, action: Action, name: str, place: Address) -> tuple[Address, str]:
        """The place and the platform's id of the meant message. Raises `InvalidAction`."""
        meant = await self._changes.reference(call.work, action, name, place)
        if meant.message_id is None:
            raise InvalidAction(f"{action}: message {name!r} is not sent yet", Reason.UNKNOWN_MESSAGE)
        return meant.address, meant.message_id

    async def _answer(self, adapter: Queries, query: ActionQuery) -> str:
        """The answer as JSON. Raises `PlatformError`, or whatever the adapter raises."""
        with self._limits.within(_ANSWER_TIMEOUT) as limit:
            answer = await adapter.ask(query)
            wrong = check_json(answer)
            if wrong:
                raise PlatformError(f"{query.action}: its answer {wrong}")
            return msgspec.json.encode(answer).decode()
        assert limit.expired
        raise PlatformError(f"{query.action}: no answer within {_ANSWER_TIMEOUT:g} s")

    def _record(self, call: ToolCall, query: ActionQuery, reason: Reason | None, detail: str, cause: int) -> None:
        body = ActionAnswered(
            action=query.action, channel=query.address.channel, place=query.address, reason=reason, detail=detail
        )
        self._ctx.events.record(body, cause, **call.ids)


TOOL = "message"
_SHOWN = 200


class MessageTool:
    """Carries out calls of the message tool. What it refuses raises `UsageError`, and has no effect."""

    def __init__(self, context: Context, targets: TargetResolver, preparer: Preparer) -> None:
        self._ctx = context
        changes = Changes(context, preparer)
        policy, places = ContextPolicy(context), CallPlaces(targets, changes)
        self._messages = MessageSender(context, targets, preparer, policy)
        self._changes = ChangeCalls(context, places, policy, changes)
        self._questions = Questions(context, places, policy, changes)

    async def send(self, call: ToolCall, what: ToolMessage) -> ActionResult:
        """Queue a message of typed arguments, its text read like in a call. Raises `UsageError`."""
        said = read_model_text(what.text, self._ctx.config.rules, what.media)
        answered = call.work.current_message if said.reply_to == CURRENT_MESSAGE else said.reply_to
        aim = msgspec.structs.replace(what.aim, reply_to=what.aim.reply_to or answered)
        what = msgspec.structs.replace(what, text=said.text, media=said.media, aim=aim)
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
            called = self._record_call(call, action[:_SHOWN])
            record_refusal(ctx, call.work, TOOL, error, refusal(error), called)
            raise
        called = self._record_call(call, _shown(planned))
        if planned.action is Action.BROADCAST:
            return await self._broadcast(call, planned, called)
        return await self._refusing(call, called, self._one(call, planned, called))

    async def _one(self, call: ToolCall, planned: PlannedCall, called: int, target: int = 0) -> ActionResult:
        kind = planned.action.spec.kind
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
            channel=planned.channel,
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
        origin = work.reply_to
        if origin is None:
            return CallContext(agent=work.agent)
        return CallContext(
            agent=work.agent,
            origin=origin,
            target=rules_for(origin.channel).write(origin).target,
            channel=origin.channel,
            account=origin.account,
            message_id=work.current_message,
        )

    def _record_call(self, call: ToolCall, detail: str) -> int:
        return self._ctx.events.record(ToolCalled(tool=TOOL, detail=detail), call.cause, **call.ids)

    async def _refusing(self, call: ToolCall, called: int, done: Awaitable[ActionResult]) -> ActionResult:
        try:
            return await done
        except UsageError as error:
            record_refusal(self._ctx, call.work, TOOL, error, refusal(error), called)
            raise


def _shown(planned: PlannedCall) -> str:
    where = ", ".join(planned.call.targets) or planned.target.text or planned.call.message_id or ""
    return f"{planned.action} {where}".strip()[:_SHOWN]


def _failed(planned: PlannedCall, error: UsageError) -> ActionResult:
    return ActionResult(
        action=planned.action,
        status=ActionStatus.FAILED,
        handled_by=CORE,
        channel=planned.channel,
        reason=refusal(error),
        detail=f"{planned.target.text}: {error.facts}",
    )


class ChangeCalls(_CallHandler):
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
        """The conversation of the meant message, without any effect. Raises `InvalidAction`."""
        if not draft.action.spec.of_message:
            return draft.place
        meant = await self._changes.reference(
            call.work, draft.action, draft.message or "", draft.place, moderates=draft.moderates
        )
        return meant.address


def _text(planned: PlannedCall) -> str:
    """The text of a change's chunk: the new text, or the emoji."""
    return (planned.call.emoji or "") if planned.action is Action.REACT else planned.call.message
