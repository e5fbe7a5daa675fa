"""Begins the turns that bring results back: from then on a report is in the hands of its agent."""

from __future__ import annotations

import msgspec

from trunkline.core.records.rows import Work
from trunkline.core.runtime.callback_story import record_callback
from trunkline.core.runtime.context import Context
from trunkline.core.store.delegations import BeginCallback, CallbackBegun


async def begin_callback(context: Context, work: Work, cause: int) -> Work | None:
    """The work with the whole text of its result, or none if the callback has been discarded meanwhile."""
    if work.callback is None:
        return work
    delegation = work.callback.delegation

    def story(begun: CallbackBegun) -> CallbackBegun:
        record_callback(context.events, begun.change, cause, inbound=work.id, turn=work.turn)
        return begun

    begun = await context.store.write(BeginCallback(delegation=delegation, work=work), story)
    if not begun.due:
        return None
    return work if begun.text is None else msgspec.structs.replace(work, text=begun.text)
