"""Two gateway processes on one store file at the same time: one works, and the other takes over when it dies."""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import anyio
import anyio.abc
import pytest

from tests.kill.child import IN_ORDER, REPLACED, Fuse
from tests.kill.platform import Point
from tests.kill.stage import Setting, Stage
from tests.kill.starter import Starter, starter
from tests.kill.stored import dump
from tests.kill.verdict import Verdict
from tests.support.scale import scaled

pytestmark = pytest.mark.anyio

SEED = 4
#: holders that are killed
KILLS = scaled(10, 3)
#: seconds, for a machine that does much else
LONG = 120.0
#: events after which a holder is frozen: it has committed, and holds no lock of SQLite that others would wait for
FREEZES = ("inbound.admitted", "intent.prepared", "chunk.acked", "intent.settled")


class Pair:
    """Two processes on a stage. One that ends by itself is an error at once."""

    def __init__(self, stage: Stage, starters: list[Starter], group: anyio.abc.TaskGroup) -> None:
        self.stage = stage
        self._free = starters
        self._group = group
        self._running: dict[int, Starter] = {}
        self._over: dict[int, anyio.Event] = {}
        self._status: dict[int, int] = {}
        #: those that may end
        self._doomed: set[int] = set()

    async def start(self, fuse: Fuse | None = None) -> int:
        """Start a process; its number."""
        starts, life = self._free.pop(), self.stage.life(fuse)
        await starts.start(life)
        self._running[life.process], self._over[life.process] = starts, anyio.Event()
        self._group.start_soon(self._watch, life.process, starts)
        return life.process

    async def _watch(self, process: int, starts: Starter) -> None:
        self._status[process] = await starts.ended()
        if process not in self._doomed:
            raise AssertionError(f"process {process} ended with {self._status[process]}\n{self.stage.said()}")
        self._over[process].set()

    def strike(self, process: int, number: signal.Signals) -> None:
        """Send a process a signal."""
        if number is not signal.SIGSTOP:
            self._doomed.add(process)
        self._running[process].strike(number)

    async def strike_at(self, process: int, point: Point, count: int, number: signal.Signals) -> None:
        """Send a process a signal when the platform comes to a point."""
        struck = anyio.Event()

        def spring() -> None:
            self.strike(process, number)
            struck.set()

        self.stage.trap.set(point, count, spring)
        await struck.wait()

    async def stop(self, process: int) -> int:
        """Ask a process to end in order; how it did."""
        self._doomed.add(process)
        await self.stage.people.stop_gateway(process)
        return await self.ended(process)

    async def ended(self, process: int) -> int:
        """Wait until a process has ended; how it did."""
        await self._over[process].wait()
        self._free.append(self._running.pop(process))
        return self._status[process]

    async def finish(self) -> Verdict:
        """Come to rest, and end both in order; what came of it."""
        await self.stage.rest()
        for process in list(self._running):
            assert await self.stop(process) == IN_ORDER, self.stage.said()
        return self.stage.verdict()


@asynccontextmanager
async def pair(folder: Path, lease: float) -> AsyncGenerator[Pair, None]:
    stage = Stage(Setting(seed=SEED, lease=lease), folder)
    async with stage.open(), starter(folder) as first, starter(folder) as second:
        with anyio.fail_after(LONG):
            async with anyio.create_task_group() as group:
                yield Pair(stage, [first, second], group)
                group.cancel_scope.cancel()


async def test_when_the_process_that_works_is_killed_the_other_takes_over_at_once(tmp_path):
    dice, took = Random(SEED), list[float]()
    async with pair(tmp_path, lease=LONG) as both:
        working, waiting = await both.start(), await both.start()
        people = both.stage.people
        await people.until_working()
        if people.working != working:
            working, waiting = waiting, working
        for _ in range(KILLS):
            await both.strike_at(working, dice.choice(list(Point)[:-1]), dice.randint(1, 30), signal.SIGKILL)
            assert await both.ended(working) == -signal.SIGKILL
            died = time.monotonic()
            await people.until_working(waiting)
            took.append(time.monotonic() - died)
            working, waiting = waiting, await both.start()
        # One that only waits may die, too.
        both.strike(waiting, signal.SIGKILL)
        assert await both.ended(waiting) == -signal.SIGKILL
        verdict = await both.finish()
    assert verdict.findings == [], both.stage.said()
    assert verdict.promises > KILLS * 5
    # By the proof that the other is dead, and long before its lease has ended.
    assert max(took) < LONG / 4


async def test_a_process_that_was_frozen_beyond_its_lease_ends_when_it_goes_on(tmp_path):
    async with pair(tmp_path, lease=1.0) as both:
        people = both.stage.people
        for event in FREEZES:
            working = await both.start(Fuse(kind=event, count=10, signal=signal.SIGSTOP))
            await people.until_working(working)
            waiting = await both.start()
            await people.until_working(waiting)
            await people.until_more(20)
            assert await both.stop(waiting) == IN_ORDER, both.stage.said()
            before = dump(both.stage.store)
            # Now it goes on with what it was about to store, and finds a store that nobody holds, and that is not its.
            both.strike(working, signal.SIGCONT)
            assert await both.ended(working) == REPLACED, both.stage.said()
            assert dump(both.stage.store) == before
        await both.start()
        verdict = await both.finish()
    assert verdict.findings == [], both.stage.said()
    assert verdict.promises > 20 * len(FREEZES)


async def test_two_processes_may_make_the_store_at_the_same_time(tmp_path):
    for n in range(3):
        folder = tmp_path / str(n)
        folder.mkdir()
        async with pair(folder, lease=LONG) as both:
            await both.start()
            await both.start()
            await both.stage.people.until_more(20)
            verdict = await both.finish()
        assert verdict.findings == [], both.stage.said()
        assert both.stage.said() == ""
