"""The claims of two processes on one store file, with their steps interleaved."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from trunkline.core.reasons import Reason
from trunkline.core.store.sqlite import lease
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.process_lock import FileLock

LASTS = 120.0


class Process:
    """One process with its own connection and file lock."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.lock = FileLock(path)

    def plan(self) -> bool:
        return lease.try_claim(self.db, self.lock, 0.0, LASTS).taken

    def claim(self) -> bool:
        return lease.claim(self.db, self.lock, 0.0, LASTS).taken

    def die(self) -> None:
        self.db.close()
        self.lock.drop()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    path = tmp_path / "store.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        migrate(db)
    first, second = Process(path), Process(path)
    yield first, second
    first.die()
    second.die()


def test_a_holder_has_its_lock_although_another_process_planned_first(processes: tuple[Process, Process]) -> None:
    holder, other = processes
    assert other.plan()
    assert holder.plan()
    assert holder.claim()
    assert lease.read(holder.db).lock != ""
    assert not other.claim()
    holder.die()
    # Its death is proven long before the lease expires.
    taken = lease.try_claim(other.db, other.lock, 1.0, LASTS)
    assert (taken.taken, taken.reason) == (True, Reason.HOLDER_DEAD)


def test_a_holder_has_its_lock_although_another_process_planned_when_the_lease_had_expired(
    processes: tuple[Process, Process],
) -> None:
    holder, other = processes
    holder.db.execute("UPDATE lease SET owner = 'another machine', until = -1")
    assert other.plan()
    assert holder.plan()
    assert holder.claim()
    assert lease.read(holder.db).lock != ""
    assert not other.claim()


def test_a_plan_to_replace_a_dead_holder_keeps_the_lock_that_proves_the_death(
    processes: tuple[Process, Process],
) -> None:
    dead, successor = processes
    assert dead.claim()
    dead.lock.drop()
    assert successor.plan()
    assert not dead.plan()
    assert successor.claim()


def test_a_process_that_waits_keeps_no_lock(processes: tuple[Process, Process]) -> None:
    holder, waiting = processes
    assert holder.claim()
    assert not waiting.plan()
    assert not waiting.claim()
    holder.lock.drop()
    assert holder.lock.take() != ""
