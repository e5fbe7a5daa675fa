"""The results of actions, and the events that go with them."""

from __future__ import annotations

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.actions.result import ActionResult, ActionStatus
from trunkline.core.delivery.mirror_text import said
from trunkline.core.events.actions import ActionPreviewed
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow, Work
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.message_tool.tool_call import ToolCall
from trunkline.core.store.queries import LoadIntents
from trunkline.core.values import Address, IntentId

#: `ActionResult.handled_by`: the queue, the platform, a dry run
CORE = "core"
ADAPTER = "adapter"
DRY_RUN = "dry-run"

#: the calls of a turn among which those of earlier runs are looked for
_NUMBERS = 200


class Results:
    """Makes results, and records what they report."""

    def __init__(self, context: Context) -> None:
        self._ctx = context

    async def of_earlier_run(
        self, action: Action, intent: IntentId, call: ToolCall, text: str, called: int
    ) -> ActionResult | None:
        """The result of the same call in an earlier run of the turn, whose process died; None: it did nothing."""
        loaded = await self._ctx.store.read(LoadIntents(ids=(intent,)))
        if not loaded.rows:
            return None
        self.record_repeat(call, intent, text, called)
        return self.stored(action, loaded.rows[0])

    async def of_earlier_runs(self, work: Work) -> tuple[ActionResult, ...]:
        """The results of earlier runs of a turn, in the order of its calls, as far as single calls go."""
        names = tuple(IntentId(f"{work.id}.send{number}") for number in range(1, _NUMBERS + 1))
        loaded = await self._ctx.store.read(LoadIntents(ids=names))
        return tuple(msgspec.structs.replace(self.stored(_action_of(row), row), said=_said(row)) for row in loaded.rows)

    def record_repeat(self, call: ToolCall, intent: IntentId, text: str, cause: int) -> None:
        """Record that a call is not carried out again."""
        body = IntentSuppressed(reason=Reason.ALREADY_QUEUED, text=text)
        self._ctx.events.record(body, cause, turn=call.work.turn, intent=intent)

    def stored(self, action: Action, row: IntentRow) -> ActionResult:
        """The result of a stored intent: queued, or cancelled by a hook. The same in every run of its turn."""
        cancelled, reason = row.is_cancelled, row.progress.reason
        return ActionResult(
            action=action,
            status=ActionStatus.SUPPRESSED if cancelled else ActionStatus.QUEUED,
            handled_by=CORE,
            channel=row.address.channel,
            place=row.address,
            intent=row.id,
            session_key=row.mirror_key,
            reason=reason if cancelled else None,
            detail=reason.sentence if cancelled and reason is not None else "",
        )

    def record_invisible(self, action: Action, call: ToolCall, row: IntentRow, text: str, called: int) -> ActionResult:
        """The result of a message of which nothing is visible."""
        self._ctx.events.record(IntentSuppressed(reason=Reason.NO_REPLY, text=text), called, **call.ids)
        return ActionResult(
            action=action,
            status=ActionStatus.SUPPRESSED,
            handled_by=CORE,
            channel=row.address.channel,
            place=row.address,
            reason=Reason.NO_REPLY,
            detail=Reason.NO_REPLY.sentence,
        )

    def record_preview(
        self, action: Action, call: ToolCall, place: Address, text: str, cause: int, *, session: str | None = None
    ) -> ActionResult:
        """The result of a dry run, which has no effects. `session`: the one that would remember it."""
        body = ActionPreviewed(action=action, channel=place.channel, place=place, text=text)
        self._ctx.events.record(body, cause, **call.ids)
        return ActionResult(
            action=action,
            status=ActionStatus.DRY_RUN,
            handled_by=DRY_RUN,
            channel=place.channel,
            place=place,
            session_key=session,
        )


def _action_of(row: IntentRow) -> Action:
    change = row.extra.action
    return Action.SEND if change is None else Action(change.action)


def _said(row: IntentRow) -> str:
    """The text of an intent, after hooks and chunking; of files alone, where they are."""
    return said(row.content.chunks) or ", ".join(row.content.media)
