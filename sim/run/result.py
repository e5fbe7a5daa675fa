"""A judged run: its trace, what every invariant says of it, and the expectations that it missed."""

from __future__ import annotations

import msgspec

from trunkline.core.events import Trace
from trunkline.sim.invariants import Status, Verdict, Violation
from trunkline.sim.run.expectations import UnmetExpectation


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was computed or read from a file, and judged."""

    trace: Trace
    verdicts: tuple[Verdict, ...]
    unmet: tuple[UnmetExpectation, ...] = ()

    @property
    def violations(self) -> tuple[Violation, ...]:
        """All breaches, in order of the event at which they were seen."""
        found = [violation for verdict in self.verdicts for violation in verdict.violations]
        return tuple(sorted(found, key=lambda violation: (violation.at, violation.invariant)))

    @property
    def exercised(self) -> int:
        """How many invariants had something to judge."""
        return sum(verdict.status is not Status.NOT_EXERCISED for verdict in self.verdicts)

    @property
    def holds(self) -> bool:
        """Whether every invariant and every expectation holds."""
        return not self.unmet and all(verdict.status is not Status.VIOLATED for verdict in self.verdicts)


class RunResult(Run, frozen=True, kw_only=True):
    """A run of the simulator, with its size."""

    #: callbacks of the loop
    steps: int
    #: timers fired
    timer_events: int
    virtual_seconds: float
    commits: int
