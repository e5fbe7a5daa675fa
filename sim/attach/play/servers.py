"""The servers of a try: the platforms of its world and the model, and what a profile's slots are filled with."""

import asyncio
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from trunkline.core.events import Event
from trunkline.sim.attach.rendering import platform_values
from trunkline.sim.events.wire import WireCalled
from trunkline.sim.events.world import PlatformConfirming
from trunkline.sim.loop import RealTimeLoop
from trunkline.sim.run.world import World
from trunkline.sim.wire.attribution import Attribution
from trunkline.sim.wire.model.server import ModelServer
from trunkline.sim.wire.server import CallLog, WireListener
from trunkline.sim.wire.servers import make_server

#: 1 November 2026
_IDS_BEGAN = 1_793_491_200


class TryServers:
    """All servers of one try. `cause_of`: the event that caused a request with a text, if one is known.

    `count_request`: called with the name of each request to a platform.
    """

    def __init__(
        self,
        world: World,
        model: ModelServer,
        cause_of: Callable[[str], int | None],
        count_request: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._world = world
        self._cause_of, self._count_request = cause_of, count_request
        self.model = model
        self.listeners: dict[str, WireListener] = {}
        #: for the gateway; the same at each of its starts
        self._port = _free_port()
        #: platforms whose token was revoked for good: the gateway keeps the old one
        self.revoked: set[str] = set()
        #: closings of sockets that are under way
        self._closing: set[asyncio.Task[None]] = set()

    async def open(self, loop: RealTimeLoop) -> None:
        epoch = time.time() - loop.time()  # noqa: TID251 -- the gateway lives by the machine's clock
        for name, platform in self._world.platforms.items():
            server = make_server(platform, self._world, Attribution(), epoch=epoch)
            server.calls = CallLog(platform.events, name, self._cause_of, self._count_request)
            listener = self.listeners[name] = WireListener(server)
            await listener.open()
        await self.model.open()

    async def close(self) -> None:
        for task in self._closing:
            task.cancel()
        for listener in self.listeners.values():
            await listener.close()
        await self.model.close()

    def values(self, home: Path, install: Path) -> dict[str, str]:
        """The values for the slots of a profile, with the newest tokens."""
        found = {
            "home": str(home),
            "install": str(install),
            "python": sys.executable,
            "attach": str(Path(__file__).parent.parent),
            "model.url": self.model.url,
            "model.root": self.model.url.removesuffix("/v1"),
            "port": str(self._port),
        }
        for listener in self.listeners.values():
            server, account = listener.server, next(iter(listener.server.platform.spec.accounts))
            found |= platform_values(server, account)
            if server.channel in self.revoked:
                found[f"{server.channel}.token"] = server.token(account, server.platform.tokens.newest(account) - 1)
        return found

    def leave_untaken(self, event: Event) -> None:
        """The sender of a request is killed at the arrival: the platform ignores the request."""
        channel = event.body.channel if isinstance(event.body, WireCalled) else ""
        if isinstance(event.body, PlatformConfirming):
            channel = event.body.address.channel
        if channel:
            calls = self.listeners[channel].server.calls
            assert calls is not None
            calls.untaken.add(event.seq)

    def have_unanswered(self) -> bool:
        """Whether the gateway waits for the response to a send or a change."""
        calls = (listener.server.calls for listener in self.listeners.values())
        return any(log is not None and log.unanswered for log in calls)

    def hang_up(self) -> None:
        """The process of the gateway has ended, and with it the connections over which it got its updates."""
        for listener in self.listeners.values():
            listener.server.hang_up()

    def take_down(self, name: str, seconds: float, back: Callable[[], None]) -> None:
        """Close the socket of a platform with all its connections, and open it again; then call `back`."""

        async def restart() -> None:
            await self.listeners[name].restart(seconds)
            back()

        task = asyncio.ensure_future(restart())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def seconds_since_ids_began() -> int:
    """Seconds since a day that is over: ids of messages that grow with it fit into 31 bits until 2030."""
    return int(time.time() - _IDS_BEGAN)  # noqa: TID251 -- a gateway remembers ids from run to run


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
