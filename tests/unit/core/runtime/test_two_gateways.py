"""Two real gateways on one store file: one works, the other stands by; one that was replaced ends."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path

import anyio
import pytest

from tests.support.sending import Platform, made, message, serving, texts
from trunkline.core.errors import LeaseLost, SendFailed, StoreTooNew
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import ProcessStarted
from trunkline.core.events.leases import LeaseAwaited, LeaseGone, LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.core.store.sqlite.migrate import number_of, parts_of

pytestmark = pytest.mark.anyio
#: short enough for a test that waits for its end
SOON = {"lease": 0.3, "request_timeout": 0.1}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platforms(anyio_backend: str) -> Iterator[tuple[Platform, Platform]]:
    both = Platform(), Platform()
    yield both
    for platform in both:
        platform.close()


def take_away(path: Path) -> None:
    """As if another process had taken the store over, and renewed its lease ever since."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE lease SET owner = 'other', token = token + 1, lock = '', until = 1e18")


async def test_one_works_and_the_other_takes_over_when_it_stops(
    path: Path, platforms: tuple[Platform, Platform]
) -> None:
    first, second = platforms
    async with anyio.create_task_group() as group:
        async with serving(path, first) as working:
            await working.until(LeaseTaken)
            standby = made(path, second)
            group.start_soon(standby.gateway.run)
            [awaited] = await standby.until(LeaseAwaited)
            [taken] = working.recorded(LeaseTaken)
            assert awaited.holder == taken.owner
            # Each process has its own steady clock.
            assert awaited.until == pytest.approx(taken.until, abs=1e-3)
            # A process that only wants to send something stands by like any other.
            group.start_soon(standby.gateway.send, message(text="one shot"))
            await working.gateway.send(message(text="live", key="live"))
            assert (texts(first), texts(second)) == (["live"], [])
        [taken] = await standby.until(LeaseTaken)
        assert (taken.token, taken.reason) == (2, Reason.LEASE_FREE)
        await standby.until(IntentSettled)
        assert texts(second) == ["one shot"]
        assert texts(first) == ["live"]
        group.cancel_scope.cancel()


async def test_a_gateway_that_was_replaced_ends_and_sends_nothing(
    path: Path, platforms: tuple[Platform, Platform]
) -> None:
    platform, _ = platforms
    running, ends = made(path, platform), list[BaseException]()
    async with anyio.create_task_group() as group:

        async def serve() -> None:
            try:
                await running.gateway.run()
            except LeaseLost as error:
                ends.append(error)

        group.start_soon(serve)
        await running.gateway.send(message())
        take_away(path)
        with pytest.raises(SendFailed):
            await running.gateway.send(message(key="late", text="late"))
    assert len(ends) == 1
    assert texts(platform) == ["hi"]
    [lost] = running.recorded(LeaseGone)
    assert (lost.token, lost.reason) == (1, Reason.LEASE_HELD)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT owner, token FROM lease").fetchone() == ("other", 2)
        assert db.execute("SELECT id FROM intents").fetchall() == [("send:k",)]


async def test_an_idle_gateway_learns_from_its_renewals_that_it_was_replaced(
    path: Path, platforms: tuple[Platform, Platform]
) -> None:
    running = made(path, platforms[0], delivery=SOON)
    async with anyio.create_task_group() as group:

        async def replace() -> None:
            await running.until(LeaseTaken)
            take_away(path)

        group.start_soon(replace)
        with anyio.fail_after(30), pytest.raises(LeaseLost):
            await running.gateway.run()


async def test_an_idle_gateway_keeps_its_store(path: Path, platforms: tuple[Platform, Platform]) -> None:
    async with serving(path, platforms[0], delivery=SOON) as working:
        [taken] = await working.until(LeaseTaken)
        until, token = 0.0, 0
        # Renewed, beyond what it was given first.
        with anyio.fail_after(30), closing(sqlite3.connect(path)) as db:
            while until <= taken.until:
                until, token = db.execute("SELECT until, token FROM lease").fetchone()
                await anyio.sleep(0.01)
        assert token == taken.token
        assert not working.recorded(LeaseGone)


async def test_a_gateway_that_stands_by_can_be_stopped(path: Path, platforms: tuple[Platform, Platform]) -> None:
    first, second = platforms
    async with serving(path, first) as working:
        await working.until(LeaseTaken)
        async with serving(path, second) as standby:
            await standby.until(LeaseAwaited)
            assert standby.recorded(ProcessStarted) and not standby.recorded(LeaseTaken)
        await working.gateway.send(message())
        assert not working.recorded(LeaseGone)


# ---------------------------------------------------------------- versions


def later(monkeypatch: pytest.MonkeyPatch) -> int:
    """From now on this program is of the next version; its number."""
    # The package has a function of that name.
    migrating = import_module("trunkline.core.store.sqlite.migrate")
    known = migrating.migrations()
    number = known[-1][0] + 1
    monkeypatch.setattr(migrating, "migrations", lambda: (*known, (number, "CREATE TABLE later (x)")))
    return number


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        (number,) = db.execute("PRAGMA user_version").fetchone()
        return parts_of(number)[0]


@pytest.mark.parametrize("end", ["stopped", "taken"])
async def test_who_stands_by_leaves_the_store_as_it_is_until_it_is_its_own(
    path: Path, platforms: tuple[Platform, Platform], monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    first, second = platforms
    async with anyio.create_task_group() as group:
        async with serving(path, first, delivery=SOON) as working:
            await working.until(LeaseTaken)
            before, today = version(path), later(monkeypatch)
            standby = made(path, second, delivery=SOON)
            group.start_soon(standby.gateway.run)
            await standby.until(LeaseAwaited)
            await working.gateway.send(message(text="live", key="live"))
            assert (version(path), today) == (before, before + 1)
            if end == "taken":
                # As if it were frozen: it keeps its lock, and does not renew.
                await working.store.renew(0.0, 0.0)
        await standby.until(LeaseTaken)
        await standby.gateway.send(message(text="after"))
        assert version(path) == today
        group.cancel_scope.cancel()
    assert (texts(first), texts(second)) == (["live"], ["after"])


async def test_a_store_that_was_contracted_for_a_newer_version_meanwhile_is_not_taken(
    path: Path, platforms: tuple[Platform, Platform], monkeypatch: pytest.MonkeyPatch
) -> None:
    running = made(path, platforms[0])
    await running.store.open()
    number = later(monkeypatch)
    newer = made(path, platforms[1])
    await newer.store.open()
    await newer.store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {number_of(number, number)}")
    monkeypatch.undo()
    with anyio.fail_after(5), pytest.raises(StoreTooNew, match=f"it has version {number}"):
        await running.store.claim(1.0, 60.0)
    await running.store.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT owner, token FROM lease").fetchone() == ("", 0)


async def test_what_a_crash_left_of_an_older_version_is_brought_up_to_date(
    path: Path, platforms: tuple[Platform, Platform], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(path, platforms[0]) as running:
        await running.gateway.send(message())
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE lease SET owner = 'dead', until = 1")
    today = later(monkeypatch)
    async with serving(path, platforms[0]) as running:
        await running.gateway.send(message(key="again"))
        assert version(path) == today
