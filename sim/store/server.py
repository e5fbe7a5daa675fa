"""The server: the disk behind a network, with sessions, a clock, numbers of transactions, and a standby.

What a gateway does about it is production code: `PostgresStore`, `PgDb`, `SessionLock`, and the rules of
`ServerConnection`. Here is what they ask: a session of theirs that a fault may end, and the fate of a transaction.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from trunkline.core.store.postgres.server import PgDb, ServerConnection, SessionLock
from trunkline.core.store.sqlite.connection import PendingWrite
from trunkline.sim.loop import Node
from trunkline.sim.store.disk import LATENCY, Disk, SimLock, fill
from trunkline.sim.store.inline_sqlite import make_inline

#: seconds after which a standby has what nobody awaits
_BEHIND = 1.0


class Session:
    """A session on the server: over when its connection breaks, when its process dies, or with the server."""

    def __init__(self, node: Node | None) -> None:
        self._node = node
        self.cut = False

    @property
    def over(self) -> bool:
        return self.cut or (self._node is not None and not self._node.alive)


class SimServerConnection(ServerConnection):
    """A connection of a process: each statement runs on the server's database, in a session that may end."""

    shown = "the server"

    def __init__(self, server: "Server", node: Node | None) -> None:
        self.server, self._node = server, node
        self._session = Session(node)
        #: the process cannot reach the server until then
        self.cut_until = 0.0
        #: whether a commit is acknowledged only when a standby has it
        self.awaits_standby = True
        #: whether a transaction is about to leave
        self.leaving = False

    @property
    def session(self) -> object | None:
        return None if self._session.over else self._session

    def connect(self) -> None:
        if self.server.now() < max(self.cut_until, self.server.down_until):
            raise _lost("cannot connect to the server")
        self._session = Session(self._node)
        self.server.sessions.append(self._session)

    def end_session(self) -> None:
        self._session.cut = True
        # The server rolls back what the session had begun.
        self.server.crash()

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        """Run a statement; a COMMIT is looked up if its answer is lost."""
        if sql == "COMMIT":
            return self.commit()
        self.reach()
        if self._session.over:
            raise _lost("the connection to the server is lost")
        if sql == "BEGIN IMMEDIATE":
            self.in_transaction, self.number = True, self.server.begin(self.awaits_standby)
        elif sql == "ROLLBACK":
            self.in_transaction = False
        return self.server.open().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> Any:
        return self.server.open().executemany(sql, parameters)

    def send_commit(self) -> str:
        before, after = self._strike("reset-before"), None
        if before is None:
            self.server.open().execute("COMMIT")
            self.server.committed.add(self.number)
            after = self._strike("lose-response")
        struck = before if before is not None else after
        if struck is None:
            return "COMMIT"
        self.cut_until = self.server.now() + struck
        raise _lost("the connection to the server was reset")

    def fate(self, number: str) -> str | None:
        self.reach()
        if int(number) > self.server.transactions:
            return None
        return "committed" if number in self.server.committed else "aborted"

    def time(self) -> float:
        self.reach()
        return self.server.now()

    def try_lock(self) -> bool:
        self.reach()
        if self.server.locked is None or self.server.locked.over:
            self.server.locked = self._session
        return self.server.locked is self._session

    def unlock(self) -> None:
        self.server.locked = None

    def pause(self, seconds: float) -> None:
        """Not waited for inside of a step: the writer asks again later."""

    def latency(self) -> float:
        """Virtual seconds until the next statement or transaction has an answer."""
        leaving, self.leaving = self.leaving, False
        return LATENCY + ((self._strike("slow") or 0.0) if leaving else 0.0)

    def _strike(self, fault: str) -> float | None:
        return self.server.strike(fault, 0 if self._node is None else self._node.generation)

    def close(self) -> None:
        self.end_session()


class SimPgDb(PgDb):
    """A connection whose transactions are known to the network."""

    def __init__(self, connection: SimServerConnection) -> None:
        def connect() -> Any:
            connection.connect()
            return connection

        super().__init__(connect, 64)
        self._network = connection

    async def heard(self) -> None:
        ear: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._network.server.ears.append(ear)
        await ear

    async def transact(self, writes: Sequence[PendingWrite]) -> list[Any]:
        self._network.leaving = True
        return await super().transact(writes)


class Server(Disk):
    """A disk that processes reach over a network. `strike`: for how long a fault of a kind strikes now, if one does."""

    def __init__(
        self, *args: Any, strike: Callable[[str, int], float | None], now: Callable[[], float], **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.strike, self.now = strike, now
        self.sessions: list[Session] = []
        self.locked: Session | None = None
        self.down_until = 0.0
        #: number of the last transaction, and those that were committed
        self.transactions, self.committed = 0, set[str]()
        #: what the standby has not yet: when it was begun, and the state before
        self._behind: list[tuple[float, bytes, int]] = []
        #: gateways that wait for a notification
        self.ears: list[asyncio.Future[None]] = []

    def connect(self, node: Node | None = None) -> SimPgDb:
        """A connection of a process, as in production but running inline in the simulated loop."""
        connection = SimServerConnection(self, node)
        db = SimPgDb(connection)
        lock = SessionLock(SimLock(self, node).name)
        lock.connection, connection.on_again = connection, lock.take_again
        db.process_lock, db.shown = lock, connection.shown
        make_inline(db, latency=connection.latency)
        return db

    def begin(self, awaited: bool) -> str:
        """Count a transaction. Unless its commit is awaited, the standby gets it later."""
        since = self.now() - _BEHIND
        self._behind = [] if awaited else [late for late in self._behind if late[0] > since]
        if not awaited:
            self._behind.append((self.now(), self.open().serialize(), self.transactions))
        self.transactions += 1
        return str(self.transactions)

    def strike_at_once(self, fault: str, lasts: float) -> None:
        """End all sessions, and be away for a while; with `failover` for good: a standby goes on with what it has."""
        for session in self.sessions:
            session.cut = True
        self.sessions.clear()
        self.down_until = self.now() + lasts
        since = self.now() - _BEHIND
        lost = [late for late in self._behind if late[0] > since]
        if fault == "failover" and lost:
            _, state, self.transactions = lost[0]
            self.committed = {number for number in self.committed if int(number) <= self.transactions}
            fill(self.open(), state)
        self._behind.clear()

    def open_outside(self) -> sqlite3.Connection:
        if self.now() < self.down_until:
            raise _lost("cannot connect to the server")
        return self.open()

    def notify(self) -> None:
        """Wake the gateways that listen, unless the notification is lost."""
        ears, self.ears = self.ears, []
        if ears and self.strike("drop", 0) is not None:
            self.ears = ears
            return
        for ear in ears:
            if not ear.done():
                ear.set_result(None)


def _lost(said: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(said)
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error
