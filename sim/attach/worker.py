"""The process that plays a try: ``python -m trunkline.sim.attach.worker``, with the job on standard input.

It prints the outcome as a line of JSON. Its network is closed off where the system allows it. SIGTERM, Ctrl-C and the
end of the process that started it end the try; no process of the gateway is left, however this one ends.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec

from trunkline.core.errors import UsageError
from trunkline.core.events import Event, RunEnded, Trace, TraceHeader
from trunkline.sim.attach.doctor import ask, first_version
from trunkline.sim.attach.job import AttachJob, AttachOutcome
from trunkline.sim.attach.kill_points import KillPoint
from trunkline.sim.attach.play.gateway import LOOK, GatewayControl, GatewayTrouble
from trunkline.sim.attach.play.model_side import ModelSide
from trunkline.sim.attach.play.rest import QuietWire, Waits
from trunkline.sim.attach.play.script import AttachedScript, KillStroke
from trunkline.sim.attach.play.servers import TryServers, seconds_since_ids_began
from trunkline.sim.attach.process import closed_network
from trunkline.sim.attach.process.gateway_log import GatewayLog
from trunkline.sim.attach.process.guard import descendants
from trunkline.sim.attach.process.packets import Attempt
from trunkline.sim.attach.process.process_tree import ProcessTree
from trunkline.sim.attach.process.trace_file import TraceFile
from trunkline.sim.attach.process.warm_states import copy_state, first_conversation, leave_out, state_name, warm_state
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.profile_files import load_profile
from trunkline.sim.attach.rendering import RenderedGateway, filled, render
from trunkline.sim.events.attach import GatewayAttached, GatewayReachedOut
from trunkline.sim.events.script import RunPhase
from trunkline.sim.index.marks import question_text, unique_marks
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.plugins.toolbox import load_toolbox
from trunkline.sim.run.world import World
from trunkline.sim.scenario import ScenarioFile, load_scenario, load_text
from trunkline.sim.wire.model.server import ModelServer

# A try: a world on the wire, a scripted model, and the processes of a gateway that is not ours.
#
# Theory of operation
# ===================
#
# The gateway is a program that we do not know, started as its users start it. It believes that it talks to Telegram, to
# Slack, to a model; it talks to this process. We see what crosses its sockets and when its processes end, and nothing
# else. From that alone a verdict must follow that its maintainers can check. The parts below exist for one reason each.
#
# *Who holds whom.* A try needs three processes. The command line or the app (`trunkline.app.attach`) decides what is
# tried, and keeps results. For each try it starts a worker (`worker`), which holds the world: one event loop, with the
# servers of all platforms and the model. The worker starts a guard (`process.guard`), which holds the gateway: the
# first process of a namespace, or else the adopter of all orphans. Ends go downwards only. When the command line dies,
# the worker breaks the try off; when the worker dies, even by SIGKILL, a pipe closes and the guard kills the whole
# tree. So no gateway outlives its try, and a port or a lock of one try is never in the way of the next.
#
# *What it can reach.* The worker enters a network of its own (`process.closed_network`) before it starts anything,
# while it still has one thread. There is loopback and nothing else; each attempt to leave is answered at once and
# recorded as `gateway.reached_out`. A gateway that is set up wrongly therefore posts nothing on a real platform, and
# its finding says whom it wanted to reach. Where a system allows no such network, the notes of the try say so.
#
# *What it is given.* A profile (`profile`) says how to run the gateway, a rendering (`rendering`) fills addresses and
# tokens into its files. The folder is empty, or a copy of a warm state: some gateways take minutes to set up, so that
# is done once per version, under a lock. Ids of messages continue from day to day (`seconds_since_ids_began`), because
# gateways remember ids of earlier runs, and rightly drop what they have seen.
#
# *One world.* The try has the same `World` as a run of our own gateway: rooms, people, faults, the script, and the fake
# platforms with their rules. Only two things differ. `wire_side` is set, so platforms record what arrives (requests,
# confirmations, responses) instead of what a gateway of ours reports. And nothing is in memory: `TryServers` puts each
# platform on a socket, `ModelSide` answers as the cast of the scenario would.
#
# *How a cause is known.* No id of the gateway is ever used, since another gateway has other ones, or none. Each
# question of a person ends in a mark, `QZone`. The model is given the prompt that the gateway makes of it, finds the
# mark there, and answers `AZone-g1`; asked again, `AZone-g2`. So a text on the wire names the question that it answers,
# and the turn that it comes from: the same generation twice is one answer sent twice, two generations are two turns.
# `marked` puts the marks into the script, `ModelSide` into answers, and `sim.index.marks` reads them for the judge. A
# prompt may be about no question (a summary, a title): a profile says how such prompts look.
#
# *When a fault strikes.* Not at a time. Two tries of a real gateway differ in every millisecond, so "kill it after two
# seconds" would be a different experiment each time. Faults and kills wait for an event of the wire that concerns a
# question (`KillPoint`: the Nth `wire.accepted` about `two`), and strike inside it: the server has recorded the event
# and has not answered yet, so what the gateway can know at that moment is the same in every try. The order of what
# follows is part of the design: record, strike, then hang up (`servers.hang_up`), so that no request of the dead
# process is taken for one of the next. `AttachedScript` plays the steps of the scenario, `KillStroke` the one further
# kill of `--explore`.
#
# *When it is over.* Nobody says when a gateway has finished, so rest is observed (`QuietWire`). A try ends when all of
# this is true: the script has been played, and nothing that it began is still due (`owe`, `end_wait`); each question
# has an answer or a known notice, or was lost by its platform (a push that a fault drops), or has waited for its
# patience since the last thing that may have delayed it (the question, a start, a fault with its duration); no request
# waits for a response; and there was no event for `settle` seconds. Where a question has waited in vain, its asker then
# writes once more (`AttachedScript.nudge`), and the wait begins again: some gateways report a loss at the next message
# only, which is not the same as never. After a restart the quiet must last longer, because what a gateway takes up
# again comes late. A gateway that goes on for ever with what no platform takes does not keep a try from its end, nor
# does one that ends by itself again and again; one that floods a platform is trouble.
#
# *What is no finding.* `GatewayTrouble` means that the try says nothing about promises from then on: the gateway did
# not start, was never connected, could not be started again, or flooded a platform. The trace then ends with `cut`, so
# what only the end can break is not judged. A gateway that ends by itself is no trouble but an event, and is judged. A
# fault that did not strike, a point that did not come: the try is played to its end, and does not count. All else is
# left to the judge, which reads the trace and not this process: the same file gives the same verdict on any machine.
#
# *Order of a try* (`AttachTry.play`): servers listen; the gateway starts, and is ready when every platform has a
# connection; the script begins, and its times count from there; rest; `run.phase: rest`; a warm state gets SIGTERM and
# time to stop, any other gateway is killed; servers close; `run.ended`. Whatever raises in between, the `finally` of
# `play` kills before it closes, and the trace gets its end.
#
# If you change this: anything that may differ between two tries must be an event or must not matter. Try it on the toy
# gateway (`toy`), which has each of the defects that the invariants of the wire side find, one at a time.

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
        self._stroke = None if kill_at is None else KillStroke(world, self._gateway, servers, kill_at)

    @property
    def header(self) -> TraceHeader:
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
            if not graceful and self._script.nudge(self._rest.waiting):
                await self._until_rest()
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
        for error in world.plugin_errors:
            raise error
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
    marks, names = unique_marks(file.say_ids), iter(file.say_ids)
    script = tuple(
        step if step.say is None else step.model_copy(update={"say": question_text(step.say, marks[next(names)])})
        for step in file.scenario.script
    )
    return replace(file, scenario=file.scenario.model_copy(update={"script": script}))


#: what a gateway does wrong that wants to reach the real platform, and is not ready for that reason
_ADDRESSES = "it has to take the addresses of its platforms from its environment, such as TELEGRAM_API_ROOT"

#: seconds between two looks at the sockets of a gateway whose network is not closed off
_LOOK = 0.25


def main() -> None:
    """Play the job on standard input."""
    # What libraries print must not get between the outcome and its reader.
    out = os.dup(1)
    os.dup2(2, 1)
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=AttachJob)
    outcome = run_job(job)
    with os.fdopen(out, "wb") as stream:
        stream.write(msgspec.json.encode(outcome) + b"\n")


def run_job(job: AttachJob) -> AttachOutcome:
    """Play a job in this process, which is closed off from every network from now on. It must have one thread."""
    network, notes = None, list[str]()
    parent = os.getppid()
    try:
        network = closed_network.close_network()
    except OSError as error:
        notes.append(
            f"the network could not be closed off ({error}): a gateway that is set up wrongly can reach real platforms"
        )
    else:
        if not network.sees:
            notes.append(f"the network is closed off, but attempts to leave it are not seen: {network.why}")
    run = _JobRun(job, network, notes, parent)
    # Two loops: the time of a trace begins with its try.
    problem = run_real_time(partial(run.part, run.warm_up)) or run_real_time(partial(run.part, run.play))
    if ProcessTree.refused:
        notes.append(f"the processes of the gateway had no namespace of their own ({ProcessTree.refused})")
    return AttachOutcome(problem=problem, log=run.log, final=run.final, notes=tuple(dict.fromkeys(notes)))


class _JobRun:
    """A job in progress. `parent`: the process that waits for the job, which ends with that process."""

    def __init__(
        self, job: AttachJob, network: closed_network.ClosedNetwork | None, notes: list[str], parent: int
    ) -> None:
        self._job, self._network, self._notes, self._parent = job, network, notes, parent
        self._task: asyncio.Task[None] | None = None
        self._version = ""
        #: why the try is broken off
        self._why = ""
        #: the last lines of the gateway's log, if it is the problem
        self.log: tuple[str, ...] = ()
        #: another start would end so too
        self.final = False
        self._state: Path | None = None

    async def part(self, do: Callable[[RealTimeLoop], Coroutine[Any, Any, None]], loop: RealTimeLoop) -> str:
        """Do a part of the job, which can be broken off; returns what prevents its end."""
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._break_off, "it was interrupted")
        watching = asyncio.ensure_future(self._watch_parent(loop))
        task = self._task = asyncio.ensure_future(do(loop))
        try:
            await task
        except asyncio.CancelledError:
            pass
        except GatewayTrouble as error:
            self.log, self.final = error.log, error.final
            return error.what
        except UsageError as error:
            return error.facts if type(error) is UsageError else str(error)
        except OSError as error:
            return f"{error.filename or self._job.folder}: {error.strerror or error}"
        finally:
            watching.cancel()
        return self._why

    def _break_off(self, why: str) -> None:
        self._why = self._why or why
        if self._task is not None:
            self._task.cancel()

    async def _watch_parent(self, loop: RealTimeLoop) -> None:
        """Break the try off when the process that waits for it ends, also of one that can say nothing."""
        gone = partial(self._break_off, "the process that waited for it has ended")
        if hasattr(os, "pidfd_open"):
            try:
                held = os.pidfd_open(self._parent)
            except OSError:
                pass
            else:
                loop.add_reader(held, lambda: (loop.remove_reader(held), gone()))
        while os.getppid() == self._parent:  # noqa: ASYNC110 -- where the system notifies of nothing
            await anyio.sleep(1.0)
        gone()

    async def warm_up(self, loop: RealTimeLoop) -> None:
        """Find the warm state to begin with, if the job has one; make it first if needed. Raises `UsageError`."""
        job = self._job
        file = load_scenario(job.scenario, names=load_toolbox(job.plugins))
        profile = load_profile(job.profile)
        self._version = job.version or self._ask_version(profile.version)
        if not (job.states and profile.warm_up):
            return
        platforms = tuple(file.scenario.world.platforms)

        async def make(place: Path) -> None:
            first = load_text(first_conversation(platforms), "first-conversation.yaml")
            try:
                played = AttachTry(first, profile, loop, place, install=Path(job.install), version=self._version)
                await self._play_watched(played, loop, graceful=True)
            except GatewayTrouble as error:
                what = f"{error.what} (in its first conversation, whose state is to be kept for all tries)"
                raise GatewayTrouble(what, error.log, final=not error.timed_out) from error
            leave_out(place / "home", profile.conversation_files)

        self._state = await warm_state(
            Path(job.states), state_name(profile, self._version, platforms, job.install), make
        )

    async def play(self, loop: RealTimeLoop) -> None:
        """Play the scenario. Raises `UsageError`."""
        job, folder = self._job, Path(self._job.folder)
        file = load_scenario(job.scenario, names=load_toolbox(job.plugins))
        profile = load_profile(job.profile)
        _make(folder)
        trace = TraceFile(Path(job.trace), lambda: self._break_off(trace.problem))
        try:
            if self._state is not None:
                copy_state(self._state, folder / "home")
            played = AttachTry(
                file,
                profile,
                loop,
                folder,
                install=Path(job.install),
                version=self._version,
                watch=trace.write,
                kill_at=job.kill_at,
                patience=job.patience,
                settle=job.settle,
                options=job.options,
            )
            trace.begin(played.header)
            await self._play_watched(played, loop)
        finally:
            trace.end(f"since {self._why}" if self._why else "since the try broke off")
            self._why = self._why or trace.problem

    async def _play_watched(self, played: AttachTry, loop: RealTimeLoop, *, graceful: bool = False) -> None:
        """Play a try, and record whom else the gateway wants to reach."""
        closed = self._network is not None
        wanted: list[str] = []

        def reached_out(attempt: Attempt) -> None:
            wanted.append(attempt.name or f"{attempt.address}:{attempt.port}")
            body = GatewayReachedOut(
                protocol=attempt.protocol, address=attempt.address, port=attempt.port, name=attempt.name, stopped=closed
            )
            played.world.events.record(body)

        strangers = closed_network.Strangers(reached_out, *closed_network.names_of_this_machine())
        looking = None
        if self._network is None:
            looking = asyncio.ensure_future(_look_at_sockets(strangers))
        elif self._network.sees:
            for descriptor in self._network.filenos():
                loop.add_reader(descriptor, _take, self._network, strangers)
        try:
            await played.play(graceful=graceful)
        except GatewayTrouble as error:
            if not wanted:
                raise
            # The commonest mistake of all: the address of the real platform stands in the code of the bot.
            what = f"{error.what}; it wanted to reach {', '.join(dict.fromkeys(wanted))}: {_ADDRESSES}"
            raise GatewayTrouble(what, error.log, final=error.final, timed_out=error.timed_out) from error
        finally:
            if looking is not None:
                looking.cancel()
            elif self._network is not None and self._network.sees:
                for descriptor in self._network.filenos():
                    loop.remove_reader(descriptor)
            if played.log.problem:
                self._notes.append(played.log.problem)

    def _ask_version(self, command: tuple[str, ...]) -> str:
        """The output of the profile's command for its version. A failure is no reason not to play."""
        if not command:
            return ""
        values = {"install": self._job.install, "python": sys.executable, "attach": str(Path(__file__).parent)}
        said = ask([str(filled(word, values)) for word in command])
        version = first_version(said.said)
        if not version:
            self._notes.append(f"its version is not known: {said.problem or 'the command printed none'}")
        return version


def _take(network: closed_network.ClosedNetwork, strangers: closed_network.Strangers) -> None:
    for attempt in network.take_attempts():
        strangers.report_first(attempt)


async def _look_at_sockets(strangers: closed_network.Strangers) -> None:
    while True:
        for attempt in closed_network.strangers_of(descendants(os.getpid())):
            strangers.report_first(attempt)
        await anyio.sleep(_LOOK)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}: the gateway cannot have its folder there") from error


if __name__ == "__main__":
    main()
