"""The configured rate limit for recovered messages, per account (scenario B114)."""

from __future__ import annotations

from trunkline.core.events.delivery import LaneWaiting
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.runtime.context import Context, ids_of


class RecoveryRate:
    """Assigns send times to recovered messages."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        #: when the next recovered message of an account may be sent
        self._next: dict[tuple[str, str], float] = {}

    def slot(self, row: IntentRow, cause: int | None) -> float | None:
        """When to send a message, None for now; records an event if it has to wait."""
        rate = self._ctx.config.delivery.recovery_rate
        if rate is None:
            return None
        account, now = (row.address.channel, row.address.account), self._ctx.env.steady()
        slot = max(self._next.get(account, now), now)
        self._next[account] = slot + 1 / rate
        if slot <= now:
            return None
        body = LaneWaiting(address=row.address, reason=Reason.PACED, until=slot, detail=f"{rate:g} a second")
        self._ctx.events.record(body, cause, **ids_of(row))
        return slot
