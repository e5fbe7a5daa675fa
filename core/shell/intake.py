"""Intake: inbound -> duplicate? -> route -> session -> durable -> ack -> turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import anyio
import msgspec

from core.channels import ChannelAdapter
from core.decisions import route_decided
from core.errors import PlatformError
from core.events.bodies import (
    AdapterEnded,
    AdapterFailed,
    InboundAckFailed,
    InboundAdmitted,
    InboundDropped,
    InboundReceived,
    SessionShared,
    TranscriptAppended,
)
from core.keys import SessionKey
from core.reasons import Reason
from core.routing.text import config_key
from core.sessions import person_in_shared
from core.shell.context import Context
from core.shell.lanes import Lanes
from core.store.rows import Admission, SessionRow, Work
from core.text import well_formed
from core.values import Envelope, InboundId, Peer, SessionId, WorkKind

_Lane = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class _Taken:
    """A message from an adapter: as it came, and as it is understood."""

    adapter: ChannelAdapter
    came: Envelope
    envelope: Envelope
    #: a thread id that was left out of the address
    chain: str | None


#: session of admitted work, and the seq of its admission
Told = tuple[SessionId, int]
#: seconds until a failed connection is opened again; doubles up to the last
_RECONNECT_FIRST = 1.0
_RECONNECT_LAST = 60.0
#: admissions that run at the same time
_WORKERS = 64


class Intake:
    """Takes envelopes from adapters; hands admitted work on, in order per conversation."""

    def __init__(
        self,
        context: Context,
        start_turn: Callable[[Work, SessionId, int], None],
        broken: Callable[[str, str], None],
    ) -> None:
        self._ctx = context
        self._start_turn = start_turn
        self._broken = broken
        self.lanes: Lanes[_Lane, _Taken] = Lanes("intake", self._handle, workers=_WORKERS, now=context.env.now)

    async def listen(self, adapter: ChannelAdapter) -> None:
        """Take everything that an adapter brings, connecting again when it fails; ends when its stream does."""
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
            # The platform knows the message as it gave it.
            await item.adapter.ack(item.came)
        except Exception as error:  # noqa: BLE001 -- it is durable here; delivered again, it is dropped as a duplicate
            detail = f"{type(error).__name__}: {error}"
            self._ctx.events.record(InboundAckFailed(detail=detail), received, inbound=inbound)

    async def _admit(self, adapter: ChannelAdapter, envelope: Envelope, chain: str | None) -> tuple[InboundId, int]:
        """Make a message durable, or drop it; its id, and the seq at which it was received."""
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
        if not envelope.text.strip():
            ctx.events.record(InboundDropped(reason=Reason.EMPTY_MESSAGE), received, inbound=inbound)
            return inbound, received
        work, routed = self._route(inbound, envelope, received)
        identity = ctx.decisions.identify(envelope, adapter.capabilities)
        person = person_in_shared(work.agent, work.reply_to or place, envelope.peer, ctx.config)
        session = ctx.new_session(work.session_key, work.agent, work.reply_to, person=person)

        def story(admission: Admission) -> Told | None:
            return self._tell(work, admission, routed, stable=adapter.capabilities.stable_ids)

        await ctx.store.admit(work, identity, session, ctx.env.now(), story, then=lambda told: self._start(work, told))
        return inbound, received

    def _route(self, inbound: InboundId, envelope: Envelope, cause: int) -> tuple[Work, int]:
        """Decide agent, session and return address, and record all three."""
        ctx = self._ctx
        route = ctx.decisions.resolve_route(envelope, ctx.config)
        reply = ctx.decisions.plan_reply(envelope, ctx.config)
        decided = route_decided(route, reply, ctx.config)
        work = Work(
            id=inbound,
            kind=WorkKind.MESSAGE,
            agent=decided.agent,
            session_key=decided.session_key,
            peer=envelope.peer,
            text=envelope.text,
            message_id=envelope.message_id,
            place=envelope.address,
            reply_to=reply.address,
            reply_reason=reply.reason,
            open_on=reply.open_on,
        )
        return work, ctx.events.record(decided, cause, inbound=inbound)

    def _tell(self, work: Work, admission: Admission, cause: int | None, *, stable: bool) -> Told | None:
        """The story of an admission: admitted, or dropped as a duplicate."""
        events = self._ctx.events
        if admission.session is None:
            reason = Reason.DUPLICATE_MESSAGE if stable else Reason.DUPLICATE_REPLAY
            events.record(InboundDropped(reason=reason, first=admission.first), cause, inbound=work.id)
            return None
        return admission.session.id, tell_admitted(self._ctx, work, admission.session, cause)

    async def wake(self, agent: str, text: str, cause: int | None = None) -> None:
        """Start a turn that no peer asked for, in the agent's main session; its answer has nowhere to go."""
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

        def story(admission: Admission) -> Told | None:
            return self._tell(work, admission, cause, stable=True)

        identity = f"wake/{inbound}"
        await ctx.store.admit(work, identity, session, ctx.env.now(), story, then=lambda told: self._start(work, told))

    def _start(self, work: Work, told: Told | None) -> None:
        """Have admitted work done, in the order of admission."""
        if told is not None:
            self._start_turn(work, *told)


def _well_formed(envelope: Envelope) -> Envelope:
    """The envelope with texts that can be stored."""
    text, name = well_formed(envelope.text), well_formed(envelope.peer.name)
    if text == envelope.text and name == envelope.peer.name:
        return envelope
    return msgspec.structs.replace(envelope, text=text, peer=Peer(id=envelope.peer.id, name=name))


def tell_admitted(ctx: Context, work: Work, session: SessionRow, cause: int | None) -> int:
    """Record session, admission and transcript line of admitted work; returns the admission's seq."""
    ctx.tell_session(session, work.agent, work.reply_to, "inbound", cause)
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
