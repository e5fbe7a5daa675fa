"""Defects of runs that end with the process: what user code raises ends the gateway, and nothing counts it."""

import asyncio

import msgspec

from trunkline.core.agent import Agent, Turn
from trunkline.core.records.rows import Unfinished
from trunkline.core.store.queries import LoadUnfinished
from trunkline.sim.bugs.base import bug, replacing_read
from trunkline.sim.bugs.turn_wrappers import taking_turns
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.cast.nonsense import take_gateway_down
from trunkline.sim.store.rewired import RewiredStore


@bug("turns-unbounded", replacing_read(LoadUnfinished), reports=("B116",), caught_by=("L1",))
async def _without_runs(store: RewiredStore, query: LoadUnfinished) -> Unfinished:
    """Nothing counts the runs of a turn that end with the process, so each process runs it again."""
    return msgspec.structs.replace(await store.inner.read(query), runs={})


async def _end_the_gateway(agent: Agent, turn: Turn) -> str | None:
    """Take the turn; a stray cancellation of the agent is taken for one of the gateway."""
    try:
        return await agent.turn(turn)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        await take_gateway_down()


@bug("stray-cancellation-ends-the-gateway", caught_by=("L1",))
def _install_stray_cancellation(wiring: Wiring) -> None:
    """A `CancelledError` that an agent lets out ends the gateway, and its turn is run again by each process."""
    taking_turns(_end_the_gateway)(wiring)
    wiring.replace_read(LoadUnfinished, _without_runs)
