"""The gateway process of a run: it boots on the surviving disk, can be killed or stopped, and starts again."""

from __future__ import annotations

import asyncio
from typing import cast

from core import Gateway
from core.events.bodies import ProcessCrashed, ProcessStopped
from core.store import SqliteStore
from sim.bugs import BUGS
from sim.cast import ScriptedAgent, ScriptedHands
from sim.env import sim_env
from sim.loop import Node
from sim.platforms import FakeAdapter
from sim.wiring import Wiring
from sim.world import World

#: a process that dies by itself this often is left dead
_MOST_BOOTS = 50


class GatewayProcess:
    """Boots, kills, stops and restarts the gateway."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._node: Node | None = None
        self._task: asyncio.Task[None] | None = None
        self._gateway: Gateway | None = None
        #: the process that was told to end, why, by which event, and how long it stays down
        self._stopping: tuple[Node, str, int | None, float] | None = None
        self.generation = 0

    @property
    def alive(self) -> bool:
        """Whether a process runs now."""
        return self._node is not None and self._node.alive

    def boot(self) -> None:
        """Start a process on what the disk holds."""
        if self.alive or self.generation >= _MOST_BOOTS:
            return
        self.generation += 1
        node = self._node = Node("gateway", self.generation)
        gateway = self._gateway = node.context().run(self._make, node)
        loop = asyncio.get_running_loop()
        context = node.context()
        task = self._task = loop.create_task(gateway.run(), name=f"gateway {self.generation}", context=context)
        # In the world's context: that a process has ended is seen from outside.
        task.add_done_callback(lambda _: self._ended(node, task))

    def _make(self, node: Node) -> Gateway:
        world, wiring = self._world, Wiring(generation=node.generation)
        for bug in world.bugs:
            BUGS[bug].install(wiring)
        events = wiring.wrap_events(world.log.recorder("gateway", node.generation))
        scenario = world.scenario
        adapters = [
            wiring.wrap_adapter(FakeAdapter(platform, account, node, world))
            for platform in world.platforms.values()
            for account in platform.spec.accounts
        ]
        return Gateway(
            config=scenario.gateway,
            store=SqliteStore(world.disk.connect, events),
            adapters=adapters,
            agents={
                agent.id: ScriptedAgent(
                    scenario.cast.agents.get(agent.id, ()),
                    resolve=world.address,
                    is_at=world.is_at,
                    number=world.number,
                )
                for agent in scenario.gateway.agents
            },
            hands=ScriptedHands(scenario.cast.hands, world.number),
            env=sim_env(world.now, world.ids, world.seed),
            events=events,
            decisions=wiring.decisions,
        )

    def wake(self, agent: str, text: str, cause: int | None) -> None:
        """A schedule inside the process fires; nothing happens when there is no process."""
        node, gateway = self._node, self._gateway
        if node is not None and gateway is not None and node.alive:
            context = node.context()
            asyncio.get_running_loop().create_task(
                gateway.wake(agent, text, cause), name=f"wake {agent} {text}", context=context
            )

    def kill(self, why: str, cause: int | None, restart_after: float) -> None:
        """Die as by SIGKILL: no callback of this incarnation runs again."""
        node = self._node
        if node is None or not node.alive:
            return
        node.kill()
        self._world.log.append("sim", node.generation, ProcessCrashed(why=why), cause, (None,) * 5)
        # The transaction in progress, if any, is undone when the running callback has returned.
        self._world.at(self._world.now(), self._world.disk.crash)
        self._world.at(self._world.now() + restart_after, self.boot)

    def kill_soon(self, why: str, cause: int | None, restart_after: float) -> None:
        """Die at the end of the callback that runs now: what it does is done, and nothing comes after it."""
        loop = self._world.loop

        def at_the_end(_: int) -> None:
            loop.on_step = None
            self.kill(why, cause, restart_after)

        loop.on_step = at_the_end

    def stop(self, why: str, cause: int | None, down: float) -> None:
        """End in order: cancel, let the process clean up, start again after a while."""
        node, task = self._node, self._task
        if node is None or task is None or not node.alive:
            return
        self._stopping = (node, why, cause, down)
        task.cancel()

    def _ended(self, node: Node, task: asyncio.Task[None]) -> None:
        """The process is gone: as it was told, or by an error of its own."""
        if not node.alive:
            return
        node.kill()
        world = self._world
        world.disk.crash()
        stopping = self._stopping
        if stopping is not None and stopping[0] is node:
            _, why, cause, down = stopping
            world.log.append("sim", node.generation, ProcessStopped(why=why), cause, (None,) * 5)
            world.at(world.now() + down, self.boot)
            return
        error = None if task.cancelled() else task.exception()
        why = "it ended by itself" if error is None else _tell(error)
        world.log.append("sim", node.generation, ProcessCrashed(why=why), None, (None,) * 5)
        world.at(world.now() + 1.0, self.boot)


def _tell(error: BaseException) -> str:
    """The error that killed a process, in one line; groups are opened."""
    if isinstance(error, BaseExceptionGroup):
        return _tell(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return f"{type(error).__name__}: {error}"
