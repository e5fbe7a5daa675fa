"""The SQLite store: the port over one connection and one group-committing writer. It is the default store."""

import contextlib
import sqlite3
from collections.abc import Callable
from shlex import quote
from typing import TypeVar

import anyio

from trunkline.core.errors import LeaseLost, StoreDamaged, StoreError, StoreGone
from trunkline.core.events import EventSink
from trunkline.core.events.leases import LeaseGone, StoreWarned
from trunkline.core.reasons import Reason
from trunkline.core.store.commands import Write
from trunkline.core.store.lease import LeaseClaim
from trunkline.core.store.queries import Read
from trunkline.core.store.sqlite import lease
from trunkline.core.store.sqlite.connection import Db
from trunkline.core.store.sqlite.copies import rescue
from trunkline.core.store.sqlite.damage import store_error
from trunkline.core.store.sqlite.file_watch import FileWatch
from trunkline.core.store.sqlite.group_commit import Writer
from trunkline.core.store.sqlite.handlers import RunSql, ask
from trunkline.core.store.sqlite.migrate import check_ours, migrate
from trunkline.core.store.sqlite.sql.operators.erasure import scrub
from trunkline.core.store.sqlite.sql.work import forget_begun

A = TypeVar("A")
T = TypeVar("T")
#: what a last write may fail with
_UNWRITABLE = (sqlite3.Error, StoreError, MemoryError, ValueError)
#: seconds between two looks at the file
_LOOK = 1.0
#: looks after which commits are brought into the file although there are new ones at each look
_BUSY = 30


class SqliteStore:
    """`core.store.port.Store` over SQLite. `connect` makes the connection; refused writes are recorded in `events`."""

    #: seconds before each repetition of a read that failed
    _read_again: tuple[float, ...] = (0.02, 0.1, 0.5)

    def __init__(self, connect: Callable[[], Db], events: EventSink) -> None:
        self._db = connect()
        self._events = events
        self._writer = self._make_writer()
        self._lost = self._closed = False
        #: why the lease could not be renewed at last
        self._not_renewed = ""
        #: why the store can be used no more
        self._ending: StoreError | None = None

    def _make_writer(self) -> Writer:
        return Writer(self._db, self._events)

    @property
    def commits(self) -> int:
        return self._writer.commits

    @property
    def refusal(self) -> str:
        return self._writer.refusal or self._not_renewed

    async def open(self) -> None:
        try:
            with anyio.CancelScope(shield=True):
                # Short; and cancelled here, the connection would be opened anyway and never be closed.
                await self._db
            await self._at_start(_migrate_unless_held)
            self._warn(Reason.STORE_FILE, *(self._db.file.remarks if self._db.file is not None else ()))
        except BaseException:
            # The connection's thread would keep the process from ending, or call a closed loop.
            with anyio.CancelScope(shield=True):
                await self._db.shut()
            raise

    def _in_words(self, error: Exception) -> StoreError:
        return store_error(None if self._db.file is None else self._db.file.path, error)

    def _warn(self, reason: Reason, *details: str) -> None:
        for detail in details:
            self._events.record(StoreWarned(reason=reason, detail=detail))

    async def close(self) -> None:
        token, self._closed = self._db.token, True
        try:
            if token is not None and not self._lost:
                # If it cannot be written, other processes take it over by the lock.
                with contextlib.suppress(*_UNWRITABLE):
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
        with contextlib.suppress(*_UNWRITABLE):
            await self._db.run(lambda c: forget_begun(c, token))

    async def run(self) -> None:
        try:
            await (self._writer.run() if self._db.file is None else self._run_with_care(self._db.file))
        except LeaseLost:
            self._record_lost()
            raise
        except StoreDamaged as error:
            self._end(error, Reason.STORE_DAMAGED)
            raise
        except StoreGone as error:
            assert self._db.file is not None
            if self._db.token is None:
                # It stands by: the holder rescues the file.
                raise
            raise StoreGone(await self._rescue(self._db.file, error.facts)) from None

    async def _run_with_care(self, file: FileWatch) -> None:
        ended: StoreError | None = None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._look_after, file, name="care of the store file")
                try:
                    await self._writer.run()
                except StoreError as error:
                    ended = error
                group.cancel_scope.cancel()
        finally:
            # Also where a caller whose write was refused has cancelled everything meanwhile, the writer included.
            ended = ended or self._ending
            if ended is not None:
                raise ended

    async def _look_after(self, file: FileWatch) -> None:
        """Watch the path of the file, and bring commits into the idle file."""
        seen, kept, looks = self._writer.commits, -1, 0
        while True:
            await anyio.sleep(_LOOK)
            if lost := file.lost():
                self._end(StoreGone(lost), Reason.STORE_GONE)
                return
            if linked := file.linked():
                self._warn(Reason.STORE_FILE, linked)
            commits, looks = self._writer.commits, looks + 1
            # A process that stands by leaves the file to its holder.
            if self._db.token is not None and commits != kept and (commits == seen or looks >= _BUSY):
                kept, looks = commits, 0
                await self._bring_into_file()
            seen = commits

    async def _bring_into_file(self) -> None:
        """Bring commits from the ``-wal``, where they are durable too, into the file."""
        try:
            await self._db.run(_checkpoint)
        except StoreDamaged as error:
            self._end(error, Reason.STORE_DAMAGED)
        except (sqlite3.Error, MemoryError, ValueError):
            return

    async def _rescue(self, file: FileWatch, lost: str) -> str:
        """Copy the open file, whose path leads elsewhere; the place of the copy, in words."""
        copy = file.path
        try:
            with anyio.CancelScope(shield=True):
                copy = await self._db.run(lambda c: rescue(c, file.path))
        except (StoreError, sqlite3.Error, ValueError) as error:
            return f"{lost}, and no copy could be written ({error}): what it held since the last backup is lost"
        file.remove_leftovers()
        restore = f"trunkline store restore {quote(str(copy))} {quote(str(file.path))}"
        return f"{lost}; all that it held is in {copy}. Move away what is at the path now, then: {restore}"

    def _end(self, error: StoreError, reason: Reason) -> None:
        """Refuse all further writes, and end with an error, which is recorded once."""
        self._writer.end(error)
        if self._ending is None:
            self._ending = error
            self._warn(reason, error.facts)

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        process = self._db.process_lock

        def try_claim(c: sqlite3.Connection) -> LeaseClaim:
            # The holder before may have been of a newer version.
            check_ours(c)
            return lease.try_claim(c, process, now, lasts)

        found = await self._at_start(try_claim)
        if not found.taken:
            return found
        claim = await self._writer.write(RunSql(op=lambda c: lease.claim(c, process, now, lasts)), self._hold)
        if claim.taken:
            # Only now is the holder before shut out, which may be frozen.
            await self._at_start(migrate)
        return claim

    async def _at_start(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function before there is anything to lose. Raises `StoreError`, naming the file."""
        try:
            return await self._db.run(work)
        except (sqlite3.Error, MemoryError, OSError) as error:
            raise self._in_words(error) from error

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
        except (sqlite3.OperationalError, MemoryError) as error:
            refused = self._in_words(error)
            self._not_renewed = str(refused)
            raise refused from error
        except StoreDamaged as error:
            self._end(error, Reason.STORE_DAMAGED)
            raise
        self._not_renewed = ""
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
        if self._closed:
            raise StoreError("the gateway has ended: repeat the request, a message with the same message id")
        for wait in (*self._read_again, None):
            try:
                return await self._db.run(lambda c: ask(c, query))
            except StoreDamaged as error:
                self._end(error, Reason.STORE_DAMAGED)
                raise
            except (sqlite3.OperationalError, MemoryError) as error:
                refused = self._in_words(error)
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
                    raise refused from error
                if wait is None:
                    # The caller may give up, and work would stay undone in a process that goes on.
                    self._end(refused, Reason.STORE_ERROR)
                    raise refused from error
            await anyio.sleep(wait)
        raise AssertionError("the last try returns or raises")

    async def listen(self, heard: Callable[[], None]) -> None:
        """See the port. Nothing notifies of a change of a file."""

    async def scrub(self) -> None:
        try:
            await self._db.run(scrub)
        except sqlite3.Error as error:
            raise StoreError(
                f"the rows are erased, but the file could not be written again, repeat it: {error}"
            ) from error


def _migrate_unless_held(c: sqlite3.Connection) -> None:
    """Migrate a store that no process holds; a held one is migrated by the process that takes it over."""
    check_ours(c)
    if not lease.is_held(c) and migrate(c):
        _checkpoint(c)


def _checkpoint(c: sqlite3.Connection) -> None:
    """Bring what is committed into the file itself, as far as no reader is in the way."""
    c.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
