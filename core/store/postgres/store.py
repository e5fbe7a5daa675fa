"""The store on a PostgreSQL server: SQLite's writer and handlers, with another connection, clock and lock.

The server's clock judges the lease. A COMMIT whose answer is lost is looked up, and never repeated blindly.
"""

import contextlib
import os
import platform
import sqlite3
from collections.abc import Sequence
from typing import Any

import anyio
from msgspec.structs import replace

from trunkline.core.errors import LeaseLost, StoreError, StoreTooNew
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.reasons import Reason
from trunkline.core.store.lease import LeaseClaim
from trunkline.core.store.postgres.address import ServerAddress, server_address
from trunkline.core.store.postgres.connection import IDLE, TIME, PgConnection
from trunkline.core.store.postgres.migrate import migrate
from trunkline.core.store.sqlite.connection import Db, PendingWrite
from trunkline.core.store.sqlite.store import SqliteStore

#: seconds before a process that waits for the store asks a server again that could not be reached
_ASK_AGAIN = 1.0
#: of the store in this schema, among all locks of the database. 1414680139: "TRNK"
_KEY = "(1414680139, to_regclass('lease')::oid::integer)"
_IDENTITY = "session"
#: ends the session of a holder whose lease has expired, and any that has had the lease's row for long: a frozen process
#: must keep neither. In the middle of a pipeline no time limit of the server's ends it. 1000: milliseconds
_END_HOLDER = (
    "SELECT pg_terminate_backend(pid, 1000) FROM pg_locks JOIN lease ON owner <> '' AND until <= ?"
    " WHERE granted AND pid <> pg_backend_pid()"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND (locktype = 'advisory' AND classid = 1414680139 AND objid = to_regclass('lease')"
    " OR relation = to_regclass('lease') AND mode = 'RowShareLock' AND pid IN (SELECT pid FROM pg_stat_activity"
    " WHERE xact_start < clock_timestamp() - make_interval(secs => ?)))"
)


class SessionLock:
    """The `ProcessLock` of a process that works a store on a server."""

    def __init__(self) -> None:
        self.connection: PgConnection | None = None
        #: the session that holds the lock
        self._held: Any = None
        #: the lease as it was when this process was back after it was cut off
        self._seen: Any = None

    @property
    def name(self) -> str:
        return f"{platform.node()}:{os.getpid()}"

    def take(self) -> str:
        """Take the lock, or keep it; see `ProcessLock.take`.

        A process that was cut off itself proves nobody dead until the lease is renewed or expires: the holder may have
        been cut off too, and come back.
        """
        connection = self.connection
        if connection is None:
            return ""
        if self._held is connection.raw and not connection.raw.closed:
            return _IDENTITY
        if connection.again and self._held is None:
            row = connection.execute(f"SELECT token, until FROM lease WHERE until > ({TIME})").fetchone()  # noqa: S608 -- fixed
            self._seen = self._seen or row
            if row is not None and row == self._seen:
                return ""
            # The holder has come back since, or may be replaced anyway.
            connection.again, self._seen = False, None
        (got,) = connection.execute(f"SELECT pg_try_advisory_lock{_KEY}").fetchone()
        self._held = connection.raw if got else self._held
        return _IDENTITY if got else ""

    def take_again(self) -> None:
        """Take the lock of a holder that was cut off, before others see that it is free."""
        if self._held is not None:
            self.take()

    def drop(self) -> None:
        """Free the lock. If the session is lost, its end has freed it."""
        connection, held, self._held = self.connection, self._held, None
        if connection is not None and held is connection.raw and not held.closed:
            with contextlib.suppress(sqlite3.Error):
                connection.execute(f"SELECT pg_advisory_unlock{_KEY}")


class PgDb(Db):
    """A connection to a server, whose commits are looked up when their answer is lost."""

    #: the server, for people; without secrets
    shown = ""

    async def transact(self, writes: Sequence[PendingWrite]) -> list[Any]:
        """See `Db.transact`. If the last commit was in doubt, `writes` begins with those of it."""
        connection: Any = self._conn  # pyright: ignore[reportUnknownMemberType]
        if connection.doubt:
            known = await self.run(lambda _: _settled(connection))
            if known:
                return known
        return await super().transact(writes)


def _settled(connection: PgConnection) -> list[Any]:
    """The results of the stories of writes whose commit was in doubt; none: it was not made."""
    if not connection.was_committed():
        return []
    writes, answers = connection.doubtful
    return [write.story(answer) for write, answer in zip(writes, answers, strict=True)]


def connect_server(url: str) -> PgDb:
    """A connection to the store at ``postgresql://USER@HOST/DATABASE?schema=NAME``, which is created if there is none.

    Raises `UsageError` for an address that is none.
    """
    address, lock = server_address(url), SessionLock()

    def connect() -> Any:
        connection = open_migrated(address)
        lock.connection, connection.on_again = connection, lock.take_again
        return connection

    db = PgDb(connect, 64)
    db.process_lock, db.shown = lock, address.shown
    return db


def open_migrated(address: ServerAddress) -> PgConnection:
    """A connection to a store of the newest version, which is created if there is none. Raises `StoreError`."""
    try:
        connection = PgConnection(address)
    except sqlite3.Error as error:
        raise StoreError(f"{address.shown}: {error}") from error
    try:
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


class PostgresStore(SqliteStore):
    """`core.store.port.Store` on a server. `connect` makes the connection, as `connect_server` does."""

    # A server that is started again takes seconds.
    _read_again = (0.02, 0.1, 0.5, 1.0, 2.0, 2.0, 5.0, 5.0, 5.0, 5.0)

    def _in_words(self, error: Exception) -> StoreError:
        assert isinstance(self._db, PgDb)
        return StoreError(f"{self._db.shown}: {error}")

    async def _server_time(self, _now: float) -> float:
        """The time on the server's clock, which every process that claims or renews the lease goes by."""
        (now,) = await self._at_start(lambda c: c.execute(TIME).fetchone())
        return now

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        while True:
            try:
                now = await self._server_time(now)
                frozen = await self._at_start(lambda c, now=now: c.execute(_END_HOLDER, (now, IDLE)).fetchall())
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
