"""One timer for the deadlines of all open delegations."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from trunkline.core.env import Env
from trunkline.core.hands.deadlines import DeadlinePlan
from trunkline.core.runtime.deadlines import wait_at_most
from trunkline.core.values import DelegationId

#: minimum seconds between two looks
_LEAST = 0.001


class DeadlineClock:
    """Says which delegations have passed their deadline, by the steady clock."""

    def __init__(self, env: Env, passed: Callable[[DelegationId], None]) -> None:
        self._env = env
        self._passed = passed
        self._plan: DeadlinePlan[DelegationId] = DeadlinePlan()
        self._changed = anyio.Event()

    def set(self, delegation: DelegationId, at: float) -> None:
        """Set or move the deadline of a delegation; `at`: by the wall clock."""
        before = self._plan.next()
        steady = self._env.steady_of(at)
        self._plan.set(delegation, steady)
        if before is None or steady < before:
            self._changed.set()

    def remove(self, delegation: DelegationId) -> None:
        self._plan.remove(delegation)

    async def run(self) -> None:
        """Watch the deadlines for as long as the gateway runs."""
        while True:
            for delegation in self._plan.due(self._env.steady()):
                self._passed(delegation)
            changed = self._changed = anyio.Event()
            after = self._plan.next()
            if after is None:
                await changed.wait()
            else:
                await wait_at_most(changed, max(after - self._env.steady(), _LEAST))
