"""Settles chunks and intents: stores receipt, mirror and ack in one transaction, and records events."""

from collections.abc import Callable
from functools import partial

import msgspec

from trunkline.core.delivery.notes import CLOSED_SUFFIX, closed_notice_of, is_unheard, notice_of
from trunkline.core.delivery.policy import reason_of_end
from trunkline.core.errors import IllegalTransition, StoreError, UsageError
from trunkline.core.events.bindings import FallbackDenied
from trunkline.core.events.delivery import ChunkAcked, Fallback, IntentSettled
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import BrokenIntent, IntentRow, Settlement, Work
from trunkline.core.routing.outbound import OutboundQuestion
from trunkline.core.routing.second_channel import SecondChannel
from trunkline.core.runtime.context import Context, ids_of, record_callback
from trunkline.core.runtime.outbound.heartbeat_outcome import record_settled as record_heartbeat_settled
from trunkline.core.runtime.outbound.open_intents import OpenIntents
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.runtime.outbound.transcript_lines import TranscriptLines, Woken
from trunkline.core.states.intent import DeliveryEvent, end_state, is_final
from trunkline.core.store.commands import AckChunk, Defer, EndIntent, EndUnreadableIntent, Misplace
from trunkline.core.values import Address, ChatKind, IntentId, IntentKind, IntentState, Receipt, SessionId

#: ends of an intent that end its binding, and why
_ENDED_THREADS = {Reason.PLACE_GONE: Reason.THREAD_GONE, Reason.PLACE_CLOSED: Reason.THREAD_ARCHIVED}
#: seqs of an end and of its notice, and the work that it starts
_Ended = tuple[int, int | None, tuple[Woken, ...]]


class Settler:
    def __init__(
        self,
        context: Context,
        preparer: Preparer,
        intents: OpenIntents,
        start_turn: Callable[[Work, SessionId, int], None],
        note_unheard: Callable[[IntentId, Address], None],
    ) -> None:
        self._ctx = context
        self._preparer = preparer
        self._intents = intents
        self._drafts = preparer.drafts
        self._second = SecondChannels(context, preparer)
        self._note_unheard = note_unheard
        self.lines = TranscriptLines(context, start_turn)

    async def settle(self, row: IntentRow, receipt: Receipt, reason: Reason, cause: int) -> tuple[IntentRow, int]:
        """Store the receipt of a chunk; returns the intent after it and the seq.

        A last chunk comes here only after the store has refused its mirror, which is stored later.
        """
        due = row.is_last and (row.mirror_key is not None or row.extra.action is not None)
        ack = AckChunk(intent=row, receipt=receipt, mirror=None, mirror_due=due, now=self._ctx.env.now())
        then = partial(self._continue, ack, reason)
        return ack.after, await self._ctx.store.write(ack, self._story_of_ack(ack, reason, cause), then=then)

    def settle_last(
        self,
        row: IntentRow,
        receipt: Receipt,
        reason: Reason,
        cause: int,
        done: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Store the receipt of the last chunk, without waiting: calls `done` when it is stored, else `failed`."""
        mirror = self.lines.mirror(row)
        ack = AckChunk(intent=row, receipt=receipt, mirror=mirror, mirror_due=False, now=self._ctx.env.now())

        def then(seq: int) -> None:
            self._continue(ack, reason, seq)
            done()

        self._ctx.store.submit(ack, self._story_of_ack(ack, reason, cause), then=then, failed=failed)

    def _story_of_ack(self, ack: AckChunk, reason: Reason, cause: int) -> Callable[[Settlement], int]:
        """The story of a receipt; the result is the seq of the receipt, or of the end."""
        ctx, row, receipt = self._ctx, ack.intent, ack.receipt
        after, last, ids = ack.after, ack.intent.is_last, ids_of(row)

        def story(settled: Settlement) -> int:
            body = _chunk_acked(row, receipt, reason)
            seq = ctx.events.record(body, cause, **ids)
            if last:
                self.lines.record_mirror(after, settled, seq, None)
            ctx.bindings.record_touch(settled.touched, "outbound", seq)
            if not last:
                return seq
            seq = self._record_settled(after, reason, seq)
            record_callback(ctx.events, settled.callback, seq, **ids)
            return seq

        return story

    def _continue(self, ack: AckChunk, reason: Reason, seq: int) -> None:
        self._note_activity(ack.intent)
        if ack.mirror_due:
            self.lines.postpone(ack.intent.id, seq)
        if ack.intent.is_last:
            self._intents.finish(ack.after, reason, (ack.receipt,), seq)

    async def end_misplaced(self, row: IntentRow, receipt: Receipt, cause: int) -> None:
        """End an intent whose chunk went to the wrong place: mirror it where it is visible, and send nothing more."""
        ctx, lines, reason = self._ctx, self.lines, Reason.MISPLACED
        note = lines.note(row, IntentState.MISPLACED, reason)
        end = Misplace(
            intent=row,
            receipt=receipt,
            mirror=lines.mirror_astray(row, receipt),
            note=note,
            wake=lines.wake(row, note),
            mirror_due=False,
            now=ctx.env.now(),
        )
        after = end.after

        def story(settled: Settlement) -> _Ended:
            body = _chunk_acked(row, receipt, reason)
            seq = ctx.events.record(body, cause, **ids_of(row))
            lines.record_mirror(after, settled, seq, receipt)
            seq = self._record_settled(after, reason, seq, detail=f"it is at {receipt.address}")
            record_callback(ctx.events, settled.callback, seq, **ids_of(row))
            return seq, None, lines.record_note(row, settled, seq)

        seq = await self._store_end(end, story, None, cause)
        self._intents.finish(after, reason, (receipt,), seq)

    async def put_off(self, row: IntentRow, next_at: float, reason: Reason, cause: int | None) -> IntentRow:
        """Store the time of the next attempt, with a notice if the place is closed; returns the intent after that."""
        first = reason is Reason.PLACE_CLOSED and row.progress.reason is not reason
        found = closed_notice_of(row, self._ctx.config.delivery) if first else None
        notice = None
        if found is not None:
            draft = self._drafts.notice(row, found[0], CLOSED_SUFFIX)
            notice = await self._preparer.prepare_notice(draft, found[1], cause)
        defer = Defer(intent=row, next_at=next_at, reason=reason, notice=notice, now=self._ctx.env.now())

        def story(noticed: bool) -> int | None:
            if notice is None or not noticed:
                return None
            return self._ctx.record_prepared(notice, targeted=False, reason=Reason.CLOSED_NOTICE, cause=cause)

        def then(noticed: int | None) -> None:
            if notice is not None and noticed is not None:
                self._intents.enqueue(notice, noticed)

        await self._ctx.store.write(defer, story, then=then)
        return defer.after

    async def end(self, row: IntentRow, event: DeliveryEvent, reason: Reason, cause: int | None) -> None:
        """End an undeliverable intent; accepted chunks are mirrored as partial."""
        ctx, lines = self._ctx, self.lines
        was = row.progress
        reason = reason_of_end(reason, was.reason)
        state = end_state(was.state, event, accepted_chunks=was.acked, in_doubt=was.doubt_at is not None)
        elsewhere = await self._second.after_call(row, state, reason, cause)
        reason = reason if elsewhere is None else elsewhere.reason
        second = None if elsewhere is None else elsewhere.row
        note = lines.note(row, state, reason)
        notice = second or await self._notice(row, state, reason, cause)
        end = EndIntent(
            intent=row,
            event=event,
            reason=reason,
            mirror=lines.mirror(row),
            note=note,
            wake=lines.wake(row, note),
            mirror_due=False,
            notice=notice,
            now=ctx.env.now(),
        )
        after = end.after

        def story(settled: Settlement) -> _Ended:
            lines.record_mirror(after, settled, cause, None)
            seq = self._record_settled(after, reason, cause, "" if elsewhere is None else elsewhere.detail)
            record_callback(ctx.events, settled.callback, seq, **ids_of(row))
            woken = lines.record_note(row, settled, seq)
            if second is not None:
                return seq, self._second.record(row, second, seq) if settled.noticed else None, woken
            return seq, self._record_notice(after, notice if settled.noticed else None, reason, seq), woken

        def then(ended: _Ended) -> None:
            seq, noticed, _ = ended
            if reason in _ENDED_THREADS:
                ctx.bindings.end_gone(row.bound.binding, _ENDED_THREADS[reason], seq)
            if notice is not None and noticed is not None:
                self._intents.enqueue(notice, noticed)

        seq = await self._store_end(end, story, then, cause)
        if is_unheard(after):
            self._note_unheard(after.id, after.address)
        self._intents.finish(after, reason, (), seq)

    async def _store_end(
        self,
        end: Misplace | EndIntent,
        story: Callable[[Settlement], _Ended],
        then: Callable[[_Ended], None] | None,
        cause: int | None,
    ) -> int:
        """Store an end, without its transcript lines if they are refused; returns its seq.

        `then` queues what follows. It runs with the commit: the callers of one commit resume in any order, and what
        they prepared for one conversation leaves in the order of the commit (invariant O1).
        """
        row, write = end.intent, self._ctx.store.write

        def follow(ended: _Ended) -> None:
            if then is not None:
                then(ended)
            self.lines.start_work(ended[2])

        try:
            seq, _, _ = await write(end, story, then=follow)
        except (IllegalTransition, StoreError):
            raise
        except Exception as error:  # noqa: BLE001 -- refused lines must not block the end of the intent
            self.lines.record_refusal(row, error, cause)
            due = end.after.progress.acked > 0 or end.note is not None
            end = msgspec.structs.replace(end, mirror=None, note=None, wake=None, mirror_due=due)
            seq, _, _ = await write(end, story, then=follow)
            self.lines.postpone(row.id, seq)
        return seq

    async def end_unreadable(self, broken: BrokenIntent, state: IntentState, cause: int | None) -> None:
        """End an intent whose row cannot be read, with what is known of it."""
        lines, reason = self.lines, Reason.BROKEN_ROW
        row = broken.row.with_progress(state=state, reason=reason)
        note = lines.note(row, state, reason)
        end = EndUnreadableIntent(
            intent=row, state=state, reason=reason, note=note, wake=lines.wake(row, note), now=self._ctx.env.now()
        )

        def story(settled: Settlement) -> _Ended:
            seq = self._record_settled(row, reason, cause, detail=broken.problem)
            record_callback(self._ctx.events, settled.callback, seq, **ids_of(row))
            return seq, None, lines.record_note(row, settled, seq)

        try:
            seq, _, woken = await self._ctx.store.write(end, story)
        except (IllegalTransition, StoreError):
            raise
        except Exception as error:  # noqa: BLE001 -- refused lines must not block the end of the intent
            lines.record_refusal(row, error, cause)
            seq, _, woken = await self._ctx.store.write(msgspec.structs.replace(end, note=None, wake=None), story)
        lines.start_work(woken)
        self._intents.finish(row, reason, broken.receipts, seq)

    def _note_activity(self, row: IntentRow) -> None:
        """Note the activity of the account and the binding after an accepted chunk."""
        place, bound = row.address, self._ctx.bindings
        self._ctx.outbound_at[place.channel, place.account] = self._ctx.env.now()
        if row.bound.binding is not None:
            bound.apply_touches()
            if row.bound.identity is not None:
                bound.reset_identity_failures(row.bound.binding)

    async def _notice(self, row: IntentRow, state: IntentState, reason: Reason, cause: int | None) -> IntentRow | None:
        """The notice of an undeliverable intent, without its content, where the requester waits for it."""
        if row.bound.notice_to is not None and state is not IntentState.UNKNOWN:
            if row.progress.acked:
                return None
            draft, text = self._drafts.notice(row, row.bound.notice_to), notice_text(row, reason)
        else:
            found = notice_of(row, state, reason, self._ctx.config.delivery)
            if found is None:
                return None
            place, text = found
            bound = self._ctx.config.channel(place.channel).thread_bindings
            if row.bound.binding is not None and place != row.address and not bound.notice:
                return None
            # The thread of the answer may not be open yet.
            open_on = row.progress.open_on if place == row.address else None
            draft = self._drafts.notice(row, place).with_progress(open_on=open_on)
        return await self._preparer.prepare_notice(draft, text, cause)

    def _record_notice(self, row: IntentRow, notice: IntentRow | None, reason: Reason, cause: int) -> int | None:
        """Record that an undeliverable intent goes nowhere else; returns the seq of its notice."""
        in_doubt = row.progress.state is IntentState.UNKNOWN or reason is Reason.PARKED
        if notice is not None and (row.bound.notice_to is None or in_doubt):
            why = Reason.DOUBT_NOTICE if in_doubt else Reason.FAILED_NOTICE
            return self._ctx.record_prepared(notice, targeted=False, reason=why, cause=cause)
        if notice is None and (row.bound.binding is None or reason not in _ENDED_THREADS):
            return None
        posted = notice is not None and not is_final(notice.progress.state)
        body = FallbackDenied(asked=row.address, refused=row.bound.notice_to, reason=reason, notice=posted)
        seq = self._ctx.events.record(body, cause, binding=row.bound.binding, **ids_of(row))
        if notice is None:
            return None
        return self._ctx.record_prepared(notice, targeted=False, reason=Reason.THREAD_NOTICE, cause=seq)

    def _record_settled(self, row: IntentRow, reason: Reason, cause: int | None, detail: str = "") -> int:
        state = row.progress.state
        assert is_final(state)
        body = IntentSettled(state=state, reason=reason, attempts=row.progress.attempts, detail=detail)
        seq = self._ctx.events.record(body, cause, **ids_of(row))
        if row.kind is IntentKind.HEARTBEAT:
            record_heartbeat_settled(self._ctx, row, reason, seq)
        return seq


def _chunk_acked(row: IntentRow, receipt: Receipt, reason: Reason) -> ChunkAcked:
    return ChunkAcked(chunk=row.progress.acked, provider_id=receipt.provider_id, address=receipt.address, reason=reason)


def notice_text(row: IntentRow, reason: Reason) -> str:
    """The text of a notice about an undeliverable message, without the content."""
    return f"An answer could not be posted in its thread, and is not posted here instead. {reason.sentence}"


#: what a turn says, and what a hand reports; notices and clients' sends go nowhere else
_KINDS = frozenset({IntentKind.REPLY, IntentKind.TOOL, IntentKind.ANNOUNCE})
#: ends after which the person surely does not have all of it
_NOT_SAID = frozenset({IntentState.FAILED, IntentState.PARTIAL})


class _Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a message whose call has ended."""

    #: of the end of the message
    reason: Reason
    #: the same words at the second channel, or None
    row: IntentRow | None = None
    detail: str = ""


class SecondChannels:
    """Finds the second channel of a person, and prepares the message."""

    def __init__(self, context: Context, preparer: Preparer) -> None:
        self._ctx = context
        self._preparer = preparer

    async def after_call(
        self, row: IntentRow, state: IntentState, reason: Reason, cause: int | None
    ) -> _Elsewhere | None:
        """The message to store with the end of another. None: no call has ended, or nothing is configured."""
        if reason is not Reason.CALL_ENDED or row.kind not in _KINDS or row.address.thread is None:
            return None
        found = self._ctx.decisions.second_channel(row.address, self._ctx.config)
        if found is None or state not in _NOT_SAID:
            return None
        if found.target is None:
            return _Elsewhere(reason=Reason.NO_SECOND_CHANNEL, detail=found.why)
        try:
            to = self._place(row, found, found.target)
        except UsageError as error:
            return _Elsewhere(reason=Reason.NO_SECOND_CHANNEL, detail=error.facts)
        draft = self._preparer.drafts.second(row, to)
        # Utterances are sentences of one text.
        prepared = await self._preparer.prepare_notice(draft, " ".join(row.content.chunks).strip(), cause)
        return _Elsewhere(reason=reason, row=prepared)

    def _place(self, row: IntentRow, found: SecondChannel, target: str) -> Address:
        """The person's direct conversation there, by the account of the agent. Raises `UsageError`."""
        ctx, accounts = self._ctx, self._ctx.accounts(found.channel)
        named = ctx.decisions.account_of_agent(row.agent, found.channel, None, accounts, ctx.config)
        account = ctx.decisions.choose_account(found.channel, named, None, accounts, ctx.config)
        question = OutboundQuestion(
            agent=row.agent, channel=found.channel, target=target, account=account, kind=ChatKind.DIRECT
        )
        route = ctx.decisions.resolve_outbound(question, ctx.config)
        if route.kind is not ChatKind.DIRECT:
            raise UsageError(f"{target!r} on {found.channel} is no direct conversation")
        return route.address

    def record(self, row: IntentRow, second: IntentRow, cause: int) -> int:
        """Record the fallback, visible and committed with the end of the message; returns the seq of the second."""
        body = Fallback(asked=row.address, used=second.address, reason=Reason.SECOND_CHANNEL)
        seq = self._ctx.events.record(body, cause, **ids_of(second))
        return self._ctx.record_prepared(second, targeted=False, reason=Reason.SECOND_CHANNEL, cause=seq)
