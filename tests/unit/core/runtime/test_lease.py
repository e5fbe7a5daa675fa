"""Who may take a store over, the lock that proves a death, and the tenure that keeps a process from sending late."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.support.for_each import for_each
from trunkline.core.config import DeliveryConfig, GatewayConfig
from trunkline.core.env import Env
from trunkline.core.errors import LeaseLost, StoreError
from trunkline.core.events import EventLog
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.events.leases import LeaseAwaited, LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.core.runtime.lease_keeper import LeaseKeeper, lost_lease
from trunkline.core.store.lease import Lease, LeaseClaim, is_dead, plan_claim
from trunkline.core.store.sqlite.process_lock import FileLock, NoLock
from trunkline.sim.loop import SimLoop, run

HELD = Lease(owner="one", token=3, lock="host/7", until=60.0)

# ---------------------------------------------------------------- who may take it


@for_each(
    ("row", "now", "dead", "reason"),
    [
        (Lease(), 0.0, False, Reason.LEASE_FREE),
        (Lease(token=9, until=99.0), 0.0, False, Reason.LEASE_FREE),
        (HELD, 0.0, False, Reason.LEASE_HELD),
        (HELD, 59.999, False, Reason.LEASE_HELD),
        (HELD, 60.0, False, Reason.LEASE_EXPIRED),
        (HELD, 0.0, True, Reason.HOLDER_DEAD),
        (HELD, 60.0, True, Reason.HOLDER_DEAD),
    ],
)
def test_who_may_take_a_store(row: Lease, now: float, dead: bool, reason: Reason) -> None:
    assert plan_claim(row, now, holder_dead=dead) is reason


@pytest.mark.parametrize(
    ("held", "got", "dead"),
    [("host/7", "host/7", True), ("host/7", "", False), ("host/7", "host/8", False), ("", "", False), ("", "x", False)],
)
def test_only_the_lock_of_the_holder_proves_its_death(held: str, got: str, dead: bool) -> None:
    assert is_dead(Lease(owner="one", lock=held), got) is dead


# ---------------------------------------------------------------- the lock


@pytest.fixture
def locks(tmp_path: Path) -> Iterator[tuple[FileLock, FileLock]]:
    (tmp_path / "link.db").symlink_to(tmp_path / "store.db")
    first, second = FileLock(tmp_path / "store.db"), FileLock(tmp_path / "link.db")
    yield first, second
    first.drop()
    second.drop()


def test_one_has_the_lock_whatever_way_leads_to_the_store(locks: tuple[FileLock, FileLock]) -> None:
    first, second = locks
    assert first.take() == first.take() != ""
    assert second.take() == ""
    first.drop()
    first.drop()
    assert second.take() != ""
    assert first.take() == ""


def test_a_lock_is_the_same_for_everybody_who_gets_it(locks: tuple[FileLock, FileLock]) -> None:
    first, second = locks
    lock = first.take()
    first.drop()
    assert second.take() == lock


def test_a_lock_file_that_was_replaced_proves_nothing(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "store.db"), FileLock(tmp_path / "store.db")
    lock = first.take()
    (tmp_path / "store.db.lock").unlink()
    other = second.take()
    assert other
    assert not is_dead(Lease(owner="one", lock=lock), other)
    first.drop()
    second.drop()


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from trunkline.core.store.sqlite.process_lock import FileLock;"
        "print(FileLock(Path(sys.argv[1])).take(), flush=True); sys.stdin.read()"
    )
    store = tmp_path / "store.db"
    lock_file = FileLock(store)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        lock = child.stdout.readline().strip()
        assert lock
        assert lock_file.take() == ""
        child.kill()
        child.wait()
        assert lock_file.take() == lock
    lock_file.drop()


def test_where_nothing_can_be_locked_nothing_is_proven(tmp_path: Path) -> None:
    lock_file = FileLock(tmp_path / "nowhere" / "store.db")
    assert lock_file.take() == NoLock().take() == ""
    lock_file.drop()


# ---------------------------------------------------------------- the tenure


class Held:
    """A store of which only the lease is of interest. `until` of the other process; `answers` to renewals."""

    def __init__(self, clock: SimLoop, until: float = 0.0) -> None:
        self.clock = clock
        self.until = until
        self.asked: list[float] = []
        self.renewed: list[float] = []
        self.answers: list[Exception] = []

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        self.asked.append(now)
        if now < self.until:
            return LeaseClaim(taken=False, lease=Lease(owner="other", until=self.until), reason=Reason.LEASE_HELD)
        return LeaseClaim(taken=True, lease=Lease(owner="me", token=1, until=now + lasts), reason=Reason.LEASE_FREE)

    async def renew(self, now: float, lasts: float) -> None:
        await anyio.sleep(0.5)
        if self.answers:
            raise self.answers.pop(0)
        self.renewed.append(now)


class Scene:
    def __init__(self, loop: SimLoop, until: float = 0.0, **delivery: float) -> None:
        self._loop = loop
        self.store = Held(loop, until)
        self.log = EventLog(loop.time)
        self.set_by = 0.0
        config = GatewayConfig(delivery=DeliveryConfig.model_validate(delivery))
        env = Env(now=self.wall, ids=None, seed="", steady=loop.time)  # pyright: ignore[reportArgumentType]
        self.tenure = LeaseKeeper(config, self.store, env, self.log.recorder("gateway"))  # pyright: ignore[reportArgumentType]

    def wall(self) -> float:
        """The wall clock, which somebody has set by some seconds."""
        return self._loop.time() + self.set_by

    def recorded(self, body: type) -> list[object]:
        return [event.body for event in self.log.events if type(event.body) is body]


def test_a_process_that_stands_by_says_so_once_and_takes_over_when_it_may() -> None:
    async def main(loop: SimLoop) -> None:
        scene = Scene(loop, until=30.0)
        await scene.tenure.claim(0)
        assert 30.0 <= loop.time() <= 31.0
        [awaited] = scene.recorded(LeaseAwaited)
        assert (awaited.holder, awaited.until) == ("other", 30.0)  # pyright: ignore[reportAttributeAccessIssue]
        [taken] = scene.recorded(LeaseTaken)
        assert taken.until == loop.time() + 60.0  # pyright: ignore[reportAttributeAccessIssue]
        # At a modest pace.
        assert len(scene.store.asked) <= 31

    run(main)


def test_it_renews_three_times_as_often_as_needed() -> None:
    async def main(loop: SimLoop) -> None:
        scene = Scene(loop)
        await scene.tenure.claim(0)
        with anyio.move_on_after(100):
            await scene.tenure.keep()
        assert scene.store.renewed == [20.0, 40.5, 61.0, 81.5]

    run(main)


def test_nothing_is_sent_that_could_end_after_the_lease() -> None:
    async def main(loop: SimLoop) -> None:
        scene = Scene(loop, request_timeout=10.0)
        await scene.tenure.claim(0)
        await anyio.sleep(49)
        assert not scene.tenure.expired
        await scene.tenure.assure()
        assert scene.store.renewed == []
        await anyio.sleep(1)
        assert scene.tenure.expired
        await scene.tenure.assure()
        assert scene.store.renewed == [50.0]
        # From the moment when the renewal began.
        await anyio.sleep(49)
        assert not scene.tenure.expired
        await anyio.sleep(0.5)
        assert scene.tenure.expired

    run(main)


@pytest.mark.parametrize("by", [-3600.0, 3600.0])
def test_a_clock_that_is_set_makes_no_lease_longer(by: float) -> None:
    async def main(loop: SimLoop) -> None:
        scene = Scene(loop, request_timeout=10.0)
        await scene.tenure.claim(0)
        await anyio.sleep(1)
        scene.set_by = by
        # Set forward, the lease is over for other processes; set back, it is no longer for this one.
        assert scene.tenure.expired is (by > 0)
        await anyio.sleep(49)
        assert scene.tenure.expired

    run(main)


def test_a_lease_is_long_enough_for_the_sends_of_a_slow_platform() -> None:
    async def main(loop: SimLoop) -> None:
        scene = Scene(loop, request_timeout=60.0, lease=30.0)
        await scene.tenure.claim(0)
        await anyio.sleep(119.9)
        assert not scene.tenure.expired
        await anyio.sleep(0.1)
        assert scene.tenure.expired

    run(main)


def test_a_store_that_takes_no_renewal_is_asked_again_and_nothing_is_sent_meanwhile() -> None:
    async def main(loop: SimLoop) -> None:
        scene = Scene(loop)
        await scene.tenure.claim(0)
        scene.store.answers = [StoreError("disk full"), StoreError("disk full")]
        await anyio.sleep(55)
        await scene.tenure.assure()
        assert [type(body) for body in scene.recorded(StoreFailed)] == [StoreFailed] * 2
        assert scene.store.renewed == [58.0]

    run(main)


def test_a_renewal_that_failed_is_soon_tried_again() -> None:
    async def main(loop: SimLoop) -> None:
        scene = Scene(loop)
        await scene.tenure.claim(0)
        scene.store.answers = [StoreError("disk full")]
        with anyio.move_on_after(30):
            await scene.tenure.keep()
        assert scene.store.renewed == [21.5]

    run(main)


@pytest.mark.parametrize("verb", ["keep", "assure"])
def test_a_lost_lease_ends_the_tenure(verb: str) -> None:
    async def main(loop: SimLoop) -> None:
        scene = Scene(loop)
        await scene.tenure.claim(0)
        scene.store.answers = [LeaseLost("taken")]
        await anyio.sleep(50)
        with pytest.raises(LeaseLost):
            await getattr(scene.tenure, verb)()

    run(main)


def test_an_end_for_one_reason_names_that_reason() -> None:
    one, two = LeaseLost("a"), LeaseLost("b")
    assert lost_lease(ExceptionGroup("", [ExceptionGroup("", [one]), two])) is one
    assert lost_lease(ExceptionGroup("", [one, ValueError()])) is None
