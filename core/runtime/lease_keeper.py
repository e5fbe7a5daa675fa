"""The lease of this process on its store: claimed before any other work, and renewed while the process runs.

Nothing is sent once the lease may have expired by the process's own clock: a process that was frozen renews the lease
first, which fails if another process has taken over. The store itself refuses writes with an old fencing token.
"""

import anyio

from trunkline.core.config import GatewayConfig
from trunkline.core.env import Env
from trunkline.core.errors import LeaseLost, StoreError
from trunkline.core.events import EventSink, gateway, leases
from trunkline.core.reasons import Reason
from trunkline.core.store.port import Store

#: maximum seconds between two attempts of a waiting process to claim the lease
_LOOK = 1.0


class LeaseKeeper:
    def __init__(self, config: GatewayConfig, store: Store, env: Env, events: EventSink) -> None:
        self._store = store
        self._env = env
        self._events = events
        delivery = config.delivery
        #: duration of the lease, fixed at start: other processes rely on what is stored
        self._lasts = max(delivery.lease, 3 * delivery.request_timeout)
        self._look = min(_LOOK, self._lasts / 4)
        # A send that starts before `until` has ended when another process may take over.
        self._margin = delivery.request_timeout
        #: nothing is sent from then on unless the lease is renewed: on the steady clock, and on the wall clock by which
        #: other processes judge the lease
        self._until = self._wall_until = float("-inf")

    @property
    def expired(self) -> bool:
        """Whether another process may have taken over, or could before a send that begins now has ended."""
        return self._env.steady() >= self._until or self._env.now() >= self._wall_until

    async def claim(self, started: int) -> None:
        """Claim the lease, waiting for as long as another process holds the lease."""
        recorded = False
        while True:
            now, steady = self._env.now(), self._env.steady()
            claim = await self._store.claim(now, self._lasts)
            if claim.taken:
                self._extend(now, steady)
                lease, until = claim.lease, round(self._env.steady_of(claim.lease.until), 6)
                taken = leases.LeaseTaken(
                    owner=lease.owner, token=lease.token, before=claim.before, until=until, reason=claim.reason
                )
                self._events.record(taken, started)
                return
            if not recorded:
                recorded = True
                until = round(self._env.steady_of(claim.lease.until), 6)
                held = leases.LeaseAwaited(holder=claim.lease.owner, until=until, reason=claim.reason)
                self._events.record(held, started)
            # Poll, since a holder that stops releases the lease early, and a dead one releases its file lock.
            await anyio.sleep(self._look)

    async def keep(self) -> None:
        """Renew the lease, three times per duration. Raises `LeaseLost` when another process has taken over."""
        wait = self._lasts / 3
        while True:
            await anyio.sleep(wait)
            wait = self._lasts / 3 if await self._renew() else self._look

    async def assure(self) -> None:
        """Return once the lease is valid for the duration of a send."""
        while self.expired:
            if not await self._renew():
                await anyio.sleep(self._look)

    async def _renew(self) -> bool:
        now, steady = self._env.now(), self._env.steady()
        try:
            await self._store.renew(now, self._lasts)
        except LeaseLost:
            raise
        except StoreError as error:
            self._events.record(gateway.StoreFailed(reason=Reason.STORE_ERROR, error=error.facts, retry_in=self._look))
            return False
        self._extend(now, steady)
        return True

    def _extend(self, now: float, steady: float) -> None:
        self._until = steady + self._lasts - self._margin
        self._wall_until = now + self._lasts - self._margin


def lost_lease(group: ExceptionGroup[Exception]) -> LeaseLost | None:
    """The `LeaseLost` in a group without other errors, else None."""
    _, others = group.split(LeaseLost)
    error: Exception = group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return error if others is None and isinstance(error, LeaseLost) else None
