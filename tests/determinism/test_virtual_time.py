"""anyio's own waiting, on time that jumps: same answers as in real time, and none of the waiting."""

import math
import time

import anyio
import pytest
from anyio.abc import TaskStatus

from trunkline.sim.loop import SimLoop, run


def test_sleep_takes_its_time_and_no_other() -> None:
    async def main(loop: SimLoop) -> tuple[float, float]:
        await anyio.sleep(3600)
        return loop.time(), anyio.current_time()

    assert run(main) == (3600, 3600)


def test_nothing_takes_wall_time() -> None:
    async def main(loop: SimLoop) -> float:
        for _ in range(100):
            await anyio.sleep(86_400)
        return loop.time()

    before = time.monotonic()
    assert run(main) == 8_640_000
    assert time.monotonic() - before < 3600


def test_time_begins_at_zero() -> None:
    loop = SimLoop()
    try:
        assert loop.time() == 0.0
        loop.run_until_complete(loop.create_task(anyio.sleep(2)))
        assert loop.time() == 2.0
    finally:
        loop.close()


def test_move_on_after_moves_on_at_its_deadline() -> None:
    async def main(loop: SimLoop) -> tuple[bool, float]:
        with anyio.move_on_after(2.5) as scope:
            await anyio.sleep(10)
        return scope.cancelled_caught, loop.time()

    assert run(main) == (True, 2.5)


def test_fail_after_fails_at_its_deadline() -> None:
    async def main(loop: SimLoop) -> float:
        with pytest.raises(TimeoutError), anyio.fail_after(2):
            await anyio.sleep_forever()
        return loop.time()

    assert run(main) == 2


def test_the_inner_of_two_deadlines_is_not_the_outer() -> None:
    async def main(loop: SimLoop) -> list[tuple[str, float]]:
        seen: list[tuple[str, float]] = []
        with anyio.move_on_after(5):
            while True:
                with anyio.move_on_after(2):
                    await anyio.sleep_forever()
                seen.append(("inner", loop.time()))
        seen.append(("outer", loop.time()))
        return seen

    assert run(main) == [("inner", 2), ("inner", 4), ("outer", 5)]


def test_a_limiter_lets_a_fixed_number_in_at_a_time() -> None:
    async def main(loop: SimLoop) -> list[float]:
        limiter = anyio.CapacityLimiter(3)
        ends: list[float] = []

        async def worker() -> None:
            async with limiter:
                await anyio.sleep(1)
                ends.append(loop.time())

        async with anyio.create_task_group() as group:
            for _ in range(7):
                group.start_soon(worker)
        return ends

    assert run(main) == [1, 1, 1, 2, 2, 2, 3]


def test_a_memory_stream_keeps_order_and_blocks_when_full() -> None:
    async def main(loop: SimLoop) -> tuple[list[int], float]:
        send, receive = anyio.create_memory_object_stream[int](1)
        got: list[int] = []

        async def produce() -> None:
            async with send:
                for number in range(5):
                    await send.send(number)

        async with anyio.create_task_group() as group, receive:
            group.start_soon(produce)
            async for number in receive:
                got.append(number)
                await anyio.sleep(1)
        return got, loop.time()

    assert run(main) == ([0, 1, 2, 3, 4], 5)


def test_an_event_set_from_a_timer_wakes_its_waiters() -> None:
    async def main(loop: SimLoop) -> float:
        event = anyio.Event()
        loop.call_later(4, event.set)
        await event.wait()
        return loop.time()

    assert run(main) == 4


def test_cancelling_a_group_runs_the_finally_blocks_at_that_time() -> None:
    async def main(loop: SimLoop) -> list[tuple[str, float]]:
        left: list[tuple[str, float]] = []

        async def sleeper(name: str) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                left.append((name, loop.time()))

        async with anyio.create_task_group() as group:
            for name in ("a", "b", "c"):
                group.start_soon(sleeper, name, name=name)
            await anyio.sleep(1.5)
            group.cancel_scope.cancel()
        return left

    assert sorted(run(main)) == [("a", 1.5), ("b", 1.5), ("c", 1.5)]


def test_start_returns_what_the_task_reports_when_it_reports_it() -> None:
    async def main(loop: SimLoop) -> tuple[str, float, float]:
        async def serve(*, task_status: TaskStatus[str]) -> None:
            await anyio.sleep(2)
            task_status.started("ready")
            await anyio.sleep(3)

        answer, started = "", 0.0
        async with anyio.create_task_group() as group:
            answer = await group.start(serve)
            started = loop.time()
        return answer, started, loop.time()

    assert run(main) == ("ready", 2, 5)


@pytest.mark.parametrize("order", ["fifo", "keyed"])
def test_timers_of_one_deadline_fire_in_the_order_they_were_set(order: str) -> None:
    async def main(loop: SimLoop) -> list[int]:
        fired: list[int] = []
        for number in range(50):
            loop.call_at(7.0, fired.append, number)
        await anyio.sleep(8)
        return fired

    assert run(main, order="fifo" if order == "fifo" else "keyed", seed=3) == list(range(50))


def test_a_timer_in_the_past_fires_next_and_does_not_turn_the_clock_back() -> None:
    async def main(loop: SimLoop) -> list[float]:
        await anyio.sleep(5)
        fired: list[float] = []
        loop.call_at(1, lambda: fired.append(loop.time()))
        loop.call_later(-3, lambda: fired.append(loop.time()))
        await anyio.sleep(1)
        return fired

    assert run(main) == [5, 5]


def test_a_cancelled_timer_neither_fires_nor_moves_the_clock() -> None:
    async def main(loop: SimLoop) -> tuple[float, int]:
        loop.call_later(1000, print, "never").cancel()
        loop.call_later(1, print, "never").cancel()
        before = loop.timer_events
        await anyio.sleep(3)
        return loop.time(), loop.timer_events - before

    assert run(main) == (3, 1)


def test_an_infinite_timer_can_be_set_and_cancelled() -> None:
    async def main(loop: SimLoop) -> float:
        handle = loop.call_later(math.inf, print, "never")
        await anyio.sleep(3)
        handle.cancel()
        return loop.time()

    assert run(main) == 3


def test_a_timer_at_no_number_is_refused() -> None:
    async def main(loop: SimLoop) -> None:
        with pytest.raises(ValueError, match="nan"):
            loop.call_at(math.nan, print)

    run(main)


def test_many_cancelled_timers_are_swept_and_the_rest_still_fire_in_order() -> None:
    async def main(loop: SimLoop) -> list[int]:
        fired: list[int] = []
        handles = [loop.call_at(1000 - number, fired.append, number) for number in range(1000)]
        for number, handle in enumerate(handles):
            if number % 10:
                handle.cancel()
        await anyio.sleep(2000)
        return fired

    assert run(main) == list(range(990, -1, -10))
