"""A try: a world on the wire, a scripted model, and the processes of a gateway that is not ours.

Theory of operation
===================

The gateway is a program that we do not know, started as its users start it. It believes that it talks to Telegram, to
Slack, to a model; it talks to this process. We see what crosses its sockets and when its processes end, and nothing
else. From that alone a verdict must follow that its maintainers can check. The parts below exist for one reason each.

*Who holds whom.* A try needs three processes. The command line or the app (`trunkline.app.attach`) decides what is
tried, and keeps results. For each try it starts a worker (`worker`), which holds the world: one event loop, with the
servers of all platforms and the model. The worker starts a guard (`process.guard`), which holds the gateway: the first
process of a namespace, or else the adopter of all orphans. Ends go downwards only. When the command line dies, the
worker breaks the try off; when the worker dies, even by SIGKILL, a pipe closes and the guard kills the whole tree. So
no gateway outlives its try, and a port or a lock of one try is never in the way of the next.

*What it can reach.* The worker enters a network of its own (`process.closed_network`) before it starts anything, while
it still has one thread. There is loopback and nothing else; each attempt to leave is answered at once and recorded as
`gateway.reached_out`. A gateway that is set up wrongly therefore posts nothing on a real platform, and its finding says
whom it wanted to reach. Where a system allows no such network, the notes of the try say so.

*What it is given.* A profile (`profile`) says how to run the gateway, a rendering (`rendering`) fills addresses and
tokens into its files. The folder is empty, or a copy of a warm state: some gateways take minutes to set up, so that is
done once per version, under a lock. Ids of messages continue from day to day (`seconds_since_ids_began`), because
gateways remember ids of earlier runs, and rightly drop what they have seen.

*One world.* The try has the same `World` as a run of our own gateway: rooms, people, faults, the script, and the fake
platforms with their rules. Only two things differ. `wire_side` is set, so platforms record what arrives (requests,
confirmations, responses) instead of what a gateway of ours reports. And nothing is in memory: `TryServers` puts each
platform on a socket, `ModelSide` answers as the cast of the scenario would.

*How a cause is known.* No id of the gateway is ever used, since another gateway has other ones, or none. Each question
of a person ends in a mark, `QZone`. The model is given the prompt that the gateway makes of it, finds the mark there,
and answers `AZone-g1`; asked again, `AZone-g2`. So a text on the wire names the question that it answers, and the turn
that it comes from: the same generation twice is one answer sent twice, two generations are two turns. `marked` puts the
marks into the script, `ModelSide` into answers, and `sim.index.marks` reads them for the judge. A prompt may be about
no question (a summary, a title): a profile says how such prompts look.

*When a fault strikes.* Not at a time. Two tries of a real gateway differ in every millisecond, so "kill it after two
seconds" would be a different experiment each time. Faults and kills wait for an event of the wire that concerns a
question (`KillPoint`: the Nth `wire.accepted` about `two`), and strike inside it: the server has recorded the event and
has not answered yet, so what the gateway can know at that moment is the same in every try. The order of what follows is
part of the design: record, strike, then hang up (`servers.hang_up`), so that no request of the dead process is taken
for one of the next. `AttachedScript` plays the steps of the scenario, `KillStroke` the one further kill of `--explore`.

*When it is over.* Nobody says when a gateway has finished, so rest is observed (`QuietWire`). A try ends when all of
this is true: the script has been played, and nothing that it began is still due (`owe`, `end_wait`); each question has
an answer or a known notice, or has waited for its patience since the last thing that may have delayed it (the question,
a start, a fault with its duration); no request waits for a response; and there was no event for `settle` seconds. After
a restart the quiet must last longer, because what a gateway takes up again comes late. A gateway that goes on for ever
with what no platform takes does not keep a try from its end; one that floods a platform is trouble.

*What is no finding.* `GatewayTrouble` means that the try says nothing about promises from then on: the gateway did not
start, was never connected, could not be started again, or flooded a platform. The trace then ends with `cut`, so what
only the end can break is not judged. A gateway that ends by itself is no trouble but an event, and is judged. A fault
that did not strike, a point that did not come: the try is played to its end, and does not count. All else is left to
the judge, which reads the trace and not this process: the same file gives the same verdict on any machine.

*Order of a try* (`AttachTry.play`): servers listen; the gateway starts, and is ready when every platform has a
connection; the script begins, and its times count from there; rest; `run.phase: rest`; a warm state gets SIGTERM and
time to stop, any other gateway is killed; servers close; `run.ended`. Whatever raises in between, the `finally` of
`play` kills before it closes, and the trace gets its end.

If you change this: anything that may differ between two tries must be an event or must not matter. Try it on the toy
gateway (`toy`), which has each of the defects that the invariants of the wire side find, one at a time.
"""

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
        """The header of the try's trace."""
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
        """Play the try. Raises `GatewayTrouble`, after an end of the trace that says so.

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
