"""HIST and SESS: what a delivery costs in a store with a long past, and in one with many sessions.

CPU and wall time, of deliveries by turns in both stores; the worse of the two counts. The stores are filled behind the
product's back and then used as they are, round after round.
"""

import asyncio
import gc
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path

from tests.support.bench.bar import Bar
from tests.support.bench.filled_store import fill
from tests.support.bench.product import Load, deliver, prepare, tuned

ROUNDS = 5
MESSAGES = 4_000
SHORT, LONG = 1_000, 1_000_000
FEW, MANY = 10, 10_000
#: conversations of the stores with a past
CONVERSATIONS = 1_000

#: seconds of wall and of CPU time for a message
Cost = tuple[float, float]


def read_once(path: Path) -> None:
    """Have a file in memory, as that of a gateway which has run for a while."""
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


async def _histories(folder: Path) -> dict[int, Path]:
    paths: dict[int, Path] = {}
    for count in (SHORT, LONG):
        paths[count] = folder / f"past {count}.db"
        await prepare(paths[count], CONVERSATIONS)
        await fill(paths[count], count, CONVERSATIONS, over=True)
        read_once(paths[count])
    return paths


async def _sessions(folder: Path) -> dict[int, Path]:
    paths: dict[int, Path] = {}
    for count in (FEW, MANY):
        paths[count] = folder / f"sessions {count}.db"
        await prepare(paths[count], count)
    return paths


async def _costs(loads: dict[str, tuple[Path, Load]]) -> dict[str, list[Cost]]:
    """What a message costs under each load, by turns; the first round warms up."""
    costs: dict[str, list[Cost]] = defaultdict(list)
    for number in range(ROUNDS + 1):
        for name, (path, load) in loads.items():
            gc.collect()
            took = await deliver(path, load, salt=f"{name} {number} ")
            if number:
                costs[name].append((1 / took.rate, took.cpu))
    return costs


def _worst(costs: dict[str, list[Cost]], one: str, other: str) -> tuple[float, str]:
    """The ratio of the medians, by wall or by CPU time, whichever is worse; and all figures."""
    (wall, cpu), (wall_0, cpu_0) = (
        tuple(statistics.median(cost[n] for cost in costs[name]) for n in (0, 1)) for name in (one, other)
    )
    figures = f"{wall * 1e6:.0f} / {wall_0 * 1e6:.0f} us, CPU {cpu * 1e6:.0f} / {cpu_0 * 1e6:.0f} us"
    return max(wall / wall_0, cpu / cpu_0), figures


def _bar(name: str, title: str, measured: float, note: str) -> Bar:
    return Bar(id=name, title=title, measured=measured, demand=1.25, better="lower", unit="x", note=note)


async def measure(folder: Path) -> list[Bar]:
    """Both bars."""
    load = Load(messages=MESSAGES, conversations=CONVERSATIONS)
    past = await _costs({str(count): (path, load) for count, path in (await _histories(folder)).items()})
    ratio, figures = _worst(past, str(LONG), str(SHORT))
    bars = [_bar("HIST", f"cost of a delivery: {LONG:,} messages of history / {SHORT:,}", ratio, figures)]

    paths = await _sessions(folder)
    few, all_of = (Load(messages=MESSAGES, conversations=count) for count in (FEW, MANY))
    sessions = await _costs(
        {"few": (paths[FEW], few), "few of many": (paths[MANY], few), "all of many": (paths[MANY], all_of)}
    )
    ratio, figures = _worst(sessions, "few of many", "few")
    ratio_all, figures_all = _worst(sessions, "all of many", "few")
    note = f"sends to {FEW} of them {figures}; to all {figures_all}"
    bars.append(_bar("SESS", f"cost of a delivery: {MANY:,} sessions / {FEW}", max(ratio, ratio_all), note))
    return bars


def bars() -> list[Bar]:
    """Measure them."""
    with tuned(), tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure(Path(folder)))


if __name__ == "__main__":
    for bar in bars():
        print(bar)
