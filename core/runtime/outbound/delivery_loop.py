"""The delivery loop: one intent at a time per conversation; `trunkline.core.delivery.policy` decides each next step.

A chunk's receipt is durable before the next is sent. This module takes intents, waits, and has them attempted.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
import msgspec

from trunkline.core.channels import ChannelAdapter
from trunkline.core.delivery.policy import (
    AttemptFacts,
    AttemptOutcome,
    DeliveryDecision,
    NextStep,
    counted_attempts,
    is_too_old,
)
from trunkline.core.delivery.recovery import RecoveryAction
from trunkline.core.errors import IllegalTransition
from trunkline.core.events.delivery import AttemptEnded, LaneWaiting
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import BrokenIntent, IntentRow
from trunkline.core.runtime.context import Context, QueuedIntent, ids_of
from trunkline.core.runtime.lanes import HELD, Lanes
from trunkline.core.runtime.outbound.attempts import Attempts, Judge, can_of, other_way, transport_of
from trunkline.core.runtime.outbound.backlog import Backlog
from trunkline.core.runtime.outbound.interrupted import ENDINGS, Interrupted, born_at, doubt_at, end_reason
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.runtime.outbound.readiness import ReadyAccounts
from trunkline.core.runtime.outbound.report_states import ReportStates
from trunkline.core.runtime.outbound.settle import Settler
from trunkline.core.states.intent import DeliveryEvent, is_final
from trunkline.core.store.commands import Defer
from trunkline.core.store.port import answer
from trunkline.core.store.queries import ListOpenIntents, ListUnnotified, OpenIntent
from trunkline.core.values import DelegationId, IntentState

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
        self._ready = ReadyAccounts(context)
        self._interrupted = Interrupted(context)
        self._reports = ReportStates(context)
        self.lanes: Lanes[_Lane, QueuedIntent] = Lanes(
            "delivery", self._handle, workers=context.config.delivery.lanes, now=context.env.steady
        )

    def queue(self, row: IntentRow, cause: int | None) -> None:
        """Queue a durable intent in its conversation; a cancelled one is already over."""
        if is_final(row.progress.state):
            self.settler.over(row, cause)
            return
        self.settler.hold(row)
        held = self.backlog.holds
        born = born_at(self._ctx.env, row)
        item = QueuedIntent(id=row.id, row=row if held else None, cause=cause, held=held, born=born)
        self._put(row.address.lane, item)

    def _put(self, lane: _Lane, item: QueuedIntent) -> None:
        self.backlog.add(lane, held=item.held)
        self.lanes.put(lane, item)

    # ------------------------------------------------------------ recovery

    async def recover(self, cause: int, begin: anyio.Event, left: Callable[[OpenIntent], None]) -> None:
        """Queue the open intents of an earlier process, in their order; `left` is called with each before that.

        `begin` is set after the first page, so that sending does not wait for the rest. Recovery of each intent is
        decided when it reaches the head of its lane.
        """
        after, heads = 0, set[_Lane]()
        while page := await self._ctx.store.read(ListOpenIntents(after=after, limit=_PAGE)):
            for one in page:
                lane = one.address.lane
                left(one)
                self._put(lane, QueuedIntent(id=one.id, row=None, cause=cause, left=True, head=lane not in heads))
                heads.add(lane)
            after = page[-1].n
            begin.set()

    async def finish_interrupted(self, cause: int) -> None:
        """Finish the after-work of an earlier process: store due transcript lines and notify hooks."""
        await self.settler.lines.store_due()
        after = 0
        while page := await self._ctx.store.read(ListUnnotified(after=after, limit=_PAGE)):
            for n, row, fate in page:
                after = n
                self.settler.notify_hooks(row, fate, cause)

    def take(self, row: IntentRow, cause: int | None) -> None:
        """Queue an intent that an operator reopened."""
        self.settler.hold(row)
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
        if self._reports.is_discarded(row) and row.progress.state is IntentState.PREPARED and item.doubt is None:
            await self.settler.end(row, DeliveryEvent.CANCEL, Reason.DISCARDED, item.cause)
            return None
        if item.not_before is not None and self._ctx.env.steady() < item.not_before:
            return item.not_before
        adapter = self._ctx.adapters.get((row.address.channel, row.address.account))
        if adapter is None:
            # Installing the adapter wakes the lane.
            until = _born(item) + self._ctx.config.delivery.max_age + 1.0
            return await self._absent(lane, item, row, Reason.NO_ADAPTER, until, "install an adapter for it")
        if item.left:
            item = await self._interrupted.recall(adapter, item, row)
            assert item.row is not None
            row = item.row
            if item.action in ENDINGS:
                await self.settler.end(row, ENDINGS[item.action], end_reason(item), item.cause)
                return None
            if item.not_before is not None and self._ctx.env.steady() < item.not_before:
                self.lanes.replace_head(lane, item)
                return item.not_before
        detail = await self._ready.why_not(adapter, row.address)
        if detail is not None:
            until = self._ctx.env.steady() + self._ctx.config.delivery.not_ready_wait
            return await self._absent(lane, item, row, Reason.NOT_READY, until, detail)
        if item.unpaced and (item := self._interrupted.pace(item, row)).not_before is not None:
            self.lanes.replace_head(lane, item)
            return item.not_before
        if item.parked:
            await self._reports.resume(row, item.cause)
        return await self._bring_forward(adapter, lane, item, row)

    async def _bring_forward(
        self, adapter: ChannelAdapter, lane: _Lane, item: QueuedIntent, row: IntentRow
    ) -> float | None:
        """Make attempts until the intent is over or must wait."""
        while True:
            if item.action is RecoveryAction.LOOKUP:
                made = await self._attempts.look_up(adapter, row, item.cause)
            else:
                made = await self._attempts.send(adapter, row, item.cause, self._judge(adapter, item, row))
            row, outcome = made.row, made.outcome
            if isinstance(outcome, DeliveryDecision):
                return await self._not_settled(lane, item, row, outcome, item.cause, archived=False)
            decided = self._decide(adapter, item, row, outcome, made.left_at)
            ended = self._record_attempt(row, outcome, decided, made.seq)
            if outcome.unsent:
                self._ready.unknown(row.address.channel, row.address.account)
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
            if row.is_last:
                self._settle_last(lane, item, row, outcome, ended)
                return HELD
            row, cause = await self.settler.settle(row, outcome.receipt, outcome.reason, ended)
            item = msgspec.structs.replace(item, row=row, cause=cause, action=RecoveryAction.SEND, doubt=None)

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
        self.settler.lines.refused(row, item.error, ended)
        await self.settler.settle(row, receipt, reason, ended)
        return None

    # ------------------------------------------------------------ before the attempt

    async def _load(self, item: QueuedIntent) -> QueuedIntent | None:
        """The item with its texts; None if there is nothing left to send."""
        row = await self.backlog.load(item.id)
        if item.left and row is not None:
            self.settler.adopt(row.row if isinstance(row, BrokenIntent) else row)
        if isinstance(row, BrokenIntent):
            # Only the head of a conversation can have been on the wire.
            state = IntentState.UNKNOWN if item.left and item.head else IntentState.DEAD
            await self.settler.end_unreadable(row, state, item.cause)
            return None
        if row is None or is_final(row.progress.state):
            self.settler.gone(item.id, None)
            return None
        born = born_at(self._ctx.env, row) if item.born is None else item.born
        if item.left:
            await self._reports.recall(row)
        doubt, parked = doubt_at(self._ctx.env, row), item.parked or (item.left and row.delegation is not None)
        return msgspec.structs.replace(item, row=row, born=born, doubt=doubt, parked=parked)

    async def _absent(
        self, lane: _Lane, item: QueuedIntent, row: IntentRow, reason: Reason, until: float, detail: str
    ) -> float | None:
        """Visibly wait for an account that cannot send, until the intent is too old. Waiting uses no attempt (L4)."""
        if not is_too_old(_born(item), self._ctx.env.steady(), self._ctx.config.delivery):
            self._wait(lane, item, row, reason, until, detail)
            return until
        doubt = self._interrupted.doubt(item, row)
        if doubt is None:
            await self.settler.end(row, DeliveryEvent.EXPIRE, Reason.TOO_OLD, item.cause)
        else:
            row = row.with_progress(doubt_at=self._ctx.env.wall_of(doubt))
            await self.settler.end(row, DeliveryEvent.PARK, Reason.TOO_OLD, item.cause)
        return None

    def _wait(self, lane: _Lane, item: QueuedIntent, row: IntentRow, reason: Reason, until: float, detail: str) -> None:
        if item.waiting is not reason:
            body = LaneWaiting(address=row.address, reason=reason, until=until, detail=detail)
            seq = self._ctx.events.record(body, item.cause, **ids_of(row))
            self._reports.park(row, reason, seq)
        parked = row.delegation is not None
        after = msgspec.structs.replace(item, row=row, waiting=reason, has_slot=False, parked=parked)
        self.lanes.replace_head(lane, after)

    def broken(self, channel: str, account: str) -> None:
        """After a broken connection, check readiness before the next send (invariant L4)."""
        self._ready.unknown(channel, account)

    def discard(self, delegation: DelegationId) -> None:
        """Send nothing more of a report that an operator has discarded; what is on its way ends as it does."""
        self._reports.discard(delegation)
        self.lanes.wake(lambda _: True)

    def installed(self, channel: str, account: str) -> None:
        """Continue the lanes that waited for a new adapter."""
        self.lanes.wake(lambda lane: lane[0] == channel and lane[1] == account)

    # ------------------------------------------------------------ after the attempt

    def _judge(self, adapter: ChannelAdapter, item: QueuedIntent, row: IntentRow) -> Judge:
        """Judges the next chunk at the moment of its call; only one in doubt is judged by its attempts."""
        ctx, can, was = self._ctx, can_of(adapter, row), row.progress
        counted = 0 if item.doubt is None else counted_attempts(was.attempts, was.interrupted, ctx.config.delivery)

        def judge() -> DeliveryDecision | None:
            return ctx.decisions.before_attempt(
                created_at=_born(item),
                doubt_at=item.doubt,
                begun=was.acked > 0,
                attempts=counted,
                now=ctx.env.steady(),
                can=can,
                config=ctx.config.delivery,
            )

        return judge

    def _decide(
        self, adapter: ChannelAdapter, item: QueuedIntent, row: IntentRow, outcome: AttemptOutcome, left_at: float
    ) -> DeliveryDecision:
        ctx, can, was = self._ctx, can_of(adapter, row), row.progress
        settings = ctx.config.channel(row.address.channel).thread_bindings
        is_webhook = row.bound.identity is not None and row.extra.action is None
        tried = AttemptFacts(
            attempts=counted_attempts(was.attempts, was.interrupted, ctx.config.delivery),
            created_at=_born(item),
            left_at=left_at,
            doubt_at=item.doubt,
            begun=was.acked > 0,
            transport=transport_of(row, can),
            marked=was.marked,
            best_effort=row.best_effort,
            bot_instead=is_webhook and settings.identity_fallback == "bot",
        )
        now = ctx.env.steady()
        return ctx.decisions.after_attempt(outcome, tried=tried, now=now, can=can, config=ctx.config.delivery)

    def _record_attempt(
        self, row: IntentRow, outcome: AttemptOutcome, decided: DeliveryDecision, cause: int | None
    ) -> int:
        return self._ctx.events.record(
            AttemptEnded(
                chunk=row.progress.acked,
                attempt=row.progress.attempts,
                reason=outcome.reason,
                decision=decided.next._value_,
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
        ids = {"binding": row.bound.binding, **ids_of(row)}
        seq = await ctx.store.write(defer, lambda _: ctx.events.record(body, cause, **ids))
        if after.bound.identity is None and row.bound.identity is not None:
            most = ctx.config.channel(row.address.channel).thread_bindings.degraded_after
            ctx.bindings.identity_failed(row.bound.binding, most, seq)
        return defer.after, seq

    async def _not_settled(
        self,
        lane: _Lane,
        item: QueuedIntent,
        row: IntentRow,
        decided: DeliveryDecision,
        cause: int | None,
        *,
        archived: bool,
    ) -> float | None:
        if decided.next not in (NextStep.RETRY, NextStep.LOOKUP):
            if decided.next is NextStep.FAIL:
                # Decided only where no attempt is in doubt, or no longer.
                row = row.with_progress(doubt_at=None)
            await self.settler.end(row, decided.event, decided.reason, cause, archived=archived)
            return None
        env, at = self._ctx.env, decided.at or self._ctx.env.steady()
        doubt = None if decided.doubt_at is None else env.wall_of(decided.doubt_at)
        row = row.with_progress(marked=decided.mark or row.progress.marked, doubt_at=doubt)
        defer = Defer(intent=row, next_at=env.wall_of(at), reason=decided.reason, now=env.now())
        await self._ctx.store.write(defer, answer)
        after = QueuedIntent(
            id=row.id,
            row=defer.after,
            cause=cause,
            action=RecoveryAction.LOOKUP if decided.next is NextStep.LOOKUP else RecoveryAction.SEND,
            not_before=at,
            born=item.born,
            doubt=decided.doubt_at,
            held=item.held,
        )
        self.lanes.replace_head(lane, after)
        return at

    async def _changed_elsewhere(self, lane: _Lane, item: QueuedIntent, error: IllegalTransition) -> float:
        """Reload an intent that was changed elsewhere, and recover it like one of an earlier process."""
        now = self._ctx.env.steady()
        if item.row is not None:
            body = LaneWaiting(address=item.row.address, reason=Reason.CHANGED_ELSEWHERE, until=now, detail=error.facts)
            self._ctx.events.record(body, item.cause, **ids_of(item.row))
        again = QueuedIntent(id=item.id, row=None, cause=item.cause, left=True, head=True, held=item.held)
        self.lanes.replace_head(lane, again)
        return now


def _born(item: QueuedIntent) -> float:
    """When a loaded intent was created, on the steady clock."""
    assert item.born is not None
    return item.born
