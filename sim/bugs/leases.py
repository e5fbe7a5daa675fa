"""Defects of leases, and of stores on a server: several processes send the same intents, commits count for nothing."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from trunkline.core.channels import ChannelAdapter, InboundStream
from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.runtime.outbound.delivery_loop import Delivery
from trunkline.core.runtime.outbound.open_intents import OpenIntents
from trunkline.core.runtime.outbound.settle import Settler
from trunkline.core.store.delegations import HasPosts
from trunkline.core.store.lease import Lease, LeaseClaim
from trunkline.core.store.postgres.store import PostgresStore
from trunkline.core.store.queries import ListOpenIntents, LoadIntents, Read
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.sim.bugs.base import Installer, bug, making
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper

#: most open intents that a drain reads
_MOST = 1000


@bug("drain-races-live-sender", making("gateway"), reports=("B004",), caught_by=("D1", "D5"))
class DrainingGateway(Gateway):
    """What the live path is sending is not claimed, so the drain after a reconnect sends it as well."""

    def __init__(self, *, adapters: Sequence[ChannelAdapter], **parts: Any) -> None:
        super().__init__(adapters=[_Reconnecting(adapter, self) for adapter in adapters], **parts)

    def drain_soon(self, adapter: ChannelAdapter) -> None:
        """Start a drain."""
        if self._group is not None:
            self._group.start_soon(self._drain, adapter, name=f"drain {adapter.channel}:{adapter.account}")

    async def _drain(self, adapter: ChannelAdapter) -> None:
        assert self._group is not None
        found = await self._ctx.store.read(ListOpenIntents(after=0, limit=_MOST))
        own = [
            intent.id
            for intent in found
            if (intent.address.channel, intent.address.account) == (adapter.channel, adapter.account)
        ]
        loaded = await self._ctx.store.read(LoadIntents(ids=own))
        # Its own lanes: it does not see what the live path is sending.
        intents = OpenIntents(self._ctx, self._hooks)
        settler = Settler(self._ctx, self._preparer, intents, self._turn_queue.enqueue, self._unheard.note)
        Delivery(self._ctx, intents=intents, settler=settler, hooks=self._hooks).start(self._group)
        for row in loaded.rows:
            intents.enqueue(row, None)


@bug("nobody-claims-the-store", making("store"), reports=("B005",), caught_by=("D5",))
class OpenStore(SqliteStore):
    """A message is stored without an owner that other processes respect, so two of them send it."""

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        """Always succeeds."""
        lease = Lease(owner=self._db.process_lock.name, until=now + lasts)
        return LeaseClaim(taken=True, lease=lease, reason=Reason.LEASE_FREE)

    async def renew(self, now: float, lasts: float) -> None:
        """Does nothing."""


class _Reconnecting(AdapterWrapper):
    """Notifies its gateway of a reconnect."""

    def __init__(self, inner: ChannelAdapter, gateway: DrainingGateway) -> None:
        super().__init__(inner)
        self._gateway = gateway
        self._connected = False

    def connect(self) -> InboundStream:
        if self._connected:
            self._gateway.drain_soon(self)
        self._connected = True
        return self.inner.connect()


@bug("stale-owner-goes-on", making("store"), caught_by=("D1", "D5"))
class UnfencedLeaseStore(SqliteStore):
    """A process that lost the store while it was frozen sends and acknowledges as if it still had it."""

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        """Claims without the fencing token that every write would check."""
        claim = await super().claim(now, lasts)
        self._db.token = None
        return claim

    async def renew(self, now: float, lasts: float) -> None:
        """Does nothing."""


#: how a transaction asks for the token of today's holder
_TOKEN = "SELECT token FROM lease"


def _served(make: type[PostgresStore]) -> Installer:
    """An installer for processes whose store is on a server; no other has such a defect."""

    def install(wiring: Wiring) -> None:
        if wiring.make_store is PostgresStore:
            wiring.make_store = make

    return install


def _connection(defect: Callable[[Any], None]) -> Installer:
    """An installer of a connection to the server that has a defect."""

    class Changed(PostgresStore):
        async def open(self) -> None:
            await super().open()
            await self._db.run(defect)

    return _served(Changed)


@bug("token-checked-before", _connection, caught_by=("V1",))
def _trust_a_look(connection: Any) -> None:
    """The token is checked in front of the transaction: who is held up between them commits after another's claim."""
    run, leave = connection.execute, connection.leave

    def look() -> None:
        connection.looked = connection.server.open().execute(_TOKEN).fetchone()
        leave()

    def execute(sql: str, parameters: Any = (), /) -> Any:
        early = sql == _TOKEN and connection.in_transaction
        return run("SELECT ?", connection.looked) if early else run(sql, parameters)

    connection.leave, connection.execute = look, execute


@bug("commit-repeated-blindly", _connection, caught_by=("V1",))
def _repeat(connection: Any) -> None:
    """A commit whose answer is lost counts as not made, and its batch is committed again."""
    connection.look_up_commit = lambda: setattr(connection, "doubt", "")


@bug("standby-is-behind", _connection, caught_by=("D5", "L1", "W3"))
def _run_ahead(connection: Any) -> None:
    """A commit is acknowledged before the standby has it, so a failover loses it, and the token goes back."""
    connection.awaits_standby = False


@bug("notified-or-never", _served, caught_by=("C6",))
class DeafStore(PostgresStore):
    """An answer of a worker is looked for when a notification comes, and a lost one is never made good."""

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
    """The lock of a session alone says who works the store; a process whose session has ended goes on without it."""

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        """Takes the lock, and neither lease nor token."""

        def take(_: sqlite3.Connection) -> str:
            return self._db.process_lock.take()

        taken = bool(await self._db.run(take))
        found = Lease(owner=self._db.process_lock.name, token=int(now), until=now + lasts)
        return LeaseClaim(taken=taken, lease=found, reason=Reason.LEASE_FREE if taken else Reason.LEASE_HELD)

    async def renew(self, now: float, lasts: float) -> None:
        """Does nothing."""
