"""H1 and H2: messages over HTTP against the same turns in the process, on stores that are durable in full.

A server of ``trunkline serve`` runs in a process of its own, 100 connections hand messages over and wait for the answer
of the echo agent. The yardstick is the same server's gateway, which 100 callers hand the same messages to in its own
process. Both are measured in interleaved rounds of the same run.

    python -m tests.bench.http profile [path]    profiles the server under the load of H1
"""

import asyncio
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec
import yaml

from tests.support.bench.bar import Bar
from tests.support.paths import ROOT
from trunkline.app.serve.server import Serving, serving
from trunkline.app.serve.settings import load_settings
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.log import Event
from trunkline.core.gc_tuning import fewer_collections
from trunkline.core.records.inbound import InboundStatus
from trunkline.core.values import Address, ChatKind, Envelope, InboundId, Peer

ROUNDS = 3
CONNECTIONS = 100
MESSAGES = 4_000
WARM_UP = 500
#: of H2: messages before the first look at the memory, and before the last
SETTLED, MANY = 20_000, 100_000
#: seconds for a server to answer
STUCK = 30.0
TOKEN = "a-token-of-the-bench-and-of-nothing-else"
BODY = "The quick brown fox jumps over the lazy dog. " * 3


class Took(msgspec.Struct, frozen=True):
    """One run: messages per second, and the seconds that each took."""

    rate: float
    seconds: list[float]

    def quantile(self, part: float) -> float:
        """The time in milliseconds within which a part of the messages was answered."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000


class Counter:
    """Numbers the messages of a run; each caller takes the next one."""

    def __init__(self, count: int) -> None:
        self.left = count
        self.taken = 0

    def take(self) -> int | None:
        """The next number, or none."""
        if self.taken == self.left:
            return None
        self.taken += 1
        return self.taken


# ---------------------------------------------------------------- in the process


async def in_process(server: Serving, run: str, messages: int) -> Took:
    """The turn path alone: taken durably, answered, and the answer accepted."""
    loop, waiting = asyncio.get_running_loop(), dict[str, asyncio.Future[None]]()

    def settled(event: Event) -> None:
        done = waiting.pop(event.inbound or "", None)
        if done is not None:
            loop.call_soon_threadsafe(done.set_result, None)

    server.served.log.subscribe(settled, IntentSettled)
    counter, seconds = Counter(messages), list[float]()

    async def call(caller: int) -> None:
        while (n := counter.take()) is not None:
            began = time.perf_counter()
            envelope = Envelope(
                address=Address(channel="webchat", account="default", kind=ChatKind.DIRECT, conversation=f"p{caller}"),
                peer=Peer(id=f"p{caller}", name="Ana"),
                message_id=f"{run}-{n}",
                text=BODY,
                sent_at=began,
            )
            name = f"inbound-{run}-{n}"
            done = waiting[name] = loop.create_future()
            receipt = await server.gateway.receive(envelope, InboundId(name))
            assert receipt.status is InboundStatus.ADMITTED
            await done
            seconds.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(call(caller) for caller in range(CONNECTIONS)))
    return Took(messages / (time.perf_counter() - began), seconds)


async def run_in_process(folder: Path, messages: int) -> Took:
    """One run on a server of its own."""
    path = configured(folder)
    async with serving(load_settings(path)) as server:
        while not server.gateway.serving:  # noqa: ASYNC110 (the gateway has no event for it)
            await asyncio.sleep(0.01)
        await in_process(server, "warm", WARM_UP)
        return await in_process(server, "run", messages)
    raise AssertionError


# ---------------------------------------------------------------- over HTTP


async def over_http(port: int, run: str, messages: int) -> Took:
    """The same over 100 connections, by a client that costs little."""
    counter, seconds = Counter(messages), list[float]()

    async def call(caller: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST /v1/chat/inbound HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        head += "Content-Type: application/json\r\nContent-Length: "
        while (n := counter.take()) is not None:
            began = time.perf_counter()
            body = json.dumps(
                {
                    "channel": "webchat",
                    "peer": {"kind": "direct", "id": f"p{caller}", "name": "Ana"},
                    "message_id": f"{run}-{n}",
                    "text": BODY,
                    "wait": True,
                }
            )
            writer.write(f"{head}{len(body)}\r\n\r\n{body}".encode())
            answer = await reader.readuntil(b"\r\n\r\n")
            size = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            content = await reader.readexactly(size)
            assert answer.startswith(b"HTTP/1.1 200"), content
            assert b'"complete":true' in content, content
            assert b"brown fox" in content, content
            seconds.append(time.perf_counter() - began)
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(call(caller) for caller in range(CONNECTIONS)))
    return Took(messages / (time.perf_counter() - began), seconds)


async def run_over_http(folder: Path, messages: int) -> Took:
    """One run on a server of its own."""
    async with server_process(folder) as (port, _):
        await over_http(port, "warm", WARM_UP)
        return await over_http(port, "run", messages)
    raise AssertionError


@asynccontextmanager
async def server_process(folder: Path, *before: str) -> AsyncGenerator[tuple[int, int]]:
    """A server in a process of its own: its port and its process id."""
    path = configured(folder)
    command = [sys.executable, *before, "-m", "trunkline", "serve", "--config", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220 (it takes no time)
        try:
            assert process.stdout is not None
            line = await asyncio.to_thread(process.stdout.readline)
            while "http://" not in line:
                assert line, "the server has ended"
                line = await asyncio.to_thread(process.stdout.readline)
            port = int(line.rpartition(":")[2].split()[0].strip("/"))
            await _ready(port)
            yield port, process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


async def _ready(port: int) -> None:
    async with asyncio.timeout(STUCK):
        while True:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"GET /v1/health/ready HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                answer = await reader.read()
                writer.close()
                if answer.startswith(b"HTTP/1.1 200"):
                    return
            await asyncio.sleep(0.02)


def configured(folder: Path) -> Path:
    """The configuration file of a server with a new store."""
    path = folder / "gateway.yaml"
    (folder / "token").write_text(TOKEN)
    (folder / "token").chmod(0o600)
    config = {
        "store": "gateway.db",
        "http": {"listen": "127.0.0.1:0", "token_file": "token", "rate": {"per_second": 1e6, "burst": 1_000_000}},
        "agents": {"main": {"echo": {}}},
        "accounts": [{"channel": "webchat"}],
        "log": {"level": "warning"},
    }
    path.write_text(yaml.safe_dump(config))
    return path


# ---------------------------------------------------------------- the bars


@contextmanager
def new_folder() -> Generator[Path]:
    """A folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def bars() -> Generator[Bar]:
    """Measure H1 and H2."""
    fewer_collections()
    inside, outside = list[Took](), list[Took]()
    for _ in range(ROUNDS):
        with new_folder() as folder:
            inside.append(asyncio.run(run_in_process(folder, MESSAGES)))
        with new_folder() as folder:
            outside.append(asyncio.run(run_over_http(folder, MESSAGES)))
    times = [statistics.median(took.quantile(part) for took in outside) for part in (0.5, 0.99)]
    rates = [statistics.median(took.rate for took in tooks) for tooks in (outside, inside)]
    yield Bar(
        id="H1",
        title=f"messages over {CONNECTIONS} connections of HTTP against turns in the process",
        measured=statistics.median(a.rate / b.rate for a, b in zip(outside, inside, strict=True)),
        demand=0.5,
        better="higher",
        unit="x",
        note=f"{rates[0]:.0f}/s against {rates[1]:.0f}/s; p50 {times[0]:.0f} ms, p99 {times[1]:.0f} ms under load",
    )
    yield memory()


def memory(settled: int = SETTLED, many: int = MANY) -> Bar:
    """Measure H2."""
    with new_folder() as folder:
        before, after = asyncio.run(_memory(folder, settled, many))
    return Bar(
        id="H2",
        title=f"memory of a server after {many:,} messages against after {settled:,}",
        measured=after / before,
        demand=1.1,
        better="lower",
        unit="x",
        note=f"{before / 1e6:.0f} MB, then {after / 1e6:.0f} MB resident",
    )


async def _memory(folder: Path, settled: int, many: int) -> tuple[int, int]:
    async with server_process(folder) as (port, pid):
        await over_http(port, "first", settled)
        before = resident(pid)
        await over_http(port, "then", many - settled)
        return before, resident(pid)
    raise AssertionError


def resident(pid: int) -> int:
    """Bytes of memory that a process has, without the pages of its store that the system may take back."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


async def _profile(folder: Path, out: str) -> None:
    async with server_process(folder, "-m", "cProfile", "-o", out) as (port, _):
        took = await over_http(port, "run", MESSAGES)
        print(f"{took.rate:.0f}/s with the profiler; read it by: python -m pstats {out}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["profile"]:
        with new_folder() as made:
            asyncio.run(_profile(made, sys.argv[2] if len(sys.argv) > 2 else "http.prof"))
    else:
        for bar in bars():
            print(bar)
