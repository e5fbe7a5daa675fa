"""Notices of the gateway itself: that a binding has expired, that a chain of turns has ended; and those nobody read."""

import anyio.abc
import msgspec

from trunkline.core.delivery.notes import AGAIN_SUFFIX, NOTICE_SUFFIX, is_unheard
from trunkline.core.delivery.policy import is_too_old
from trunkline.core.errors import InvalidSend, StoreError
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.rows import Work
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.intent_drafts import TurnMessage
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.store.queries import LoadIntents
from trunkline.core.values import Address, IntentId, IntentKind, SessionId
from trunkline.core.well_formed import describe

_Lane = tuple[str, str, str, str]
_WORKERS = 16


class ExpiryNotice:
    """Posts the configured message in a conversation when its binding expires.

    The bot posts it, since the binding has ended. It is best effort: if the process dies before storing it, nothing is
    posted.
    """

    def __init__(self, context: Context, preparer: Preparer) -> None:
        self._ctx = context
        self._preparer = preparer
        self._lanes: Lanes[_Lane, tuple[SessionBindingRecord, Reason, int | None]] = Lanes(
            "farewells", workers=_WORKERS, now=context.env.steady
        )

    def start(self, group: anyio.abc.TaskGroup) -> None:
        self._lanes.start(group, self._handle)

    def post(self, record: SessionBindingRecord, reason: Reason, cause: int | None) -> None:
        if self._text(record):
            self._lanes.put(record.conversation.lane, (record, reason, cause))

    def _text(self, record: SessionBindingRecord) -> str:
        return self._ctx.config.channel(record.conversation.channel).thread_bindings.farewell

    async def _handle(self, _lane: _Lane, item: tuple[SessionBindingRecord, Reason, int | None]) -> None:
        ctx, (record, reason, cause), text = self._ctx, item, self._text(item[0])
        draft = self._preparer.drafts.farewell(record)
        if draft.bound.binding is not None:
            # The conversation has been bound again.
            return
        try:
            row = await self._preparer.prepare(draft, text, cause)
        except InvalidSend as error:
            ctx.events.record(IntentSuppressed(reason=error.reason, text=text), cause, binding=record.binding_id)
            return
        if not row.is_invisible:
            await self._preparer.enqueue(row, reason=reason, cause=cause)


class UnheardNotices:
    """Notices that may have reached nobody; each is repeated once, when somebody writes where it belongs.

    Beside those of this process there are those that earlier ones have parked. The repeat is an intent with an id of
    its own, so that no crash makes two of it, and it is tried once: a person who writes is not kept waiting.
    """

    def __init__(self, context: Context, preparer: Preparer) -> None:
        self._ctx, self._preparer = context, preparer
        self._by_lane: dict[_Lane, list[IntentId]] = {}

    def note(self, intent: IntentId, place: Address) -> None:
        self._by_lane.setdefault(place.lane, []).append(intent)

    async def repeat(self, place: Address, cause: int) -> None:
        """Queue the notices of a place before the answer to the message that has just come from there."""
        names, ctx = self._by_lane.pop(place.lane, ()), self._ctx
        if not names:
            return
        for row in (await ctx.store.read(LoadIntents(ids=names))).rows:
            # An operator may have resolved it meanwhile.
            if not is_unheard(row) or is_too_old(row.created_at, ctx.env.now(), ctx.config.delivery):
                continue
            draft = self._preparer.drafts.notice(row, row.address, AGAIN_SUFFIX)
            draft = msgspec.structs.replace(draft.with_progress(open_on=row.progress.open_on), best_effort=True)
            again = await self._preparer.prepare_notice(draft, row.content.text, cause)
            if not again.is_invisible:
                await self._preparer.enqueue(again, reason=Reason.NOTICE_REPEATED, cause=cause)


class ChainEnd:
    """Posts the notice of `turns.chain_notice` where a chain of turns without a message of a person has begun."""

    def __init__(self, context: Context, preparer: Preparer) -> None:
        self._ctx = context
        self._preparer = preparer

    async def post_notice(self, work: Work, session: SessionId, cause: int, *, last: str | None = None) -> None:
        """Post the notice for a turn. `last`: the last turn of the chain, if this one is no part of it."""
        ctx, origin, text = self._ctx, work.origin, self._ctx.config.turns.chain_notice
        to = work.reply_to if work.reply_to is not None or origin is None else origin.reply_to
        if to is None or not text.strip():
            return
        # Several turns may come to the end of one chain: the first posts it.
        root = last or (work.id if origin is None else origin.inbound)
        name = IntentId(f"{root}.chain{NOTICE_SUFFIX}")
        try:
            what = TurnMessage(kind=IntentKind.NOTICE, id=name, text=text, to=to)
            draft = self._preparer.drafts.of_turn(work, session, what)
            row = await self._preparer.prepare(draft, text, cause, None, work)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 -- a decision may be user code; the turn goes on without the notice
            failed = IntentSuppressed(reason=Reason.CHAIN_EXCEEDED, detail=f"no notice: {describe(error)}")
            ctx.events.record(failed, cause, inbound=work.id, intent=name)
            return
        if not row.is_invisible:
            await self._preparer.enqueue(row, reason=Reason.CHAIN_EXCEEDED, cause=cause)
