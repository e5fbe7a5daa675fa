"""What runs of scenarios came to, as the picker tells it: without the defect, and with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from trunkline.app.runs.model import Run, ScenarioEntry
from trunkline.app.view.text.cells import clean, count
from trunkline.app.view.text.fact import Tone
from trunkline.sim.invariants import Status


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What one run came to."""

    seed: int
    events: int = 0
    #: ids of the invariants that it breaks
    broken: tuple[str, ...] = ()
    #: expectations of the scenario that it misses
    unmet: int = 0
    #: why there is no run; blank: there is one
    failed: str = ""


class RunSummary(msgspec.Struct, frozen=True):
    """A result as a cell of a list, and as a sentence."""

    cell: str
    words: str
    tone: Tone


#: results of so few scenarios stand in their lines, without columns
FEW = 3
NOT_RUN = RunSummary("·", "not run yet", Tone.DIM)
NO_DEFECT = RunSummary("", "this scenario shows no defect", Tone.DIM)


def result_of(run: Run) -> Result:
    """The result of a run."""
    return Result(
        seed=run.trace.header.seed,
        events=len(run.trace.events),
        broken=tuple(verdict.id for verdict in run.verdicts if verdict.status is Status.VIOLATED),
        unmet=len(run.unmet),
    )


class Results:
    """The last result of each scenario, with its defect and without."""

    def __init__(self) -> None:
        self._found: dict[tuple[Path, bool], Result] = {}

    @property
    def many(self) -> bool:
        """So many were run that they are worth columns of their own."""
        return len({path for path, _ in self._found}) > FEW

    def latest(self, entry: ScenarioEntry) -> RunSummary | None:
        """What is known of a scenario, with its defect sooner than without."""
        return next(
            (told for told in (self.defect(entry), self.sound(entry)) if told not in (NOT_RUN, NO_DEFECT)), None
        )

    def note(self, entry: ScenarioEntry, result: Result, *, defect: bool) -> None:
        """Keep a result; an older one is forgotten."""
        self._found[entry.path, defect] = result

    def sound(self, entry: ScenarioEntry) -> RunSummary:
        """What the scenario came to without its defect."""
        result = self._found.get((entry.path, False))
        if result is None or result.failed:
            return _failed(result)
        if result.broken:
            ids = " ".join(result.broken)
            return RunSummary(f"✗ {ids}", f"✗ violated: {ids}, {_size(result)}", Tone.BAD)
        if result.unmet:
            missed = f"{count(result.unmet, 'expectation')} missed"
            return RunSummary(f"✗ {result.unmet} unmet", f"✗ {missed}, {_size(result)}", Tone.BAD)
        return RunSummary("✓", f"✓ holds, {_size(result)}", Tone.GOOD)

    def defect(self, entry: ScenarioEntry) -> RunSummary:
        """What it came to with its defect, which must be caught."""
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
        """All of them in a line; blank while only a few were run."""
        known = [entry for entry in entries if (entry.path, False) in self._found]
        holding = sum(self.sound(entry).tone is Tone.GOOD for entry in known)
        with_defect = [entry for entry in entries if entry.bugs and (entry.path, True) in self._found]
        caught = sum(self.defect(entry).tone is Tone.PLAIN for entry in with_defect)
        if len(known) < 2:
            return ""
        parts = [f"{holding} of {len(known)} hold"]
        parts += [f"{caught} of {count(len(with_defect), 'defect')} caught"] if with_defect else []
        return ", ".join(parts)


def _failed(result: Result | None) -> RunSummary:
    if result is None:
        return NOT_RUN
    return RunSummary("! failed", f"! could not run: {clean(result.failed)}", Tone.BAD)


def _size(result: Result) -> str:
    return f"{count(result.events, 'event')}, seed {result.seed}"
