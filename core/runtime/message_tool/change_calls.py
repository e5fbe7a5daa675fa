"""Changes of the message tool, such as edits, reactions and pins: intents in the order of their conversation."""

from __future__ import annotations

from trunkline.core.action_names import Action
from trunkline.core.actions.catalogue import SPECS
from trunkline.core.actions.result import ActionResult
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import PlannedCall, TargetSource
from trunkline.core.message_tool.planning.availability import may_moderate
from trunkline.core.message_tool.planning.plan import check_call
from trunkline.core.reasons import Reason
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.message_tool.call_places import CallPlaces
from trunkline.core.runtime.message_tool.results import Results
from trunkline.core.runtime.message_tool.tool_call import ToolCall
from trunkline.core.runtime.outbound.changes import ChangeDraft, Changes
from trunkline.core.runtime.outbound.context_policy import ContextPolicy
from trunkline.core.values import Address, IntentState


class ChangeCalls:
    """Carries out the calls of the tool that change something."""

    def __init__(self, context: Context, places: CallPlaces, policy: ContextPolicy, changes: Changes) -> None:
        self._ctx = context
        self._places = places
        self._policy = policy
        self._changes = changes
        self._results = Results(context)

    async def change(self, call: ToolCall, planned: PlannedCall, called: int) -> ActionResult:
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
            return self._results.previewed(action, call, place, draft.text, cause)
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
    """What the chunk of a change says: the new text, or the emoji."""
    return (planned.call.emoji or "") if planned.action is Action.REACT else planned.call.message
