"""``trunkline explore``: a scenario with its process ended everywhere, or once more at the points of one run."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from trunkline.app.cli.run.run import Options as RunOptions
from trunkline.app.cli.run.run import load_all
from trunkline.app.report.exploration import Cost, as_json, lines_of, summary
from trunkline.app.report.summary import blocks, run_line
from trunkline.app.runs.exploration import Exploration
from trunkline.app.runs.exploration_pool import ExplorationJob, cpu_seconds, explore
from trunkline.app.runs.outcome import TimedRun
from trunkline.app.runs.scenario_source import named_scenarios
from trunkline.core.errors import UsageError
from trunkline.core.events import write_trace
from trunkline.sim import CrashAt, find_bugs, run_scenario
from trunkline.sim.explore import PROMISES, Explorer, Sampling
from trunkline.sim.run.crash_at import crash_at

#: exit code after Ctrl-C, where nothing was found before
_INTERRUPTED = 130


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What ``trunkline explore`` was asked for."""

    names: tuple[str, ...] = ()
    seed: int | None = None
    seeds: int = 1
    bugs: tuple[str, ...] = ()
    keyword: str | None = None
    every_step: int = 1
    stops: int = 100
    second: int = 100
    #: none: as many as there are cores
    jobs: int | None = None
    at: str | None = None
    then: tuple[str, ...] = ()
    stop: bool = False
    trace: Path | None = None
    json: Path | None = None


def explore_scenarios(options: Options) -> int:
    """Explore what was asked for, report, and return the exit code."""
    _check(options)
    jobs = _jobs(options)
    if options.at is not None:
        if len(jobs) != 1:
            raise UsageError(f"--at is for a single run, and this makes {len(jobs)}: name one scenario and seed")
        return _once_more(jobs[0], _crashes(options), options.trace)
    return _everywhere(jobs, options)


def _check(options: Options) -> None:
    for name, value, least in (
        ("--seeds", options.seeds, 1),
        ("--every-step", options.every_step, 1),
        ("--stops", options.stops, 0),
        ("--second", options.second, 0),
        ("--jobs", options.jobs, 1),
    ):
        if value is not None and value < least:
            raise UsageError(f"{name} must be at least {least}")
    if options.at is None and (options.then or options.stop or options.trace is not None):
        raise UsageError("--then, --stop and --trace are for a single run: say where its first crash is with --at")
    if options.at is not None and options.json is not None:
        raise UsageError("--json is for an exploration; of a single run there is --trace")
    for report in (options.trace, options.json):
        if report is not None and not report.absolute().parent.is_dir():
            raise UsageError(f"{report}: there is no folder {report.parent}")


def _jobs(options: Options) -> list[ExplorationJob]:
    bugs = tuple(bug for name in options.bugs for bug in find_bugs(name))
    files = load_all(RunOptions(paths=named_scenarios(options.names), keyword=options.keyword))
    return [
        ExplorationJob(file=file, seed=first + number, bugs=bugs)
        for file in files
        for first in [file.scenario.seed if options.seed is None else options.seed]
        for number in range(options.seeds)
    ]


def _crashes(options: Options) -> tuple[CrashAt, ...]:
    """The crashes of one run; ``--stop`` makes the last one a stop."""
    points = (options.at or "", *options.then)
    last = len(points) - 1
    return tuple(
        crash_at(point, kind="stop" if options.stop and number == last else "kill")
        for number, point in enumerate(points)
    )


# ------------------------------------------------------------ one run again


def _once_more(job: ExplorationJob, crashes: Sequence[CrashAt], trace: Path | None) -> int:
    """Do a run of an exploration once more, and report it as `trunkline run` does."""
    before = time.process_time()
    tried = Explorer(job.file, seed=job.seed, bugs=job.bugs).run(crashes)
    played = all(breach.id != "PLAYED" for breach in tried.breaches)
    if played:
        result = run_scenario(job.file, seed=job.seed, bugs=job.bugs, crash=crashes)
        # What the scenario expects, it expects of a run without these crashes.
        outcome = TimedRun(run=msgspec.structs.replace(result, unmet=()), spent=time.process_time() - before)
        print(run_line(outcome))
        for block in blocks(outcome):
            print(block)
        if trace is not None:
            write_trace(trace, result.trace)
    for breach in tried.breaches:
        if breach.id in PROMISES:
            print(f"  ✗ {breach.id} {breach.summary}\n    {PROMISES[breach.id]}")
    for difference in tried.differences:
        assert difference.cause is not None
        print(f"  · seen otherwise, explained: {difference.cause.value}\n    {difference.intent}: {difference.detail}")
    return 0 if tried.holds else 1


# ------------------------------------------------------------ everywhere


def _everywhere(jobs: Sequence[ExplorationJob], options: Options) -> int:
    sampling = Sampling(every_step=options.every_step, stops=options.stops, second=options.second)
    workers = options.jobs or os.cpu_count() or 1
    every: list[Exploration] = []
    wall, cpu, interrupted = time.perf_counter(), cpu_seconds(), False
    try:
        with _progress(len(jobs)) as show:
            for found in explore(jobs, sampling, workers):
                if not every or every[-1] is not found:
                    every.append(found)
                show(every)
                if not found.left:
                    print("\n".join(lines_of(found)))
    except KeyboardInterrupt:
        interrupted = True
        if every and every[-1].left:
            print("\n".join(lines_of(every[-1])))
    spent = Cost(wall=time.perf_counter() - wall, cpu=cpu_seconds() - cpu)
    print(summary(every, sampling, spent, interrupted=interrupted))
    if options.json is not None:
        from trunkline.app.report.json_junit import write_whole

        write_whole(options.json, as_json(every, sampling, spent, interrupted=interrupted))
    if not all(found.holds for found in every):
        return 1
    return _INTERRUPTED if interrupted else 0


_Show = Callable[[Sequence[Exploration]], None]


@contextmanager
def _progress(total: int) -> Generator[_Show, None, None]:
    """A bar on standard error at a terminal; nothing otherwise."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    # No thread of its own: the workers are forked while the bar is there.
    on_screen, console = sys.stdout.isatty(), Console(stderr=True)
    with Progress(console=console, transient=True, redirect_stdout=on_screen, auto_refresh=False) as progress:
        task = progress.add_task("exploring", total=total)

        def show(every: Sequence[Exploration]) -> None:
            last = every[-1]
            part = last.runs / last.planned if last.left and last.planned else 1.0
            runs, violated = sum(one.runs for one in every), sum(one.violated for one in every)
            what = f"{last.file.id}: {runs} runs, {violated} violated"
            progress.update(task, completed=len(every) - 1 + min(part, 1.0), description=what, refresh=True)

        yield show
