"""Connections to a server, without a driver: commits in doubt, and the lock of a session.

The simulator has a server of its own behind the same rules.
"""

import contextlib
import os
import platform
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import anyio.to_thread

from trunkline.core.errors import StoreError
from trunkline.core.store.sqlite.connection import CommitInDoubt, Db, PendingWrite

#: looks for what became of a commit before the caller gets `CommitInDoubt`
_LOOKS = 4
_IDENTITY = "session"


class ServerConnection:
    """A connection with the methods of `sqlite3.Connection` for handlers, and with errors of `sqlite3`.

    A COMMIT without an answer is looked up by the number of its transaction, and never repeated blindly.
    """

    #: the server, for people; without secrets
    shown = ""
    in_transaction = False
    #: the number of the transaction
    number = ""
    #: the transaction whose COMMIT had no answer, its writes, and their answers
    doubt = ""
    doubtful: tuple[Sequence[PendingWrite], list[Any]] = (), []
    #: whether the connection was lost before, and what follows on a new one
    again = False
    on_again: Callable[[], None] | None = None

    #: seconds between two looks for what became of a commit
    between = 0.05
    #: begins a session, raises `sqlite3.OperationalError`; and ends it
    connect: Callable[[], None]
    end_session: Callable[[], None]
    #: runs a statement for SQLite
    execute: Callable[..., Any]
    #: sends a COMMIT, for its answer; asks what became of a transaction, None: the server does not know it
    send_commit: Callable[[], str]
    fate: Callable[[str], str | None]
    #: asks for the time on the server's clock
    time: Callable[[], float]
    #: takes the lock of the store for the session, unless another one has it; and frees it
    try_lock: Callable[[], bool]
    unlock: Callable[[], None]
    #: ends the session of a holder whose lease has expired at a time, for whether there was one
    end_holder: Callable[[float], bool]

    @property
    def session(self) -> object | None:
        """The session on the server; None: it has ended."""

    def reach(self) -> None:
        """Begin another session if the last one is lost, outside of a transaction."""
        if self.session is None and not self.in_transaction:
            self.connect()
            self.again = True
            if self.on_again is not None:
                self.on_again()

    def commit(self) -> None:
        """Commit. Raises `CommitInDoubt` as long as the outcome is not known."""
        self.in_transaction = False
        try:
            said = self.send_commit()
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error:
            # Also where the server says that it ends: it may have committed before.
            self.end_session()
            self.doubt = self.number
            try:
                committed = self.look_up_commit()
            except StoreError as unknown:
                # Asked again by the next call, which raises it: here it would be taken for the fault of a write.
                raise CommitInDoubt(unknown.facts, self._note) from unknown
            if not committed:
                raise
        else:
            # The answer to the COMMIT of a transaction that has failed is ROLLBACK, and no error.
            if said != "COMMIT":
                raise sqlite3.IntegrityError("a statement of the transaction had failed, so nothing was committed")

    def look_up_commit(self) -> bool:
        """Look up the transaction in doubt, over a new connection.

        Raises `CommitInDoubt`: not known yet. Raises `StoreError` where the server does not know of it: one that was
        restored, or a standby that was behind.
        """
        found = "in progress"
        for _ in range(_LOOKS):
            try:
                found = self.fate(self.doubt) or "unknown"
            except sqlite3.OperationalError as error:
                found = "unknown" if error.sqlite_errorcode == sqlite3.SQLITE_ERROR else str(error)
            if found == "unknown":
                raise StoreError(f"{self.shown}: the server does not know the last commit")
            if found in ("committed", "aborted"):
                self.doubt = ""
                return found == "committed"
            threading.Event().wait(self.between)
        raise CommitInDoubt(f"whether the last commit was stored is not known yet: {found}", self._note)

    def _note(self, writes: Sequence[PendingWrite], answers: list[Any]) -> None:
        self.doubtful = writes, answers

    def settle_doubt(self) -> list[Any]:
        """The results of the stories of writes whose commit was in doubt; empty without a commit."""
        if not self.look_up_commit():
            return []
        writes, answers = self.doubtful
        return [write.story(answer) for write, answer in zip(writes, answers, strict=True)]


class SessionLock:
    """The `ProcessLock` of a process that works a store on a server."""

    def __init__(self, name: str = "") -> None:
        self.name = name or f"{platform.node()}:{os.getpid()}"
        self.connection: ServerConnection | None = None
        #: the session that holds the lock
        self._held: object | None = None
        #: the lease as it was when this process was back after it was cut off
        self._seen: Any = None

    def take(self) -> str:
        """Take the lock, or keep it; see `ProcessLock.take`.

        A process that was cut off itself proves nobody dead until the lease is renewed or expires: the holder may have
        been cut off too, and come back.
        """
        connection = self.connection
        if connection is None:
            return ""
        if self._held is not None and self._held is connection.session:
            return _IDENTITY
        if connection.again and self._held is None:
            row = connection.execute("SELECT token, until FROM lease WHERE until > ?", (connection.time(),)).fetchone()
            self._seen = self._seen or row
            if row is not None and row == self._seen:
                return ""
            # The holder has come back since, or may be replaced anyway.
            connection.again, self._seen = False, None
        got = connection.try_lock()
        self._held = connection.session if got else self._held
        return _IDENTITY if got else ""

    def take_again(self) -> None:
        """Take the lock of a holder that was cut off, before others see that it is free."""
        if self._held is not None:
            self.take()

    def drop(self) -> None:
        """Free the lock. If the session is lost, its end has freed it."""
        connection, held, self._held = self.connection, self._held, None
        if connection is not None and held is not None and held is connection.session:
            with contextlib.suppress(sqlite3.Error):
                connection.unlock()


class PgDb(Db):
    """A connection to a server, whose commits are looked up when their answer is lost."""

    #: the server, for people; without secrets
    shown = ""

    #: opens another connection, to which notifications come
    open_listener: Callable[[], Any]
    _listener: Any = None

    async def wait_for_notification(self) -> None:
        """Wait for a notification, or for a new connection to get them. Raises `sqlite3.Error`."""
        if self._listener is None or self._listener.session is None:
            await anyio.to_thread.run_sync(lambda: setattr(self, "_listener", self.open_listener()))
            return
        heard = False
        while not heard:
            await anyio.wait_readable(self._listener.raw)
            heard = self._listener.read_notifications()

    async def close(self) -> None:
        await super().close()
        if self._listener is not None:
            self._listener.close()

    async def transact(self, writes: Sequence[PendingWrite]) -> list[Any]:
        """See `Db.transact`. If the last commit was in doubt, `writes` begins with those of it."""
        connection: Any = self._conn  # pyright: ignore[reportUnknownMemberType]
        if connection.doubt:
            known = await self.run(lambda _: connection.settle_doubt())
            if known:
                return known
        return await super().transact(writes)
