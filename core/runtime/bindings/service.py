"""The session-binding service: bind, list, resolve, touch and unbind conversations (docs/bindings.md).

A binding, or its end, is durable before any message is routed by it. Threads and webhooks are requested from the
platform before anything is stored, so a failed binding leaves nothing in the store.
"""

import math
from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import TypeVar, Unpack

import anyio
import msgspec

from trunkline.core.bindings import bind_request
from trunkline.core.bindings.conversation_match import place_id, place_of, shared_id
from trunkline.core.bindings.port import BindsConversations
from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import ThreadBindingsConfig
from trunkline.core.declared import filled
from trunkline.core.errors import (
    Ambiguous,
    BindingError,
    KeyFormatError,
    PlaceArchived,
    PlaceGone,
    PlatformError,
    TargetError,
)
from trunkline.core.events.bindings import BindingBound, BindingDegraded, BindingRefused, PlaceReopened
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, Placement, PlaceState, SessionBindingRecord, end_reason
from trunkline.core.records.rows import BindResult
from trunkline.core.routing.key_text import read_config_key
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.deadlines import wait_at_most
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.sessions.named_key import read_named_key
from trunkline.core.states.binding import BindingStatus
from trunkline.core.store import queries
from trunkline.core.store.commands import Bind
from trunkline.core.untrusted import check_address, check_identity
from trunkline.core.values import Address, ChatKind
from trunkline.core.well_formed import describe, well_formed

T = TypeVar("T")


class PlatformRequests:
    """The requests of the binding service to the platforms. A failure is a `BindingError`."""

    def __init__(self, context: Context) -> None:
        self._ctx = context

    async def check_place(self, adapter: BindsConversations, place: Address, cause: int | None) -> None:
        """Raise `BindingError` unless the conversation accepts messages; unarchive the conversation if allowed."""
        current = Placement.CURRENT
        if place.kind is ChatKind.DIRECT:
            return
        state = await self._ask_in_time(lambda: adapter.inspect(place), place, current)
        if state is PlaceState.GONE:
            raise BindingError(f"{place} does not exist: name another", Reason.BINDING_CREATE_FAILED, current.value)
        if state is PlaceState.OPEN:
            return
        if not self._ctx.config.channel(place.channel).thread_bindings.unarchive:
            facts = f"{place} is archived: unarchive it, or allow it with thread_bindings.unarchive"
            raise BindingError(facts, Reason.THREAD_ARCHIVED, current.value)
        await self._ask_in_time(lambda: adapter.reopen(place), place, current)
        self._ctx.events.record(PlaceReopened(address=place), cause)

    async def open_child(self, adapter: BindsConversations, place: Address, title: str, key: str) -> Address:
        """A thread under a conversation. After a lost response the request is repeated once: it is idempotent."""
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout), UserCode():
                return await adapter.open_child(place, title, key)
        except Exception as error:
            if not isinstance(error, TimeoutError | Ambiguous):
                facts = f"{place}: {_failure(error, self._ctx.config.delivery.request_timeout)}"
                raise BindingError(facts, Reason.BINDING_CREATE_FAILED, Placement.CHILD.value) from error
        return await self._ask_in_time(lambda: adapter.open_child(place, title, key), place, Placement.CHILD)

    async def _ask_in_time(self, call: Callable[[], Awaitable[T]], place: Address, placement: Placement) -> T:
        """Await an adapter's answer with a timeout. Raises `BindingError`."""
        limit = self._ctx.config.delivery.request_timeout
        try:
            with anyio.fail_after(limit), UserCode():
                return await call()
        except Exception as error:
            raise BindingError(
                f"{place}: {_failure(error, limit)}", Reason.BINDING_CREATE_FAILED, placement.value
            ) from error

    async def with_identity(
        self, adapter: BindsConversations, record: SessionBindingRecord, settings: ThreadBindingsConfig
    ) -> SessionBindingRecord:
        """Add the webhook identity. Without a webhook, use the bot if the configuration allows, else raise."""
        limit = self._ctx.config.delivery.request_timeout
        try:
            with anyio.fail_after(limit), UserCode():
                identity = await adapter.identity(record.conversation, record.label)
            wrong = "" if identity is None else check_identity(identity)
            if wrong:
                raise TypeError(wrong)
        except Exception as error:
            if settings.identity_fallback == "none":
                facts = f"{record.conversation}: there is no webhook to post there: {_failure(error, limit)}"
                raise BindingError(facts, Reason.IDENTITY_GONE) from error
            return msgspec.structs.replace(record, degraded=Reason.IDENTITY_GONE)
        return msgspec.structs.replace(record, identity=identity)


def check_child(child: Address, parent: Address) -> None:
    """Raise `BindingError` if an adapter returned something else than a new thread."""
    wrong = check_address(child)
    if not wrong:
        elsewhere = (child.channel, child.account) != (parent.channel, parent.account)
        wrong = f"{child}, which is not a thread under it" if elsewhere or place_id(child) == place_id(parent) else ""
    if wrong:
        facts = f"{parent}: its adapter returned {wrong}"
        raise BindingError(facts, Reason.BINDING_CREATE_FAILED, Placement.CHILD.value)


def _failure(error: Exception, limit: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {limit:g} s: try again"
    return error.facts if isinstance(error, PlatformError) else describe(error)


# Ends bindings whose deadline has passed or whose conversation no longer exists.
#
# Deadlines and probes are separate tasks, so a slow platform delays no deadline. An expired binding routes nothing even
# before its end is stored and recorded here.

#: number of conversations to probe per sweep
_PROBES = 50
#: minimum seconds between two checks of the deadlines
_LEAST = 0.001


class BindingExpiry:
    def __init__(self, context: Context) -> None:
        self._ctx = context
        self._bound = context.bindings
        self._wake = anyio.Event()
        #: set when there are bindings to probe
        self._some = anyio.Event()

    def changed(self) -> None:
        """Wake the tasks after a change of bindings."""
        self._wake.set()
        if len(self._bound.index):
            self._some.set()

    async def run(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._expire, name="expiry of bindings")
            group.start_soon(self._probe, name="probes of bindings")

    async def _expire(self) -> None:
        while True:
            self._wake = anyio.Event()
            for record in self._bound.index.due(self._ctx.env.now()):
                self._bound.end_soon(record, record.expiry_reason, cause=None)
            ends = self._bound.index.next_due
            if ends is None:
                await self._wake.wait()
                continue
            await wait_at_most(self._wake, max(ends - self._ctx.env.now(), _LEAST))

    async def _probe(self) -> None:
        """Periodically probe whether some bound conversations still exist."""
        after = ""
        while True:
            self._some = anyio.Event()
            if not len(self._bound.index):
                await self._some.wait()
            await anyio.sleep(self._every())
            active = (record for record in self._bound.index if record.status is BindingStatus.ACTIVE)
            records = sorted(active, key=attrgetter("binding_id"))
            some = [record for record in records if record.binding_id > after][:_PROBES]
            for record in some:
                await self._look_at(record)
            after = some[-1].binding_id if len(some) == _PROBES else ""

    def _every(self) -> float:
        channels = self._ctx.channels
        return min((self._ctx.config.channel(name).thread_bindings.sweep for name in channels), default=120.0)

    async def _look_at(self, record: SessionBindingRecord) -> None:
        adapter = self._ctx.adapters.get((record.conversation.channel, record.conversation.account))
        if not isinstance(adapter, BindsConversations) or record.conversation.kind is ChatKind.DIRECT:
            return
        try:
            with anyio.fail_after(self._ctx.config.delivery.request_timeout), UserCode():
                state = await adapter.inspect(record.conversation)
        except PlaceArchived:
            return
        except PlaceGone:
            state = PlaceState.GONE
        except Exception:  # noqa: BLE001 -- the next probe asks again
            return
        if state is PlaceState.GONE:
            self._bound.end_gone(record.binding_id, Reason.THREAD_GONE, None)


class SessionBindingService:
    def __init__(self, context: Context, expired: Callable[[SessionBindingRecord, Reason, int | None], None]) -> None:
        self._ctx = context
        self._bound = context.bindings
        self._platforms = PlatformRequests(context)
        #: locks of the conversations that are being bound
        self._busy: dict[tuple[str, str, str], anyio.Lock] = {}
        self._expiry = BindingExpiry(context)
        #: called with each expired binding and the seq of its end
        self._expired = expired
        #: set once the bindings are loaded
        self.up = anyio.Event()
        context.bindings.connect(changed=self._expiry.changed, ended=self._notify_if_expired)

    async def load(self, cause: int | None) -> None:
        stored = await self._ctx.store.read(queries.ListBindings())
        for binding, problem in stored.broken.items():
            self._record_unusable(binding, "", "", BindingError(problem, Reason.BROKEN_ROW), cause)
        for record in stored.rows:
            try:
                read_config_key(record.target_session_key, self._ctx.config)
            except KeyFormatError as error:
                wrong = BindingError(error.facts, Reason.BAD_SESSION_KEY)
                where = str(record.conversation)
                self._record_unusable(record.binding_id, where, record.target_session_key, wrong, cause)
                continue
            self._bound.add(record)
        for binding, count in (await self._ctx.store.read(queries.CountOpenByBinding())).items():
            self._bound.hold_open(binding, count)
        for channel, webhook in await self._ctx.store.read(queries.ListOwnWebhooks()):
            self._bound.remember_webhook(channel, webhook)

    def _record_unusable(self, binding: str, place: str, key: str, error: BindingError, cause: int | None) -> None:
        """Record an unusable binding, which does not prevent the start; its conversation takes the default route."""
        body = BindingRefused(
            verb="load", conversation=place, session_key=key, reason=error.reason, detail=well_formed(error.facts)
        )
        self._ctx.events.record(body, cause, binding=binding)

    def settle(self, cause: int | None) -> None:
        """After start, end the ending bindings without work in progress."""
        for record in self._bound.index:
            self._bound.end_if_drained(record.binding_id, cause)

    async def bind(
        self,
        asked: bind_request.BindRequest | None = None,
        cause: int | None = None,
        **fields: Unpack[bind_request.BindFields],
    ) -> SessionBindingRecord:
        """Bind a conversation to a session, by a request or its fields. Durable on return.

        Raises `BindingError`; then nothing was changed. A conversation that is already bound to that session is left
        unchanged.
        """
        await self.up.wait()
        try:
            asked = bind_request.normal(bind_request.request_of(asked, fields))
            if asked.request is not None:
                before = await self._ctx.store.read(queries.FindBindingOfRequest(request=asked.request))
                if before is not None:
                    return before
            place = bind_request.check_request(asked, self._ctx.config)
            named = bind_request.read_target(asked.target_session_key, self._ctx.config, self._ctx.default_accounts)
            asked = msgspec.structs.replace(asked, target_session_key=named.text)
            return await self._in_turn(asked, place, cause)
        except BindingError as error:
            where, key, by = bind_request.shown(asked, fields)
            self._record_refusal("bind", where, key, error, by, cause)
            raise

    def list_by_session(self, target_session_key: str) -> tuple[SessionBindingRecord, ...]:
        return self._bound.index.of_session(self._stored_key(target_session_key))

    def all(self) -> tuple[SessionBindingRecord, ...]:
        return tuple(self._bound.index)

    def resolve_by_conversation(self, conversation: Address | ConversationRef) -> SessionBindingRecord | None:
        try:
            place = conversation if isinstance(conversation, Address) else place_of(conversation)
        except TargetError:
            return None
        return self._bound.at(place)

    def touch(
        self, binding_id: str, at: float | None = None, by: str = bind_request.OPERATOR, cause: int | None = None
    ) -> None:
        """Record activity in a bound conversation, now or at a time; its idle deadline never moves backwards.

        A future time counts as now. An expired binding stays expired. Raises `BindingError` for an invalid time.
        """
        now = self._ctx.env.now()
        if at is not None and not math.isfinite(at):
            error = BindingError(
                f"{binding_id}: {at!r} is no time: give seconds on the gateway's clock", Reason.BAD_TTL
            )
            self._record_refusal("touch", "", "", error, by, cause)
            raise error
        self._bound.touch(binding_id, by, cause, now if at is None else min(at, now))

    async def unbind(
        self,
        *,
        binding_id: str | None = None,
        target_session_key: str | None = None,
        conversation: Address | ConversationRef | None = None,
        reason: Reason | str = Reason.UNBOUND,
        note: str = "",
        by: str = bind_request.OPERATOR,
        request: str | None = None,
        cause: int | None = None,
    ) -> tuple[SessionBindingRecord, ...]:
        """End the bindings that match all given selectors; those with work in progress end after it.

        A `reason` that is no reason code is kept as the `note`, with the code ``unbound``. `request` identifies the
        request and is stored with the record. Returns the changed bindings. Raises `BindingError` without any selector.
        """
        await self.up.wait()
        binding_id, target_session_key = (binding_id or "").strip(), self._stored_key(target_session_key or "")
        if not (binding_id or target_session_key or conversation is not None):
            error = BindingError("name a binding, a session or a conversation", Reason.BINDING_SELECTOR_MISSING)
            self._record_refusal("unbind", "", "", error, by, cause)
            raise error
        found = [
            record
            for record in self._bound.index
            if record.status is BindingStatus.ACTIVE
            and (not binding_id or record.binding_id == binding_id)
            and (not target_session_key or record.target_session_key == target_session_key)
            and (conversation is None or _is_at(record, conversation))
        ]
        try:
            code, note = end_reason(reason, note)
        except BindingError as error:
            self._record_refusal("unbind", "", target_session_key, error, by, cause)
            raise
        ended: list[SessionBindingRecord] = []
        for record in found:
            after = await self._bound.end(
                record, code, by=well_formed(by), cause=cause, request=request, note=well_formed(note)
            )
            if after is not None:
                ended.append(after)
        return tuple(ended)

    def _stored_key(self, text: str) -> str:
        """A session key in any known form, as records have it; what is no key is unchanged, and matches no record."""
        trimmed = text.strip()
        try:
            return trimmed and read_named_key(trimmed, self._ctx.config, self._ctx.default_accounts).text
        except KeyFormatError:
            return trimmed

    async def _in_turn(
        self, asked: bind_request.BindRequest, place: Address, cause: int | None
    ) -> SessionBindingRecord:
        """Serialise requests to bind the same conversation."""
        what = shared_id(place)
        lock = self._busy.setdefault(what, anyio.Lock())
        try:
            async with lock:
                return await self._bind(asked, place, cause)
        finally:
            if not lock.statistics().tasks_waiting:
                self._busy.pop(what, None)

    async def _bind(self, asked: bind_request.BindRequest, place: Address, cause: int | None) -> SessionBindingRecord:
        ctx = self._ctx
        adapter = self._adapter(place)
        placement = bind_request.choose_placement(asked, place, adapter.placements)
        had = self._bound.at(place) if placement is Placement.CURRENT else None
        if had is not None and bind_request.is_same(asked, place, had):
            return had
        if had is not None:
            bind_request.check_replace(asked, had)
        elif placement is Placement.CURRENT:
            bind_request.check_owner(place, self._bound.owner_of(place, ctx.adapters))
        await self._check_session(asked)
        if placement is Placement.CHILD:
            key = asked.delegation or asked.request or ctx.env.ids.new("thread", *place.lane)
            title = asked.title or asked.label or asked.target_session_key
            where = await self._platforms.open_child(adapter, place, title, key)
            check_child(where, place)
        else:
            where = place
            await self._platforms.check_place(adapter, place, cause)
        settings = ctx.config.channel(place.channel).thread_bindings
        binding = ctx.env.ids.new("binding", *where.lane)
        record = bind_request.record_of(asked, where, binding, ctx.env.now(), settings)
        if settings.identity == "webhook" and where.kind is not ChatKind.DIRECT:
            record = await self._platforms.with_identity(adapter, record, settings)
        return await self._store(asked, record, placement, cause)

    def _adapter(self, place: Address) -> BindsConversations:
        adapter: ChannelAdapter | None = self._ctx.adapters.get((place.channel, place.account))
        if not isinstance(adapter, BindsConversations):
            facts = f"{place}: no adapter of {place.channel}:{place.account} can bind conversations: install one"
            raise BindingError(facts, Reason.BINDING_ADAPTER_UNAVAILABLE)
        return adapter

    async def _check_session(self, asked: bind_request.BindRequest) -> None:
        key = asked.target_session_key
        if asked.new_session or await self._ctx.store.read(queries.FindSession(key=key)) is not None:
            return
        facts = f"there is no session {key!r}: name an existing one, or create it with `new_session`"
        raise BindingError(facts, Reason.UNKNOWN_SESSION)

    async def _store(
        self, asked: bind_request.BindRequest, record: SessionBindingRecord, placement: Placement, cause: int | None
    ) -> SessionBindingRecord:
        ctx, key = self._ctx, record.target_session_key
        agent = read_config_key(key, ctx.config).agent
        session = ctx.new_session(key, agent, None) if asked.new_session else None

        def story(stored: BindResult) -> BindResult:
            if not stored.new:
                return stored
            if stored.session is not None:
                ctx.record_session(stored.session, agent, None, "binding", cause)
            if stored.ended is not None:
                self._bound.record_end(stored.ended, asked.by, "", cause)
            instead_of = None if stored.ended is None else stored.ended.binding_id
            body = bound_event(record, placement, instead_of)
            seq = ctx.events.record(body, cause, binding=record.binding_id, delegation=record.delegation)
            if record.degraded is not None:
                lost = BindingDegraded(
                    identity=f"webhook as {record.label or record.target_session_key}",
                    reason=record.degraded,
                    fallbacks=0,
                )
                ctx.events.record(lost, seq, binding=record.binding_id)
            return stored

        def then(stored: BindResult) -> None:
            if stored.ended is not None:
                self._bound.apply(stored.ended)
            if stored.new:
                self._bound.add(record)

        stored = await ctx.store.write(Bind(record=record, session=session, now=ctx.env.now()), story, then=then)
        return stored.record

    def _record_refusal(
        self, verb: str, conversation: str, key: str, error: BindingError, by: str, cause: int | None
    ) -> None:
        body = BindingRefused(
            verb=verb,
            conversation=well_formed(conversation),
            session_key=well_formed(key),
            reason=error.reason,
            detail=well_formed(error.facts),
            by=by,
        )
        self._ctx.events.record(body, cause)

    async def run(self) -> None:
        """End expired bindings until cancelled; see `trunkline.core.runtime.bindings.service`."""
        await self._expiry.run()

    def _notify_if_expired(self, record: SessionBindingRecord, cause: int | None) -> None:
        if record.reason is Reason.IDLE_EXPIRED or record.reason is Reason.MAX_AGE_EXPIRED:
            self._expired(record, record.reason, cause)


def _is_at(record: SessionBindingRecord, conversation: Address | ConversationRef) -> bool:
    try:
        place = conversation if isinstance(conversation, Address) else place_of(conversation)
    except TargetError:
        return False
    return place_id(record.conversation) == place_id(place)


def bound_event(record: SessionBindingRecord, placement: Placement, instead_of: str | None) -> BindingBound:
    return filled(
        BindingBound,
        record,
        session_key=record.target_session_key,
        target_kind=record.target_kind.value,
        placement=placement.value,
        by=record.bound_by,
        identity=None if record.identity is None else str(record.identity),
        instead_of=instead_of,
    )
