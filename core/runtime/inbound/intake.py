"""The path of an inbound message: duplicate? -> route -> session -> durable -> ack -> turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio

from trunkline.core.channels import ChannelAdapter
from trunkline.core.chat_commands.parse import is_command
from trunkline.core.decisions import ReplyPlan, route_decided
from trunkline.core.errors import InvalidCall, PlatformError, StoreError
from trunkline.core.events.gateway import (
    AdapterEnded,
    AdapterFailed,
    InboundAckFailed,
    InboundAdmitted,
    InboundDropped,
    InboundReceived,
    SenderEscaped,
    SessionShared,
    TranscriptAppended,
)
from trunkline.core.hands.reserved_sender import as_person
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.routing.key_text import config_key
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.deadlines import Deadlines
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.sessions.session_map import person_in_shared
from trunkline.core.store.commands import Admit
from trunkline.core.store.records import Admission, NewSession, SessionRow, Work
from trunkline.core.untrusted import check_envelope, check_texts, storable
from trunkline.core.values import Envelope, InboundId, Peer, SessionId, WorkKind
from trunkline.core.well_formed import describe

_Lane = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class _Taken:
    """A message from an adapter: as received, and in canonical form, or what is wrong with it."""

    adapter: ChannelAdapter
    came: Envelope
    envelope: Envelope | None
    #: id of the reply chain that was removed from the address
    chain: str | None = None
    problem: str = ""
    reason: Reason = Reason.BAD_ENVELOPE


#: session of admitted work, and the seq of its admission
Admitted = tuple[SessionId, int]
#: seconds until a failed connection is reopened; doubles up to the last
_RECONNECT_FIRST = 1.0
_RECONNECT_LAST = 60.0
#: number of concurrent admissions
_WORKERS = 64


class Intake:
    """Admits envelopes from adapters, in order per conversation, and starts their turns."""

    def __init__(
        self,
        context: Context,
        start_turn: Callable[[Work, SessionId, int], None],
        broken: Callable[[str, str], None],
    ) -> None:
        self._ctx = context
        self._start_turn = start_turn
        self._broken = broken
        self._limits = Deadlines()
        #: accounts that have neither connected nor failed to since the start; see `connected`
        self._untried: set[tuple[str, str]] = set(context.adapters)
        #: set once every adapter of the start has tried to connect
        self.connected = anyio.Event()
        if not self._untried:
            self.connected.set()
        self.lanes: Lanes[_Lane, _Taken] = Lanes("intake", self._handle, workers=_WORKERS, now=context.env.steady)

    async def listen(self, adapter: ChannelAdapter) -> None:
        """Receive from an adapter, reconnecting after failures, until its stream ends."""
        wait = _RECONNECT_FIRST
        while True:
            # A process that was frozen takes no connection from the one that has taken over.
            await self._ctx.lease.assure()
            try:
                with UserCode():
                    async with adapter.connect() as envelopes:
                        self._tried(adapter)
                        async for envelope in envelopes:
                            wait = _RECONNECT_FIRST
                            self._take(adapter, envelope)
                self._ctx.events.record(AdapterEnded(channel=adapter.channel, account=adapter.account))
                return
            except Exception as error:  # noqa: BLE001 -- one broken adapter must not stop the others
                self._tried(adapter)
                self._broken(adapter.channel, adapter.account)
                self._ctx.events.record(
                    AdapterFailed(
                        channel=adapter.channel,
                        account=adapter.account,
                        reason=error.reason if isinstance(error, PlatformError) else Reason.PLATFORM_ERROR,
                        detail=describe(error),
                        retry_in=wait,
                    )
                )
            await anyio.sleep(wait)
            wait = min(wait * 2, _RECONNECT_LAST)

    def _tried(self, adapter: ChannelAdapter) -> None:
        self._untried.discard((adapter.channel, adapter.account))
        if not self._untried:
            self.connected.set()

    def _take(self, adapter: ChannelAdapter, envelope: Envelope) -> None:
        """Queue a message of an adapter; one that cannot be handled waits apart from all conversations."""
        stable = adapter.capabilities.stable_ids
        problem = check_envelope(envelope, adapter.channel, adapter.account, stable=stable)
        item = _Taken(adapter, envelope, None, problem=problem)
        if not problem:
            try:
                known = self._ctx.decisions.canonical(storable(envelope))
                chain = envelope.address.thread if known.address != envelope.address else None
                self.lanes.put(known.address.lane, _Taken(adapter, envelope, known, chain))
                return
            except Exception as error:  # noqa: BLE001 -- a decision may be user code; the next message may be sound
                item = _Taken(adapter, envelope, None, problem=describe(error), reason=Reason.UNDECIDABLE)
        self.lanes.put((adapter.channel, adapter.account, "", ""), item)

    async def _handle(self, _lane: _Lane, item: _Taken) -> None:
        ctx, inbound = self._ctx, None
        if item.envelope is None:
            seq = ctx.events.record(InboundDropped(reason=item.reason, detail=item.problem))
            if item.reason is Reason.UNDECIDABLE:
                return
        else:
            inbound, seq = self._received(item.envelope, item.chain)
            try:
                await self._admit(item.adapter, item.envelope, inbound, seq)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 -- a decision may be user code; nobody else may wait for it
                dropped = InboundDropped(reason=Reason.UNDECIDABLE, detail=describe(error))
                ctx.events.record(dropped, seq, inbound=inbound)
                # Not acknowledged: a process with a sound decision can still answer it.
                return
        await self._acknowledge(item.adapter, item.came, inbound, seq)

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

    def _received(self, envelope: Envelope, chain: str | None) -> tuple[InboundId, int]:
        """Record a message; returns its id and the seq of its receipt."""
        ctx, place = self._ctx, envelope.address
        inbound = InboundId(ctx.env.ids.new("inbound", *place.lane, envelope.message_id))
        received = ctx.events.record(
            InboundReceived(
                address=place,
                peer=envelope.peer,
                message_id=envelope.message_id,
                text=envelope.text,
                reply_chain=chain,
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

    async def _admit(self, adapter: ChannelAdapter, envelope: Envelope, inbound: InboundId, received: int) -> None:
        """Make a message durable, or drop it."""
        ctx, place = self._ctx, envelope.address
        dropped = self._dropped(envelope)
        if dropped is not None:
            ctx.events.record(InboundDropped(reason=dropped), received, inbound=inbound)
            return
        ctx.activity.inbound(place.channel, place.account, ctx.env.now())
        work, routed = self._route(inbound, envelope, received)
        can = adapter.capabilities
        identities = (ctx.decisions.identify(envelope, can), *ctx.decisions.also_known_as(envelope, can))
        person = person_in_shared(work.agent, work.reply_to or place, envelope.peer, ctx.config)
        # A bound session does not belong to this place.
        tied = work.reply_to if work.binding is None else None
        session = ctx.new_session(work.session_key, work.agent, tied, person=None if work.binding else person)
        repeated = _repeated(envelope, stable=adapter.capabilities.stable_ids)
        # Work in progress from now on: if the binding ends meanwhile, it waits for the answer.
        with ctx.bindings.hold(work.binding) as hold:
            hold.cause = received
            await self._store(work, identities, session, routed, repeated)

    def _dropped(self, envelope: Envelope) -> Reason | None:
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
        )
        return work, ctx.events.record(decided, cause, inbound=inbound, binding=work.binding)

    def _story(self, work: Work, admission: Admission, cause: int | None, repeated: Reason) -> Admitted | None:
        """Record an admission: admitted, or dropped as a duplicate."""
        events = self._ctx.events
        if admission.session is None:
            events.record(InboundDropped(reason=repeated, first=admission.first), cause, inbound=work.id)
            return None
        admitted = record_admitted(self._ctx, work, admission.session, cause)
        self._ctx.bindings.record_touch(admission.touched, "inbound", admitted)
        return admission.session.id, admitted

    async def wake(self, agent: str, text: str, cause: int | None = None) -> None:
        """Start a turn without an inbound message, in the agent's main session; its answer has no destination.

        Raises `InvalidCall` for an agent or a text that cannot be stored.
        """
        ctx = self._ctx
        wrong = check_texts((("agent", agent), ("text", text)))
        if wrong or not agent or text is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidCall(f"wake: {wrong or 'agent or text is missing'}")
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
        await self._store(work, (f"wake/{inbound}",), session, cause, Reason.DUPLICATE_MESSAGE)

    async def _store(
        self, work: Work, identities: Sequence[str], session: NewSession, cause: int | None, repeated: Reason
    ) -> None:
        """Admit work and start its turn, unless one of its identities is known: then drop it for `repeated`."""
        identity, *also = identities
        await self._ctx.store.write(
            Admit(work=work, identity=identity, also=tuple(also), session=session, now=self._ctx.env.now()),
            lambda admission: self._story(work, admission, cause, repeated),
            then=lambda admitted: self._start(work, admitted),
        )

    def _start(self, work: Work, admitted: Admitted | None) -> None:
        """Start the turn of admitted work, in the order of admission."""
        if admitted is not None:
            if work.binding is not None:
                self._ctx.bindings.apply_touches()
            self._start_turn(work, *admitted)


def _repeated(envelope: Envelope, *, stable: bool) -> Reason:
    if envelope.stands_for is not None:
        return Reason.DUPLICATE_PROXY
    return Reason.DUPLICATE_MESSAGE if stable else Reason.DUPLICATE_REPLAY


def record_admitted(ctx: Context, work: Work, session: SessionRow, cause: int | None) -> int:
    """Record the session, admission and transcript line of admitted work; returns the seq of the admission."""
    ctx.record_session(session, work.agent, None if work.binding else work.reply_to, "inbound", cause)
    if session.people:
        shared = SessionShared(
            session_key=session.key, reason=Reason.SHARED_MAIN, peer=work.peer, people=session.people
        )
        cause = ctx.events.record(shared, cause, inbound=work.id)
    admitted = ctx.events.record(
        InboundAdmitted(work=work.kind, session_id=session.id, session_key=session.key),
        cause,
        inbound=work.id,
        delegation=None if work.callback is None else work.callback.delegation,
    )
    role = "hand" if work.kind is WorkKind.CALLBACK else "user"
    ctx.events.record(
        TranscriptAppended(session_id=session.id, session_key=session.key, role=role, text=work.text),
        admitted,
        inbound=work.id,
    )
    return admitted
