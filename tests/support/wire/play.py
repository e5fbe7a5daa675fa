"""A test on a bench in real time, and what it sees of the adapter's stream and of its events."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from tests.support.wire.bench import WireBench, wire_bench
from trunkline.core.errors import PlatformError
from trunkline.core.events import Body
from trunkline.core.values import Envelope, IntentId, Receipt, SendRequest
from trunkline.sim.loop import RealTimeLoop, run_real_time

B = TypeVar("B", bound=WireBench)
E = TypeVar("E", bound=Body)


def play(kind: type[B], test: Callable[[B], Awaitable[None]], settings: str = "") -> None:
    """Run a test on a new bench."""

    async def main(loop: RealTimeLoop) -> None:
        async with wire_bench(loop, kind, settings) as bench:
            assert isinstance(bench, kind)
            await test(bench)

    run_real_time(main)


def recorded(bench: WireBench, kind: type[E]) -> list[E]:
    """The events of a kind so far."""
    return [event.body for event in bench._world.log.events if isinstance(event.body, kind)]


def message(bench: WireBench, text: str = "hello", **fields: object) -> SendRequest:
    """A send to the room of the bench, or to `address`."""
    given = {"address": bench.places[0], "text": text, "key": text, "intent": IntentId(text), **fields}
    return SendRequest(chunk=0, attempt=1, **given)  # type: ignore[arg-type]


async def outcome(call: Awaitable[Receipt]) -> Receipt | PlatformError:
    """The receipt or the error of a call."""
    try:
        return await call
    except PlatformError as error:
        return error


async def until(enough: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(seconds):
        while not enough():  # noqa: ASYNC110 -- nothing notifies the test
            await asyncio.sleep(0.02)


class Reading:
    """What came over the adapter's stream, with the error that ended it."""

    def __init__(self) -> None:
        self.got: list[Envelope] = []
        self.error: Exception | None = None

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.got]

    async def until(self, enough: Callable[[], object]) -> None:
        """Wait for a condition."""
        await until(enough)


@asynccontextmanager
async def reading(bench: WireBench, *, acks: bool = True) -> AsyncIterator[Reading]:
    """Read the adapter's stream while the block runs."""
    found, opened = Reading(), asyncio.Event()

    async def read() -> None:
        try:
            async with bench.real.connect() as envelopes:
                opened.set()
                async for envelope in envelopes:
                    found.got.append(envelope)
                    if acks:
                        await bench.real.ack(envelope)
        except PlatformError as error:
            found.error = error
            opened.set()

    task = asyncio.ensure_future(read())
    await opened.wait()
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
