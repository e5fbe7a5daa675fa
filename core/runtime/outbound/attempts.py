"""Makes one attempt: sends a chunk, makes a change, or looks a chunk up, and returns the outcome. Decides nothing."""

import anyio
import msgspec
from cachetools import LRUCache
from msgspec import structs

from trunkline.core import values
from trunkline.core.actions.requests import ActionPart, ActionRequest
from trunkline.core.bindings.port import BindsConversations
from trunkline.core.channels import Actions, ChannelAdapter
from trunkline.core.channels.capabilities import for_action, for_notice, require_action
from trunkline.core.channels.registry import is_misplaced
from trunkline.core.delivery.policy import AttemptOutcome, DeliveryDecision, NextStep, outcome_of, outcome_of_error
from trunkline.core.delivery.recovery import needs_mark
from trunkline.core.errors import Ambiguous, InvalidAction, NotSent, PlaceArchived, PlatformError
from trunkline.core.events import Body
from trunkline.core.events.bindings import IdentityFallback, PlaceReopened
from trunkline.core.events.delivery import AttemptStarted, TransportFallback
from trunkline.core.message_tool.references import MeantMessage, needs_receipts
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.runtime.deadlines import Deadlines
from trunkline.core.runtime.outbound.heartbeat_outcome import Judge, awake
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import MarkSending
from trunkline.core.store.port import answer
from trunkline.core.store.queries import FindIntentFate
from trunkline.core.untrusted import check_receipt
from trunkline.core.well_formed import describe, words_of

#: number of opened threads that are remembered
_MOST_OPENED = 10_000


class AttemptMade(msgspec.Struct, frozen=True, kw_only=True):
    #: the intent with this attempt counted
    row: IntentRow
    #: or the decision that forbade it
    outcome: AttemptOutcome | DeliveryDecision
    #: the event of the attempt, or what caused it if it was not made
    seq: int | None
    #: when it left, on the steady clock
    left_at: float


class Attempts:
    def __init__(self, context: Context) -> None:
        self._ctx = context
        self._limits = Deadlines()
        #: threads that this process has opened; each intent that may be the first in a thread names its message
        self._opened: LRUCache[tuple[str, str, str, str], None] = LRUCache(_MOST_OPENED)

    async def send(self, adapter: ChannelAdapter, row: IntentRow, cause: int | None, judge: Judge) -> AttemptMade:
        """Send the next chunk, unless `judge` forbids it."""
        ctx, before, change = self._ctx, row.progress, row.extra.action
        if row.kind is values.IntentKind.HEARTBEAT:
            judge = awake(ctx, row, judge)
        forbidden = judge()
        meant = None
        if change is not None and forbidden is None:
            meant = await self._find_message_meant(row, change)
            forbidden = _nothing_to_change(meant)
        if forbidden is None:
            stale = needs_mark(can_of(adapter, row), before.attempts) and before.state is values.IntentState.PREPARED
            row = row.with_progress(attempts=before.attempts + 1)
            if stale:
                # The attempt is counted durably where recovery has to know of it.
                mark = MarkSending(intent=row, now=ctx.env.now())
                await ctx.store.write(mark, answer)
                row = mark.after
            if ctx.lease.expired:
                stale = True
                await ctx.lease.assure()
            # To store the mark and to renew the lease may take long.
            forbidden = judge() if stale else None
        left_at = ctx.env.steady()
        if forbidden is not None:
            row = row.with_progress(attempts=before.attempts)
            return AttemptMade(row=row, outcome=forbidden, seq=cause, left_at=left_at)
        body = AttemptStarted(chunk=row.progress.acked, attempt=row.progress.attempts, address=row.address)
        seq = ctx.events.record(body, cause, **ids_of(row))
        if change is not None and meant is not None:
            outcome = await self._make_change(adapter, row, change, meant, seq)
        else:
            request = _request(row, transport_of(row, adapter.capabilities), ctx.config.delivery.mark, seq)
            outcome = await self._outcome(adapter, row, request, judge)
        return AttemptMade(row=row, outcome=outcome, seq=seq, left_at=left_at)

    async def _find_message_meant(self, row: IntentRow, part: ActionPart) -> MeantMessage:
        """The message that the next request concerns, by the receipts of the sending intent."""
        if part.of is None or not needs_receipts(part, len(row.content.chunks)):
            return MeantMessage(message_id=part.message_id)
        fate = await self._ctx.store.read(FindIntentFate(intent=part.of))
        receipts = () if fate is None else fate.receipts
        return self._ctx.decisions.message_meant(part, row.progress.acked, row.address, receipts)

    async def _make_change(
        self, adapter: ChannelAdapter, row: IntentRow, part: ActionPart, meant: MeantMessage, cause: int
    ) -> AttemptOutcome:
        try:
            require_action(adapter, adapter.capabilities, part.action, f"{row.address.channel}:{row.address.account}")
            assert isinstance(adapter, Actions)
            with self._limits.within(self._ctx.config.delivery.request_timeout):
                receipt = await adapter.act(_change_request(row, part, meant, cause))
                return _accepted(row, receipt, Reason.ACCEPTED, adapter.capabilities)
            return outcome_of(Ambiguous("no answer in time"))
        except InvalidAction as error:
            # The adapter is another one since the change was stored.
            return AttemptOutcome(reason=error.reason, detail=error.facts)
        except Exception as error:  # noqa: BLE001 -- any error of an adapter is an outcome
            return outcome_of_error(error)

    async def _outcome(
        self, adapter: ChannelAdapter, row: IntentRow, request: values.SendRequest, judge: Judge
    ) -> AttemptOutcome:
        ctx = self._ctx
        try:
            with self._limits.within(ctx.config.delivery.request_timeout):
                open_on = row.progress.open_on
                if open_on is not None and row.address.lane not in self._opened:
                    await self._open_thread(adapter, row, open_on)
                    await ctx.lease.assure()
                    _raise_if_late(judge)
                try:
                    receipt = await adapter.send(request)
                except PlaceArchived as error:
                    receipt = await self._send_reopened(adapter, row, request, judge, error)
                return _accepted(row, receipt, Reason.ACCEPTED, adapter.capabilities)
            return outcome_of(Ambiguous("no answer in time"))
        except Exception as error:  # noqa: BLE001 -- any error of an adapter is an outcome
            # The thread may be gone: the next attempt asks for it.
            self._opened.pop(row.address.lane, None)
            return outcome_of_error(error)

    async def _send_reopened(
        self, adapter: ChannelAdapter, row: IntentRow, request: values.SendRequest, judge: Judge, error: PlaceArchived
    ) -> values.Receipt:
        """Unarchive a bound thread if that is allowed, and send again; else raise the error."""
        allowed = self._ctx.config.channel(row.address.channel).thread_bindings.unarchive
        if row.bound.binding is None or not allowed or not isinstance(adapter, BindsConversations):
            raise error
        with UserCode():
            await adapter.reopen(row.address)
        body = PlaceReopened(address=row.address)
        self._ctx.events.record(body, request.cause, intent=row.id, binding=row.bound.binding)
        _raise_if_late(judge)
        with UserCode():
            return await adapter.send(request)

    async def _open_thread(self, adapter: ChannelAdapter, row: IntentRow, message: str) -> None:
        """Open the thread first. Opening is idempotent, so a lost response is safe to retry."""
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout / 2), UserCode():
                await adapter.open_thread(row.address, message, next(filter(None, row.content.chunks), ""))
            self._opened[row.address.lane] = None
        except Exception as error:
            if isinstance(error, PlatformError) and not error.ambiguous:
                raise
            raise NotSent(f"the thread could not be opened ({describe(error)})") from error

    async def look_up(self, adapter: ChannelAdapter, row: IntentRow, cause: int | None) -> AttemptMade:
        """Look up an ambiguous chunk. A failed look-up proves nothing; it counts, so that look-ups end too."""
        left_at = self._ctx.env.steady()
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout), UserCode():
                receipt = await adapter.find(row.address, row.key(row.progress.acked))
        except Exception as error:  # noqa: BLE001 -- any error of an adapter leaves the chunk in doubt
            outcome = AttemptOutcome(reason=Reason.LOOKUP_FAILED, ambiguous=True, detail=words_of(error))
        else:
            outcome = AttemptOutcome(reason=Reason.NOT_FOUND_BY_LOOKUP, retryable=True)
            if receipt is not None:
                outcome = _accepted(row, receipt, Reason.FOUND_BY_LOOKUP, adapter.capabilities)
        row = row.with_progress(attempts=row.progress.attempts + outcome.ambiguous)
        return AttemptMade(row=row, outcome=outcome, seq=cause, left_at=left_at)


def _raise_if_late(judge: Judge) -> None:
    """Raise `NotSent` if the chunk may not be sent any more; what is decided after it ends the intent."""
    if judge() is not None:
        raise NotSent("it was not sent: preparing the place took too long")


def can_of(adapter: ChannelAdapter, row: IntentRow) -> values.Capabilities:
    """The capabilities for an intent: webhook messages may lack idempotency keys, changes and notices need none."""
    can = adapter.capabilities
    if row.extra.action is not None:
        return for_action(can, row.extra.action.action)
    if row.bound.identity is not None:
        idempotency = values.Idempotency.NONE if can.identities is None else can.identities
        can = structs.replace(can, idempotency=idempotency, key_seconds=None)
    if row.kind is not values.IntentKind.NOTICE:
        return can
    # The attempt in progress is the second one.
    again = row.progress.doubt_at is not None and row.progress.state is values.IntentState.SENDING
    return for_notice(can, again=again)


def transport_of(row: IntentRow, can: values.Capabilities) -> values.Transport:
    return row.progress.transport or can.mode.first


def other_way(row: IntentRow, decided: DeliveryDecision) -> tuple[IntentRow, Body]:
    """The intent with the other transport, or with the bot instead of the webhook, and the event of the change."""
    chunk, attempt, reason = row.progress.acked, row.progress.attempts, decided.reason
    if decided.next is NextStep.AS_BOT:
        webhook = str(row.bound.identity)
        fallback = IdentityFallback(chunk=chunk, attempt=attempt, instead_of=webhook, used="bot", reason=reason)
        return structs.replace(row, bound=structs.replace(row.bound, identity=None)), fallback
    used = values.Transport.GATEWAY
    body = TransportFallback(chunk=chunk, attempt=attempt, instead_of=values.Transport.DIRECT, used=used, reason=reason)
    return row.with_progress(transport=used), body


def _request(row: IntentRow, transport: values.Transport, mark: str, cause: int) -> values.SendRequest:
    content, chunk = row.content, row.progress.acked
    text, html, styles = content.chunks[chunk], None, ()
    if content.forms:
        html, styles = content.forms[chunk].html, content.forms[chunk].styles
    if row.progress.marked:
        text, html, styles = mark + text, None if html is None else mark + html, _shifted(styles, mark)
    return values.SendRequest(
        address=row.address,
        text=text,
        key=row.key(chunk),
        intent=row.id,
        chunk=chunk,
        attempt=row.progress.attempts,
        reply_to=content.reply_to,
        media=content.media if chunk == 0 else (),
        transport=transport,
        html=html,
        styles=styles,
        # Only with the first chunk: the others are the rest of the text.
        poll=content.poll if chunk == 0 else None,
        payload=content.payload if chunk == 0 else None,
        parts=row.extra.parts if chunk == 0 else None,
        identity=row.bound.identity,
        recipient=row.extra.recipient,
        cause=cause,
    )


def _nothing_to_change(meant: MeantMessage) -> DeliveryDecision | None:
    """The end of a change of a missing message; none: the message exists."""
    if meant.reason is None:
        return None
    return DeliveryDecision(next=NextStep.FAIL, event=DeliveryEvent.REFUSE, reason=meant.reason)


def _change_request(row: IntentRow, part: ActionPart, meant: MeantMessage, cause: int) -> ActionRequest:
    chunk = row.progress.acked
    forms = row.content.forms
    form = forms[chunk] if forms else None
    return ActionRequest(
        action=part.action,
        address=row.address,
        key=row.key(chunk),
        intent=row.id,
        attempt=row.progress.attempts,
        chunk=chunk,
        message_id=meant.message_id,
        text=row.content.chunks[chunk],
        html=None if form is None else form.html,
        styles=() if form is None else form.styles,
        remove=part.remove,
        fields=part.fields,
        identity=row.bound.identity,
        cause=cause,
    )


def _shifted(styles: tuple[values.Style, ...], mark: str) -> tuple[values.Style, ...]:
    units = len(mark.encode("utf-16-le")) // 2
    return tuple(structs.replace(style, start=style.start + units) for style in styles)


def _accepted(row: IntentRow, receipt: values.Receipt, reason: Reason, can: values.Capabilities) -> AttemptOutcome:
    wrong = check_receipt(receipt)
    if wrong:
        return AttemptOutcome(reason=Reason.NO_RECEIPT, ambiguous=True, detail=f"the adapter's answer: {wrong}")
    change = row.extra.action
    if change is not None:
        # What was created is at a place of its own.
        astray = change.action.spec.of_message and is_misplaced(row.address, receipt)
        return AttemptOutcome(receipt=receipt, reason=reason, misplaced=astray)
    if not receipt.provider_id.strip() and values.Capability.MESSAGE_IDS in can.can:
        # It looks like success but names no message, so it is ambiguous (scenario B029).
        return AttemptOutcome(reason=Reason.NO_RECEIPT, ambiguous=True, detail="the answer names no message")
    return AttemptOutcome(receipt=receipt, reason=reason, misplaced=is_misplaced(row.address, receipt))
