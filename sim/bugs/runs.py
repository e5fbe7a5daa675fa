"""Defects of runs that end with the process: what user code raises ends the gateway, and nothing counts it."""

from __future__ import annotations

import asyncio

import msgspec

from trunkline.core.agent import Agent, Turn
from trunkline.core.records.rows import Unfinished
from trunkline.core.store.queries import LoadUnfinished
from trunkline.sim.bugs.base import bug, replacing_read
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.cast.nonsense import take_gateway_down
from trunkline.sim.store.rewired import RewiredStore


@bug("turns-unbounded", replacing_read(LoadUnfinished), caught_by=("L1",))
async def _without_runs(store: RewiredStore, query: LoadUnfinished) -> Unfinished:
    """Nothing counts the runs of a turn that end with the process, so each process runs it again."""
    return msgspec.structs.replace(await store.inner.read(query), runs=())


class _EndsTheGateway:
    """An agent whose stray cancellation is taken for one of the gateway."""

    def __init__(self, inner: Agent) -> None:
        self._inner = inner

    async def turn(self, turn: Turn) -> str | None:
        try:
            return await self._inner.turn(turn)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            await take_gateway_down()


@bug("stray-cancellation-ends-the-gateway", caught_by=("L1",))
def _install_stray_cancellation(wiring: Wiring) -> None:
    """A `CancelledError` that an agent lets out ends the gateway, and its turn is run again by each process."""
    wiring.wrap_agent = _EndsTheGateway
    wiring.replace_read(LoadUnfinished, _without_runs)
