"""``trunkline explore``: runs a scenario with a crash at every point, or repeats one of these runs."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Group, Parameter

from trunkline.app.cli.options import Flag, Many, Selection, check_at_least, check_folders
from trunkline.app.cli.run.run import load_all
from trunkline.app.report.exploration import Cost, as_json, lines_of, summary
from trunkline.app.report.summary import report_lines
from trunkline.app.runs.exploration_pool import Exploration, cpu_seconds, explore
from trunkline.app.runs.model import RunJob
from trunkline.app.runs.scenario_source import named_scenarios
from trunkline.app.terminal.output import print_lines, progress_bar
from trunkline.core.errors import UsageError
from trunkline.core.events import write_trace
from trunkline.sim import CrashAt, find_bugs, run_scenario
from trunkline.sim.explore import PROMISES, Explorer, Sampling
from trunkline.sim.run.crash_at import crash_at

#: exit code after Ctrl-C, unless a violation was found before
_INTERRUPTED = 130
_ONE_RUN = Parameter(group=Group("Repeat one run", sort_key=1))


@dataclass(frozen=True, kw_only=True)
class ExploreOptions(Selection):
    """The options of ``trunkline explore``."""

    bug: Many = ()
    """Switch on a defect, by name or by the id of its report. May be given several times."""
    crash_everywhere: Flag = False
    """Crash at every point, which is also the default without `--at`."""
    every_step: int = 1
    """Try only every Nth step."""
    stops: int = 100
    """Also stop the gateway gracefully at up to this many points, drawn by seed and point."""
    second: int = 100
    """Also end the next process during recovery, in up to this many runs, drawn the same way; every fourth time with a
    graceful stop."""
    jobs: int | None = None
    """Number of worker processes; by default one per core."""
    json: Path | None = None
    """Write a JSON report."""
    at: Annotated[str | None, _ONE_RUN] = None
    """Make only one run, with its crash after this point: `commit:17` or `step:512`."""
    then: Annotated[Many, _ONE_RUN] = ()
    """Crash again after this point, counted from the restart. May be given several times."""
    stop: Annotated[Flag, _ONE_RUN] = False
    """Make the last crash a graceful stop instead of a kill."""
    trace: Annotated[Path | None, _ONE_RUN] = None
    """Write the trace of this run as JSON lines, for `trunkline replay`."""


_DEFAULTS = ExploreOptions()


def explore_scenarios(*names: str, options: Annotated[ExploreOptions, Parameter(name="*")] = _DEFAULTS) -> int:
    """Run scenarios once per commit and once per step, and kill the gateway at that point.

    Every invariant must hold in each of these runs. The report also says in how many of them people see something else
    than without a crash. For a run that fails it prints the command that repeats it, with `--at`. Exit code: 0 all
    hold, 1 violated, 2 wrong usage or file.

    :param names: Scenario files or folders, or ids of scenarios that come with Trunkline; by default all of these.
    """
    _check(options)
    jobs = _jobs(names, options)
    if options.at is not None:
        if len(jobs) != 1:
            raise UsageError(f"--at is for a single run, and this makes {len(jobs)}: name one scenario and seed")
        return _repeat(jobs[0], _crashes(options), options.trace)
    return _everywhere(jobs, options)


def _check(options: ExploreOptions) -> None:
    if options.crash_everywhere and options.at is not None:
        raise UsageError("--crash-everywhere and --at exclude each other: all runs, or one of them again")
    check_at_least(1, seeds=options.seeds, every_step=options.every_step, jobs=options.jobs)
    check_at_least(0, stops=options.stops, second=options.second)
    if options.at is None and (options.then or options.stop or options.trace is not None):
        raise UsageError("--then, --stop and --trace are for a single run: say where its first crash is with --at")
    if options.at is not None and options.json is not None:
        raise UsageError("--json is for an exploration; for a single run use --trace")
    check_folders(options.trace, options.json)


def _jobs(names: Sequence[str], options: ExploreOptions) -> list[RunJob]:
    tools = options.toolbox
    bugs = tuple(bug for name in options.bug for bug in find_bugs(name, tools.bugs))
    return [
        RunJob(file=file, seed=first + number, bugs=bugs)
        for file in load_all(named_scenarios(names), options.keyword, tools)[0]
        for first in [file.scenario.seed if options.seed is None else options.seed]
        for number in range(options.seeds)
    ]


def _crashes(options: ExploreOptions) -> tuple[CrashAt, ...]:
    """The crashes of one run; ``--stop`` makes the last one a stop."""
    points = (options.at or "", *options.then)
    last = len(points) - 1
    return tuple(
        crash_at(point, kind="stop" if options.stop and number == last else "kill")
        for number, point in enumerate(points)
    )


def _repeat(job: RunJob, crashes: Sequence[CrashAt], trace: Path | None) -> int:
    """Repeat one run of an exploration, and report it as `trunkline run` does."""
    tried = Explorer(job.file, seed=job.seed, bugs=job.bugs).run(crashes)
    if all(breach.id != "PLAYED" for breach in tried.breaches):
        result = run_scenario(job.file, seed=job.seed, bugs=job.bugs, crash=crashes)
        # The expectations of a scenario are about a run without these crashes.
        print_lines(*report_lines(msgspec.structs.replace(result, unmet=())))
        if trace is not None:
            write_trace(trace, result.trace)
    for breach in tried.breaches:
        if breach.id in PROMISES:
            print_lines(f"  ✗ {breach.id} {breach.summary}", f"    {PROMISES[breach.id]}")
    if tried.differences:
        print_lines(
            "  · people see something else than without a crash", *(f"    {each}" for each in tried.differences)
        )
    return 0 if tried.holds else 1


def _everywhere(jobs: Sequence[RunJob], options: ExploreOptions) -> int:
    sampling = Sampling(every_step=options.every_step, stops=options.stops, second=options.second)
    workers = options.jobs or os.cpu_count() or 1
    every: list[Exploration] = []
    wall, cpu, interrupted = time.perf_counter(), cpu_seconds(), False
    try:
        with progress_bar("exploring", len(jobs)) as update:
            for found in explore(jobs, sampling, workers):
                if not every or every[-1] is not found:
                    every.append(found)
                if update is not None:
                    _show(every, update)
                if not found.left:
                    print_lines(*lines_of(found))
    except KeyboardInterrupt:
        interrupted = True
        if every and every[-1].left:
            print_lines(*lines_of(every[-1]))
    spent = Cost(wall=time.perf_counter() - wall, cpu=cpu_seconds() - cpu)
    print_lines(*summary(every, sampling, spent, interrupted=interrupted).split("\n"))
    if options.json is not None:
        from trunkline.app.report.json_junit import write_whole

        write_whole(options.json, as_json(every, sampling, spent, interrupted=interrupted))
    if not all(found.holds for found in every):
        return 1
    return _INTERRUPTED if interrupted else 0


def _show(every: Sequence[Exploration], update: Callable[..., object]) -> None:
    last = every[-1]
    part = last.runs / last.planned if last.left and last.planned else 1.0
    runs, violated = sum(explored.runs for explored in every), sum(explored.violated for explored in every)
    what = f"{last.file.id}: {runs} runs, {violated} violated"
    update(completed=len(every) - 1 + min(part, 1.0), description=what, refresh=True)
