"""What waiting and discarding mean for the reports of hands: their callbacks are parked, resumed and given up."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.core.reasons import Reason
from trunkline.core.records.rows import CallbackChange, IntentRow
from trunkline.core.runtime.callback_story import record_callback
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.states.delegation import CallbackEvent, CallbackState
from trunkline.core.store.delegations import ChangeCallback, FindCallback
from trunkline.core.values import DelegationId


class ReportStates:
    """Follows with the callbacks what the delivery loop does without ending an intent."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        #: reports that operators have discarded while messages of them were open
        self._discarded: set[DelegationId] = set()

    def park(self, row: IntentRow, reason: Reason, cause: int | None) -> None:
        """A message waits for its adapter. In the background: nothing depends on it."""
        if row.delegation is not None:
            self._ctx.store.submit(self._change(row.delegation, CallbackEvent.PARK, reason), self._story(row, cause))

    async def resume(self, row: IntentRow, cause: int | None) -> None:
        """The adapter is ready again."""
        if row.delegation is not None:
            change = self._change(row.delegation, CallbackEvent.RESUME, None)
            await self._ctx.store.write(change, self._story(row, cause))

    def _change(self, delegation: DelegationId, event: CallbackEvent, reason: Reason | None) -> ChangeCallback:
        return ChangeCallback(delegation=delegation, event=event, reason=reason)

    def _story(self, row: IntentRow, cause: int | None) -> Callable[[CallbackChange | None], None]:
        def story(change: CallbackChange | None) -> None:
            record_callback(self._ctx.events, change, cause, **ids_of(row))

        return story

    # ------------------------------------------------------------ discarded reports

    def discard(self, delegation: DelegationId) -> None:
        """Send nothing more of a report whose callback was discarded."""
        self._discarded.add(delegation)

    def is_discarded(self, row: IntentRow) -> bool:
        """Whether a message is not to be sent any more."""
        return row.delegation is not None and row.delegation in self._discarded

    async def recall(self, row: IntentRow) -> None:
        """Find out whether the report of a message that an earlier process left was discarded."""
        if row.delegation is None:
            return
        state = await self._ctx.store.read(FindCallback(delegation=row.delegation))
        if state is CallbackState.SUPPRESSED:
            self._discarded.add(row.delegation)
