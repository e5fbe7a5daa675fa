"""Two gateway processes on one store file at the same time: one works, and the other takes over when it dies."""

import signal
import time
from random import Random

import pytest

from tests.kill.child import IN_ORDER, REPLACED, Fuse
from tests.kill.pair import pair
from tests.kill.platform import Point
from tests.kill.stage import Setting
from tests.kill.stored import dump
from tests.support.scale import scaled

pytestmark = pytest.mark.anyio

SEED = 4
#: holders that are killed
KILLS = scaled(10, 3)
#: seconds of a lease that never ends, and of a whole test, on a machine that does much else
LONG, WHOLE = 120.0, 900.0
#: events after which a holder is frozen: it has committed, and holds no lock of SQLite that others would wait for
FREEZES = ("inbound.admitted", "intent.prepared", "chunk.acked", "intent.settled")


async def test_when_the_process_that_works_is_killed_the_other_takes_over_at_once(tmp_path):
    dice, took = Random(SEED), list[float]()
    async with pair(Setting(seed=SEED, lease=LONG), tmp_path, WHOLE) as both:
        working, waiting = await both.start(), await both.start()
        people = both.stage.people
        await people.until_working()
        if people.working != working:
            working, waiting = waiting, working
        for _ in range(KILLS):
            await both.strike_at(working, dice.choice(list(Point)[:-1]), dice.randint(1, 30), signal.SIGKILL)
            assert await both.ended(working) == -signal.SIGKILL
            died = time.monotonic()
            await people.until_working(waiting)
            took.append(time.monotonic() - died)
            working, waiting = waiting, await both.start()
        # One that only waits may die, too.
        both.strike(waiting, signal.SIGKILL)
        assert await both.ended(waiting) == -signal.SIGKILL
        verdict = await both.finish()
    assert verdict.findings == [], both.stage.said()
    assert verdict.promises > KILLS * 5
    # By the proof that the other is dead, and long before its lease has ended.
    assert max(took) < LONG / 4


async def test_a_process_that_was_frozen_beyond_its_lease_ends_when_it_goes_on(tmp_path):
    async with pair(Setting(seed=SEED, lease=1.0), tmp_path, WHOLE) as both:
        people = both.stage.people
        for event in FREEZES:
            working = await both.start(Fuse(kind=event, count=10, signal=signal.SIGSTOP))
            await people.until_working(working)
            waiting = await both.start()
            await people.until_working(waiting)
            await people.until_more(20)
            assert await both.stop(waiting) == IN_ORDER, both.stage.said()
            before = dump(both.stage.store)
            # Now it goes on with what it was about to store, and finds a store that nobody holds, and that is not its.
            both.strike(working, signal.SIGCONT)
            assert await both.ended(working) == REPLACED, both.stage.said()
            assert dump(both.stage.store) == before
        await both.start()
        verdict = await both.finish()
    assert verdict.findings == [], both.stage.said()
    assert verdict.promises > 20 * len(FREEZES)


async def test_two_processes_may_make_the_store_at_the_same_time(tmp_path):
    for n in range(3):
        folder = tmp_path / str(n)
        folder.mkdir()
        async with pair(Setting(seed=SEED, lease=LONG), folder, WHOLE) as both:
            await both.start()
            await both.start()
            await both.stage.people.until_more(20)
            verdict = await both.finish()
        assert verdict.findings == [], both.stage.said()
        assert both.stage.said() == ""
