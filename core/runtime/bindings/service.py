"""The session-binding service: bind, list, resolve, touch and unbind conversations (docs/bindings.md).

A binding, or its end, is durable before any message is routed by it. Threads and webhooks are requested from the
platform before anything is stored, so a failed binding leaves nothing in the store.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar, Unpack

import anyio
import msgspec

from trunkline.core.bindings.bind_request import (
    OPERATOR,
    BindFields,
    BindRequest,
    check_owner,
    check_replace,
    check_request,
    choose_placement,
    end_reason,
    is_same,
    normal,
    read_target,
    record_of,
    request_of,
    shown,
)
from trunkline.core.bindings.conversation_match import place_id, place_of, shared_id
from trunkline.core.bindings.port import BindsConversations
from trunkline.core.channels import ChannelAdapter
from trunkline.core.errors import BindingError, KeyFormatError, TargetError
from trunkline.core.events.bindings import BindingBound, BindingDegraded, BindingRefused
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, Placement, SessionBindingRecord
from trunkline.core.records.rows import BindResult
from trunkline.core.routing.key_text import read_config_key
from trunkline.core.runtime.bindings.expiry import BindingExpiry
from trunkline.core.runtime.bindings.platform_requests import PlatformRequests, check_child
from trunkline.core.runtime.context import Context
from trunkline.core.sessions.named_key import read_named_key
from trunkline.core.states.binding import BindingStatus
from trunkline.core.store.commands import Bind
from trunkline.core.store.queries import (
    CountOpenByBinding,
    FindBindingOfRequest,
    FindSession,
    ListBindings,
    ListOwnWebhooks,
)
from trunkline.core.values import Address, ChatKind
from trunkline.core.well_formed import well_formed

T = TypeVar("T")


class SessionBindingService:
    """Binds conversations of any channel to sessions."""

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
        """Load the bindings that have not ended."""
        stored = await self._ctx.store.read(ListBindings())
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
        for binding, count in (await self._ctx.store.read(CountOpenByBinding())).items():
            self._bound.hold_open(binding, count)
        for channel, webhook in await self._ctx.store.read(ListOwnWebhooks()):
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

    # ------------------------------------------------------------ public API

    async def bind(
        self, asked: BindRequest | None = None, cause: int | None = None, **fields: Unpack[BindFields]
    ) -> SessionBindingRecord:
        """Bind a conversation to a session, by a request or its fields. Durable on return.

        Raises `BindingError`; then nothing was changed. A conversation that is already bound to that session is left
        unchanged.
        """
        await self.up.wait()
        try:
            asked = normal(request_of(asked, fields))
            if asked.request is not None:
                before = await self._ctx.store.read(FindBindingOfRequest(request=asked.request))
                if before is not None:
                    return before
            place = check_request(asked, self._ctx.config)
            named = read_target(asked.target_session_key, self._ctx.config, self._ctx.default_accounts)
            asked = msgspec.structs.replace(asked, target_session_key=named.text)
            return await self._in_turn(asked, place, cause)
        except BindingError as error:
            where, key, by = shown(asked, fields)
            self._record_refusal("bind", where, key, error, by, cause)
            raise

    def list_by_session(self, target_session_key: str) -> tuple[SessionBindingRecord, ...]:
        """The bindings of a session that have not ended, in the order of creation."""
        return self._bound.index.of_session(self._stored_key(target_session_key))

    def all(self) -> tuple[SessionBindingRecord, ...]:
        """All bindings that have not ended, in the order of creation."""
        return tuple(self._bound.index)

    def resolve_by_conversation(self, conversation: Address | ConversationRef) -> SessionBindingRecord | None:
        """The active binding of a conversation, or None."""
        try:
            place = conversation if isinstance(conversation, Address) else place_of(conversation)
        except TargetError:
            return None
        return self._bound.at(place)

    def touch(self, binding_id: str, at: float | None = None, by: str = OPERATOR, cause: int | None = None) -> None:
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
        by: str = OPERATOR,
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

    # ------------------------------------------------------------ binding

    async def _in_turn(self, asked: BindRequest, place: Address, cause: int | None) -> SessionBindingRecord:
        """Serialise requests that bind the same conversation."""
        what = shared_id(place)
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
            check_replace(asked, had)
        elif placement is Placement.CURRENT:
            check_owner(place, self._bound.owner_of(place, ctx.adapters))
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
        record = record_of(asked, where, binding, ctx.env.now(), settings)
        if settings.identity == "webhook" and where.kind is not ChatKind.DIRECT:
            record = await self._platforms.with_identity(adapter, record, settings)
        return await self._store(asked, record, placement, cause)

    def _adapter(self, place: Address) -> BindsConversations:
        adapter: ChannelAdapter | None = self._ctx.adapters.get((place.channel, place.account))
        if not isinstance(adapter, BindsConversations):
            facts = f"{place}: no adapter of {place.channel}:{place.account} can bind conversations: install one"
            raise BindingError(facts, Reason.BINDING_ADAPTER_UNAVAILABLE)
        return adapter

    async def _check_session(self, asked: BindRequest) -> None:
        key = asked.target_session_key
        if asked.new_session or await self._ctx.store.read(FindSession(key=key)) is not None:
            return
        facts = f"there is no session {key!r}: name an existing one, or create it with `new_session`"
        raise BindingError(facts, Reason.UNKNOWN_SESSION)

    async def _store(
        self, asked: BindRequest, record: SessionBindingRecord, placement: Placement, cause: int | None
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
            body = _bound_event(record, placement, instead_of)
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

    # ------------------------------------------------------------ expiry

    async def run(self) -> None:
        """End expired bindings until cancelled; see `trunkline.core.runtime.bindings.expiry`."""
        await self._expiry.run()

    def _notify_if_expired(self, record: SessionBindingRecord, cause: int | None) -> None:
        """Notify the callback if a binding ended because it expired."""
        if record.reason is Reason.IDLE_EXPIRED or record.reason is Reason.MAX_AGE_EXPIRED:
            self._expired(record, record.reason, cause)


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
        owner=record.owner,
    )
