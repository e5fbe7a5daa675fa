"""The message tool: carries out the calls of turns in their order of steps, and records what it refuses."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.core.actions.result import ActionResult
from trunkline.core.errors import UsageError
from trunkline.core.events.gateway import ToolCalled, ToolRefused
from trunkline.core.reasons import Reason
from trunkline.core.runtime.actions.messages import MessageSender
from trunkline.core.runtime.actions.tool_call import ToolCall, ToolMessage
from trunkline.core.runtime.client_sends.target_resolution import TargetResolver, refusal
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.store.records import IntentRow

TOOL = "message"


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
        self._messages = MessageSender(context, targets=targets, preparer=preparer, deliver=deliver)

    async def send(self, call: ToolCall, what: ToolMessage) -> ActionResult:
        """Queue a message, which is durable on return. Raises `UsageError`."""
        where = str(what.aim.to or call.work.reply_to or "nowhere")
        called = self._ctx.events.record(ToolCalled(tool=TOOL, detail=where), call.cause, **call.ids)
        try:
            return await self._messages.send(call, what, called)
        except UsageError as error:
            self.refuse(call, error, refusal(error), called)
            raise

    def refuse(self, call: ToolCall, error: UsageError, reason: Reason, cause: int) -> None:
        """Record a refused call."""
        self._ctx.events.record(ToolRefused(tool=TOOL, reason=reason, detail=error.facts), cause, **call.ids)
