"""Proof of death on a server: an advisory lock of the holder's session, freed when that session ends."""

import os
import platform
import sqlite3
from typing import Any

from trunkline.core.store.postgres.connection import PgConnection

#: of the store in this schema, among all locks of the database. 1414680139: "TRNK"
_KEY = "(1414680139, to_regclass('lease')::oid::integer)"
IDENTITY = "session"


class SessionLock:
    """The `ProcessLock` of a process that works a store on a server."""

    def __init__(self) -> None:
        self.connection: PgConnection | None = None
        #: the session that holds the lock
        self._held: Any = None

    @property
    def name(self) -> str:
        return f"{platform.node()}:{os.getpid()}"

    def take(self) -> str:
        """Take the lock, or keep it; see `ProcessLock.take`.

        A process that was cut off itself proves nobody dead: the holder may have been cut off too, and come back. It
        may take over when the lease has expired.
        """
        connection = self.connection
        if connection is None:
            return ""
        if self._held is connection.raw and not connection.raw.closed:
            return IDENTITY
        if connection.again and self._held is None:
            return ""
        (got,) = connection.execute(f"SELECT pg_try_advisory_lock{_KEY}").fetchone()
        self._held = connection.raw if got else self._held
        return IDENTITY if got else ""

    def drop(self) -> None:
        """Free the lock. If the session is lost, or in use, its end frees it."""
        connection, held, self._held = self.connection, self._held, None
        if connection is None or held is not connection.raw or held.closed or connection.in_transaction:
            return
        try:
            connection.execute(f"SELECT pg_advisory_unlock{_KEY}")
        except sqlite3.Error:
            return
