"""Many delegations in flight at once: asked for by many sessions, ended one by one in any order."""

import gc
import time
import tracemalloc
from random import Random
from typing import Any

import anyio
import msgspec

from tests.support.hands.stage import Stage, place
from trunkline.core.agent import Turn
from trunkline.core.hands.port import HandTask
from trunkline.core.values import Address

#: enough that nothing is refused or waits
ROOM: dict[str, Any] = {"hands": {"limits": {"running": 10_000}, "defaults": {"deadline": 1e6}}}


class Crowd:
    """People who each ask for some tasks; hands that end when they are asked to."""

    def __init__(self, sessions: int) -> None:
        self.places = [place(f"p{number}") for number in range(sessions)]
        self.asked: dict[str, Address] = {}
        #: task -> what ends it
        self.open: dict[str, anyio.Event] = {}

    async def turn(self, turn: Turn) -> str | None:
        """The agent: passes each message on, and presents each result."""
        if turn.callback is not None:
            return f"result: {turn.text}"
        await turn.delegate("clerk", turn.text)
        return None

    async def run(self, task: HandTask) -> str:
        """The hand."""
        ended = self.open[task.task] = anyio.Event()
        await ended.wait()
        return task.task

    async def ask(self, stage: Stage, count: int, name: str = "task") -> None:
        """Have so many more tasks in flight."""
        enough = len(self.open) + count
        for number in range(count):
            where = self.places[number % len(self.places)]
            task = f"{name} {number}."
            self.asked[task] = where
            stage.say(where, task)
        await self._rest(lambda: len(self.open) >= enough)

    async def finish(self, stage: Stage, task: str) -> None:
        """End a task, and wait until its person sees the result."""
        seen = stage.account(self.asked[task]).seen
        before = len(seen)
        self.open.pop(task).set()
        await self._rest(lambda: len(seen) > before)

    async def finish_all(self, stage: Stage, dice: Random) -> None:
        """End all tasks in any order, at any moment."""
        tasks = list(self.open)
        dice.shuffle(tasks)
        for task in tasks:
            self.open.pop(task).set()
            if dice.random() < 0.3:
                await anyio.sleep(dice.choice((0.0001, 0.001, 0.1)))
        await anyio.sleep(60)

    async def _rest(self, done: Any) -> None:
        with anyio.fail_after(3600):
            while not done():  # noqa: ASYNC110 -- a condition on anything
                await anyio.sleep(0.0005)


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What one completion cost: seconds, and statements."""

    seconds: float
    statements: float


async def cost_of_completions(stage: Stage, crowd: Crowd, count: int) -> Cost:
    """End so many tasks one by one, each while all others stay open."""
    ran = 0

    def see(_: str) -> None:
        nonlocal ran
        ran += 1

    connection = stage.disk.open()
    took: list[float] = []
    tasks = list(crowd.open)[:count]
    for task in tasks[: count // 2]:
        began = time.perf_counter()
        await crowd.finish(stage, task)
        took.append(time.perf_counter() - began)
    connection.set_trace_callback(see)
    for task in tasks[count // 2 :]:
        await crowd.finish(stage, task)
    connection.set_trace_callback(None)
    return Cost(seconds=sorted(took)[len(took) // 2], statements=ran / (count - count // 2))


def held() -> int:
    """Bytes that the gateway's own code has allocated and still holds."""
    gc.collect()
    core = [tracemalloc.Filter(inclusive=True, filename_pattern="*/trunkline/core/*")]
    if not tracemalloc.is_tracing():
        return 0
    return sum(one.size for one in tracemalloc.take_snapshot().filter_traces(core).statistics("filename"))
