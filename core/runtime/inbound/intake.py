"""The path of an inbound message: duplicate? -> route -> session -> durable -> ack -> turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio
import msgspec

from trunkline.core.channels import ChannelAdapter
from trunkline.core.chat_commands.parse import is_command
from trunkline.core.decisions import ReplyPlan, route_decided
from trunkline.core.errors import PlatformError
from trunkline.core.events.gateway import (
    AdapterEnded,
    AdapterFailed,
    InboundAckFailed,
    InboundAdmitted,
    InboundDropped,
    InboundReceived,
    SessionShared,
    TranscriptAppended,
)
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.routing.key_text import config_key
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.sessions.session_map import person_in_shared
from trunkline.core.store.commands import Admit
from trunkline.core.store.records import Admission, NewSession, SessionRow, Work
from trunkline.core.values import Envelope, InboundId, Peer, SessionId, WorkKind
from trunkline.core.well_formed import well_formed

_Lane = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class _Taken:
    """A message from an adapter: as received, and in canonical form."""

    adapter: ChannelAdapter
    came: Envelope
    envelope: Envelope
    #: id of the reply chain that was removed from the address
    chain: str | None


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
        self.lanes: Lanes[_Lane, _Taken] = Lanes("intake", self._handle, workers=_WORKERS, now=context.env.steady)

    async def listen(self, adapter: ChannelAdapter) -> None:
        """Receive from an adapter, reconnecting after failures, until its stream ends."""
        wait = _RECONNECT_FIRST
        while True:
            try:
                async with adapter.connect() as envelopes:
                    async for envelope in envelopes:
                        wait = _RECONNECT_FIRST
                        known = self._ctx.decisions.canonical(_well_formed(envelope))
                        chain = envelope.address.thread if known.address != envelope.address else None
                        self.lanes.put(known.address.lane, _Taken(adapter, envelope, known, chain))
                self._ctx.events.record(AdapterEnded(channel=adapter.channel, account=adapter.account))
                return
            except Exception as error:  # noqa: BLE001 -- one broken adapter must not stop the others
                self._broken(adapter.channel, adapter.account)
                self._ctx.events.record(
                    AdapterFailed(
                        channel=adapter.channel,
                        account=adapter.account,
                        reason=error.reason if isinstance(error, PlatformError) else Reason.PLATFORM_ERROR,
                        detail=f"{type(error).__name__}: {error}",
                        retry_in=wait,
                    )
                )
            await anyio.sleep(wait)
            wait = min(wait * 2, _RECONNECT_LAST)

    async def _handle(self, _lane: _Lane, item: _Taken) -> None:
        inbound, received = await self._admit(item.adapter, item.envelope, item.chain)
        try:
            # Acknowledge the original envelope, which the platform knows.
            await item.adapter.ack(item.came)
        except Exception as error:  # noqa: BLE001 -- it is durable; if redelivered, it is dropped as a duplicate
            detail = f"{type(error).__name__}: {error}"
            self._ctx.events.record(InboundAckFailed(detail=detail), received, inbound=inbound)

    async def _admit(self, adapter: ChannelAdapter, envelope: Envelope, chain: str | None) -> tuple[InboundId, int]:
        """Make a message durable, or drop it; returns its id and the seq of its receipt."""
        ctx, place = self._ctx, envelope.address
        inbound = InboundId(ctx.env.ids.new("inbound", *place.lane, envelope.message_id))
        received = ctx.events.record(
            InboundReceived(
                address=place,
                peer=envelope.peer,
                message_id=envelope.message_id,
                text=envelope.text,
                reply_chain=chain,
            ),
            envelope.cause,
            inbound=inbound,
        )
        dropped = self._dropped(envelope)
        if dropped is not None:
            ctx.events.record(InboundDropped(reason=dropped), received, inbound=inbound)
            return inbound, received
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
        ctx.bindings.hold(work.binding)
        try:
            await self._store(work, identities, session, routed, repeated)
        finally:
            ctx.bindings.release(work.binding, received)
        return inbound, received

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
            message_id=envelope.message_id,
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
        """Start a turn without an inbound message, in the agent's main session; its answer has no destination."""
        ctx = self._ctx
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


def _well_formed(envelope: Envelope) -> Envelope:
    """The envelope with storable texts."""
    text, name = well_formed(envelope.text), well_formed(envelope.peer.name)
    if text == envelope.text and name == envelope.peer.name:
        return envelope
    return msgspec.structs.replace(envelope, text=text, peer=Peer(id=envelope.peer.id, name=name))


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
