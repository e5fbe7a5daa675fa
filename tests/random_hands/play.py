"""Plays a scenario on the clean core and says what is wrong with the run."""

import hashlib
import json
import traceback
from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.core.events import Event, Trace, encode_trace
from trunkline.core.events.base import RunEnded
from trunkline.sim import CrashAt, ScenarioFile
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.run.crash_at import Crashes
from trunkline.sim.run.gateway_process import GatewayProcess
from trunkline.sim.run.runner import header_of, play
from trunkline.sim.run.world import World
from trunkline.sim.scenario import load_text

#: ends of a process that are no fault
_MEANT = ("LeaseLost", "crash at ")
#: steps of the loop after which a run counts as endless
MAX_STEPS = 5_000_000


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What a run showed. `faults`: violated invariant, or ``ERROR``, ``DIED`` or ``REST``, and its summary."""

    seed: int
    faults: tuple[tuple[str, str], ...]
    #: hash of the trace; empty if the run raised
    digest: str = ""
    events: int = 0
    #: the run itself, for further questions
    trace: tuple[Event, ...] = ()

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(kind for kind, _ in self.faults)


def try_tree(seed: int, tree: dict[str, Any]) -> Trial:
    """Play a scenario given as plain values."""
    trial = try_file(seed, load_text(json.dumps(tree, ensure_ascii=False), f"random-{seed}.yaml"))
    return msgspec.structs.replace(trial, trace=())


def try_file(seed: int, file: ScenarioFile, crashes: Sequence[CrashAt] = (), bugs: Sequence[str] = ()) -> Trial:
    """Play a scenario; any error of the run is a finding. `crashes` end its process, beyond its script."""

    def prepare(world: World, process: GatewayProcess) -> None:
        if crashes:
            Crashes(world, process, crashes)

    try:
        played = play(file, seed=file.scenario.seed, bugs=tuple(bugs), max_steps=MAX_STEPS, prepare=prepare)
    except Exception as error:  # noqa: BLE001 -- any error of a run is a finding
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        return Trial(seed=seed, faults=(("ERROR", f"{type(error).__name__}: {error} ({where})"),))
    faults = [(violation.invariant, violation.summary) for violation in played.judge.violations()]
    for event in played.events:
        body = event.body
        if isinstance(body, ProcessCrashed) and event.cause is None and not body.why.startswith(_MEANT):
            faults.append(("DIED", f"{body.why} {' < '.join(reversed(body.frames[-3:]))}"))
    ended = played.events[-1].body
    if not (isinstance(ended, RunEnded) and ended.at_rest):
        faults.append(("REST", f"open: {', '.join(ended.open) if isinstance(ended, RunEnded) else 'no end'}"))
    trace = encode_trace(Trace(header=header_of(file), events=played.events))
    digest = hashlib.sha256(trace if isinstance(trace, bytes) else trace.encode()).hexdigest()
    return Trial(seed=seed, faults=tuple(faults), digest=digest, events=len(played.events), trace=played.events)
