"""Runs a scenario with its platforms on the wire, judges it as in virtual time, and compares the verdicts."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import msgspec
from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.cursors import StoreCursors
from trunkline.core.adapters.factory import make_adapter
from trunkline.core.adapters.own_names import OwnNames
from trunkline.core.adapters.port import AdapterHost, PlatformAdapter, TakesWebhooks, WebhookCall
from trunkline.core.channels import ChannelAdapter
from trunkline.core.declared import filled
from trunkline.core.errors import UsageError
from trunkline.core.events import Event, EventSink, RunEnded
from trunkline.core.events.adapters import AdapterConnected
from trunkline.core.gateway import Gateway
from trunkline.core.store import Store
from trunkline.core.values import Address, Receipt, SendRequest
from trunkline.sim.invariants import Status
from trunkline.sim.loop import NODE, Node, RealTimeLoop, run_real_time
from trunkline.sim.platforms import FakePlatform
from trunkline.sim.platforms.process_adapters import InMemory, ProcessAdapters
from trunkline.sim.run.env import sim_env
from trunkline.sim.run.result import Run, RunResult
from trunkline.sim.run.runner import MAX_STEPS, PlayedRun, ScenarioRun, bugs_of, header_of, result_of
from trunkline.sim.run.world import World
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.wire.attribution import Attribution, WireAttempt
from trunkline.sim.wire.play.accounts import CallsGateway, account_on, subscribe, transported_keys
from trunkline.sim.wire.play.fit import unfit
from trunkline.sim.wire.server import WireListener
from trunkline.sim.wire.servers import ON_THE_WIRE, listening
from trunkline.sim.wire.sockets import LoopbackSite

_LARGEST = 64 * 1024 * 1024


class WebhookReceiver(LoopbackSite):
    """Hands calls of platforms to adapters, without a server of the gateway: ``/v1/platforms/{channel}/{account}``."""

    def __init__(self) -> None:
        super().__init__()
        self._adapters: dict[tuple[str, str], TakesWebhooks] = {}

    def hand_over(self, channel: str, account: str, adapter: TakesWebhooks) -> str:
        """Hand the requests for an account to an adapter, in place of an earlier one. Returns the address."""
        self._adapters[channel, account] = adapter
        return f"{self.url}/v1/platforms/{channel}/{account}"

    def app(self) -> web.Application:
        app = web.Application(client_max_size=_LARGEST)
        app.router.add_route("*", "/v1/platforms/{channel}/{account}{tail:.*}", self._call)
        return app

    async def _call(self, request: web.Request) -> web.Response:
        at = request.match_info
        adapter = self._adapters.get((at["channel"], at["account"]))
        if adapter is None:
            return web.Response(status=404)
        call = WebhookCall(
            method=request.method,
            tail=at["tail"],
            query=tuple(request.query.items()),
            headers={name.lower(): value for name, value in request.headers.items()},
            body=await request.read(),
        )
        answer = await adapter.webhook(call)
        return web.Response(status=answer.status, body=answer.body, headers={"Content-Type": answer.media_type})


# The calls that the gateway has made of its adapters: they say which attempt a request on the wire belongs to.
#
# No platform transports an intent, a chunk or an attempt. In memory the adapter hands the gateway's own request to the
# platform; on the wire only its bytes arrive. So each call of an adapter is noted before it begins.
#
# What is trusted: that the gateway calls its adapters as it records its attempts, which the port passes on unseen. What
# is not trusted is the adapter: nothing is taken from it but its bytes. A key that is on the wire has to be that of a
# call; a text has to be that of a call in the same place. A request of which neither is true stands for itself, and the
# invariants find a message that nobody asked for. A request that an adapter makes twice is twice the same attempt, and
# the invariants find a message that was delivered twice.

#: calls that are remembered: those in progress, and those whose bytes may still be on their way
_MOST = 2_000
#: the number that makes a repeated key unique; a thread is named after the key without it
_AGAIN = re.compile(r"\+[0-9]+")
_Lane = tuple[str, str, str, str]
T = TypeVar("T")


class _Call(msgspec.Struct, eq=False):
    lane: _Lane
    #: what was asked for; of a thread that is opened, its title
    about: SendRequest | ActionRequest | str
    #: of a thread that is opened: its key
    key: str = ""
    process: Node | None = msgspec.field(default_factory=NODE.get)
    returned: bool = False

    @property
    def going_on(self) -> bool:
        return not self.returned and (self.process is None or self.process.alive)


class CallBook(Attribution):
    """The attribution for gateways whose adapters are in this process.

    `lane`: the canonical form of a place. `keys`: channel -> the form in which its platform transports a key; none: it
    transports none.
    """

    def __init__(self, lane: Callable[[Address], _Lane], keys: Mapping[str, Callable[[str], str]]) -> None:
        self._lane = lane
        self._keys = keys
        self._calls: deque[_Call] = deque(maxlen=_MOST)

    def calling(self, request: SendRequest | ActionRequest) -> AbstractContextManager[None]:
        return self._noted(_Call(self._lane(request.address), request))

    def opening_child(self, parent: Address, title: str, key: str) -> AbstractContextManager[None]:
        return self._noted(_Call(self._lane(parent), title, _AGAIN.sub("", key)))

    @contextmanager
    def _noted(self, call: _Call) -> Generator[None]:
        self._calls.appendleft(call)
        try:
            yield
        finally:
            call.returned = True

    def attempt(self, address: Address, key: str | None, text: str) -> WireAttempt | None:
        """The newest call with the key; without a key, that with the text in the place, else the one going on there."""
        sends = [(made, made.about) for made in self._calls if isinstance(made.about, SendRequest)]
        form = self._keys.get(address.channel)
        if key is not None and form is not None:
            return next((_joined(request, text) for _, request in sends if form(request.key) == key), None)
        lane = self._lane(address)
        here = [(call, request) for call, request in sends if call.lane == lane]
        same = [(call, request) for call, request in here if text in (request.text, request.html)]
        going_on = [request for call, request in here if call.going_on]
        found = _newest(same) or (going_on[0] if len(going_on) == 1 else None)
        return None if found is None else _joined(found, text)

    def change(self, action: Action, address: Address, message_id: str | None) -> WireAttempt | None:
        """The newest call for the action in the place, about the message if there is one."""
        lane = self._lane(address)
        found = _newest(
            [
                (call, call.about)
                for call in self._calls
                if isinstance(call.about, ActionRequest)
                and (call.about.action, call.lane) == (action, lane)
                and call.about.message_id in (message_id, None)
            ]
        )
        return None if found is None else _joined(found, "")

    def opening(self, parent: Address, title: str) -> str | None:
        """The key of the newest call that goes on and opens a thread under a place, one with the title if there is one.

        An adapter may cut a title, add to it, or open the thread under the room of the thread that was named.
        """
        lane = self._lane(parent)
        opened = [(made, str(made.about)) for made in self._calls if isinstance(made.about, str) and made.going_on]
        here = [entry for entry in opened if entry[0].lane == lane] or [
            entry for entry in opened if entry[0].lane[:2] == lane[:2]
        ]
        titled = [entry for entry in here if title.startswith(entry[1]) or entry[1].startswith(title)]
        return next((call.key for call, _ in titled or here), None)


def _newest(found: Sequence[tuple[_Call, T]]) -> T | None:
    """The subject of the newest call that goes on, else of the newest of all. `found`: the newest first."""
    going_on = [about for call, about in found if call.going_on]
    return next(iter(going_on), found[0][1] if found else None)


def _joined(request: SendRequest | ActionRequest, text: str) -> WireAttempt:
    return filled(WireAttempt, request, text=request.text if text and text in (request.text, request.html) else None)


#: seconds that processes have to close their connections at the end of a run
_CLOSING = 0.9
#: seconds by which a crash at the start of an attempt is late: the clock moves on when all bytes have been read
_DEPARTURE = 0.001
#: seconds that a script waits for the first connections. It goes by the same clock, which hardly moves meanwhile
_CONNECTING = 0.5


class WireAdapters(ProcessAdapters):
    """Reaches platforms on the wire, and the others in memory."""

    def __init__(self, world: World, loop: RealTimeLoop) -> None:
        self._world = world
        self._loop = loop
        self._book = CallBook(self._lane, transported_keys())
        self._listeners: dict[str, WireListener] = {}
        self._made: dict[Node, list[PlatformAdapter]] = {}
        #: the names of the accounts of each process
        self._own: dict[Node, OwnNames] = {}
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
        listener = self._listeners.get(platform.channel)
        if listener is None:
            return in_memory()
        adapter = self._adapter(listener, platform, account, store, events, self._own.setdefault(node, OwnNames()))
        self._made.setdefault(node, []).append(adapter)
        if self._first in (None, node):
            self._first = node
            self._expected.add((platform.channel, account))
        return noting(adapter, self._book)

    def _adapter(
        self,
        listener: WireListener,
        platform: FakePlatform,
        account: str,
        store: Store | None,
        events: EventSink,
        own: OwnNames | None = None,
    ) -> PlatformAdapter:
        world, reached = self._world, account_on(listener.server, platform, account)
        host = AdapterHost(
            account=account,
            env=sim_env(world.wall_clock, world.now, world.ids, world.seed, world.scenario.world.files),
            cursors=StoreCursors(store, platform.channel, account) if store is not None else _NoCursors(),
            events=events,
            folder=Path(),
            environ=reached.environ,
            own=OwnNames() if own is None else own,
        )
        return make_adapter(reached.config, host)

    async def serve(self, gateway: Gateway, node: Node) -> None:
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
    async def load(self, name: str) -> str | None:
        return None

    async def save(self, name: str, value: str) -> None:
        """Keep nothing."""


def noting(adapter: PlatformAdapter, book: CallBook) -> PlatformAdapter:
    """The adapter itself, whose calls are noted before they begin.

    Its methods are replaced in the object, so that it keeps every optional protocol that its class has.
    """
    own, kind = vars(adapter), type(adapter)

    def note_calls(make: Any) -> Any:
        async def make_noted(request: Any) -> Receipt:
            with book.calling(request):
                return await make(request)

        return make_noted

    for name in ("send", "act"):
        if hasattr(kind, name):
            own[name] = note_calls(getattr(adapter, name))
    if hasattr(kind, "open_child"):
        open_child: Any = getattr(adapter, "open_child")  # noqa: B009 -- not every adapter has it

        async def noted_open(parent: Address, title: str, key: str) -> Address:
            with book.opening_child(parent, title, key):
                return await open_child(parent, title, key)

        own["open_child"] = noted_open
    return adapter


#: seconds of a run in one second of waiting: the usual, and the highest. A time-out of 30 s is 0.3 s, or 30 ms, without
#: a byte on any socket. Both ends of a connection are in this process, so only the kernel could be late
SPEED, FASTEST = 100.0, 1000.0
#: seconds of the machine that a long script should wait at most, if that is possible
_PATIENCE = 6.0
#: seconds within which everything must come to rest after the script; in virtual time it is four hours
REST_BOUND = 1200.0
#: seconds after the script for which it waits for what the gateway has announced, such as the deadline of a hand
PATIENCE = 1800.0


def speed_for(file: ScenarioFile) -> float:
    """How fast a scenario waits by default: `SPEED`, and faster where its script is long."""
    return min(max(SPEED, max(file.times, default=0.0) / _PATIENCE), FASTEST)


def run_on_wire(
    file: ScenarioFile,
    *,
    seed: int | None = None,
    bugs: Iterable[str] = (),
    speed: float | None = None,
    watch: Callable[[Event], None] | None = None,
) -> RunResult:
    """Run a scenario on the wire. `speed`: how many times faster than the clock it waits; by default `speed_for`.

    Raises `UsageError` for a scenario that does not fit (`trunkline.sim.wire.play.fit.unfit`).
    """
    speed = speed_for(file) if speed is None else speed
    if not 0 < speed <= FASTEST:
        raise UsageError(f"the speed must be above 0, and at most {FASTEST:g}, not {speed:g}")
    own_seed, names = file.scenario.seed if seed is None else seed, bugs_of(file, bugs)
    reasons = unfit(file, names)
    if reasons:
        raise UsageError(f"{file.id} is not on the wire: {'; '.join(reason.reason for reason in reasons)}")
    kept: list[ScenarioRun] = []

    async def main(loop: RealTimeLoop) -> PlayedRun:
        adapters = partial(WireAdapters, loop=loop)
        run = ScenarioRun(file, loop, seed=own_seed, bugs=names, adapters=adapters, bound=REST_BOUND, patience=PATIENCE)
        kept.append(run)
        if watch is not None:
            run.world.log.subscribe(watch)
        return await run.play()

    try:
        played = run_real_time(main, seed=own_seed, factor=speed, waits_only=True, max_steps=MAX_STEPS)
    finally:
        for run in kept:
            run.world.disk.discard()
    header = msgspec.structs.replace(header_of(file, seed=seed, bugs=bugs), on_wire=True)
    return result_of(file, header, played)


class VerdictDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A difference: what holds on one side only."""

    #: id of an invariant, or the summary of an expectation
    what: str
    #: what it says on the wire, and in virtual time: ``holds`` or ``violated``, ``met`` or ``missed``
    on_wire: str
    in_virtual_time: str

    def __str__(self) -> str:
        return f"{self.what}: {self.on_wire} on the wire, {self.in_virtual_time} in virtual time"


def differences(wire: Run, virtual: Run) -> tuple[VerdictDifference, ...]:
    """The invariants and expectations on which two runs of a scenario differ.

    That one run exercised an invariant or a fault and the other did not is no difference: how often a connection
    breaks, for one, differs from run to run. A run on the wire that was given up before that in virtual time came to
    rest, such as one that waits a day for a hand, is not asked for what comes later: then only what it does not find is
    a difference.
    """
    found: list[VerdictDifference] = []
    early = _was_given_up(wire) and wire.trace.events[-1].at < virtual.trace.events[-1].at
    broken = {verdict.id for verdict in virtual.verdicts if verdict.status is Status.VIOLATED}
    for verdict in wire.verdicts:
        here, there = verdict.status is Status.VIOLATED, verdict.id in broken
        if here != there and not (early and here):
            words = ("holds", "violated")
            found.append(VerdictDifference(what=verdict.id, on_wire=words[here], in_virtual_time=words[there]))
    missed, also = _missed(wire), _missed(virtual)
    for what in missed | also:
        if (what in missed) != (what in also) and not (early and what in missed):
            words = ("met", "missed")
            here, there = what in missed, what in also
            found.append(
                VerdictDifference(what=f"expectation {what}", on_wire=words[here], in_virtual_time=words[there])
            )
    return tuple(found)


def _missed(run: Run) -> dict[str, None]:
    """The expectations that a run misses; not what it does not exercise."""
    return {unmet.summary: None for unmet in run.unmet if not unmet.not_exercised}


def _was_given_up(run: Run) -> bool:
    last = run.trace.events[-1].body if run.trace.events else None
    return isinstance(last, RunEnded) and not last.at_rest
