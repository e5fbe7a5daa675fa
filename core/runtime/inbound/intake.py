"""The path of an inbound message: duplicate? -> route -> session -> durable -> ack -> turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio.abc
import msgspec

from trunkline.core.channels import ChannelAdapter
from trunkline.core.chat_commands.parse import is_command
from trunkline.core.decisions import ReplyPlan, route_decided
from trunkline.core.errors import InvalidCall, StoreError, UnknownName
from trunkline.core.events.gateway import (
    InboundAckFailed,
    InboundDropped,
    InboundReceived,
    SenderEscaped,
)
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.records.inbound import InboundReceipt, InboundStatus, RouteNote
from trunkline.core.records.reserved_sender import as_person
from trunkline.core.records.rows import Admission, NewSession, Work
from trunkline.core.routing.key_text import config_key
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.deadlines import Deadlines
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.runtime.stories import record_admitted
from trunkline.core.sessions.entries import person_in_shared
from trunkline.core.store.commands import Admit
from trunkline.core.store.mailbox import FindInbound
from trunkline.core.untrusted import check_envelope, check_texts, storable
from trunkline.core.values import Envelope, InboundId, Peer, SessionId, WorkKind
from trunkline.core.well_formed import describe

_Lane = tuple[str, str, str, str]
_Waiter = asyncio.Future[InboundReceipt]
#: characters of a key
_LONGEST_KEY = 500
#: number of concurrent admissions
_WORKERS = 64
_ENDED = "the gateway ended before the message was answered for: repeat it with the same message id"


class _Problem(msgspec.Struct, frozen=True):
    """Why a message cannot be handled at all."""

    reason: Reason
    detail: str


class _Message(msgspec.Struct, frozen=True):
    """A message in canonical form."""

    envelope: Envelope
    lane: _Lane
    #: id of the reply chain that was removed from the address
    chain: str | None = None


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A message that an adapter or a client handed over, in the lane of its conversation."""

    adapter: ChannelAdapter
    #: unchanged, as the platform knows it
    received: Envelope
    found: _Message | _Problem
    #: future of the `receive` caller. None for a message of an adapter, which is acknowledged instead
    waiter: _Waiter | None = None
    #: the id that it gets; none: a new one
    inbound: InboundId | None = None


class Intake:
    """Admits envelopes from adapters, in order per conversation, and starts their turns."""

    def __init__(self, context: Context, start_turn: Callable[[Work, SessionId, int], None]) -> None:
        self._ctx = context
        self._start_turn = start_turn
        self._limits = Deadlines()
        #: futures of the running `receive` calls; none: the gateway has ended
        self._waiters: set[_Waiter] | None = set()
        self._lanes: Lanes[_Lane, _Arrival] = Lanes("intake", workers=_WORKERS, now=context.env.steady)

    def start(self, group: anyio.abc.TaskGroup) -> None:
        """Start to admit messages."""
        self._lanes.start(group, self._handle)

    def stop(self) -> None:
        """Admit nothing any more: running `receive` calls get an error."""
        waiters, self._waiters = self._waiters or set(), None
        for waiter in waiters:
            if not waiter.done():
                waiter.set_exception(StoreError(_ENDED))

    async def receive(self, envelope: Envelope, inbound: InboundId | None = None) -> InboundReceipt:
        """See `core.gateway.Gateway.receive`."""
        place, adapters = envelope.address, self._ctx.adapters
        adapter = adapters.get((place.channel, place.account))
        if adapter is None:
            there = ", ".join(f"{channel}:{account}" for channel, account in sorted(adapters)) or "none"
            raise UnknownName(f"no account {place.channel}:{place.account}; there are: {there}")
        if self._waiters is None:
            raise StoreError(_ENDED)
        waiter: _Waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            self.take_envelope(adapter, envelope, waiter, inbound)
            return await waiter
        finally:
            self._waiters.discard(waiter)

    def take_envelope(
        self,
        adapter: ChannelAdapter,
        envelope: Envelope,
        waiter: _Waiter | None = None,
        inbound: InboundId | None = None,
    ) -> None:
        """Queue a message; one that cannot be handled waits apart from all conversations.

        A message of an adapter, which has no `waiter`, is acknowledged once it is durable or dropped.
        """
        found = self._read(adapter, envelope)
        problem = isinstance(found, _Problem)
        lane = (adapter.channel, adapter.account, "", "") if problem else found.lane
        self._lanes.put(lane, _Arrival(adapter, envelope, found, waiter, None if problem else inbound))

    def _read(self, adapter: ChannelAdapter, envelope: Envelope) -> _Message | _Problem:
        """The message in the form in which it is handled, or why it cannot be."""
        wrong = check_envelope(envelope, adapter.channel, adapter.account, stable=adapter.capabilities.stable_ids)
        if wrong:
            return _Problem(Reason.BAD_ENVELOPE, wrong)
        try:
            known = self._ctx.decisions.canonical(storable(envelope))
            chain = envelope.address.thread if known.address != envelope.address else None
            return _Message(known, known.address.lane, chain)
        except Exception as error:  # noqa: BLE001 -- a decision may be user code; the next message may be sound
            return _Problem(Reason.UNDECIDABLE, describe(error))

    # ------------------------------------------------------------ the message at the head of its conversation

    async def _handle(self, _lane: _Lane, arrival: _Arrival) -> None:
        """Handle a message: record it, admit or drop it, and answer for it once that is durable."""
        inbound, seq, found = None, None, arrival.found
        if isinstance(found, _Problem):
            seq = self._record_drop(found.reason, found.detail)
            receipt = _dropped(found.reason, found.detail)
        else:
            inbound, seq = self._record_inbound(found, arrival.inbound)
            try:
                receipt = await self._admit(arrival, found.envelope, inbound, seq)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 -- a decision may be user code; it blocks no other message
                self._record_drop(Reason.UNDECIDABLE, describe(error), seq, inbound)
                receipt = _dropped(Reason.UNDECIDABLE, describe(error))
        if arrival.waiter is not None:
            if not arrival.waiter.done():
                arrival.waiter.set_result(receipt)
        elif receipt.reason is not Reason.UNDECIDABLE:
            # An undecidable one comes again, perhaps to a process with a sound decision.
            await self._acknowledge(arrival.adapter, arrival.received, inbound, seq)

    async def _acknowledge(
        self, adapter: ChannelAdapter, received: Envelope, inbound: InboundId | None, cause: int
    ) -> None:
        """Acknowledge the original envelope, which the platform knows. If it comes again, it is dropped again."""
        detail = "no answer in time"
        try:
            with self._limits.within(self._ctx.config.delivery.request_timeout):
                await adapter.ack(received)
                return
        except Exception as error:  # noqa: BLE001 -- any error of an adapter is recorded
            detail = describe(error)
        self._ctx.events.record(InboundAckFailed(detail=detail), cause, inbound=inbound)

    def _record_drop(
        self, reason: Reason, detail: str = "", cause: int | None = None, inbound: InboundId | None = None
    ) -> int:
        return self._ctx.events.record(InboundDropped(reason=reason, detail=detail), cause, inbound=inbound)

    def _record_inbound(self, message: _Message, wanted: InboundId | None) -> tuple[InboundId, int]:
        """Give a message its id, and record it; returns the id and the seq."""
        ctx, envelope, place = self._ctx, message.envelope, message.envelope.address
        inbound = wanted or InboundId(ctx.env.ids.new("inbound", *place.lane, envelope.message_id))
        body = InboundReceived(
            address=place,
            peer=envelope.peer,
            message_id=envelope.message_id,
            text=envelope.text,
            reply_chain=message.chain,
            pressed=envelope.pressed,
        )
        received = ctx.events.record(body, envelope.cause, inbound=inbound)
        shown = as_person(envelope.peer)
        if shown is not envelope.peer:
            escaped = SenderEscaped(peer=envelope.peer, shown=shown, reason=Reason.RESERVED_SENDER)
            ctx.events.record(escaped, received, inbound=inbound)
        return inbound, received

    async def _admit(self, arrival: _Arrival, envelope: Envelope, inbound: InboundId, received: int) -> InboundReceipt:
        """Make a message durable, or drop it."""
        ctx, place, can = self._ctx, envelope.address, arrival.adapter.capabilities
        reason = self._why_dropped(envelope)
        if reason is not None:
            self._record_drop(reason, cause=received, inbound=inbound)
            return _dropped(reason)
        ctx.activity.note_inbound(place.channel, place.account, ctx.env.now())
        work, routed = self._decide_and_record_route(inbound, envelope, received)
        identities = (ctx.decisions.identify(envelope, can), *ctx.decisions.also_known_as(envelope, can))
        person = person_in_shared(work.agent, work.reply_to or place, envelope.peer, ctx.config)
        # A bound session does not belong to this place.
        tied = work.reply_to if work.binding is None else None
        session = ctx.new_session(work.session_key, work.agent, tied, person=None if work.binding else person)
        repeats = _repeat_reason(envelope, stable=can.stable_ids)
        # Work in progress from now on: if the binding ends before the answer, it waits for it.
        with ctx.bindings.hold(work.binding) as hold:
            hold.cause = received
            admission = await self._store(work, identities, session, routed, repeats)
        if admission.session is not None:
            return _admitted(work, admission.session.id)
        if arrival.waiter is None:
            return _repeated(admission.first, repeats)
        said = (envelope.text, envelope.peer.id, envelope.address)
        return await self._receipt_of_first(
            admission.first, repeats, lambda first: (first.text, first.peer.id, first.place) == said
        )

    async def _receipt_of_first(
        self, first: InboundId | None, reason: Reason, is_same: Callable[[Work], bool]
    ) -> InboundReceipt:
        """The receipt of a message or wake-up that repeats another one, which it is about."""
        found = None if first is None else await self._ctx.store.read(FindInbound(inbound=first))
        if found is None:
            return _repeated(first, reason)
        receipt, differs = _admitted(found.work, found.session), not is_same(found.work)
        return msgspec.structs.replace(receipt, status=InboundStatus.DUPLICATE, reason=reason, differs=differs)

    def _why_dropped(self, envelope: Envelope) -> Reason | None:
        """Why a message is dropped before admission; None: it is not."""
        if not envelope.text.strip():
            return Reason.EMPTY_MESSAGE
        if self._ctx.bindings.is_echo(envelope):
            return Reason.OWN_ECHO
        if self._ctx.bindings.owner_of(envelope.address, self._ctx.adapters) is not None:
            return Reason.BOUND_TO_OTHER_ACCOUNT
        # A message that a proxy posts for a person counts as the person's.
        bot = envelope.bot and envelope.stands_for is None
        allowed = self._ctx.config.channel(envelope.address.channel).bots == "allow"
        return Reason.BOT_IGNORED if bot and not allowed else None

    def _decide_and_record_route(self, inbound: InboundId, envelope: Envelope, cause: int) -> tuple[Work, int]:
        """Decide and record agent, session and return address."""
        ctx = self._ctx
        bound = ctx.bindings.at(envelope.address)
        route = ctx.decisions.resolve_route(envelope, ctx.config)
        route = ctx.decisions.route_bound(route, envelope, bound, ctx.config)
        if bound is None:
            reply = ctx.decisions.plan_reply(envelope, ctx.config)
        else:
            reply = ReplyPlan(address=envelope.address, reason=Reason.REPLY_TO_ORIGIN)
        decided = route_decided(route, reply, ctx.config)
        control = ctx.config.control.enabled and is_command(
            envelope.text, {name.lower() for name in ctx.config.control.names}
        )
        work = Work(
            id=inbound,
            kind=WorkKind.CONTROL if control else WorkKind.MESSAGE,
            agent=decided.agent,
            session_key=decided.session_key,
            peer=envelope.peer,
            text=envelope.text,
            message_id=envelope.subject,
            place=envelope.address,
            reply_to=reply.address,
            reply_reason=reply.reason,
            open_on=reply.open_on,
            binding=None if bound is None else bound.binding_id,
            route=RouteNote(
                matched_by=decided.matched_by, rule=decided.binding, scope=decided.scope, revision=decided.revision
            ),
        )
        return work, ctx.events.record(decided, cause, inbound=inbound, binding=work.binding)

    # ------------------------------------------------------------ wake-ups

    async def wake(self, agent: str, text: str, cause: int | None = None, *, key: str | None = None) -> InboundReceipt:
        """Start a turn without an inbound message, in the agent's main session; its answer has no destination.

        `key`: the same key starts one turn, however often it comes; the receipt is then about the first time. Raises
        `InvalidCall` for what cannot be stored.
        """
        ctx = self._ctx
        wrong = check_texts((("agent", agent), ("text", text), ("key", key or "")))
        if wrong or not agent or text is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidCall(f"wake: {wrong or 'agent or text is missing'}")
        if key is not None and not 0 < len(key.strip()) <= len(key) <= _LONGEST_KEY:
            raise InvalidCall(f"wake: the key has {len(key)} characters: give 1 to {_LONGEST_KEY}, or none")
        inbound = InboundId(ctx.env.ids.new("wake", agent, text))
        work = Work(
            id=inbound,
            kind=WorkKind.WAKE,
            agent=agent,
            session_key=config_key(SessionKey(agent=agent), ctx.config),
            peer=Peer(id="schedule", name="schedule"),
            text=text,
        )
        session = ctx.new_session(work.session_key, agent, None)
        identity = f"wake/{inbound}" if key is None else f"wake/key/{key}"
        admission = await self._store(work, (identity,), session, cause, Reason.DUPLICATE_MESSAGE)
        if admission.session is not None:
            return _admitted(work, admission.session.id)
        return await self._receipt_of_first(
            admission.first,
            Reason.DUPLICATE_MESSAGE,
            lambda first: (first.agent, first.text) == (work.agent, work.text),
        )

    async def _store(
        self, work: Work, identities: Sequence[str], session: NewSession, cause: int | None, repeats: Reason
    ) -> Admission:
        """Store work and start its turn, unless one of its identities is known: then drop it for `repeats`."""
        ctx, (identity, *also) = self._ctx, identities

        def story(admission: Admission) -> tuple[Admission, int]:
            if admission.session is None:
                body = InboundDropped(reason=repeats, first=admission.first)
                return admission, ctx.events.record(body, cause, inbound=work.id)
            admitted = record_admitted(ctx, work, admission.session, cause)
            ctx.bindings.record_touch(admission.touched, "inbound", admitted)
            return admission, admitted

        def then(stored: tuple[Admission, int]) -> None:
            admission, admitted = stored
            if admission.session is not None:
                if work.binding is not None:
                    ctx.bindings.apply_touches()
                self._start_turn(work, admission.session.id, admitted)

        admit = Admit(work=work, identity=identity, also=tuple(also), session=session, now=ctx.env.now())
        return (await ctx.store.write(admit, story, then=then))[0]


def _dropped(reason: Reason, detail: str = "") -> InboundReceipt:
    return InboundReceipt(status=InboundStatus.DROPPED, reason=reason, detail=detail)


def _repeated(first: InboundId | None, reason: Reason) -> InboundReceipt:
    return InboundReceipt(status=InboundStatus.DUPLICATE, inbound=first, reason=reason)


def _admitted(work: Work, session: SessionId | None) -> InboundReceipt:
    return InboundReceipt(
        status=InboundStatus.ADMITTED,
        inbound=work.id,
        agent=work.agent,
        session_key=work.session_key,
        session_id=session,
        route=work.route,
    )


def _repeat_reason(envelope: Envelope, *, stable: bool) -> Reason:
    if envelope.stands_for is not None:
        return Reason.DUPLICATE_PROXY
    return Reason.DUPLICATE_MESSAGE if stable else Reason.DUPLICATE_REPLAY
