"""A run leaves nothing behind: no tasks, no noise, no changed global, in any thread."""

import asyncio
import asyncio.runners
import gc
import inspect
import logging
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import anyio
import anyio.lowlevel
import pytest

from tests.determinism import _leftovers
from tests.determinism._storm import SEEDS, on_sim
from tests.support.paths import ROOT
from trunkline.sim.loop import NODE, Node, SimLoop, SimTask, SimulationError, run
from trunkline.sim.loop._compat import anyio_run_vars, anyio_task_states


def test_runs_that_leave_everything_behind_make_no_noise() -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", "-m", "tests.determinism._leftovers"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "clean\n", "")


@pytest.mark.parametrize("program", _leftovers.EXPECTED, ids=lambda program: program.__name__)
def test_leftovers_end_as_expected(program: Callable[[SimLoop], Awaitable[object]]) -> None:
    assert _leftovers.attempt(program) == _leftovers.EXPECTED[program]


def census() -> tuple[int, int, int, int, int]:
    """Count what runs could leak: tasks, coroutines, loops, and anyio's two tables."""
    gc.collect()
    objects = gc.get_objects()
    tasks = sum(isinstance(thing, asyncio.Task) for thing in objects)
    coroutines = sum(inspect.iscoroutine(thing) for thing in objects)
    loops = sum(isinstance(thing, SimLoop) for thing in objects)
    return tasks, coroutines, loops, len(anyio_task_states), len(anyio_run_vars)


def test_nothing_accumulates_over_many_runs() -> None:
    for program in _leftovers.EXPECTED:
        _leftovers.attempt(program)
    before = census()
    for _ in range(25):
        for program in _leftovers.EXPECTED:
            _leftovers.attempt(program)
    assert census() == before


def test_nothing_of_a_run_is_left_without_the_collectors_help_in_anyio() -> None:
    gc.disable()
    try:
        before = len(anyio_task_states), len(anyio_run_vars)
        for program in _leftovers.EXPECTED:
            _leftovers.attempt(program)
        assert (len(anyio_task_states), len(anyio_run_vars)) == before
    finally:
        gc.enable()


def test_tasks_of_the_dead_are_not_collected_during_the_run() -> None:
    """Else the collector would run their finally blocks, at a moment of its own choice."""
    left: list[bool] = []

    async def main(loop: SimLoop) -> list[bool]:
        node = Node("gateway")

        async def process() -> None:
            try:
                await loop.create_future()
            finally:
                left.append(loop.over)

        loop.create_task(process(), context=node.context())
        await anyio.sleep(1)
        node.kill()
        for _ in range(300):  # enough tasks for the loop to forget those that are done
            await loop.create_task(anyio.lowlevel.checkpoint())
        gc.collect()
        return list(left)

    assert run(main) == []
    assert left == [True]


def test_no_global_is_changed() -> None:
    def globals_of_asyncio() -> tuple[object, ...]:
        policy = asyncio.get_event_loop_policy()
        local = getattr(policy, "_local", None)
        return (
            sys.unraisablehook,
            sys.excepthook,
            sys.get_asyncgen_hooks(),
            vars(asyncio.runners)["_cancel_all_tasks"],
            getattr(local, "_loop", None),
            gc.isenabled(),
            gc.get_threshold(),
            NODE.get(),
        )

    before = globals_of_asyncio()
    for program in _leftovers.EXPECTED:
        _leftovers.attempt(program)
    assert globals_of_asyncio() == before


def test_runs_in_several_threads_at_once_do_not_touch_each_other() -> None:
    expected = [on_sim(seed) for seed in SEEDS]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(on_sim, SEEDS * 4))
    assert found == expected * 4


def test_a_run_in_a_worker_thread_of_a_program_with_its_own_loop() -> None:
    async def program() -> tuple[str, str]:
        ticking = True

        async def tick() -> None:
            while ticking:  # noqa: ASYNC110 - keeps the outer loop busy
                await asyncio.sleep(0.001)

        ticker = asyncio.create_task(tick())
        found = await asyncio.to_thread(on_sim, SEEDS[0])
        again = await anyio.to_thread.run_sync(on_sim, SEEDS[0])
        ticking = False
        await ticker
        return found, again

    assert asyncio.run(program()) == (on_sim(SEEDS[0]), on_sim(SEEDS[0]))
    assert threading.active_count() >= 1


def test_async_generators_that_are_dropped_too_late_or_elsewhere_are_let_be() -> None:
    """A collector may run in any thread, and at any time. pytest would report what its hook raised."""
    closed: list[int] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            closed.append(1)

    generators = [numbers(), numbers()]

    async def main(loop: SimLoop) -> int:
        await anext(generators[0])
        await anext(generators[1])
        thread = threading.Thread(target=generators.pop)
        thread.start()
        thread.join()
        await anyio.sleep(1)
        return len(loop.pending_tasks())

    assert run(main) == 1
    generators.clear()
    gc.collect()
    assert closed == []


def test_a_run_belongs_to_no_node_wherever_it_starts() -> None:
    async def main(loop: SimLoop) -> Node | None:
        return NODE.get()

    node = Node("gateway")
    context = node.context()
    node.kill()
    assert context.run(run, main) is None


def test_a_run_inside_a_running_loop_is_refused() -> None:
    async def program() -> None:
        with pytest.raises(SimulationError, match="worker thread"):
            on_sim(SEEDS[0])

    asyncio.run(program())


def test_a_failed_task_whose_error_was_never_retrieved_is_logged_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    async def main(loop: SimLoop) -> None:
        tasks = [loop.create_task(fail(), name="unseen"), loop.create_task(fail(), name="seen")]
        await asyncio.wait(tasks)
        tasks[1].exception()

    with caplog.at_level(logging.ERROR, logger="asyncio"):
        run(main)
    messages = [record.getMessage().splitlines()[0] for record in caplog.records]
    assert messages == ["task unseen failed, and its error was never retrieved"]


@pytest.mark.parametrize("others", [0, 300], ids=["at the end", "during the run"])
def test_a_failed_task_of_the_dead_is_not_logged(others: int, caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    async def main(loop: SimLoop) -> None:
        node = Node("gateway")
        loop.create_task(fail(), context=node.context())
        await anyio.sleep(1)
        node.kill()
        for _ in range(others):  # enough for the loop to forget the tasks that are done
            await loop.create_task(anyio.lowlevel.checkpoint())

    with caplog.at_level(logging.ERROR, logger="asyncio"):
        run(main)
        gc.collect()
    assert caplog.records == []


def test_all_tasks_of_a_run_are_the_loops_own() -> None:
    async def main(loop: SimLoop) -> set[type]:
        types: set[type] = set()
        async with anyio.create_task_group() as group, asyncio.TaskGroup() as other:
            group.start_soon(anyio.sleep, 1)
            other.create_task(anyio.sleep(1))
            types = {type(task) for task in asyncio.all_tasks()}
        return types

    assert run(main) == {SimTask}
