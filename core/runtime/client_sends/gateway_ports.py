"""Connects client sends to the gateway's store, adapters and delivery loop."""

import msgspec
from cachetools import LRUCache

from trunkline.core.channels.capabilities import check_able
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import Decisions
from trunkline.core.errors import IllegalTransition, InvalidSend, StoreError
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.reasons import Reason
from trunkline.core.records import rows
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.runtime.client_sends.planner import SendResult, StoredSend
from trunkline.core.runtime.client_sends.target_resolution import DirectoryAnswer, TargetResolver
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.intent_drafts import bound_part
from trunkline.core.runtime.outbound.open_intents import OpenIntents
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.sends.api import SendPlan, SendRules, may_try_again
from trunkline.core.states.intent import is_final
from trunkline.core.store.commands import BeginSend
from trunkline.core.store.queries import FindIntentFate, FindSend
from trunkline.core.values import Address, Capabilities, IntentKind, IntentState, Poll, SessionEntry
from trunkline.core.well_formed import well_formed

#: final states in which the message, or a part of it, may be visible
_MAY_BE_SEEN = frozenset({IntentState.PARTIAL, IntentState.UNKNOWN, IntentState.MISPLACED})
#: maximum number of cached keys of existing sessions
_MOST_KNOWN = 100_000
#: maximum number of cached send keys that hooks have seen
_MOST_SEEN = 10_000


class GatewaySendPorts:
    """The `trunkline.core.runtime.client_sends.planner.SendPorts` of a running gateway."""

    def __init__(self, context: Context, intents: OpenIntents, targets: TargetResolver, preparer: Preparer) -> None:
        self._ctx = context
        self._intents = intents
        self._targets = targets
        self._preparer = preparer
        #: keys of sessions that exist
        self._known: LRUCache[str, None] = LRUCache(_MOST_KNOWN)
        #: keys of sends that the hooks of this process have seen, the oldest first
        self._seen: dict[str, None] = {}

    @property
    def config(self) -> GatewayConfig:
        return self._ctx.config

    @property
    def decisions(self) -> Decisions:
        return self._ctx.decisions

    @property
    def channels(self) -> tuple[str, ...]:
        return self._ctx.channels

    def session(self, text: str | None) -> tuple[str, str] | None:
        return self._targets.session(text)

    def account(self, channel: str, named: str | None) -> str | None:
        return self._targets.account(channel, named, None)

    async def look_up(self, channel: str, account: str, text: str) -> DirectoryAnswer:
        return await self._targets.look_up(channel, account, text)

    async def fate(self, key: str) -> SendResult | None:
        """The result of the latest try, waiting for an open one (perhaps of an earlier process)."""
        send = await self._ctx.store.read(FindSend(key=key))
        return None if send is None else await self._wait(send)

    async def _wait(self, send: rows.SendRow) -> SendResult:
        waited = False
        while True:
            # Registered before the state is read, so that an end in between is not missed.
            ended = self._intents.wait_for(send.intent)
            try:
                fate = await self._ctx.store.read(FindIntentFate(intent=send.intent))
                if fate is None or is_final(fate.state):
                    return _fate(send, fate, waited=waited)
                waited = True
                await ended.wait()
            finally:
                self._intents.forget(send.intent, ended)

    async def store(self, plan: SendPlan, cause: int | None) -> StoredSend:
        while True:
            draft = self._draft(plan)
            seen = self._preparer.has_hooks and self._note_seen(plan.message.key)
            before = await self._seen_before(plan) if seen else 1
            if isinstance(before, StoredSend):
                return before
            # The binding that the plan counts on does not end while the send waits for room or in a hook.
            with self._ctx.bindings.hold(draft.bound.binding) as hold:
                hold.cause = cause
                stored = await self._store(plan, draft, before, cause)
            if stored is not None:
                return stored

    async def _store(self, plan: SendPlan, draft: rows.IntentRow, tries: int, cause: int | None) -> StoredSend | None:
        """Store and queue a try; None if hooks have seen it but the next try has another number by now."""
        ctx = self._ctx
        if tries != 1:
            draft = msgspec.structs.replace(draft, id=rows.send_intent(plan.message.key, tries))
        row = await self._preparer.prepare(draft, well_formed(plan.message.text), cause)
        # A hook may send it elsewhere; that session is created with the mirror.
        moved = row.address is not draft.address
        channel = row.address.channel if moved else plan.channel
        if row.mirror_key != plan.session_key:
            plan = msgspec.structs.replace(plan, session_key=row.mirror_key)
        key, session = plan.message.key, plan.session_key
        send = rows.SendRow(key=key, intent=row.id, tries=tries, session_key=session, channel=channel)

        def story(begun: rows.SendAdmission) -> tuple[rows.SendAdmission, int]:
            if begun.intent is None:
                return begun, 0
            if begun.session is not None:
                ctx.record_session(begun.session, plan.agent, row.address, "outbound", cause)
            return begun, ctx.record_prepared(begun.intent, targeted=True, reason=Reason.CLIENT_SEND, cause=cause)

        def then(answer: tuple[rows.SendAdmission, int]) -> None:
            begun, prepared = answer
            if begun.intent is not None:
                self._intents.enqueue(begun.intent, prepared)

        now, again = ctx.env.now(), self._may_try_again
        # A message that a hook cancelled creates no session.
        entry = None if moved or is_final(row.progress.state) else self._entry(plan, row.address)
        begin = BeginSend(send=send, intent=row, entry=entry, again=again, now=now)
        try:
            begun, _ = await ctx.store.write(begin, story, then=then)
        except (StoreError, IllegalTransition):
            raise
        except Exception as error:
            if entry is None:
                raise
            # A session that cannot be created now is created with the mirror.
            facts = well_formed(f"{type(error).__name__}: {error}")
            ctx.events.record(StoreFailed(reason=Reason.STORE_ERROR, error=facts, retry_in=0.0), cause)
            begun, _ = await ctx.store.write(msgspec.structs.replace(begin, entry=None), story, then=then)
            entry = None
        if entry is not None:
            self._known[entry.key] = None
        fate = begun.fate
        if row.hooks_pending and not begun.new and fate is not None and again(fate.state):
            return None
        if begun.intent is not None and is_final(begun.intent.progress.state):
            # A hook cancelled it.
            ended = begun.intent.progress
            fate = rows.IntentFate(state=ended.state, reason=ended.reason, receipts=())
        return _stored(plan, begun.send, fate, new=begun.new)

    def _note_seen(self, key: str) -> bool:
        """Note that hooks see a key; returns whether they have seen it before.

        Only recent keys are cached here, because a query for each send is expensive. If the store turns out to know the
        key, `_store` stores nothing, and the hooks see the try that counts.
        """
        if key in self._seen:
            return True
        if len(self._seen) >= _MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        self._seen[key] = None
        return False

    async def _seen_before(self, plan: SendPlan) -> StoredSend | int:
        """The number of the try that hooks should see; or the stored send, if its key must not send again."""
        send = await self._ctx.store.read(FindSend(key=plan.message.key))
        fate = None if send is None else await self._ctx.store.read(FindIntentFate(intent=send.intent))
        if send is None or fate is None:
            return 1
        return send.tries + 1 if self._may_try_again(fate.state) else _stored(plan, send, fate, new=False)

    async def wait_for_end(self, stored: StoredSend) -> SendResult:
        return await self._wait(stored.send)

    def bound(self, address: Address) -> SessionBindingRecord | None:
        return self._ctx.bindings.at(address)

    def forget_sessions(self) -> None:
        self._known.clear()

    def preview(self, plan: SendPlan) -> tuple[Address, tuple[str, ...]]:
        row = self._preparer.preview(self._draft(plan), well_formed(plan.message.text))
        return row.address, row.content.chunks

    def _may_try_again(self, state: IntentState) -> bool:
        return not self._ctx.config.rules[SendRules].keeps_failures and may_try_again(state)

    def _entry(self, plan: SendPlan, address: Address) -> rows.NewSession | None:
        ctx, entry = self._ctx, plan.entry
        if plan.session_key is None or entry is None or plan.session_key in self._known:
            return None

        def entry_of(_: Address) -> SessionEntry:
            return entry

        new = ctx.new_session(plan.session_key, plan.agent, address)
        return msgspec.structs.replace(new, entry_of=entry_of)

    def _draft(self, plan: SendPlan) -> rows.IntentRow:
        """The draft of the first try. Raises `InvalidSend` if the adapter lacks a capability."""
        address, ctx, asked = _address(plan), self._ctx, plan.message
        poll = self._check_able(plan, address)
        return rows.IntentRow(
            id=rows.send_intent(asked.key, 1),
            kind=IntentKind.SEND,
            address=address,
            agent=plan.agent,
            mirror_key=plan.session_key,
            named_session=plan.named_session,
            best_effort=asked.best_effort,
            created_at=ctx.env.now(),
            content=rows.ContentPart(
                media=tuple([well_formed(path) for path in asked.media]) if asked.media else (),
                reply_to=plan.reply_to,
                poll=poll,
                payload=asked.payload,
            ),
            bound=bound_part(ctx.bindings.at(address)),
            extra=rows.ExtraPart(parts=asked.parts),
        )

    def _check_able(self, plan: SendPlan, address: Address) -> Poll | None:
        """Check the adapter's capabilities; returns the poll to send."""
        asked = plan.message
        if not (asked.media or asked.poll or asked.payload or asked.parts):
            return None
        adapter = self._ctx.adapters.get((address.channel, address.account))
        can = Capabilities() if adapter is None else adapter.capabilities
        where = f"on {address.channel}:{address.account}"
        return check_able(can, where, media=asked.media, poll=asked.poll, payload=asked.payload, parts=asked.parts)


def _address(plan: SendPlan) -> Address:
    """The place of a plan. Raises `InvalidSend` for a plan without a route."""
    if plan.route is None:
        raise InvalidSend(f"{plan.target!r} names no place on {plan.channel}", Reason.BAD_TARGET)
    return plan.route.address


def _stored(plan: SendPlan, send: rows.SendRow, fate: rows.IntentFate | None, *, new: bool) -> StoredSend:
    ended = _fate(send, fate, waited=False) if fate is not None and is_final(fate.state) else None
    return StoredSend(plan=plan, send=send, new=new, fate=ended)


def _fate(send: rows.SendRow, fate: rows.IntentFate | None, *, waited: bool) -> SendResult:
    delivered = fate is not None and fate.state is IntentState.DELIVERED
    return SendResult(
        tries=send.tries,
        receipt=fate.receipts[-1] if fate is not None and delivered and fate.receipts else None,
        channel=send.channel,
        session_key=send.session_key,
        detail="it was never stored" if fate is None else _detail(fate),
        final=fate is not None and fate.state in _MAY_BE_SEEN,
        waited=waited,
    )


def _detail(fate: rows.IntentFate) -> str:
    reason = "" if fate.reason is None else f": {fate.reason.sentence}"
    advice = "; nothing more is sent under this key" if fate.state in _MAY_BE_SEEN else ""
    return f"it ended as {fate.state.value}{reason}{advice}"
