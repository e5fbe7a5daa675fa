"""``trunkline run --wire``: the platforms as servers on loopback, the gateway on its real adapters, in real time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from trunkline.app.cli.io.extras import require_fakes
from trunkline.app.runs.model import Run, RunJob
from trunkline.app.text.cells import clean, count
from trunkline.core.errors import UsageError
from trunkline.core.events import Event
from trunkline.sim import run_scenario


class WireRuns:
    """Runs jobs on the wire, and compares each with its run in virtual time.

    Raises `UsageError` if the extra is not installed, or for a speed that is out of range.
    """

    def __init__(self, speed: float | None) -> None:
        require_fakes("--wire")
        from trunkline.sim.wire.play.run import FASTEST

        self._speed = speed
        if speed is not None and not 0 < speed <= FASTEST:
            raise UsageError(f"--speed {speed:g}: expected a number above 0, at most {FASTEST:g}")
        #: id of a scenario -> why it is not on the wire
        self.left_out: dict[str, tuple[str, ...]] = {}
        #: runs that came to other verdicts than in virtual time
        self.different = 0

    def fitting(self, jobs: Iterable[RunJob]) -> list[RunJob]:
        """The jobs that can be put on the wire. Raises `UsageError` with the reasons if none can."""
        from trunkline.sim.wire.play.fit import unfit

        found: list[RunJob] = []
        for job in jobs:
            reasons = unfit(job.file, job.bugs)
            if reasons:
                self.left_out[job.file.id] = tuple(one.reason for one in reasons)
            else:
                found.append(job)
        if not found and self.left_out:
            raise UsageError("\n".join(self.left_out_lines()))
        return found

    def left_out_lines(self) -> Iterator[str]:
        """A line for each scenario that is not on the wire."""
        for scenario, reasons in self.left_out.items():
            yield clean(f"{scenario}: not on the wire: {'; '.join(reasons)}")

    def run(self, job: RunJob, watch: Callable[[Event], None] | None) -> tuple[Run, list[str]]:
        """A run on the wire, and in what it differs from that in virtual time, a line for each."""
        from trunkline.sim.wire.play.compare import differences
        from trunkline.sim.wire.play.run import run_on_wire

        run = run_on_wire(job.file, seed=job.seed, bugs=job.bugs, speed=self._speed, watch=watch)
        found = differences(run, run_scenario(job.file, seed=job.seed, bugs=job.bugs))
        self.different += bool(found)
        return run, [clean(f"  ≠ {one}") for one in found]

    def end_lines(self) -> Iterator[str]:
        """What was left out, and how many runs differ."""
        yield from self.left_out_lines()
        if self.different:
            yield f"{count(self.different, 'run')} with other verdicts than in virtual time"
