"""``trunkline run``. It needs no terminal and imports nothing of Textual."""

import errno
import gc
import os
import select
import stat
import sys
import termios
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial, reduce
from itertools import groupby, repeat
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
from cyclopts import Parameter

from trunkline.app.cli.options import Flag, Many, Selection, check_at_least, check_folders, require_fakes
from trunkline.app.report.summary import report_lines, run_line, summary
from trunkline.app.runs.known_defects import KnownDefect, known_defects
from trunkline.app.runs.model import DeclaredDefect, Run, RunJob, declared_defects
from trunkline.app.runs.scenario_source import load, play
from trunkline.app.terminal.output import discard_output, print_lines, progress_bar
from trunkline.app.text.cells import aligned, clean, count
from trunkline.core.errors import UsageError
from trunkline.core.events import Event, RunEnded, TraceHeader, encode_event, write_trace
from trunkline.core.events.trace import encode_header
from trunkline.sim import ScenarioError, ScenarioFile, find_bugs, find_scenarios, run_scenario, scenario_home
from trunkline.sim.loop import SimulationError
from trunkline.sim.plugins import OURS, PluginError, Toolbox
from trunkline.sim.run.runner import header_of
from trunkline.sim.scenario.attach_only import attach_only
from trunkline.sim.scenario.edit import with_step_text

# ``trunkline run --trace -``: the trace goes to standard output during the run, and the report follows it.

#: means standard output
STDOUT = Path("-")
#: seconds between two polls of the reader
_POLL = 0.05


class TracePipe:
    """Writes the lines of one run to standard output as they come. A slow reader holds the run up."""

    def __init__(self, header: TraceHeader) -> None:
        if sys.stdout is None:
            raise UsageError("--trace - writes the trace to standard output, and that is closed: name a file")
        if sys.stdout.isatty():
            raise UsageError(
                "--trace - writes the trace to standard output, and that is a terminal: "
                "pipe it on (trunkline run FILE --trace - | trunkline watch -), or name a file"
            )
        self._out: BinaryIO = sys.stdout.buffer
        #: the error that stopped writing; raised by `end`, since during the run the simulated gateway would catch it
        self._error: OSError | None = None
        self._ended = False
        self._write_line(encode_header(header))

    def write(self, event: Event) -> None:
        """Write one event. Events after the end, of processes that died, are not part of the run."""
        if not self._ended:
            self._write_line(encode_event(event))
        self._ended = self._ended or isinstance(event.body, RunEnded)

    def _write_line(self, line: bytes) -> None:
        if self._error is None:
            try:
                self._out.write(line + b"\n")
                self._out.flush()
            except OSError as error:
                self._error = error

    def end(self) -> None:
        """Wait until the reader gives back the terminal that the report goes to. Raises `OSError` if writing failed."""
        if self._error is not None:
            if self._error.errno == errno.EPIPE:
                _wait_for_the_terminal()
            raise self._error
        _wait_for_the_reader()
        discard_output()
        _wait_for_the_terminal()


def _wait_for_the_reader() -> None:
    """Wait until the pipe is empty or closed: a reader that draws on the terminal has started drawing by that time."""
    if not _shares_terminal():
        return
    from array import array
    from fcntl import ioctl

    left, pipe = array("i", [1]), sys.stdout.fileno()
    poll = select.poll()
    poll.register(pipe, 0)
    while not poll.poll(0):
        ioctl(pipe, termios.FIONREAD, left)
        if not left[0]:
            return
        time.sleep(_POLL)


def _wait_for_the_terminal() -> None:
    """Wait while another program has the terminal in raw mode: a report in the middle of its picture spoils both."""
    while sys.stderr.isatty() and not termios.tcgetattr(sys.stderr.fileno())[3] & termios.ICANON:
        time.sleep(_POLL)


def _shares_terminal() -> bool:
    """Whether standard output is a pipe and the report goes to a terminal, which the reader may draw on too."""
    return sys.stderr.isatty() and stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)


#: ``--bug own``: each bug switch that the scenario itself declares
OWN = "own"
#: ``--bug all``: each bug switch that there is, in turn
ALL = "all"
#: with at least this many runs, a progress bar is shown
_LONG = 20
#: scenarios that are not strict are named up to this many
_WARNED = 5


@dataclass(frozen=True, kw_only=True)
class RunOptions(Selection):
    """The options of ``trunkline run``."""

    bug: Many = ()
    """Switch on a defect (`trunkline bugs` lists them), by name or by the id of a report such as B001. `own` runs each
    scenario once with each defect that it declares, and checks that it shows what the scenario declares under `breaks`.
    `all` says which of all known defects break a scenario, with their public reports. May be given several times."""
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
    html: Path | None = None
    """Write a page of a single run that any browser opens: one file, with the timeline, what people saw, and what led
    to each violation. JUnit and JSON name the file."""
    wire: Flag = False
    """Put the platforms on sockets of this machine, and the gateway on its real adapters; compare the verdicts with
    those in virtual time. Scenarios that do not fit are listed with the reason."""
    speed: float | None = None
    """With --wire: how many times faster than the clock waiting passes; by default 100, and up to 1000 for long
    scripts."""


_DEFAULTS = RunOptions()


def run_scenarios(*paths: Path, options: Annotated[RunOptions, Parameter(name="*")] = _DEFAULTS) -> int:
    """Run scenarios without the app.

    Exit code: 0 all hold, or with `--bug own` all show exactly what they declare, or with `--bug all` all hold without
    a known defect; 1 anything else, or on the wire other
    verdicts than in virtual time; 2 wrong usage or file.

    :param paths: Scenario files or folders; by default the scenarios that come with Trunkline.
    """
    check_at_least(1, seeds=options.seeds)
    check_folders(options.trace, options.junit, options.json, options.html)
    wire = _wire(options)
    files, others = load_all(paths, options.keyword, options.toolbox)
    if ALL in options.bug:
        return _run_with_all(options, _with_steps(files, options.inject))
    jobs = list(_jobs(options, _with_steps(files, options.inject)))
    if wire is not None:
        jobs = wire.fitting(jobs)
    if not jobs:
        raise UsageError(f"--bug {OWN}: none of these scenarios declares a bug; --bug NAME switches one on by its name")
    for name, file in (("trace", options.trace), ("html", options.html)):
        if file is not None and len(jobs) != 1:
            raise UsageError(
                f"--{name} is for a single run, and this makes {len(jobs)}: name one scenario, seed and bug"
            )
    runs: list[Run] = []
    spent: list[float] = []
    declared: list[DeclaredDefect] = []
    # What is loaded by now lives as long as the process.
    gc.freeze()
    pipe: TracePipe | None = None
    if options.trace == STDOUT:
        header = header_of(jobs[0].file, seed=jobs[0].seed, bugs=jobs[0].bugs)
        pipe = TracePipe(msgspec.structs.replace(header, on_wire=options.wire))
    # None is what sys.stdout is when a line is printed: a progress bar replaces it meanwhile.
    output = None if pipe is None else sys.stderr
    with _progress(len(jobs)) as advance:
        for group in _groups(jobs, options):
            played: list[tuple[Run, list[str]]] = []
            for job in group:
                before = time.process_time()
                played.append(_run(job, wire, pipe))
                spent.append(time.process_time() - before)
                advance()
            runs += [run for run, _ in played]
            shown = declared_defects(group[0].file.scenario.breaks, runs[-len(group) :]) if OWN in options.bug else []
            declared += shown
            for (run, differs), defect in zip(played, shown or repeat(None), strict=False):
                # Of many that show what they declare, the line says enough.
                brief = defect is not None and not defect.differs and len(jobs) > 1
                print_lines(*([run_line(run, defect)] if brief else report_lines(run, defect)), *differs, file=output)
    end = (*attach_lines(others), *(wire.end_lines() if wire is not None else ()))
    print_lines(*summary(runs, declared).split("\n"), *end, file=output)
    _write_reports(options, runs, spent, {} if wire is None else wire.left_out, declared)
    bad = any(defect.differs for defect in declared) if declared else not all(run.holds for run in runs)
    return 1 if bad or (wire is not None and wire.different) else 0


def _run_with_all(options: RunOptions, files: Sequence[ScenarioFile]) -> int:
    other = {
        "--wire": options.wire,
        "--trace": options.trace,
        "--junit": options.junit,
        "--html": options.html,
        f"--bug {OWN}": OWN in options.bug,
    }
    given = [name for name, value in other.items() if value]
    if given:
        raise UsageError(f"--bug {ALL} goes with --json, --seed and --inject, not with {', '.join(given)}")
    jobs = list(_jobs(options, files))
    gc.freeze()
    with _progress(len(jobs) * len(options.toolbox.bugs)) as advance:
        return _compare_with_known(jobs, advance, options.json, options.toolbox)


class _Broken(msgspec.Struct, frozen=True, kw_only=True):
    defect: KnownDefect
    #: the invariants that are violated with it only
    breaks: tuple[str, ...]
    #: expectations that are missed with it only
    missed: int
    #: why the run could not be judged; empty: it could
    failed: str = ""

    def as_builtins(self) -> dict[str, Any]:
        """A row of the JSON report."""
        return {**self.defect.as_builtins(), "breaks": self.breaks, "missed": self.missed, "failed": self.failed}


def _compare_with_known(
    jobs: Sequence[RunJob], advance: Callable[[], object], json: Path | None, tools: Toolbox
) -> int:
    """Run scenarios with each known defect, and say which of them break each. Returns the exit code of the command."""
    defects, documents, holds = known_defects(tools.bugs), list[dict[str, Any]](), True
    for job in jobs:
        sound = run_scenario(job.file, seed=job.seed, bugs=job.bugs)
        holds = holds and sound.holds
        found = [broken for defect in defects if (broken := _compared(job, sound, defect, advance)) is not None]
        # Those that an invariant catches first: they look most like the report.
        found.sort(key=lambda broken: (not broken.breaks, bool(broken.failed)))
        if not sound.holds:
            print_lines("Without any of the known defects:", *report_lines(sound))
        print_lines(*_table_of(job, found, len(defects)))
        documents.append(
            {
                "scenario": job.file.id,
                "seed": job.seed,
                "bugs": job.bugs,
                "holds": sound.holds,
                "defects": [broken.as_builtins() for broken in found],
            }
        )
    if json is not None:
        from trunkline.app.report.json_junit import REPORT_VERSION, write_whole

        document = {"trunkline_report": REPORT_VERSION, "known_defects": documents}
        write_whole(json, msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    return 0 if holds else 1


def _compared(job: RunJob, sound: Run, defect: KnownDefect, advance: Callable[[], object]) -> _Broken | None:
    """Run a scenario with a defect; returns what only then is broken, none for nothing."""
    try:
        run = run_scenario(job.file, seed=job.seed, bugs=(*job.bugs, defect.bug.name))
    except (SimulationError, PluginError) as error:
        return _Broken(defect=defect, breaks=(), missed=0, failed=str(error))
    finally:
        advance()
    breaks = tuple(name for name in run.violated if name not in sound.violated)
    also = {unmet.summary for unmet in sound.unmet}
    missed = sum(not unmet.not_exercised and unmet.summary not in also for unmet in run.unmet)
    return _Broken(defect=defect, breaks=breaks, missed=missed) if breaks or missed else None


def _table_of(job: RunJob, found: Sequence[_Broken], known: int) -> list[str]:
    rows = [("switch", "breaks", "expectations", "public reports")] if found else []
    for broken in found:
        missed = f"{broken.missed} missed" if broken.missed else "-"
        breaks = " ".join(broken.breaks) or (f"fails: {broken.failed}" if broken.failed else "-")
        origin = f"plug-in {broken.defect.bug.origin}" if broken.defect.bug.origin else "-"
        rows.append((broken.defect.bug.name, breaks, missed, ", ".join(broken.defect.reports) or origin))
    what = f"{job.file.id}, seed {job.seed}: {len(found)} of {count(known, 'known defect')} break it"
    return [clean(what), *(clean(f"  {line}") for line in aligned(rows))]


def _groups(jobs: Sequence[RunJob], options: RunOptions) -> Iterator[list[RunJob]]:
    """The jobs judged together: a scenario under a seed with each declared defect."""
    if OWN not in options.bug:
        yield from ([job] for job in jobs)
        return
    for _, group in groupby(jobs, key=lambda job: (job.file.path, job.seed)):
        yield list(group)


def _run(job: RunJob, wire: "WireRuns | None", pipe: TracePipe | None) -> tuple[Run, list[str]]:
    """Play a job; on the wire with the differences from virtual time."""
    watch, differs = None if pipe is None else pipe.write, list[str]()
    if wire is None:
        run = play(job.file, seed=job.seed, bugs=job.bugs, watch=watch)
    else:
        run, differs = wire.run(job, watch)
    if pipe is not None:
        pipe.end()
    return run, differs


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
                self.left_out[job.file.id] = tuple(reason.reason for reason in reasons)
            else:
                found.append(job)
        if not found and self.left_out:
            raise UsageError("\n".join(self.left_out_lines()))
        return found

    def left_out_lines(self) -> Iterator[str]:
        for scenario, reasons in self.left_out.items():
            yield clean(f"{scenario}: not on the wire: {'; '.join(reasons)}")

    def run(self, job: RunJob, watch: Callable[[Event], None] | None) -> tuple[Run, list[str]]:
        """A run on the wire, and in what it differs from that in virtual time, a line for each."""
        from trunkline.sim.wire.play.run import differences, run_on_wire

        run = run_on_wire(job.file, seed=job.seed, bugs=job.bugs, speed=self._speed, watch=watch)
        found = differences(run, run_scenario(job.file, seed=job.seed, bugs=job.bugs))
        self.different += bool(found)
        return run, [clean(f"  ≠ {path}") for path in found]

    def end_lines(self) -> Iterator[str]:
        yield from self.left_out_lines()
        if self.different:
            yield f"{count(self.different, 'run')} with other verdicts than in virtual time"


def _wire(options: RunOptions) -> WireRuns | None:
    if options.speed is not None and not options.wire:
        raise UsageError("--speed goes with --wire: in virtual time nothing waits")
    return WireRuns(options.speed) if options.wire else None


def _with_steps(files: list[ScenarioFile], steps: Sequence[str]) -> list[ScenarioFile]:
    if not steps:
        return files
    if len(files) != 1:
        raise UsageError(f"--inject is for a single scenario, and these are {len(files)}: name one")
    return [reduce(with_step_text, steps, files[0])]


def load_all(
    paths: Sequence[Path], keyword: str | None, tools: Toolbox = OURS
) -> tuple[list[ScenarioFile], list[ScenarioFile]]:
    """Load the scenarios that match: those to run, and those that only `trunkline attach` plays.

    Raises one `UsageError` that names every unreadable file, or says why there is none to run.
    """
    chosen = load_matching(paths, keyword, tools)
    others = [file for file in chosen if attach_only(file)]
    if len(others) == len(chosen):
        reasons = [f"{file.path}: {'; '.join(attach_only(file))}; see `trunkline attach`" for file in chosen]
        raise UsageError("\n".join(reasons))
    files = [file for file in chosen if not attach_only(file)]
    warn_of_loose(files)
    return files, others


def attach_lines(others: Sequence[ScenarioFile]) -> Iterator[str]:
    """The scenarios left out for `trunkline attach`, with a line for each reason, the most frequent first."""
    reasons = Counter(reason for file in others for reason in attach_only(file))
    if others:
        yield f"{count(len(others), 'scenario')} left out, which only `trunkline attach` plays:"
    for reason, number in reasons.most_common():
        yield f"  {reason} ({number})"


def load_matching(paths: Sequence[Path], keyword: str | None, tools: Toolbox = OURS) -> list[ScenarioFile]:
    """Load the scenarios that match. Raises one `UsageError` that names every unreadable file."""
    files: list[ScenarioFile] = []
    problems: list[str] = []
    for path in find_scenarios(paths or (scenario_home(),)):
        try:
            files.append(load(path, tools))
        except ScenarioError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    chosen = [file for file in files if _matches(file, keyword)]
    if not chosen:
        raise UsageError(f"no scenario of {len(files)} matches -k {keyword!r}")
    return chosen


def warn_of_loose(files: Iterable[ScenarioFile]) -> None:
    """Warn on standard error of scenarios that are not strict."""
    warnings = [clean(file.warning) for file in files if file.warning]
    more = [f"{count(len(warnings) - _WARNED, 'more file')} not strict"] if len(warnings) > _WARNED else []
    if warnings and sys.stderr is not None:
        print_lines(*(f"trunkline: warning: {line}" for line in (*warnings[:_WARNED], *more)), file=sys.stderr)


def _matches(file: ScenarioFile, keyword: str | None) -> bool:
    text = " ".join([file.id, file.scenario.title, *file.scenario.tags]).lower()
    return all(word in text for word in (keyword or "").lower().split())


def _jobs(options: RunOptions, files: Sequence[ScenarioFile]) -> Iterator[RunJob]:
    named = tuple(
        bug for name in options.bug if name not in (OWN, ALL) for bug in find_bugs(name, options.toolbox.bugs)
    )
    for file in files:
        first = file.scenario.seed if options.seed is None else options.seed
        for seed in range(first, first + options.seeds):
            if OWN in options.bug:
                for own in file.scenario.bugs:
                    yield RunJob(file=file, seed=seed, bugs=(*named, own))
            else:
                yield RunJob(file=file, seed=seed, bugs=named)


def _write_reports(
    options: RunOptions, runs: Sequence[Run], spent: Sequence[float], left_out: Mapping[str, Sequence[str]],
    declared: Sequence[DeclaredDefect],
) -> None:  # fmt: skip
    if options.trace is not None and options.trace != STDOUT:
        write_trace(options.trace, runs[0].trace)
    if options.html is not None:
        from trunkline.app.report.page.run_page import write_page

        write_page(options.html, runs[0])
    page = "" if options.html is None else clean(str(options.html))
    if options.junit is not None or options.json is not None:
        from trunkline.app.report.json_junit import as_json, as_junit, write_whole

        if options.junit is not None:
            write_whole(options.junit, as_junit(runs, spent, left_out, declared, page))
        if options.json is not None:
            write_whole(options.json, as_json(runs, left_out, declared, page))


@contextmanager
def _progress(total: int) -> Generator[Callable[[], object]]:
    """Show a progress bar for many runs, and give what counts one."""
    with nullcontext() if total < _LONG else progress_bar("running", total, own_thread=True) as update:
        yield partial(update, advance=1) if update is not None else lambda: None
