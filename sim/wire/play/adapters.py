"""The adapters of simulated processes to platforms on the wire: real ones, which die with their process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

import anyio

from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.cursors import StoreCursors
from trunkline.core.adapters.factory import make_adapter
from trunkline.core.adapters.port import AdapterHost, PlatformAdapter, TakesWebhooks
from trunkline.core.channels import ChannelAdapter
from trunkline.core.events import Event, EventSink
from trunkline.core.events.adapters import AdapterConnected
from trunkline.core.gateway import Gateway
from trunkline.core.store import Store
from trunkline.core.values import Address, Receipt, SendRequest
from trunkline.sim.loop import Node, RealTimeLoop
from trunkline.sim.platforms import FakePlatform
from trunkline.sim.platforms.process_adapters import InMemory
from trunkline.sim.run.env import sim_env
from trunkline.sim.run.world import World
from trunkline.sim.wire.listener import WireListener
from trunkline.sim.wire.play.accounts import CallsGateway, account_on, subscribe, transported_keys
from trunkline.sim.wire.play.call_book import CallBook
from trunkline.sim.wire.servers import ON_THE_WIRE, listening
from trunkline.sim.wire.webhook_receiver import WebhookReceiver

#: seconds that processes have to close their connections at the end of a run
_CLOSING = 0.9
#: seconds by which a crash at the start of an attempt is late: the clock moves on when all bytes have been read
_DEPARTURE = 0.001
#: seconds that a script waits for the first connections. It goes by the same clock, which hardly moves meanwhile
_CONNECTING = 0.5


class WireAdapters:
    """`trunkline.sim.platforms.process_adapters.ProcessAdapters`: platforms on the wire, and the others in memory."""

    def __init__(self, world: World, loop: RealTimeLoop) -> None:
        self._world = world
        self._loop = loop
        self._book = CallBook(self._lane, transported_keys())
        self._listeners: dict[str, WireListener] = {}
        self._made: dict[Node, list[PlatformAdapter]] = {}
        self._serving: dict[Node, asyncio.Task[Any]] = {}
        self._context = copy_context()
        #: the first process, its accounts, and those that were connected since
        self._first: Node | None = None
        self._expected: set[tuple[str, str]] = set()
        self._connected: set[tuple[str, str]] = set()
        self._news = anyio.Event()
        world.log.subscribe(self._see_connected, AdapterConnected)
        world.departure = _DEPARTURE

    def _lane(self, place: Address) -> tuple[str, str, str, str]:
        conversation, thread = self._world.platforms[place.channel].canonical(place)
        return place.channel, place.account, conversation, thread or ""

    @asynccontextmanager
    async def open(self, platforms: Mapping[str, FakePlatform]) -> AsyncGenerator[None]:
        """Listen for all platforms that can be on the wire. At the end processes close what they have open."""
        wired = {name: platform for name, platform in platforms.items() if name in ON_THE_WIRE}
        async with listening(wired, self._world, self._book) as listeners:
            self._listeners = listeners
            self._import_libraries()
            try:
                yield
            finally:
                await self._end_processes()

    def _import_libraries(self) -> None:
        """Make one adapter of each platform, which is not used: importing a library takes a while."""
        for name, listener in self._listeners.items():
            platform = self._world.platforms[name]
            self._adapter(listener, platform, next(iter(platform.spec.accounts)), None, self._world.events)

    async def _end_processes(self) -> None:
        live = [task for node, task in self._serving.items() if node.alive and not node.frozen]
        for task in live:
            task.cancel()
        if live:
            await asyncio.wait(live, timeout=_CLOSING)

    # ------------------------------------------------------------ trunkline.sim.platforms.process_adapters

    async def wait_until_connected(self) -> None:
        """Wait for the connections of the first process. One that cannot connect does not hold up the script for long.

        Some platforms hand nothing over that was said before an account was ever connected.
        """
        with anyio.move_on_after(_CONNECTING):
            while not self._expected <= self._connected:
                self._news = anyio.Event()
                await self._news.wait()

    def _see_connected(self, event: Event) -> None:
        assert isinstance(event.body, AdapterConnected)
        self._connected.add((event.body.channel, event.body.account))
        self._news.set()

    def make(
        self, in_memory: InMemory, platform: FakePlatform, account: str, node: Node, store: Store, events: EventSink
    ) -> ChannelAdapter:
        """A real adapter, noted in the book; in memory for a platform that is not on the wire."""
        listener = self._listeners.get(platform.channel)
        if listener is None:
            return in_memory()
        adapter = self._adapter(listener, platform, account, store, events)
        self._made.setdefault(node, []).append(adapter)
        if self._first in (None, node):
            self._first = node
            self._expected.add((platform.channel, account))
        return noting(adapter, self._book)

    def _adapter(
        self, listener: WireListener, platform: FakePlatform, account: str, store: Store | None, events: EventSink
    ) -> PlatformAdapter:
        world, reached = self._world, account_on(listener.server, platform, account)
        host = AdapterHost(
            account=account,
            env=sim_env(world.wall_clock, world.now, world.ids, world.seed, world.scenario.world.files),
            cursors=StoreCursors(store, platform.channel, account) if store is not None else _NoCursors(),
            events=events,
            folder=Path(),
            environ=reached.environ,
        )
        return make_adapter(reached.config, host)

    def serve(self, gateway: Gateway, node: Node) -> Coroutine[Any, Any, None]:
        """The gateway, within the lives of its adapters."""
        return self._serve(gateway, node)

    async def _serve(self, gateway: Gateway, node: Node) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving[node] = task
        async with AsyncExitStack() as stack:
            receiver: WebhookReceiver | None = None
            for adapter in self._made.get(node, ()):
                await stack.enter_async_context(adapter.running())
                server = self._listeners[adapter.channel].server
                if isinstance(server, CallsGateway) and isinstance(adapter, TakesWebhooks):
                    receiver = receiver or await _receiving(stack)
                    url = receiver.hand_over(adapter.channel, adapter.account, adapter)
                    # In the world: what the platform delivers goes on when this process is dead.
                    call = subscribe(server, adapter.account, url)
                    self._loop.create_task(call, name=f"subscribe {adapter.channel}", context=self._context.copy())
            await gateway.run()

    def close_process(self, node: Node) -> None:
        """Close the connections of a process, as its operating system does."""
        self._loop.close_connections(node)


async def _receiving(stack: AsyncExitStack) -> WebhookReceiver:
    receiver = WebhookReceiver()
    await receiver.open()
    stack.push_async_callback(receiver.close)
    return receiver


class _NoCursors:
    """The cursors of an adapter that is never used."""

    async def load(self, name: str) -> str | None:
        return None

    async def save(self, name: str, value: str) -> None:
        """Keep nothing."""


def noting(adapter: PlatformAdapter, book: CallBook) -> PlatformAdapter:
    """The adapter itself, whose calls are noted before they begin.

    Its methods are replaced in the object, so that it keeps every optional protocol that its class has.
    """
    own, kind = vars(adapter), type(adapter)
    send: Any = adapter.send

    async def noted_send(request: SendRequest) -> Receipt:
        with book.calling(request):
            return await send(request)

    own["send"] = noted_send
    if hasattr(kind, "act"):
        act: Any = getattr(adapter, "act")  # noqa: B009 -- not every adapter has it

        async def noted_act(request: ActionRequest) -> Receipt:
            with book.calling(request):
                return await act(request)

        own["act"] = noted_act
    if hasattr(kind, "open_child"):
        open_child: Any = getattr(adapter, "open_child")  # noqa: B009 -- not every adapter has it

        async def noted_open(parent: Address, title: str, key: str) -> Address:
            with book.opening_child(parent, title, key):
                return await open_child(parent, title, key)

        own["open_child"] = noted_open
    return adapter
