"""The gateway process of a run: it boots on the surviving disk, can be killed or stopped, and starts again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, cast

from core import Gateway
from core.config import GatewayConfig
from core.decisions import config_key
from core.errors import SendFailed, UnknownName, UsageError
from core.events.bodies import ProcessCrashed, ProcessStopped, ScriptSkipped
from core.routing.scopes import place_key
from core.send import SendMessage
from core.values import Address
from sim.bugs import BUGS
from sim.cast import ScriptedAgent, ScriptedHands
from sim.env import sim_env
from sim.loop import Node
from sim.platforms import FakeAdapter
from sim.scenario.places import is_session_key
from sim.scenario.reloads import agents_of
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
        #: what the next process starts with
        self.config = world.scenario.gateway

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
            config=self.config,
            store=wiring.make_store(world.disk.connect, events),
            adapters=adapters,
            agents={
                # Also those that a later configuration brings.
                agent: ScriptedAgent(
                    scenario.cast.agents.get(agent, ()),
                    resolve=world.address,
                    session_key=self.session_key,
                    is_at=world.is_at,
                    number=world.number,
                )
                for agent in agents_of((scenario.gateway, *world.file.reloads))
            },
            hands=ScriptedHands(scenario.cast.hands, world.number),
            env=sim_env(world.now, world.ids, world.seed),
            events=events,
            decisions=wiring.decisions,
        )

    def session_key(self, agent: str, session: str) -> str:
        """The key of a session that a scenario names by its place, or by the key itself."""
        if is_session_key(session):
            return session
        return config_key(place_key(agent, self._world.address(session), self.config), self.config)

    # ------------------------------------------------------------ what clients, operators and schedules do

    def _live(self) -> tuple[Node, Gateway] | None:
        node, gateway = self._node, self._gateway
        return None if node is None or gateway is None or not node.alive else (node, gateway)

    def wake(self, agent: str, text: str, cause: int | None) -> None:
        """A schedule inside the process fires; nothing happens when there is no process."""
        live = self._live()
        if live is not None:
            node, gateway = live
            self._spawn(node, gateway.wake(agent, text, cause), f"wake {agent} {text}")

    def send(self, message: SendMessage, number: int) -> None:
        """A client sends through the process, which tells itself what comes of it. Raises `UnknownName` without one."""
        live = self._live()
        if live is None:
            raise UnknownName("no gateway process runs")
        node, gateway = live
        self._spawn(node, self._client("send", partial(_sent, gateway, message)), f"send {number} {message.key}")

    def reset(self, agent: str, place: Address) -> None:
        """An operator has a session start anew. Raises `UnknownName` without a process."""
        live = self._live()
        if live is None:
            raise UnknownName("no gateway process runs")
        node, gateway = live
        self._spawn(node, self._client("reset", partial(_reset, gateway, agent, place)), f"reset {agent} {place}")

    async def _client(self, step: str, call: Callable[[], Awaitable[None]]) -> None:
        """Somebody outside calls the process. An error that the gateway does not tell itself is told here."""
        try:
            await call()
        except Exception as error:  # noqa: BLE001 -- a run in which a step failed says nothing, so it is told
            why = error.facts if isinstance(error, UnknownName) else _tell(error)
            self._world.events.record(ScriptSkipped(step=step, why=why))

    def reload(self, config: GatewayConfig) -> None:
        """Another configuration, for the process that runs and for those to come. Raises `ConfigError`."""
        live = self._live()
        if live is not None:
            node, gateway = live
            node.context().run(gateway.reload, config)
        self.config = config

    def _spawn(self, node: Node, work: Coroutine[Any, Any, None], name: str) -> None:
        asyncio.get_running_loop().create_task(work, name=name, context=node.context())

    # ------------------------------------------------------------ how it ends

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


async def _sent(gateway: Gateway, message: SendMessage) -> None:
    # The gateway tells of a send that it refuses, and of one that fails.
    with suppress(UsageError, SendFailed):
        await gateway.send(message)


async def _reset(gateway: Gateway, agent: str, place: Address) -> None:
    if await gateway.reset_session(agent, place) is None:
        raise UnknownName(f"{place} has no session")


def _tell(error: BaseException) -> str:
    """The error that killed a process, in one line; groups are opened."""
    if isinstance(error, BaseExceptionGroup):
        return _tell(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return f"{type(error).__name__}: {error}"
