"""What the command line and the screens need of the simulator: scenarios to choose from, and computed runs.

A scenario takes milliseconds, so a run is computed whole before anything is shown; the app then travels over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from trunkline.sim.run.expectations import Unmet
from trunkline.sim.run.result import Run

if TYPE_CHECKING:
    from trunkline.sim.scenario import ScenarioFile


class ScenarioEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the scenario picker."""

    path: Path
    id: str
    title: str
    tags: tuple[str, ...] = ()
    #: the public report that the scenario retells
    source: str = ""
    #: bug switches that the scenario declares: the defect it shows
    bugs: tuple[str, ...] = ()
    #: the invariants that the defect must be caught by
    breaks: tuple[str, ...] = ()
    #: what the run must put to the test, and hold
    exercised: tuple[str, ...] = ()
    #: what goes wrong in it, in words
    troubles: tuple[str, ...] = ()
    #: the scenario's own prose
    story: str = ""
    #: it could not be read: `story` says why
    unread: bool = False
    #: the scenario's own seed; none: the one that is open goes on
    seed: int | None = None


class RunSource(Protocol):
    """Where runs come from. The command line gives one over the simulator; tests give a list."""

    def scenarios(self) -> Sequence[ScenarioEntry]:
        """All scenarios, in the order in which they are shown."""
        ...

    def run(self, entry: ScenarioEntry, *, seed: int, bugs: tuple[str, ...]) -> Run:
        """Compute a run. Raises `trunkline.core.errors.UsageError` with a message to show."""
        ...


@runtime_checkable
class BranchSource(RunSource, Protocol):
    """A source whose scenarios can be changed before they are run."""

    def file(self, entry: ScenarioEntry) -> ScenarioFile:
        """The scenario as it is now. Raises `trunkline.core.errors.UsageError`."""
        ...

    def run_file(self, file: ScenarioFile, *, seed: int, bugs: tuple[str, ...]) -> Run:
        """Run a scenario that was changed. Raises `trunkline.core.errors.UsageError`."""
        ...


__all__ = ["BranchSource", "Run", "RunSource", "ScenarioEntry", "Unmet"]


def so_far(cut: str, *, growing: bool = False) -> str:
    """Behind words that say that something holds: of a run whose end is not known, that is no promise."""
    return " so far" if growing else " up to the cut" if cut else ""
