"""The server: the disk behind a network, with sessions, a clock, numbers of transactions, and a standby.

What a gateway does about it is production code: `PostgresStore`, `PgDb`, `SessionLock`, and the rules of
`ServerConnection`. Here is what they ask: a session that a fault may end, and the fate of a transaction.
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

#: the error of a process that cannot reach the server
AWAY = "cannot connect to the server"
#: seconds after which a standby has what nobody awaits
_BEHIND = 1.0


class SimServerConnection(ServerConnection):
    """A connection of a process: each statement runs on the server's database, in a session that may end."""

    shown, between = "the server", 0.0
    #: the process cannot reach the server until then
    cut_until = 0.0
    #: whether a commit is acknowledged only when a standby has it
    awaits_standby = True
    _leaving = False

    def __init__(self, server: "StoreServer", node: Node) -> None:
        self.server, self.node = server, node
        self._session = object()

    @property
    def session(self) -> object | None:
        return self._session if self._session in self.server.sessions else None

    def connect(self) -> None:
        self.server.reach(self.cut_until)
        self._session = object()
        self.server.sessions[self._session] = self.node

    def end_session(self) -> None:
        self.server.sessions.pop(self._session, None)
        # The server rolls back what the session had begun.
        self.server.crash()

    close = end_session

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        """Run a statement; a COMMIT is looked up if its answer is lost."""
        if sql == "COMMIT":
            return self.commit()
        self.reach()
        if sql == "BEGIN IMMEDIATE":
            self.in_transaction, self.number = True, self.server.begin(self.awaits_standby)
        elif sql == "ROLLBACK":
            self.in_transaction = False
        return self.server.open().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> Any:
        return self.server.open().executemany(sql, parameters)

    def send_commit(self) -> str:
        struck = self._strike("reset-before")
        if struck is None:
            self.server.open().execute("COMMIT")
            self.server.committed.add(self.number)
            struck = self._strike("lose-response")
        if struck is None:
            return "COMMIT"
        self.cut_until = self.server.now() + struck
        raise _lost("the connection to the server was reset")

    def fate(self, number: str) -> str | None:
        self.reach()
        known = int(number) <= self.server.transactions
        return ("committed" if number in self.server.committed else "aborted") if known else None

    def time(self) -> float:
        self.reach()
        return self.server.now()

    def try_lock(self) -> bool:
        self.reach()
        holder = self.server.sessions.get(self.server.locked)
        if holder is None or not holder.alive:
            self.server.locked = self._session
        return self.server.locked is self._session

    def unlock(self) -> None:
        self.server.locked = None

    def end_holder(self, now: float) -> bool:
        expired = self.execute("SELECT 1 FROM lease WHERE owner <> '' AND until <= ?", (now,)).fetchone()
        others = expired and self.server.locked is not self._session
        return bool(others and self.server.sessions.pop(self.server.locked, None))

    def leave(self) -> None:
        """A transaction is about to leave."""
        self._leaving = True

    def latency(self) -> float:
        """Virtual seconds until the next statement or transaction has an answer."""
        leaving, self._leaving = self._leaving, False
        return LATENCY + ((self._strike("slow") or 0.0) if leaving else 0.0)

    def _strike(self, fault: str) -> float | None:
        # Not a process that was killed with this commit.
        return self.server.strike(fault, self.node.generation) if self.node.alive else None


class SimPgDb(PgDb):
    """A connection whose transactions are known to the network."""

    def __init__(self, connection: SimServerConnection) -> None:
        def connect() -> Any:
            connection.connect()
            return connection

        super().__init__(connect, 64)
        self._network = connection

    async def wait_for_notification(self) -> None:
        listener: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._network.server.listeners.append(listener)
        await listener

    async def transact(self, writes: Sequence[PendingWrite]) -> list[Any]:
        self._network.leave()
        return await super().transact(writes)


class StoreServer(Disk):
    """A disk that processes reach over a network. `strike`: for how long a fault of a kind strikes a process now."""

    def __init__(
        self, *args: Any, strike: Callable[[str, int], float | None], now: Callable[[], float], **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.strike, self.now = strike, now
        self._connections: list[SimServerConnection] = []
        #: those that have not ended, and the one with the lock
        self.sessions: dict[object, Node] = {}
        self.locked: object | None = None
        self._down_until = 0.0
        #: number of the last transaction, and those that were committed
        self.transactions, self.committed = 0, set[str]()
        #: what the standby has not yet: when it was begun, and the state before
        self._behind: list[tuple[float, bytes, int]] = []
        #: gateways that wait for a notification
        self.listeners: list[asyncio.Future[None]] = []

    def connect(self, node: Node | None = None) -> SimPgDb:
        """A connection of a process, as in production but running inline in the simulated loop."""
        assert node is not None
        connection, lock = SimServerConnection(self, node), SessionLock(SimLock(self, node).name)
        self._connections.append(connection)
        db = SimPgDb(connection)
        lock.connection, connection.on_again = connection, lock.take_again
        db.process_lock, db.shown = lock, connection.shown
        make_inline(db, latency=connection.latency)
        return db

    def crash(self) -> None:
        """Roll back, and record what a dead process had committed without ever knowing."""
        super().crash()
        for dead in [connection for connection in self._connections if not connection.node.alive]:
            self._connections.remove(dead)
            for write, answer in zip(*dead.doubtful, strict=True) if dead.doubt in self.committed else ():
                write.story(answer)

    def begin(self, awaited: bool) -> str:
        """Count a transaction. Unless its commit is awaited, the standby gets it later."""
        self._catch_up()
        if not awaited:
            self._behind.append((self.now(), self.open().serialize(), self.transactions))
        self.transactions += 1
        return str(self.transactions)

    def _catch_up(self) -> None:
        self._behind = [late for late in self._behind if late[0] > self.now() - _BEHIND]

    def strike_at_once(self, fault: str, lasts: float) -> None:
        """End all sessions, and be away for a while; with `failover` for good: a standby goes on with what it has."""
        self.sessions.clear()
        self._down_until = self.now() + lasts
        self._catch_up()
        if fault == "failover" and self._behind:
            _, state, self.transactions = self._behind[0]
            self.committed = {number for number in self.committed if int(number) <= self.transactions}
            fill(self.open(), state)
        self._behind.clear()

    def reach(self, cut_until: float = 0.0) -> None:
        if self.now() < max(cut_until, self._down_until):
            raise _lost(AWAY)

    def notify(self, *, left: bool) -> None:
        """Wake the gateways that listen, unless the notification is lost."""
        if left and self.listeners and self.strike("drop", 0) is None:
            listeners, self.listeners = self.listeners, []
            # Those of processes that were stopped are cancelled.
            for listener in [listener for listener in listeners if not listener.done()]:
                listener.set_result(None)


def _lost(said: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(said)
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error
