"""The delivery loop: one intent at a time per conversation, each attempt decided by `core.delivery.decide`.

A chunk's receipt is durable before the next chunk is sent. What an attempt means is a decision; this module only sends,
waits, stores and tells.
"""

from __future__ import annotations

import anyio
import msgspec

from core.channels import ChannelAdapter
from core.decisions import MirrorQuestion
from core.delivery.decide import (
    DeliveryDecision,
    Left,
    Next,
    Outcome,
    RecoveryAction,
    is_misplaced,
    outcome_of,
)
from core.delivery.states import DeliveryEvent, next_state
from core.errors import Ambiguous, NotSent, PlatformError
from core.events.bodies import (
    AttemptEnded,
    AttemptStarted,
    ChunkAcked,
    IntentSettled,
    MirrorAppended,
    RecoveryDecided,
)
from core.reasons import Reason
from core.shell.context import Context, Queued
from core.shell.lanes import Lanes
from core.store.rows import IntentRow, NewSession, Settled
from core.values import Address, Idempotency, IntentId, IntentState, Receipt, SendRequest

_Lane = tuple[str, str, str, str]


class Delivery:
    """Sends what is queued."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        self._waiters: dict[IntentId, list[anyio.Event]] = {}
        self.lanes: Lanes[_Lane, Queued] = Lanes(
            "delivery", self._handle, workers=context.config.delivery.lanes, now=context.env.now
        )

    def queue(self, row: IntentRow, cause: int | None) -> None:
        """Send a durable intent when its turn in its conversation comes."""
        self.lanes.put(row.address.lane, Queued(row=row, cause=cause))

    async def recover(self, row: IntentRow, cause: int, *, head: bool) -> None:
        """Decide on an intent that an earlier process left open, and queue it."""
        ctx = self._ctx
        adapter = ctx.adapters.get((row.address.channel, row.address.account))
        if adapter is None:
            self.lanes.put(row.address.lane, Queued(row=row, cause=cause))
            return
        now = ctx.env.now()
        left = Left(
            state=row.state,
            head=head,
            attempts=row.attempts,
            created_at=row.created_at,
            next_at=row.next_at,
            reason=row.reason,
        )
        decision = ctx.decisions.recover(left, now=now, can=adapter.capabilities, config=ctx.config.delivery)
        if decision.counts:
            row = msgspec.structs.replace(row, attempts=row.attempts + 1)
            await ctx.store.defer(row, decision.at or now, decision.reason, now, lambda _: None)
            row = msgspec.structs.replace(row, state=next_state(row.state, DeliveryEvent.DEFER))
        seq = ctx.events.record(
            RecoveryDecided(
                decision=decision.action.value, reason=decision.reason, attempts=row.attempts, at=decision.at
            ),
            cause,
            **_ids(row),
        )
        self.lanes.put(row.address.lane, Queued(row=row, cause=seq, action=decision.action, not_before=decision.at))

    # ------------------------------------------------------------ one visit to the head of a lane

    async def _handle(self, lane: _Lane, item: Queued) -> float | None:
        """Bring the head of a lane forward; the time until which the lane rests, or none when it is done."""
        row = item.row
        adapter = self._ctx.adapters.get((row.address.channel, row.address.account))
        if adapter is None:
            await self._end(item, DeliveryEvent.REFUSE, Reason.NO_ADAPTER, item.cause)
            return None
        if item.action in _ENDINGS:
            event, reason = _ENDINGS[item.action]
            await self._end(item, event, reason, item.cause)
            return None
        if item.not_before is not None and self._ctx.env.now() < item.not_before:
            return item.not_before
        if row.attempts == 0 and self._ctx.env.now() - row.created_at > self._ctx.config.delivery.max_age:
            await self._end(item, DeliveryEvent.EXPIRE, Reason.TOO_OLD, item.cause)
            return None
        while True:
            if item.action is RecoveryAction.LOOKUP:
                outcome, seq = await self._look_up(adapter, item), item.cause
                if outcome.ambiguous:
                    # A look-up that fails counts as an attempt, so that asking ends too.
                    row = msgspec.structs.replace(item.row, attempts=item.row.attempts + 1)
                    item = msgspec.structs.replace(item, row=row)
            else:
                item = await self._mark(adapter, item)
                outcome, seq = await self._attempt(adapter, item)
            decided = self._decide(adapter, item, outcome)
            ended = self._tell_attempt(item, outcome, decided, seq)
            if decided.next not in (Next.SETTLE, Next.MISPLACED):
                return await self._not_settled(lane, item, decided, ended)
            assert outcome.receipt is not None
            if decided.next is Next.MISPLACED:
                await self._misplaced(item, outcome.receipt, ended)
                return None
            item = await self._settle(item, outcome.receipt, outcome.reason, ended)
            if item.row.state is IntentState.DELIVERED:
                return None

    async def _mark(self, adapter: ChannelAdapter, item: Queued) -> Queued:
        """Count the attempt; where a crash could not be told from a send later, make it durable first."""
        row = msgspec.structs.replace(item.row, attempts=item.row.attempts + 1)
        if adapter.capabilities.idempotency is Idempotency.NONE and row.state is IntentState.PREPARED:
            await self._ctx.store.mark_sending(row, self._ctx.env.now())
            row = msgspec.structs.replace(row, state=IntentState.SENDING)
        return msgspec.structs.replace(item, row=row)

    async def _attempt(self, adapter: ChannelAdapter, item: Queued) -> tuple[Outcome, int]:
        """Hand the next chunk to the adapter; what came of it, and the seq of the attempt."""
        ctx, row = self._ctx, item.row
        seq = ctx.events.record(
            AttemptStarted(chunk=row.acked, attempt=row.attempts, address=row.address), item.cause, **_ids(row)
        )
        request = SendRequest(
            address=row.address,
            text=row.chunks[row.acked],
            key=row.key(row.acked),
            intent=row.id,
            chunk=row.acked,
            attempt=row.attempts,
            reply_to=row.reply_to,
            media=row.media if row.acked == 0 else (),
            cause=seq,
        )
        try:
            with anyio.move_on_after(ctx.config.delivery.request_timeout):
                if row.open_on is not None:
                    await self._open_thread(adapter, row, row.open_on)
                return _accepted(row, await adapter.send(request), Reason.ACCEPTED), seq
            return outcome_of(Ambiguous("no answer in time")), seq
        except PlatformError as error:
            return outcome_of(error), seq
        except Exception as error:  # noqa: BLE001 -- an adapter with a defect: nobody knows how far it came
            return outcome_of(Ambiguous(f"{type(error).__name__}: {error}")), seq

    async def _open_thread(self, adapter: ChannelAdapter, row: IntentRow, message: str) -> None:
        """Open the thread first. It is opened once however often it is asked for, so not knowing is no ambiguity."""
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout / 2):
                await adapter.open_thread(row.address, message, row.chunks[0])
        except Exception as error:
            if isinstance(error, PlatformError) and not error.ambiguous:
                raise
            raise NotSent(f"the thread could not be opened ({type(error).__name__}: {error})") from error

    async def _look_up(self, adapter: ChannelAdapter, item: Queued) -> Outcome:
        """Ask the platform for an ambiguous chunk. A failed look-up is not a no."""
        row = item.row
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout):
                receipt = await adapter.find(row.address, row.key(row.acked))
        except Exception as error:  # noqa: BLE001 -- also an adapter with a defect: nobody has said no
            return Outcome(reason=Reason.LOOKUP_FAILED, ambiguous=True, detail=str(error))
        if receipt is not None:
            return _accepted(row, receipt, Reason.FOUND_BY_LOOKUP)
        return Outcome(reason=Reason.NOT_FOUND_BY_LOOKUP, retryable=True)

    def _decide(self, adapter: ChannelAdapter, item: Queued, outcome: Outcome) -> DeliveryDecision:
        ctx = self._ctx
        return ctx.decisions.after_attempt(
            outcome,
            attempts=item.row.attempts,
            created_at=item.row.created_at,
            now=ctx.env.now(),
            can=adapter.capabilities,
            config=ctx.config.delivery,
        )

    def _tell_attempt(self, item: Queued, outcome: Outcome, decided: DeliveryDecision, cause: int | None) -> int:
        row = item.row
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
            **_ids(row),
        )

    # ------------------------------------------------------------ what comes after

    async def _not_settled(self, lane: _Lane, item: Queued, decided: DeliveryDecision, cause: int) -> float | None:
        if decided.next not in (Next.RETRY, Next.LOOKUP):
            await self._end(item, decided.event, decided.reason, cause)
            return None
        ctx, at = self._ctx, decided.at or self._ctx.env.now()
        await ctx.store.defer(item.row, at, decided.reason, ctx.env.now(), lambda _: None)
        row = msgspec.structs.replace(item.row, state=next_state(item.row.state, DeliveryEvent.DEFER))
        action = RecoveryAction.LOOKUP if decided.next is Next.LOOKUP else RecoveryAction.SEND
        self.lanes.replace_head(lane, Queued(row=row, cause=cause, action=action))
        return at

    def _mirror(self, row: IntentRow) -> NewSession | None:
        if row.mirror_key is None:
            return None
        return self._ctx.new_session(row.mirror_key, row.agent, _place(row))

    async def _misplaced(self, item: Queued, receipt: Receipt, cause: int) -> None:
        """People see it elsewhere: that is no delivery. It is remembered where they see it; nothing more is sent."""
        ctx, row = self._ctx, item.row
        after = msgspec.structs.replace(row, state=next_state(row.state, DeliveryEvent.MISPLACE), acked=row.acked + 1)
        question = MirrorQuestion(
            kind=row.kind, agent=row.agent, running=row.mirror_key or "", origin=None, target=receipt.address
        )
        key = None if row.mirror_key is None else ctx.decisions.plan_mirror(question, ctx.config).key
        mirror = None if key is None else ctx.new_session(key, row.agent, receipt.address)

        def story(settled: Settled) -> int:
            body = ChunkAcked(
                chunk=row.acked, provider_id=receipt.provider_id, address=receipt.address, reason=Reason.MISPLACED
            )
            seq = ctx.events.record(body, cause, **_ids(row))
            self._tell_mirror(row, settled, seq, place=receipt.address, partial=after.acked < len(row.chunks))
            return self._tell_settled(after, Reason.MISPLACED, seq, detail=f"it is at {receipt.address}")

        await ctx.store.misplace(row, receipt, mirror, ctx.env.now(), story)
        self._settled(after)

    async def _settle(self, item: Queued, receipt: Receipt, reason: Reason, cause: int) -> Queued:
        """Receipt, and with the last chunk mirror and ack, in one transaction."""
        ctx, row = self._ctx, item.row
        last = row.acked + 1 == len(row.chunks)
        event = DeliveryEvent.ACK_LAST if last else DeliveryEvent.ACK_CHUNK
        after = msgspec.structs.replace(
            row,
            state=next_state(row.state, event),
            acked=row.acked + 1,
            attempts=row.attempts if last else 0,
            open_on=None,
        )

        def story(settled: Settled) -> int:
            body = ChunkAcked(chunk=row.acked, provider_id=receipt.provider_id, address=receipt.address, reason=reason)
            seq = ctx.events.record(body, cause, **_ids(row))
            if last:
                self._tell_mirror(row, settled, seq, place=_place(row), partial=False)
                self._tell_settled(after, reason, seq)
            return seq

        seq = await ctx.store.ack_chunk(row, receipt, self._mirror(row) if last else None, ctx.env.now(), story)
        if last:
            self._settled(after)
        return Queued(row=after, cause=seq)

    async def _end(self, item: Queued, event: DeliveryEvent, reason: Reason, cause: int | None) -> None:
        """Give up, visibly; what was accepted so far is mirrored as partial."""
        ctx, row = self._ctx, item.row
        state = next_state(row.state, event, accepted_chunks=row.acked)
        after = msgspec.structs.replace(row, state=state)

        def story(settled: Settled) -> int:
            self._tell_mirror(row, settled, cause, place=_place(row), partial=True)
            return self._tell_settled(after, reason, cause)

        await ctx.store.end_intent(row, state, reason, self._mirror(row), ctx.env.now(), story)
        self._settled(after)

    def _settled(self, row: IntentRow) -> None:
        """Tell whoever waits for this intent that it has ended."""
        for waiter in self._waiters.pop(row.id, ()):
            waiter.set()

    def on_end(self, intent: IntentId) -> anyio.Event:
        """An event that is set when an intent has ended, in whatever way."""
        waiter = anyio.Event()
        self._waiters.setdefault(intent, []).append(waiter)
        return waiter

    def forget(self, intent: IntentId, waiter: anyio.Event) -> None:
        """Nobody waits for this any more."""
        waiters = self._waiters.get(intent, [])
        if waiter in waiters:
            waiters.remove(waiter)
        if not waiters:
            self._waiters.pop(intent, None)

    def _tell_mirror(
        self, row: IntentRow, settled: Settled, cause: int | None, *, place: Address | None, partial: bool
    ) -> None:
        session = settled.mirror
        if session is None:
            return
        self._ctx.tell_session(session, row.agent, place, "outbound", cause)
        self._ctx.events.record(
            MirrorAppended(session_id=session.id, session_key=session.key, text=settled.mirror_text, partial=partial),
            cause,
            **_ids(row),
        )

    def _tell_settled(self, row: IntentRow, reason: Reason, cause: int | None, detail: str = "") -> int:
        body = IntentSettled(state=row.state, reason=reason, attempts=row.attempts, detail=detail)
        return self._ctx.events.record(body, cause, **_ids(row))


#: recovered intents that end without another attempt
_ENDINGS: dict[RecoveryAction, tuple[DeliveryEvent, Reason]] = {
    RecoveryAction.PARK: (DeliveryEvent.PARK, Reason.PARKED),
    RecoveryAction.EXPIRE: (DeliveryEvent.EXPIRE, Reason.TOO_OLD),
}


def _place(row: IntentRow) -> Address | None:
    """The place that is tied to the session of the mirror: a session that the caller named is no matter of it."""
    return None if row.named_session else row.address


def _accepted(row: IntentRow, receipt: Receipt, reason: Reason) -> Outcome:
    return Outcome(receipt=receipt, reason=reason, misplaced=is_misplaced(row.address, receipt))


def _ids(row: IntentRow) -> dict[str, str | None]:
    """The correlation ids of an intent's events."""
    return {"intent": row.id, "turn": row.turn, "inbound": row.inbound, "delegation": row.delegation}
