"""RECOV, BACK and GROW: a gateway that starts with a long queue, and one that works for a long time.

Each figure is of a process of its own: memory that was used once is not always given back.

    python -m tests.bench.backlog recover STORE    and `hold`, `grow`: one of those processes
"""

import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

from tests.support.bench.bar import Bar
from tests.support.bench.filled_store import fill
from tests.support.bench.product import CALLERS, Load, deliver, message, prepare, serving, tuned
from tests.support.bench.yardsticks import copied

PENDING = 100_000
CONVERSATIONS = 1_000
#: deliveries after which the rate of a recovery is known
RECOVERED = 20_000
LIVE = 10_000
ROUNDS = 3
#: deliveries before memory is looked at for the first time, and between that and the last. The queue is never longer
#: later than it was then: callers hand over twice as fast as is delivered, and what a queue needs is told by BACK
WARM_UP, LONG = 10_000, 100_000
#: the shorter queue, so that what is needed for each message can be told
SHORT = 20_000


def resident() -> int:
    """Bytes of memory that this process holds."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


# ---------------------------------------------------------------- in a process of their own


async def recover(path: Path) -> dict[str, float]:
    """Start on a queue: seconds until the first send, and messages per second from then on."""
    before = time.perf_counter()
    async with serving(path) as running:
        witness = running.witness
        await running.settled(RECOVERED)
        now, done = time.perf_counter(), witness.delivered
        return {"first": witness.first_at - before, "rate": done / (now - witness.first_at)}


async def live(path: Path) -> dict[str, float]:
    """The same without a queue."""
    return {"rate": (await deliver(path, Load(messages=LIVE, conversations=CONVERSATIONS))).rate}


async def hold(path: Path) -> dict[str, float]:
    """Start on a queue whose platform takes nothing: memory of the process, and what it takes more than before."""
    before = resident()
    async with serving(path, request_timeout=600) as running:
        running.platform.open = anyio.Event()
        # It is taken when all that was there is queued.
        await running.gateway.enqueue(message(0, CONVERSATIONS, "last "))
        await anyio.sleep(0.5)
        after = resident()
    return {"all": after, "more": after - before}


async def grow(path: Path) -> dict[str, float]:
    """Deliver for long: memory after a while, and at the end."""
    async with serving(path) as running:
        witness = running.witness
        witness.remembers = False
        sizes: list[int] = []
        done = 0
        while done < WARM_UP + LONG:
            load = Load(messages=WARM_UP, conversations=CONVERSATIONS, callers=CALLERS)
            await running.give(load, salt=f"{done} ")
            done += WARM_UP
            await running.settled(done)
            sizes.append(resident())
    return {"early": sizes[0], "late": sizes[-1]}


WORKS = {"recover": recover, "live": live, "hold": hold, "grow": grow}


# ---------------------------------------------------------------- the bars


def _alone(work: str, path: Path) -> dict[str, Any]:
    """Have something done in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.backlog", work, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def recovery_bars(folder: Path, base: Path, queue: Path) -> list[Bar]:
    """RECOV: the first send, and the rate."""
    found: list[tuple[dict[str, float], dict[str, float]]] = []
    for number in range(ROUNDS):
        paths = copied(queue, folder / f"queue {number}.db"), copied(base, folder / f"live {number}.db")
        found.append((_alone("recover", paths[0]), _alone("live", paths[1])))
        for path in paths:
            path.unlink()
    first = statistics.median(one["first"] for one, _ in found)
    ratio = statistics.median(one["rate"] / other["rate"] for one, other in found)
    rates = [statistics.median(one["rate"] for one in ones) for ones in zip(*found, strict=True)]
    title = f"recovery of {PENDING:,} messages"
    note = f"of {ROUNDS} starts; slowest {max(one['first'] for one, _ in found):.2f} s"
    rate_note = f"{rates[0]:,.0f} and {rates[1]:,.0f} messages/s"
    return [
        Bar(
            id="RECOV",
            title=f"{title}: from the start to the first send",
            measured=first,
            demand=1.0,
            better="lower",
            unit="s",
            note=note,
        ),
        Bar(
            id="RECOV",
            title=f"{title}: rate / live",
            measured=ratio,
            demand=0.5,
            want=1.0,
            better="higher",
            unit="x",
            note=rate_note,
        ),
    ]


def memory_bars(queue: Path, short: Path, fresh: Path) -> list[Bar]:
    """BACK and GROW."""
    long, few = _alone("hold", queue), _alone("hold", short)
    each = (long["more"] - few["more"]) / (PENDING - SHORT)
    grown = _alone("grow", fresh)
    return [
        Bar(
            id="BACK",
            title=f"memory for each message of a backlog of {PENDING:,}, beyond the first {SHORT:,}",
            measured=each,
            demand=1024,
            want=512,
            better="lower",
            unit="bytes",
            note=f"the process has {long['all'] / 1e6:.0f} MB then, {few['all'] / 1e6:.0f} MB with {SHORT:,}",
        ),
        Bar(
            id="GROW",
            title=f"memory after {LONG:,} deliveries more",
            measured=(grown["late"] / grown["early"] - 1) * 100,
            demand=20,
            want=5,
            better="lower",
            unit="%",
            note=f"{grown['early'] / 1e6:.1f} MB after {WARM_UP:,}, {grown['late'] / 1e6:.1f} MB at the end",
        ),
    ]


def bars() -> list[Bar]:
    """Measure them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base, queue, short = folder / "base.db", folder / "queue.db", folder / "short.db"
        asyncio.run(prepare(base, CONVERSATIONS))
        for path, count in ((queue, PENDING), (short, SHORT)):
            asyncio.run(fill(copied(base, path), count, CONVERSATIONS, over=False))
        found = recovery_bars(folder, base, queue)
        return [*found, *memory_bars(queue, short, base)]


if __name__ == "__main__":
    if sys.argv[1:]:
        with tuned():
            print(json.dumps(asyncio.run(WORKS[sys.argv[1]](Path(sys.argv[2])))))
    else:
        for bar in bars():
            print(bar)
