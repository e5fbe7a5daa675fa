"""Decides on the intents that an earlier process left open, and translates their stored times to the steady clock."""

import msgspec

from trunkline.core.channels import ChannelAdapter
from trunkline.core.delivery.policy import is_too_old
from trunkline.core.delivery.recovery import InterruptedIntent, RecoveryAction, doubt_of
from trunkline.core.env import Env
from trunkline.core.events.delivery import LaneWaiting, RecoveryDecided
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.runtime.outbound.attempts import can_of
from trunkline.core.runtime.outbound.open_intents import QueuedIntent
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import Defer
from trunkline.core.store.port import answer
from trunkline.core.values import IntentState


class Interrupted:
    """Recovers the intents of an earlier process, one at a time, when they reach the head of their lane."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        #: when the next recovered message of an account may be sent
        self._slots: dict[tuple[str, str], float] = {}

    def doubt(self, item: QueuedIntent, row: IntentRow) -> float | None:
        """When the first attempt left that may have been accepted, of an intent whose account has no adapter."""
        return doubt_of(_facts(self._ctx.env, item, row), None) if item.left else item.doubt

    async def recall(self, adapter: ChannelAdapter, item: QueuedIntent, row: IntentRow) -> QueuedIntent:
        """Decide on an intent, and store what the decision must not lose: the doubt, and the attempt that counts."""
        ctx, now = self._ctx, self._ctx.env.steady()
        left = _facts(ctx.env, item, row)
        decision = ctx.decisions.recover(left, now=now, can=can_of(adapter, row), config=ctx.config.delivery)
        doubt = None if decision.doubt_at is None else ctx.env.wall_of(decision.doubt_at)
        was = row.progress
        row = row.with_progress(
            attempts=was.attempts + decision.counts, interrupted=was.interrupted + decision.interrupted, doubt_at=doubt
        )
        # One that is parked stays marked until its end is stored: a death between two writes would forget the mark.
        parks = decision.action is RecoveryAction.PARK
        if doubt is not None and not parks and (decision.counts or was.state is IntentState.SENDING):
            row = row.with_progress(marked=decision.mark)
            next_at = ctx.env.wall_of(decision.at or now)
            defer = Defer(intent=row, next_at=next_at, reason=decision.reason, now=ctx.env.now())
            await ctx.store.write(defer, answer)
            row = defer.after
        body = RecoveryDecided(
            decision=decision.action.value, reason=decision.reason, attempts=row.progress.attempts, at=decision.at
        )
        seq = ctx.events.record(body, item.cause, **ids_of(row))
        old = is_too_old(left.created_at, now, ctx.config.delivery)
        return msgspec.structs.replace(
            item,
            row=row,
            cause=seq,
            action=decision.action,
            ending=decision.reason,
            not_before=decision.at,
            doubt=decision.doubt_at,
            left=False,
            unpaced=not old,
        )

    def pace(self, item: QueuedIntent, row: IntentRow) -> QueuedIntent:
        """The item with its time at the rate of recovered messages, or without one if it may be sent now.

        Its account must be ready, or the time would pass. If it is away when the time comes, the item gets another.
        """
        at = None if item.has_slot else self._take_slot(row, item.cause)
        return msgspec.structs.replace(item, not_before=at, unpaced=at is not None, has_slot=at is not None)

    def _take_slot(self, row: IntentRow, cause: int | None) -> float | None:
        """When to send a recovered message, None for now; records an event if it has to wait (scenario B114)."""
        rate = self._ctx.config.delivery.recovery_rate
        if rate is None:
            return None
        account, now = (row.address.channel, row.address.account), self._ctx.env.steady()
        slot = max(self._slots.get(account, now), now)
        self._slots[account] = slot + 1 / rate
        if slot <= now:
            return None
        body = LaneWaiting(address=row.address, reason=Reason.PACED, until=slot, detail=f"{rate:g} a second")
        self._ctx.events.record(body, cause, **ids_of(row))
        return slot


#: recovered intents that end without another attempt
_ENDINGS: dict[RecoveryAction, DeliveryEvent] = {
    RecoveryAction.PARK: DeliveryEvent.PARK,
    RecoveryAction.EXPIRE: DeliveryEvent.EXPIRE,
}


def end_of_recovered(item: QueuedIntent) -> tuple[DeliveryEvent, Reason] | None:
    """The end that recovery has decided, if any; a park for doubt alone has the reason ``parked``."""
    event = _ENDINGS.get(item.action)
    if event is None:
        return None
    return event, Reason.PARKED if item.ending in (None, Reason.CRASH_AMBIGUOUS) else item.ending


def born_at(env: Env, row: IntentRow) -> float:
    """When an intent was created, on the steady clock."""
    return env.steady_of(row.created_at)


def doubt_at(env: Env, row: IntentRow) -> float | None:
    """When the first attempt in doubt left, on the steady clock; never later than the stored times allow.

    Its age was at least that of the last write then, whatever happened to the wall clock since.
    """
    since = row.progress.doubt_at
    return None if since is None else min(env.steady_of(since), env.steady() - (row.updated_at - since))


def _facts(env: Env, item: QueuedIntent, row: IntentRow) -> InterruptedIntent:
    now, was = env.steady(), row.progress
    next_at = was.next_at
    if next_at is not None:
        # A wall clock that was set back makes no wait longer than it was planned.
        next_at = min(env.steady_of(next_at), now + max(next_at - row.updated_at, 0.0))
    return InterruptedIntent(
        state=was.state,
        head=item.head,
        attempts=was.attempts,
        interrupted=was.interrupted,
        created_at=born_at(env, row),
        next_at=next_at,
        reason=was.reason,
        updated_at=min(env.steady_of(row.updated_at), now),
        doubt_at=doubt_at(env, row),
        marked=was.marked,
        begun=was.acked > 0,
    )
