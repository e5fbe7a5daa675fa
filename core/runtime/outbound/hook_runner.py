"""Runs hooks, each in time. What `message_sending` hooks change is checked like what was asked for."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio.abc
import msgspec
from msgspec import structs

from trunkline.core.actions.marker import ContextMark
from trunkline.core.channels.capabilities import check_able
from trunkline.core.delivery import hooks as rules
from trunkline.core.delivery.hooks import Change, HookResult, Hooks, Outgoing, SendingHook, Sent
from trunkline.core.errors import HookError, InvalidSend, TargetError
from trunkline.core.events.delivery import HookFailed, HookSent
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow, ProgressPart, Work
from trunkline.core.routing.outbound import OutboundQuestion
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.runtime.deadlines import Deadlines
from trunkline.core.runtime.intent_drafts import bound_part, mirror_at
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.runtime.outbound.context_policy import ContextPolicy
from trunkline.core.store.commands import MarkNotified
from trunkline.core.text.mirror_text import said
from trunkline.core.untrusted import check_address
from trunkline.core.values import Address, IntentKind, IntentState, Receipt
from trunkline.core.well_formed import describe, plain_text

M = TypeVar("M")
T = TypeVar("T")
#: the intent, what hooks hear of its end, the cause, and whether the store has the intent
_End = tuple[IntentRow, Sent, int | None, bool]
#: number of outcomes that hooks are notified of concurrently
_NOTIFIERS = 16


class HookedDraft(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A draft after the hooks: with their media, quote and place, its mark, and what they decided."""

    draft: IntentRow
    mark: ContextMark | None
    result: HookResult


class HookRunner:
    """Runs the hooks of a gateway: on messages before they are stored, and on the outcomes of intents."""

    def __init__(self, context: Context, hooks: Hooks) -> None:
        self._ctx = context
        self._sending = hooks.in_order
        self._sent = hooks.sent
        self.has_hooks = bool(hooks)
        self._limits = Deadlines()
        self._policy = ContextPolicy(context)
        self._ends: Lanes[tuple[str, str, str, str], _End] = Lanes("hooks", workers=_NOTIFIERS, now=context.env.steady)

    def start(self, group: anyio.abc.TaskGroup) -> None:
        self._ends.start(group, self._notify)

    async def run_sending(
        self, draft: IntentRow, text: str, mark: ContextMark | None, work: Work | None, cause: int | None
    ) -> HookedDraft:
        """Run the hooks on a message. `work`: that of its turn, whose origin decides where else it may go."""
        home = draft.address
        passed = HookResult(text=text, media=draft.content.media, reply_to=draft.content.reply_to, to=home)
        # of the other places that hooks have sent it to
        marks: dict[Address, ContextMark | None] = {}
        for hook in self._sending:
            failures = len(passed.failures)
            try:
                answer = await self._call_in_time(hook.call, _shown(draft, passed, text))
                if answer is None:
                    continue
                if isinstance(answer, Change) and answer.to is not msgspec.UNSET and draft.extra.action is None:
                    to = self._place(hook, draft, answer.to)
                    if to != home and to not in marks:
                        # Clients may send anywhere.
                        client = draft.kind is IntentKind.SEND
                        marks[to] = None if client else await self._policy.check_redirect(draft, to, work, cause)
                    answer = msgspec.structs.replace(answer, to=to)
                after = rules.apply(passed, hook, answer, change_only=draft.extra.action is not None)
                if after.changed:
                    self._check_able(hook, draft, after)
                passed = after
            except Exception as error:  # noqa: BLE001 -- any error of a hook is recorded and decided on
                passed = rules.failed(passed, hook, error)
            for failure in passed.failures[failures:]:
                self._record_failure(draft, failure.hook, "sending", failure.reason, failure.detail, cause)
            storable = plain_text(passed.text) or ""
            if storable is not passed.text:
                passed = msgspec.structs.replace(passed, text=storable)
            if passed.cancelled is not None:
                break
        if not passed.changed:
            return HookedDraft(draft=draft, mark=mark, result=passed)
        assert passed.to is not None
        return HookedDraft(draft=self._changed(draft, passed), mark=marks.get(passed.to, mark), result=passed)

    async def _call_in_time(self, call: Callable[[M], Awaitable[T]], message: M) -> T:
        """Call a hook. Raises `TimeoutError`."""
        with self._limits.within(self._ctx.config.delivery.hook_timeout) as limit:
            return await call(message)
        assert limit.expired
        raise TimeoutError("no answer in time")

    def _record_failure(
        self, row: IntentRow, hook: str, phase: str, reason: Reason, detail: str, cause: int | None
    ) -> None:
        body = HookFailed(hook=hook, phase=phase, reason=reason, detail=detail)
        self._ctx.events.record(body, cause, **ids_of(row))

    def notify_of_unsent(self, rows: Iterable[IntentRow], reason: Reason, cause: int | None) -> None:
        """Notify hooks that messages which they saw were never stored, because what they report came too late."""
        for row in rows:
            progress = structs.replace(row.progress, state=IntentState.CANCELLED)
            self.notify_soon(structs.replace(row, progress=progress), reason, (), cause, stored=False)

    def notify_soon(
        self, row: IntentRow, reason: Reason, receipts: tuple[Receipt, ...], cause: int | None, *, stored: bool = True
    ) -> None:
        """Notify hooks of the end of an intent, in order per conversation."""
        if not row.hooks_pending:
            return
        sent = Sent(
            intent=row.id,
            kind=row.kind,
            agent=row.agent,
            address=row.address,
            state=row.progress.state,
            reason=reason,
            text=said(row.content.chunks),
            receipts=receipts,
        )
        self._ends.put(row.address.lane, (row, sent, cause, stored))

    async def _notify(self, _lane: tuple[str, str, str, str], end: _End) -> None:
        row, sent, cause, stored = end
        for hook in self._sent:
            try:
                await self._call_in_time(hook.call, sent)
            except Exception as error:  # noqa: BLE001 -- any error of a hook is recorded; the delivery is over
                self._record_failure(row, hook.name, "sent", Reason.HOOK_RAISED, describe(error), cause)

        def story(first: bool) -> None:
            if not first:
                return
            last = sent.receipts[-1].provider_id if sent.receipts else None
            body = HookSent(state=sent.state, reason=sent.reason, provider_id=last)
            self._ctx.events.record(body, cause, **ids_of(row))

        if stored:
            self._ctx.store.submit(MarkNotified(intent=row.id), story, urgent=False)
        else:
            story(first=True)

    def _place(self, hook: SendingHook, draft: IntentRow, to: Address | str) -> Address:
        """The place that a hook names: one that is served, for a message of an account. Raises `HookError`."""
        ctx, home = self._ctx, draft.address
        if isinstance(to, str):
            question = OutboundQuestion(agent=draft.agent, channel=home.channel, account=home.account, target=to)
            try:
                to = ctx.decisions.resolve_outbound(question, ctx.config).address
            except TargetError as error:
                raise HookError(f"{hook.name} sends it elsewhere: {error.facts}") from error
        elif wrong := check_address(to):
            raise HookError(f"{hook.name} sends it elsewhere: {wrong}")
        if (to.channel, to.account) not in ctx.adapters:
            raise HookError(f"{hook.name} sends it to {to}: no adapter serves {to.channel}:{to.account}")
        return to

    def _check_able(self, hook: SendingHook, draft: IntentRow, passed: HookResult) -> None:
        """Raise `HookError` if the adapter of the place cannot send the message as it is now."""
        if passed.cancelled is not None or not {"media", "to"}.intersection(passed.changed):
            return
        to = passed.to or draft.address
        adapter = self._ctx.adapters.get((to.channel, to.account))
        if adapter is None:
            return
        where = f"on {to.channel}:{to.account}"
        try:
            poll, payload, parts = draft.content.poll, draft.content.payload, draft.extra.parts
            check_able(adapter.capabilities, where, media=passed.media, poll=poll, payload=payload, parts=parts)
        except InvalidSend as error:
            raise HookError(f"{hook.name} changed it: {error.facts}") from error

    def _changed(self, draft: IntentRow, passed: HookResult) -> IntentRow:
        if "to" in passed.changed and passed.to is not None and passed.to != draft.address:
            draft = self._moved(draft, passed.to)
        content = msgspec.structs.replace(draft.content, media=passed.media, reply_to=passed.reply_to)
        return msgspec.structs.replace(draft, content=content)

    def _moved(self, draft: IntentRow, to: Address) -> IntentRow:
        """The draft for another place: with its session, identity and binding, without those of the first place."""
        ctx = self._ctx
        bound = ctx.bindings.at(to)
        mirror = draft.mirror_key
        if not draft.named_session:
            mirror = mirror_at(ctx, to, bound, kind=draft.kind, agent=draft.agent)
        return msgspec.structs.replace(
            draft, address=to, mirror_key=mirror, session=None, progress=ProgressPart(), bound=bound_part(bound)
        )


def _shown(draft: IntentRow, passed: HookResult, original: str) -> Outgoing:
    return Outgoing(
        intent=draft.id,
        kind=draft.kind,
        agent=draft.agent,
        address=passed.to or draft.address,
        text=passed.text,
        original=original,
        media=passed.media,
        reply_to=passed.reply_to,
        session_key=draft.mirror_key,
    )
