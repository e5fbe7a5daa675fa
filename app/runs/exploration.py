"""The results of exploring a scenario: counts of runs and crashes, and the first run that shows each finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from trunkline.core.events.trace import TraceHeader
from trunkline.sim import ScenarioFile
from trunkline.sim.explore import CrashRun, DifferenceCause, Explorer
from trunkline.sim.run.crash_at import CrashAt


@dataclass(slots=True)
class Finding:
    """A violation or a difference, and the first run that shows it."""

    #: number of runs that show it; of a difference, number of intents
    times: int
    summary: str
    first: CrashRun


@dataclass(slots=True, kw_only=True)
class Exploration:
    """The results for one scenario under one seed."""

    file: ScenarioFile
    seed: int
    bugs: tuple[str, ...]
    #: points at which a process can be ended
    commits: int
    steps: int
    #: planned runs, including the one without a crash; fewer may have a second crash than planned
    planned: int
    #: chunks of the plan that are still to come
    left: int = 0
    #: runs so far, including those that stand for themselves because another one is the same
    runs: int = 0
    #: of these, kills that were not played because another kill leads to the same run
    same: int = 0
    #: runs with a violation
    violated: int = 0
    #: crashes that happened, by kind: ``kill commit``, ``stop step``, ...
    fired: Counter[str] = field(default_factory=Counter[str])
    #: crashes during the recovery from another one
    inside: int = 0
    #: stops that another end of the process preceded
    overtaken: int = 0
    #: violations, by invariant or promise
    breaches: dict[str, Finding] = field(default_factory=dict[str, Finding])
    #: visible differences, by the cause that explains them
    differences: dict[DifferenceCause, Finding] = field(default_factory=dict[DifferenceCause, Finding])

    @classmethod
    def of(cls, explorer: Explorer, planned: int) -> Exploration:
        """The results with only the run without a crash."""
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
        """Whether no run has a violation."""
        return not self.violated

    def add(self, tried: Iterable[CrashRun]) -> None:
        for attempt in tried:
            self._add(attempt)

    def _add(self, run: CrashRun) -> None:
        times = 1 + len(run.same)
        self.runs += times
        self.same += len(run.same)
        self.violated += 0 if run.holds else times
        fired = (*run.crashes[: run.fired], *(run.same if run.fired else ()))
        self.fired.update(f"{crash.kind} {crash.what}" for crash in fired)
        self.inside += max(0, run.fired - 1)
        self.overtaken += run.overtaken
        for name in dict.fromkeys(breach.id for breach in run.breaches):
            summary = next(breach.summary for breach in run.breaches if breach.id == name)
            self.breaches.setdefault(name, Finding(0, summary, run)).times += times
        for difference in run.differences:
            if difference.cause is not None:
                summary = f"{difference.intent}: {difference.detail}"
                self.differences.setdefault(difference.cause, Finding(0, summary, run)).times += times

    def header(self, crashes: tuple[CrashAt, ...]) -> TraceHeader:
        """The header of a run, for the command that repeats it."""
        return TraceHeader(
            scenario=self.file.id,
            title=self.file.scenario.title,
            path=self.file.path.as_posix(),
            seed=self.seed,
            bugs=self.bugs,
            crashes=tuple(crash.name for crash in crashes),
        )
