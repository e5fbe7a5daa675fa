"""``trunkline run`` and ``trunkline bugs``. They need no terminal and import nothing of Textual."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec import structs

from trunkline.app import gc_policy
from trunkline.app.cli.io.extras import require_fakes
from trunkline.app.cli.options import Flag, Many, Selection
from trunkline.app.cli.run.trace_pipe import STDOUT, TracePipe
from trunkline.app.report.summary import report_lines, summary
from trunkline.app.runs.model import Run, RunJob
from trunkline.app.runs.scenario_source import load
from trunkline.app.terminal.output import print_lines
from trunkline.app.text.cells import clean, count
from trunkline.core.errors import UsageError
from trunkline.core.events import Event, write_trace
from trunkline.sim import BUGS, ScenarioError, ScenarioFile, find_bugs, find_scenarios, run_scenario, scenario_home
from trunkline.sim.run.runner import header_of
from trunkline.sim.scenario.attach_only import attach_only
from trunkline.sim.scenario.edit import with_step_text

#: ``--bug own``: each bug switch that the scenario itself declares
OWN = "own"
#: with at least this many runs, a progress bar is shown
_LONG = 20


@dataclass(frozen=True, kw_only=True)
class RunOptions(Selection):
    """The options of ``trunkline run``."""

    bug: Many = ()
    """Switch on a defect (`trunkline bugs` lists them), by name or by the id of a report such as B001. `own` runs each
    scenario once with each defect that it declares. May be given several times."""
    inject: Many = ()
    """Add a step to the script of a single scenario, written as in the file, e.g. `{at: 1.5s, crash: {}}`. The
    expectations of the scenario stay unchanged. May be given several times."""
    trace: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None
    """Write the trace of a single run as JSON lines. `-` writes it to standard output during the run, and the report to
    standard error: `trunkline run FILE --trace - | trunkline watch -`."""
    junit: Path | None = None
    """Write a JUnit XML report."""
    json: Path | None = None
    """Write a JSON report."""
    wire: Flag = False
    """Put the platforms on sockets of this machine, and the gateway on its real adapters; compare the verdicts with
    those in virtual time. Scenarios that do not fit are listed with the reason."""
    speed: float | None = None
    """With --wire: how many times faster than the clock waiting passes; by default 100, and up to 1000 for long
    scripts."""


_DEFAULTS = RunOptions()


def run_scenarios(*paths: Path, options: Annotated[RunOptions, Parameter(name="*")] = _DEFAULTS) -> int:
    """Run scenarios without the app.

    Exit code: 0 all hold, 1 violated, or on the wire other verdicts than in virtual time, 2 wrong usage or file.

    Parameters
    ----------
    paths:
        Scenario files or folders; by default the scenarios that come with Trunkline.
    """
    if options.seeds < 1:
        raise UsageError("--seeds must be at least 1")
    check_folders(options.trace, options.junit, options.json)
    wire = _wire(options)
    files, others = load_all(paths, options.keyword)
    jobs = list(_jobs(options, _with_steps(files, options.inject)))
    if wire is not None:
        jobs = wire.fitting(jobs)
    if not jobs:
        raise UsageError(f"--bug {OWN}: none of these scenarios declares a bug; --bug NAME switches one on by its name")
    if options.trace is not None and len(jobs) != 1:
        raise UsageError(f"--trace is for a single run, and this makes {len(jobs)}: name one scenario, seed and bug")
    runs: list[Run] = []
    spent: list[float] = []
    gc_policy.freeze()
    pipe: TracePipe | None = None
    if options.trace == STDOUT:
        header = header_of(jobs[0].file, seed=jobs[0].seed, bugs=jobs[0].bugs)
        pipe = TracePipe(structs.replace(header, on_wire=options.wire))
    # None is what sys.stdout is when a line is printed: a progress bar replaces it meanwhile.
    output = None if pipe is None else sys.stderr
    with _progress(len(jobs)) as advance:
        for job in jobs:
            before = time.process_time()
            watch, differs = None if pipe is None else pipe.write, list[str]()
            if wire is None:
                run = run_scenario(job.file, seed=job.seed, bugs=job.bugs, watch=watch)
            else:
                run, differs = wire.run(job, watch)
            spent.append(time.process_time() - before)
            runs.append(run)
            advance()
            if pipe is not None:
                pipe.end()
            print_lines(*report_lines(run), *differs, file=output)
    end = (*attach_lines(others), *(wire.end_lines() if wire is not None else ()))
    print_lines(*summary(runs).split("\n"), *end, file=output)
    _write_reports(options, runs, spent, {} if wire is None else wire.left_out)
    return 0 if all(run.holds for run in runs) and (wire is None or not wire.different) else 1


class WireRuns:
    """Runs jobs with the platforms as servers on loopback and the gateway on its real adapters, in real time.

    Each run is compared with that of the same job in virtual time.
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
        """The scenarios left out, and how many runs differ."""
        yield from self.left_out_lines()
        if self.different:
            yield f"{count(self.different, 'run')} with other verdicts than in virtual time"


def _wire(options: RunOptions) -> WireRuns | None:
    if options.speed is not None and not options.wire:
        raise UsageError("--speed goes with --wire: in virtual time nothing waits")
    return WireRuns(options.speed) if options.wire else None


def check_folders(*reports: Path | None) -> None:
    """Raise `UsageError` for a report whose folder does not exist."""
    for report in reports:
        if report is not None and not report.absolute().parent.is_dir():
            raise UsageError(f"{report}: there is no folder {report.parent}")


def _with_steps(files: list[ScenarioFile], steps: Sequence[str]) -> list[ScenarioFile]:
    if not steps:
        return files
    if len(files) != 1:
        raise UsageError(f"--inject is for a single scenario, and these are {len(files)}: name one")
    return [reduce(with_step_text, steps, files[0])]


def load_all(paths: Sequence[Path], keyword: str | None) -> tuple[list[ScenarioFile], list[ScenarioFile]]:
    """Load the scenarios that match: those to run, and those that only `trunkline attach` plays.

    Raises one `UsageError` that names every unreadable file, or says why there is none to run.
    """
    chosen = load_matching(paths, keyword)
    others = [file for file in chosen if attach_only(file)]
    if len(others) == len(chosen):
        reasons = [f"{file.path}: {'; '.join(attach_only(file))}; see `trunkline attach`" for file in chosen]
        raise UsageError("\n".join(reasons))
    return [file for file in chosen if not attach_only(file)], others


def attach_lines(others: Sequence[ScenarioFile]) -> Iterator[str]:
    """The scenarios left out for `trunkline attach`, with a line for each reason, the most frequent first."""
    reasons = Counter(reason for file in others for reason in attach_only(file))
    if others:
        yield f"{count(len(others), 'scenario')} left out, which only `trunkline attach` plays:"
    for reason, number in reasons.most_common():
        yield f"  {reason} ({number})"


def load_matching(paths: Sequence[Path], keyword: str | None) -> list[ScenarioFile]:
    """Load the scenarios that match. Raises one `UsageError` that names every unreadable file."""
    files: list[ScenarioFile] = []
    problems: list[str] = []
    for path in find_scenarios(paths or (scenario_home(),)):
        try:
            files.append(load(path))
        except ScenarioError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    chosen = [file for file in files if _matches(file, keyword)]
    if not chosen:
        raise UsageError(f"no scenario of {len(files)} matches -k {keyword!r}")
    return chosen


def _matches(file: ScenarioFile, keyword: str | None) -> bool:
    text = " ".join([file.id, file.scenario.title, *file.scenario.tags]).lower()
    return all(word in text for word in (keyword or "").lower().split())


def _jobs(options: RunOptions, files: Sequence[ScenarioFile]) -> Iterator[RunJob]:
    named = tuple(bug for name in options.bug if name != OWN for bug in find_bugs(name))
    for file in files:
        first = file.scenario.seed if options.seed is None else options.seed
        for seed in range(first, first + options.seeds):
            if OWN in options.bug:
                for own in file.scenario.bugs:
                    yield RunJob(file=file, seed=seed, bugs=(*named, own))
            else:
                yield RunJob(file=file, seed=seed, bugs=named)


def _write_reports(
    options: RunOptions, runs: Sequence[Run], spent: Sequence[float], left_out: Mapping[str, Sequence[str]]
) -> None:
    if options.trace is not None and options.trace != STDOUT:
        write_trace(options.trace, runs[0].trace)
    if options.junit is not None or options.json is not None:
        from trunkline.app.report.json_junit import as_json, as_junit, write_whole

        if options.junit is not None:
            write_whole(options.junit, as_junit(runs, spent, left_out))
        if options.json is not None:
            write_whole(options.json, as_json(runs, left_out))


@contextmanager
def _progress(total: int) -> Generator[Callable[[], None], None, None]:
    """Show a progress bar on standard error for many runs at a terminal; otherwise nothing."""
    if total < _LONG or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    # Printed lines go above the bar when both are on the screen, else straight to standard output.
    on_screen = sys.stdout.isatty()
    with Progress(console=Console(stderr=True), transient=True, redirect_stdout=on_screen) as progress:
        task = progress.add_task("running", total=total)
        yield lambda: progress.advance(task)


def print_bugs() -> int:
    """List the bug switches: named defects that the simulated gateway can be given."""
    width = max(len(name) for name in BUGS)
    for bug in BUGS.values():
        reports = f"  ({', '.join(bug.reports)})" if bug.reports else ""
        print_lines(f"{bug.name:<{width}}  caught by {', '.join(bug.caught_by)}{reports}")
        print_lines(f"{'':<{width}}  {bug.sentence}")
    return 0
