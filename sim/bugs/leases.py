"""Defects of ownership: several processes, or several loops of one, send the same intents."""

from collections.abc import Sequence
from typing import Any

from trunkline.core.channels import ChannelAdapter, InboundStream
from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.runtime.outbound.delivery_loop import Delivery
from trunkline.core.runtime.outbound.open_intents import OpenIntents
from trunkline.core.runtime.outbound.settle import Settler
from trunkline.core.store.lease import Lease, LeaseClaim
from trunkline.core.store.queries import ListOpenIntents, LoadIntents
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.sim.bugs.base import bug, making
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
        settler = Settler(self._ctx, self._preparer, intents, self._turn_queue.enqueue)
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
