"""The loop's refusals, its messages, what it checks at import, and random programs that behave the same twice."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trunkline.sim.loop
from tests.support.paths import ROOT
from trunkline.sim.loop import (
    Deadlock,
    ForeignThread,
    Node,
    SimLoop,
    SimTask,
    SimulationError,
    StepLimit,
    UnsupportedRuntime,
    run,
)
from trunkline.sim.loop._compat import check_aiosqlite, check_names, check_python, check_steps
from trunkline.sim.loop._tasks import splitmix64

# What ends a run


def test_run_returns_what_main_returns_and_raises_what_it_raises() -> None:
    async def answer(loop: SimLoop) -> int:
        return 42

    async def fail(loop: SimLoop) -> None:
        raise ZeroDivisionError

    assert run(answer) == 42
    with pytest.raises(ZeroDivisionError):
        run(fail)


def test_a_deadlock_says_when_and_who_waits() -> None:
    async def main(loop: SimLoop) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 2)
            group.start_soon(anyio.Event().wait, name="deliver telegram:1")

    with pytest.raises(Deadlock, match=r"no timer is set at t=2 s, step \d+; not done: main, deliver telegram:1$"):
        run(main)


def test_a_deadlock_names_at_most_twenty_tasks() -> None:
    async def main(loop: SimLoop) -> None:
        async with anyio.create_task_group() as group:
            for number in range(30):
                group.start_soon(anyio.sleep_forever, name=f"waiter {number}")

    with pytest.raises(Deadlock) as caught:
        run(main)
    assert str(caught.value).endswith("waiter 17, waiter 18 and 11 more")


def test_a_step_limit_ends_what_spins() -> None:
    seen: list[int] = []

    async def main(loop: SimLoop) -> None:
        loop.on_step = seen.append
        while True:
            await anyio.lowlevel.checkpoint()

    with pytest.raises(StepLimit, match=r"the budget of 100 steps is used up at t=0 s, step 100; not done: main$"):
        run(main, max_steps=100)
    assert seen == list(range(1, 101))


def test_a_run_within_its_budget_ends_well() -> None:
    async def main(loop: SimLoop) -> int:
        await anyio.sleep(1)
        return loop.steps

    steps = run(main)
    assert run(main, max_steps=steps + 1) == steps
    with pytest.raises(StepLimit):
        run(main, max_steps=steps - 1)


def test_what_the_step_hook_raises_ends_the_run() -> None:
    class Stop(Exception):
        pass

    def stop(step: int) -> None:
        if step == 5:
            raise Stop

    async def main(loop: SimLoop) -> None:
        loop.on_step = stop
        await anyio.sleep(1)
        await anyio.sleep(1)
        await anyio.sleep(1)

    with pytest.raises(Stop):
        run(main)


def test_counters_count_callbacks_and_timers() -> None:
    async def main(loop: SimLoop) -> tuple[int, int]:
        for _ in range(10):
            await anyio.sleep(1)
        return loop.steps, loop.timer_events

    # One first step; then a timer and a wake-up for each sleep.
    assert run(main) == (21, 10)


# Threads, executors and the network


def test_a_call_from_another_thread_is_refused_and_reported() -> None:
    refused: list[BaseException] = []

    def intrude(loop: SimLoop) -> None:
        for call in (loop.call_soon_threadsafe, loop.call_soon):
            try:
                call(print, "never")
            except ForeignThread as error:
                refused.append(error)
        try:
            loop.call_later(1, print, "never")
        except ForeignThread as error:
            refused.append(error)

    async def main(loop: SimLoop) -> None:
        thread = threading.Thread(target=intrude, args=(loop,), name="intruder")
        thread.start()
        thread.join()
        await anyio.sleep_forever()

    with pytest.raises(Deadlock, match="thread 'intruder' scheduled print, which was refused"):
        run(main)
    assert [type(error) for error in refused] == [ForeignThread] * 3
    assert "'intruder'" in str(refused[0])


def test_an_executor_runs_in_the_loop_itself() -> None:
    async def main(loop: SimLoop) -> tuple[int, bool, float]:
        ident = await loop.run_in_executor(None, threading.get_ident)
        doubled = await asyncio.to_thread(lambda: 21 * 2)
        return doubled, ident == threading.get_ident(), loop.time()

    assert run(main) == (42, True, 0)


def test_what_an_executor_job_raises_reaches_its_awaiter() -> None:
    async def main(loop: SimLoop) -> None:
        await loop.run_in_executor(None, int, "no number")

    with pytest.raises(ValueError, match="no number"):
        run(main)


def test_an_executor_job_does_not_run_when_cancelled_in_time_or_when_its_node_is_dead() -> None:
    ran: list[str] = []

    async def main(loop: SimLoop) -> None:
        loop.run_in_executor(None, ran.append, "cancelled").cancel()
        node = Node("gateway")
        node.context().run(loop.run_in_executor, None, ran.append, "dead")
        node.kill()
        await anyio.sleep(1)

    run(main)
    assert ran == []


def test_there_is_no_network() -> None:
    async def main(loop: SimLoop) -> None:
        with pytest.raises(SimulationError, match="network"):
            await loop.getaddrinfo("localhost", 80)
        with pytest.raises(SimulationError, match="network"):
            await loop.getnameinfo(("127.0.0.1", 80))
        with pytest.raises(SimulationError, match="network"):
            await loop.create_connection(asyncio.Protocol, "localhost", 80)

    run(main)


def test_a_loop_used_by_hand_can_be_closed_twice_and_refuses_work_then() -> None:
    loop = SimLoop()
    loop.close()
    loop.close()
    for call in (lambda: loop.call_soon(print), lambda: loop.call_later(1, print)):
        with pytest.raises(RuntimeError, match="closed"):
            call()


def test_an_async_generator_that_is_dropped_is_closed_by_the_loop() -> None:
    log: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await anyio.sleep(1)
            log.append("closed")

    async def main(loop: SimLoop) -> None:
        async for _ in numbers():
            break
        await anyio.sleep(5)

    run(main)
    assert log == ["closed"]


# What is checked at import


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13), (3, 14)])
def test_the_supported_pythons_pass(version: tuple[int, int]) -> None:
    check_python(version, "CPython")


@pytest.mark.parametrize(
    ("version", "implementation", "found"),
    [((3, 10), "CPython", "CPython 3.10"), ((3, 15), "CPython", "CPython 3.15"), ((3, 11), "PyPy", "PyPy 3.11")],
)
def test_other_pythons_are_refused_by_name(version: tuple[int, int], implementation: str, found: str) -> None:
    with pytest.raises(UnsupportedRuntime, match=r"works on CPython 3\.11 to 3\.14.*this is " + found):
        check_python(version, implementation)


def test_a_missing_private_name_is_refused_by_name() -> None:
    check_names(asyncio.Handle, "asyncio", ("cancel",))
    with pytest.raises(UnsupportedRuntime, match="asyncio 9 here has no _gone, _missing"):
        check_names(asyncio.Handle, "asyncio 9", ("cancel", "_gone", "_missing"))


def test_an_aiosqlite_that_is_built_otherwise_is_refused() -> None:
    with pytest.raises(UnsupportedRuntime, match=r"aiosqlite 0\.22\.\d+ here has no _connection, _thread, _tx"):
        check_aiosqlite(object())


def test_a_task_whose_steps_do_not_lead_to_it_is_refused() -> None:
    class Hiding:
        """A loop that is given functions, not methods of the task."""

        def __init__(self, loop: Any) -> None:
            self.loop = loop

        def get_debug(self) -> bool:
            return False

        def call_soon(self, callback: Any, *args: Any, context: Any = None) -> None:
            self.loop.call_soon(lambda *late: callback(*args, *late), context=context)

    class Opaque(asyncio.Task[None]):
        def __init__(self, coro: Any, *, loop: Any, name: str) -> None:
            super().__init__(coro, loop=cast(Any, Hiding(loop)), name=name)

    check_steps(asyncio.Task)
    with pytest.raises(UnsupportedRuntime, match=r"steps of .*Opaque here do not lead to the task"):
        check_steps(Opaque)


def test_the_import_itself_fails_on_another_python() -> None:
    code = (
        "import anyio._backends._asyncio, importlib.metadata, sys, types\n"
        "package = types.ModuleType('trunkline.sim')\n"  # instead of all that the package itself imports
        "package.__path__ = ['sim']\n"
        "sys.modules['trunkline.sim'] = package\n"
        "sys.version_info = (3, 99, 0, 'final', 0)\n"
        "import trunkline.sim.loop"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False, text=True)
    assert done.returncode == 1
    assert "UnsupportedRuntime: Trunkline's simulator works on CPython 3.11" in done.stderr
    assert "this is CPython 3.99" in done.stderr


def test_the_front_door_exports_what_it_says() -> None:
    public = {name for name in vars(trunkline.sim.loop) if not name.startswith("_")}
    assert public == set(trunkline.sim.loop.__all__)


# Odds and ends


def test_splitmix64_is_the_published_one() -> None:
    # First outputs of the reference implementation for seed 1234567.
    state = 1234567
    gamma = 0x9E3779B97F4A7C15
    assert [splitmix64(state + step * gamma) for step in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_a_node_says_what_it_is() -> None:
    node = Node("gateway", 2)
    assert repr(node) == "<Node gateway#2>"
    node.kill()
    node.kill()
    assert repr(node) == "<Node gateway#2 dead>"


# Random programs


Program = list[tuple[str, int, "Program"]]

#: A program is a list of instructions that all run together; each has a length in tenths of a second and a body.
programs: st.SearchStrategy[Program] = st.recursive(
    st.just([]),
    lambda body: st.lists(
        st.tuples(st.sampled_from(["sleep", "timeout", "shield", "group", "cancelled"]), st.integers(0, 30), body),
        max_size=4,
    ),
    max_leaves=20,
)


async def execute(program: Program, path: str, log: list[tuple[str, float, str]]) -> None:
    async def instruction(kind: str, tenths: int, body: Program, where: str) -> None:
        seconds = tenths / 10
        task = asyncio.current_task()
        assert isinstance(task, SimTask)
        try:
            match kind:
                case "timeout":
                    with anyio.move_on_after(seconds):
                        await execute(body, where, log)
                        await anyio.sleep(1)
                case "shield":
                    with anyio.CancelScope(shield=True):
                        await anyio.sleep(seconds)
                    await execute(body, where, log)
                case "cancelled":
                    async with anyio.create_task_group() as group:
                        group.start_soon(execute, body, where, log)
                        await anyio.sleep(seconds)
                        group.cancel_scope.cancel()
                case _:
                    await execute(body, where, log)
                    await anyio.sleep(seconds)
        finally:
            log.append((where, anyio.current_time(), f"{kind} {task.runs}"))

    async with anyio.create_task_group() as group:
        for number, (kind, tenths, body) in enumerate(program):
            group.start_soon(instruction, kind, tenths, body, f"{path}/{number}")


def trace(program: Program, seed: int) -> list[tuple[str, float, str]]:
    log: list[tuple[str, float, str]] = []
    run(lambda loop: execute(program, "", log), seed=seed, max_steps=100_000)
    return log


@given(programs, st.integers(0, 2**64))
def test_a_random_program_behaves_the_same_twice(program: Program, seed: int) -> None:
    first = trace(program, seed)
    heap = [bytearray(number % 500) for number in range(seed % 1000)]
    assert trace(program, seed) == first
    del heap


@given(programs)
def test_a_random_program_ends_at_the_same_time_under_every_seed(program: Program) -> None:
    def ends(seed: int) -> float:
        return max((time for _, time, _ in trace(program, seed)), default=0)

    assert ends(1) == pytest.approx(ends(2))
