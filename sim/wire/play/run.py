"""Runs a scenario with its platforms on the wire, and judges it as in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from trunkline.core.errors import UsageError
from trunkline.core.events import Event
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.result import RunResult
from trunkline.sim.run.runner import MAX_STEPS, PlayedRun, ScenarioRun, bugs_of, header_of, result_of
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.wire.play.adapters import WireAdapters
from trunkline.sim.wire.play.fit import unfit

#: seconds of a run in one second of waiting: the usual, and the highest. A time-out of 30 s is 0.3 s, or 30 ms, without
#: a byte on any socket. Both ends of a connection are in this process, so only the kernel could be late
SPEED, FASTEST = 100.0, 1000.0
#: seconds of the machine that a long script should wait at most, if that is possible
_PATIENCE = 6.0
#: seconds within which everything must come to rest after the script; in virtual time it is four hours
REST_BOUND = 1200.0
#: seconds after the script for which it waits for what the gateway has announced, such as the deadline of a hand
PATIENCE = 1800.0


def speed_for(file: ScenarioFile) -> float:
    """How fast a scenario waits by default: `SPEED`, and faster where its script is long."""
    return min(max(SPEED, max(file.times, default=0.0) / _PATIENCE), FASTEST)


def run_on_wire(
    file: ScenarioFile,
    *,
    seed: int | None = None,
    bugs: Iterable[str] = (),
    speed: float | None = None,
    watch: Callable[[Event], None] | None = None,
) -> RunResult:
    """Run a scenario on the wire. `speed`: how many times faster than the clock it waits; by default `speed_for`.

    Raises `UsageError` for a scenario that does not fit (`trunkline.sim.wire.play.fit.unfit`).
    """
    speed = speed_for(file) if speed is None else speed
    if not 0 < speed <= FASTEST:
        raise UsageError(f"the speed must be above 0, and at most {FASTEST:g}, not {speed:g}")
    own_seed, names = file.scenario.seed if seed is None else seed, bugs_of(file, bugs)
    reasons = unfit(file, names)
    if reasons:
        raise UsageError(f"{file.id} is not on the wire: {'; '.join(reason.reason for reason in reasons)}")
    kept: list[ScenarioRun] = []

    async def main(loop: RealTimeLoop) -> PlayedRun:
        adapters = partial(WireAdapters, loop=loop)
        run = ScenarioRun(file, loop, seed=own_seed, bugs=names, adapters=adapters, bound=REST_BOUND, patience=PATIENCE)
        kept.append(run)
        if watch is not None:
            run.world.log.subscribe(watch)
        return await run.play()

    try:
        played = run_real_time(main, seed=own_seed, factor=speed, waits_only=True, max_steps=MAX_STEPS)
    finally:
        for run in kept:
            run.world.disk.discard()
    header = msgspec.structs.replace(header_of(file, seed=seed, bugs=bugs), on_wire=True)
    return result_of(file, header, played)
