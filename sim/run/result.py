"""A judged run: its trace, the verdict of every invariant, and unmet expectations."""

from typing import TypeVar

import msgspec

from trunkline.core.events import Trace
from trunkline.sim.invariants import Status, Verdict, Violation
from trunkline.sim.run.culprits import Culprit, find_culprits
from trunkline.sim.run.expectations import UnmetExpectation


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A judged run, computed or read from a file."""

    trace: Trace
    verdicts: tuple[Verdict, ...]
    unmet: tuple[UnmetExpectation, ...] = ()
    #: where it went wrong, of a run with a defect and of nothing else: only that has a sound twin
    culprits: tuple[Culprit, ...] = ()

    @property
    def violations(self) -> tuple[Violation, ...]:
        """All violations, in order of the events at which they were found."""
        found = [violation for verdict in self.verdicts for violation in verdict.violations]
        return tuple(sorted(found, key=lambda violation: (violation.at, violation.invariant)))

    @property
    def violated(self) -> tuple[str, ...]:
        """Ids of the violated invariants, in catalog order."""
        return tuple(verdict.id for verdict in self.verdicts if verdict.status is Status.VIOLATED)

    @property
    def exercised(self) -> int:
        """The number of invariants that the run exercised."""
        return sum(verdict.status is not Status.NOT_EXERCISED for verdict in self.verdicts)

    @property
    def not_exercised(self) -> int:
        """The number of parts of the scenario that the run did not reach."""
        return sum(unmet.not_exercised for unmet in self.unmet)

    @property
    def holds(self) -> bool:
        """Whether every invariant and every expectation holds, and the run reached all of its scenario."""
        return not self.unmet and not self.violated


class RunResult(Run, frozen=True, kw_only=True):
    """A run of the simulator, with its size."""

    #: callbacks that the loop ran
    steps: int
    #: timers that fired
    timer_events: int
    virtual_seconds: float
    commits: int


R = TypeVar("R", bound=Run)


def with_culprits(run: R, sound: Run) -> R:
    """The run with what went wrong first. `sound`: the same scenario under the same seed without the defect."""
    culprits = find_culprits(run.trace.events, sound.trace.events, run.violations)
    return msgspec.structs.replace(run, culprits=culprits)
