"""The SQLite store: the port over one connection and one group-committing writer. It is the default store."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from typing import TypeVar

import anyio

from trunkline.core.errors import LeaseLost, StoreError
from trunkline.core.events import EventSink
from trunkline.core.events.leases import LeaseGone
from trunkline.core.reasons import Reason
from trunkline.core.store.commands import Write
from trunkline.core.store.lease import LeaseClaim
from trunkline.core.store.queries import Read
from trunkline.core.store.sqlite import lease
from trunkline.core.store.sqlite.connection import Db
from trunkline.core.store.sqlite.group_commit import Writer
from trunkline.core.store.sqlite.handlers import RunSql, ask
from trunkline.core.store.sqlite.migrate import check_ours, migrate
from trunkline.core.store.sqlite.sql.work import forget_begun

A = TypeVar("A")
T = TypeVar("T")


class SqliteStore:
    """`core.store.port.Store` over SQLite. `connect` makes the connection; refused writes are recorded in `events`."""

    def __init__(self, connect: Callable[[], Db], events: EventSink) -> None:
        self._db = connect()
        self._events = events
        self._writer = self._make_writer()
        self._lost = False

    def _make_writer(self) -> Writer:
        return Writer(self._db, self._events)

    @property
    def commits(self) -> int:
        """Transactions committed by this process."""
        return self._writer.commits

    async def open(self) -> None:
        try:
            with anyio.CancelScope(shield=True):
                # Short; and cancelled here, the connection would be opened anyway and never be closed.
                await self._db
            await self._db.run(_migrate_unless_held)
        except BaseException:
            # The connection's thread would keep the process from ending, or call a closed loop.
            with anyio.CancelScope(shield=True):
                await self._db.shut()
            raise

    async def close(self) -> None:
        token = self._db.token
        try:
            if token is not None and not self._lost:
                # If it cannot be written, other processes take it over by the lock.
                with contextlib.suppress(sqlite3.Error, ValueError):
                    await self._db.run(lambda c: lease.release(c, token))
        finally:
            # Only now: a process that gets the lock takes over at once.
            self._db.process_lock.drop()
            await self._db.close()

    async def forget_begun(self) -> None:
        token = self._db.token
        if token is None or self._lost:
            return
        # If it cannot be written, the runs count as ended with the process.
        with contextlib.suppress(sqlite3.Error, ValueError):
            await self._db.run(lambda c: forget_begun(c, token))

    async def run(self) -> None:
        try:
            await self._writer.run()
        except LeaseLost:
            self._record_lost()
            raise

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        process = self._db.process_lock

        def try_claim(c: sqlite3.Connection) -> LeaseClaim:
            # The holder before may have been of a newer version.
            check_ours(c)
            return lease.try_claim(c, process, now, lasts)

        found = await self._db.run(try_claim)
        if not found.taken:
            return found
        claim = await self._writer.write(RunSql(op=lambda c: lease.claim(c, process, now, lasts)), self._hold)
        if claim.taken:
            # Only now is the holder before shut out, which may be frozen.
            await self._db.run(migrate)
        return claim

    def _hold(self, claim: LeaseClaim) -> LeaseClaim:
        # By the thread that committed: even if the caller was cancelled.
        if claim.taken:
            self._db.token = claim.lease.token
        return claim

    async def renew(self, now: float, lasts: float) -> None:
        """See the port. A single statement outside of the writer, so that no batch delays it."""
        process, token = self._db.process_lock, self._db.token
        assert token is not None
        try:
            kept = await self._db.run(lambda c: lease.renew(c, process, token, now + lasts))
        except sqlite3.OperationalError as error:
            raise StoreError(str(error)) from error
        if not kept:
            self._record_lost()
            raise LeaseLost(f"its token was {token}")

    def _record_lost(self) -> None:
        if not self._lost:
            self._lost = True
            body = LeaseGone(owner=self._db.process_lock.name, token=self._db.token or 0, reason=Reason.LEASE_HELD)
            self._events.record(body)

    async def write(self, command: Write[A], story: Callable[[A], T], then: Callable[[T], None] | None = None) -> T:
        return await self._writer.write(command, story, then)

    def submit(
        self,
        command: Write[A],
        story: Callable[[A], T],
        then: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        *,
        urgent: bool = True,
    ) -> None:
        self._writer.submit(command, story, then, failed, urgent=urgent)

    async def read(self, query: Read[A]) -> A:
        return await self._db.run(lambda c: ask(c, query))


def _migrate_unless_held(c: sqlite3.Connection) -> None:
    """Migrate a store that no process holds; a held one is migrated by the process that takes it over."""
    check_ours(c)
    if not lease.is_held(c):
        migrate(c)
