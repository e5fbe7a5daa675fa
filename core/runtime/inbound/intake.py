"""The path of an inbound message: duplicate? -> route -> session -> durable -> ack -> turn."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import anyio.abc
import msgspec

from trunkline.core.channels import ChannelAdapter
from trunkline.core.channels.acts import QUIET, belongs, is_whole, joined
from trunkline.core.chat_commands.parse import is_command
from trunkline.core.decisions import ReplyPlan, route_decided
from trunkline.core.errors import InvalidCall, StoreError, UnknownName
from trunkline.core.events.gateway import InboundAckFailed, InboundDropped, InboundReceived, SenderEscaped
from trunkline.core.keys import SessionKey
from trunkline.core.message_parts import says_something, with_words
from trunkline.core.reasons import Reason
from trunkline.core.records.inbound import InboundReceipt, InboundStatus, RouteNote
from trunkline.core.records.reserved_sender import as_person
from trunkline.core.records.rows import Admission, BotChain, NewSession, Work
from trunkline.core.routing.key_text import config_key
from trunkline.core.runtime.context import Context, record_admitted
from trunkline.core.runtime.deadlines import Deadlines
from trunkline.core.runtime.inbound.deeds import DeedHandler
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.runtime.outbound.own_notices import ChainEnd
from trunkline.core.runtime.turn_queue import TurnQueue
from trunkline.core.sessions.entries import person_in_shared
from trunkline.core.store.commands import Admit
from trunkline.core.store.mailbox import FindInbound
from trunkline.core.store.queries import FindMessage
from trunkline.core.untrusted import check_envelope, check_texts, storable
from trunkline.core.values import Deed, Envelope, InboundId, Peer, SessionId, WorkKind
from trunkline.core.well_formed import describe

_Lane = tuple[str, str, str, str]
_Waiter = asyncio.Future[InboundReceipt]
_LONGEST_KEY = 500
_WORKERS = 64
_ENDED = "the gateway ended before the message was answered for: repeat it with the same message id"


class _Problem(msgspec.Struct, frozen=True):
    reason: Reason
    detail: str


class _Message(msgspec.Struct, frozen=True):
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
    #: the further messages of its act
    rest: tuple["_Arrival", ...] = ()

    @property
    def envelope(self) -> Envelope:
        return self.received if isinstance(self.found, _Problem) else self.found.envelope


class _OpenActs:
    """Collects the messages of each act until the act is whole, and hands all of them on together, in order."""

    def __init__(self, hand_on: Callable[[_Lane, list[_Arrival]], None]) -> None:
        self._hand_on = hand_on
        #: by lane and person
        self._open: dict[tuple[_Lane, str], tuple[list[_Arrival], asyncio.TimerHandle]] = {}

    def take(self, lane: _Lane, arrival: _Arrival) -> None:
        """Take a message. Another message of the person, outside of the open act, ends that act."""
        envelope = arrival.envelope
        if envelope.act is None and not self._open:
            self._hand_on(lane, [arrival])
            return
        key = (lane, envelope.peer.id)
        found = list[_Arrival]()
        if key in self._open:
            found, timer = self._open.pop(key)
            timer.cancel()
        if found and not belongs(envelope, found[-1].envelope):
            self._hand_on(lane, found)
            found = []
        found.append(arrival)
        if is_whole([part.envelope for part in found]):
            self._hand_on(lane, found)
        else:
            self._open[key] = (found, asyncio.get_running_loop().call_later(QUIET, self._end, key))

    def stop(self) -> None:
        """Forget the open acts. They are not acknowledged, so the platform hands them over again."""
        for _, timer in self._open.values():
            timer.cancel()
        self._open.clear()

    def _end(self, key: tuple[_Lane, str]) -> None:
        self._hand_on(key[0], self._open.pop(key)[0])


class Intake:
    """Admits envelopes from adapters, in order per conversation, and starts their turns."""

    def __init__(self, context: Context, turns: TurnQueue, chain_end: ChainEnd) -> None:
        self._ctx = context
        self._chain_end = chain_end
        self._start_turn = turns.enqueue
        self._deeds = DeedHandler(context, turns)
        self._limits = Deadlines()
        #: futures of the running `receive` calls; none: the gateway has ended
        self._waiters: set[_Waiter] | None = set()
        self._lanes: Lanes[_Lane, _Arrival] = Lanes("intake", workers=_WORKERS, now=context.env.steady)
        self._acts = _OpenActs(self._hand_on)

    def start(self, group: anyio.abc.TaskGroup) -> None:
        self._lanes.start(group, self._handle)

    def stop(self) -> None:
        """Admit nothing any more: running `receive` calls get an error."""
        self._acts.stop()
        self.refuse_waiting(_ENDED)
        self._waiters = None

    def refuse_waiting(self, why: str) -> None:
        """Let running `receive` calls raise `StoreError`. What they have handed over may be stored all the same."""
        for waiter in self._waiters or ():
            if not waiter.done():
                waiter.set_exception(StoreError(why))

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
            # None by now, if the gateway has ended meanwhile.
            (self._waiters or set()).discard(waiter)

    def take_envelope(
        self,
        adapter: ChannelAdapter,
        envelope: Envelope,
        waiter: _Waiter | None = None,
        inbound: InboundId | None = None,
    ) -> None:
        """Queue a message; one that cannot be handled waits apart from all conversations.

        A message of an adapter, which has no `waiter`, is acknowledged once it is durable or dropped. It waits for
        the rest of its act, if it has one.
        """
        found = self._read(adapter, envelope)
        if isinstance(found, _Problem):
            self._lanes.put((adapter.channel, adapter.account, "", ""), _Arrival(adapter, envelope, found, waiter))
        elif waiter is not None:
            self._lanes.put(found.lane, _Arrival(adapter, envelope, found, waiter, inbound))
        else:
            self._acts.take(found.lane, _Arrival(adapter, envelope, found))

    def _hand_on(self, lane: _Lane, act: list[_Arrival]) -> None:
        first, *rest = act
        self._lanes.put(lane, replace(first, rest=tuple(rest)) if rest else first)

    def _read(self, adapter: ChannelAdapter, envelope: Envelope) -> _Message | _Problem:
        wrong = check_envelope(envelope, adapter.channel, adapter.account, stable=adapter.capabilities.stable_ids)
        if wrong:
            return _Problem(Reason.BAD_ENVELOPE, wrong)
        try:
            known = self._ctx.decisions.canonical(storable(envelope))
            chain = envelope.address.thread if known.address != envelope.address else None
            return _Message(known, known.address.lane, chain)
        except Exception as error:  # noqa: BLE001 -- a decision may be user code; the next message may be sound
            return _Problem(Reason.UNDECIDABLE, describe(error))

    async def _handle(self, _lane: _Lane, arrival: _Arrival) -> None:
        """Handle a message, or all messages of an act together."""
        if not arrival.rest:
            await self._handle_message(arrival)
            return
        # Some may come again: from before a crash, or while the act was open.
        fresh, again, ids = list[_Arrival](), list[_Arrival](), set[str]()
        for part in (replace(arrival, rest=()), *arrival.rest):
            message = part.envelope.message_id
            if message not in ids and await self._is_known(part):
                await self._handle_message(part)
            else:
                (again if message in ids else fresh).append(part)
            ids.add(message)
        if fresh:
            await self._handle_message(replace(fresh[0], rest=tuple(fresh[1:])))
        for part in again:
            await self._handle_message(part)

    async def _is_known(self, arrival: _Arrival) -> bool:
        """Whether the message is known from before."""
        try:
            query = FindMessage(name="", identities=self._identities(arrival))
        except Exception:  # noqa: BLE001 -- a decision may be user code; the same error comes again with the admission
            return False
        return (await self._ctx.store.read(query)).inbound is not None

    def _identities(self, arrival: _Arrival) -> tuple[str, ...]:
        """The identities of a message, then the identities of the further messages of the act."""
        decisions, envelope, can = self._ctx.decisions, arrival.envelope, arrival.adapter.capabilities
        own = (decisions.identify(envelope, can), *decisions.also_known_as(envelope, can))
        return own + tuple(known for part in arrival.rest for known in self._identities(part))

    async def _handle_message(self, arrival: _Arrival) -> None:
        """Handle a message: record it, admit or drop it, and answer for it once that is durable."""
        inbound, seq, found = None, None, arrival.found
        if isinstance(found, _Problem):
            seq = self._record_drop(found.reason, found.detail)
            receipt = _dropped(found.reason, found.detail)
        elif found.envelope.deed is not None:
            seq, receipt = await self._take_deed(found.envelope, found.envelope.deed)
        else:
            inbound, seq = self._record_inbound(found, arrival.inbound)
            for part in arrival.rest:
                self._record_part(part, inbound)
            try:
                whole = joined([found.envelope, *(part.envelope for part in arrival.rest)])
                receipt = await self._admit(arrival, whole, inbound, seq)
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
            for part in (arrival, *arrival.rest):
                await self._acknowledge(part.adapter, part.received, inbound, seq)

    async def _take_deed(self, envelope: Envelope, deed: Deed) -> tuple[int, InboundReceipt]:
        try:
            seq, reason = await self._deeds.take(envelope, deed, self._why_ignored(envelope), by_bot=_by_bot(envelope))
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 -- a decision may be user code; it blocks no message
            seq, reason = self._record_drop(Reason.UNDECIDABLE, describe(error)), Reason.UNDECIDABLE
        return seq, InboundReceipt(status=InboundStatus.ADMITTED) if reason is None else _dropped(reason)

    def _record_part(self, part: _Arrival, first: InboundId) -> None:
        assert isinstance(part.found, _Message)
        inbound, received = self._record_inbound(part.found, None)
        self._ctx.events.record(InboundDropped(reason=Reason.PART_OF_ACT, first=first), received, inbound=inbound)

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
        ctx, envelope, place = self._ctx, message.envelope, message.envelope.address
        inbound = wanted or InboundId(ctx.env.ids.new("inbound", *place.lane, envelope.message_id))
        body = InboundReceived(
            address=place,
            peer=envelope.peer,
            message_id=envelope.message_id,
            text=envelope.text,
            parts=tuple(part.words for part in envelope.parts),
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
        ctx, place = self._ctx, envelope.address
        reason = self._why_dropped(envelope)
        if reason is not None:
            self._record_drop(reason, cause=received, inbound=inbound)
            return _dropped(reason)
        ctx.inbound_at[place.channel, place.account] = ctx.env.now()
        work, routed = self._decide_and_record_route(inbound, envelope, received, several=bool(arrival.rest))
        identities = self._identities(arrival)
        person = person_in_shared(work.agent, work.reply_to or place, envelope.peer, ctx.config)
        # A bound session does not belong to this place.
        tied = work.reply_to if work.binding is None else None
        session = ctx.new_session(work.session_key, work.agent, tied, person=None if work.binding else person)
        repeats = _repeat_reason(envelope, stable=arrival.adapter.capabilities.stable_ids)
        # Work in progress from now on: if the binding ends before the answer, it waits for it.
        with ctx.bindings.hold(work.binding) as hold:
            hold.cause = received
            admission = await self._store(work, identities, session, routed, repeats, self._chain_of(envelope))
            if admission.over is not None:
                await self._chain_end.post_notice(work, admission.over.session, routed, last=admission.over.id)
                return _dropped(Reason.CHAIN_EXCEEDED)
        if admission.session is not None:
            return _admitted(work, admission.session.id)
        if arrival.waiter is None:
            return _repeated(admission.first, repeats)
        said = (work.text, envelope.peer.id, envelope.address)
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
        if not envelope.text.strip() and not any(map(says_something, envelope.parts)):
            return Reason.EMPTY_MESSAGE
        return self._why_ignored(envelope)

    def _why_ignored(self, envelope: Envelope) -> Reason | None:
        """Why nothing comes from the author of a message, or from its place; None: it may."""
        if self._ctx.bindings.is_echo(envelope):
            return Reason.OWN_ECHO
        if self._ctx.bindings.owner_of(envelope.address, self._ctx.adapters) is not None:
            return Reason.BOUND_TO_OTHER_ACCOUNT
        allowed = self._ctx.config.channel(envelope.address.channel).bots == "allow"
        return Reason.BOT_IGNORED if _by_bot(envelope) and not allowed else None

    def _chain_of(self, envelope: Envelope) -> BotChain | None:
        """The bounds of the chain that a bot's message may continue; None for a person's message."""
        turns = self._ctx.config.turns
        return BotChain(longest=turns.chain, pause=turns.chain_pause) if _by_bot(envelope) else None

    def _decide_and_record_route(
        self, inbound: InboundId, envelope: Envelope, cause: int, *, several: bool
    ) -> tuple[Work, int]:
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
            # A command is the person's own text, whatever it quotes.
            text=envelope.text if control else with_words(envelope.text, envelope.parts),
            parts=envelope.parts,
            several=several,
            message_id=envelope.subject,
            place=envelope.address,
            reply_to=reply.address,
            reply_reason=reply.reason,
            open_on=reply.open_on,
            binding=None if bound is None else bound.binding_id,
            claimed=envelope.claimed,
            route=RouteNote(
                matched_by=decided.matched_by, rule=decided.binding, scope=decided.scope, revision=decided.revision
            ),
        )
        return work, ctx.events.record(decided, cause, inbound=inbound, binding=work.binding)

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
        self,
        work: Work,
        identities: Sequence[str],
        session: NewSession,
        cause: int | None,
        repeats: Reason,
        chain: BotChain | None = None,
    ) -> Admission:
        """Store work and start its turn, unless one of its identities is known: then drop it for `repeats`."""
        ctx, (identity, *also) = self._ctx, identities

        def story(admission: Admission) -> tuple[Admission, int]:
            if admission.session is None:
                reason = repeats if admission.over is None else Reason.CHAIN_EXCEEDED
                body = InboundDropped(reason=reason, first=admission.first)
                return admission, ctx.events.record(body, cause, inbound=work.id)
            admitted = record_admitted(ctx, work, admission.session, cause)
            ctx.bindings.record_touch(admission.touched, "inbound", admitted)
            return admission, admitted

        def then(stored: tuple[Admission, int]) -> None:
            admission, admitted = stored
            if admission.session is not None:
                if work.binding is not None:
                    ctx.bindings.apply_touches()
                begun = work if chain is None else msgspec.structs.replace(work, chain=admission.chain)
                self._start_turn(begun, admission.session.id, admitted)

        admit = Admit(work=work, identity=identity, also=tuple(also), session=session, now=ctx.env.now(), chain=chain)
        return (await ctx.store.write(admit, story, then=then))[0]


def _by_bot(envelope: Envelope) -> bool:
    """Whether a bot wrote a message. What a proxy posts for a person counts as the person's."""
    return envelope.bot and envelope.stands_for is None


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
