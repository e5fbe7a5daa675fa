"""Prepares messages on every path: hooks, normalisation and chunking, all before the commit.

The result is final: it is stored unchanged, and no attempt, retry or recovery runs a hook again.
"""

from collections.abc import Callable, Iterable

from msgspec import structs

from trunkline.core.actions.marker import ContextMark
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction, InvalidSend
from trunkline.core.events.delivery import HookSending
from trunkline.core.reasons import Reason
from trunkline.core.records.heartbeat import HeartbeatText
from trunkline.core.records.rows import ContentPart, IntentRow, Work
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.runtime.intent_drafts import IntentDrafts
from trunkline.core.runtime.outbound.open_intents import OpenIntents
from trunkline.core.store.commands import Enqueue
from trunkline.core.text.chunking.utf16 import visible
from trunkline.core.values import Address, IntentState


class Preparer:
    """Turns drafts into prepared intents, and has these stored and delivered."""

    def __init__(self, context: Context, intents: OpenIntents) -> None:
        self._ctx = context
        self.intents = intents
        self._hooks = intents.hooks
        self._room = intents.room
        self.drafts = IntentDrafts(context)
        #: queues an intent that is durable
        self.deliver = intents.enqueue

    @property
    def has_hooks(self) -> bool:
        return self._hooks.has_hooks

    async def prepare(
        self, draft: IntentRow, text: str, cause: int | None, mark: ContextMark | None = None, work: Work | None = None
    ) -> IntentRow:
        """The intent with its final bytes: prepared, cancelled by a hook, or without chunks if nothing is visible.

        Waits for room in the backlog. Raises `InvalidSend` for a text above the maximum length. Hooks neither see nor
        change the mark. `work`: that of the turn which sends it.
        """
        config = self._ctx.config
        await self.wait_for_room(draft.address)
        self._check_length(text)
        row = await self._final(draft, text, cause, mark, work)
        if row.address is not draft.address:
            # A hook sends it elsewhere.
            await self.wait_for_room(row.address)
        # Its age is that of the message, and not of the wait for room or hooks.
        return structs.replace(self._with_todays_key(row, config), created_at=self._ctx.env.now())

    async def wait_for_room(self, place: Address) -> None:
        full = self._room(place)
        if full is not None:
            await full

    async def prepare_edit(
        self, draft: IntentRow, text: str, cause: int | None, mark: ContextMark | None = None
    ) -> IntentRow:
        """The change with the final bytes of its new text, or cancelled by a hook. Raises `InvalidAction`.

        The text must fit into the one message that is edited.
        """
        count = len(self.preview(draft, text, mark).content.chunks)
        if count == 0:
            raise InvalidAction("edit: the new text has nothing visible; delete the message", Reason.NOTHING_TO_SEND)
        if count > 1:
            raise InvalidAction(
                f"edit: the new text needs {count} messages, but it replaces one: shorten it", Reason.TEXT_TOO_LONG
            )
        await self.wait_for_room(draft.address)
        row = await self._final(draft, text, cause, mark)
        if len(row.content.chunks) <= 1:
            return row
        # A hook made it longer. Hooks hear of its end.
        return _cancelled(draft, Reason.TEXT_TOO_LONG)

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
        if config is before or row.named_session or row.session or row.bound.binding:
            return row
        key = self._ctx.decisions.todays_mirror(row.mirror_key, row.agent, row.address, before, config)
        return structs.replace(row, mirror_key=key)

    async def _final(
        self, draft: IntentRow, text: str, cause: int | None, mark: ContextMark | None = None, work: Work | None = None
    ) -> IntentRow:
        if not self._hooks.has_hooks:
            return self._cut(draft, text, mark)
        if not text.strip() and not _shows_more(draft):
            return draft
        hooked = await self._hooks.run_sending(draft, text, mark, work, cause)
        passed, mark = hooked.result, hooked.mark
        if passed.cancelled is None and len(passed.text) > self._ctx.config.delivery.max_text:
            passed = structs.replace(passed, cancelled=Reason.TEXT_TOO_LONG)
        row = self._cut(hooked.draft, passed.text, mark, hooks=True) if passed.cancelled is None else draft
        if not row.content.chunks and passed.cancelled is None:
            passed = structs.replace(passed, cancelled=Reason.EMPTY_AFTER_HOOK)
        moved = passed.to if "to" in passed.changed and passed.cancelled is None else None
        body = HookSending(verdict=passed.verdict, by=passed.by, reason=passed.reason, changed=passed.changed, to=moved)
        self._ctx.events.record(body, cause, **ids_of(draft))
        if passed.cancelled is None:
            return row
        return _cancelled(draft, passed.cancelled)

    async def enqueue(
        self,
        row: IntentRow,
        *,
        reason: Reason,
        cause: int | None,
        targeted: bool = False,
        said: HeartbeatText | None = None,
        repeated: Callable[[], object] = lambda: None,
    ) -> bool:
        """Store a prepared intent and have it delivered. If it was stored before: False, after a call of `repeated`."""
        ctx = self._ctx

        def story(new: bool) -> int | None:
            if new:
                return ctx.record_prepared(row, targeted=targeted, reason=reason, cause=cause)
            repeated()
            return None

        def then(prepared: int | None) -> None:
            if prepared is not None:
                self.deliver(row, prepared)

        return await ctx.store.write(Enqueue(intent=row, now=ctx.env.now(), said=said), story, then=then) is not None

    def drop(self, rows: Iterable[IntentRow], reason: Reason, cause: int | None) -> None:
        self._hooks.notify_of_unsent(rows, reason, cause)

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
        content = structs.replace(draft.content, chunks=chunks, forms=forms)
        return structs.replace(draft, content=content, hooks_pending=hooks)


def _marked(draft: IntentRow, text: str, mark: ContextMark) -> tuple[IntentRow, str]:
    """The draft and the text with a mark. A mark alone is no message."""
    if not visible(text) and not _shows_more(draft):
        return draft, text
    content, extra = draft.content, structs.replace(draft.extra, parts=mark.beside(draft.extra.parts))
    if content.poll is not None:
        poll = structs.replace(content.poll, question=mark.around(content.poll.question))
        content = structs.replace(content, poll=poll)
    return structs.replace(draft, content=content, extra=extra), mark.around(text)


def _cancelled(draft: IntentRow, reason: Reason) -> IntentRow:
    """The intent that hooks have cancelled; they hear of its end. Its content is never stored."""
    return structs.replace(
        draft,
        hooks_pending=True,
        content=ContentPart(reply_to=draft.content.reply_to),
        progress=structs.replace(draft.progress, state=IntentState.CANCELLED, reason=reason),
        extra=structs.replace(draft.extra, parts=None),
    )


def _shows_more(draft: IntentRow) -> bool:
    """Whether people see something of it even without a text: files, a card, a sticker."""
    parts = draft.extra.parts
    return bool(draft.content.media) or (parts is not None and parts.is_visible)
