"""The order of one batch of ready callbacks, and the internals of asyncio that it stands on."""

import asyncio
import contextvars
import sys
import zlib
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from trunkline.sim.loop import SimLoop, SimTask, SimulationError, run


async def line_up(loop: SimLoop, names: list[str], log: list[str], rounds: int = 1) -> None:
    """Have one task a name become ready in one batch, `rounds` times over."""

    async def racer(name: str) -> None:
        for _ in range(rounds):
            await anyio.sleep(1)
            log.append(name)

    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(racer, name, name=name)


def order_of(names: list[str], *, seed: int = 0, fifo: bool = False, rounds: int = 1) -> list[str]:
    log: list[str] = []
    run(lambda loop: line_up(loop, names, log, rounds), seed=seed, order="fifo" if fifo else "keyed")
    return log


NAMES = [f"conversation {number}" for number in range(8)]


def test_fifo_order_is_order_of_birth() -> None:
    assert order_of(NAMES, fifo=True) == NAMES


def test_keyed_order_is_another_one_for_each_seed() -> None:
    orders = [tuple(order_of(NAMES, seed=seed)) for seed in range(20)]
    assert len(set(orders)) == 20
    assert all(sorted(order) == NAMES for order in orders)


def test_every_order_of_three_tasks_comes_up_about_equally_often() -> None:
    counts: dict[tuple[str, ...], int] = {}
    for seed in range(600):
        order = tuple(order_of(NAMES[:3], seed=seed))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert min(counts.values()) > 60


def test_the_order_of_a_pair_changes_from_step_to_step() -> None:
    log = order_of(NAMES[:2], seed=5, rounds=200)
    firsts = log[::2].count(NAMES[0])
    assert 60 < firsts < 140


def test_leaving_a_task_out_does_not_change_the_order_of_the_others() -> None:
    for seed in range(10):
        whole = order_of(NAMES, seed=seed, rounds=5)
        without = order_of(NAMES[:3] + NAMES[4:], seed=seed, rounds=5)
        assert [name for name in whole if name != NAMES[3]] == without


def test_namesakes_are_perturbed_too() -> None:
    async def main(loop: SimLoop) -> list[int]:
        log: list[int] = []

        async def racer(number: int) -> None:
            await anyio.sleep(1)
            log.append(number)

        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(racer, number, name="namesake")
        return log

    assert len({tuple(run(main, seed=seed)) for seed in range(10)}) > 5


def test_tasks_whose_names_have_one_checksum_are_told_apart_by_birth() -> None:
    async def main(loop: SimLoop) -> list[str]:
        log: list[str] = []
        futures = {name: loop.create_future() for name in ("plumless", "buckeroo")}
        assert zlib.crc32(b"plumless") == zlib.crc32(b"buckeroo")

        async def racer(name: str) -> None:
            await futures[name]
            log.append(name)

        async with anyio.create_task_group() as group:
            for name in futures:
                group.start_soon(racer, name, name=name)
            await anyio.sleep(1)
            futures["buckeroo"].set_result(None)
            futures["plumless"].set_result(None)
        return log

    assert {tuple(run(main, seed=seed)) for seed in range(10)} == {("plumless", "buckeroo")}


@pytest.mark.parametrize("seed", range(5))
def test_plain_callbacks_keep_their_order_and_come_before_tasks(seed: int) -> None:
    async def main(loop: SimLoop) -> list[str]:
        log: list[str] = []

        async def task(name: str) -> None:
            log.append(name)

        tasks = [loop.create_task(task("task a"))]
        loop.call_soon(log.append, "callback 1")
        tasks.append(loop.create_task(task("task b")))
        loop.call_soon(log.append, "callback 2")
        await asyncio.wait(tasks)
        return log

    log = run(main, seed=seed)
    assert log[:2] == ["callback 1", "callback 2"]
    assert sorted(log[2:]) == ["task a", "task b"]


def test_what_becomes_ready_in_a_turn_waits_for_the_next() -> None:
    async def main(loop: SimLoop) -> list[str]:
        log: list[str] = []
        loop.call_soon(lambda: (log.append("first"), loop.call_soon(log.append, "third")))
        loop.call_soon(log.append, "second")
        await anyio.sleep(1)
        return log

    assert run(main) == ["first", "second", "third"]


def step_and_wakeup() -> list[Callable[..., object]]:
    """The callbacks that a task schedules, as the loop is given them."""
    seen: list[Callable[..., object]] = []

    class Spy(SimLoop):
        def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:
            seen.append(callback)
            return super().call_soon(callback, *args, context=context)

    loop = Spy()

    async def main() -> None:
        future = loop.create_future()
        loop.call_later(1, future.set_result, None)
        await future

    task = loop.create_task(main())
    loop.run_until_complete(task)
    loop.close()
    return [callback for callback in seen if getattr(callback, "__self__", None) is task]


def test_first_step_and_wakeup_of_a_task_lead_to_it() -> None:
    callbacks = step_and_wakeup()
    assert len(callbacks) == 2
    assert all(type(getattr(callback, "__self__", None)) is SimTask for callback in callbacks)


def test_unnamed_tasks_are_named_by_their_loop_not_by_the_process() -> None:
    async def nothing() -> None:
        pass

    async def main(loop: SimLoop) -> list[str]:
        tasks = [loop.create_task(nothing()), asyncio.create_task(nothing()), asyncio.ensure_future(nothing())]
        await asyncio.wait(tasks)
        return [task.get_name() for task in tasks]

    assert run(main) == run(main) == ["task-2", "task-3", "task-4"]


def test_a_name_given_in_any_way_is_kept() -> None:
    async def nothing() -> None:
        pass

    async def main(loop: SimLoop) -> list[str]:
        names = [loop.create_task(nothing(), name="a").get_name(), asyncio.create_task(nothing(), name="b").get_name()]
        async with asyncio.TaskGroup() as group:
            names.append(group.create_task(nothing(), name="c").get_name())
        return names

    assert run(main) == ["a", "b", "c"]


def test_tasks_run_in_the_context_they_are_given() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    async def read() -> str:
        await anyio.sleep(1)
        return variable.get()

    async def main(loop: SimLoop) -> tuple[str, str]:
        context = contextvars.copy_context()
        context.run(variable.set, "given")
        given, copied = loop.create_task(read(), context=context), loop.create_task(read())
        return await given, await copied

    assert run(main) == ("given", "unset")


def test_task_factories_are_refused() -> None:
    def factory(loop: Any, coro: Any, **options: Any) -> Any:
        return asyncio.Task(coro, loop=loop, **options)

    async def main(loop: SimLoop) -> None:
        loop.set_task_factory(None)
        with pytest.raises(SimulationError, match="factory"):
            loop.set_task_factory(factory)
        if sys.version_info >= (3, 12):
            with pytest.raises(SimulationError, match="eager"):
                loop.set_task_factory(asyncio.eager_task_factory)

    run(main)


def test_an_eager_task_is_refused() -> None:
    async def main(loop: SimLoop) -> None:
        coro = anyio.sleep(1)
        with pytest.raises(SimulationError, match="eager"):
            loop.create_task(coro, eager_start=True)
        coro.close()

    run(main)


def test_all_tasks_and_current_task_know_the_loops_tasks() -> None:
    async def main(loop: SimLoop) -> tuple[bool, int]:
        sleeper = loop.create_task(anyio.sleep(1))
        seen = len(asyncio.all_tasks())
        await sleeper
        return isinstance(asyncio.current_task(), SimTask), seen

    assert run(main) == (True, 2)
