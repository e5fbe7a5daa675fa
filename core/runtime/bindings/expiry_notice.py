"""Posts the configured message in a conversation when its binding expires.

The bot posts it, since the binding has ended. It is best effort: if the process dies before storing it, nothing is
posted.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio.abc

from trunkline.core.errors import InvalidSend
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.rows import IntentRow
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.intent_drafts import IntentDrafts
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.store.commands import Enqueue

_Lane = tuple[str, str, str, str]
#: number of notices prepared concurrently
_WORKERS = 16


class ExpiryNotice:
    """Posts the configured message when a binding expires."""

    def __init__(self, context: Context, preparer: Preparer, deliver: Callable[[IntentRow, int | None], None]) -> None:
        self._ctx = context
        self._preparer = preparer
        self._deliver = deliver
        self._drafts = IntentDrafts(context)
        self._lanes: Lanes[_Lane, tuple[SessionBindingRecord, Reason, int | None]] = Lanes(
            "farewells", workers=_WORKERS, now=context.env.steady
        )

    def start(self, group: anyio.abc.TaskGroup) -> None:
        """Start to post messages."""
        self._lanes.start(group, self._handle)

    def post(self, record: SessionBindingRecord, reason: Reason, cause: int | None) -> None:
        """Queue the message, if one is configured."""
        if self._text(record):
            self._lanes.put(record.conversation.lane, (record, reason, cause))

    def _text(self, record: SessionBindingRecord) -> str:
        return self._ctx.config.channel(record.conversation.channel).thread_bindings.farewell

    async def _handle(self, _lane: _Lane, item: tuple[SessionBindingRecord, Reason, int | None]) -> None:
        ctx, (record, reason, cause), text = self._ctx, item, self._text(item[0])
        draft = self._drafts.farewell(record)
        if draft.bound.binding is not None:
            # The conversation has been bound again.
            return
        try:
            row = await self._preparer.prepare(draft, text, cause)
        except InvalidSend as error:
            ctx.events.record(IntentSuppressed(reason=error.reason, text=text), cause, binding=record.binding_id)
            return
        if row.is_invisible:
            return

        def story(new: bool) -> int | None:
            return ctx.record_prepared(row, targeted=False, reason=reason, cause=cause) if new else None

        def then(prepared: int | None) -> None:
            if prepared is not None:
                self._deliver(row, prepared)

        await ctx.store.write(Enqueue(intent=row, now=ctx.env.now()), story, then=then)
