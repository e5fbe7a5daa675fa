"""S2: what the canonical order and the seeded schedule cost, in timer events per CPU second against the stock loop.

Process CPU time, interleaved rounds, medians: the machine may be busy with other things, and only ratios inside one run
are worth anything.
"""

import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from tests.determinism._stock import run_stock
from tests.support.bench.bar import Bar
from trunkline.sim.loop import SimLoop, run

ROUNDS = 9
TASKS = 200
SLEEPS = 60
#: Deadlines are multiples of this, so that some of them meet and the schedule has something to order.
GRAIN = 1 / 256

Main = Callable[[Any], Awaitable[None]]


async def sleepers(loop: object) -> None:
    """Many tasks that do nothing but sleep: TASKS * SLEEPS timer events, nothing else worth the name."""
    del loop

    async def sleeper(number: int) -> None:
        state = number * 7919 + 1
        for _ in range(SLEEPS):
            state = state * 1103515245 + 12345 & 0x7FFFFFFF
            await anyio.sleep((1 + state % 256) * GRAIN)

    async with anyio.create_task_group() as group:
        for number in range(TASKS):
            group.start_soon(sleeper, number, name=f"sleeper {number}")


def rate(start: Callable[[Main], object]) -> float:
    """Timer events per CPU second of one run."""
    gc.collect()
    before = time.process_time()
    start(sleepers)
    return TASKS * SLEEPS / (time.process_time() - before)


def perturbed(main: Main) -> object:
    return run(main, seed=1, order="keyed")


def fifo(main: Main) -> object:
    return run(main, order="fifo")


def medians(rounds: int) -> dict[str, float]:
    """Median rate of each loop over interleaved rounds, after one round to warm up."""
    starts: dict[str, Callable[[Main], object]] = {"stock": run_stock, "fifo": fifo, "perturbed": perturbed}
    for start in starts.values():
        rate(start)
    rates: dict[str, list[float]] = {name: [] for name in starts}
    for _ in range(rounds):
        for name, start in starts.items():
            rates[name].append(rate(start))
    return {name: statistics.median(found) for name, found in rates.items()}


def counted_events() -> int:
    """How many timers really fire in one run, so that the rate means what it says."""
    loops: list[SimLoop] = []

    async def main(loop: SimLoop) -> None:
        loops.append(loop)
        await sleepers(loop)

    run(main)
    return loops[0].timer_events


def bars() -> list[Bar]:
    """Measure S2."""
    assert counted_events() == TASKS * SLEEPS
    found = medians(ROUNDS)
    note = "timer events per CPU second: " + ", ".join(f"{name} {rate:,.0f}" for name, rate in found.items())
    title = "perturbed virtual-time loop / stock loop with a jumping selector"
    ratio = found["perturbed"] / found["stock"]
    return [Bar(id="S2", title=title, measured=ratio, demand=0.7, better="higher", unit="x", note=note)]


if __name__ == "__main__":
    for bar in bars():
        print(bar)
