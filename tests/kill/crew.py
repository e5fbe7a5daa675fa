"""Outside workers beside a storm: some processes that are killed at any time and started again until the end."""

import signal
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import anyio

from tests.kill.stage import Stage
from tests.kill.starter import Starter, starter

#: as many, and how often a message needs one
WORKERS, DELEGATING = 2, 0.5
#: seconds that a worker lives, at most
_LONGEST = 0.6


class Crew:
    """The workers of a storm."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._starts = 0
        #: workers that were killed
        self.kills = 0

    async def keep(self, name: str, starts: Starter) -> None:
        """Kill a worker and start it again, until cancelled. Nobody else may end it."""
        dice = Random(f"crew {name} {self._stage.setting.seed}")
        while True:
            self._starts += 1
            await starts.start(self._stage.worker_life(name, self._starts))
            status = 0
            async with anyio.create_task_group() as group:
                group.start_soon(self._strike, starts, dice.uniform(0.02, _LONGEST))
                status = await starts.ended()
                group.cancel_scope.cancel()
            if status != -signal.SIGKILL:
                raise AssertionError(f"worker {name} ended with {status}\n{self._stage.said()}")
            self.kills += 1

    async def _strike(self, starts: Starter, after: float) -> None:
        await anyio.sleep(after)
        starts.strike()


@asynccontextmanager
async def crew(stage: Stage, folder: Path) -> AsyncGenerator[Crew, None]:
    """The workers of a stage; none if its setting has none."""
    workers = Crew(stage)
    async with AsyncExitStack() as stack:
        names = [f"w{number}" for number in range(1, stage.setting.workers + 1)]
        starters = [await stack.enter_async_context(starter(folder)) for _ in names]
        async with anyio.create_task_group() as group:
            for name, starts in zip(names, starters, strict=True):
                group.start_soon(workers.keep, name, starts)
            yield workers
            group.cancel_scope.cancel()
