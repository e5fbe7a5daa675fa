"""A frozen node: nothing of it runs, the world goes on, and what waited runs afterwards, once and in order."""

import asyncio

import anyio
import anyio.lowlevel
import pytest

from trunkline.sim.loop import Node, SimLoop, run


def spawn(loop: SimLoop, node: Node, coro, name: str = "work") -> asyncio.Task[None]:
    return loop.create_task(coro, name=name, context=node.context())


async def tick(loop: SimLoop, told: list[float], count: int = 5) -> None:
    for _ in range(count):
        await anyio.sleep(1)
        told.append(loop.time())


def frozen_between(start: float, end: float, order: str = "keyed") -> tuple[list[float], list[float]]:
    """Times at which a node that stands still for a while ticks, and at which another one does."""
    inside, outside = list[float](), list[float]()

    async def main(loop: SimLoop) -> None:
        node, other = Node("one"), Node("two")
        tasks = [spawn(loop, node, tick(loop, inside), "one"), spawn(loop, other, tick(loop, outside), "two")]
        loop.call_at(start, node.freeze)
        loop.call_at(end, loop.thaw, node)
        await asyncio.gather(*tasks)

    run(main, order=order)  # pyright: ignore[reportArgumentType]
    return inside, outside


@pytest.mark.parametrize("order", ["keyed", "fifo"])
def test_nothing_of_it_runs_and_others_do(order):
    inside, outside = frozen_between(2.5, 10.0, order)
    assert outside == [1, 2, 3, 4, 5]
    # The timer of 3 s fired late, and the next ones are counted from then on.
    assert inside == [1, 2, 10, 11, 12]


def test_what_waited_runs_in_the_order_in_which_it_would_have_run():
    told = list[int]()

    async def main(loop: SimLoop) -> None:
        node = Node("one")
        node.freeze()
        for at in (3, 1, 2):
            loop.call_at(at, told.append, at, context=node.context())
        loop.call_soon(told.append, 0, context=node.context())
        await anyio.sleep(5)
        assert told == []
        loop.thaw(node)
        await anyio.lowlevel.checkpoint()

    run(main)
    assert told == [0, 1, 2, 3]


def test_what_was_cancelled_meanwhile_does_not_run():
    told = list[str]()

    async def main(loop: SimLoop) -> None:
        node = Node("one")
        node.freeze()
        kept = loop.call_at(1, told.append, "kept", context=node.context())
        gone = loop.call_at(1, told.append, "gone", context=node.context())
        await anyio.sleep(2)
        gone.cancel()
        assert not kept.cancelled()
        loop.thaw(node)
        await anyio.lowlevel.checkpoint()

    run(main)
    assert told == ["kept"]


def test_its_timeouts_are_over_when_it_goes_on():
    async def wait(loop: SimLoop, told: list[tuple[bool, float]]) -> None:
        with anyio.move_on_after(10) as scope:
            await anyio.sleep(3600)
        told.append((scope.cancelled_caught, loop.time()))

    async def main(loop: SimLoop) -> list[tuple[bool, float]]:
        node, told = Node("one"), list[tuple[bool, float]]()
        task = spawn(loop, node, wait(loop, told))
        loop.call_at(5, node.freeze)
        loop.call_at(90, loop.thaw, node)
        await task
        return told

    assert run(main) == [(True, 90.0)]


def test_a_message_that_came_meanwhile_is_there():
    async def main(loop: SimLoop) -> list[tuple[str, float]]:
        node, told = Node("one"), list[tuple[str, float]]()
        answer: asyncio.Future[str] = loop.create_future()

        async def ask() -> None:
            told.append((await answer, loop.time()))

        task = spawn(loop, node, ask())
        loop.call_at(1, node.freeze)
        loop.call_at(2, answer.set_result, "yes")
        loop.call_at(60, loop.thaw, node)
        await task
        return told

    assert run(main) == [("yes", 60.0)]


def test_one_that_dies_frozen_never_goes_on():
    told = list[float]()

    async def main(loop: SimLoop) -> None:
        node = Node("one")
        spawn(loop, node, tick(loop, told))
        loop.call_at(2.5, node.freeze)
        await anyio.sleep(4)
        assert node.frozen
        node.kill()
        assert not node.frozen
        loop.thaw(node)
        await anyio.sleep(10)

    run(main)
    assert told == [1, 2]


def test_one_that_is_not_frozen_is_not_changed_by_a_thaw():
    told = list[float]()

    async def main(loop: SimLoop) -> None:
        node = Node("one")
        task = spawn(loop, node, tick(loop, told))
        loop.call_at(2.5, loop.thaw, node)
        await task

    run(main)
    assert told == [1, 2, 3, 4, 5]


def test_it_says_so():
    node = Node("one", 3)
    node.freeze()
    assert repr(node) == "<Node one#3 frozen>"
    node.kill()
    assert repr(node) == "<Node one#3 dead>"
