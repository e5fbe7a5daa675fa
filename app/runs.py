"""What the command line and the screens need of the simulator: scenarios to choose from, and computed runs.

A scenario takes milliseconds, so a run is computed whole before anything is shown; the app then travels over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from core.events import Trace
from sim.expect import Unmet
from sim.invariants.base import Status, Verdict, Violation


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One computed run: its trace, what every invariant says of it, and the expectations it did not meet."""

    trace: Trace
    verdicts: tuple[Verdict, ...]
    unmet: tuple[Unmet, ...] = ()

    @property
    def violations(self) -> tuple[Violation, ...]:
        """All breaches, in order of the event at which they were seen."""
        found = [violation for verdict in self.verdicts for violation in verdict.violations]
        return tuple(sorted(found, key=lambda violation: (violation.at, violation.invariant)))

    @property
    def exercised(self) -> int:
        """How many invariants had something to judge."""
        return sum(verdict.status is not Status.NOT_EXERCISED for verdict in self.verdicts)


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
    #: the scenario's own prose
    story: str = ""
    #: the scenario's own seed; none: the one that is open goes on
    seed: int | None = None


class RunSource(Protocol):
    """Where runs come from. The command line gives one over the simulator; tests give a list."""

    def scenarios(self) -> Sequence[ScenarioEntry]:
        """All scenarios, in the order in which they are shown."""
        ...

    def run(self, entry: ScenarioEntry, *, seed: int, bugs: tuple[str, ...]) -> Run:
        """Compute a run. Raises `core.errors.UsageError` with a message to show."""
        ...


__all__ = ["Run", "RunSource", "ScenarioEntry", "Unmet"]
