"""The bench of Matrix on the wire."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from tests.support.wire.bench import WireBench, wire_bench
from trunkline.core.adapters.matrix.adapter import MatrixAdapter
from trunkline.core.events.adapters import UpdateDropped
from trunkline.core.testing.adapter_kit import SeenMessage
from trunkline.core.values import Address, Envelope, IntentId, SendRequest
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.world import World
from trunkline.sim.wire.matrix.server import MatrixServer
from trunkline.sim.wire.server import WireListener


class MatrixBench(WireBench):
    """Matrix: files are uploaded, so the platform has their bytes and not their addresses."""

    platform = "matrix"
    config: dict[str, Any] = {  # noqa: RUF012 -- not changed
        "homeserver": "{url}",
        "user": "@bot-default:example.org",
        "token": {"env": "TOKEN"},
        "poll_seconds": 2,
        "request_timeout": 3,
    }

    def __init__(self, world: World, listener: WireListener, stack: AsyncExitStack) -> None:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        self.config = {**self.config, "files": str(folder)}
        super().__init__(world, listener, stack)
        (folder / "lamp.png").write_bytes(b"a lamp")
        self.media = ("lamp.png",)

    @property
    def server(self) -> MatrixServer:
        """Its server."""
        assert isinstance(self.listener.server, MatrixServer)
        return self.listener.server

    @property
    def bot(self) -> MatrixAdapter:
        """The adapter itself."""
        assert isinstance(self.real, MatrixAdapter)
        return self.real

    @property
    def world(self) -> World:
        """The world of the platform."""
        return self._world

    def fault(self, do: str, on: str = "send", seconds: float = 5.0, **fields: Any) -> None:
        """Let a fault strike."""
        self._fault(do, on, seconds, **fields)

    def dropped(self) -> list[UpdateDropped]:
        """What could not be read."""
        return [event.body for event in self._world.log.events if isinstance(event.body, UpdateDropped)]

    async def accepted(self) -> Sequence[SeenMessage]:
        names = {address: self.media[0] for address, one in self.server.media.files.items() if one.body == b"a lamp"}
        return [
            msgspec.structs.replace(one, media=tuple(names.get(file, file) for file in one.media))
            for one in await super().accepted()
        ]


def play_matrix(test: Callable[[MatrixBench], Awaitable[None]], kind: type[MatrixBench] = MatrixBench) -> None:
    """Run a test in real time."""

    async def main(loop: RealTimeLoop) -> None:
        async with wire_bench(loop, kind) as bench:
            await test(bench)

    run_real_time(main)


def a_send(place: Address, text: str = "hello", **fields: Any) -> SendRequest:
    """A send with a key of its own for each text."""
    intent = IntentId(f"intent-{text}")
    return SendRequest(address=place, text=text, key=f"{intent}/0", intent=intent, chunk=0, attempt=1, **fields)


class MatrixEar:
    """What the adapter has delivered on one connection."""

    def __init__(self) -> None:
        self.heard: list[Envelope] = []
        self.broke: Exception | None = None

    async def until(self, count: int) -> list[str]:
        """The texts, once there are so many."""
        async with asyncio.timeout(5):
            while len(self.heard) < count:  # noqa: ASYNC110 -- a test may be slow
                await asyncio.sleep(0.01)
        return [one.text for one in self.heard]

    async def ended(self) -> Exception:
        """Why the connection broke, once it has."""
        async with asyncio.timeout(8):
            while self.broke is None:  # noqa: ASYNC110 -- a test may be slow
                await asyncio.sleep(0.01)
        return self.broke


@asynccontextmanager
async def hearing(bench: MatrixBench, *, acks: bool = True) -> AsyncGenerator[MatrixEar]:
    """A connection of the adapter while the block runs."""
    ear = MatrixEar()
    async with bench.bot.connect() as stream:

        async def listen() -> None:
            try:
                async for envelope in stream:
                    # Acked first: a test that has heard it may end the connection, and then it would come again.
                    if acks:
                        await bench.bot.ack(envelope)
                    ear.heard.append(envelope)
            except Exception as error:  # noqa: BLE001 -- the test looks at it
                ear.broke = error

        task = asyncio.get_running_loop().create_task(listen())
        try:
            yield ear
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
