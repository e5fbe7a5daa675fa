"""The interface between the app and the simulator: scenarios to choose from, and computed runs.

A scenario takes milliseconds, so a run is computed whole before it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from trunkline.core.events.trace import TraceHeader
from trunkline.sim.invariants import WIRE_SIDE_CHECKERS
from trunkline.sim.invariants.base import Verdict
from trunkline.sim.run.expectations import UnmetExpectation
from trunkline.sim.run.result import Run

if TYPE_CHECKING:
    from trunkline.sim.scenario import ScenarioFile


class ScenarioEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario in the picker."""

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
    """A scenario to run or to explore under one seed."""

    file: ScenarioFile
    seed: int
    bugs: tuple[str, ...]


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

    def file(self, entry: ScenarioEntry) -> ScenarioFile:
        """The scenario as it is now. Raises `trunkline.core.errors.UsageError`."""
        ...

    def run_file(self, file: ScenarioFile, *, seed: int, bugs: tuple[str, ...]) -> Run:
        """Run a changed scenario. Raises `trunkline.core.errors.UsageError`."""
        ...


__all__ = ["BranchSource", "Run", "RunSource", "ScenarioEntry", "UnmetExpectation", "judgeable", "so_far"]


#: the invariants that need nothing but the wire
_OF_WIRE = frozenset(checker.id for checker in WIRE_SIDE_CHECKERS)


def judgeable(header: TraceHeader, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts on what is known of a run: where that is only the wire, those that need nothing else."""
    return tuple(
        verdict for verdict in verdicts if header.side != "wire" or verdict.id in _OF_WIRE or verdict.violations
    )


def so_far(cut: str, *, growing: bool = False) -> str:
    """Suffix for "holds" while the end of a run is unknown: " so far" or " up to the cut"."""
    return " so far" if growing else " up to the cut" if cut else ""
