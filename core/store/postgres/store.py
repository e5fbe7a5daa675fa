"""The store on a PostgreSQL server: SQLite's writer and handlers, with another connection, clock and lock.

The server's clock judges the lease. A COMMIT whose answer is lost is looked up, and never repeated blindly.
"""

import sqlite3
from collections.abc import Callable
from typing import Any, cast

import anyio
from msgspec.structs import replace

from trunkline.core.errors import LeaseLost, StoreError, StoreTooNew
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.reasons import Reason
from trunkline.core.store.lease import LeaseClaim
from trunkline.core.store.postgres.address import server_address
from trunkline.core.store.postgres.server import PgDb, ServerConnection, SessionLock
from trunkline.core.store.sqlite.store import SqliteStore

#: seconds before a process that waits for the store asks a server again that could not be reached
_ASK_AGAIN = 1.0


def connect_server(url: str) -> PgDb:
    """A connection to the store at ``postgresql://USER@HOST/DATABASE?schema=NAME``, which is created if there is none.

    Raises `UsageError` for an address that is none, and without the driver.
    """
    from trunkline.core.store.postgres.connection import PgConnection
    from trunkline.core.store.postgres.migrate import open_migrated

    address, lock = server_address(url), SessionLock()

    def connect() -> Any:
        connection = open_migrated(address)
        lock.connection, connection.on_again = connection, lock.take_again
        return connection

    db = PgDb(connect, 64)
    db.process_lock, db.shown, db.open_listener = lock, address.shown, lambda: PgConnection(address).listen()
    return db


class PostgresStore(SqliteStore):
    """`core.store.port.Store` on a server. `connect` makes the connection, as `connect_server` does."""

    # A server that is started again takes seconds.
    _read_again = (0.02, 0.1, 0.5, 1.0, 2.0, 2.0, 5.0, 5.0, 5.0, 5.0)

    def _in_words(self, error: Exception) -> StoreError:
        assert isinstance(self._db, PgDb)
        return StoreError(f"{self._db.shown}: {error}")

    async def _server_time(self, _now: float) -> float:
        """The time on the server's clock, which every process that claims or renews the lease goes by."""
        return await self._at_start(lambda c: cast("ServerConnection", c).time())

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        while True:
            try:
                now = await self._server_time(now)
                frozen = await self._at_start(lambda c, now=now: cast("ServerConnection", c).end_holder(now))
                claim = await super().claim(now, lasts)
                return replace(claim, reason=Reason.LEASE_EXPIRED) if claim.taken and frozen else claim
            except (LeaseLost, StoreTooNew):
                raise
            except StoreError as error:
                body = StoreFailed(reason=Reason.STORE_ERROR, error=error.facts, retry_in=_ASK_AGAIN)
                self._events.record(body)
            await anyio.sleep(_ASK_AGAIN)

    async def renew(self, now: float, lasts: float) -> None:
        try:
            now = await self._server_time(now)
        except StoreError as error:
            self._not_renewed = error.facts
            raise
        try:
            await super().renew(now, lasts)
        except LeaseLost:
            raise
        except StoreError:
            # Who takes the store ends the session of its holder, which then asks over another one.
            await super().renew(now, lasts)

    async def listen(self, heard: Callable[[], None]) -> None:
        assert isinstance(self._db, PgDb)
        while True:
            try:
                await self._db.wait_for_notification()
            except sqlite3.Error:
                await anyio.sleep(_ASK_AGAIN)
            # Also after a lost connection: something may have been left meanwhile.
            heard()

    async def scrub(self) -> None:
        """See the port. Copies that the server has elsewhere (WAL, standbys, backups) are its administrator's."""
        await self._db.run(rewrite_tables)


def rewrite_tables(c: sqlite3.Connection) -> None:
    """Remove what was deleted from the tables' files, too."""
    try:
        c.execute("SET statement_timeout = 0")
        for (table,) in c.execute("SELECT name FROM sqlite_master").fetchall():
            c.execute(f"VACUUM (FULL) {table}")
        c.execute("RESET statement_timeout")
    except sqlite3.Error as error:
        raise StoreError(f"the rows are erased, but not their bytes on the server, repeat it: {error}") from error
