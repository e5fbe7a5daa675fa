"""Settles chunks and intents: stores receipt, mirror and ack in one transaction, records events, notifies waiters."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import anyio
import msgspec

from trunkline.core.decisions import MirrorQuestion
from trunkline.core.delivery.states import DeliveryEvent, is_final, next_state
from trunkline.core.errors import IllegalTransition, StoreError
from trunkline.core.events.bindings import FallbackDenied
from trunkline.core.events.delivery import ChunkAcked, IntentSettled, MirrorAppended, MirrorRefused
from trunkline.core.reasons import Reason
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.runtime.inbound.intent_drafts import IntentDrafts
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.store.commands import AckChunk, EndIntent, Misplace, StoreMirror
from trunkline.core.store.queries import ListDueMirrors
from trunkline.core.store.records import IntentFate, IntentRow, NewSession, Settlement
from trunkline.core.values import Address, IntentId, Receipt
from trunkline.core.well_formed import well_formed


class Settler:
    """Stores and records the results of attempts."""

    def __init__(self, context: Context, preparer: Preparer) -> None:
        self._ctx = context
        self._preparer = preparer
        self._drafts = IntentDrafts(context)
        #: queues a notice
        self._deliver: Callable[[IntentRow, int | None], None] = _nobody
        self._waiters: dict[IntentId, list[anyio.Event]] = {}
        #: whether transcript lines are due; see `store_due`
        self.mirrors_due = False

    def connect(self, *, deliver: Callable[[IntentRow, int | None], None]) -> None:
        """Set the callback that queues a notice. Set late: the two modules depend on each other."""
        self._deliver = deliver

    # ------------------------------------------------------------ storing

    async def settle(self, row: IntentRow, receipt: Receipt, reason: Reason, cause: int) -> tuple[IntentRow, int]:
        """Store the receipt of a chunk; returns the intent after it and the seq. For the last one see `settle_last`."""
        ctx = self._ctx
        # A last chunk comes here after its mirror was refused: ack it now and mirror it later.
        due = row.acked + 1 == len(row.chunks) and row.mirror_key is not None
        ack = AckChunk(intent=row, receipt=receipt, now=ctx.env.now(), mirror_due=due)
        after, last = ack.after, ack.last

        def story(settled: Settlement) -> int:
            body = ChunkAcked(chunk=row.acked, provider_id=receipt.provider_id, address=receipt.address, reason=reason)
            seq = ctx.events.record(body, cause, **ids_of(row))
            if last:
                self._record_mirror(row, settled, seq, place=_place(row), partial=False)
                self._record_settled(after, reason, seq)
            ctx.bindings.record_touch(settled.touched, "outbound", seq)
            return seq

        seq = await ctx.store.write(ack, story, then=lambda _: self._note_activity(row))
        # Set after the commit, so that `store_due` finds it.
        self.mirrors_due |= due
        if last:
            self._over(after, reason, receipt, seq)
        return after, seq

    def settle_last(
        self,
        row: IntentRow,
        receipt: Receipt,
        reason: Reason,
        cause: int,
        done: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Like `settle` for the last chunk, without waiting: calls `done` when it is stored, else `failed`."""
        ctx = self._ctx
        ack = AckChunk(intent=row, receipt=receipt, mirror=self._mirror(row), now=ctx.env.now())
        after, ids = ack.after, ids_of(row)

        def story(settled: Settlement) -> int:
            body = ChunkAcked(chunk=row.acked, provider_id=receipt.provider_id, address=receipt.address, reason=reason)
            seq = ctx.events.record(body, cause, **ids)
            self._record_mirror(row, settled, seq, place=_place(row), partial=False)
            ctx.bindings.record_touch(settled.touched, "outbound", seq)
            return self._record_settled(after, reason, seq)

        def then(seq: int) -> None:
            self._note_activity(row)
            self._over(after, reason, receipt, seq)
            done()

        ctx.store.submit(ack, story, then=then, failed=failed)

    async def misplaced(self, row: IntentRow, receipt: Receipt, cause: int) -> None:
        """End an intent whose chunk went to the wrong place: mirror it where it is visible, and send nothing more."""
        ctx = self._ctx
        question = MirrorQuestion(
            kind=row.kind, agent=row.agent, running=row.mirror_key or "", origin=None, target=receipt.address
        )
        key = None if row.mirror_key is None else ctx.decisions.plan_mirror(question, ctx.config).key
        mirror = None if key is None else ctx.new_session(key, row.agent, receipt.address)
        end = Misplace(intent=row, receipt=receipt, mirror=mirror, now=ctx.env.now())
        after = end.after

        def story(settled: Settlement) -> int:
            body = ChunkAcked(
                chunk=row.acked, provider_id=receipt.provider_id, address=receipt.address, reason=Reason.MISPLACED
            )
            seq = ctx.events.record(body, cause, **ids_of(row))
            self._record_mirror(row, settled, seq, place=receipt.address, partial=after.acked < len(row.chunks))
            return self._record_settled(after, Reason.MISPLACED, seq, detail=f"it is at {receipt.address}")

        try:
            seq = await ctx.store.write(end, story)
        except (IllegalTransition, StoreError):
            raise
        except Exception as error:  # noqa: BLE001 -- a refused mirror must not block the end of the intent
            self.refused(row, error, cause)
            seq = await ctx.store.write(msgspec.structs.replace(end, mirror=None), story)
        self._over(after, Reason.MISPLACED, receipt, seq)

    async def end(
        self, row: IntentRow, event: DeliveryEvent, reason: Reason, cause: int | None, *, archived: bool = False
    ) -> None:
        """End an undeliverable intent; accepted chunks are mirrored as partial. `archived`: the thread may return."""
        ctx = self._ctx
        state = next_state(row.state, event, accepted_chunks=row.acked, in_doubt=row.doubt_at is not None)
        after = msgspec.structs.replace(row, state=state)
        notice = await self._notice(row, event, reason, cause)
        noticed: list[int] = []

        def story(settled: Settlement) -> int:
            self._record_mirror(row, settled, cause, place=_place(row), partial=True)
            seq = self._record_settled(after, reason, cause)
            noticed.extend(self._record_denied(row, notice, reason, seq))
            return seq

        mirror, now = self._mirror(row), ctx.env.now()
        end = EndIntent(intent=row, state=state, reason=reason, mirror=mirror, now=now, notice=notice)
        try:
            seq = await ctx.store.write(end, story)
        except (IllegalTransition, StoreError):
            raise
        except Exception as error:  # noqa: BLE001 -- end it without the mirror, which comes later
            self.refused(row, error, cause)
            seq = await ctx.store.write(msgspec.structs.replace(end, mirror=None, mirror_due=row.acked > 0), story)
            self.mirrors_due = True
        if reason is Reason.PLACE_GONE:
            ctx.bindings.gone(row.binding, Reason.THREAD_ARCHIVED if archived else Reason.THREAD_GONE, seq)
        if notice is not None and noticed:
            self._deliver(notice, noticed[0])
        self._over(after, reason, None, seq)

    def _note_activity(self, row: IntentRow) -> None:
        """Note the activity of the account and the binding after an accepted chunk."""
        place, bound = row.address, self._ctx.bindings
        self._ctx.activity.outbound(place.channel, place.account, self._ctx.env.now())
        if row.binding is not None:
            bound.apply_touches()
            if row.identity is not None:
                bound.identity_worked(row.binding)

    async def _notice(
        self, row: IntentRow, event: DeliveryEvent, reason: Reason, cause: int | None
    ) -> IntentRow | None:
        """The notice of an undeliverable intent, without its content, where the requester waits for it."""
        if row.notice_to is None or row.acked or event is DeliveryEvent.PARK:
            return None
        text = notice_text(row, reason)
        return await self._preparer.prepare_notice(self._drafts.notice(row, row.notice_to), text, cause)

    def _record_denied(self, row: IntentRow, notice: IntentRow | None, reason: Reason, cause: int) -> Iterator[int]:
        """Record that an undeliverable intent goes nowhere else; yields the seq of its notice."""
        if notice is None and (row.binding is None or reason is not Reason.PLACE_GONE):
            return
        posted = notice is not None and not is_final(notice.state)
        body = FallbackDenied(asked=row.address, refused=row.notice_to, reason=reason, notice=posted)
        seq = self._ctx.events.record(body, cause, binding=row.binding, **ids_of(row))
        if notice is None:
            return
        yield self._ctx.record_prepared(notice, targeted=False, reason=Reason.THREAD_NOTICE, cause=seq)

    async def store_due(self) -> None:
        """Store the transcript lines that were refused earlier; some may be refused again."""
        self.mirrors_due = False
        for row in await self._ctx.store.read(ListDueMirrors()):
            await self.mirror_later(row)

    async def mirror_later(self, row: IntentRow) -> None:
        """Store the transcript line of an intent whose mirror was refused."""
        ctx, mirror = self._ctx, self._mirror(row)
        if mirror is None:
            return

        def story(settled: Settlement) -> None:
            self._record_mirror(row, settled, None, place=_place(row), partial=row.acked < len(row.chunks))

        try:
            await ctx.store.write(StoreMirror(intent=row, mirror=mirror, now=ctx.env.now()), story)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 -- refused again: it stays due
            self.refused(row, error, None)
            self.mirrors_due = True

    def _mirror(self, row: IntentRow) -> NewSession | None:
        if row.mirror_key is None:
            return None
        return self._ctx.new_session(row.mirror_key, row.agent, _place(row))

    # ------------------------------------------------------------ notifying

    def notify_hooks(self, row: IntentRow, fate: IntentFate, cause: int) -> None:
        """Notify hooks of an intent that ended in an earlier process."""
        self._preparer.ended(row, fate.reason or Reason.RECOVERED, fate.receipts, cause)

    def over(self, row: IntentRow, cause: int | None) -> None:
        """End an intent that a hook cancelled before it was stored."""
        self._over(row, row.reason or Reason.CANCELLED_BY_HOOK, None, cause)

    def _over(self, row: IntentRow, reason: Reason, receipt: Receipt | None, cause: int | None) -> None:
        """Notify waiters and hooks of the end of an intent."""
        self._preparer.ended(row, reason, () if receipt is None else (receipt,), cause)
        self.gone(row.id, row.binding, cause)

    def gone(self, intent: IntentId, binding: str | None, cause: int | None = None) -> None:
        """Release the binding of an ended intent and wake its waiters, also if another process ended it."""
        self._ctx.bindings.release(binding, cause)
        for waiter in self._waiters.pop(intent, ()):
            waiter.set()

    def on_end(self, intent: IntentId) -> anyio.Event:
        waiter = anyio.Event()
        self._waiters.setdefault(intent, []).append(waiter)
        return waiter

    def forget(self, intent: IntentId, waiter: anyio.Event) -> None:
        waiters = self._waiters.get(intent, [])
        if waiter in waiters:
            waiters.remove(waiter)
        if not waiters:
            self._waiters.pop(intent, None)

    def refused(self, row: IntentRow, error: Exception, cause: int | None) -> None:
        """Record that the store refused a mirror."""
        body = MirrorRefused(
            session_key=row.mirror_key or "",
            reason=Reason.MIRROR_REFUSED,
            detail=well_formed(f"{type(error).__name__}: {error}"),
        )
        self._ctx.events.record(body, cause, **ids_of(row))

    def _record_mirror(
        self, row: IntentRow, settled: Settlement, cause: int | None, *, place: Address | None, partial: bool
    ) -> None:
        session = settled.mirror
        if session is None:
            return
        if session.created or session.moved_from is not None or session.left is not None:
            self._ctx.record_session(session, row.agent, place, "outbound", cause)
        self._ctx.events.record(
            MirrorAppended(session_id=session.id, session_key=session.key, text=settled.mirror_text, partial=partial),
            cause,
            **ids_of(row),
        )

    def _record_settled(self, row: IntentRow, reason: Reason, cause: int | None, detail: str = "") -> int:
        assert is_final(row.state)
        body = IntentSettled(state=row.state, reason=reason, attempts=row.attempts, detail=detail)
        return self._ctx.events.record(body, cause, **ids_of(row))


def _place(row: IntentRow) -> Address | None:
    """The place of the mirror session; None for a bound session or one that the caller named."""
    return None if row.named_session or row.binding is not None else row.address


def notice_text(row: IntentRow, reason: Reason) -> str:
    """The text of a notice about an undeliverable message, without its content."""
    return f"An answer could not be posted in its thread, and is not posted here instead. {reason.sentence}"


def _nobody(_row: IntentRow, _cause: int | None) -> None: ...
