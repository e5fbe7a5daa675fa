"""The lease of this process on its store: claimed before anything else is done, renewed while the process works.

Nothing is sent once the lease may have run out, by the own clock: a process that was frozen asks the store first, which
then tells it whether it still is the one that works. `core.store.sqlite.lease` has the other half: writes are refused.
"""

from __future__ import annotations

import anyio

from trunkline.core.config import GatewayConfig
from trunkline.core.env import Env
from trunkline.core.errors import LeaseLost, StoreError
from trunkline.core.events import EventSink
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.events.leases import LeaseAwaited, LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.core.store.lease import LeaseClaim
from trunkline.core.store.port import Store

#: most seconds between two looks of a process that stands by
_LOOK = 1.0


class LeaseKeeper:
    """Holds the store for one process."""

    def __init__(self, config: GatewayConfig, store: Store, env: Env, events: EventSink) -> None:
        self._store = store
        self._env = env
        self._events = events
        delivery = config.delivery
        #: as it was at the start: other processes go by what is in the store
        self._lasts = max(delivery.lease, 3 * delivery.request_timeout)
        self._look = min(_LOOK, self._lasts / 4)
        # What is sent before the end has its answer, or has been given up, when another process may take over.
        self._margin = delivery.request_timeout
        #: nothing is sent from then on, unless the lease was renewed
        self.until = float("-inf")

    async def claim(self, started: int) -> None:
        """Take the store, standing by for as long as another process holds it."""
        told = False
        while True:
            now = self._env.now()
            claim = await self._store.claim(now, self._lasts)
            if claim.taken:
                self._extend(now)
                self._events.record(_taken(claim), started)
                return
            if not told:
                told = True
                held = LeaseAwaited(holder=claim.lease.owner, until=round(claim.lease.until, 6), reason=claim.reason)
                self._events.record(held, started)
            # Not only at its end: a holder that stops gives it back, and one that dies leaves its lock.
            await anyio.sleep(self._look)

    async def keep(self) -> None:
        """Renew, three times as often as needed. Raises `LeaseLost` when another process has taken the store."""
        wait = self._lasts / 3
        while True:
            await anyio.sleep(wait)
            wait = self._lasts / 3 if await self._renew() else self._look

    async def assure(self) -> None:
        """Return when the lease has not run out, and will not before a send that begins now has ended."""
        while self._env.now() >= self.until:
            if not await self._renew():
                await anyio.sleep(self._look)

    async def _renew(self) -> bool:
        now = self._env.now()
        try:
            await self._store.renew(now, self._lasts)
        except LeaseLost:
            raise
        except StoreError as error:
            self._events.record(StoreFailed(reason=Reason.STORE_ERROR, error=error.facts, retry_in=self._look))
            return False
        self._extend(now)
        return True

    def _extend(self, now: float) -> None:
        self.until = now + self._lasts - self._margin


def _taken(claim: LeaseClaim) -> LeaseTaken:
    lease = claim.lease
    until = round(lease.until, 6)
    return LeaseTaken(owner=lease.owner, token=lease.token, before=claim.before, until=until, reason=claim.reason)


def lost_lease(group: ExceptionGroup[Exception]) -> LeaseLost | None:
    """The one error that matters, where every task of a group ended because the lease is lost."""
    _, others = group.split(LeaseLost)
    error: Exception = group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return error if others is None and isinstance(error, LeaseLost) else None
