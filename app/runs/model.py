"""The interface between the app and the simulator: scenarios to choose from, and computed runs.

A scenario takes milliseconds, so a run is computed whole before it is shown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from trunkline.core.events.trace import TraceHeader
from trunkline.sim.invariants.base import Verdict
from trunkline.sim.run.expectations import UnmetExpectation
from trunkline.sim.run.result import Run

if TYPE_CHECKING:
    from trunkline.sim.scenario import ScenarioFile


class ScenarioEntry(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    id: str
    title: str
    tags: tuple[str, ...] = ()
    #: the public report that the scenario reproduces
    source: str = ""
    #: bug switches that the scenario declares: the defect that it shows
    bugs: tuple[str, ...] = ()
    #: the invariants that must catch the defect
    breaks: tuple[str, ...] = ()
    #: the invariants that the run must exercise
    exercised: tuple[str, ...] = ()
    #: the faults of its script, in words
    troubles: tuple[str, ...] = ()
    #: the description in the scenario file
    story: str = ""
    #: the file could not be read; `story` holds the error
    unread: bool = False
    #: the scenario's own seed; none: keep the current seed
    seed: int | None = None


class RunJob(msgspec.Struct, frozen=True, kw_only=True):
    file: "ScenarioFile"
    seed: int
    bugs: tuple[str, ...]


class DeclaredDefect(msgspec.Struct, frozen=True, kw_only=True):
    """A run with a defect of the scenario: what is shown of what the scenario declares."""

    #: the invariants that it breaks
    shows: tuple[str, ...]
    #: in what that differs from the declaration; empty: it shows exactly that
    differs: str = ""


def declared_defects(breaks: Sequence[str], runs: Sequence[Run]) -> list[DeclaredDefect]:
    """The declared defects of a scenario as shown, a run for each.

    Each breaks some of `breaks` and nothing else, and together they break all of it. Where `breaks` is empty each
    breaks anything, or misses an expectation.
    """
    found: list[DeclaredDefect] = []
    broken = {name for run in runs for name in run.violated}
    for run in runs:
        other = [name for name in run.violated if breaks and name not in breaks]
        # What none of them breaks is said once.
        lacking = [name for name in breaks if name not in broken] if run is runs[-1] else []
        differs = [f"{' '.join(other)} broken, and not declared"] if other else []
        differs += [f"{' '.join(lacking)} declared, and not broken"] if lacking else []
        nothing = not run.violated and len(run.unmet) == run.not_exercised
        if not differs and (not set(run.violated) & set(breaks) if breaks else nothing):
            differs = ["nothing that is declared is broken" if breaks else "nothing is broken"]
        found.append(DeclaredDefect(shows=tuple(run.violated), differs="; ".join(differs)))
    return found


class RunSource(Protocol):
    """Where runs come from: the simulator, or a list in tests."""

    def scenarios(self) -> Sequence[ScenarioEntry]:
        """All scenarios, in display order."""
        ...

    def run(self, entry: ScenarioEntry, *, seed: int, bugs: tuple[str, ...]) -> Run:
        """Compute a run. Raises `trunkline.core.errors.UsageError` with a message to show."""
        ...


@runtime_checkable
class BranchSource(RunSource, Protocol):
    """A source whose scenarios can be changed before they run."""

    def file(self, entry: ScenarioEntry) -> "ScenarioFile":
        """The scenario as it is now. Raises `trunkline.core.errors.UsageError`."""
        ...

    def run_file(self, file: "ScenarioFile", *, seed: int, bugs: tuple[str, ...]) -> Run:
        """Run a changed scenario. Raises `trunkline.core.errors.UsageError`."""
        ...


__all__ = ["BranchSource", "Run", "RunSource", "ScenarioEntry", "UnmetExpectation", "judgeable", "so_far"]


def judgeable(header: TraceHeader, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts on what is known of a run: where that is only the wire, those that need nothing else."""
    return tuple(verdict for verdict in verdicts if header.side != "wire" or verdict.wire_side or verdict.violations)


def so_far(cut: str, *, growing: bool = False) -> str:
    """Suffix for "holds" while the end of a run is unknown: " so far" or " up to the cut"."""
    return " so far" if growing else " up to the cut" if cut else ""
