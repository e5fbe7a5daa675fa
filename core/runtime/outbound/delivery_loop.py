"""The delivery loop: each conversation has a lane of intents, and the loop works on the heads of all lanes.

The life of the head of a lane
==============================

An intent is queued when it is durable. It waits in the lane of its conversation (as one account sees it, with its
thread) until all intents before it are over, and then it is the head. From here on everything is about heads: an intent
behind one is an id, and perhaps a row in memory.

A visit
-------

A worker of the lanes *visits* a head. A visit has three results, the values that a handler of `Lanes` returns:

- **over** (None): the intent has ended, durably. The next one becomes the head.
- **wait** (a time): there is nothing to do before that. The worker goes to another lane; the head stays where it is,
  and so does everything behind it. The next visit is at that time, or earlier if the lane is woken.
- **held** (`HELD`): the platform has accepted the last chunk, and the end of the intent is with the store. No worker
  waits for the commit, which releases the lane itself.

What an adapter raises is an outcome and not an error of a visit.

`Delivery._visit` asks six questions, in this order. Each may only be asked once those before it are answered.

1. *Is there something to send?* A row that is not in memory is loaded now: texts beyond `delivery.window` are not kept.
   The intent may be gone or have ended, since an operator was faster, or be unreadable; then the head is over.
2. *Has the platform accepted it already?* Then the store refused its end at an earlier visit, because of its mirror.
   The receipt is stored without the mirror, which is due from then on. A refused mirror never causes another attempt.
3. *Is its end decided?* An operator has discarded the report that it belongs to; or an earlier process left it, and
   recovery parks or expires it; or its turn has sent the same with the message tool. Recovery is decided for heads
   only, because only a head can have been on the wire: the receipt of a chunk is durable before the next chunk of its
   conversation leaves. It has to know what the platform promises, so without an adapter it waits for one.
4. *Is it time?* A deferred head keeps its time over restarts; one that waits for a closed place, until that is open.
5. *Can its account send?* The loop waits for a missing adapter and for one that is not ready, visibly (`lane.waiting`),
   until the intent is too old. This uses up no attempt (invariant L4). The question comes before the pace: a slot would
   pass while the account is away.
6. *Is it its turn among the recovered?* After a restart, what was left is sent at a limited rate.

Then come attempts, until the head is over, waits, or is held.

An attempt
----------

An attempt sends one chunk, or looks one up. Right before the call `before_attempt` judges the chunk once more, and may
end it without an attempt. `core.delivery.policy` decides what follows from its outcome. The loop
applies that decision and adds nothing of its own:

- ``settle`` stores the receipt: of the last chunk together with mirror and end, and the lane is held; of another chunk
  alone, and the next chunk follows at once.
- ``misplaced`` ends the intent. People see the chunk at another place, whose session remembers it.
- ``fallback`` and ``as-bot`` store the other transport or identity, and the next attempt follows at once.
- ``retry`` and ``lookup`` store the time of the next attempt or look-up, and the head waits.
- everything else ends the intent, with a note to its agent and a notice to the person where they are due.

Two clocks, and a doubt
-----------------------

Waiting is measured on the steady clock. What is stored is on the wall clock, which people may set. So a queued intent
has its times twice: `born`, `doubt` and `not_before` of `QueuedIntent` are steady, those of its row are of the wall
clock. `interrupted.py` translates them when the row is loaded.

*Doubt* begins with the first attempt that may have been accepted unnoticed, and ends with a receipt or a proof. While
it lasts, ages and keys are judged from its beginning; an end is ``unknown`` and never ``failed``; and a message of a
discarded report is still brought to its end, since the platform may have it.

What changes under the loop
---------------------------

The loop's copy of an intent can be out of date, because operators change the store from other processes. The store
compares state and number of receipts at each write, and refuses one that does not fit with `IllegalTransition`. The
head is then loaded again, and recovered like one that an earlier process left.
"""

from collections.abc import Awaitable, Callable

import anyio
import anyio.abc
import msgspec

from trunkline.core.channels import ChannelAdapter, PlaceReadiness, Readiness, Ready
from trunkline.core.delivery.answers import end_of_repeat
from trunkline.core.delivery.policy import (
    AttemptFacts,
    AttemptOutcome,
    DeliveryDecision,
    NextStep,
    counted_at_closed,
    counted_attempts,
    is_too_old,
)
from trunkline.core.delivery.recovery import RecoveryAction
from trunkline.core.errors import IllegalTransition
from trunkline.core.events.delivery import AttemptEnded, LaneWaiting
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import BrokenIntent, CallbackChange, IntentRow
from trunkline.core.runtime.context import Context, ids_of, record_callback
from trunkline.core.runtime.lanes import HELD
from trunkline.core.runtime.outbound.attempts import Attempts, can_of, other_way, transport_of
from trunkline.core.runtime.outbound.heartbeat_outcome import Judge
from trunkline.core.runtime.outbound.hook_runner import HookRunner
from trunkline.core.runtime.outbound.interrupted import Interrupted, born_at, doubt_at, end_of_recovered
from trunkline.core.runtime.outbound.open_intents import IntentLane, OpenIntents, QueuedIntent
from trunkline.core.runtime.outbound.settle import Settler
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.states.delegation import CallbackEvent
from trunkline.core.states.intent import DeliveryEvent, is_final
from trunkline.core.store.commands import Defer
from trunkline.core.store.delegations import ChangeCallback, IsDiscarded
from trunkline.core.store.queries import FindIntentFate, ListOpenIntents, ListUnnotified, OpenIntent
from trunkline.core.values import Address, DelegationId, IntentKind, IntentState
from trunkline.core.well_formed import describe, plain_text

#: number of open intents per query at start
_PAGE = 2000


class _Absence(msgspec.Struct, frozen=True, kw_only=True):
    """An account that cannot send now: why, and until when to wait."""

    reason: Reason
    until: float
    detail: str


class Delivery:
    def __init__(self, context: Context, *, intents: OpenIntents, settler: Settler, hooks: HookRunner) -> None:
        self._ctx = context
        self._intents = intents
        self._settler = settler
        self._hooks = hooks
        self._attempts = Attempts(context)
        self._ready = ReadyAccounts(context)
        self._interrupted = Interrupted(context)
        self._reports = ReportStates(context)
        #: lanes that wait for a closed place, and lanes whose place may be open again since their last attempt
        self._closed: set[IntentLane] = set()
        self._reopened: set[IntentLane] = set()

    def start(self, group: anyio.abc.TaskGroup) -> None:
        self._intents.lanes.start(group, self._handle)

    async def recover(self, cause: int, begin: anyio.Event, found: Callable[[OpenIntent], None]) -> None:
        """Queue the open intents of an earlier process, in their order; `found` is called with each before that.

        `begin` is set after the first page, so that sending does not wait for the rest. Recovery of each intent is
        decided when it reaches the head of its lane.
        """
        after, heads = 0, set[IntentLane]()
        while page := await self._ctx.store.read(ListOpenIntents(after=after, limit=_PAGE)):
            for intent in page:
                lane = intent.address.lane
                found(intent)
                self._intents.enqueue_left(intent, cause, head=lane not in heads)
                heads.add(lane)
            after = page[-1].n
            begin.set()

    async def finish_interrupted(self, cause: int) -> None:
        """Finish the after-work of an earlier process: store due transcript lines and notify hooks."""
        await self._settler.lines.store_due()
        after = 0
        while page := await self._ctx.store.read(ListUnnotified(after=after, limit=_PAGE)):
            for n, row, fate in page:
                after = n
                self._hooks.notify_soon(row, fate.reason or Reason.RECOVERED, fate.receipts, cause)

    async def _handle(self, lane: IntentLane, item: QueuedIntent) -> float | None:
        """Visit the head of a lane; returns the time of the next visit, or None when the head is over."""
        try:
            until = await self._visit(lane, item)
        except IllegalTransition as error:
            until = self._reload_later(lane, item, error)
        if until is None:
            self._intents.remove(lane, item)
        return until

    async def _visit(self, lane: IntentLane, queued: QueuedIntent) -> float | None:
        """Visit the head of a lane, with the six questions of the module's text."""
        item = queued if queued.row is not None else await self._load(queued)
        if item is None:
            return None
        row = _row_of(item)
        if item.accepted is not None:
            await self._settle_refused(item, row)
            return None
        adapter = self._ctx.adapters.get((row.address.channel, row.address.account))
        end = self._reports.end_of_discarded(item, row)
        if end is None and item.left and adapter is not None:
            item = await self._interrupted.recall(adapter, item, row)
            row, end = _row_of(item), end_of_recovered(item)
        end = end or await self._end_of_repeat(item, row)
        if end is not None:
            await self._settler.end(row, *end, item.cause)
            return None
        waits = item.not_before is not None and self._ctx.env.steady() < item.not_before
        if waits and row.progress.reason is Reason.PLACE_CLOSED:
            self._closed.add(lane)
            waits = lane not in self._reopened
        absence = None if waits else await self._why_absent(adapter, item, row)
        if absence is not None:
            return await self._wait_for_account(lane, item, row, absence)
        if not waits and item.unpaced:
            item = self._interrupted.pace(item, row)
            waits = item.not_before is not None
        if waits:
            self._intents.lanes.replace_head(lane, item)
            return item.not_before
        if item.parked:
            await self._reports.resume(row, item.cause)
        assert adapter is not None
        return await self._attempt_until_over(adapter, lane, item)

    async def _attempt_until_over(self, adapter: ChannelAdapter, lane: IntentLane, item: QueuedIntent) -> float | None:
        while True:
            self._reopened.discard(lane)
            self._closed.discard(lane)
            row = _row_of(item)
            if item.action is RecoveryAction.LOOKUP:
                made = await self._attempts.look_up(adapter, row, item.cause)
            else:
                made = await self._attempts.send(adapter, row, item.cause, self._judge(adapter, item, row))
            row, outcome = made.row, made.outcome
            if isinstance(outcome, DeliveryDecision):
                # It may not be sent any more, so no attempt was made.
                return await self._put_off_or_end(lane, item, row, outcome, item.cause)
            decided = self._decide(adapter, item, row, outcome, made.left_at)
            ended = self._record_attempt(row, outcome, decided, made.seq)
            if outcome.unsent:
                self._ready.forget(row.address.channel, row.address.account)
            if decided.next in (NextStep.FALLBACK, NextStep.AS_BOT):
                row, cause = await self._switch(row, decided, ended)
                item = msgspec.structs.replace(item, row=row, cause=cause, action=RecoveryAction.SEND)
                continue
            if decided.next not in (NextStep.SETTLE, NextStep.MISPLACED):
                return await self._put_off_or_end(lane, item, row, decided, ended)
            assert outcome.receipt is not None
            if decided.next is NextStep.MISPLACED:
                await self._settler.end_misplaced(row, outcome.receipt, ended)
                return None
            if row.is_last:
                self._settle_last(lane, item, row, outcome, ended)
                return HELD
            row, cause = await self._settler.settle(row, outcome.receipt, outcome.reason, ended)
            item = msgspec.structs.replace(item, row=row, cause=cause, action=RecoveryAction.SEND, doubt=None)

    async def _load(self, item: QueuedIntent) -> QueuedIntent | None:
        """The item with the texts; None if there is nothing left to send."""
        row = await self._intents.load(item.id)
        if item.left and row is not None:
            self._intents.adopt_binding(row.row if isinstance(row, BrokenIntent) else row)
        if isinstance(row, BrokenIntent):
            # Only the head of a conversation can have been on the wire.
            state = IntentState.UNKNOWN if item.left and item.head else IntentState.DEAD
            await self._settler.end_unreadable(row, state, item.cause)
            return None
        if row is None or is_final(row.progress.state):
            self._intents.release(item.id, None)
            return None
        born = born_at(self._ctx.env, row) if item.born is None else item.born
        if item.left:
            await self._reports.recall(row)
        doubt, parked = doubt_at(self._ctx.env, row), item.parked or (item.left and row.delegation is not None)
        return msgspec.structs.replace(item, row=row, born=born, doubt=doubt, parked=parked)

    async def _end_of_repeat(self, item: QueuedIntent, row: IntentRow) -> tuple[DeliveryEvent, Reason] | None:
        """The end of an answer that was queued behind equal sends of its turn, which have ended by now."""
        surely_unsent = row.progress.state is IntentState.PREPARED and not row.progress.attempts and item.doubt is None
        if not row.extra.unless or not surely_unsent:
            return None
        fates = [await self._ctx.store.read(FindIntentFate(intent=sent)) for sent in row.extra.unless]
        reason = end_of_repeat(None if fate is None else fate.state for fate in fates)
        return None if reason is None else (DeliveryEvent.CANCEL, reason)

    async def _why_absent(self, adapter: ChannelAdapter | None, item: QueuedIntent, row: IntentRow) -> _Absence | None:
        ctx = self._ctx
        if adapter is None:
            # Installing the adapter wakes the lane.
            until = _born(item) + ctx.config.delivery.max_age + 1.0
            return _Absence(reason=Reason.NO_ADAPTER, until=until, detail="install an adapter for it")
        detail = await self._ready.why_not(adapter, row.address)
        if detail is None:
            return None
        until = ctx.env.steady() + ctx.config.delivery.not_ready_wait
        return _Absence(reason=Reason.NOT_READY, until=until, detail=detail)

    async def _wait_for_account(
        self, lane: IntentLane, item: QueuedIntent, row: IntentRow, absence: _Absence
    ) -> float | None:
        """Visibly wait for an account that cannot send, until the intent is too old. Waiting uses no attempt (L4)."""
        ctx, reason = self._ctx, absence.reason
        if is_too_old(_born(item), ctx.env.steady(), ctx.config.delivery):
            doubt, event = self._interrupted.doubt(item, row), DeliveryEvent.EXPIRE
            if doubt is not None:
                row, event = row.with_progress(doubt_at=ctx.env.wall_of(doubt)), DeliveryEvent.PARK
            await self._settler.end(row, event, Reason.TOO_OLD, item.cause)
            return None
        if item.waiting is not reason:
            body = LaneWaiting(address=row.address, reason=reason, until=absence.until, detail=absence.detail)
            seq = ctx.events.record(body, item.cause, **ids_of(row))
            self._reports.park(row, reason, seq)
        parked = row.delegation is not None
        after = msgspec.structs.replace(item, row=row, waiting=reason, has_slot=False, parked=parked)
        self._intents.lanes.replace_head(lane, after)
        return absence.until

    def check_account(self, channel: str, account: str) -> None:
        """After a broken connection, check readiness before the next send (invariant L4)."""
        self._ready.forget(channel, account)

    def discard_report(self, delegation: DelegationId) -> None:
        """Send nothing more of a report that an operator has discarded; what is on its way ends as it does."""
        self._reports.discard(delegation)
        self._intents.lanes.wake(lambda _: True)

    def wake_reopened(self, adapter: ChannelAdapter, place: Address | None) -> None:
        """Try again at once what waits for a place that was closed; None: for any place of the account."""
        found = {
            lane
            for lane in self._intents.by_lane
            if lane[:2] == (adapter.channel, adapter.account)
            and (place is None or (lane[2] == place.conversation and lane[3] == (place.thread or lane[3])))
        }
        # Also if an attempt is on its way: the platform may have refused it before.
        self._reopened = self._reopened.intersection(self._intents.by_lane) | found
        self._closed.intersection_update(self._intents.by_lane)
        self._intents.lanes.wake((found & self._closed).__contains__)

    def wake_account(self, channel: str, account: str) -> None:
        """Continue the lanes in wait for a new adapter."""
        self._intents.lanes.wake(lambda lane: lane[0] == channel and lane[1] == account)

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
            bot_instead=is_webhook and (settings.identity_fallback == "bot" or row.kind is IntentKind.NOTICE),
            # A bound thread has been opened if that is allowed; a notice goes to the room.
            waits=row.bound.binding is None and row.kind is not IntentKind.NOTICE,
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

    async def _switch(self, row: IntentRow, decided: DeliveryDecision, cause: int) -> tuple[IntentRow, int]:
        """Durably switch the transport or identity, so that the first one is never used again."""
        ctx = self._ctx
        after, body = other_way(row, decided)
        now = ctx.env.now()
        defer = Defer(intent=after, next_at=now, reason=decided.reason, now=now)
        ids = {"binding": row.bound.binding, **ids_of(row)}
        seq = await ctx.store.write(defer, lambda _: ctx.events.record(body, cause, **ids))
        settings = ctx.config.channel(row.address.channel).thread_bindings
        # With the fallback `none` only notices go as the bot, and the answers after them must not.
        if after.bound.identity is None and row.bound.identity is not None and settings.identity_fallback == "bot":
            ctx.bindings.count_identity_failure(row.bound.binding, settings.degraded_after, seq)
        return defer.after, seq

    async def _put_off_or_end(
        self, lane: IntentLane, item: QueuedIntent, row: IntentRow, decided: DeliveryDecision, cause: int | None
    ) -> float | None:
        """Wait for another attempt or a look-up, or end the intent."""
        if decided.next not in (NextStep.RETRY, NextStep.LOOKUP):
            if decided.next is NextStep.FAIL:
                # Decided only where no attempt is in doubt, or no longer.
                row = row.with_progress(doubt_at=None)
            await self._settler.end(row, decided.event, decided.reason, cause)
            return None
        env, at = self._ctx.env, decided.at or self._ctx.env.steady()
        doubt = None if decided.doubt_at is None else env.wall_of(decided.doubt_at)
        attempts = row.progress.attempts
        if decided.reason is Reason.PLACE_CLOSED:
            attempts = counted_at_closed(attempts)
        row = row.with_progress(attempts=attempts, marked=decided.mark or row.progress.marked, doubt_at=doubt)
        row = await self._settler.put_off(row, env.wall_of(at), decided.reason, cause)
        after = QueuedIntent(
            id=row.id,
            row=row,
            cause=cause,
            action=RecoveryAction.LOOKUP if decided.next is NextStep.LOOKUP else RecoveryAction.SEND,
            not_before=at,
            born=item.born,
            doubt=decided.doubt_at,
            held=item.held,
        )
        self._intents.lanes.replace_head(lane, after)
        if decided.reason is not Reason.PLACE_CLOSED:
            return at
        self._closed.add(lane)
        return env.steady() if lane in self._reopened else at

    def _settle_last(
        self, lane: IntentLane, item: QueuedIntent, row: IntentRow, outcome: AttemptOutcome, ended: int
    ) -> None:
        """Submit the end of an intent; the lane continues when it is stored, without a worker waiting for it."""
        receipt, lanes = outcome.receipt, self._intents.lanes
        assert receipt is not None

        def done() -> None:
            self._intents.remove(lane, item)
            lanes.finish_head(lane)

        def failed(error: Exception) -> None:
            kept = msgspec.structs.replace(item, row=row, accepted=(receipt, outcome.reason, ended), error=error)
            lanes.replace_head(lane, kept)
            lanes.repeat_head(lane)

        self._settler.settle_last(row, receipt, outcome.reason, ended, done, failed)

    async def _settle_refused(self, item: QueuedIntent, row: IntentRow) -> None:
        """Settle an accepted intent whose end the store refused, because of the intent or of its mirror."""
        assert item.accepted is not None
        assert item.error is not None
        receipt, reason, ended = item.accepted
        if isinstance(item.error, IllegalTransition):
            raise item.error
        self._settler.lines.record_refusal(row, item.error, ended)
        await self._settler.settle(row, receipt, reason, ended)

    def _reload_later(self, lane: IntentLane, item: QueuedIntent, error: IllegalTransition) -> float:
        """Have an intent that was changed elsewhere loaded again, and recovered like one of an earlier process."""
        now = self._ctx.env.steady()
        if item.row is not None:
            body = LaneWaiting(address=item.row.address, reason=Reason.CHANGED_ELSEWHERE, until=now, detail=error.facts)
            self._ctx.events.record(body, item.cause, **ids_of(item.row))
        again = QueuedIntent(id=item.id, row=None, cause=item.cause, left=True, head=True, held=item.held)
        self._intents.lanes.replace_head(lane, again)
        return now


def _row_of(item: QueuedIntent) -> IntentRow:
    assert item.row is not None
    return item.row


def _born(item: QueuedIntent) -> float:
    """When a loaded intent was created, on the steady clock."""
    assert item.born is not None
    return item.born


def _reported_by(row: IntentRow) -> DelegationId | None:
    """The delegation whose report a message is part of. A notice is about a report, and changes nothing of it."""
    return None if row.kind is IntentKind.NOTICE else row.delegation


class ReportStates:
    """Follows, with the callbacks of reports, what the delivery loop does without ending an intent."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        #: reports that operators have discarded while messages of them were open
        self._discarded: set[DelegationId] = set()

    def park(self, row: IntentRow, reason: Reason, cause: int | None) -> None:
        """Note that a message waits for its adapter. In the background: nothing depends on it."""
        if (delegation := _reported_by(row)) is not None:
            change = ChangeCallback(delegation=delegation, event=CallbackEvent.PARK, reason=reason)
            self._ctx.store.submit(change, self._story(row, cause))

    async def resume(self, row: IntentRow, cause: int | None) -> None:
        if (delegation := _reported_by(row)) is not None:
            change = ChangeCallback(delegation=delegation, event=CallbackEvent.RESUME, reason=None)
            await self._ctx.store.write(change, self._story(row, cause))

    def _story(self, row: IntentRow, cause: int | None) -> Callable[[CallbackChange | None], None]:
        def story(change: CallbackChange | None) -> None:
            record_callback(self._ctx.events, change, cause, **ids_of(row))

        return story

    def discard(self, delegation: DelegationId) -> None:
        """Send nothing more of a report whose callback was discarded."""
        self._discarded.add(delegation)

    def end_of_discarded(self, item: QueuedIntent, row: IntentRow) -> tuple[DeliveryEvent, Reason] | None:
        """The end of a message whose report was discarded, unless an attempt at it may have been accepted."""
        if row.delegation is None or row.delegation not in self._discarded:
            return None
        surely_unsent = row.progress.state is IntentState.PREPARED and item.doubt is None
        return (DeliveryEvent.CANCEL, Reason.DISCARDED) if surely_unsent else None

    async def recall(self, row: IntentRow) -> None:
        """Find out whether the report of a message that an earlier process left was discarded."""
        if row.delegation is not None and await self._ctx.store.read(IsDiscarded(delegation=row.delegation)):
            self._discarded.add(row.delegation)


class ReadyAccounts:
    """The accounts whose adapters last reported that they are ready. A failed send makes them unknown again."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        #: account -> its adapter, if places of it have to be asked about too
        self._ready: dict[tuple[str, str], PlaceReadiness | None] = {}

    def forget(self, channel: str, account: str) -> None:
        """Ask again before the next send (invariant L4)."""
        self._ready.pop((channel, account), None)

    async def why_not(self, adapter: ChannelAdapter, place: Address) -> str | None:
        """Why nothing can be sent to a place yet, or None."""
        account = (place.channel, place.account)
        if account not in self._ready:
            detail = await self._ask(adapter.ready) if isinstance(adapter, Readiness) else None
            if detail is not None:
                return detail
            self._ready[account] = adapter if isinstance(adapter, PlaceReadiness) else None
        places = self._ready[account]
        return None if places is None else await self._ask(lambda: places.ready_at(place))

    async def _ask(self, ready: Callable[[], Awaitable[Ready]]) -> str | None:
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout), UserCode():
                answer = await ready()
                return None if answer.ok else plain_text(answer.reason) or ""
        except Exception as error:  # noqa: BLE001 -- an adapter that fails to answer is not ready
            return describe(error)
