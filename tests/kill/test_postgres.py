"""Gateway processes on one PostgreSQL server, while people write: killed, frozen, and the server started again."""

import signal
import time
from collections.abc import Generator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.kill.child import REPLACED
from tests.kill.pair import pair
from tests.kill.pair_storm import run_pair_storm
from tests.kill.platform import Point
from tests.kill.stage import Setting
from tests.support.cutting_proxy import cutting
from tests.support.postgres import Server, running
from tests.support.scale import run_nightly, scaled

SEED = 11
#: of the store, seconds
LEASE = 3.0
WHOLE = 600.0
KILLS, RESTARTS, CUTS = (200, 30, 50) if run_nightly() else (scaled(24, 6), scaled(4, 2), scaled(12, 5))


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with running(durable=True) as started:
        yield started


def test_a_storm_of_kills_loses_and_doubles_nothing(server: Server, tmp_path: Path) -> None:
    report = run_pair_storm(Setting(seed=SEED, lease=LEASE, server=server.url()), KILLS, tmp_path)
    assert report.verdict.findings == [], report
    assert report.kills >= KILLS
    assert report.verdict.promises > KILLS * 2


@pytest.mark.anyio
async def test_a_killed_holder_is_replaced_before_its_lease_ends(server: Server, tmp_path: Path) -> None:
    took = list[float]()
    async with pair(Setting(seed=SEED, lease=60.0, server=server.url()), tmp_path, WHOLE) as both:
        people = both.stage.people
        working = await both.start()
        await people.until_working(working)
        for _ in range(3):
            waiting = await both.start()
            # It has claimed the lease once, and waits.
            await anyio.sleep(0.5)
            await both.strike_at(working, Point.ACCEPTED, 5, signal.SIGKILL)
            assert await both.ended(working) == -signal.SIGKILL
            died = time.monotonic()
            await people.until_working(waiting)
            took.append(time.monotonic() - died)
            working = waiting
        verdict = await both.finish()
    assert verdict.findings == [], both.stage.said()
    assert max(took) < 5.0, took


@pytest.mark.anyio
async def test_restarts_of_the_server_lose_and_double_nothing(server: Server, tmp_path: Path) -> None:
    # Which of two that were cut off goes on is open: the other one may end as replaced.
    async with pair(Setting(seed=SEED, lease=LEASE, server=server.url()), tmp_path, WHOLE, REPLACED) as both:
        people = both.stage.people
        working = await both.start()
        await people.until_working(working)
        processes = [working, await both.start()]
        for n in range(RESTARTS):
            await people.until_more(20)
            # A process that starts while there is no server ends, and says so; this one stands by.
            await anyio.sleep(1.0)
            await anyio.to_thread.run_sync(server.stop, ("immediate", "fast")[n % 2])
            await anyio.sleep(0.2)
            await anyio.to_thread.run_sync(server.start)
            await people.until_more(20)
            for process in filter(both.has_ended, list(processes)):
                assert await both.ended(process) == REPLACED, both.stage.said()
                processes.remove(process)
                processes.append(await both.start())
        verdict = await both.finish()
    assert verdict.findings == [], both.stage.said()
    assert verdict.promises > 20 * RESTARTS


@pytest.mark.anyio
async def test_commits_that_are_cut_off_lose_and_double_nothing(server: Server, tmp_path: Path) -> None:
    with cutting(server.port) as proxy:
        url = server.url(port=proxy.port)
        async with pair(Setting(seed=SEED, lease=60.0, server=url), tmp_path, WHOLE) as both:
            await both.start()
            people = both.stage.people
            for n in range(CUTS):
                await people.until_more(5)
                proxy.next_cut = ("after", "before")[n % 2]
                while proxy.next_cut is not None:
                    # Five more may have come from one COMMIT, before the cut.
                    await people.until_more(1)
            await people.until_more(20)
            verdict = await both.finish()
        assert proxy.cuts == CUTS
    assert verdict.findings == [], both.stage.said()
