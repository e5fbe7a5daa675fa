"""The session-binding service: bind, list, resolve, touch, unbind; and what ends bindings by itself (seed 002).

Each binding is durable before a message follows it, and each end before a message stops to. What the platform has to
be asked for, threads and webhooks, is asked for before anything is stored: a binding that fails leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import msgspec

from core.bindings.places import PlaceId, place_id, place_of
from core.bindings.port import BindsConversations
from core.bindings.request import (
    OPERATOR,
    BindRequest,
    check_request,
    choose_placement,
    is_same,
    may_replace,
    read_target,
    record_of,
)
from core.bindings.values import BindingStatus, ConversationRef, Placement, PlaceState, SessionBindingRecord
from core.channels import ChannelAdapter
from core.config import ThreadBindingsConfig
from core.errors import BindingError, PlaceGone, PlatformError, TargetError
from core.events.bodies import BindingBound, BindingDegraded, BindingRefused
from core.reasons import Reason
from core.shell.context import Context
from core.store.bindings import Bound as Stored
from core.text import well_formed
from core.values import Address, ChatKind

T = TypeVar("T")
#: conversations that are looked at in one sweep
_PROBES = 50


class SessionBindingService:
    """Bindings of conversations to sessions, whatever the channel."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        self._bound = context.bound
        #: conversations that are being bound
        self._busy: dict[PlaceId, anyio.Lock] = {}
        self._wake = anyio.Event()
        #: says farewell where a binding has expired
        self.farewell: Callable[[SessionBindingRecord, Reason], None] = _nobody
        #: until the store was read
        self.up = anyio.Event()
        context.bound.tell(changed=self._deadlines_changed, ended=self._ended)

    async def load(self, cause: int | None) -> None:
        """Read what is bound; what has ended does not come back (B131)."""
        records, broken = await self._ctx.store.open_bindings()
        for binding, problem in broken.items():
            body = BindingRefused(
                verb="load", conversation="", session_key="", reason=Reason.BROKEN_ROW, detail=well_formed(problem)
            )
            self._ctx.events.record(body, cause, binding=binding)
        for record in records:
            self._bound.add(record)
        for binding, count in (await self._ctx.store.under_way()).items():
            self._bound.hold(binding, count)

    def settle(self, cause: int | None) -> None:
        """After the start: those that were ending and have nothing under way any more have ended."""
        for record in self._bound.book:
            self._bound.drained(record.binding_id, cause)

    # ------------------------------------------------------------ the contract of seed 002

    async def bind(self, asked: BindRequest, cause: int | None = None) -> SessionBindingRecord:
        """Bind a conversation to a session. Durable when it returns.

        Raises `BindingError` for what cannot be done as asked: nothing was changed. Bound to the same session already,
        it is left as it is.
        """
        await self.up.wait()
        try:
            before = None if asked.request is None else await self._ctx.store.find_binding(request=asked.request)
            if before is not None:
                return before
            place = check_request(asked, self._ctx.config)
            return await self._in_turn(asked, place, cause)
        except BindingError as error:
            self._refused("bind", str(_shown(asked.conversation)), asked.target_session_key, error, asked.by, cause)
            raise

    def list_by_session(self, target_session_key: str) -> tuple[SessionBindingRecord, ...]:
        """The bindings of a session that have not ended, in the order in which they were made."""
        return self._bound.book.of_session(target_session_key.strip())

    def all(self) -> tuple[SessionBindingRecord, ...]:
        """All bindings that have not ended, in the order in which they were made."""
        return tuple(self._bound.book)

    def resolve_by_conversation(self, conversation: Address | ConversationRef) -> SessionBindingRecord | None:
        """The binding by which a conversation belongs to a session now; none: it goes its default route."""
        try:
            place = conversation if isinstance(conversation, Address) else place_of(conversation)
        except TargetError:
            return None
        return self._bound.at(place)

    def touch(self, binding_id: str, at: float | None = None, by: str = OPERATOR, cause: int | None = None) -> None:
        """Something happened in a bound conversation, now or at a time: its idle deadline moves, never backwards."""
        self._bound.touch(binding_id, by, cause, at)

    async def unbind(
        self,
        *,
        binding_id: str | None = None,
        target_session_key: str | None = None,
        conversation: Address | ConversationRef | None = None,
        reason: Reason = Reason.UNBOUND,
        by: str = OPERATOR,
        request: str | None = None,
        cause: int | None = None,
    ) -> tuple[SessionBindingRecord, ...]:
        """End bindings: all that every given selector names. Those with something under way are ending until then.

        `request` names what asks for it, and is kept with the record. Raises `BindingError` without any selector. What
        names nothing changes nothing: the answer is empty.
        """
        await self.up.wait()
        if not any((binding_id, target_session_key, conversation)):
            error = BindingError("name a binding, a session or a conversation", Reason.BINDING_SELECTOR)
            self._refused("unbind", "", "", error, by, cause)
            raise error
        found = [
            record
            for record in self._bound.book
            if record.status is BindingStatus.ACTIVE
            and (not binding_id or record.binding_id == binding_id)
            and (not target_session_key or record.target_session_key == target_session_key.strip())
            and (conversation is None or _is_at(record, conversation))
        ]
        ended: list[SessionBindingRecord] = []
        for record in found:
            after = await self._bound.end(record, reason, by=by, cause=cause, request=request)
            if after is not None:
                ended.append(after)
        return tuple(ended)

    # ------------------------------------------------------------ binding

    async def _in_turn(self, asked: BindRequest, place: Address, cause: int | None) -> SessionBindingRecord:
        """Of several who bind the same conversation the second one sees what the first one did."""
        what = place_id(place)
        lock = self._busy.setdefault(what, anyio.Lock())
        try:
            async with lock:
                return await self._bind(asked, place, cause)
        finally:
            if not lock.statistics().tasks_waiting:
                self._busy.pop(what, None)

    async def _bind(self, asked: BindRequest, place: Address, cause: int | None) -> SessionBindingRecord:
        ctx = self._ctx
        adapter = self._adapter(place)
        placement = choose_placement(asked, place, adapter.placements)
        had = self._bound.at(place) if placement is Placement.CURRENT else None
        if had is not None and is_same(asked, place, had):
            return had
        if had is not None:
            may_replace(asked, had)
        await self._check_session(asked)
        if placement is Placement.CHILD:
            key = asked.delegation or asked.request or ctx.env.ids.new("thread", *place.lane)
            title = asked.title or asked.label or asked.target_session_key
            where = await self._asked(adapter.open_child(place, title, key), placement)
        else:
            where = place
            await self._check_place(adapter, place)
        settings = ctx.config.channel(place.channel).thread_bindings
        binding = ctx.env.ids.new("binding", *where.lane)
        record = record_of(asked, where, binding, ctx.env.now(), settings)
        if settings.identity == "webhook" and where.kind is not ChatKind.DIRECT:
            record = await self._with_identity(adapter, record)
        return await self._store(asked, record, placement, cause)

    def _adapter(self, place: Address) -> BindsConversations:
        adapter: ChannelAdapter | None = self._ctx.adapters.get((place.channel, place.account))
        if not isinstance(adapter, BindsConversations):
            facts = f"no adapter of {place.channel}:{place.account} can bind conversations"
            raise BindingError(facts, Reason.BINDING_UNAVAILABLE)
        return adapter

    async def _check_session(self, asked: BindRequest) -> None:
        """The session is there, or is made with the binding."""
        key = asked.target_session_key.strip()
        if asked.new_session or await self._ctx.store.session(key) is not None:
            return
        raise BindingError(f"there is no session {key!r}", Reason.UNKNOWN_SESSION)

    async def _check_place(self, adapter: BindsConversations, place: Address) -> None:
        """The conversation takes messages, or will once it is unarchived."""
        if place.kind is ChatKind.DIRECT:
            return
        state = await self._asked(adapter.inspect(place), Placement.CURRENT)
        if state is PlaceState.ARCHIVED:
            await self._asked(adapter.reopen(place), Placement.CURRENT)
        elif state is PlaceState.GONE:
            raise BindingError(f"{place} is not there", Reason.BINDING_FAILED, Placement.CURRENT.value)

    async def _asked(self, call: Awaitable[T], placement: Placement) -> T:
        """What an adapter answers in time. Raises `BindingError`."""
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout):
                return await call
        except Exception as error:
            facts = error.facts if isinstance(error, PlatformError) else f"{type(error).__name__}: {error}"
            raise BindingError(well_formed(facts), Reason.BINDING_FAILED, placement.value) from error

    async def _with_identity(self, adapter: BindsConversations, record: SessionBindingRecord) -> SessionBindingRecord:
        """Who speaks there. A platform that gives no webhook now leaves it to the bot, visibly."""
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout):
                identity = await adapter.identity(record.conversation, record.label)
        except Exception:  # noqa: BLE001 -- it can be bound all the same; that somebody else speaks is told
            return msgspec.structs.replace(record, degraded=Reason.IDENTITY_GONE)
        return msgspec.structs.replace(record, identity=identity)

    async def _store(
        self, asked: BindRequest, record: SessionBindingRecord, placement: Placement, cause: int | None
    ) -> SessionBindingRecord:
        ctx, key = self._ctx, record.target_session_key
        agent = read_target(key, ctx.config).agent
        session = ctx.new_session(key, agent, None) if asked.new_session else None

        def story(stored: Stored) -> Stored:
            if not stored.new:
                return stored
            if stored.session is not None:
                ctx.tell_session(stored.session, agent, None, "binding", cause)
            if stored.ended is not None:
                self._bound.tell_ended(stored.ended, asked.by, cause)
            instead_of = None if stored.ended is None else stored.ended.binding_id
            body = _bound_event(record, placement, instead_of)
            seq = ctx.events.record(body, cause, binding=record.binding_id, delegation=record.delegation)
            if record.degraded is not None:
                lost = BindingDegraded(identity=f"webhook as {record.label}", reason=record.degraded, fallbacks=0)
                ctx.events.record(lost, seq, binding=record.binding_id)
            return stored

        def then(stored: Stored) -> None:
            if stored.ended is not None:
                self._bound.unbook(stored.ended)
            if stored.new:
                self._bound.add(record)

        stored = await ctx.store.bind(record, session, ctx.env.now(), story, then=then)
        return stored.record

    def _refused(self, verb: str, conversation: str, key: str, error: BindingError, by: str, cause: int | None) -> None:
        body = BindingRefused(
            verb=verb,
            conversation=well_formed(conversation),
            session_key=well_formed(key),
            reason=error.reason,
            detail=well_formed(error.facts),
            by=by,
        )
        self._ctx.events.record(body, cause)

    # ------------------------------------------------------------ what ends by itself

    async def run(self) -> None:
        """End what is over by its deadlines, at the cost of what ends; now and then look whether places are there."""
        probed = self._ctx.env.now()
        after = ""
        while True:
            now = self._ctx.env.now()
            for record in self._bound.book.due(now):
                self._bound.end_soon(record, record.expiry_reason, cause=None)
            if now - probed >= self._sweep_every():
                probed, after = now, await self._probe(after)
            await self._rest(now, probed)

    async def _rest(self, now: float, probed: float) -> None:
        """Until something may be over, or bindings have changed."""
        self._wake = anyio.Event()
        ends, book = self._bound.book.next_due, self._bound.book
        until = [probed + self._sweep_every()] if len(book) else []
        until += [] if ends is None else [ends]
        if not until:
            await self._wake.wait()
            return
        with anyio.move_on_after(max(min(until) - now, 0.001)):
            await self._wake.wait()

    def _sweep_every(self) -> float:
        return min((self._settings(name).sweep for name in self._ctx.channels), default=120.0)

    def _settings(self, channel: str) -> ThreadBindingsConfig:
        return self._ctx.config.channel(channel).thread_bindings

    async def _probe(self, after: str) -> str:
        """Ask for some bound conversations whether they take messages; the id to go on after. The cost is bounded."""
        records = sorted((one for one in self._bound.book if one.status is BindingStatus.ACTIVE), key=_id)
        some = [record for record in records if record.binding_id > after][:_PROBES]
        for record in some:
            await self._look_at(record)
        return some[-1].binding_id if len(some) == _PROBES else ""

    async def _look_at(self, record: SessionBindingRecord) -> None:
        adapter = self._ctx.adapters.get((record.conversation.channel, record.conversation.account))
        if not isinstance(adapter, BindsConversations) or record.conversation.kind is ChatKind.DIRECT:
            return
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout):
                state = await adapter.inspect(record.conversation)
        except PlaceGone:
            state = PlaceState.GONE
        except Exception:  # noqa: BLE001 -- what a platform does not tell now, it tells another time
            return
        if state is PlaceState.GONE:
            self._bound.gone(record.binding_id, Reason.THREAD_GONE, None)

    def _deadlines_changed(self) -> None:
        self._wake.set()

    def _ended(self, record: SessionBindingRecord) -> None:
        """A binding has ended: a word of farewell, where it came about by itself."""
        if record.reason is Reason.IDLE_EXPIRED or record.reason is Reason.MAX_AGE_EXPIRED:
            self.farewell(record, record.reason)


def _nobody(_record: SessionBindingRecord, _reason: Reason) -> None: ...


def _id(record: SessionBindingRecord) -> str:
    return record.binding_id


def _shown(conversation: Address | ConversationRef) -> str:
    if isinstance(conversation, Address):
        return str(conversation)
    return f"{conversation.channel}:{conversation.account_id}/{conversation.conversation_id}"


def _is_at(record: SessionBindingRecord, conversation: Address | ConversationRef) -> bool:
    try:
        place = conversation if isinstance(conversation, Address) else place_of(conversation)
    except TargetError:
        return False
    return place_id(record.conversation) == place_id(place)


def _bound_event(record: SessionBindingRecord, placement: Placement, instead_of: str | None) -> BindingBound:
    return BindingBound(
        conversation=record.conversation,
        session_key=record.target_session_key,
        target_kind=record.target_kind.value,
        placement=placement.value,
        by=record.bound_by,
        label=record.label,
        idle_timeout=record.idle_timeout,
        max_age=record.max_age,
        expires_at=record.expires_at,
        identity=None if record.identity is None else str(record.identity),
        instead_of=instead_of,
    )
