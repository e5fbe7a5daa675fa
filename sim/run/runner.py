"""Runs a scenario from its first step to rest, in virtual time, and judges it after every event.

Two phases (DESIGN section 6): while the script runs, its faults strike; then everything is healed, nothing new goes
wrong, and all must come to rest within a bound. Same scenario, seed and bugs give the same trace, byte for byte.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import anyio

from trunkline.core.events import Event, Trace, TraceHeader
from trunkline.core.events.base import RunEnded
from trunkline.core.events.gateway import InboundReceived
from trunkline.sim.events.script import RunPhase
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.invariants import CHECKERS, Judge
from trunkline.sim.loop import Order, SimLoop, SimulationError
from trunkline.sim.loop import run as run_loop
from trunkline.sim.run.crash_at import CrashAt, Crashes
from trunkline.sim.run.expectations import check_expectations
from trunkline.sim.run.gateway_process import GatewayProcess, Processes
from trunkline.sim.run.result import RunResult
from trunkline.sim.run.script_player import ScriptPlayer
from trunkline.sim.run.world import World
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.store.store_reuse import ReusableStore

#: virtual seconds that everything has to come to rest after the script
REST_BOUND = 4 * 3600.0
#: virtual seconds without anything open after which a run is at rest: what comes late, comes by then
LINGER = 10.0
#: events after the script, beyond ten times those of the script, after which a run is taken to go round in circles
MOST_EVENTS = 5_000
#: callbacks after which a run is taken for endless
MAX_STEPS = 50_000_000


class _Run:
    """One run in progress."""

    def __init__(
        self, file: ScenarioFile, loop: SimLoop, *, seed: int, bugs: tuple[str, ...], spare: ReusableStore | None
    ) -> None:
        self.world = World(file, loop, seed=seed, bugs=bugs, spare=spare)
        self.processes = Processes(self.world)
        self.process = self.processes.named("gateway")
        self.player = ScriptPlayer(self.world, self.processes)
        self.judge = Judge(CHECKERS)
        self.judge.watch(self.world.log)
        #: errors in callbacks of the world: such a run says nothing
        self.defects: list[BaseException] = []
        loop.set_exception_handler(self._world_failed)
        self._changed = anyio.Event()
        self.world.progress.on_look = self._look

    def _world_failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
            self.defects.append(error)

    def _look(self) -> None:
        if not self._changed.is_set() and self._at_rest:
            self._changed.set()

    @property
    def _at_rest(self) -> bool:
        # The cheap questions first: this is asked whenever anything ends.
        world = self.world
        if self.player.left or not world.progress.empty or not self.processes.serving:
            return False
        return not any(platform.waiting for platform in world.platforms.values())

    async def play(self) -> None:
        """From the first step to rest, or to the bound."""
        world = self.world
        world.build()
        self.process.boot()
        self.player.start()
        times = world.file.times
        await anyio.sleep(max(times, default=0.0))
        # Give the last step's own faults a moment to strike before everything is healed.
        await self._rest(LINGER)
        world.faults.heal()
        self.player.heal()
        world.events.record(RunPhase(phase="healed"))
        at_rest = await self._rest(REST_BOUND, most=MOST_EVENTS + 11 * len(world.log.events))
        world.events.record(RunPhase(phase="rest"))
        world.events.record(RunEnded(at_rest=at_rest, open=() if at_rest else world.progress.open))
        self.judge.finish()

    async def _rest(self, bound: float, most: int | None = None) -> bool:
        """Wait until nothing has been open for a while; false when the bound passes first, or with too many events."""
        with anyio.move_on_after(bound) as scope:
            if most is not None:
                self._stop_at(most, scope)
            while True:
                while not self._at_rest:
                    self._changed = anyio.Event()
                    if not self._at_rest:
                        await self._changed.wait()
                seen = len(self.world.log.events)
                await anyio.sleep(LINGER)
                if self._at_rest and len(self.world.log.events) == seen:
                    return True
        return self._at_rest

    def _stop_at(self, most: int, scope: anyio.CancelScope) -> None:
        """Have a run end that goes round in circles: an answer that is taken for a question has no end."""
        events = self.world.log.events

        def see(_: Event) -> None:
            if len(events) > most:
                scope.cancel()

        self.world.log.subscribe(see, InboundReceived, WireAccepted)


class Prepare(Protocol):
    """Sees a run before its first step: to end its process somewhere, or to look on."""

    def __call__(self, world: World, process: GatewayProcess) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRun:
    """A run that is over: its story, and who judged it meanwhile."""

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
    """Play a scenario from its first step to rest. Raises `SimulationError` for a run that says nothing.

    `spare` keeps the store for the next run, which makes that faster and changes nothing else.
    """
    kept: list[_Run] = []

    async def main(loop: SimLoop) -> PlayedRun:
        run = _Run(file, loop, seed=seed, bugs=bugs, spare=spare)
        kept.append(run)
        if prepare is not None:
            prepare(run.world, run.process)
        await run.play()
        if run.defects:
            raise SimulationError(f"the simulated world failed: {run.defects[0]!r}") from run.defects[0]
        # Taken here: what the finally blocks of the dead do after the end is not part of the run.
        return PlayedRun(
            events=tuple(run.world.log.events),
            judge=run.judge,
            steps=loop.steps,
            timer_events=loop.timer_events,
            virtual_seconds=loop.time(),
            commits=run.world.disk.commits,
        )

    try:
        return run_loop(main, seed=seed, order=order, max_steps=max_steps)
    finally:
        for run in kept:
            run.world.disk.discard()


def bugs_of(file: ScenarioFile, bugs: Iterable[str]) -> tuple[str, ...]:
    """The bug switches of a run: those that the file always has on, and others."""
    return tuple(dict.fromkeys((*file.scenario.with_bugs, *bugs)))


def header_of(
    file: ScenarioFile, *, seed: int | None = None, bugs: Iterable[str] = (), crash: Sequence[CrashAt] = ()
) -> TraceHeader:
    """What the trace of a run begins with, which is known before it is made. `seed` none: the scenario's own."""
    return TraceHeader(
        scenario=file.id,
        title=file.scenario.title,
        path=file.path.as_posix(),
        source=file.scenario.source,
        seed=file.scenario.seed if seed is None else seed,
        bugs=bugs_of(file, bugs),
        crashes=tuple(one.name for one in crash),
        steps=file.steps,
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
    """Run a scenario. `seed` none: the scenario's own. `watch` sees every event as it happens.

    `crash` ends the gateway at exact points, beyond what the script does.
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
    verdicts = played.judge.verdicts()
    return RunResult(
        trace=Trace(header=header_of(file, seed=seed, bugs=bugs, crash=crashes), events=played.events),
        verdicts=verdicts,
        unmet=check_expectations(file, played.events, verdicts),
        steps=played.steps,
        timer_events=played.timer_events,
        virtual_seconds=played.virtual_seconds,
        commits=played.commits,
    )
