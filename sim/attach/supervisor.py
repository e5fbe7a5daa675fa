"""One try: a world on the wire, a scripted model, and the processes of a gateway that is not ours."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from trunkline.core.errors import UsageError
from trunkline.core.events import Event, Trace, TraceHeader
from trunkline.core.events.base import RunEnded
from trunkline.sim.attach.gateway_tree import GatewayTree
from trunkline.sim.attach.marks import question_text, unique_marks
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.rendering import RenderedGateway, render, write_files
from trunkline.sim.attach.rest import QuietWire
from trunkline.sim.attach.scripted_model import MarkedModel, ScriptedAnswer
from trunkline.sim.attach.slots import platform_values
from trunkline.sim.events.attach import GatewayAttached, GatewayExited, GatewayLaunched, GatewayReady
from trunkline.sim.events.model import ModelAnswered
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.script import RunPhase
from trunkline.sim.events.world import PeerSaid, PlatformConnected
from trunkline.sim.loop import RealTimeLoop
from trunkline.sim.run.fault_board import text_matches
from trunkline.sim.run.script.triggers import Triggers, awaited_by
from trunkline.sim.run.script.world_steps import WorldSteps
from trunkline.sim.run.world import World
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.model.scenario import ScriptStep
from trunkline.sim.scenario.model.steps import When
from trunkline.sim.wire.attribution import NoAttribution
from trunkline.sim.wire.call_log import CallLog
from trunkline.sim.wire.listener import WireListener
from trunkline.sim.wire.model.replies import ModelReply, text_said
from trunkline.sim.wire.model.server import Asked, ModelServer
from trunkline.sim.wire.servers import make_server

#: requests that are not recorded by themselves
_POLLS = frozenset({"getUpdates"})
_LOOK = 0.05


class GatewayTrouble(UsageError):
    """The gateway did not start, or does not connect; with the last lines of its log."""


class AttachTry:
    """Plays a scenario against a gateway, once. `folder`: its own, empty or with a warm state below ``home``."""

    def __init__(
        self,
        file: ScenarioFile,
        profile: GatewayProfile,
        loop: RealTimeLoop,
        folder: Path,
        *,
        install: Path,
        version: str = "",
        watch: Callable[[Event], None] | None = None,
    ) -> None:
        self._profile, self._loop, self._folder, self._install = profile, loop, folder, install
        self._version = version
        self.file = marked(file)
        self.world = world = World(self.file, loop, seed=file.scenario.seed, bugs=())
        world.wire_side = True
        if watch is not None:
            world.log.subscribe(watch)
        world.events.record(
            GatewayAttached(
                gateway=profile.name,
                version=version,
                notices=profile.notices,
                remarks=profile.remarks,
                patience=profile.patience,
            )
        )
        world.build()
        self._steps = WorldSteps(world, lambda _channel, _account: None)
        self._triggers = Triggers(world, awaited_by(file.scenario.script))
        self._rest = QuietWire(world.log)
        self._secrets: list[str] = []
        world.log.subscribe(self._said, PeerSaid)
        self._model = MarkedModel(profile, self._answer_to)
        self._listeners: dict[str, WireListener] = {}
        self._server: ModelServer | None = None
        self._tree: GatewayTree | None = None
        self._number = 0
        self._rendered: RenderedGateway | None = None
        #: steps that were not played yet, and restarts that are due
        self._left = 0
        self._tasks: list[asyncio.Future[None]] = []
        #: requests to the model that are not answered -> the seq of the event
        self._asked_at: dict[int, int] = {}
        self._problem: GatewayTrouble | None = None

    @property
    def header(self) -> TraceHeader:
        """The header of its trace."""
        file = self.file
        return TraceHeader(
            scenario=file.id,
            title=file.scenario.title,
            path=file.path.as_posix(),
            source=file.scenario.source,
            seed=file.scenario.seed,
            on_wire=True,
            side="wire",
            gateway=f"{self._profile.name} {self._version}".strip(),
        )

    # ------------------------------------------------------------ life

    async def play(self) -> Trace:
        """Play it. Raises `GatewayTrouble`."""
        world = self.world
        try:
            await self._open()
            await self._start()
            self._begin_script()
            await self._until_rest()
            world.events.record(RunPhase(phase="rest"))
        finally:
            await self._close()
        world.events.record(RunEnded(at_rest=True))
        return Trace(header=self.header, events=tuple(world.log.events))

    async def _open(self) -> None:
        world = self.world
        epoch = time.time() - self._loop.time()  # noqa: TID251 -- the gateway lives by the machine's clock
        for name, platform in world.platforms.items():
            server = make_server(platform, world, NoAttribution(), epoch=epoch)
            server.calls = CallLog(platform.events, name, quiet=_POLLS)
            listener = self._listeners[name] = WireListener(server)
            await listener.open()
        model = self._server = ModelServer(self._reply, answered=self._answered)
        await model.open()
        self._rendered = render(self._profile, tuple(world.platforms), self._values())
        home = self._folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        write_files(home, self._rendered.files)

    def _values(self) -> dict[str, str]:
        """What fills the slots of the profile."""
        assert self._server is not None
        home = self._folder / "home"
        found = {
            "home": str(home),
            "python": sys.executable,
            "attach": str(Path(__file__).parent),
            "install": str(self._install),
            "model.url": self._server.url,
            "model.root": self._server.url.removesuffix("/v1"),
            "port": str(_free_port()),
        }
        for listener in self._listeners.values():
            found |= platform_values(listener.server, next(iter(listener.server.platform.spec.accounts)))
        return found

    async def _close(self) -> None:
        if self._tree is not None:
            self._tree.kill()
        for listener in self._listeners.values():
            await listener.close()
        if self._server is not None:
            await self._server.close()
        self.world.disk.discard()

    # ------------------------------------------------------------ the process

    async def _start(self) -> None:
        """Start the gateway, and wait until every account is connected. Raises `GatewayTrouble`."""
        assert self._rendered is not None
        self._number += 1
        number, began = self._number, self._loop.time()
        command = self._rendered.command
        connected: set[str] = set()

        def see(event: Event) -> None:
            assert isinstance(event.body, PlatformConnected)
            connected.add(event.body.channel)

        self.world.log.subscribe(see, PlatformConnected)
        self.world.events.record(GatewayLaunched(number=number, command=command))
        self._tree = tree = GatewayTree(
            command, self._rendered.environment, self._folder / "home", self._folder / "gateway.log"
        )
        while connected < set(self._listeners):
            if self._tree is not tree:
                return
            if tree.exit_code is not None:
                raise self._trouble(f"ended with the code {tree.exit_code} before it was connected")
            if self._loop.time() - began > self._profile.start_within:
                missing = ", ".join(sorted(set(self._listeners) - connected))
                raise self._trouble(f"was not connected to {missing} within {self._profile.start_within:g} s")
            await anyio.sleep(_LOOK)
        self.world.events.record(GatewayReady(number=number, after=round(self._loop.time() - began, 3)))

    def _trouble(self, what: str) -> GatewayTrouble:
        lines = () if self._tree is None else self._tree.last_lines()
        return GatewayTrouble("\n".join([f"{self._profile.name} {what}; the end of its log:", *lines]))

    def _look_at_process(self) -> None:
        """Record the end of a process that nobody asked to end."""
        tree = self._tree
        if tree is not None and tree.exit_code is not None:
            self._tree = None
            body = GatewayExited(number=self._number, code=tree.exit_code, log=tree.last_lines(5))
            self.world.events.record(body)

    async def _again(self, down: float) -> None:
        """Start the gateway again after a while."""
        try:
            await anyio.sleep(down)
            await self._start()
        except GatewayTrouble as error:
            self._problem = error
        finally:
            self._left -= 1

    def _restart_later(self, down: float) -> None:
        self._left += 1
        self._spawn(self._again(down))

    def _spawn(self, what: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.ensure_future(what))

    def _kill(self, why: str, cause: int, restart_after: float) -> None:
        tree, self._tree = self._tree, None
        if tree is None:
            return
        tree.kill()
        self.world.events.record(ProcessCrashed(why=why), cause)
        self._restart_later(restart_after)

    def _stop(self, why: str, cause: int, down: float) -> None:
        tree, self._tree = self._tree, None
        if tree is None:
            return
        tree.terminate()
        self._left += 1
        self._spawn(self._wait_for_end(tree, why, cause, down))

    async def _wait_for_end(self, tree: GatewayTree, why: str, cause: int, down: float) -> None:
        with anyio.move_on_after(self._profile.stop_within):
            while tree.exit_code is None:  # noqa: ASYNC110 -- nothing notifies of it
                await anyio.sleep(_LOOK)
        tree.kill()
        self.world.events.record(ProcessStopped(why=why), cause)
        self._restart_later(down)
        self._left -= 1

    def _freeze(self, why: str, cause: int, seconds: float) -> None:
        tree = self._tree
        if tree is None:
            return
        tree.freeze()
        self.world.events.record(ProcessFrozen(why=why), cause)
        self._left += 1
        self.world.at(self.world.now() + seconds, self._thaw, tree)

    def _thaw(self, tree: GatewayTree) -> None:
        self._left -= 1
        if tree.exit_code is None:
            tree.thaw()
            self.world.events.record(ProcessThawed())

    # ------------------------------------------------------------ the script

    def _begin_script(self) -> None:
        names, began = iter(self.file.say_ids), self.world.now()
        for step, at in zip(self.file.scenario.script, self.file.times, strict=True):
            name = next(names) if step.say is not None else ""
            self._left += 1
            self.world.at(began + at, self._play, step, name)

    def _play(self, step: ScriptStep, name: str) -> None:
        self._left -= 1
        if step.when is None:
            self._play_now(step, name)
        else:
            self._triggers.add(step.when, lambda _: self.world.after_step(partial(self._play_now, step, name)))

    def _play_now(self, step: ScriptStep, name: str) -> None:
        self._steps.if_possible(name or "step", partial(self._act, step, name))

    def _act(self, step: ScriptStep, name: str) -> None:
        if self._steps.play(step, name):
            return
        if step.crash is not None:
            crash = step.crash
            self._now_or_at("crash", crash.when, lambda why, cause: self._kill(why, cause, crash.restart_after))
        elif step.restart is not None:
            restart = step.restart
            self._now_or_at("restart", restart.when, lambda why, cause: self._stop(why, cause, restart.down))
        elif step.freeze is not None:
            freeze = step.freeze
            self._now_or_at("freeze", freeze.when, lambda why, cause: self._freeze(why, cause, freeze.for_))

    def _now_or_at(self, fault: str, when: When | None, do: Callable[[str, int], None]) -> None:
        """Do something now, or at the end of the callback that records an event."""
        if when is None:
            do(fault, self._steps.fired(fault))
            return

        def fire(event: Event) -> None:
            self.world.after_step(lambda: do(f"{fault} at {event.kind}", self._steps.fired(fault, f"at {event.kind}")))

        self._triggers.add(when, fire)

    async def _until_rest(self) -> None:
        """Wait for the script, and until nothing is expected any more. Raises `GatewayTrouble`."""
        while self._left or not self._rest.reached(self.world.now(), self._profile.settle, self._profile.patience):
            self._look_at_process()
            if self._problem is not None:
                raise self._problem
            await anyio.sleep(_LOOK)

    # ------------------------------------------------------------ the model

    def _said(self, event: Event) -> None:
        assert isinstance(event.body, PeerSaid)
        if event.body.secret:
            self._secrets.append(event.body.secret)

    def _answer_to(self, said: str) -> ScriptedAnswer:
        """What the cast says to a question: the first agent's rule that matches."""
        for rule in next(iter(self.file.scenario.cast.agents.values()), ()):
            if rule.when.text is None or text_matches(rule.when.text, said):
                wait = sum(one.think or 0.0 for one in rule.do)
                text = next((one.reply for one in rule.do if one.reply is not None), "")
                return ScriptedAnswer(text=str(text), wait=wait)
        return ScriptedAnswer()

    def _reply(self, asked: Asked) -> ModelReply:
        body = self._model.asked(asked, self._secrets)
        seq = self.world.log.recorder("model").record(body)
        reply = self._model.reply(asked, body)
        self._asked_at[id(asked)] = seq
        return reply

    def _answered(self, asked: Asked, reply: ModelReply) -> None:
        body = ModelAnswered(status=reply.status, text=text_said(reply))
        self.world.log.recorder("model").record(body, self._asked_at.pop(id(asked), None))


def marked(file: ScenarioFile) -> ScenarioFile:
    """The scenario, with a mark at the end of each question."""
    marks, names = unique_marks(file.say_ids), iter(file.say_ids)
    script = tuple(
        step if step.say is None else step.model_copy(update={"say": question_text(step.say, marks[next(names)])})
        for step in file.scenario.script
    )
    return replace(file, scenario=file.scenario.model_copy(update={"script": script}))


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
