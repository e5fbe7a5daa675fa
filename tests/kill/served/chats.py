"""The storm over HTTP: people chat with whichever process works, while it, its standby and their server are struck."""

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import anyio
import msgspec

from tests.kill.http.people import Chats, person
from tests.kill.http.verdict import judge
from tests.kill.served.twins import Blows, Outages, Twins, server_and_proxy, twin_configs

#: seconds that a process lives after the one before it was replaced, and for everybody to get their last answers
_LIFE, _REST = (0.02, 0.9), 120.0


class ChatsReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    seconds: float
    messages: int
    repeats: int
    findings: list[str]
    outages: Outages
    replaced: int

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"{self.messages} messages over HTTP, {self.repeats} repeats in {self.seconds:.0f} s: {self.outages}",
                f"{self.replaced} replaced",
                *(self.findings[:20] or ["nothing lost, doubled, misplaced or out of order"]),
            ]
        )


class _Front:
    """What stands before both processes, as a balancer does: connections lead to the one that works."""

    def __init__(self, url: Callable[[], str | None]) -> None:
        self._url = url
        self._open: dict[asyncio.StreamWriter, str] = {}
        self.base = ""

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Listen, until the block ends."""
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        self.base = f"http://{host}:{port}"
        leaving = asyncio.ensure_future(self._leave())
        try:
            yield
        finally:
            leaving.cancel()
            server.close()
            for writer in list(self._open):
                writer.close()

    async def _leave(self) -> None:
        """End connections to a process that does not work any more: a frozen one keeps them."""
        while True:
            url = self._url()
            for writer, to in list(self._open.items()):
                if to != url:
                    writer.close()
            await asyncio.sleep(0.02)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        url = self._url()
        try:
            if url is None:
                return
            host, _, port = url.removeprefix("http://").rpartition(":")
            there, back = await asyncio.open_connection(host, int(port))
            self._open[writer] = self._open[back] = url
            await asyncio.gather(self._pump(reader, back), self._pump(there, writer))
            del self._open[writer], self._open[back]
        except OSError:
            return
        finally:
            writer.close()

    @staticmethod
    async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()


def _configured(folder: Path) -> Path:
    token = folder / "token"
    token.write_text(secrets.token_urlsafe(24))
    token.chmod(0o600)
    config = {
        "http": {"token_file": "token", "rate": {"per_second": 100_000, "burst": 100_000}},
        "gateway": {"turns": {"max_attempts": 1_000_000}, "delivery": {"max_attempts": 1_000_000}},
        "agents": {"main": {"echo": {}}},
        "accounts": [{"channel": "webchat"}],
        "log": {"level": "warning"},
    }
    path = folder / "gateway.json"
    path.write_text(json.dumps(config))
    return path


def run_chats_storm(blows: Blows, folder: Path, *, people: int = 30, seed: int = 1) -> ChatsReport:
    """Strike as often as said; then let everybody get their answers, and judge."""
    return anyio.run(_storm, blows, folder, people, seed)


async def _storm(blows: Blows, folder: Path, people: int, seed: int) -> ChatsReport:
    began, dice = time.monotonic(), Random(f"chats {seed}")
    over = False
    over_http = [person(n, groups=True) for n in range(people // 2)]
    over_socket = [person(n, groups=False) for n in range(people // 2, people)]

    def answered() -> int:
        return sum(len(who.answers) + len(who.seen) for who in (*over_http, *over_socket))

    with server_and_proxy() as (server, proxy, url):
        configs = twin_configs(_configured(folder), blows)
        twins = Twins(server, proxy, configs, answered, lambda _begins: None, blows.lasts)
        front = _Front(lambda: twins.url)
        async with twins.running(), front.open():
            chats = Chats(front.base, (folder / "token").read_text(), seed, lambda: over)
            async with anyio.create_task_group() as group:
                for who in over_http:
                    group.start_soon(chats.over_http, who)
                for who in over_socket:
                    group.start_soon(chats.over_socket, who)
                for kind in blows.drawn(dice):
                    await twins.blow(kind, lambda: asyncio.sleep(dice.uniform(*_LIFE)))
                over = True
                group.cancel_scope.deadline = anyio.current_time() + _REST
        findings = ["not everybody got their answers in time"] if group.cancel_scope.cancelled_caught else []
        findings += judge(over_http, over_socket, url)
    everybody = [*over_http, *over_socket]
    return ChatsReport(
        seconds=time.monotonic() - began,
        messages=sum(len(who.said) for who in everybody),
        repeats=sum(who.tries for who in everybody),
        findings=findings,
        outages=twins.outages,
        replaced=twins.replaced,
    )
