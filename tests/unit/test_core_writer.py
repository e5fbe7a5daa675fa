"""What comes of a write comes in the order of the commits, whoever wakes first."""

import anyio
import pytest

from core.events import EventLog
from core.store.writer import Writer
from sim.disk import Disk
from sim.loop import SimLoop, run


@pytest.mark.parametrize("seed", range(5))
def test_what_is_to_be_done_after_a_write_is_done_in_the_order_of_the_commits(seed):
    committed, handed_on, woken = [], [], []

    async def main(loop: SimLoop):
        disk = Disk(lambda: None, lambda _: None)
        db = disk.connect()
        await db
        writer = Writer(db, EventLog(loop.time).recorder("test"))

        async def write(number):
            await writer.write(lambda _: committed.append(number), lambda _: number, handed_on.append)
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
                await writer.write(refuse, lambda _: 1, handed_on.append)
            await writer.write(lambda _: None, lambda _: 2, handed_on.append)
            group.cancel_scope.cancel()
        disk.discard()

    run(main)
    assert handed_on == [2]
