"""The path of an inbound message: duplicate? -> route -> session -> durable -> ack -> turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
from trunkline.core.runtime.admission_story import record_admitted
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.deadlines import Deadlines
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.sessions.entries import person_in_shared
from trunkline.core.store.commands import Admit
from trunkline.core.store.mailbox import FindInbound
from trunkline.core.untrusted import check_envelope, check_texts, storable
from trunkline.core.values import Envelope, InboundId, Peer, SessionId, WorkKind
from trunkline.core.well_formed import describe

_Lane = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class _Taken:
    """A message: as received, and in canonical form, or what is wrong with it."""

    adapter: ChannelAdapter
    came: Envelope
    envelope: Envelope | None
    #: id of the reply chain that was removed from the address
    chain: str | None = None
    problem: str = ""
    reason: Reason = Reason.BAD_ENVELOPE
    #: who waits for what becomes of it; none: it came from the adapter, which gets an acknowledgement
    waiting: _Waiting | None = None
    #: the id that it gets; none: a new one
    inbound: InboundId | None = None


_Waiting = asyncio.Future[InboundReceipt]
#: the answer of the store, and the seq of the admission or of the drop
_Stored = tuple[Admission, int]
#: characters of a key
_LONGEST_KEY = 500
#: number of concurrent admissions
_WORKERS = 64
_ENDED = "the gateway ended before the message was answered for: repeat it with the same message id"


class Intake:
    """Admits envelopes from adapters, in order per conversation, and starts their turns."""

    def __init__(
        self,
        context: Context,
        start_turn: Callable[[Work, SessionId, int], None],
    ) -> None:
        self._ctx = context
        self._start_turn = start_turn
        self._limits = Deadlines()
        #: those who wait for what became of a message; none: the gateway has ended
        self._waiting: set[_Waiting] | None = set()
        self.lanes: Lanes[_Lane, _Taken] = Lanes("intake", self._handle, workers=_WORKERS, now=context.env.steady)

    def take(self, adapter: ChannelAdapter, envelope: Envelope) -> None:
        """Queue a message of an adapter, which gets an acknowledgement once the message is durable or dropped."""
        self._put(adapter, envelope)

    async def receive(self, envelope: Envelope, inbound: InboundId | None = None) -> InboundReceipt:
        """See `core.gateway.Gateway.receive`."""
        place, adapters = envelope.address, self._ctx.adapters
        adapter = adapters.get((place.channel, place.account))
        if adapter is None:
            there = ", ".join(f"{channel}:{account}" for channel, account in sorted(adapters)) or "none"
            raise UnknownName(f"no account {place.channel}:{place.account}; there are: {there}")
        if self._waiting is None:
            raise StoreError(_ENDED)
        waiting: _Waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            self._put(adapter, envelope, waiting, inbound)
            return await waiting
        finally:
            self._waiting.discard(waiting)

    def stop(self) -> None:
        """Nothing is admitted any more: those who wait get an error."""
        waiting, self._waiting = self._waiting or set(), None
        for one in waiting:
            if not one.done():
                one.set_exception(StoreError(_ENDED))

    def _put(
        self,
        adapter: ChannelAdapter,
        envelope: Envelope,
        waiting: _Waiting | None = None,
        inbound: InboundId | None = None,
    ) -> None:
        """Queue a message; one that cannot be handled waits apart from all conversations."""
        stable = adapter.capabilities.stable_ids
        problem = check_envelope(envelope, adapter.channel, adapter.account, stable=stable)
        item = _Taken(adapter, envelope, None, problem=problem, waiting=waiting)
        if not problem:
            try:
                known = self._ctx.decisions.canonical(storable(envelope))
                chain = envelope.address.thread if known.address != envelope.address else None
                item = _Taken(adapter, envelope, known, chain, waiting=waiting, inbound=inbound)
                self.lanes.put(known.address.lane, item)
                return
            except Exception as error:  # noqa: BLE001 -- a decision may be user code; the next message may be sound
                detail = describe(error)
                item = _Taken(adapter, envelope, None, problem=detail, reason=Reason.UNDECIDABLE, waiting=waiting)
        self.lanes.put((adapter.channel, adapter.account, "", ""), item)

    async def _handle(self, _lane: _Lane, item: _Taken) -> None:
        receipt, inbound, seq = await self._judge(item)
        if item.waiting is not None:
            if not item.waiting.done():
                item.waiting.set_result(receipt)
        elif receipt.reason is not Reason.UNDECIDABLE:
            # Else a process with a sound decision can still answer it.
            await self._acknowledge(item.adapter, item.came, inbound, seq)

    async def _judge(self, item: _Taken) -> tuple[InboundReceipt, InboundId | None, int]:
        """Admit or drop a message; returns what became of it, its id, and the seq of its receipt."""
        ctx = self._ctx
        if item.envelope is None:
            seq = ctx.events.record(InboundDropped(reason=item.reason, detail=item.problem))
            return _dropped(item.reason, item.problem), None, seq
        inbound, seq = self._received(item)
        try:
            return await self._admit(item, item.envelope, inbound, seq), inbound, seq
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 -- a decision may be user code; nobody else may wait for it
            dropped = InboundDropped(reason=Reason.UNDECIDABLE, detail=describe(error))
            ctx.events.record(dropped, seq, inbound=inbound)
            return _dropped(Reason.UNDECIDABLE, describe(error)), inbound, seq

    async def _acknowledge(
        self, adapter: ChannelAdapter, came: Envelope, inbound: InboundId | None, cause: int
    ) -> None:
        """Acknowledge the original envelope, which the platform knows. If it comes again, it is dropped again."""
        detail = "no answer in time"
        try:
            with self._limits.within(self._ctx.config.delivery.request_timeout):
                await adapter.ack(came)
                return
        except Exception as error:  # noqa: BLE001 -- any error of an adapter is recorded
            detail = describe(error)
        self._ctx.events.record(InboundAckFailed(detail=detail), cause, inbound=inbound)

    def _received(self, item: _Taken) -> tuple[InboundId, int]:
        """Record a message; returns its id and the seq of its receipt."""
        ctx, envelope = self._ctx, item.envelope
        assert envelope is not None
        place = envelope.address
        inbound = item.inbound or InboundId(ctx.env.ids.new("inbound", *place.lane, envelope.message_id))
        received = ctx.events.record(
            InboundReceived(
                address=place,
                peer=envelope.peer,
                message_id=envelope.message_id,
                text=envelope.text,
                reply_chain=item.chain,
                pressed=envelope.pressed,
            ),
            envelope.cause,
            inbound=inbound,
        )
        shown = as_person(envelope.peer)
        if shown is not envelope.peer:
            escaped = SenderEscaped(peer=envelope.peer, shown=shown, reason=Reason.RESERVED_SENDER)
            ctx.events.record(escaped, received, inbound=inbound)
        return inbound, received

    async def _admit(self, item: _Taken, envelope: Envelope, inbound: InboundId, received: int) -> InboundReceipt:
        """Make a message durable, or drop it."""
        ctx, place = self._ctx, envelope.address
        reason = self._why_dropped(envelope)
        if reason is not None:
            ctx.events.record(InboundDropped(reason=reason), received, inbound=inbound)
            return _dropped(reason)
        ctx.activity.inbound(place.channel, place.account, ctx.env.now())
        work, routed = self._route(inbound, envelope, received)
        can = item.adapter.capabilities
        identities = (ctx.decisions.identify(envelope, can), *ctx.decisions.also_known_as(envelope, can))
        person = person_in_shared(work.agent, work.reply_to or place, envelope.peer, ctx.config)
        # A bound session does not belong to this place.
        tied = work.reply_to if work.binding is None else None
        session = ctx.new_session(work.session_key, work.agent, tied, person=None if work.binding else person)
        repeated = _repeated(envelope, stable=can.stable_ids)
        # Work in progress from now on: if the binding ends meanwhile, it waits for the answer.
        with ctx.bindings.hold(work.binding) as hold:
            hold.cause = received
            admission, _ = await self._store(work, identities, session, routed, repeated)
        if admission.session is not None:
            return _admitted(work, admission.session.id)
        return await self._repeats(admission, envelope, repeated, asked=item.waiting is not None)

    async def _repeats(
        self, admission: Admission, envelope: Envelope, reason: Reason, *, asked: bool
    ) -> InboundReceipt:
        """The receipt of a message that repeats another one. `asked`: somebody wants to know of the first one."""
        receipt = InboundReceipt(status=InboundStatus.DUPLICATE, inbound=admission.first, reason=reason)
        if not asked or admission.first is None:
            return receipt
        first = await self._ctx.store.read(FindInbound(inbound=admission.first))
        if first is None:
            return receipt
        work = first.work
        return msgspec.structs.replace(
            _admitted(work, first.session),
            status=InboundStatus.DUPLICATE,
            reason=reason,
            differs=(work.text, work.peer.id, work.place) != (envelope.text, envelope.peer.id, envelope.address),
        )

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

    def _route(self, inbound: InboundId, envelope: Envelope, cause: int) -> tuple[Work, int]:
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

    def _story(self, work: Work, admission: Admission, cause: int | None, repeated: Reason) -> _Stored:
        """Record an admission: admitted, or dropped as a duplicate."""
        events = self._ctx.events
        if admission.session is None:
            body = InboundDropped(reason=repeated, first=admission.first)
            return admission, events.record(body, cause, inbound=work.id)
        admitted = record_admitted(self._ctx, work, admission.session, cause)
        self._ctx.bindings.record_touch(admission.touched, "inbound", admitted)
        return admission, admitted

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
        admission, _ = await self._store(work, (identity,), session, cause, Reason.DUPLICATE_MESSAGE)
        if admission.session is not None:
            return _admitted(work, admission.session.id)
        return await self._woken_before(work, admission)

    async def _woken_before(self, work: Work, admission: Admission) -> InboundReceipt:
        """The receipt of a wake-up whose key came before."""
        reason = Reason.DUPLICATE_MESSAGE
        found = None if admission.first is None else await self._ctx.store.read(FindInbound(inbound=admission.first))
        if found is None:
            return InboundReceipt(status=InboundStatus.DUPLICATE, inbound=admission.first, reason=reason)
        first = found.work
        differs = (first.agent, first.text) != (work.agent, work.text)
        receipt = _admitted(first, found.session)
        return msgspec.structs.replace(receipt, status=InboundStatus.DUPLICATE, reason=reason, differs=differs)

    async def _store(
        self, work: Work, identities: Sequence[str], session: NewSession, cause: int | None, repeated: Reason
    ) -> _Stored:
        """Admit work and start its turn, unless one of its identities is known: then drop it for `repeated`."""
        identity, *also = identities
        return await self._ctx.store.write(
            Admit(work=work, identity=identity, also=tuple(also), session=session, now=self._ctx.env.now()),
            lambda admission: self._story(work, admission, cause, repeated),
            then=lambda stored: self._start(work, *stored),
        )

    def _start(self, work: Work, admission: Admission, cause: int) -> None:
        """Start the turn of admitted work, in the order of admission."""
        if admission.session is not None:
            if work.binding is not None:
                self._ctx.bindings.apply_touches()
            self._start_turn(work, admission.session.id, cause)


def _dropped(reason: Reason, detail: str = "") -> InboundReceipt:
    return InboundReceipt(status=InboundStatus.DROPPED, reason=reason, detail=detail)


def _admitted(work: Work, session: SessionId | None) -> InboundReceipt:
    return InboundReceipt(
        status=InboundStatus.ADMITTED,
        inbound=work.id,
        agent=work.agent,
        session_key=work.session_key,
        session_id=session,
        route=work.route,
    )


def _repeated(envelope: Envelope, *, stable: bool) -> Reason:
    if envelope.stands_for is not None:
        return Reason.DUPLICATE_PROXY
    return Reason.DUPLICATE_MESSAGE if stable else Reason.DUPLICATE_REPLAY
