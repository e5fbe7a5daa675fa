"""The benches of Telegram: a real adapter by polling or by webhook, against the Bot API on the wire."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from tests.support.wire.bench import WireBench, wire_bench
from trunkline.core.adapters.telegram.adapter import TelegramAdapter
from trunkline.core.testing.adapter_kit import NotTried
from trunkline.core.values import Address, Envelope, IntentId, Receipt, SendRequest
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.world import World
from trunkline.sim.wire.play.run import WebhookReceiver
from trunkline.sim.wire.telegram.server import TelegramServer

T = TypeVar("T")
SECRET = "open-sesame"


class TelegramBench(WireBench):
    """Long polling."""

    platform = "telegram"
    config = {  # noqa: RUF012 -- constant
        "token": {"env": "TOKEN"},
        "api_root": "{url}",
        "poll_seconds": 5,
        "request_timeout": 10,
    }
    payload = '{"link_preview_options":{"is_disabled":true}}'

    @property
    def server(self) -> TelegramServer:
        assert isinstance(self.listener.server, TelegramServer)
        return self.listener.server

    @property
    def world(self) -> World:
        return self._world

    def fault(self, do: str, on: str = "send", seconds: float = 5.0, **fields: Any) -> None:
        """Let a fault strike."""
        self._fault(do, on, seconds, **fields)

    def press(self, receipt: Receipt, button: str) -> None:
        """Ana presses a button below a message."""
        platform = self.server.platform
        room = platform.room_at(receipt.address)
        message = None if room is None else platform.board.get(room, receipt.provider_id)
        assert message is not None
        platform.people.press("press", self._world.peer("telegram", "ana"), (), message, button)

    def events(self, kind: type[T]) -> list[T]:
        """What was recorded of a kind."""
        return [event.body for event in self._world.log.events if isinstance(event.body, kind)]

    @property
    def bot(self) -> TelegramAdapter:
        """The adapter itself."""
        assert isinstance(self.real, TelegramAdapter)
        return self.real


def spoil_updates(bench: TelegramBench, spoil: Callable[[dict[str, Any]], Any]) -> None:
    """Change each update before it is sent."""
    make = bench.server.deliveries.update
    bench.server.deliveries.update = lambda *args: spoil(make(*args))  # type: ignore[method-assign] -- a server in between


class TelegramWebhookBench(TelegramBench):
    """Telegram calls the gateway."""

    def __init__(self, world: Any, listener: Any, stack: Any) -> None:
        self.receiver = WebhookReceiver()
        super().__init__(world, listener, stack)

    def secrets(self) -> dict[str, str]:
        return {"SECRET": SECRET}

    async def open(self) -> None:
        if not self.receiver.url:
            await self.receiver.open()
            self._stack.push_async_callback(self.receiver.close)
            self.config = {**self.config, "webhook": {"url": self.receiver.url, "secret": {"env": "SECRET"}}}
            self.adapter = self._make()
        await super().open()
        self.receiver.hand_over("telegram", "default", self.bot)

    async def break_stream(self) -> None:
        raise NotTried("Telegram opens a connection for each update, so there is none that could break")


def play_telegram(
    test: Callable[[TelegramBench], Awaitable[None]], kind: type[TelegramBench] = TelegramBench, *, factor: float = 1.0
) -> None:
    """Run a test in a new world with one bot, in real time or `factor` times as fast."""

    async def main(loop: RealTimeLoop) -> None:
        async with wire_bench(loop, kind) as bench:
            assert isinstance(bench, TelegramBench)
            await test(bench)

    run_real_time(main, factor=factor)


def a_send(place: Address, text: str = "hello", **fields: Any) -> SendRequest:
    """A chunk as the gateway sends it."""
    return SendRequest(
        address=place, text=text, key=f"{text}/0", intent=IntentId(text), chunk=0, attempt=1, **{"html": text, **fields}
    )


class Inbox:
    """What arrives over a connection."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Envelope | Exception] = asyncio.Queue()

    async def listen(self, stream: AsyncIterator[Envelope]) -> None:
        try:
            async for envelope in stream:
                self._queue.put_nowait(envelope)
        except Exception as error:  # noqa: BLE001 -- raised in the test
            self._queue.put_nowait(error)

    async def take(self, count: int = 1, within: float = 5.0) -> list[Envelope]:
        """The next messages. Raises the error that ended the connection."""
        found: list[Envelope] = []
        async with asyncio.timeout(within):
            while len(found) < count:
                one = await self._queue.get()
                if isinstance(one, Exception):
                    raise one
                found.append(one)
        return found


@asynccontextmanager
async def connected(bench: TelegramBench) -> AsyncGenerator[Inbox]:
    """A connection that is listened to."""
    inbox = Inbox()
    async with bench.bot.connect() as stream:
        task = asyncio.create_task(inbox.listen(stream))
        try:
            yield inbox
        finally:
            task.cancel()
            await asyncio.wait({task})
