"""Runs a scenario with crashes everywhere: each run is judged by every invariant.

    explorer = Explorer(load_scenario("scenarios/tour/told-twice.yaml"))
    tried = [one for trial in explorer.plan(Sampling()) for one in explorer.attempt(trial)]

This module is single-process; `trunkline.app.runs.exploration_pool` distributes trials over workers.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from trunkline.core.events import Event, base, leases
from trunkline.core.gateway import CANCELLED_FROM_OUTSIDE
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.explore.crash_plan import CrashPoints, CrashTrial, Recovery, Sampling, Survey, plan, second_crash
from trunkline.sim.run.crash_at import CrashAt, Crashes
from trunkline.sim.run.gateway_process import GatewayProcess
from trunkline.sim.run.runner import MAX_STEPS, PlayedRun, bugs_of, play
from trunkline.sim.run.world import World
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.names import PluginError
from trunkline.sim.store.server import AWAY
from trunkline.sim.store.store_reuse import ReusableStore

#: checks beside the invariants, and what each of them promises
PROMISES = {
    "REST": "The run comes to rest.",
    "DIED": "The gateway never dies by itself.",
    "PLACED": "Every planned crash happens.",
    "PLAYED": "The run can be played to its end.",
    "SAME": "Kills between which nothing durable changes lead to the same run.",
}
#: a run with more than this many times the steps of the run without a crash counts as endless
_ENDLESS = 100


class Breach(msgspec.Struct, frozen=True, kw_only=True):
    """A violated invariant, or a broken one of `PROMISES`, with the facts of this run."""

    id: str
    summary: str


class CrashRun(msgspec.Struct, frozen=True, kw_only=True):
    crashes: tuple[CrashAt, ...]
    #: kills that lead to the same run as the first crash, which was not played for them
    same: tuple[CrashAt, ...] = ()
    #: number of crashes that happened
    fired: int
    #: number of stops during which something else ended the process
    overtaken: int = 0
    breaches: tuple[Breach, ...] = ()
    #: what people see less often, or more often, than without the crash: each message in a line
    differences: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.breaches


class _Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A run with its events, the reasons of its planned crashes, and the crash points of its recovery."""

    run: CrashRun
    recovery: CrashPoints | None = None
    events: tuple[Event, ...] = ()
    whys: tuple[str, ...] = ()


def _digest(tried: _Tried) -> bytes:
    """A hash of a run's trace, without the points of its crashes."""
    hashed = hashlib.sha256()
    for event in tried.events:
        if isinstance(event.body, ProcessCrashed) and event.body.why in tried.whys:
            event = msgspec.structs.replace(event, body=ProcessCrashed(why="planned"))
        hashed.update(repr(event).encode())
    return hashed.digest()


def _seen_of(events: Sequence[Event]) -> Counter[str]:
    """The messages and changes that people see, with their places."""
    seen: Counter[str] = Counter()
    for event in events:
        body = event.body
        if isinstance(body, WireAccepted) or (isinstance(body, WireActed) and not body.repeated):
            change = f"{body.action.value} " if isinstance(body, WireActed) else ""
            seen[f"{change}“{' '.join(body.text.split())}” at {body.address}"] += 1
    return seen


class Explorer:
    """Runs one scenario under one seed, without a crash and with any crashes."""

    def __init__(self, file: ScenarioFile, *, seed: int | None = None, bugs: Iterable[str] = ()) -> None:
        self.file = file
        self.seed = file.scenario.seed if seed is None else seed
        self.bugs = bugs_of(file, bugs)
        self._spare = ReusableStore()
        surveys: list[Survey] = []

        def prepare(world: World, process: GatewayProcess) -> None:
            alone = all(step.second is None for step in file.scenario.script)
            surveys.append(Survey(world, process, alone=alone))

        played = play(file, seed=self.seed, bugs=self.bugs, prepare=prepare, spare=self._spare)
        self.points: CrashPoints = surveys[0].points(played.steps)
        self._seen = _seen_of(played.events)
        self._max_steps = min(MAX_STEPS, _ENDLESS * (played.steps + 1000))
        #: how often the gateway dies by itself in the run without a crash
        self._deaths = 0
        #: the run without a crash
        self.sound = CrashRun(crashes=(), fired=0, breaches=tuple(self._judged(played)))
        self._deaths = len(self._own_deaths(played.events))

    def plan(self, sampling: Sampling) -> tuple[CrashTrial, ...]:
        return plan(self.points, sampling, self.seed)

    def attempt(self, trial: CrashTrial) -> Iterator[CrashRun]:
        """Run one crash, and then the same crash with second ones during its recovery."""
        first = self._try((trial.first,), survey=trial.second > 0)
        yield msgspec.structs.replace(first.run, same=trial.same)
        yield from (self._checked(other, first) for other in trial.checked)
        recovery = first.recovery
        if recovery is None:
            return
        drawn = (second_crash(trial.first, number, recovery, self.seed) for number in range(trial.second))
        for then in dict.fromkeys(drawn):
            if then is not None:
                yield self.run((trial.first, then))

    def run(self, crashes: Sequence[CrashAt]) -> CrashRun:
        return self._try(tuple(crashes), survey=False).run

    def _checked(self, other: CrashAt, first: _Tried) -> CrashRun:
        """Run a kill that should lead to the same run as another."""
        found = self._try((other,), survey=False)
        if _digest(found) == _digest(first):
            return found.run
        at = first.run.crashes[0].point
        breach = Breach(id="SAME", summary=f"the kill at {other.point} gives another trace than that at {at}")
        return msgspec.structs.replace(found.run, breaches=(*found.run.breaches, breach))

    def _try(self, crashes: tuple[CrashAt, ...], *, survey: bool) -> _Tried:
        placed: list[Crashes] = []
        looking: list[Recovery] = []

        def prepare(world: World, process: GatewayProcess) -> None:
            placed.append(Crashes(world, process, crashes))
            if survey:
                looking.append(Recovery(world, process, placed[0]))

        try:
            played = play(
                self.file, seed=self.seed, bugs=self.bugs, prepare=prepare, spare=self._spare, max_steps=self._max_steps
            )
        except PluginError:
            raise
        except Exception as error:  # noqa: BLE001 -- any error of a run is a finding
            breach = Breach(id="PLAYED", summary=f"{type(error).__name__}: {error}")
            fired = len(placed[0].whys) if placed else 0
            return _Tried(run=CrashRun(crashes=crashes, fired=fired, breaches=(breach,)))
        done, seen = placed[0], _seen_of(played.events)
        breaches = (
            *self._judged(played, done.whys),
            *(
                Breach(id="PLACED", summary=f"the {crash.kind} at {crash.point} did not happen")
                for crash in crashes[done.over : done.over + 1]
            ),
        )
        differences = (*map("not seen: {}".format, self._seen - seen), *map("seen: {}".format, seen - self._seen))
        run = CrashRun(
            crashes=crashes, fired=len(done.whys), overtaken=done.overtaken, breaches=breaches, differences=differences
        )
        recovery = looking[0].points(played.steps) if looking else None
        return _Tried(run=run, recovery=recovery, events=played.events, whys=tuple(done.whys))

    def _judged(self, played: PlayedRun, whys: Sequence[str] = ()) -> Iterator[Breach]:
        """The breaches visible in a run's own events."""
        for violation in played.judge.violations():
            yield Breach(id=violation.invariant, summary=violation.summary)
        ended = played.events[-1].body
        if not (isinstance(ended, base.RunEnded) and ended.at_rest):
            left = ", ".join(ended.open) if isinstance(ended, base.RunEnded) else ""
            yield Breach(id="REST", summary=f"it never came to rest; open: {left or 'nothing'}")
        deaths = self._own_deaths(played.events, whys)
        if len(deaths) > self._deaths:
            yield Breach(id="DIED", summary=deaths[-1])

    def _own_deaths(self, events: Sequence[Event], whys: Sequence[str] = ()) -> list[str]:
        """Why processes died by themselves: kills of the script have a cause, and `whys` are the planned crashes."""
        # A process whose lease was taken over ends, as it should.
        gone = {event.generation for event in events if isinstance(event.body, leases.LeaseGone)}
        return [
            event.body.why
            for event in events
            if isinstance(event.body, ProcessCrashed)
            and event.cause is None
            and event.body.why not in whys
            and event.generation not in gone
            and not self._is_scripted(event.body)
        ]

    def _is_scripted(self, crashed: ProcessCrashed) -> bool:
        """Whether the cast of the scenario ends the process from inside, or it started while its server was away."""
        inside = self.file.scenario.cast.takes_gateway_down and crashed.why.endswith(CANCELLED_FROM_OUTSIDE)
        return inside or crashed.why.endswith(AWAY)
