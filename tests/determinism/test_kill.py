"""A killed node stops as under SIGKILL: its callbacks, timers and finally blocks do not happen."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from trunkline.sim.loop import NODE, Deadlock, Node, SimLoop, run


def boot(loop: SimLoop, process: Callable[[], Coroutine[Any, Any, Any]], node: Node) -> "asyncio.Task[Any]":
    return loop.create_task(process(), name=node.name, context=node.context())


def test_no_finally_block_runs_during_the_run() -> None:
    left: list[str] = []

    async def main(loop: SimLoop) -> list[str]:
        node = Node("gateway")

        async def child() -> None:
            try:
                await anyio.sleep(5)
            finally:
                left.append("child")

        async def process() -> None:
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(child)
                    await anyio.sleep_forever()
            finally:
                left.append("process")

        boot(loop, process, node)
        await anyio.sleep(1)
        node.kill()
        await anyio.sleep(1000)
        return list(left)

    assert run(main) == []


def test_finally_blocks_have_no_effect_afterwards() -> None:
    effects: list[str] = []
    closing: list[tuple[bool, bool]] = []

    async def main(loop: SimLoop) -> None:
        node = Node("gateway")

        async def spawned() -> None:
            effects.append("task")

        async def process() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                mark = NODE.get()
                closing.append((loop.over, mark is node and not node.alive))
                loop.call_soon(effects.append, "callback")
                loop.call_later(1, effects.append, "timer")
                loop.create_task(spawned())
                loop.run_in_executor(None, effects.append, "job")
                await anyio.lowlevel.checkpoint()
                effects.append("went on")

        boot(loop, process, node)
        await anyio.sleep(1)
        node.kill()

    run(main)
    assert effects == []
    assert closing == [(True, True)]


def test_timers_do_not_fire() -> None:
    async def main(loop: SimLoop) -> tuple[list[str], int]:
        node, fired = Node("gateway"), list[str]()
        loop.call_later(5, fired.append, "of the world")
        node.context().run(loop.call_later, 5, fired.append, "of the dead")
        node.kill()
        before = loop.timer_events
        await anyio.sleep(10)
        return fired, loop.timer_events - before

    assert run(main) == (["of the world"], 2)


def test_timers_of_the_dead_do_not_move_the_clock() -> None:
    async def main(loop: SimLoop) -> None:
        node = Node("gateway")
        node.context().run(loop.call_later, 1_000_000, print, "never")
        node.kill()
        await anyio.sleep(1)
        await anyio.sleep_forever()

    with pytest.raises(Deadlock, match="t=1 s"):
        run(main)


def test_what_is_already_ready_does_not_run() -> None:
    async def main(loop: SimLoop) -> list[str]:
        node, ran = Node("gateway"), list[str]()
        loop.call_soon(node.kill)
        node.context().run(loop.call_soon, ran.append, "of the dead")
        loop.call_soon(ran.append, "of the world")
        await anyio.sleep(1)
        return ran

    assert run(main) == ["of the world"]


def test_a_request_outlives_the_process_that_sent_it() -> None:
    async def main(loop: SimLoop) -> tuple[list[tuple[float, str]], list[str]]:
        world = contextvars.copy_context()
        accepted: list[tuple[float, str]] = []
        answered: list[str] = []
        node = Node("gateway")

        async def process() -> None:
            reply = loop.create_future()

            def arrive() -> None:
                accepted.append((loop.time(), "hello"))
                loop.call_later(0.5, reply.set_result, "ok")

            loop.call_later(2, arrive, context=world)
            answered.append(await reply)

        boot(loop, process, node)
        await anyio.sleep(1)
        node.kill()
        await anyio.sleep(10)
        return accepted, answered

    assert run(main) == ([(2, "hello")], [])


def test_a_step_hook_can_kill_at_every_step() -> None:
    async def main(loop: SimLoop, victim_step: int) -> list[int]:
        node, log = Node("gateway"), list[int]()

        async def process() -> None:
            for number in range(100):
                await anyio.sleep(1)
                log.append(number)

        def on_step(step: int) -> None:
            if step == victim_step:
                node.kill()

        boot(loop, process, node)
        loop.on_step = on_step
        await anyio.sleep(200)
        return log

    lengths = [len(run(lambda loop, step=step: main(loop, step))) for step in range(2, 250)]
    assert lengths[0] == 0
    assert lengths == sorted(lengths)
    assert set(lengths) == set(range(101))


def test_a_node_that_kills_itself_stops_at_its_next_await() -> None:
    async def main(loop: SimLoop) -> list[str]:
        node, log = Node("gateway"), list[str]()

        async def process() -> None:
            node.kill()
            log.append("still in this step")
            await anyio.lowlevel.checkpoint()
            log.append("never")

        boot(loop, process, node)
        await anyio.sleep(10)
        return log

    assert run(main) == ["still in this step"]


def test_the_next_incarnation_is_not_touched() -> None:
    async def main(loop: SimLoop) -> list[tuple[int, float]]:
        log: list[tuple[int, float]] = []

        async def process() -> None:
            node = NODE.get()
            assert node is not None
            while True:
                await anyio.sleep(1)
                log.append((node.generation, loop.time()))

        first = Node("gateway")
        boot(loop, process, first)
        await anyio.sleep(2.5)
        first.kill()
        boot(loop, process, Node("gateway", first.generation + 1))
        await anyio.sleep(1.5)
        return log

    assert run(main) == [(0, 1), (0, 2), (1, 3.5)]


def test_a_wait_of_the_living_on_the_dead_is_a_deadlock_that_names_the_living() -> None:
    async def main(loop: SimLoop) -> None:
        node = Node("gateway")
        process = boot(loop, lambda: anyio.sleep(5), node)
        node.kill()
        await process

    with pytest.raises(Deadlock, match=r"not done: main$"):
        run(main)
