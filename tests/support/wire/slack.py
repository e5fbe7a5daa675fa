"""The bench of the adapter kit over the real Slack adapter, by Socket Mode and by HTTP events."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from tests.support.wire.bench import WireBench, wire_bench
from trunkline.core.adapters.port import TakesWebhooks, WebhookCall
from trunkline.core.errors import PlatformError
from trunkline.core.events import Body
from trunkline.core.testing.adapter_kit import NotTried, SeenMessage
from trunkline.core.values import Address, Envelope, IntentId, SendRequest
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.wire.slack.server import SlackServer, SocketFeed, WebhookFeed
from trunkline.sim.wire.sockets import HOST

T = TypeVar("T", bound=Body)
PAYLOAD = '{"blocks": [{"type": "divider"}], "unfurl_links": false}'


class SlackBench(WireBench):
    """Socket Mode."""

    platform = "slack"
    payload = PAYLOAD
    config: dict[str, Any] = {  # noqa: RUF012 -- set by subclasses
        "bot_token": {"env": "TOKEN"},
        "app_token": {"env": "APP_TOKEN"},
        "api_root": "{url}/api/",
        "ping_every": 1.0,
    }

    @property
    def server(self) -> SlackServer:
        server = self.listener.server
        assert isinstance(server, SlackServer)
        return server

    def events(self, kind: type[T]) -> list[T]:
        """The events of a kind so far."""
        return [event.body for event in self._world.log.events if isinstance(event.body, kind)]

    def fault(self, do: str, on: str = "send", **fields: Any) -> None:
        """Let something fail once; see the faults of scenarios."""
        self._world.arm(Fault.model_validate({"on": on, "do": do, **fields}))

    def message(self, text: str, place: Address | None = None, **fields: Any) -> SendRequest:
        """A send to the first room, or to another place."""
        return SendRequest(
            address=place or self.places[0], text=text, key=text, intent=IntentId(text), chunk=0, attempt=1, **fields
        )

    async def accepted(self) -> Sequence[SeenMessage]:
        """Slack transports no key."""
        return [msgspec.structs.replace(message, key=None) for message in await super().accepted()]

    def secrets(self) -> dict[str, str]:
        return {"APP_TOKEN": self.server.app_token("default"), "SIGNING_SECRET": self.server.signing_secret("default")}


class SlackWebhookBench(SlackBench):
    """Events by HTTP, to a server that stands for the gateway's."""

    config = {  # noqa: RUF012 -- as in the base
        "bot_token": {"env": "TOKEN"},
        "signing_secret": {"env": "SIGNING_SECRET"},
        "api_root": "{url}/api/",
    }
    #: seconds before further deliveries
    retries = (0.2, 0.5, 1.0)

    async def open(self) -> None:
        await super().open()
        app = web.Application(client_max_size=32 * 1024 * 1024)
        app.router.add_route("*", "/v1/platforms/slack/default", self._taken)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, HOST, 0).start()
        self.url = f"http://{HOST}:{runner.addresses[0][1]}/v1/platforms/slack/default"
        self.feed = self.server.feeds["default"] = WebhookFeed(self.server, "default", self.url)
        self.feed.retries = self.retries  # type: ignore[assignment] -- as many as a test has time for
        self.feed.connect()

    async def _taken(self, request: web.Request) -> web.StreamResponse:
        adapter = self.real
        assert isinstance(adapter, TakesWebhooks)
        call = WebhookCall(
            method=request.method,
            tail="",
            query=tuple(request.query.items()),
            headers={name.lower(): value for name, value in request.headers.items()},
            body=await request.read(),
        )
        answer = await adapter.webhook(call)
        return web.Response(status=answer.status, body=answer.body, headers={"Content-Type": answer.media_type})

    async def break_stream(self) -> None:
        raise NotTried("Slack calls the gateway: there is no connection that could break")


async def ask_to_leave(feed: SocketFeed, reason: str) -> None:
    """Ask the app on every socket to open another one, or say that Socket Mode is off (``link_disabled``)."""
    for socket in tuple(feed.sockets):
        await socket.response.send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "wire"}})


class Listening:
    """What an open connection has delivered so far."""

    def __init__(self, bench: SlackBench, *, acks: bool) -> None:
        self.bench = bench
        self.envelopes: list[Envelope] = []
        #: how the stream ended
        self.error: Exception | None = None
        self._acks = acks

    async def read(self, stream: AsyncIterator[Envelope]) -> None:
        try:
            async for envelope in stream:
                self.envelopes.append(envelope)
                if self._acks:
                    await self.bench.real.ack(envelope)
        except PlatformError as error:
            self.error = error

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.envelopes]

    async def until(self, enough: Callable[[], bool], seconds: float = 30.0) -> None:
        """Wait for a condition. Fails if it does not hold in time."""
        async with asyncio.timeout(seconds):
            while not enough():  # noqa: ASYNC110 -- the fake notifies nobody
                await asyncio.sleep(0.01)

    async def brings(self, *texts: str) -> None:
        """Wait until exactly these texts have come."""
        await self.until(lambda: len(self.envelopes) >= len(texts))
        await asyncio.sleep(0.1)
        assert self.texts == list(texts)


@asynccontextmanager
async def listening_to(bench: SlackBench, *, acks: bool = True) -> AsyncGenerator[Listening]:
    """An open connection of the adapter."""
    async with bench.real.connect() as stream:
        listening = Listening(bench, acks=acks)
        task = asyncio.create_task(listening.read(stream))
        try:
            yield listening
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def on_slack(test: Callable[[SlackBench], Awaitable[None]], kind: type[SlackBench] = SlackBench) -> None:
    """Run a test with a world around Slack on the wire and its real adapter."""

    async def main(loop: RealTimeLoop) -> None:
        async with wire_bench(loop, kind) as bench:
            assert isinstance(bench, SlackBench)
            await test(bench)

    run_real_time(main)
