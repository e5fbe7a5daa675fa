"""Runs a scenario from its first step to rest, in virtual time, and judges it after every event.

A run has two phases (docs/simulation.md): while the script runs, its faults strike; then all faults are healed, and
everything must come to rest within a bound. Same scenario, seed and bugs give the same trace, byte for byte.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import anyio
import msgspec

from trunkline.core.declared import filled
from trunkline.core.errors import ConfigError
from trunkline.core.events import Event, Trace, TraceHeader, base, heartbeat
from trunkline.core.events.gateway import InboundReceived
from trunkline.sim.cast.workers import Workers
from trunkline.sim.events import script, wire
from trunkline.sim.invariants import Judge, Status
from trunkline.sim.loop import Order, SimLoop, SimulationError
from trunkline.sim.loop import run as run_loop
from trunkline.sim.platforms.process_adapters import ProcessAdapters
from trunkline.sim.plugins.toolbox import toolbox_of
from trunkline.sim.run.crash_at import CrashAt, Crashes
from trunkline.sim.run.expectations import UnmetExpectation, check_expectations
from trunkline.sim.run.gateway_process import GatewayProcess, Processes, stored_outside
from trunkline.sim.run.result import RunResult
from trunkline.sim.run.script.script_player import ScriptPlayer
from trunkline.sim.run.world import World
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.attach_only import attach_only
from trunkline.sim.scenario.names import PluginError
from trunkline.sim.store.outside import OutsideStore
from trunkline.sim.store.store_reuse import ReusableStore

#: virtual seconds within which everything must come to rest after the script, and after the times that it waits for
REST_BOUND = 4 * 3600.0
#: virtual seconds without open work after which a run is at rest; late messages arrive within it
LINGER = 10.0
#: events after the script, beyond ten times those of the script, after which a run counts as circular
MOST_EVENTS = 5_000
#: events that do not count, since they make no circle: of one more chunk of a message, and of a turn that the clock
#: begins while something waits, for a day if need be
_PER_CHUNK, _PER_DUE = 4, 30
#: how a run is cut in which a schedule goes on for as long as its place is closed, and its messages wait there
STILL_FED = "while messages wait as long as they may"
#: callbacks after which a run counts as endless
MAX_STEPS = 50_000_000


class ScenarioRun:
    """A run in progress.

    `adapters`: how the gateway reaches the platforms; by default in memory. `bound`: see `REST_BOUND`. `patience`: for
    how long after the script a run waits at most for what the gateway has announced.
    """

    def __init__(
        self,
        file: ScenarioFile,
        loop: SimLoop,
        *,
        seed: int,
        bugs: tuple[str, ...],
        spare: ReusableStore | None = None,
        adapters: Callable[[World], ProcessAdapters] = lambda _: ProcessAdapters(),
        bound: float = REST_BOUND,
        patience: float = math.inf,
    ) -> None:
        only = attach_only(file)
        if only:
            raise ConfigError(f"{file.id} is played by `trunkline attach` only: {'; '.join(only)}")
        self._loop = loop
        self._bound, self._patience = bound, patience
        self.world = World(file, loop, seed=seed, bugs=bugs, spare=spare)
        self._adapters = adapters(self.world)
        self.processes = Processes(self.world, self._adapters)
        self.process = self.processes.process("gateway")
        outside = OutsideStore(self.world.disk, stored_outside(self.world))
        self.workers = Workers(self.world, outside, file.scenario.cast.workers)
        self.player = ScriptPlayer(self.world, self.processes, outside)
        self.judge = Judge(self.world.tools.checkers)
        self.judge.watch(self.world.log)
        #: errors in callbacks of the world, which make the run meaningless
        self.defects: list[BaseException] = []
        loop.set_exception_handler(self._world_failed)
        self._changed = anyio.Event()
        self.world.progress.on_look = self._look
        #: why the run is ended although it goes on; events after which it is; and what waits for its rest
        self._cut = ""
        self._most = 0
        self._scope = anyio.CancelScope()

    def _world_failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
            self.defects.append(error)

    def _look(self) -> None:
        if not self._changed.is_set() and self._at_rest:
            self._changed.set()

    @property
    def _at_rest(self) -> bool:
        # Cheap checks first: this runs whenever anything ends.
        world = self.world
        if (
            world.now() < world.held_until
            or self.player.left
            or self.workers.busy
            or not world.progress.empty
            or not self.processes.serving
        ):
            return False
        return not any(platform.busy for platform in world.platforms.values())

    async def play(self) -> "PlayedRun":
        """Play from the first step to rest, or to the bound.

        Raises `SimulationError` if the world itself fails, `PluginError` if what a plug-in adds to it does.
        """
        self.world.build()
        async with self._adapters.open(self.world.platforms):
            try:
                await self._play()
            finally:
                for error in (*self.world.plugin_errors, *self.defects):
                    if isinstance(error, PluginError):
                        raise error
            if self.defects:
                raise SimulationError(f"the simulated world failed: {self.defects[0]!r}") from self.defects[0]
            # Collected here: what finally blocks of dead processes do after the end is not part of the run.
            return PlayedRun(
                events=tuple(self.world.log.events),
                judge=self.judge,
                steps=self._loop.steps,
                timer_events=self._loop.timer_events,
                virtual_seconds=self._loop.time(),
                commits=self.world.disk.commits,
            )

    async def _play(self) -> None:
        world = self.world
        self.process.boot()
        await self._adapters.wait_until_connected()
        self.player.start()
        await anyio.sleep(self.player.end)
        # Give the last step's own faults a moment to strike before everything is healed.
        while not await self._rest(LINGER) and self._is_armed:
            pass
        world.faults.heal()
        self.player.triggers.disarm()
        for platform in world.platforms.values():
            platform.heal()
        world.events.record(script.RunPhase(phase="healed"))
        at_rest = await self._come_to_rest()
        world.events.record(script.RunPhase(phase="rest", stored=world.disk.rows))
        world.reached.record(world.events)
        open_ = () if at_rest else world.progress.open
        waiting, cut = world.progress.waiting, "" if at_rest else self._cut
        world.events.record(base.RunEnded(at_rest=at_rest, open=open_, waiting=waiting, cut=cut))
        self.judge.finish()

    @property
    def _is_armed(self) -> bool:
        """Whether something of a strict script has not struck yet, and may within the bound: its run stays open."""
        if not self.world.file.strict or self.world.now() >= self.player.end + min(self._bound, self._patience):
            return False
        return self.world.faults.ahead or self.player.triggers.ahead

    async def _come_to_rest(self) -> bool:
        """Wait until the run is at rest. What waits for an announced time has until then, and the bound after it."""
        world = self.world
        bound = self._bound
        self._most = MOST_EVENTS + 11 * len(world.log.events)
        world.log.subscribe(self._count, InboundReceived, wire.WireAccepted, heartbeat.CronDue, heartbeat.HeartbeatDue)
        while not await self._rest(bound) and not self._cut:
            waits_until = min(world.progress.announced, self.player.end + self._patience)
            bound = waits_until - world.now() + self._bound
            if bound <= self._bound:
                if world.progress.announced >= world.now() - LINGER:
                    self._cut = f"after {world.now() - self.player.end:,.0f} s, {STILL_FED}"
                return False
        return not self._cut

    async def _rest(self, bound: float) -> bool:
        """Wait until nothing has been open for a while. False if the bound passes first, or after too many events."""
        with anyio.move_on_after(bound) as self._scope:
            while True:
                while not self._at_rest:
                    self._changed = anyio.Event()
                    if not self._at_rest:
                        await self._changed.wait()
                        self.world.note_change()
                seen = len(self.world.log.events)
                self.world.note_change()
                await anyio.sleep(LINGER)
                self.world.note_change()
                if self._at_rest and len(self.world.log.events) == seen:
                    return True
        return self._at_rest

    def _count(self, event: Event) -> None:
        """End a circular run, e.g. one in which the gateway answers its own answers."""
        events = self.world.log.events
        if isinstance(event.body, wire.WireAccepted) and event.body.chunk:
            self._most += _PER_CHUNK
        elif isinstance(event.body, heartbeat.CronDue | heartbeat.HeartbeatDue):
            self._most += _PER_DUE
        if len(events) > self._most and not self._cut:
            self._cut = f"after {len(events):,} events"
            self._scope.cancel()


#: called before the first step of a run: to place crashes, or to observe
Prepare = Callable[[World, GatewayProcess], None]


class PlayedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A finished run: its events, and the judge that watched it."""

    events: tuple[Event, ...]
    judge: Judge
    steps: int
    timer_events: int
    virtual_seconds: float
    commits: int


def play(
    file: ScenarioFile,
    *,
    seed: int,
    bugs: tuple[str, ...],
    order: Order = "keyed",
    prepare: Prepare | None = None,
    spare: ReusableStore | None = None,
    max_steps: int = MAX_STEPS,
) -> PlayedRun:
    """Play a scenario from its first step to rest. Raises `SimulationError` if the simulated world itself fails.

    `spare` hands the store on to the next run, which only makes that faster.
    """
    kept: list[ScenarioRun] = []

    async def main(loop: SimLoop) -> PlayedRun:
        run = ScenarioRun(file, loop, seed=seed, bugs=bugs, spare=spare)
        kept.append(run)
        if prepare is not None:
            prepare(run.world, run.process)
        return await run.play()

    try:
        return run_loop(main, seed=seed, order=order, max_steps=max_steps)
    finally:
        for run in kept:
            run.world.disk.discard()


def bugs_of(file: ScenarioFile, bugs: Iterable[str]) -> tuple[str, ...]:
    """The bug switches of a run: the file's `with_bugs`, and others."""
    return tuple(dict.fromkeys((*file.scenario.with_bugs, *bugs)))


def header_of(
    file: ScenarioFile, *, seed: int | None = None, bugs: Iterable[str] = (), crash: Sequence[CrashAt] = ()
) -> TraceHeader:
    """The header of a run's trace, known before the run. `seed` defaults to the scenario's."""
    return TraceHeader(
        scenario=file.id,
        title=file.scenario.title,
        path=file.path.as_posix(),
        source=file.scenario.source,
        seed=file.scenario.seed if seed is None else seed,
        bugs=bugs_of(file, bugs),
        crashes=tuple(point.name for point in crash),
        steps=file.steps,
        plugins=toolbox_of(file).named,
    )


def run_scenario(
    file: ScenarioFile,
    *,
    seed: int | None = None,
    bugs: Iterable[str] = (),
    order: Order = "keyed",
    crash: CrashAt | Sequence[CrashAt] = (),
    watch: Callable[[Event], None] | None = None,
) -> RunResult:
    """Run a scenario. `seed` defaults to the scenario's. `watch` receives every event as it happens.

    `crash` ends the gateway at exact points, in addition to the script.
    """
    own_seed = file.scenario.seed if seed is None else seed
    bug_names = bugs_of(file, bugs)
    crashes = (crash,) if isinstance(crash, CrashAt) else tuple(crash)

    def prepare(world: World, process: GatewayProcess) -> None:
        if crashes:
            Crashes(world, process, crashes)
        if watch is not None:
            world.log.subscribe(watch)

    played = play(file, seed=own_seed, bugs=bug_names, order=order, prepare=prepare)
    return result_of(file, header_of(file, seed=seed, bugs=bugs, crash=crashes), played)


def result_of(file: ScenarioFile, header: TraceHeader, played: PlayedRun) -> RunResult:
    """A finished run with its verdicts and unmet expectations."""
    verdicts = played.judge.verdicts()
    unmet = check_expectations(file, played.events, verdicts)
    if file.strict and all(verdict.status is Status.NOT_EXERCISED for verdict in verdicts):
        summary, line = "not exercised: nothing happened that an invariant is about", file.line_of(("script",))
        unmet += (UnmetExpectation(summary=summary, line=line, not_exercised=True),)
    return filled(RunResult, played, trace=Trace(header=header, events=played.events), verdicts=verdicts, unmet=unmet)
