"""Defects of a store on a server: what lies between a process and its server is taken for nothing."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from trunkline.core.reasons import Reason
from trunkline.core.store.delegations import HasPosts
from trunkline.core.store.lease import Lease, LeaseClaim
from trunkline.core.store.postgres.store import PostgresStore
from trunkline.core.store.queries import Read
from trunkline.core.store.sqlite.connection import PendingWrite
from trunkline.core.store.sqlite.group_commit import Writer
from trunkline.sim.bugs.base import Installer, bug
from trunkline.sim.bugs.wiring import Wiring

#: how a transaction asks for the token of today's holder
_TOKEN = "SELECT token FROM lease"


def _served(make: type[PostgresStore]) -> Installer:
    """An installer for processes whose store is on a server; no other has such a defect."""

    def install(wiring: Wiring) -> None:
        if wiring.make_store is PostgresStore:
            wiring.make_store = make

    return install


class _Changed(PostgresStore):
    """A store whose connection has a defect."""

    defect: Callable[[Any], None]

    async def open(self) -> None:
        await super().open()
        await self._db.run(type(self).defect)


class _EarlyDb:
    """Compares the token first, and then begins the transaction."""

    def __init__(self, db: Any) -> None:
        self._db = db

    async def transact(self, writes: Sequence[PendingWrite]) -> list[Any]:
        await self._db.run(_look)
        return await self._db.transact(writes)


def _look(connection: Any) -> None:
    (connection.looked,) = connection.execute(_TOKEN).fetchone()


def _trust_the_look(connection: Any) -> None:
    run = connection.execute

    def execute(sql: str, parameters: Any = (), /) -> Any:
        early = sql == _TOKEN and connection.in_transaction
        return run("SELECT ?", (connection.looked,)) if early else run(sql, parameters)

    connection.execute = execute


@bug("token-checked-before", _served, caught_by=("V1",))
class CheckedBefore(_Changed):
    """The token is checked in front of the transaction: who is held up between them commits after another's claim."""

    defect = staticmethod(_trust_the_look)

    def _make_writer(self) -> Writer:
        found: Any = _EarlyDb(self._db)
        return Writer(found, self._events)


def _repeat(connection: Any) -> None:
    connection.was_committed = lambda: setattr(connection, "doubt", "")


@bug("commit-repeated-blindly", _served, caught_by=("V1",))
class RepeatedStore(_Changed):
    """A commit whose answer is lost counts as not made, and its batch is committed again."""

    defect = staticmethod(_repeat)


def _run_ahead(connection: Any) -> None:
    connection.awaits_standby = False


@bug("standby-is-behind", _served, caught_by=("D5", "L1", "W3"))
class AheadStore(_Changed):
    """A commit is acknowledged before the standby has it, so a failover loses it, and the token goes back."""

    defect = staticmethod(_run_ahead)


@bug("notified-or-never", _served, caught_by=("C6",))
class DeafStore(PostgresStore):
    """What a worker leaves is looked for when a notification comes, and a lost one is never made good."""

    _left = True

    async def listen(self, heard: Callable[[], None]) -> None:
        """As usual; only then is there anything."""

        def note() -> None:
            self._left = True
            heard()

        await super().listen(note)

    async def read(self, query: Read[Any]) -> Any:
        """Answers that nothing was left, unless a notification came."""
        if isinstance(query, HasPosts):
            left, self._left = self._left, False
            if not left:
                return False
        return await super().read(query)


@bug("lock-without-lease", _served, caught_by=("D5",))
class LockedStore(PostgresStore):
    """Whoever has the lock of a session works the store; one whose session has ended goes on without it."""

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        """Takes the lock, and neither lease nor token."""

        def take(c: sqlite3.Connection) -> bool:
            return bool(c) and bool(self._db.process_lock.take())

        taken = await self._db.run(take)
        found = Lease(owner=self._db.process_lock.name, token=int(now), until=now + lasts)
        return LeaseClaim(taken=taken, lease=found, reason=Reason.LEASE_FREE if taken else Reason.LEASE_HELD)

    async def renew(self, now: float, lasts: float) -> None:
        """Does nothing."""
