"""Two gateway processes on one store file at the same time."""

import signal
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc

from tests.kill.child import IN_ORDER, Fuse
from tests.kill.platform import Point
from tests.kill.stage import Setting, Stage
from tests.kill.starter import Starter, starter
from tests.kill.verdict import Verdict


class Pair:
    """Two processes on a stage. One that ends by itself is an error at once, unless its status is in `may_end`."""

    def __init__(
        self, stage: Stage, starters: list[Starter], group: anyio.abc.TaskGroup, may_end: Iterable[int]
    ) -> None:
        self.stage = stage
        self._may_end = frozenset(may_end)
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
        if process not in self._doomed and self._status[process] not in self._may_end:
            raise AssertionError(f"process {process} ended with {self._status[process]}\n{self.stage.said()}")
        self._over[process].set()

    def strike(self, process: int, number: signal.Signals) -> None:
        """Send a process a signal."""
        if number is not signal.SIGSTOP:
            self._doomed.add(process)
        self._running[process].strike(number)

    def strike_unless_ended(self, process: int, number: signal.Signals) -> None:
        """Send a process a signal, if it has not ended."""
        if not self.has_ended(process):
            self.strike(process, number)

    async def reached(self, point: Point, count: int) -> None:
        """Wait until the platform comes to a point for the `count`-th time."""
        sprung = anyio.Event()
        self.stage.trap.set(point, count, sprung.set)
        await sprung.wait()

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

    def has_ended(self, process: int) -> bool:
        """Whether a process has ended."""
        return self._over[process].is_set()

    async def finish(self) -> Verdict:
        """Come to rest, and end both in order; what came of it."""
        await self.stage.rest()
        for process in list(self._running):
            assert await self.stop(process) == IN_ORDER, self.stage.said()
        return self.stage.verdict()


@asynccontextmanager
async def pair(setting: Setting, folder: Path, seconds: float, *may_end: int) -> AsyncGenerator[Pair, None]:
    """Two processes, and the stage around them, for so many seconds at most."""
    stage = Stage(setting, folder)
    async with stage.open(), starter(folder) as first, starter(folder) as second:
        with anyio.fail_after(seconds):
            async with anyio.create_task_group() as group:
                yield Pair(stage, [first, second], group, may_end)
                group.cancel_scope.cancel()
