"""A simulated gateway process: boots on the surviving disk, can be killed, stopped or frozen, and restarts."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, cast

from trunkline.core.agent import Agent
from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import config_key
from trunkline.core.errors import UnknownName
from trunkline.core.gateway import Gateway
from trunkline.core.records.delegations import DelegationRow, HandResult
from trunkline.core.routing.scopes import place_key
from trunkline.core.sends.api import SendMessage, Target
from trunkline.core.store.commands import Write
from trunkline.core.store.postgres.store import PostgresStore
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.core.values import Address
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.cast import clients
from trunkline.sim.cast.agents import ScriptedAgent
from trunkline.sim.cast.clients import operate_inside
from trunkline.sim.cast.delegating import HandUser
from trunkline.sim.cast.hands import ScriptedHands
from trunkline.sim.cast.hooks import scripted_hooks
from trunkline.sim.cast.message_tool import ToolUser
from trunkline.sim.cast.working_agents import InProcess, WorkingAgents
from trunkline.sim.events.hands import HandAnswered
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.script import OperatorAsked, ScriptSkipped
from trunkline.sim.loop import Node
from trunkline.sim.platforms.process_adapters import ProcessAdapters
from trunkline.sim.platforms.tokens import RenewableAdapter
from trunkline.sim.run.env import sim_env
from trunkline.sim.run.world import World
from trunkline.sim.scenario.config_reloads import agents_of
from trunkline.sim.scenario.model import steps
from trunkline.sim.scenario.place_refs import is_session_key

#: a process is not started more often than this
_MOST_BOOTS = 50
#: traceback frames recorded for the error that killed a process
_FRAMES = 8


class GatewayProcess:
    """Boots, kills, stops, freezes and restarts the gateway. `numbers` counts the starts of all processes."""

    def __init__(self, world: World, name: str, numbers: Iterator[int], adapters: ProcessAdapters) -> None:
        self._world = world
        self._made_by = adapters
        self.name = name
        self._numbers = numbers
        self._boots = 0
        self._node = Node(name)
        self._node.kill()
        self._task: asyncio.Task[None] | None = None
        self._gateway: Gateway | None = None
        #: the adapters of the process by channel and account, including those not installed yet
        self._adapters: dict[tuple[str, str], ChannelAdapter] = {}
        #: the process that is stopping, the reason, the causing event, and the down time
        self._stopping: tuple[Node, str, int | None, float] | None = None
        #: the configuration of the next process
        self.config = world.scenario.gateway

    @property
    def alive(self) -> bool:
        return self._node.alive

    @property
    def frozen(self) -> bool:
        return self._node.frozen

    @property
    def stopping(self) -> bool:
        """Whether the running process was asked to stop."""
        return self.alive and self._stopping is not None and self._stopping[0] is self._node

    def boot(self) -> None:
        """Start a process on the disk."""
        if self.alive or self._boots >= _MOST_BOOTS:
            return
        self._boots += 1
        node = self._node = Node(self.name, next(self._numbers))
        gateway = self._gateway = node.context().run(self._make, node)
        loop = asyncio.get_running_loop()
        context = node.context()
        serve = self._made_by.serve(gateway, node)
        task = self._task = loop.create_task(serve, name=f"{self.name} {node.generation}", context=context)
        # In the world's context: the end of a process is observed from outside.
        task.add_done_callback(lambda _: self._handle_end(node, task))
        # The run may have been waiting only for a running process to be at rest.
        self._world.poke()

    def _make(self, node: Node) -> Gateway:
        world = self._world
        wiring = wired(world, node.generation)
        events = wiring.wrap_events(world.log.recorder(self.name, node.generation))
        scenario, inside = world.scenario, InProcess(name=self.name, generation=node.generation)
        store = wiring.store(partial(world.disk.connect, node), events)
        adapters: list[ChannelAdapter] = []
        self._adapters = {}
        for platform in world.platforms.values():
            for account in platform.spec.accounts:
                in_memory = partial(wiring.make_adapter, platform, account, node, world)
                made = self._made_by.make(in_memory, platform, account, node, store, events)
                adapter = wiring.wrap_adapter(made)
                self._adapters[platform.channel, account] = adapter
                missing = world.boot_fault(platform.channel, account)
                if missing is None:
                    adapters.append(adapter)
                else:
                    world.call_at(world.now() + missing, self._install, node, adapter)
        return wiring.make_gateway(
            config=self.config,
            store=store,
            adapters=adapters,
            agents=self._agents(wiring, inside),
            hands=ScriptedHands(
                world, inside, scenario.cast.hands, self._made("a hand of a plug-in", world.tools.hands)
            ),
            env=sim_env(world.wall_clock, world.now, world.ids, world.seed, scenario.world.files),
            events=events,
            decisions=wiring.decisions,
            hooks=scripted_hooks(world, scenario.cast.hooks, self._made("a hook of a plug-in", world.tools.hooks)),
        )

    def _made(self, what: str, table: Mapping[str, Callable[[], Any]]) -> Callable[[str], Any]:
        """Objects of plug-ins by their names; a process makes each once."""

        @cache
        def made(name: str) -> Any:
            return self._world.tools.find(what, name, table)()

        return made

    def _agents(self, wiring: Wiring, inside: InProcess) -> dict[str, Agent]:
        """The agents of this and of later configurations."""
        world = self._world
        tool, hands = ToolUser(world, self.session_key), HandUser(world)
        tasks = WorkingAgents(world, inside, self._made("an agent of a plug-in", world.tools.agents))
        return {
            agent: wiring.wrap_agent(
                ScriptedAgent(world, world.scenario.cast.agents.get(agent, ()), tool=tool, hands=hands, tasks=tasks)
            )
            for agent in agents_of((world.scenario.gateway, *world.file.reloads))
        }

    def _install(self, node: Node, adapter: ChannelAdapter) -> None:
        """Install an adapter that was missing at boot, if its process still runs."""
        gateway = self._gateway
        if gateway is not None and node.alive and self._node is node:
            node.context().run(gateway.install, adapter)

    def renew(self, channel: str, account: str) -> None:
        """Pass the newest token of an account to the running process."""
        node, adapter = self._node, self._adapters.get((channel, account))
        if node.alive and isinstance(adapter, RenewableAdapter):
            node.context().run(adapter.renew, self._world.platforms[channel].tokens.newest(account))

    def session_key(self, agent: str, session: str) -> str:
        """The key of a session that a scenario names by its place or by its key."""
        if is_session_key(session):
            return session
        return config_key(place_key(agent, self._world.address(session), self.config), self.config)

    def wake(self, agent: str, text: str) -> None:
        """Fire a schedule inside the process; does nothing without a process."""
        if self.alive and self._gateway is not None:
            call, cause = partial(self._gateway.wake, agent, text), self._ask("wake", agent, text)
            self._call("wake", call, f"wake {agent} {text}", cause)

    def wake_heartbeat(self, step: steps.WakeHeartbeatStep) -> None:
        """Ask for heartbeats. Raises `UnknownName` without a process."""
        agent = step.agent or self.config.default_agent
        call = partial(self._running().wake_heartbeat, agent, step.reason)
        for number in range(step.times):
            cause = self._ask("heartbeat", agent, step.reason)
            self._call("wake_heartbeat", call, f"wake heartbeat {agent} {step.reason} {number}", cause)

    def system_event(self, step: steps.SystemEventStep) -> None:
        """Report a system event. Raises `UnknownName` without a process."""
        agent = step.agent or self.config.default_agent
        call = partial(self._running().system_event, agent, step.text, step.source, wake=step.wake)
        cause = self._ask("event", agent, step.text, at_once=step.wake)
        self._call("system_event", call, f"system event {agent} {step.text}", cause)

    def _ask(self, what: str, agent: str, text: str, *, at_once: bool = True) -> int:
        """Record a request for a turn."""
        return self._world.events.record(OperatorAsked(what=what, agent=agent, text=text, at_once=at_once))

    def _running(self) -> Gateway:
        if self._gateway is None or not self.alive:
            raise UnknownName("no gateway process runs")
        return self._gateway

    def operate_hands(self, step: steps.HandsStep) -> None:
        """Act on delegations as an operator. Raises `UnknownName` without a process."""
        call = partial(operate_inside, self._running(), step, partial(self._answering, self._node))
        self._call(f"hands {step.do}", call, f"hands {step.do}")

    def _answering(self, node: Node, row: DelegationRow, result: HandResult) -> None:
        """A program in the process answers a task: what it returns is a fact, like that of any hand."""
        body = HandAnswered(
            hand=row.hand,
            outcome=result.outcome,
            text=result.text,
            process=self.name,
            generation=node.generation,
            marks=self._world.words.marks(result.text),
        )
        self._world.events.record(body, delegation=row.id)

    def send(self, message: SendMessage, targets: Sequence[Target], number: int) -> None:
        """Send as a client, to one target or to several. Raises `UnknownName` without a process."""
        call = partial(clients.send, self._running(), message, targets, self._world.events)
        self._call("send", call, f"send {number} {message.key}")

    def operate(self, step: steps.QueueStep) -> None:
        """Administer the queue as an operator. Raises `UnknownName` without a process."""
        call = partial(clients.operate, self._running(), step, self._world.is_at)
        self._call(f"queue {step.do}", call, f"queue {step.do}")

    def reset(self, agent: str, place: Address) -> None:
        """Reset a session as an operator. Raises `UnknownName` without a process."""
        self._call("reset", partial(_reset, self._running(), agent, place), f"reset {agent} {place}")

    def bind(self, step: steps.BindStep) -> None:
        """Bind a conversation as an operator. Raises `UnknownName` without a process, or without the conversation."""
        gateway = self._running()
        agent = step.agent or self.config.default_agent
        key, place = self.session_key(agent, step.session), self._world.address(step.place)
        self._call("bind", partial(clients.bind, gateway, step, key, place), f"bind {place} {key}")

    def unbind(self, step: steps.UnbindStep) -> None:
        """Unbind a conversation or a session as an operator. Raises `UnknownName` as `bind` does."""
        gateway = self._running()
        agent = step.agent or self.config.default_agent
        key = None if step.session is None else self.session_key(agent, step.session)
        place = None if step.place is None else self._world.address(step.place)
        self._call("unbind", partial(clients.unbind, gateway, step, key, place), f"unbind {place} {key}")

    def _call(self, step: str, call: Callable[[], Awaitable[object]], name: str, cause: int | None = None) -> None:
        client = self._client(step, call, cause)
        asyncio.get_running_loop().create_task(client, name=name, context=self._node.context())

    async def _client(self, step: str, call: Callable[[], Awaitable[object]], cause: int | None) -> None:
        """Run a call from outside the process, and record an error that the gateway does not record itself."""
        try:
            await call()
        except Exception as error:  # noqa: BLE001 -- a failed step would make the run meaningless, so it is recorded
            why = error.facts if isinstance(error, UnknownName) else one_line(error)
            self._world.events.record(ScriptSkipped(step=step, why=why), cause)

    def reload(self, config: GatewayConfig) -> None:
        """Replace the configuration of the running process and of later ones. Raises `ConfigError`."""
        if self.alive and self._gateway is not None:
            self._node.context().run(self._gateway.reload, config)
        if config != self.config:
            self._world.record_limits(config)
        self._world.record_heartbeats(config)
        self.config = config

    def kill(self, why: str, cause: int | None, restart_after: float) -> None:
        """Kill the process like SIGKILL: none of its callbacks runs again."""
        node = self._node
        if not node.alive:
            return
        node.kill()
        self._made_by.close_process(node)
        self._world.log.recorder("sim", node.generation).record(ProcessCrashed(why=why), cause)
        # A transaction in progress is rolled back once the running callback has returned.
        self._world.call_at(self._world.now(), self._world.disk.crash)
        self._world.call_at(self._world.now() + restart_after, self.boot)

    def freeze(self, why: str, cause: int | None, lasts: float) -> None:
        """Freeze the process for a while like SIGSTOP: callbacks that come due meanwhile run afterwards."""
        node, world = self._node, self._world
        if not node.alive or node.frozen:
            return
        node.freeze()
        world.log.recorder("sim", node.generation).record(ProcessFrozen(why=why), cause)
        world.call_at(world.now() + lasts, self._thaw, node)

    def _thaw(self, node: Node) -> None:
        if node.frozen:
            self._world.log.recorder("sim", node.generation).record(ProcessThawed())
            self._world.loop.thaw(node)

    def stop(self, why: str, cause: int | None, down: float) -> None:
        """Stop gracefully: cancel, let the process clean up, restart after a while."""
        node, task = self._node, self._task
        if task is None or not node.alive:
            return
        self._stopping = (node, why, cause, down)
        task.cancel()

    def _handle_end(self, node: Node, task: asyncio.Task[None]) -> None:
        """Handle the end of the process: a requested stop, or an error of its own."""
        if not node.alive:
            return
        node.kill()
        self._made_by.close_process(node)
        world = self._world
        world.disk.crash()
        stopping = self._stopping
        if stopping is not None and stopping[0] is node:
            _, why, cause, down = stopping
            world.log.recorder("sim", node.generation).record(ProcessStopped(why=why), cause)
            world.call_at(world.now() + down, self.boot)
            return
        error = None if task.cancelled() else task.exception()
        body = ProcessCrashed(why="it ended by itself") if error is None else crashed(error)
        world.log.recorder("sim", node.generation).record(body)
        world.call_at(world.now() + 1.0, self.boot)


def wired(world: World, generation: int) -> Wiring:
    """The parts of a process with the defects of the run."""
    kind = PostgresStore if world.scenario.world.store == "server" else SqliteStore
    wiring = Wiring(generation=generation, errors=world.plugin_errors, make_store=kind)
    for bug in world.bugs.values():
        bug.install(wiring)
    return wiring


def stored_outside(world: World) -> Callable[[Write[Any]], Write[Any]]:
    """The store command of a process that is no gateway, as the defects of the run change it."""
    return wired(world, 0).changed


async def _reset(gateway: Gateway, agent: str, place: Address) -> None:
    if await gateway.reset_session(agent, place) is None:
        raise UnknownName(f"{place} has no session")


class Processes:
    """The gateway processes of a run: `gateway`, and `second` on the same store if the script starts it."""

    def __init__(self, world: World, adapters: ProcessAdapters) -> None:
        numbers = count(1)
        self._all = {name: GatewayProcess(world, name, numbers, adapters) for name in ("gateway", "second")}

    def process(self, name: str) -> GatewayProcess:
        """``gateway`` or ``second``."""
        return self._all[name]

    @property
    def serving(self) -> bool:
        """Whether a process is running, and none is frozen or stopping."""
        processes = self._all.values()
        changing = any(process.frozen or process.stopping for process in processes)
        return any(process.alive for process in processes) and not changing

    def renew(self, channel: str, account: str) -> None:
        """Pass the newest token of an account to all processes."""
        for process in self._all.values():
            process.renew(channel, account)

    def reload(self, config: GatewayConfig) -> None:
        """Replace the configuration of all processes. Raises `ConfigError`."""
        for process in self._all.values():
            process.reload(config)


def one_line(error: BaseException) -> str:
    """An error in one line; of a group its first error."""
    first = _first(error)
    return f"{type(first).__name__}: {first}"


def _first(error: BaseException) -> BaseException:
    if isinstance(error, BaseExceptionGroup):
        return _first(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return error


def crashed(error: BaseException) -> ProcessCrashed:
    """The error that killed a process, with the last frames of its traceback.

    Files are named without folders, so that the event is the same on any machine.
    """
    calls = traceback.extract_tb(_first(error).__traceback__)[-_FRAMES:]
    frames = tuple(f"{Path(call.filename).name}:{call.lineno} in {call.name}" for call in calls)
    return ProcessCrashed(why=one_line(error), frames=frames)
