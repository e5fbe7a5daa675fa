"""The delivery loop: one intent at a time per conversation; `trunkline.core.delivery.policy` decides each next step.

A chunk's receipt is durable before the next chunk is sent. This module only takes the next intent of each conversation,
waits until it may be sent, and has it attempted and settled.
"""

from __future__ import annotations

import anyio
import msgspec

from trunkline.core.channels import ChannelAdapter, Readiness
from trunkline.core.delivery.policy import (
    AttemptFacts,
    AttemptOutcome,
    DeliveryDecision,
    InterruptedIntent,
    NextStep,
    RecoveryAction,
)
from trunkline.core.delivery.states import DeliveryEvent, is_final
from trunkline.core.errors import IllegalTransition
from trunkline.core.events.delivery import AttemptEnded, IntentSettled, LaneWaiting, RecoveryDecided
from trunkline.core.reasons import Reason
from trunkline.core.runtime.context import Context, QueuedIntent, ids_of
from trunkline.core.runtime.lanes import HELD, Lanes
from trunkline.core.runtime.outbound.attempts import Attempts, can_of, other_way, transport_of
from trunkline.core.runtime.outbound.backlog import Backlog
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.runtime.outbound.recovery_rate import RecoveryRate
from trunkline.core.runtime.outbound.settle import Settler
from trunkline.core.store.commands import Defer, EndUnreadableIntent
from trunkline.core.store.port import answer
from trunkline.core.store.queries import ListOpenIntents, ListUnnotified
from trunkline.core.store.records import IntentRow
from trunkline.core.values import IntentState

_Lane = tuple[str, str, str, str]
#: number of open intents per query at start
_PAGE = 2000


class Delivery:
    """Delivers queued intents."""

    def __init__(self, context: Context, preparer: Preparer) -> None:
        self._ctx = context
        self._attempts = Attempts(context)
        self.settler = Settler(context, preparer)
        self.settler.connect(deliver=self.queue)
        self.backlog = Backlog(context)
        #: accounts whose adapter last reported that it is ready
        self._ready: set[tuple[str, str]] = set()
        self._recovery_rate = RecoveryRate(context)
        self.lanes: Lanes[_Lane, QueuedIntent] = Lanes(
            "delivery", self._handle, workers=context.config.delivery.lanes, now=context.env.now
        )

    def queue(self, row: IntentRow, cause: int | None) -> None:
        """Queue a durable intent in its conversation; a cancelled one is already over."""
        if is_final(row.state):
            self.settler.over(row, cause)
            return
        self._ctx.bindings.hold(row.binding)
        held = self.backlog.holds
        self._put(row.address.lane, QueuedIntent(id=row.id, row=row if held else None, cause=cause, held=held))

    def _put(self, lane: _Lane, item: QueuedIntent) -> None:
        self.backlog.add(lane, held=item.held)
        self.lanes.put(lane, item)

    # ------------------------------------------------------------ recovery

    async def recover(self, cause: int, begin: anyio.Event) -> None:
        """Queue the open intents of an earlier process, in their order.

        `begin` is set after the first page, so that sending does not wait for the rest. Recovery of each intent is
        decided when it reaches the head of its lane.
        """
        after = 0
        heads: set[_Lane] = set()
        while page := await self._ctx.store.read(ListOpenIntents(after=after, limit=_PAGE)):
            for one in page:
                lane = one.address.lane
                self._put(lane, QueuedIntent(id=one.id, row=None, cause=cause, left=True, head=lane not in heads))
                heads.add(lane)
            after = page[-1].n
            begin.set()

    async def finish_interrupted(self, cause: int) -> None:
        """Finish the after-work of an earlier process: store due transcript lines and notify hooks."""
        await self.settler.store_due()
        after = 0
        while page := await self._ctx.store.read(ListUnnotified(after=after, limit=_PAGE)):
            for n, row, fate in page:
                after = n
                self.settler.notify_hooks(row, fate, cause)

    def take(self, row: IntentRow, cause: int | None) -> None:
        """Queue an intent that an operator reopened."""
        self._ctx.bindings.hold(row.binding)
        self._put(row.address.lane, QueuedIntent(id=row.id, row=None, cause=cause))

    # ------------------------------------------------------------ the head of a lane

    async def _handle(self, lane: _Lane, item: QueuedIntent) -> float | None:
        """Work on the head of a lane; returns when to continue, or None when it is done."""
        try:
            until = await self._visit(lane, item)
        except IllegalTransition as error:
            until = await self._changed_elsewhere(lane, item, error)
        if until is None:
            self.backlog.done(lane, held=item.held)
        return until

    async def _visit(self, lane: _Lane, item: QueuedIntent) -> float | None:
        if item.row is None:
            loaded = await self._load(item)
            if loaded is None:
                return None
            item = loaded
        assert item.row is not None
        row = item.row
        if item.accepted is not None:
            return await self._settle_refused(lane, item, row)
        if item.not_before is not None and self._ctx.env.now() < item.not_before:
            return item.not_before
        adapter = self._ctx.adapters.get((row.address.channel, row.address.account))
        if adapter is None:
            return await self._without_adapter(lane, item, row)
        if item.left:
            item = await self._recall(adapter, item, row)
            assert item.row is not None
            row = item.row
            if item.action in _ENDINGS:
                event, reason = _ENDINGS[item.action]
                await self.settler.end(row, event, reason, item.cause)
                return None
            if item.not_before is not None and self._ctx.env.now() < item.not_before:
                self.lanes.replace_head(lane, item)
                return item.not_before
        if (row.attempts == 0 or item.waiting is not None) and self._too_old(row):
            await self._outlived(row, item.cause)
            return None
        if (row.address.channel, row.address.account) not in self._ready:
            until = await self._until_ready(adapter, lane, item, row)
            if until is not None:
                return until
        return await self._bring_forward(adapter, lane, item, row)

    async def _bring_forward(
        self, adapter: ChannelAdapter, lane: _Lane, item: QueuedIntent, row: IntentRow
    ) -> float | None:
        """Make attempts until the intent is over or must wait."""
        while True:
            if item.action is RecoveryAction.LOOKUP:
                outcome, seq = await self._attempts.look_up(adapter, row), item.cause
                if outcome.ambiguous:
                    # A failed look-up counts as an attempt, so that look-ups end too.
                    row = msgspec.structs.replace(row, attempts=row.attempts + 1)
            else:
                row = await self._attempts.mark(adapter, row)
                outcome, seq = await self._attempts.send(adapter, row, item.cause)
            decided = self._decide(adapter, row, outcome)
            ended = self._record_attempt(row, outcome, decided, seq)
            if outcome.unsent:
                self._ready.discard((row.address.channel, row.address.account))
            if decided.next in (NextStep.FALLBACK, NextStep.AS_BOT):
                row, cause = await self._other_way(row, decided, ended)
                item = msgspec.structs.replace(item, row=row, cause=cause, action=RecoveryAction.SEND)
                continue
            if decided.next not in (NextStep.SETTLE, NextStep.MISPLACED):
                return await self._not_settled(lane, item, row, decided, ended, archived=outcome.archived)
            assert outcome.receipt is not None
            if decided.next is NextStep.MISPLACED:
                await self.settler.misplaced(row, outcome.receipt, ended)
                return None
            if row.acked + 1 == len(row.chunks):
                self._settle_last(lane, item, row, outcome, ended)
                return HELD
            row, cause = await self.settler.settle(row, outcome.receipt, outcome.reason, ended)
            item = msgspec.structs.replace(item, row=row, cause=cause, action=RecoveryAction.SEND)

    def _settle_last(
        self, lane: _Lane, item: QueuedIntent, row: IntentRow, outcome: AttemptOutcome, ended: int
    ) -> None:
        """Submit the end of an intent; the lane continues when it is stored, without a worker waiting for it."""
        receipt = outcome.receipt
        assert receipt is not None

        def done() -> None:
            self.backlog.done(lane, held=item.held)
            self.lanes.done(lane)

        def failed(error: Exception) -> None:
            kept = msgspec.structs.replace(item, row=row, accepted=(receipt, outcome.reason, ended), error=error)
            self.lanes.replace_head(lane, kept)
            self.lanes.again(lane)

        self.settler.settle_last(row, receipt, outcome.reason, ended, done, failed)

    async def _settle_refused(self, lane: _Lane, item: QueuedIntent, row: IntentRow) -> float | None:
        """Settle an accepted intent whose end the store refused, because of the intent or of its mirror."""
        assert item.accepted is not None
        assert item.error is not None
        receipt, reason, ended = item.accepted
        if isinstance(item.error, IllegalTransition):
            raise item.error
        self.settler.refused(row, item.error, ended)
        await self.settler.settle(row, receipt, reason, ended)
        return None

    # ------------------------------------------------------------ before the attempt

    async def _load(self, item: QueuedIntent) -> QueuedIntent | None:
        """The item with its texts; None if there is nothing left to send."""
        row = await self.backlog.load(item.id)
        if isinstance(row, str):
            # Only the head of a conversation can have been on the wire.
            state = IntentState.UNKNOWN if item.left and item.head else IntentState.DEAD
            body = IntentSettled(state=state, reason=Reason.BROKEN_ROW, attempts=0, detail=row)
            end = EndUnreadableIntent(intent=item.id, state=state, reason=Reason.BROKEN_ROW, now=self._ctx.env.now())
            await self._ctx.store.write(end, lambda _: self._ctx.events.record(body, item.cause, intent=item.id))
        if row is None or isinstance(row, str) or is_final(row.state):
            self.settler.gone(item.id, row.binding if isinstance(row, IntentRow) else None)
            return None
        return msgspec.structs.replace(item, row=row)

    async def _recall(self, adapter: ChannelAdapter, item: QueuedIntent, row: IntentRow) -> QueuedIntent:
        """Decide on an intent that an earlier process left open."""
        ctx, now = self._ctx, self._ctx.env.now()
        left = InterruptedIntent(
            state=row.state,
            head=item.head,
            attempts=row.attempts,
            created_at=row.created_at,
            next_at=row.next_at,
            reason=row.reason,
            updated_at=row.updated_at,
            doubt_at=row.doubt_at,
            marked=row.marked,
        )
        decision = ctx.decisions.recover(left, now=now, can=can_of(adapter, row), config=ctx.config.delivery)
        if decision.counts:
            doubt = row.updated_at if row.doubt_at is None else row.doubt_at
            row = msgspec.structs.replace(row, attempts=row.attempts + 1, doubt_at=doubt, marked=decision.mark)
            defer = Defer(intent=row, next_at=decision.at or now, reason=decision.reason, now=now)
            await ctx.store.write(defer, answer)
            row = defer.after
        seq = ctx.events.record(
            RecoveryDecided(
                decision=decision.action.value, reason=decision.reason, attempts=row.attempts, at=decision.at
            ),
            item.cause,
            **ids_of(row),
        )
        at = decision.at if self._too_old(row) else self._recovery_rate.slot(row, decision.at, seq)
        return msgspec.structs.replace(item, row=row, cause=seq, action=decision.action, not_before=at, left=False)

    def _too_old(self, row: IntentRow) -> bool:
        return self._ctx.env.now() - row.created_at > self._ctx.config.delivery.max_age

    async def _outlived(self, row: IntentRow, cause: int | None) -> None:
        """Expire an intent that is too old to be attempted; one in doubt is parked."""
        event = DeliveryEvent.EXPIRE if row.doubt_at is None else DeliveryEvent.PARK
        await self.settler.end(row, event, Reason.TOO_OLD, cause)

    async def _without_adapter(self, lane: _Lane, item: QueuedIntent, row: IntentRow) -> float | None:
        """Visibly wait for a missing adapter, until the intent is too old."""
        if self._too_old(row):
            await self._outlived(row, item.cause)
            return None
        # Installing the adapter wakes the lane.
        until = row.created_at + self._ctx.config.delivery.max_age + 1.0
        self._wait(lane, item, row, Reason.NO_ADAPTER, until, "install an adapter for it")
        return until

    async def _until_ready(
        self, adapter: ChannelAdapter, lane: _Lane, item: QueuedIntent, row: IntentRow
    ) -> float | None:
        """None if the adapter is ready, else when to check again. Waiting uses no attempt (invariant L4)."""
        if isinstance(adapter, Readiness):
            ok, detail = await self._ask(adapter)
            if not ok:
                until = self._ctx.env.now() + self._ctx.config.delivery.not_ready_wait
                self._wait(lane, item, row, Reason.NOT_READY, until, detail)
                return until
        self._ready.add((row.address.channel, row.address.account))
        return None

    async def _ask(self, adapter: Readiness) -> tuple[bool, str]:
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout):
                answer = await adapter.ready()
        except Exception as error:  # noqa: BLE001 -- an adapter that fails to answer is not ready
            return False, f"{type(error).__name__}: {error}"
        return answer.ok, answer.reason

    def _wait(self, lane: _Lane, item: QueuedIntent, row: IntentRow, reason: Reason, until: float, detail: str) -> None:
        if item.waiting is not reason:
            body = LaneWaiting(address=row.address, reason=reason, until=until, detail=detail)
            self._ctx.events.record(body, item.cause, **ids_of(row))
        self.lanes.replace_head(lane, msgspec.structs.replace(item, row=row, waiting=reason))

    def broken(self, channel: str, account: str) -> None:
        """After a broken connection, check readiness before the next send (invariant L4)."""
        self._ready.discard((channel, account))

    def installed(self, channel: str, account: str) -> None:
        """Continue the lanes that waited for a new adapter."""
        self.lanes.wake(lambda lane: lane[0] == channel and lane[1] == account)

    # ------------------------------------------------------------ after the attempt

    def _decide(self, adapter: ChannelAdapter, row: IntentRow, outcome: AttemptOutcome) -> DeliveryDecision:
        ctx, can = self._ctx, can_of(adapter, row)
        settings = ctx.config.channel(row.address.channel).thread_bindings
        tried = AttemptFacts(
            attempts=row.attempts,
            created_at=row.created_at,
            doubt_at=row.doubt_at,
            transport=transport_of(row, can),
            marked=row.marked,
            best_effort=row.best_effort,
            bot_instead=row.identity is not None and settings.identity_fallback == "bot",
        )
        return ctx.decisions.after_attempt(outcome, tried=tried, now=ctx.env.now(), can=can, config=ctx.config.delivery)

    def _record_attempt(
        self, row: IntentRow, outcome: AttemptOutcome, decided: DeliveryDecision, cause: int | None
    ) -> int:
        return self._ctx.events.record(
            AttemptEnded(
                chunk=row.acked,
                attempt=row.attempts,
                reason=outcome.reason,
                decision=decided.next.value,
                retry_at=decided.at,
                detail=outcome.detail,
            ),
            cause,
            **ids_of(row),
        )

    async def _other_way(self, row: IntentRow, decided: DeliveryDecision, cause: int) -> tuple[IntentRow, int]:
        """Durably switch the transport or identity, so that the first one is never used again."""
        ctx = self._ctx
        after, body = other_way(row, decided)
        now = ctx.env.now()
        defer = Defer(intent=after, next_at=now, reason=decided.reason, now=now)
        seq = await ctx.store.write(defer, lambda _: ctx.events.record(body, cause, binding=row.binding, **ids_of(row)))
        if after.identity is None and row.identity is not None:
            most = ctx.config.channel(row.address.channel).thread_bindings.degraded_after
            ctx.bindings.identity_failed(row.binding, most, seq)
        return defer.after, seq

    async def _not_settled(
        self, lane: _Lane, item: QueuedIntent, row: IntentRow, decided: DeliveryDecision, cause: int, *, archived: bool
    ) -> float | None:
        if decided.next not in (NextStep.RETRY, NextStep.LOOKUP):
            await self.settler.end(row, decided.event, decided.reason, cause, archived=archived)
            return None
        ctx, at = self._ctx, decided.at or self._ctx.env.now()
        row = msgspec.structs.replace(row, marked=decided.mark or row.marked, doubt_at=decided.doubt_at)
        defer = Defer(intent=row, next_at=at, reason=decided.reason, now=ctx.env.now())
        await ctx.store.write(defer, answer)
        action = RecoveryAction.LOOKUP if decided.next is NextStep.LOOKUP else RecoveryAction.SEND
        after = QueuedIntent(id=row.id, row=defer.after, cause=cause, action=action, not_before=at, held=item.held)
        self.lanes.replace_head(lane, after)
        return at

    async def _changed_elsewhere(self, lane: _Lane, item: QueuedIntent, error: IllegalTransition) -> float:
        """Reload an intent that was changed elsewhere, and recover it like one of an earlier process."""
        now = self._ctx.env.now()
        if item.row is not None:
            body = LaneWaiting(address=item.row.address, reason=Reason.CHANGED_ELSEWHERE, until=now, detail=error.facts)
            self._ctx.events.record(body, item.cause, **ids_of(item.row))
        again = QueuedIntent(id=item.id, row=None, cause=item.cause, left=True, head=True, held=item.held)
        self.lanes.replace_head(lane, again)
        return now


#: recovered intents that end without another attempt
_ENDINGS: dict[RecoveryAction, tuple[DeliveryEvent, Reason]] = {
    RecoveryAction.PARK: (DeliveryEvent.PARK, Reason.PARKED),
    RecoveryAction.EXPIRE: (DeliveryEvent.EXPIRE, Reason.TOO_OLD),
}
