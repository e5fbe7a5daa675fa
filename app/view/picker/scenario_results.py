"""Results of scenario runs as the picker shows them: without the defect, and with it."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from trunkline.app.runs.model import Run, ScenarioEntry
from trunkline.app.text.cells import clean, count
from trunkline.app.text.fact import Tone


class ScenarioResult(msgspec.Struct, frozen=True, kw_only=True):
    seed: int
    events: int = 0
    #: ids of the violated invariants
    broken: tuple[str, ...] = ()
    #: number of missed expectations
    unmet: int = 0
    #: all of them say that a part of the scenario was not reached
    idle: bool = False
    #: why it could not run; empty if it ran
    failed: str = ""


class RunSummary(msgspec.Struct, frozen=True):
    cell: str
    words: str
    tone: Tone


#: up to this many results are shown in the rows, without columns
FEW = 3
NOT_RUN = RunSummary("·", "not run yet", Tone.DIM)
NO_DEFECT = RunSummary("", "this scenario shows no defect", Tone.DIM)


def result_of(run: Run) -> ScenarioResult:
    return ScenarioResult(
        seed=run.trace.header.seed,
        events=len(run.trace.events),
        broken=run.violated,
        unmet=len(run.unmet),
        idle=run.not_exercised == len(run.unmet),
    )


class ScenarioResults:
    def __init__(self) -> None:
        self._found: dict[tuple[Path, bool], ScenarioResult] = {}

    @property
    def many(self) -> bool:
        """Whether enough scenarios ran to show columns."""
        return len({path for path, _ in self._found}) > FEW

    def latest(self, entry: ScenarioEntry) -> RunSummary | None:
        """The result of a scenario, preferably with its defect; none if it has not run."""
        return next(
            (known for known in (self.defect(entry), self.sound(entry)) if known not in (NOT_RUN, NO_DEFECT)), None
        )

    def note(self, entry: ScenarioEntry, result: ScenarioResult, *, defect: bool) -> None:
        self._found[entry.path, defect] = result

    def sound(self, entry: ScenarioEntry) -> RunSummary:
        result = self._found.get((entry.path, False))
        if result is None or result.failed:
            return _failed(result)
        if result.broken:
            ids = " ".join(result.broken)
            return RunSummary(f"✗ {ids}", f"✗ violated: {ids}, {_size(result)}", Tone.BAD)
        if result.unmet and result.idle:
            return RunSummary("✗ idle", f"✗ not exercised, {_size(result)}", Tone.BAD)
        if result.unmet:
            missed = f"{count(result.unmet, 'expectation')} missed"
            return RunSummary(f"✗ {result.unmet} unmet", f"✗ {missed}, {_size(result)}", Tone.BAD)
        return RunSummary("✓", f"✓ holds, {_size(result)}", Tone.GOOD)

    def defect(self, entry: ScenarioEntry) -> RunSummary:
        """The result with the defect, which must be caught."""
        if not entry.bugs:
            return NO_DEFECT
        result = self._found.get((entry.path, True))
        if result is None or result.failed:
            return _failed(result)
        missed = [name for name in entry.breaks if name not in result.broken]
        ids = " ".join(result.broken)
        if not result.broken:
            return RunSummary("✓ unseen", f"✓ holds, so nothing catches the defect, {_size(result)}", Tone.WARN)
        if missed:
            return RunSummary(
                f"✗ {ids}", f"✗ {ids}, but not {' '.join(missed)} as expected, {_size(result)}", Tone.WARN
            )
        return RunSummary(f"✗ {ids}", f"✗ {ids}, as it should with the defect, {_size(result)}", Tone.PLAIN)

    def summary(self, entries: Sequence[ScenarioEntry]) -> str:
        """A line for all results; empty before two scenarios ran."""
        known = [entry for entry in entries if (entry.path, False) in self._found]
        holding = sum(self.sound(entry).tone is Tone.GOOD for entry in known)
        with_defect = [entry for entry in entries if entry.bugs and (entry.path, True) in self._found]
        caught = sum(self.defect(entry).tone is Tone.PLAIN for entry in with_defect)
        if len(known) < 2:
            return ""
        parts = [f"{holding} of {len(known)} hold"]
        parts += [f"{caught} of {count(len(with_defect), 'defect')} caught"] if with_defect else []
        return ", ".join(parts)


def _failed(result: ScenarioResult | None) -> RunSummary:
    if result is None:
        return NOT_RUN
    return RunSummary("! failed", f"! could not run: {clean(result.failed)}", Tone.BAD)


def _size(result: ScenarioResult) -> str:
    return f"{count(result.events, 'event')}, seed {result.seed}"
