"""Runs a scenario from its first step to rest, in virtual time, and judges it after every event.

Two phases (DESIGN section 6): while the script runs, its faults strike; then everything is healed, nothing new goes
wrong, and all must come to rest within a bound. Same scenario, seed and bugs give the same trace, byte for byte.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import anyio

from core.events import Event, Trace, TraceHeader
from core.events.bodies import RunEnded, RunPhase
from sim.crash import CrashAt, arm
from sim.expect import check_expectations
from sim.invariants import CHECKERS, Judge
from sim.loop import Order, SimLoop, SimulationError
from sim.loop import run as run_loop
from sim.process import GatewayProcess
from sim.result import RunResult
from sim.scenario import ScenarioFile
from sim.script import ScriptPlayer
from sim.world import World

#: virtual seconds that everything has to come to rest after the script
REST_BOUND = 4 * 3600.0
#: virtual seconds without anything open after which a run is at rest: what comes late, comes by then
LINGER = 10.0
#: callbacks after which a run is taken for endless
_MAX_STEPS = 50_000_000


class _Run:
    """One run in progress."""

    def __init__(self, file: ScenarioFile, loop: SimLoop, *, seed: int, bugs: tuple[str, ...]) -> None:
        self.world = World(file, loop, seed=seed, bugs=bugs)
        self.process = GatewayProcess(self.world)
        self.player = ScriptPlayer(self.world, self.process)
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
        world = self.world
        waiting = any(platform.waiting for platform in world.platforms.values())
        return self.player.left == 0 and world.progress.empty and not waiting and self.process.alive

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
        at_rest = await self._rest(REST_BOUND)
        world.events.record(RunPhase(phase="rest"))
        world.events.record(RunEnded(at_rest=at_rest, open=() if at_rest else world.progress.open))
        self.judge.finish()

    async def _rest(self, bound: float) -> bool:
        """Wait until nothing has been open for a while; false when the bound passes first."""
        with anyio.move_on_after(bound):
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


def run_scenario(
    file: ScenarioFile,
    *,
    seed: int | None = None,
    bugs: Iterable[str] = (),
    order: Order = "keyed",
    crash: CrashAt | None = None,
    watch: Callable[[Event], None] | None = None,
) -> RunResult:
    """Run a scenario. `seed` none: the scenario's own. `watch` sees every event as it happens.

    `crash` kills the gateway once at an exact point, beyond what the script does.
    """
    own_seed = file.scenario.seed if seed is None else seed
    bug_names = tuple(dict.fromkeys((*file.scenario.with_bugs, *bugs)))
    kept: list[_Run] = []

    async def main(loop: SimLoop) -> tuple[tuple[Event, ...], int, int, float]:
        run = _Run(file, loop, seed=own_seed, bugs=bug_names)
        kept.append(run)
        if crash is not None:
            arm(run.world, run.process, crash)
        if watch is not None:
            run.world.log.subscribe(watch)
        await run.play()
        if run.defects:
            raise SimulationError(f"the simulated world failed: {run.defects[0]!r}") from run.defects[0]
        # Taken here: what the finally blocks of the dead do after the end is not part of the run.
        return tuple(run.world.log.events), loop.steps, loop.timer_events, loop.time()

    try:
        events, steps, timers, seconds = run_loop(main, seed=own_seed, order=order, max_steps=_MAX_STEPS)
        run = kept[0]
    finally:
        for run in kept:
            run.world.disk.discard()
    verdicts = run.judge.verdicts()
    header = TraceHeader(
        scenario=file.id,
        title=file.scenario.title,
        path=file.path.as_posix(),
        source=file.scenario.source,
        seed=own_seed,
        bugs=bug_names,
    )
    return RunResult(
        trace=Trace(header=header, events=events),
        verdicts=verdicts,
        unmet=check_expectations(file, events, verdicts),
        steps=steps,
        timer_events=timers,
        virtual_seconds=seconds,
        commits=run.world.disk.commits,
    )
