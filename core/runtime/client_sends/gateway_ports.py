"""The gateway's own ports for sends of clients: its store, its adapters, its delivery loop for `sends`."""

from __future__ import annotations

import msgspec

from trunkline.core.bindings.records import SessionBindingRecord
from trunkline.core.channels.capabilities import check_poll, require
from trunkline.core.config import GatewayConfig
from trunkline.core.delivery.states import is_final
from trunkline.core.errors import IllegalTransition, InvalidSend, StoreError
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.reasons import Reason
from trunkline.core.runtime.client_sends.planner import SendResult, StoredSend
from trunkline.core.runtime.client_sends.target_resolution import DirectoryAnswer, TargetResolver
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.inbound.intent_drafts import identity_of
from trunkline.core.runtime.outbound.delivery_loop import Delivery
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.sends.api import SendPlan, may_try_again
from trunkline.core.store.commands import BeginSend
from trunkline.core.store.queries import FindIntentFate, FindSend
from trunkline.core.store.records import IntentFate, IntentRow, NewSession, SendAdmission, SendRow, send_intent
from trunkline.core.values import Address, Capabilities, Capability, IntentKind, IntentState, Poll, SessionEntry
from trunkline.core.well_formed import well_formed

#: endings after which people may see the message, or a part of it
_MAY_BE_SEEN = frozenset({IntentState.PARTIAL, IntentState.UNKNOWN, IntentState.MISPLACED})
#: session keys that are remembered to exist
_MOST_KNOWN = 100_000
#: keys of sends that are remembered to have been seen by the hooks
_MOST_SEEN = 10_000


class GatewaySendPorts:
    """`trunkline.core.runtime.client_sends.sends.SendPorts` of a running gateway."""

    def __init__(self, context: Context, delivery: Delivery, targets: TargetResolver, preparer: Preparer) -> None:
        self._ctx = context
        self._delivery = delivery
        self._targets = targets
        self._preparer = preparer
        #: keys of sessions that are known to exist: a key is not lost again
        self._known: dict[str, None] = {}
        #: keys of sends that the hooks of this process have seen, oldest first
        self._seen: dict[str, None] = {}

    @property
    def config(self) -> GatewayConfig:
        """Today's configuration."""
        return self._ctx.config

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that have an adapter."""
        return self._ctx.channels

    def session(self, text: str | None) -> tuple[str, str] | None:
        """Key and agent of a session that a client names."""
        return self._targets.session(text)

    def account(self, channel: str, named: str | None) -> str | None:
        """The account that sends."""
        return self._targets.account(channel, named, None)

    async def look_up(self, channel: str, account: str, text: str) -> DirectoryAnswer:
        """Ask the adapter's directory, where it has one."""
        return await self._targets.look_up(channel, account, text)

    async def fate(self, key: str) -> SendResult | None:
        """The fate of the latest try, waited for where it is open (from an earlier process, for one)."""
        send = await self._ctx.store.read(FindSend(key=key))
        return None if send is None else await self._wait(send)

    async def _wait(self, send: SendRow) -> SendResult:
        """The end of a send's intent."""
        waited = False
        while True:
            # Asked for before the state is read: an end in between is not missed.
            ended = self._delivery.on_end(send.intent)
            try:
                fate = await self._ctx.store.read(FindIntentFate(intent=send.intent))
                if fate is None or is_final(fate.state):
                    return _fate(send, fate, waited=waited)
                waited = True
                await ended.wait()
            finally:
                self._delivery.forget(send.intent, ended)

    async def store(self, plan: SendPlan, cause: int | None) -> StoredSend:
        """Have the send durable and queued, unless its key has sent before."""
        while True:
            draft = self._draft(plan)
            before = await self._seen_before(plan) if self._preparer.has_hooks else 1
            if isinstance(before, StoredSend):
                return before
            stored = await self._store(plan, draft, before, cause)
            if stored is not None:
                return stored

    async def _store(self, plan: SendPlan, draft: IntentRow, tries: int, cause: int | None) -> StoredSend | None:
        """Have a try durable and queued; none when hooks have seen it, and by now the next try is another one."""
        ctx, draft = self._ctx, msgspec.structs.replace(draft, id=send_intent(plan.key, tries))
        row = await self._preparer.prepare(draft, well_formed(plan.text), cause)
        send = SendRow(key=plan.key, intent=row.id, tries=tries, session_key=plan.session_key, channel=plan.channel)

        def story(begun: SendAdmission) -> tuple[SendAdmission, int]:
            if begun.intent is None:
                return begun, 0
            if begun.session is not None:
                ctx.record_session(begun.session, plan.agent, row.address, "outbound", cause)
            return begun, ctx.record_prepared(begun.intent, targeted=True, reason=Reason.CLIENT_SEND, cause=cause)

        def then(told: tuple[SendAdmission, int]) -> None:
            begun, prepared = told
            if begun.intent is not None:
                self._delivery.queue(begun.intent, prepared)

        now, again = ctx.env.now(), self._may_try_again
        # What a hook took back makes no session.
        entry = None if is_final(row.state) else self._entry(plan, row.address)
        begin = BeginSend(send=send, intent=row, entry=entry, again=again, now=now)
        try:
            begun, _ = await ctx.store.write(begin, story, then=then)
        except (StoreError, IllegalTransition):
            raise
        except Exception as error:
            if entry is None:
                raise
            # A session that cannot be made now is made with the mirror.
            facts = well_formed(f"{type(error).__name__}: {error}")
            ctx.events.record(StoreFailed(reason=Reason.STORE_ERROR, error=facts, retry_in=0.0), cause)
            begun, _ = await ctx.store.write(msgspec.structs.replace(begin, entry=None), story, then=then)
            entry = None
        if entry is not None:
            self._known[entry.key] = None
        fate = begun.fate
        if row.hooks_pending and not begun.new and fate is not None and again(fate.state):
            return None
        if begun.intent is not None and is_final(begun.intent.state):
            # A hook has taken it back: that was all.
            fate = IntentFate(state=begun.intent.state, reason=begun.intent.reason, receipts=())
        return _stored(plan, begun.send, fate, new=begun.new)

    async def _seen_before(self, plan: SendPlan) -> StoredSend | int:
        """The number of the try that hooks are to see; or the send that its key does not send again: they saw it.

        Only the latest keys are remembered here. The store would know all of them, and asking it costs each send. Where
        it turns out to have tried the key before, `_store` stores nothing, and the hooks see the try that counts.
        """
        if plan.key not in self._seen:
            if len(self._seen) >= _MOST_SEEN:
                del self._seen[next(iter(self._seen))]
            self._seen[plan.key] = None
            return 1
        send = await self._ctx.store.read(FindSend(key=plan.key))
        fate = None if send is None else await self._ctx.store.read(FindIntentFate(intent=send.intent))
        if send is None or fate is None:
            return 1
        return send.tries + 1 if self._may_try_again(fate.state) else _stored(plan, send, fate, new=False)

    async def ended(self, stored: StoredSend) -> SendResult:
        """How a send ends, waiting for that."""
        send = SendRow(
            key=stored.plan.key,
            intent=stored.intent,
            tries=stored.tries,
            session_key=stored.session_key,
            channel=stored.plan.channel,
        )
        return await self._wait(send)

    def bound(self, address: Address) -> SessionBindingRecord | None:
        """The binding by which a place belongs to a session now."""
        return self._ctx.bindings.at(address)

    def preview(self, plan: SendPlan) -> tuple[Address, tuple[str, ...]]:
        """Where a send would go, and its chunks."""
        row = self._preparer.preview(self._draft(plan), well_formed(plan.text))
        return row.address, row.chunks

    def _may_try_again(self, state: IntentState) -> bool:
        # Upstream keeps failures too, so that a key never sends again.
        return not self._ctx.config.profile.upstream and may_try_again(state)

    def _entry(self, plan: SendPlan, address: Address) -> NewSession | None:
        """The session of the target conversation, to be created where it is missing (seed 000)."""
        ctx, entry = self._ctx, plan.entry
        if plan.session_key is None or entry is None or plan.session_key in self._known:
            return None
        new = ctx.new_session(plan.session_key, plan.agent, address)

        def entry_of(_: Address) -> SessionEntry:
            return entry

        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        return msgspec.structs.replace(new, entry_of=entry_of)

    def _draft(self, plan: SendPlan) -> IntentRow:
        """The intent of the first try, without its text. Raises `InvalidSend` for what the adapter cannot do."""
        address, ctx = _address(plan), self._ctx
        poll = self._check_able(plan, address)
        bound = ctx.bindings.at(address)
        return IntentRow(
            id=send_intent(plan.key, 1),
            kind=IntentKind.SEND,
            address=address,
            chunks=(),
            agent=plan.agent,
            mirror_key=plan.session_key,
            named_session=plan.named_session,
            media=tuple(well_formed(one) for one in plan.media),
            reply_to=plan.reply_to,
            poll=poll,
            payload=plan.payload,
            best_effort=plan.best_effort,
            binding=None if bound is None else bound.binding_id,
            identity=identity_of(bound),
            created_at=ctx.env.now(),
        )

    def _check_able(self, plan: SendPlan, address: Address) -> Poll | None:
        """Refuse what the adapter cannot do; the poll as it is sent."""
        if not (plan.media or plan.poll or plan.payload):
            return None
        adapter = self._ctx.adapters.get((address.channel, address.account))
        can = Capabilities() if adapter is None else adapter.capabilities
        where = f"on {address.channel}:{address.account}"
        if plan.media:
            require(can, Capability.MEDIA, f"media {where}")
        if plan.payload is not None:
            require(can, Capability.PAYLOAD, f"a payload {where}")
        if plan.poll is None:
            return None
        require(can, Capability.POLL, f"a poll {where}")
        return check_poll(plan.poll, can)


def _address(plan: SendPlan) -> Address:
    """Where a plan goes. Upstream sends to targets that have no route; there is no place to give an adapter then."""
    if plan.route is None:
        raise InvalidSend(f"{plan.target!r} names no place on {plan.channel}", Reason.BAD_TARGET)
    return plan.route.address


def _stored(plan: SendPlan, send: SendRow, fate: IntentFate | None, *, new: bool) -> StoredSend:
    return StoredSend(
        plan=plan,
        intent=send.intent,
        session_key=send.session_key,
        tries=send.tries,
        new=new,
        fate=_fate(send, fate, waited=False) if fate is not None and is_final(fate.state) else None,
    )


def _fate(send: SendRow, fate: IntentFate | None, *, waited: bool) -> SendResult:
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


def _detail(fate: IntentFate) -> str:
    """How a send failed."""
    reason = "" if fate.reason is None else f": {fate.reason.sentence}"
    advice = "; nothing more is sent under this key" if fate.state in _MAY_BE_SEEN else ""
    return f"it ended as {fate.state.value}{reason}{advice}"
