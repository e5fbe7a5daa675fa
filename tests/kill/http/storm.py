"""The storm: 50 people chat over HTTP and WebSocket with a server that is killed, over and over."""

import secrets
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import anyio
import httpx
import yaml

from tests.kill.http.people import Chats, person
from tests.kill.http.servers import Servers, servers
from tests.kill.http.verdict import judge

#: seconds that a server lives once it listens
_LIFE = (0.02, 0.9)
#: part of the servers that are killed before they listen, and seconds after their start
_EARLY, _EARLY_LIFE = 0.15, (0.0, 0.3)
#: seconds for a server to listen, and for everybody to get their last answers
_STUCK, _REST = 60.0, 120.0


@dataclass
class HttpReport:
    """What came of a storm."""

    kills: int
    #: of these, before the server listened
    early: int
    seconds: float
    messages: int
    #: messages and connections that had to be repeated
    repeats: int
    findings: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        lines = [
            f"{self.kills} kills ({self.early} before the server listened) in {self.seconds:.0f} s:",
            f"{self.messages} messages of people, {self.repeats} repeats",
            *(self.findings[:20] or ["nothing lost, doubled or misplaced"]),
        ]
        return "\n".join(lines)


def run_http_storm(kills: int, folder: Path, *, people: int = 50, seed: int = 1) -> HttpReport:
    """Kill a server so many times; then let everybody get their answers, and judge."""
    return anyio.run(_storm, kills, folder, people, seed)


async def _storm(kills: int, folder: Path, people: int, seed: int) -> HttpReport:
    began, random = time.monotonic(), Random(seed)
    config, base, token = _configured(folder)
    # Half of them over HTTP, half over a WebSocket.
    over_http = [person(n, groups=True) for n in range(people // 2)]
    over_socket = [person(n, groups=False) for n in range(people // 2, people)]
    over = False
    chats = Chats(base, token, seed, lambda: over)
    early = 0
    async with servers(config) as running:
        with anyio.move_on_after(_STUCK * (kills + 2) / 10 + _REST) as limit:
            async with anyio.create_task_group() as group:
                for one in over_http:
                    group.start_soon(chats.over_http, one)
                for one in over_socket:
                    group.start_soon(chats.over_socket, one)
                for _ in range(kills):
                    early += await _strike(running, base, random)
                await running.start()
                await _listening(base)
                over = True
        await running.kill()
    everybody = [*over_http, *over_socket]
    findings = ["not everybody got their answers in time"] if limit.cancelled_caught else []
    return HttpReport(
        kills=kills,
        early=early,
        seconds=time.monotonic() - began,
        messages=sum(len(one.said) for one in everybody),
        repeats=sum(one.tries for one in everybody),
        findings=[*findings, *judge(over_http, over_socket, folder / "gateway.db")],
    )


async def _strike(running: Servers, base: str, random: Random) -> bool:
    """Start a server and kill it; whether that was before it listened."""
    await running.start()
    early = random.random() < _EARLY
    if early:
        await anyio.sleep(random.uniform(*_EARLY_LIFE))
    else:
        await _listening(base)
        await anyio.sleep(random.uniform(*_LIFE))
    await running.kill()
    return early


async def _listening(base: str) -> None:
    """Wait until the server takes work."""
    async with httpx.AsyncClient(base_url=base, trust_env=False) as http:
        with anyio.fail_after(_STUCK):
            while True:
                try:
                    if (await http.get("/v1/health/ready")).status_code == 200:
                        return
                except httpx.HTTPError:
                    pass
                await anyio.sleep(0.01)


def _configured(folder: Path) -> tuple[Path, str, str]:
    """The configuration file of the servers, their address, and a token."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    token = secrets.token_urlsafe(24)
    (folder / "token").write_text(token)
    (folder / "token").chmod(0o600)
    config = {
        "store": "gateway.db",
        "http": {
            "listen": f"127.0.0.1:{port}",
            "token_file": "token",
            "rate": {"per_second": 100_000, "burst": 100_000},
        },
        # A turn that has ended three processes is given up by default: a storm does that to turns that are sound.
        "gateway": {"turns": {"max_attempts": 1_000_000}, "delivery": {"max_attempts": 1_000_000}},
        "agents": {"main": {"echo": {}}},
        "accounts": [{"channel": "webchat"}],
        "log": {"level": "warning"},
    }
    path = folder / "gateway.yaml"
    path.write_text(yaml.safe_dump(config))
    return path, f"http://127.0.0.1:{port}", token
