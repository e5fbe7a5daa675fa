"""What exploring a scenario has shown so far: counts of runs and crashes, and the first run of all that is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from trunkline.core.events.trace import TraceHeader
from trunkline.sim import ScenarioFile
from trunkline.sim.explore import Cause, Explorer, Tried
from trunkline.sim.run.crash_at import CrashAt


@dataclass(slots=True)
class Finding:
    """One kind of thing that was found, and the first run that shows it."""

    #: runs, or of differences intents, that show it
    times: int
    summary: str
    first: Tried


@dataclass(slots=True, kw_only=True)
class Exploration:
    """One scenario under one seed."""

    file: ScenarioFile
    seed: int
    bugs: tuple[str, ...]
    #: points at which there is a process to be ended
    commits: int
    steps: int
    #: runs that are planned, with the one without a crash; those with a second one can turn out to be fewer
    planned: int
    #: parts of the plan that are still to come
    left: int = 0
    runs: int = 0
    #: runs in which something is wrong
    violated: int = 0
    #: crashes that happened, by ``kill commit``, ``stop step``, ...
    fired: Counter[str] = field(default_factory=Counter[str])
    #: those of them that came inside the recovery from another one
    inside: int = 0
    #: stops that something else came before
    overtaken: int = 0
    #: what is wrong, by invariant or promise
    breaches: dict[str, Finding] = field(default_factory=dict[str, Finding])
    #: what people see otherwise, by the cause that explains it
    differences: dict[Cause, Finding] = field(default_factory=dict[Cause, Finding])

    @classmethod
    def of(cls, explorer: Explorer, planned: int) -> Exploration:
        """Nothing but the run without a crash."""
        found = cls(
            file=explorer.file,
            seed=explorer.seed,
            bugs=explorer.bugs,
            commits=len(explorer.points.commits),
            steps=len(explorer.points.steps),
            planned=planned,
        )
        found.add((explorer.sound,))
        return found

    @property
    def holds(self) -> bool:
        """Whether nothing was wrong with any run."""
        return not self.violated

    def add(self, tried: Iterable[Tried]) -> None:
        """Take runs in."""
        for one in tried:
            self._add(one)

    def _add(self, one: Tried) -> None:
        self.runs += 1
        self.violated += not one.holds
        self.fired.update(f"{crash.kind} {crash.what}" for crash in one.crashes[: one.fired])
        self.inside += max(0, one.fired - 1)
        self.overtaken += one.overtaken
        for name in dict.fromkeys(breach.id for breach in one.breaches):
            summary = next(breach.summary for breach in one.breaches if breach.id == name)
            self.breaches.setdefault(name, Finding(0, summary, one)).times += 1
        for difference in one.differences:
            if difference.cause is not None:
                summary = f"{difference.intent}: {difference.detail}"
                self.differences.setdefault(difference.cause, Finding(0, summary, one)).times += 1

    def header(self, crashes: tuple[CrashAt, ...]) -> TraceHeader:
        """What was run, for the command that runs it again."""
        return TraceHeader(
            scenario=self.file.id,
            title=self.file.scenario.title,
            path=self.file.path.as_posix(),
            seed=self.seed,
            bugs=self.bugs,
            crashes=tuple(crash.name for crash in crashes),
        )
