"""The servers of a try, and a client of a few lines for each platform instead of a gateway."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

import aiohttp

from trunkline.core.errors import UnknownName
from trunkline.core.events import Event
from trunkline.core.values import Address
from trunkline.sim.attach.play.gateway import GatewayControl
from trunkline.sim.attach.play.rest import QuietWire, Waits
from trunkline.sim.attach.play.script import AttachedScript
from trunkline.sim.attach.play.servers import TryServers
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.world import World
from trunkline.sim.scenario.load import load_text
from trunkline.sim.wire.model.answers import Echo
from trunkline.sim.wire.model.server import ModelServer

PLATFORMS = ("telegram", "discord", "slack", "matrix")


class NoProcess:
    """Takes the place of the processes of a gateway: it notes what would be done to them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.running = True

    def kill(self, why: str, cause: int | None, _restart_after: float) -> None:
        if not self.running:
            raise UnknownName("the gateway does not run")
        self._world.events.record(ProcessCrashed(why=why), cause)


@dataclass
class Wired:
    """A world on sockets, and a client."""

    platform: str
    world: World
    servers: TryServers
    rest: QuietWire
    http: aiohttp.ClientSession
    #: what the client got of its sends: a status, or the name of an error
    got: list[str] = field(default_factory=list[str])

    @property
    def events(self) -> list[Event]:
        return self.world.log.events

    @property
    def url(self) -> str:
        return self.servers.listeners[self.platform].server.url

    @property
    def token(self) -> str:
        return self.servers.listeners[self.platform].server.token("default", 1)

    def kinds(self, *prefixes: str) -> list[str]:
        return [event.kind for event in self.events if event.kind.startswith(prefixes)]

    async def send(self, text: str, place: str, key: str = "k1", within: float = 1.0, **more: Any) -> str:
        """Send a text as a client of the platform does, with further fields; returns what it got."""
        address = self.world.address(place)
        method, path, body, headers = _REQUESTS[self.platform](address, text, key, self.token)
        timeout = aiohttp.ClientTimeout(total=within)
        try:
            async with self.http.request(
                method, f"{self.url}{path}", json=body | more, headers=headers, timeout=timeout
            ) as response:
                data = await response.read()
                got = str(response.status)
                if self.platform == "slack" and response.status == 200 and not json.loads(data)["ok"]:
                    got = json.loads(data)["error"]
        except (TimeoutError, aiohttp.ClientError) as error:
            got = type(error).__name__
        self.got.append(got)
        return got

    #: a folder that nobody writes into
    home: ClassVar = Path("/nowhere")

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def rest_of_the_world(self) -> None:
        """Let everything happen that is on its way."""
        await asyncio.sleep(0.1)

    async def until(self, kind: str, times: int = 1) -> None:
        async with asyncio.timeout(5):
            while self.kinds(kind).count(kind) < times:  # noqa: ASYNC110 -- nothing notifies of it
                await asyncio.sleep(0.01)


Asked = tuple[str, str, dict[str, Any], dict[str, str]]


def _telegram(at: Address, text: str, _key: str, token: str) -> Asked:
    body: dict[str, Any] = {"chat_id": at.conversation, "text": text}
    if at.thread is not None:
        body["message_thread_id"] = at.thread
    return "POST", f"/bot{token}/sendMessage", body, {}


def _discord(at: Address, text: str, key: str, token: str) -> Asked:
    body = {"content": text, "nonce": key, "enforce_nonce": True}
    return "POST", f"/api/v10/channels/{at.thread or at.conversation}/messages", body, {"Authorization": f"Bot {token}"}


def _slack(at: Address, text: str, _key: str, token: str) -> Asked:
    body = {"channel": at.conversation, "text": text} | ({} if at.thread is None else {"thread_ts": at.thread})
    return "POST", "/api/chat.postMessage", body, {"Authorization": f"Bearer {token}"}


def _matrix(at: Address, text: str, key: str, token: str) -> Asked:
    body: dict[str, Any] = {"msgtype": "m.text", "body": text}
    if at.thread is not None:
        body["m.relates_to"] = {"rel_type": "m.thread", "event_id": at.thread}
    path = f"/_matrix/client/v3/rooms/{at.conversation}/send/m.room.message/{key}"
    return "PUT", path, body, {"Authorization": f"Bearer {token}"}


_REQUESTS: dict[str, Callable[[Address, str, str, str], Asked]] = {
    "telegram": _telegram,
    "discord": _discord,
    "slack": _slack,
    "matrix": _matrix,
}

_HEAD = """
scenario: 1
title: On the wire
world:
  people: [ana]
  PLATFORM: {GUILDlatency: 5ms, rooms: {ops: {threads: [deploy]}}}
cast: {agents: {main: [{do: [{reply: x}]}]}}
script:
"""


def on_the_wire(platform: str, steps: list[str], test: Callable[[Wired], Awaitable[None]]) -> None:
    """Run a test with a world on sockets in which these steps are played."""
    head = _HEAD.replace("PLATFORM", platform).replace("GUILD", "guild: g, " if platform == "discord" else "")
    script = "\n".join(f"  - {{{one}}}" for one in (*steps, "at: 0s, note: it begins"))
    file = load_text(head + script, "wired.yaml")

    async def main(loop: RealTimeLoop) -> None:
        world = World(file, loop, seed=1, bugs=())
        world.wire_side = True
        world.build()
        rest = QuietWire(world.log, Waits(settle=0.2, settle_after_restart=0.2, patience=1.0))
        servers = TryServers(world, ModelServer(Echo()), lambda _: None)
        gateway = cast("GatewayControl", NoProcess(world))
        await servers.open(loop)
        try:
            script = AttachedScript(world, gateway, servers, rest)
            script.begin()
            await asyncio.sleep(0.02)
            async with aiohttp.ClientSession() as http:
                # A client that sends nothing again by itself, as it does a PUT.
                http._retry_connection = False
                await test(Wired(platform, world, servers, rest, http))
        finally:
            await servers.close()

    run_real_time(main)
