"""Lanes, in virtual time: order inside of a lane, independence between lanes, a fixed number of workers."""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable

import anyio
import pytest

from tests.support.for_each import for_each
from trunkline.core.runtime.lanes import Lanes
from trunkline.sim.loop import SimLoop, run

Handle = Callable[[str, int], Awaitable[float | None]]
Test = Callable[[Callable[..., Lanes[str, int]], SimLoop], Awaitable[None]]


def play(test: Test, seed: int = 0) -> None:
    """Run a test with a maker of lanes whose workers run until the test is over."""

    async def main(loop: SimLoop) -> None:
        async with anyio.create_task_group() as group:

            def make(handle: Handle, workers: int = 4) -> Lanes[str, int]:
                lanes = Lanes[str, int]("test", workers=workers, now=loop.time)
                lanes.start(group, handle)
                return lanes

            await test(make, loop)
            group.cancel_scope.cancel()

    run(main, seed=seed)


@for_each("seed", range(5))
@for_each("workers", [1, 3, 50])
def test_items_of_a_lane_are_handled_one_after_another_in_the_order_of_put(workers: int, seed: int) -> None:
    done: defaultdict[str, list[int]] = defaultdict(list)
    inside: Counter[str] = Counter()

    async def handle(lane: str, item: int) -> None:
        inside[lane] += 1
        assert inside[lane] == 1
        await anyio.sleep((item * 7 + len(lane)) % 5 / 10)
        done[lane].append(item)
        inside[lane] -= 1

    async def test(make: Callable[..., Lanes[str, int]], loop: SimLoop) -> None:
        lanes = make(handle, workers)
        for item in range(10):
            for lane in ("a", "bb", "ccc"):
                lanes.put(lane, item)
            await anyio.sleep(0.15)
        await anyio.sleep(100)

    play(test, seed)
    assert done == {lane: list(range(10)) for lane in ("a", "bb", "ccc")}


def test_lanes_are_handled_side_by_side() -> None:
    times: dict[str, float] = {}

    async def test(make: Callable[..., Lanes[str, int]], loop: SimLoop) -> None:
        async def handle(lane: str, _: int) -> None:
            await anyio.sleep(10)
            times[lane] = loop.time()

        lanes = make(handle)
        for lane in "abc":
            lanes.put(lane, 1)
        await anyio.sleep(60)

    play(test)
    assert times == {"a": 10.0, "b": 10.0, "c": 10.0}


@pytest.mark.parametrize("workers", [1, 3])
def test_no_more_lanes_than_workers_are_handled_at_once(workers: int) -> None:
    busy = most = handled = 0

    async def handle(_lane: str, _: int) -> None:
        nonlocal busy, most, handled
        busy += 1
        most = max(most, busy)
        await anyio.sleep(1)
        busy -= 1
        handled += 1

    async def test(make: Callable[..., Lanes[str, int]], loop: SimLoop) -> None:
        lanes = make(handle, workers)
        for number in range(20):
            lanes.put(f"lane {number}", 1)
        await anyio.sleep(60)

    play(test)
    assert (most, handled) == (workers, 20)


def test_a_lane_with_much_to_do_does_not_keep_a_worker_to_itself() -> None:
    order: list[str] = []

    async def handle(lane: str, _: int) -> None:
        await anyio.sleep(1)
        order.append(lane)

    async def test(make: Callable[..., Lanes[str, int]], loop: SimLoop) -> None:
        lanes = make(handle, 1)
        for _ in range(3):
            lanes.put("long", 1)
        lanes.put("short", 1)
        await anyio.sleep(60)

    play(test)
    assert order == ["long", "short", "long", "long"]


@pytest.mark.parametrize("workers", [1, 4])
def test_a_resting_lane_blocks_no_other_and_not_its_own_order(workers: int) -> None:
    done: list[tuple[str, int, float]] = []

    async def test(make: Callable[..., Lanes[str, int]], loop: SimLoop) -> None:
        async def handle(lane: str, item: int) -> float | None:
            if lane == "rests" and item == 1 and loop.time() < 50:
                return 50.0
            done.append((lane, item, loop.time()))
            return None

        lanes = make(handle, workers)
        for lane, item in [("rests", 1), ("rests", 2), ("other", 1)]:
            lanes.put(lane, item)
        await anyio.sleep(10)
        lanes.put("rests", 3)
        lanes.put("other", 2)
        await anyio.sleep(100)

    play(test)
    assert done == [("other", 1, 0.0), ("other", 2, 10.0), ("rests", 1, 50.0), ("rests", 2, 50.0), ("rests", 3, 50.0)]


def test_many_resting_lanes_wake_each_at_its_time() -> None:
    woken: dict[str, float] = {}

    async def test(make: Callable[..., Lanes[str, int]], loop: SimLoop) -> None:
        async def handle(lane: str, until: int) -> float | None:
            if loop.time() < until:
                return float(until)
            woken[lane] = loop.time()
            return None

        lanes = make(handle, 2)
        # A lane that rests less long than those that rest already must still wake in time.
        for until in (40, 20, 30, 10):
            lanes.put(f"until {until}", until)
            await anyio.sleep(1)
        await anyio.sleep(100)

    play(test)
    assert woken == {f"until {until}": float(until) for until in (10, 20, 30, 40)}


def test_a_rest_that_is_over_already_is_no_rest() -> None:
    seen: list[float] = []

    async def test(make: Callable[..., Lanes[str, int]], loop: SimLoop) -> None:
        async def handle(_lane: str, _: int) -> float | None:
            seen.append(loop.time())
            return loop.time() - 1 if len(seen) < 3 else None

        make(handle).put("a", 1)
        await anyio.sleep(60)

    play(test)
    assert seen == [0.0, 0.0, 0.0]


def test_the_head_of_a_lane_can_be_replaced_before_it_rests() -> None:
    seen: list[int] = []

    async def test(make: Callable[..., Lanes[str, int]], loop: SimLoop) -> None:
        async def handle(lane: str, item: int) -> float | None:
            seen.append(item)
            if item in (1, 2):
                lanes.replace_head(lane, item + 1)
                return loop.time() + 1
            return None

        lanes = make(handle)
        lanes.put("a", 1)
        lanes.put("a", 100)
        await anyio.sleep(60)

    play(test)
    assert seen == [1, 2, 3, 100]


def test_a_lane_is_busy_from_put_until_its_last_item_is_done() -> None:
    async def test(make: Callable[..., Lanes[str, int]], loop: SimLoop) -> None:
        async def handle(_lane: str, _: int) -> float | None:
            if loop.time() < 5:
                return 5.0
            await anyio.sleep(1)
            return None

        lanes = make(handle)
        assert not lanes.is_busy("a")
        lanes.put("a", 1)
        lanes.put("a", 2)
        for moment in (0.0, 3.0, 5.5, 6.5):
            await anyio.sleep(moment - loop.time())
            assert lanes.is_busy("a")
            assert not lanes.is_busy("b")
        await anyio.sleep(1)
        assert not lanes.is_busy("a")

    play(test)


def test_what_was_put_before_the_start_is_handled_after_it() -> None:
    done: list[tuple[str, int]] = []

    async def handle(lane: str, item: int) -> None:
        done.append((lane, item))

    async def main(loop: SimLoop) -> None:
        lanes: Lanes[str, int] = Lanes("test", workers=2, now=loop.time)
        for lane, item in [("a", 1), ("a", 2), ("b", 1), ("c", 1)]:
            lanes.put(lane, item)
        await anyio.sleep(5)
        assert done == []
        async with anyio.create_task_group() as group:
            lanes.start(group, handle)
            await anyio.sleep(5)
            group.cancel_scope.cancel()

    run(main)
    assert sorted(done) == [("a", 1), ("a", 2), ("b", 1), ("c", 1)]


def test_an_error_of_the_handler_ends_the_group() -> None:
    async def handle(_lane: str, _: int) -> None:
        raise ZeroDivisionError

    async def test(make: Callable[..., Lanes[str, int]], loop: SimLoop) -> None:
        make(handle).put("a", 1)
        await anyio.sleep(60)

    with pytest.raises(ExceptionGroup) as group:
        play(test)
    assert group.group_contains(ZeroDivisionError)


def test_ten_thousand_lanes_share_a_few_workers() -> None:
    done: defaultdict[int, list[int]] = defaultdict(list)
    tasks = 0

    async def main(loop: SimLoop) -> None:
        nonlocal tasks

        async def handle(lane: int, item: int) -> None:
            await anyio.lowlevel.checkpoint()
            done[lane].append(item)

        async with anyio.create_task_group() as group:
            lanes: Lanes[int, int] = Lanes("test", workers=16, now=loop.time)
            lanes.start(group, handle)
            for item in (1, 2):
                for lane in range(10_000):
                    lanes.put(lane, item)
            await anyio.sleep(1)
            tasks = len(anyio.get_running_tasks())
            assert not any(lanes.is_busy(lane) for lane in range(10_000))
            group.cancel_scope.cancel()

    run(main)
    assert len(done) == 10_000
    assert all(items == [1, 2] for items in done.values())
    assert tasks <= 16 + 2
