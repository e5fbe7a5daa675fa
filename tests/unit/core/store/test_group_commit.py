"""`then` callbacks run in the order of the commits, whatever order callers resume in."""

import anyio
import pytest

from trunkline.core.events import EventLog
from trunkline.core.store.sqlite.group_commit import Writer
from trunkline.core.store.sqlite.handlers import RunSql
from trunkline.sim.loop import SimLoop, run
from trunkline.sim.store.disk import Disk

NOTHING = RunSql(op=lambda _: None)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_to_be_done_after_a_write_is_done_in_the_order_of_the_commits(seed):
    committed, handed_on, woken = [], [], []

    async def main(loop: SimLoop):
        disk = Disk(lambda: None, lambda _: None)
        db = disk.connect()
        await db
        writer = Writer(db, EventLog(loop.time).recorder("test"))

        async def write(number):
            await writer.write(RunSql(op=lambda _: committed.append(number)), lambda _: number, handed_on.append)
            woken.append(number)

        async with anyio.create_task_group() as group:
            group.start_soon(writer.run)
            async with anyio.create_task_group() as writers:
                for number in range(40):
                    writers.start_soon(write, number, name=f"write {number}")
            group.cancel_scope.cancel()
        disk.discard()

    run(main, seed=seed)
    assert handed_on == committed
    assert len(committed) == 40
    # The check can fail: who waits is woken in an order of the schedule's own.
    assert woken != committed


def test_a_write_that_fails_hands_nothing_on():
    handed_on = []

    async def main(loop: SimLoop):
        disk = Disk(lambda: None, lambda _: None)
        db = disk.connect()
        await db
        writer = Writer(db, EventLog(loop.time).recorder("test"))

        def refuse(_):
            raise ValueError("a bad write")

        async with anyio.create_task_group() as group:
            group.start_soon(writer.run)
            with pytest.raises(ValueError, match="a bad write"):
                await writer.write(RunSql(op=refuse), lambda _: 1, handed_on.append)
            await writer.write(NOTHING, lambda _: 2, handed_on.append)
            group.cancel_scope.cancel()
        disk.discard()

    run(main)
    assert handed_on == [2]


async def _turns(turns: int) -> None:
    for _ in range(turns):
        await anyio.lowlevel.checkpoint()


def commits_of(*groups: tuple[int, int, bool]) -> int:
    """How many transactions it takes: each group is the turn of the loop in which it comes, its size and urgency."""
    counted: list[int] = []

    async def main(loop: SimLoop):
        disk = Disk(lambda: None, lambda _: None)
        db = disk.connect()
        await db
        writer = Writer(db, EventLog(loop.time).recorder("test"))
        done: list[int] = []

        def submit(urgent: bool) -> None:
            writer.submit(NOTHING, lambda _: 1, done.append, urgent=urgent)

        async with anyio.create_task_group() as group:
            group.start_soon(writer.run)
            await anyio.sleep(1)
            passed = 0
            for turn, size, urgent in groups:
                await _turns(turn - passed)
                passed = turn
                for _ in range(size):
                    submit(urgent)
            await anyio.sleep(1)
            assert len(done) == sum(size for _, size, _ in groups)
            group.cancel_scope.cancel()
        disk.discard()
        counted.append(writer.commits)

    run(main, order="fifo")
    return counted[0]


def test_what_comes_together_shares_a_commit_and_nothing_urgent_waits_for_more() -> None:
    assert commits_of((0, 20, True)) == 1
    assert commits_of((0, 20, True), (2, 20, True)) == 2


def test_what_nobody_waits_for_goes_with_others_and_goes_in_the_end() -> None:
    assert commits_of((0, 1, False), (2, 1, True)) == 1
    assert commits_of((0, 1, False)) == 1
