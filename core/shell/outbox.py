"""The gateway's own ports for sends of clients: its store, its adapters, its delivery loop (see `core.shell.sends`)."""

from __future__ import annotations

import msgspec

from core.config import GatewayConfig
from core.delivery.prepare import chunk_text
from core.delivery.states import is_final
from core.errors import InvalidSend
from core.reasons import Reason
from core.send import SendPlan, send_intent
from core.shell.context import Context
from core.shell.delivery import Delivery
from core.shell.sends import Fate
from core.shell.targets import Looked, Targets
from core.store.rows import IntentFate, IntentRow, SendRow, SessionRow
from core.text import well_formed
from core.values import Address, IntentKind, IntentState, SessionEntry

#: endings after which people may see the message, or a part of it
_MAY_BE_SEEN = frozenset({IntentState.PARTIAL, IntentState.UNKNOWN, IntentState.MISPLACED})


class Outbox:
    """`core.shell.sends.SendPorts` of a running gateway."""

    def __init__(self, context: Context, delivery: Delivery, targets: Targets) -> None:
        self._ctx = context
        self._delivery = delivery
        self._targets = targets

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

    async def look_up(self, channel: str, account: str, text: str) -> Looked:
        """Ask the adapter's directory, where it has one."""
        return await self._targets.look_up(channel, account, text)

    async def fate(self, key: str) -> Fate | None:
        """The fate of the latest try, waited for where it is open (from an earlier process, for one)."""
        send = await self._ctx.store.find_send(key)
        return None if send is None else await self._wait(send)

    async def _wait(self, send: SendRow) -> Fate:
        """The end of a send's intent."""
        waited = False
        while True:
            # Asked for before the state is read: an end in between is not missed.
            ended = self._delivery.on_end(send.intent)
            try:
                fate = await self._ctx.store.intent_fate(send.intent)
                if fate is None or is_final(fate.state):
                    return _fate(send, fate, waited=waited)
                waited = True
                await ended.wait()
            finally:
                self._delivery.forget(send.intent, ended)

    async def ensure_entry(self, plan: SendPlan, cause: int | None) -> None:
        """The session of the target conversation, created and told when there is none."""
        ctx, address, entry = self._ctx, _address(plan), plan.entry
        if plan.session_key is None or entry is None:
            return
        new = ctx.new_session(plan.session_key, plan.agent, address)

        def entry_of(_: Address) -> SessionEntry:
            return entry

        new = msgspec.structs.replace(new, entry_of=entry_of)

        def story(row: SessionRow) -> None:
            ctx.tell_session(row, plan.agent, address, "outbound", cause)

        await ctx.store.ensure_session(new, ctx.env.now(), story)

    async def deliver(self, plan: SendPlan, tries: int, cause: int | None) -> Fate:
        """Store the send with its intent in one, queue it, and wait for its end."""
        ctx, row = self._ctx, self._intent(plan, tries)
        send = SendRow(key=plan.key, intent=row.id, tries=tries, session_key=plan.session_key, channel=plan.channel)

        def story(new: bool) -> int | None:
            return ctx.tell_prepared(row, targeted=True, reason=Reason.CLIENT_SEND, cause=cause) if new else None

        def then(prepared: int | None) -> None:
            if prepared is not None:
                self._delivery.queue(row, prepared)

        prepared = await ctx.store.begin_send(send, row, ctx.env.now(), story, then=then)
        if prepared is not None:
            return await self._wait(send)
        # A call that was cancelled had stored this try; whatever it asked for counts.
        stored = await ctx.store.find_send(plan.key)
        return msgspec.structs.replace(await self._wait(stored or send), repeat=True)

    def _intent(self, plan: SendPlan, tries: int) -> IntentRow:
        address, ctx = _address(plan), self._ctx
        chunks = chunk_text(well_formed(plan.text), ctx.text_limit(address))
        return IntentRow(
            id=send_intent(plan.key, tries),
            kind=IntentKind.SEND,
            address=address,
            # Media without a text are one chunk all the same.
            chunks=chunks or ("",),
            agent=plan.agent,
            mirror_key=plan.session_key,
            named_session=plan.named_session,
            media=tuple(well_formed(one) for one in plan.media),
            reply_to=plan.reply_to,
            created_at=ctx.env.now(),
        )


def _address(plan: SendPlan) -> Address:
    """Where a plan goes. Upstream sends to targets that have no route; there is no place to give an adapter then."""
    if plan.route is None:
        raise InvalidSend(f"{plan.target!r} names no place on {plan.channel}", Reason.BAD_TARGET)
    return plan.route.address


def _fate(send: SendRow, fate: IntentFate | None, *, waited: bool) -> Fate:
    delivered = fate is not None and fate.state is IntentState.DELIVERED
    return Fate(
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
