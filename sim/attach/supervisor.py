"""A try: a world on the wire, a scripted model, and the processes of a gateway that is not ours."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio

from trunkline.core.events import Event, Trace, TraceHeader
from trunkline.core.events.base import RunEnded
from trunkline.sim.attach.kill_points import KillPoint, finds
from trunkline.sim.attach.play.gateway import LOOK, GatewayControl
from trunkline.sim.attach.play.model_side import ModelSide
from trunkline.sim.attach.play.rest import QuietWire, Waits
from trunkline.sim.attach.play.script import AttachedScript, KillStroke
from trunkline.sim.attach.play.servers import TryServers, seconds_since_ids_began
from trunkline.sim.attach.play.trouble import GatewayTrouble
from trunkline.sim.attach.process.gateway_log import GatewayLog
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.rendering import RenderedGateway, render
from trunkline.sim.events.attach import GatewayAttached
from trunkline.sim.events.script import RunPhase
from trunkline.sim.index.marks import question_text, unique_marks
from trunkline.sim.loop import RealTimeLoop
from trunkline.sim.run.world import World
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.wire.model.server import ModelServer

__all__ = ["AttachTry", "GatewayTrouble", "waits_of"]


class AttachTry:
    """Plays a scenario against a gateway, once. `folder`: its own, empty or with a warm state below ``home``.

    `watch`: called with every event as it happens. `kill_at`: where the gateway is killed in addition to the script.
    `patience`, `settle`: seconds, instead of those of scenario and profile. `options`: of the command that plays it.
    """

    def __init__(  # noqa: PLR0913 -- one keyword for each thing that a job may say of its try
        self,
        file: ScenarioFile,
        profile: GatewayProfile,
        loop: RealTimeLoop,
        folder: Path,
        *,
        install: Path,
        version: str = "",
        watch: Callable[[Event], None] | None = None,
        kill_at: KillPoint | None = None,
        patience: float | None = None,
        settle: float | None = None,
        options: tuple[str, ...] = (),
    ) -> None:
        self._profile, self._loop, self._folder, self._install = profile, loop, folder, install
        self._version, self._kill_at = version, kill_at
        self.file = marked(file)
        self.world = world = World(self.file, loop, seed=file.scenario.seed, bugs=())
        world.wire_side = True
        world.ids_from = seconds_since_ids_began()
        if watch is not None:
            world.log.subscribe(watch)
        waits = waits_of(file, profile, patience=patience, settle=settle)
        world.events.record(
            GatewayAttached(
                gateway=profile.name,
                version=version,
                notices=profile.notices,
                remarks=profile.remarks,
                patience=waits.patience,
                options=options,
            )
        )
        world.build()
        self._rest = rest = QuietWire(world.log, waits, profile.notices, lasting_of(file))
        model = ModelSide(world, file, profile, rest)
        server = ModelServer(model.reply, note_answer=model.record_answer, count_request=self._count)
        self._servers = servers = TryServers(world, server, model.cause_of, self._count)
        rest.waits_for_response = servers.have_unanswered
        self._gateway = GatewayControl(
            world,
            profile,
            folder,
            rest,
            render=self._render,
            hang_up=servers.hang_up,
            again=file.scenario.attach.watched,
        )
        self._script = AttachedScript(world, self._gateway, servers, rest)
        self._stroke = None if kill_at is None else KillStroke(world, self._gateway, servers, kill_at, finds(kill_at))

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
            crashes=() if self._kill_at is None else (f"kill {self._kill_at.slug}",),
            on_wire=True,
            side="wire",
            gateway=f"{self._profile.name} {self._version}".strip(),
        )

    @property
    def log(self) -> GatewayLog:
        """The log of the gateway."""
        return self._gateway.log

    async def play(self, *, graceful: bool = False) -> Trace:
        """Play it. Raises `GatewayTrouble`, after an end of the trace that says so.

        `graceful`: at the end the gateway gets SIGTERM and time to stop, as one whose state is to be kept.
        """
        world = self.world
        cut = ""
        try:
            await self._servers.open(self._loop)
            await self._gateway.start()
            self._script.begin()
            await self._until_rest()
            self._script.end()
            if self._stroke is not None:
                self._stroke.end()
            world.events.record(RunPhase(phase="rest"))
            if graceful:
                await self._gateway.end()
        except GatewayTrouble as error:
            cut = f"since {error.what}"
            raise
        finally:
            self._gateway.close()
            await self._servers.close()
            world.disk.discard()
            if cut:
                world.events.record(RunEnded(at_rest=False, cut=cut))
        world.events.record(RunEnded(at_rest=True))
        return Trace(header=self.header, events=tuple(world.log.events))

    def _count(self, what: str) -> None:
        self._rest.count_request(what, self.world.now())

    def _render(self) -> RenderedGateway:
        values = self._servers.values(self._folder / "home", self._install)
        return render(self._profile, tuple(self.world.platforms), values, os.environ.get("PATH", os.defpath))

    async def _until_rest(self) -> None:
        """Wait for the script, and until nothing is expected any more. Raises `GatewayTrouble`."""
        while not self._rest.is_reached(self.world.now()):
            self._gateway.look()
            if self._gateway.trouble is not None:
                raise self._gateway.trouble
            if self._rest.flooded:
                raise self._gateway.trouble_of(self._rest.flooded)
            await anyio.sleep(LOOK)


def waits_of(
    file: ScenarioFile, profile: GatewayProfile, *, patience: float | None = None, settle: float | None = None
) -> Waits:
    """How long a run waits: as it was asked for, else as the scenario says, else as the profile does."""
    spec = file.scenario.attach
    settled = next(seconds for seconds in (settle, spec.settle, profile.settle) if seconds is not None)
    again = profile.settle_after_restart if settle is None and spec.settle is None else None
    return Waits(
        settle=settled,
        settle_after_restart=settled if again is None else max(settled, again),
        patience=next(seconds for seconds in (patience, spec.patience, profile.patience) if seconds is not None),
    )


#: kinds of faults that last
_LASTING = ("rate-limit", "slow", "slow-loris", "error", "dead", "refuse-connection")


def lasting_of(file: ScenarioFile) -> dict[str, float]:
    """Fault, as `fault.fired` names it -> how long it lasts at most, in seconds."""
    found: dict[str, float] = {}
    for fault in (step.fault for step in file.scenario.script if step.fault is not None):
        if fault.do in _LASTING and (fault.do != "error" or fault.on == "connect"):
            name = f"{fault.on}/{fault.do}"
            found[name] = max(found.get(name, 0.0), fault.for_)
    return found


def marked(file: ScenarioFile) -> ScenarioFile:
    """The scenario, with a mark at the end of each question."""
    marks, names = unique_marks(file.say_ids), iter(file.say_ids)
    script = tuple(
        step if step.say is None else step.model_copy(update={"say": question_text(step.say, marks[next(names)])})
        for step in file.scenario.script
    )
    return replace(file, scenario=file.scenario.model_copy(update={"script": script}))
