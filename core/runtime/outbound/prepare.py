"""Prepares messages on every path: hooks, normalisation and chunking, all before the commit.

The result is final: it is stored unchanged, and no attempt, retry or recovery runs a hook again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from trunkline.core.actions.marker import ContextMark
from trunkline.core.config import GatewayConfig
from trunkline.core.delivery.hooks import Hooks, Sent, SentHook
from trunkline.core.delivery.mirror_text import said
from trunkline.core.errors import InvalidAction, InvalidSend
from trunkline.core.events.delivery import HookSending, HookSent
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow, Work
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.runtime.outbound.sending_hooks import SendingHooks
from trunkline.core.store.commands import MarkNotified
from trunkline.core.text.chunking.utf16 import visible
from trunkline.core.values import Address, IntentState, Receipt
from trunkline.core.well_formed import describe

#: number of outcomes that hooks are notified of concurrently
_NOTIFIERS = 16


class Preparer:
    """Turns drafts into prepared intents, and notifies hooks of their outcome."""

    def __init__(self, context: Context, hooks: Hooks) -> None:
        self._ctx = context
        self._sending = SendingHooks(context, hooks.in_order)
        self._sent = hooks.sent
        self._any = bool(hooks)
        self._room: Callable[[Address], Awaitable[None] | None] | None = None
        self.lanes: Lanes[tuple[str, str, str, str], tuple[IntentRow, Sent, int | None]] = Lanes(
            "hooks", self._notify, workers=_NOTIFIERS, now=context.env.steady
        )

    @property
    def has_hooks(self) -> bool:
        return self._any

    def connect(self, *, room: Callable[[Address], Awaitable[None] | None]) -> None:
        """Set how to wait for room in the backlog. Set late: delivery and preparation depend on each other."""
        self._room = room

    async def prepare(
        self,
        draft: IntentRow,
        text: str,
        cause: int | None,
        mark: ContextMark | None = None,
        work: Work | None = None,
    ) -> IntentRow:
        """The intent with its final bytes: prepared, cancelled by a hook, or without chunks if nothing is visible.

        Waits for room in the backlog. Raises `InvalidSend` for a text above the maximum length. Hooks neither see nor
        change the mark. `work`: that of the turn which sends it.
        """
        config = self._ctx.config
        full = None if self._room is None else self._room(draft.address)
        if full is not None:
            await full
        self._check_length(text)
        row = await self._final(draft, text, cause, mark, work)
        if row.address is not draft.address:
            # A hook sends it elsewhere.
            await self.wait_for_room(row.address)
        return self._with_todays_key(row, config)

    async def wait_for_room(self, place: Address) -> None:
        """Wait for room in the backlog."""
        full = None if self._room is None else self._room(place)
        if full is not None:
            await full

    async def prepare_edit(
        self, draft: IntentRow, text: str, cause: int | None, mark: ContextMark | None = None
    ) -> IntentRow:
        """The change with the final bytes of its new text, or cancelled by a hook. Raises `InvalidAction`.

        The text must fit into the one message that is edited.
        """
        count = len(self.preview(draft, text, mark).chunks)
        if count == 0:
            raise InvalidAction("edit: the new text has nothing visible; delete the message", Reason.NOTHING_TO_SEND)
        if count > 1:
            raise InvalidAction(
                f"edit: the new text needs {count} messages, but it replaces one: shorten it", Reason.TEXT_TOO_LONG
            )
        await self.wait_for_room(draft.address)
        row = await self._final(draft, text, cause, mark)
        if len(row.chunks) <= 1:
            return row
        # A hook made it longer. Hooks hear of its end.
        return msgspec.structs.replace(
            draft, state=IntentState.CANCELLED, reason=Reason.TEXT_TOO_LONG, hooks_pending=True
        )

    async def prepare_notice(self, draft: IntentRow, text: str, cause: int | None) -> IntentRow:
        """The notice of an intent that ends. Never waits for room, which this end is about to free, and never raises.

        A notice adds at most one intent for one that ends, so the backlog does not grow by it.
        """
        config = self._ctx.config
        return self._with_todays_key(await self._final(draft, text, cause), config)

    def _with_todays_key(self, row: IntentRow, before: GatewayConfig) -> IntentRow:
        """The intent with the session key that its place has now, if the scopes changed while hooks ran (invariant S1).

        `before`: the configuration of the draft. A session that the turn, a binding or the caller chose stays.
        """
        config = self._ctx.config
        if config is before or row.named_session or row.session or row.binding:
            return row
        key = self._ctx.decisions.todays_mirror(row.mirror_key, row.agent, row.address, before, config)
        return msgspec.structs.replace(row, mirror_key=key)

    async def _final(
        self,
        draft: IntentRow,
        text: str,
        cause: int | None,
        mark: ContextMark | None = None,
        work: Work | None = None,
    ) -> IntentRow:
        if not self._any:
            return self._cut(draft, text, mark)
        if not text.strip() and not _shows_more(draft):
            return draft
        hooked = await self._sending.run(draft, text, mark, work, cause)
        passed, mark = hooked.result, hooked.mark
        if passed.cancelled is None and len(passed.text) > self._ctx.config.delivery.max_text:
            passed = msgspec.structs.replace(passed, cancelled=Reason.TEXT_TOO_LONG)
        row = self._cut(hooked.draft, passed.text, mark, hooks=True) if passed.cancelled is None else draft
        if not row.chunks and passed.cancelled is None:
            passed = msgspec.structs.replace(passed, cancelled=Reason.EMPTY_AFTER_HOOK)
        moved = passed.to if "to" in passed.changed and passed.cancelled is None else None
        body = HookSending(verdict=passed.verdict, by=passed.by, reason=passed.reason, changed=passed.changed, to=moved)
        self._ctx.events.record(body, cause, **ids_of(draft))
        if passed.cancelled is None:
            return row
        # The content of a cancelled message is never stored.
        return msgspec.structs.replace(
            draft,
            state=IntentState.CANCELLED,
            reason=passed.cancelled,
            media=(),
            poll=None,
            payload=None,
            parts=None,
            hooks_pending=True,
        )

    def preview(self, draft: IntentRow, text: str, mark: ContextMark | None = None) -> IntentRow:
        """The intent as it would be prepared without hooks; has no effects."""
        self._check_length(text)
        return self._cut(draft, text, mark)

    def _check_length(self, text: str) -> None:
        limit = self._ctx.config.delivery.max_text
        if len(text) > limit:
            facts = f"{len(text)} characters, but the limit is {limit}: shorten the text, or raise delivery.max_text"
            raise InvalidSend(facts, Reason.TEXT_TOO_LONG)

    def _cut(self, draft: IntentRow, text: str, mark: ContextMark | None = None, *, hooks: bool = False) -> IntentRow:
        """The draft with its chunks. `hooks`: hooks have seen it, and hear of its end."""
        if mark is not None:
            draft, text = _marked(draft, text, mark)
        pieces = self._ctx.pieces(text, draft)
        # Files without a text are one chunk too.
        chunks = tuple([piece.text for piece in pieces]) or (("",) if _shows_more(draft) else ())
        forms = pieces if [piece for piece in pieces if piece.html is not None or piece.styles] else ()
        return msgspec.structs.replace(draft, chunks=chunks, forms=forms, hooks_pending=hooks)

    # ------------------------------------------------------------ outcomes

    def ended(self, row: IntentRow, reason: Reason, receipts: tuple[Receipt, ...], cause: int | None) -> None:
        """Queue the notification of hooks that an intent ended, in order per conversation."""
        if not row.hooks_pending:
            return
        sent = Sent(
            intent=row.id,
            kind=row.kind,
            agent=row.agent,
            address=row.address,
            state=row.state,
            reason=reason,
            text=said(row.chunks),
            receipts=receipts,
        )
        self.lanes.put(row.address.lane, (row, sent, cause))

    async def _notify(self, _lane: tuple[str, str, str, str], item: tuple[IntentRow, Sent, int | None]) -> None:
        row, sent, cause = item
        for hook in self._sent:
            await self._call(hook, row, sent, cause)

        def story(first: bool) -> None:
            if not first:
                return
            last = sent.receipts[-1].provider_id if sent.receipts else None
            body = HookSent(state=sent.state, reason=sent.reason, provider_id=last)
            self._ctx.events.record(body, cause, **ids_of(row))

        self._ctx.store.submit(MarkNotified(intent=row.id), story, urgent=False)

    async def _call(self, hook: SentHook, row: IntentRow, sent: Sent, cause: int | None) -> None:
        try:
            await self._sending.in_time(hook.call, sent)
        except Exception as error:  # noqa: BLE001 -- any error of a hook is recorded; the delivery is over
            self._sending.record_failure(row, hook.name, "sent", Reason.HOOK_RAISED, describe(error), cause)


def _marked(draft: IntentRow, text: str, mark: ContextMark) -> tuple[IntentRow, str]:
    """The draft and its text with a mark. A mark alone is no message."""
    if not visible(text) and not _shows_more(draft):
        return draft, text
    poll = draft.poll
    if poll is not None:
        poll = msgspec.structs.replace(poll, question=mark.around(poll.question))
    return msgspec.structs.replace(draft, poll=poll, parts=mark.beside(draft.parts)), mark.around(text)


def _shows_more(draft: IntentRow) -> bool:
    """Whether people see something of it even without a text: files, a card, a sticker."""
    return bool(draft.media) or (draft.parts is not None and draft.parts.is_visible)
