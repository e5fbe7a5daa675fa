"""``trunkline run`` and ``trunkline bugs``: no terminal needed, nothing of Textual imported."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Protocol

import msgspec

from trunkline.app.cli.run.trace_pipe import STDOUT, Piped
from trunkline.app.report.summary import blocks, run_line, summary
from trunkline.app.runs.outcome import TimedRun
from trunkline.app.runs.scenario_source import load
from trunkline.core.errors import UsageError
from trunkline.core.events import Event, write_trace
from trunkline.sim import BUGS, ScenarioError, ScenarioFile, find_bugs, find_scenarios, run_scenario, scenario_home
from trunkline.sim.run.runner import header_of
from trunkline.sim.scenario.edit import with_step_text

#: ``--bug own``: each defect that the scenario itself declares
OWN = "own"
#: runs above which a bar shows how far it is
_LONG = 20


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What ``trunkline run`` was asked for."""

    paths: tuple[Path, ...] = ()
    seed: int | None = None
    seeds: int = 1
    bugs: tuple[str, ...] = ()
    #: steps that are added to the script of the one scenario
    steps: tuple[str, ...] = ()
    keyword: str | None = None
    trace: Path | None = None
    junit: Path | None = None
    json: Path | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One run to be made."""

    file: ScenarioFile
    seed: int
    bugs: tuple[str, ...]


def run_scenarios(options: Options) -> int:
    """Run what was asked for, report, and return the exit code."""
    if options.seeds < 1:
        raise UsageError("--seeds must be at least 1")
    for report in (options.trace, options.junit, options.json):
        if report is not None and not report.absolute().parent.is_dir():
            raise UsageError(f"{report}: there is no folder {report.parent}")
    jobs = list(_jobs(options, _with_steps(load_all(options), options.steps)))
    if options.trace is not None and len(jobs) != 1:
        raise UsageError(f"--trace is for a single run, and this makes {len(jobs)}: name one scenario, seed and bug")
    outcomes: list[TimedRun] = []
    # What is loaded by now stays: the collector need not look at it again after every few runs.
    gc.freeze()
    piped = Piped(header_of(jobs[0].file, seed=jobs[0].seed, bugs=jobs[0].bugs)) if options.trace == STDOUT else None
    told = sys.stdout if piped is None else sys.stderr
    with _progress(len(jobs)) as advance:
        for job in jobs:
            outcome = _run(job, piped.see if piped is not None else None)
            outcomes.append(outcome)
            advance()
            if piped is not None:
                piped.end()
            print(run_line(outcome), file=told)
            for block in blocks(outcome):
                print(block, file=told)
    print(summary(outcomes), file=told)
    _write(options, outcomes)
    return 0 if all(outcome.holds for outcome in outcomes) else 1


def _with_steps(files: list[ScenarioFile], steps: Sequence[str]) -> list[ScenarioFile]:
    if not steps:
        return files
    if len(files) != 1:
        raise UsageError(f"--inject is for a single scenario, and these are {len(files)}: name one")
    return [reduce(with_step_text, steps, files[0])]


def _run(job: Job, watch: Callable[[Event], None] | None) -> TimedRun:
    before = time.process_time()
    result = run_scenario(job.file, seed=job.seed, bugs=job.bugs, watch=watch)
    return TimedRun(run=result, spent=time.process_time() - before)


def load_all(options: Options) -> list[ScenarioFile]:
    """All scenarios that are asked for. Every unreadable one is named before any is run."""
    files: list[ScenarioFile] = []
    problems: list[str] = []
    for path in find_scenarios(options.paths or (scenario_home(),)):
        try:
            files.append(load(path))
        except ScenarioError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    chosen = [file for file in files if _wanted(file, options.keyword)]
    if not chosen:
        raise UsageError(f"no scenario of {len(files)} matches -k {options.keyword!r}")
    return chosen


def _wanted(file: ScenarioFile, keyword: str | None) -> bool:
    text = " ".join([file.id, file.scenario.title, *file.scenario.tags]).lower()
    return all(word in text for word in (keyword or "").lower().split())


def _jobs(options: Options, files: Sequence[ScenarioFile]) -> Iterator[Job]:
    named = tuple(bug for name in options.bugs if name != OWN for bug in find_bugs(name))
    for file in files:
        first = file.scenario.seed if options.seed is None else options.seed
        for seed in range(first, first + options.seeds):
            if OWN in options.bugs:
                for own in file.scenario.bugs:
                    yield Job(file=file, seed=seed, bugs=(*named, own))
            else:
                yield Job(file=file, seed=seed, bugs=named)


def _write(options: Options, outcomes: list[TimedRun]) -> None:
    if options.trace is not None and options.trace != STDOUT:
        write_trace(options.trace, outcomes[0].run.trace)
    if options.junit is not None or options.json is not None:
        from trunkline.app.report.json_junit import as_json, as_junit, write_whole

        if options.junit is not None:
            write_whole(options.junit, as_junit(outcomes))
        if options.json is not None:
            write_whole(options.json, as_json(outcomes))


class _Advance(Protocol):
    def __call__(self) -> None: ...


@contextmanager
def _progress(total: int) -> Generator[_Advance, None, None]:
    """A bar on standard error for long work at a terminal; nothing otherwise."""
    if total < _LONG or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    # Lines go above the bar where both are on the screen, and straight to where standard output leads otherwise.
    on_screen = sys.stdout.isatty()
    with Progress(console=Console(stderr=True), transient=True, redirect_stdout=on_screen) as progress:
        task = progress.add_task("running", total=total)
        yield lambda: progress.advance(task)


def print_bugs() -> int:
    """Print every bug switch with what it does and what must catch it."""
    width = max(len(name) for name in BUGS)
    for bug in BUGS.values():
        reports = f"  ({', '.join(bug.reports)})" if bug.reports else ""
        print(f"{bug.name:<{width}}  caught by {', '.join(bug.caught_by)}{reports}\n{'':<{width}}  {bug.sentence}")
    return 0
