"""The bench of the adapter kit over a real adapter and its platform on the wire."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tests.support.contract.fake_platform_double import FILE, ROOMS, FakeBench
from trunkline.core.adapters.config import AccountConfig
from trunkline.core.adapters.factory import make_adapter
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.channels import ChannelAdapter
from trunkline.core.env import system_env
from trunkline.core.errors import PlatformError
from trunkline.core.testing.adapter_kit import KitReport, SeenMessage, check_channel_adapter
from trunkline.core.values import Idempotency, Receipt, SendRequest
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.world import World
from trunkline.sim.scenario import load_text
from trunkline.sim.scenario.model.world import THREADLESS
from trunkline.sim.wire.attribution import Attribution
from trunkline.sim.wire.server import WireListener
from trunkline.sim.wire.servers import listening

B = TypeVar("B", bound="WireBench")


class MemoryCursors:
    """Cursors that outlive an adapter."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    async def load(self, name: str) -> str | None:
        return self.values.get(name)

    async def save(self, name: str, value: str) -> None:
        self.values[name] = value


class WireBench(FakeBench):
    """A platform on the wire and its real adapter. A platform's own bench sets `config` and what it cannot show."""

    #: the platform, and the account's configuration: `{url}` and `{token}` are replaced
    platform = ""
    config: dict[str, Any] = {}  # noqa: RUF012 -- set by subclasses

    def __init__(self, world: World, listener: WireListener, stack: AsyncExitStack) -> None:
        self.listener = listener
        self.cursors = MemoryCursors()
        self._stack = stack
        super().__init__(world, listener.server.channel)

    def _make(self) -> ChannelAdapter:
        server = self.listener.server
        facts = {"{url}": server.url, "{token}": server.token("default", 1)}
        account = AccountConfig.model_validate({self.platform: _filled(self.config, facts)})
        log = self._world.log.recorder("gateway")
        # Secrets have names here: `{env: TOKEN}`.
        environ = {"TOKEN": server.token("default", 1), **self.secrets()}
        env = system_env()
        self.host = AdapterHost(
            account="default", env=env, cursors=self.cursors, events=log, folder=Path(), environ=environ
        )
        self.real = make_adapter(account, self.host)
        return _Reopening(self.real, self.listener)  # type: ignore[return-value]

    def secrets(self) -> dict[str, str]:
        """Further secrets of the account, by the names that `config` gives them."""
        return {}

    async def open(self) -> None:
        """Enter the life of the adapter."""
        await self._stack.enter_async_context(self.real.running())

    async def accepted(self) -> Sequence[SeenMessage]:
        """What the platform has. Keys are known only where the platform transports them."""
        found = await super().accepted()
        if self.adapter.capabilities.idempotency is Idempotency.KEY:
            return found
        return [msgspec.structs.replace(message, key=None) for message in found]

    async def restart(self) -> ChannelAdapter:
        made = self._make()
        await self.open()
        return made

    async def refuse_connection(self) -> None:
        await self.listener.close()


class _Reopening:
    """Opens the socket again after a send, so that a refused connection strikes one send."""

    def __init__(self, adapter: Any, listener: WireListener) -> None:
        self._adapter = adapter
        self._listener = listener

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self._adapter.send(request)
        except PlatformError:
            await self._listener.open()
            raise


def _filled(value: Any, facts: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, facts) for key, one in value.items()}
    if isinstance(value, str):
        for name, fact in facts.items():
            value = value.replace(name, fact)
    return value


@asynccontextmanager
async def wire_bench(loop: RealTimeLoop, kind: type[B], settings: str = "") -> AsyncIterator[B]:
    """A new world around one platform on the wire."""
    rooms = ROOMS.replace("threads: [deploy]", "") if kind.platform in THREADLESS else ROOMS
    file = load_text(FILE.format(platform=kind.platform, rooms=rooms, settings=settings))
    world = World(file, loop, seed=1, bugs=())
    world.build()
    env = system_env()
    try:
        async with (
            listening(world.platforms, world, Attribution(), epoch=env.now() - world.now()) as listeners,
            AsyncExitStack() as stack,
        ):
            bench = kind(world, listeners[kind.platform], stack)
            await bench.open()
            yield bench
    finally:
        world.disk.discard()


def wire_kit(kind: type[WireBench], settings: str = "", **options: Any) -> KitReport:
    """The report of the adapter kit on a real adapter, in real time."""

    async def main(loop: RealTimeLoop) -> KitReport:
        @asynccontextmanager
        async def make() -> AsyncGenerator[WireBench]:
            async with wire_bench(loop, kind, settings) as bench:
                yield bench

        return await check_channel_adapter(make, **options)

    return run_real_time(main)
