"""Wrappers of adapters and event sinks that pass everything on, for defects to override one method."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.bindings.port import BindsConversations
from trunkline.core.channels import (
    Actions,
    ChannelAdapter,
    Directory,
    InboundStream,
    LateOutcome,
    LateOutcomes,
    PlaceReadiness,
    Queries,
    Readiness,
    Ready,
    Reopenings,
    Resolved,
)
from trunkline.core.errors import Refused
from trunkline.core.events import Body, EventSink
from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.core.values import Address, Capabilities, Envelope, Identity, Receipt, SendRequest
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.platforms.tokens import RenewableAdapter


class AdapterWrapper:
    """A `ChannelAdapter` that passes every call to the wrapped one."""

    def __init__(self, inner: ChannelAdapter) -> None:
        self.inner = inner

    @property
    def channel(self) -> str:
        return self.inner.channel

    @property
    def account(self) -> str:
        return self.inner.account

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    def connect(self) -> InboundStream:
        return self.inner.connect()

    def connect_reopened(self, call: Callable[[Address], None]) -> None:
        """As the wrapped one, where its platform says so."""
        if isinstance(self.inner, Reopenings):
            self.inner.connect_reopened(call)

    def connect_late(self, call: Callable[[LateOutcome], None]) -> None:
        if isinstance(self.inner, LateOutcomes):
            self.inner.connect_late(call)

    async def ack(self, envelope: Envelope) -> None:
        await self.inner.ack(envelope)

    async def send(self, request: SendRequest) -> Receipt:
        return await self.inner.send(request)

    async def find(self, address: Address, key: str) -> Receipt | None:
        return await self.inner.find(address, key)

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        return await self.inner.open_thread(place, message_id, title)

    @property
    def placements(self) -> tuple[Placement, ...]:
        """As the wrapped one; none where it cannot bind conversations."""
        return self.inner.placements if isinstance(self.inner, BindsConversations) else ()

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        return await self._binds.open_child(parent, title, key)

    async def inspect(self, place: Address) -> PlaceState:
        return await self._binds.inspect(place)

    async def reopen(self, place: Address) -> None:
        await self._binds.reopen(place)

    async def identity(self, place: Address, name: str) -> Identity | None:
        return await self._binds.identity(place, name)

    @property
    def _binds(self) -> BindsConversations:
        if not isinstance(self.inner, BindsConversations):
            raise Refused("this adapter cannot bind conversations")
        return self.inner

    def renew(self, token: int) -> None:
        """As the wrapped one, where its token can be replaced while it serves."""
        if isinstance(self.inner, RenewableAdapter):
            self.inner.renew(token)

    async def act(self, request: ActionRequest) -> Receipt:
        """As the wrapped one, where it has actions."""
        if not isinstance(self.inner, Actions):
            raise Refused(f"there is no {request.action.value} here")
        return await self.inner.act(request)

    async def ask(self, query: ActionQuery) -> object:
        """As the wrapped one, where it answers questions."""
        if not isinstance(self.inner, Queries):
            raise Refused(f"there is no {query.action.value} here")
        return await self.inner.ask(query)

    async def ready(self) -> Ready:
        """As the wrapped one; ready where it does not say."""
        return await self.inner.ready() if isinstance(self.inner, Readiness) else Ready(ok=True)

    async def ready_at(self, place: Address) -> Ready:
        """As the wrapped one; ready where it does not say."""
        return await self.inner.ready_at(place) if isinstance(self.inner, PlaceReadiness) else Ready(ok=True)

    async def resolve_target(self, text: str) -> Resolved | None:
        """As the wrapped one, where it has a directory."""
        return await self.inner.resolve_target(text) if isinstance(self.inner, Directory) else None


class HearingWrapper(AdapterWrapper):
    """A wrapper that hands over each message after `hear`."""

    async def hear(self, envelope: Envelope) -> Envelope:
        """The message that the gateway gets."""
        return envelope

    def connect(self) -> InboundStream:
        return self._connect()

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        async with self.inner.connect() as envelopes:
            yield self._each(envelopes)

    async def _each(self, envelopes: AsyncIterator[Envelope]) -> AsyncIterator[Envelope]:
        async for envelope in envelopes:
            yield await self.hear(envelope)


class PartlyDeaf(HearingWrapper):
    """An adapter that confirms some messages and hands them to nobody."""

    def connected(self) -> None:
        """The adapter has connected; before the first message."""

    def hears(self, envelope: Envelope) -> bool:
        """Whether the gateway gets a message."""
        raise NotImplementedError

    async def _each(self, envelopes: AsyncIterator[Envelope]) -> AsyncIterator[Envelope]:
        self.connected()
        async for envelope in envelopes:
            if self.hears(envelope):
                yield envelope
            else:
                await self.inner.ack(envelope)


class ChangingSink:
    """An `EventSink` that records other events than it gets, or none."""

    def __init__(self, inner: EventSink, change: Callable[[Body], Body | None]) -> None:
        self._inner = inner
        self._change = change

    def record(self, body: Body, cause: int | None = None, **about: str | None) -> int:
        """Record what the change makes of an event, or swallow it and answer with the cause."""
        changed = self._change(body)
        return cause or 0 if changed is None else self._inner.record(changed, cause, **about)


def changing_events(change: Callable[[Body], Body | None]) -> Callable[[Wiring], None]:
    """An installer that changes events before they are recorded; None: it is swallowed."""

    def install(wiring: Wiring) -> None:
        before = wiring.wrap_events
        wiring.wrap_events = lambda sink: ChangingSink(before(sink), change)

    return install


def swallowing(swallows: Callable[[Body], bool]) -> Callable[[Wiring], None]:
    """An installer that swallows some events."""
    return changing_events(lambda body: None if swallows(body) else body)


def changing_sends(change: Callable[[SendRequest], SendRequest]) -> Callable[[Wiring], None]:
    """An installer of adapters that send what a function makes of each request."""

    class Changing(AdapterWrapper):
        async def send(self, request: SendRequest) -> Receipt:
            return await self.inner.send(change(request))

    return wrapping(Changing)


def wrapping(wrapper: Callable[[ChannelAdapter], ChannelAdapter]) -> Callable[[Wiring], None]:
    """An installer that wraps every adapter."""

    def install(wiring: Wiring) -> None:
        before = wiring.wrap_adapter
        wiring.wrap_adapter = lambda adapter: wrapper(before(adapter))

    return install
