"""Time limits that share a timer: what ends in time, what does not, and who else may cancel."""

import anyio
import pytest

from trunkline.core.runtime.deadlines import Deadlines
from trunkline.sim.loop import SimLoop, run


def test_what_ends_in_time_is_left_alone() -> None:
    async def main(loop: SimLoop) -> float:
        limits = Deadlines()
        with limits.within(5.0) as limit:
            await anyio.sleep(4.9)
        await anyio.sleep(60.0)
        assert not limit.expired
        return loop.time()

    assert run(main, seed=1) == pytest.approx(64.9)


def test_what_takes_too_long_is_cut_short_and_goes_on_behind() -> None:
    async def main(loop: SimLoop) -> tuple[float, bool]:
        with Deadlines().within(5.0) as limit:
            await anyio.sleep(100.0)
        at = loop.time()
        await anyio.sleep(1.0)
        return at, limit.expired

    assert run(main, seed=1) == (5.0, True)


def test_many_at_once_end_each_at_its_own_time() -> None:
    async def main(loop: SimLoop) -> list[tuple[int, float]]:
        limits, ended = Deadlines(), list[tuple[int, float]]()

        async def one(n: int) -> None:
            await anyio.sleep(n)
            with limits.within(5.0) as limit:
                await anyio.sleep(2.0 if n == 1 else 100.0)
            assert limit.expired is (n != 1)
            ended.append((n, loop.time()))

        async with anyio.create_task_group() as group:
            for n in range(4):
                group.start_soon(one, n)
        return ended

    assert run(main, seed=1) == [(1, 3.0), (0, 5.0), (2, 7.0), (3, 8.0)]


def test_a_shorter_limit_behind_a_longer_one_is_late_and_not_lost() -> None:
    async def main(loop: SimLoop) -> list[float]:
        limits, ended = Deadlines(), list[float]()

        async def one(seconds: float) -> None:
            with limits.within(seconds):
                await anyio.sleep(100.0)
            ended.append(loop.time())

        async with anyio.create_task_group() as group:
            group.start_soon(one, 9.0)
            await anyio.sleep(0.5)
            group.start_soon(one, 3.0)
        return ended

    assert run(main, seed=1) == [9.0, 9.0]


@pytest.mark.parametrize("first", ["limit", "scope"])
def test_a_scope_around_it_that_is_cancelled_goes_on_being_cancelled(first: str) -> None:
    async def main(loop: SimLoop) -> tuple[bool, bool, float]:
        behind, limit = False, Deadlines().within(3.0 if first == "limit" else 5.0)
        with anyio.move_on_after(5.0 if first == "limit" else 3.0) as scope:
            with limit:
                await anyio.sleep(100.0)
            behind = True
            await anyio.sleep(100.0)
        return limit.expired, behind, loop.time() if scope.cancelled_caught else -1.0

    assert run(main, seed=1) == ((True, True, 5.0) if first == "limit" else (False, False, 3.0))


def test_both_at_the_same_time_end_everything() -> None:
    async def main(loop: SimLoop) -> float:
        with anyio.move_on_after(3.0) as scope:
            with Deadlines().within(3.0):
                await anyio.sleep(100.0)
            await anyio.sleep(100.0)
        assert scope.cancelled_caught
        await anyio.sleep(1.0)
        return loop.time()

    assert run(main, seed=1) == 4.0


def test_an_error_is_not_swallowed_and_a_task_that_ignores_the_end_goes_on() -> None:
    async def main(_: SimLoop) -> str:
        limits = Deadlines()
        with pytest.raises(ValueError, match="mine"), limits.within(3.0):
            raise ValueError("mine")
        answer = "none"
        with limits.within(3.0) as limit:
            try:
                await anyio.sleep(100.0)
            except BaseException:  # noqa: BLE001 -- what a bad adapter does
                answer = "ignored"
        await anyio.sleep(1.0)
        assert limit.expired
        return answer

    assert run(main, seed=1) == "ignored"
