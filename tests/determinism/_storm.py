"""A cancellation storm, and its trace: what makes plain anyio on asyncio differ from process to process.

`python -m tests.determinism._storm NUMBER` prints the digests of all seeds as JSON, from a heap and with a collector
that depend on the number. The caller sets PYTHONHASHSEED.
"""

import gc
import hashlib
import json
import random
import sys
from collections.abc import Callable
from typing import Any

import anyio

from tests.determinism._stock import run_stock
from trunkline.sim.loop import run

SEEDS = (1, 2, 3)
GROUPS = 25
LEAVES = 8

Trace = list[tuple[object, ...]]


class Storm:
    """25 groups of 8 tasks in nested timeouts, then locks, a limiter and streams; most of it is cancelled midway."""

    def __init__(self, seed: int) -> None:
        self.trace: Trace = []
        self._random = random.Random(seed)
        self._ballast: list[bytearray] = []

    async def main(self, loop: object) -> Trace:
        del loop
        await self._nested_timeouts()
        await self._contested_locks()
        await self._streams()
        return self.trace

    def _note(self, *what: object) -> None:
        self.trace.append((*what, round(anyio.current_time(), 6)))

    async def _leaf(self, group: int, number: int, seconds: float) -> None:
        self._ballast.append(bytearray(self._random.randrange(1, 2000)))
        try:
            await anyio.sleep(seconds)
            self._note("slept", group, number)
        finally:
            self._note("left", group, number)

    async def _group(self, group: int) -> None:
        uniform = self._random.uniform
        with anyio.move_on_after(uniform(1, 5)):
            async with anyio.create_task_group() as tasks:
                for number in range(LEAVES):
                    with anyio.CancelScope():  # noqa: ASYNC100 - one more scope to enter and to leave
                        tasks.start_soon(self._leaf, group, number, uniform(0, 8))
                await anyio.sleep(uniform(0, 6))
        self._note("group", group)

    async def _nested_timeouts(self) -> None:
        with anyio.move_on_after(4.5):
            async with anyio.create_task_group() as tasks:
                for group in range(GROUPS):
                    tasks.start_soon(self._group, group, name=f"group {group}")

    async def _contested_locks(self) -> None:
        lock, limiter = anyio.Lock(), anyio.CapacityLimiter(3)

        async def worker(number: int) -> None:
            async with limiter, lock:
                await anyio.sleep(0.01)
                self._note("locked", number)

        with anyio.move_on_after(0.3):
            async with anyio.create_task_group() as tasks:
                for number in range(60):
                    tasks.start_soon(worker, number)

    async def _streams(self) -> None:
        send, receive = anyio.create_memory_object_stream[int](2)

        async def produce(number: int) -> None:
            try:
                with anyio.move_on_after(0.5 + number % 3 * 0.1):
                    while True:
                        await send.send(number)
            finally:
                self._note("produced", number)

        async def consume(number: int) -> None:
            async for item in receive:
                self._note("got", number, item)
                await anyio.sleep(0.05)

        with anyio.move_on_after(0.7), send, receive:
            async with anyio.create_task_group() as tasks:
                for number in range(10):
                    tasks.start_soon(produce, number, name=f"producer {number}")
                    tasks.start_soon(consume, number)


def digest(trace: Trace) -> str:
    return hashlib.sha256(repr(trace).encode()).hexdigest()[:16]


def on_sim(seed: int) -> str:
    return digest(run(Storm(seed).main, seed=seed))


def on_sim_fifo(seed: int) -> str:
    return digest(run(Storm(seed).main, seed=seed, order="fifo"))


def on_stock(seed: int) -> str:
    return digest(run_stock(Storm(seed).main))


LOOPS: dict[str, Callable[[int], str]] = {"keyed": on_sim, "fifo": on_sim_fifo, "stock": on_stock}


def disturb(number: int) -> list[Any]:
    """Give this process a heap and a collector of its own."""
    scatter = random.Random(number)
    kept = [bytearray(scatter.randrange(1, 900)) for _ in range(2000 + 1500 * number)]
    del kept[:: 2 + number % 3]
    gc.set_threshold((700, 50, 5, 0)[number % 4])
    return kept


def report(number: int) -> dict[str, list[str]]:
    """The digests of all seeds on all loops."""
    ballast = disturb(number)
    digests = {name: [start(seed) for seed in SEEDS] for name, start in LOOPS.items()}
    del ballast
    return digests


if __name__ == "__main__":
    print(json.dumps(report(int(sys.argv[1]))))
