"""A gateway and its standby, both ``trunkline serve``, on one PostgreSQL server, and what happens to the three.

Whichever works is killed, or frozen for longer than its lease; the server is started again; connections are cut between
COMMIT and its answer. After each blow it is measured how long nobody was served.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import statistics
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import msgspec

from tests.kill.platforms.servers import PromptServers
from tests.support.cutting_proxy import CuttingProxy, cutting
from tests.support.postgres import Server, running
from trunkline.core.config import DeliveryConfig

#: seconds after which nobody is expected to be served any more, and between two looks
_STUCK, _LOOK = 60.0, 0.02
#: the variable with the address of the store
STORE = "STORE"


class Blows(msgspec.Struct, frozen=True, kw_only=True):
    """How often what happens."""

    kills: int
    #: beyond the lease
    freezes: int = 0
    #: of the server
    restarts: int = 0
    #: of a connection, around a COMMIT
    cuts: int = 0
    #: seconds; none: the gateway's own default, as for the time limit of a request
    lease: float | None = 3.0

    @property
    def lasts(self) -> float:
        """Seconds of the lease."""
        return self.lease or DeliveryConfig().lease

    def drawn(self, dice: Random) -> list[str]:
        """All blows, in an order by chance."""
        found = ["kill"] * self.kills + ["freeze"] * self.freezes + ["restart"] * self.restarts + ["cut"] * self.cuts
        dice.shuffle(found)
        return found


class Outages(msgspec.Struct, kw_only=True):
    """How many seconds nobody was served after each blow, by its kind."""

    by_kind: dict[str, list[float]] = msgspec.field(default_factory=dict[str, list[float]])

    def __str__(self) -> str:
        return "; ".join(
            f"{kind}: {len(took)}, served again after {statistics.median(took):.2f} s, at most {max(took):.2f} s"
            for kind, took in self.by_kind.items()
        )

    def longest(self, kind: str) -> float:
        """The longest one of a kind."""
        return max(self.by_kind.get(kind, [0.0]))


class _Twin:
    """One of the two processes."""

    def __init__(self, config: Path) -> None:
        self.servers = PromptServers(config)
        self.url = f"http://{json.loads(config.read_text())['http']['listen']}"
        #: it answers, and it says that it works
        self.answers = self.ready = False

    def start(self) -> None:
        self.answers = self.ready = False
        self.servers.start()

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself; nobody has asked for its status yet."""
        pid = self.servers.pid
        return pid > 0 and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"

    async def look(self) -> None:
        """Ask it again and again, until cancelled."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.5)) as http:
            while True:
                try:
                    async with http.get(f"{self.url}/v1/health/ready") as answer:
                        self.answers, self.ready = True, answer.status == 200
                except (aiohttp.ClientError, TimeoutError):
                    self.answers = self.ready = False
                await asyncio.sleep(_LOOK)


class Twins:
    """Both of them. `answered`: how many answers people have had; `struck`: called before each blow, and after it."""

    def __init__(
        self,
        server: Server,
        proxy: CuttingProxy,
        configs: tuple[Path, Path],
        answered: Callable[[], int],
        struck: Callable[[bool], None],
        lease: float,
    ) -> None:
        self._server = server
        self._proxy = proxy
        self._answered = answered
        self._struck = struck
        self._lease = lease
        self._twins = [_Twin(config) for config in configs]
        self.outages = Outages()
        #: from then on a death of the process that works can be proven
        self._proven = 0.0
        #: processes that ended since another had taken over, other than frozen ones
        self.replaced = 0

    @property
    def url(self) -> str | None:
        """Where the API of the process that works is; none: none does."""
        return next((twin.url for twin in self._twins if twin.ready), None)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Both processes, until the block ends."""
        looking = [asyncio.ensure_future(twin.look()) for twin in self._twins]
        try:
            for twin in self._twins:
                twin.start()
            await self.whole()
            yield
        finally:
            for task in looking:
                task.cancel()
            await asyncio.gather(*looking, return_exceptions=True)
            for twin in self._twins:
                twin.servers.close()

    async def whole(self) -> None:
        """Wait until one works, and the other stands by."""
        await self._until(lambda: all(twin.answers for twin in self._twins) and self.url is not None, revive=True)

    async def blow(self, kind: str, moment: Callable[[], Any]) -> None:
        """Strike once; `moment` waits until it is time to kill."""
        await self.whole()
        began = 0.0
        match kind:
            case "kill":
                await moment()
                began = time.monotonic()
                took = await self._kill()
            case "freeze":
                took = await self._freeze()
            case "restart":
                took = await self._restart()
            case _:
                took = await self._cut()
        self._struck(False)
        if kind == "kill" and began < self._proven:
            kind = "kill too soon"
        if kind == "restart":
            # The standby was cut off as well: until the lease is renewed (a third of it) it takes nobody for dead.
            self._proven = time.monotonic() + self._lease / 3 + 1.0
        self.outages.by_kind.setdefault(kind, []).append(took)

    def _working(self) -> tuple[_Twin, _Twin]:
        """The process that works, and the other."""
        first, second = self._twins
        return (first, second) if first.ready else (second, first)

    async def _kill(self) -> float:
        await self.whole()
        working, other = self._working()
        self._struck(True)
        working.servers.strike()
        began = time.monotonic()
        working.servers.reap()
        await self._until(lambda: other.ready)
        took = time.monotonic() - began
        working.start()
        return took

    async def _freeze(self) -> float:
        working, other = self._working()
        self._struck(True)
        os.kill(working.servers.pid, signal.SIGSTOP)
        began = time.monotonic()
        await self._until(lambda: other.ready)
        took = time.monotonic() - began
        os.kill(working.servers.pid, signal.SIGCONT)
        await self._until(lambda: working.has_ended)
        assert working.servers.wait() != 0
        working.start()
        return took

    async def _restart(self) -> float:
        self._struck(True)
        mode = ("immediate", "fast")[len(self.outages.by_kind.get("restart", ())) % 2]
        await _in_thread(lambda: self._server.stop(mode))
        await asyncio.sleep(0.2)
        await _in_thread(self._server.start)
        return await self._served()

    async def _cut(self) -> float:
        self._struck(True)
        before = self._proxy.cuts
        self._proxy.next_cut = ("after", "before")[before % 2]
        await self._until(lambda: self._proxy.cuts > before)
        return await self._served()

    async def _served(self) -> float:
        """Wait until people get answers again; the seconds until then."""
        began, before = time.monotonic(), self._answered()
        await self._until(lambda: self._answered() > before and self.url is not None, revive=True)
        return time.monotonic() - began

    def _revive(self) -> None:
        """Start what has ended: of two that were cut off, one may have taken over from the other."""
        for twin in self._twins:
            if twin.has_ended:
                assert twin.servers.wait() != 0
                self.replaced += 1
                twin.start()

    async def _until(self, holds: Callable[[], bool], *, revive: bool = False) -> None:
        async with asyncio.timeout(_STUCK):
            while not holds():
                if revive:
                    self._revive()
                await asyncio.sleep(_LOOK / 4)


async def _in_thread(work: Callable[[], None]) -> None:
    """Run what takes seconds; the loop goes on."""
    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():  # noqa: ASYNC110 -- a thread has no event
        await asyncio.sleep(_LOOK)


def twin_configs(config: Path, blows: Blows) -> tuple[Path, Path]:
    """Two configurations out of one: each with a port of its own, and with the store on the server."""
    found = json.loads(config.read_text())
    found["store"] = {"env": STORE}
    if blows.lease is not None:
        found.setdefault("gateway", {}).setdefault("delivery", {}).update(request_timeout=1.0, lease=blows.lease)
    paths = config.with_name("twin-1.json"), config.with_name("twin-2.json")
    for path in paths:
        with socket.create_server(("127.0.0.1", 0)) as free:
            found["http"]["listen"] = f"127.0.0.1:{free.getsockname()[1]}"
        path.write_text(json.dumps(found))
    return paths


@contextlib.contextmanager
def server_and_proxy() -> Generator[tuple[Server, CuttingProxy, str]]:
    """A server, a proxy before it, and the address of a store for those who are not cut off; theirs is in `STORE`."""
    with running(durable=True) as server, cutting(server.port) as proxy:
        url = server.url("storm")
        before = os.environ.get(STORE)
        os.environ[STORE] = server.url("storm", port=proxy.port)
        try:
            yield server, proxy, url
        finally:
            if before is None:
                del os.environ[STORE]
            else:
                os.environ[STORE] = before
