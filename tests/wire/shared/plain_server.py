"""A server with one method, for tests of what all servers share."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientSession, web

from trunkline.core.errors import PlatformError
from trunkline.core.values import Receipt
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.platforms.channels.telegram import FakeTelegram
from trunkline.sim.run.world import World
from trunkline.sim.scenario import load_text
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.wire.attribution import Attribution
from trunkline.sim.wire.server import WireListener, WireServer

FILE = """\
scenario: 1
title: one room
world: {people: [ana], telegram: {rooms: [ops]}}
cast: {agents: {main: [{do: [{silent: true}]}]}}
script: [{at: 0s, as: ana, in: telegram/ops, say: not played}]
"""


class PlainServer(WireServer[FakeTelegram]):
    """``POST /send`` with a text."""

    channel = "telegram"

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/send", self._send)

    def token(self, account: str, number: int) -> str:
        return f"{account}-{number}"

    def refusal(self, request: web.Request, error: PlatformError) -> web.StreamResponse:
        return web.json_response({"error": error.reason}, status=400)

    async def _send(self, request: web.Request) -> web.StreamResponse:
        assert isinstance(self.world, World)
        send = self.send_request(self.world.address("telegram/ops"), await request.text())

        def answer(receipt: Receipt) -> web.StreamResponse:
            return web.json_response({"id": receipt.provider_id, "more": "x" * 200}, headers={"X-Own": "kept"})

        return await self.send(request, send, 1, answer)


class Plain:
    """The server, its world, and a client."""

    def __init__(self, world: World, listener: WireListener, client: ClientSession) -> None:
        self.world = world
        self.listener = listener
        self.client = client

    def fault(self, do: str, on: str = "send", **fields: Any) -> None:
        self.world.arm(Fault.model_validate({"on": on, "do": do, **fields}))

    async def send(self, text: str = "hello") -> tuple[int, str, bytes]:
        """Status, type and body of the response."""
        async with self.client.post(f"{self.listener.server.url}/send", data=text) as response:
            return response.status, response.content_type, await response.read()


@asynccontextmanager
async def plain(loop: RealTimeLoop) -> AsyncIterator[Plain]:
    world = World(load_text(FILE), loop, seed=1, bugs=())
    world.build()
    platform = world.platforms["telegram"]
    assert isinstance(platform, FakeTelegram)
    listener = WireListener(PlainServer(platform, world, Attribution()))
    await listener.open()
    try:
        async with ClientSession() as client:
            yield Plain(world, listener, client)
    finally:
        await listener.close()
        world.disk.discard()


def play_plain(test: Callable[[Plain], Awaitable[None]], *, factor: float = 1.0) -> None:
    async def main(loop: RealTimeLoop) -> None:
        async with plain(loop) as one:
            await test(one)

    run_real_time(main, factor=factor)
