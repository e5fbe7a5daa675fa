"""Defects in who may send: several processes, or several loops of one, work on the same entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trunkline.core.channels import ChannelAdapter, InboundStream
from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.runtime.outbound.delivery_loop import Delivery
from trunkline.core.store.lease import Lease, LeaseClaim
from trunkline.core.store.queries import ListOpenIntents, LoadIntents
from trunkline.core.store.sqlite import SqliteStore
from trunkline.sim.bugs.base import Bug, making, storing
from trunkline.sim.bugs.wrappers import AdapterWrapper

#: open entries that a drain looks at
_MOST = 1000


class OpenStore(SqliteStore):
    """Entries are there for whoever reads them: nobody asks who works the store, and nobody is shut out."""

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        """Always."""
        lease = Lease(owner=self._db.process_lock.name, until=now + lasts)
        return LeaseClaim(taken=True, lease=lease, reason=Reason.LEASE_FREE)

    async def renew(self, now: float, lasts: float) -> None:
        """There is nothing to renew."""


class UnfencedLeaseStore(SqliteStore):
    """Claims the store, and then believes for ever that it holds it."""

    async def claim(self, now: float, lasts: float) -> LeaseClaim:
        """Without the token that every write would check."""
        claim = await super().claim(now, lasts)
        self._db.token = None
        return claim

    async def renew(self, now: float, lasts: float) -> None:
        """Without asking."""


class _Reconnecting(AdapterWrapper):
    """Tells its gateway when it connects again."""

    def __init__(self, inner: ChannelAdapter, gateway: DrainingGateway) -> None:
        super().__init__(inner)
        self._gateway = gateway
        self._connected = False

    def connect(self) -> InboundStream:
        if self._connected:
            self._gateway.drain_soon(self)
        self._connected = True
        return self.inner.connect()


class DrainingGateway(Gateway):
    """When an account connects again, everything open of its account is sent, whoever is sending it already."""

    def __init__(self, *, adapters: Sequence[ChannelAdapter], **parts: Any) -> None:
        super().__init__(adapters=[_Reconnecting(adapter, self) for adapter in adapters], **parts)

    def drain_soon(self, adapter: ChannelAdapter) -> None:
        """Begin to send."""
        if self._group is not None:
            self._group.start_soon(self._drain, adapter, name=f"drain {adapter.channel}:{adapter.account}")

    async def _drain(self, adapter: ChannelAdapter) -> None:
        assert self._group is not None
        found = await self._ctx.store.read(ListOpenIntents(after=0, limit=_MOST))
        own = [
            one.id for one in found if (one.address.channel, one.address.account) == (adapter.channel, adapter.account)
        ]
        loaded = await self._ctx.store.read(LoadIntents(ids=own))
        # Lanes of its own: it does not know what the live path is doing.
        drain = Delivery(self._ctx, self._preparer)
        drain.lanes.start(self._group)
        for row in loaded.rows:
            drain.queue(row, None)


LEASE_BUGS = (
    Bug(
        name="drain-races-live-sender",
        reports=("B004",),
        sentence="What the live path is sending is not claimed, so the drain after a reconnect sends it as well.",
        caught_by=("D1", "D5"),
        install=making(DrainingGateway),
    ),
    Bug(
        name="nobody-claims-the-store",
        reports=("B005",),
        sentence="A message is stored without an owner that other processes respect, so two of them send it.",
        caught_by=("D5",),
        install=storing(OpenStore),
    ),
    Bug(
        name="stale-owner-goes-on",
        reports=(),
        sentence="A process that lost the store while it stood still sends and acknowledges as if nothing had been.",
        caught_by=("D1", "D5"),
        install=storing(UnfencedLeaseStore),
    ),
)
