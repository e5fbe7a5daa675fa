"""``trunkline fuzz``: plays random scenarios, and keeps what they find as small files.

``trunkline shrink`` makes any scenario smaller for as long as the same thing is wrong with it.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trunkline.app.cli.options import Flag, Many, check_at_least, check_folders
from trunkline.app.report.fuzzing import as_json, as_junit, cause_lines, summary
from trunkline.app.report.json_junit import write_whole
from trunkline.app.runs.fuzzing import Campaign, FuzzPlan, fuzz, shrink_file
from trunkline.app.terminal.output import print_lines, progress_bar
from trunkline.app.text.cells import clean, count
from trunkline.core.config import parse_duration
from trunkline.core.errors import UsageError
from trunkline.sim import find_bugs, load_scenario
from trunkline.sim.fuzz.generator import make_scenario, words_of
from trunkline.sim.scenario.edit import text_of

#: exit code after Ctrl-C, unless something was found before
_INTERRUPTED = 130
#: seconds for which scenarios are played if nothing else is said
_USUAL = 60.0
CORPUS = Path("fuzz-corpus")


@dataclass(frozen=True, kw_only=True)
class FuzzOptions:
    """The options of ``trunkline fuzz``."""

    seeds: str | None = None
    """The seeds of the scenarios: `7`, or `1..2000`, or `500..` for those from 500 on. By default from 1 on."""
    time: str | None = None
    """Begin no further scenario after this time: `60s`, `30m`. By default 60s, or no limit if `--seeds` has an end."""
    focus: str = ""
    """Draw more of something: a theme (`--focus help` lists them), or any word of scenario files, such as `webhook`."""
    jobs: int | None = None
    """Number of worker processes; by default one per core."""
    corpus: Path = CORPUS
    """The folder of findings. What is in it is played first, and new findings are written into it."""
    bug: Many = ()
    """Switch on a defect, by name or by the id of its report. May be given several times."""
    show: Flag = False
    """Print the scenario of the first seed instead of playing any."""
    json: Path | None = None
    """Write a JSON report."""
    junit: Path | None = None
    """Write a JUnit XML report."""


_DEFAULTS = FuzzOptions()


def fuzz_gateway(*, options: Annotated[FuzzOptions, Parameter(name="*")] = _DEFAULTS) -> int:
    """Play random scenarios, and keep what breaks a promise as a small scenario file.

    Each seed is a scenario: a world, a configuration, agents, and a script with faults. All invariants are judged, and
    besides them what people must have seen. Findings are grouped by their cause, and each cause is made as small as
    possible. Ctrl-C ends it and keeps what was found. Exit code: 0 all hold, 1 something was found, 2 wrong usage.
    """
    plan = _plan(options)
    if options.show:
        print_lines(*text_of(make_scenario(plan.first, plan.focus)).splitlines())
        return 0
    began, campaign, interrupted = time.monotonic(), Campaign(plan=plan), False
    known = set[tuple[str, str]]()
    try:
        total = plan.seconds if plan.last is None else plan.last - plan.first + 1
        with progress_bar("playing", total) as update:
            for _ in fuzz(campaign, write_whole):
                if update is not None:
                    _show(campaign, time.monotonic() - began if plan.last is None else campaign.scenarios, update)
                for cause in [of for own, of in campaign.causes.items() if own not in known]:
                    known.add(cause.finding.cause)
                    print_lines(f"✗ {cause.finding.kind} {cause.finding.culprit}".rstrip() + f": {cause.file}")
    except KeyboardInterrupt:
        interrupted = True
    seconds = time.monotonic() - began
    causes = sorted(campaign.causes.values(), key=lambda cause: -cause.times)
    print_lines(*(line for cause in causes for line in cause_lines(cause)))
    print_lines(*summary(campaign, seconds, interrupted=interrupted))
    if options.json is not None:
        write_whole(options.json, as_json(campaign, interrupted=interrupted))
    if options.junit is not None:
        write_whole(options.junit, as_junit(campaign, seconds))
    if campaign.causes or campaign.unread:
        return 1
    return _INTERRUPTED if interrupted else 0


def _plan(options: FuzzOptions) -> FuzzPlan:
    first, last = _seeds(options.seeds)
    seconds = None if last is not None else _USUAL
    if options.time is not None:
        try:
            seconds = parse_duration(options.time)
        except ValueError as error:
            raise UsageError(f"--time {options.time}: {error}") from error
    check_at_least(1, jobs=options.jobs)
    if options.focus:
        words_of(options.focus)
    check_folders(options.json, options.junit, options.corpus)
    return FuzzPlan(
        first=first,
        last=last,
        seconds=seconds,
        focus=options.focus,
        bugs=tuple(bug for name in options.bug for bug in find_bugs(name)),
        workers=options.jobs or os.cpu_count() or 1,
        corpus=options.corpus,
    )


def _seeds(text: str | None) -> tuple[int, int | None]:
    """The first seed and the last one, if there is one."""
    if text is None:
        return 1, None
    first, dots, last = text.partition("..")
    if not first.isdecimal() or not (last.isdecimal() or not last):
        raise UsageError(f"--seeds {text}: expected a number such as 7, or numbers such as 1..2000 or 500..")
    end = int(first) if not dots else int(last) if last else None
    if end is not None and end < int(first):
        raise UsageError(f"--seeds {text}: the last seed comes before the first one")
    return int(first), end


def _show(campaign: Campaign, done: float, update: Callable[..., object]) -> None:
    struck = campaign.counts["faults that struck"]
    what = f"{campaign.scenarios} scenarios, {struck} faults struck, {len(campaign.causes)} causes"
    update(completed=done, description=what, refresh=True)


#: runs of a search, if nothing else is said
RUNS = 2000


@dataclass(frozen=True, kw_only=True)
class ShrinkOptions:
    """The options of ``trunkline shrink``."""

    invariant: str | None = None
    """Keep the violation of this invariant; by default the first that the run shows, or a missed expectation."""
    bug: Many = ()
    """Switch on a defect, by name or by the id of its report. May be given several times."""
    output: Annotated[Path | None, Parameter(name=["-o", "--output"])] = None
    """The file to write; by default `NAME-small.yaml` beside the scenario."""
    runs: int = RUNS
    """End the search after this many runs, and write the smallest scenario until then."""


_SHRINK_DEFAULTS = ShrinkOptions()


def shrink_scenario(file: Path, *, options: Annotated[ShrinkOptions, Parameter(name="*")] = _SHRINK_DEFAULTS) -> int:
    """Make a scenario as small as possible that violates an invariant or misses an expectation.

    Steps, faults, people, places, configuration, rules and texts are taken away for as long as the same invariant is
    violated, in the same way. Exit code: 0 a smaller scenario was written, 1 there is none, 2 wrong usage or file, or
    nothing is wrong with the scenario.

    :param file: The scenario file.
    """
    check_at_least(1, runs=options.runs)
    target = options.output or file.with_name(f"{file.stem}-small.yaml")
    check_folders(target)
    if target.exists() and options.output is None:
        raise UsageError(f"{target}: the file exists; name another one with -o")
    bugs = tuple(bug for name in options.bug for bug in find_bugs(name))
    small = shrink_file(load_scenario(file), bugs, target, invariant=options.invariant, runs=options.runs)
    write_whole(target, small.text.encode())
    how = "nothing more can be taken away" if small.shrunk.minimal else f"ended after {options.runs} runs"
    finding = small.finding
    print_lines(
        clean(f"{finding.kind}: {' '.join(finding.summary.split())}"),
        clean(f"{target}: {count(small.steps, 'step')} of {small.before}, {count(small.shrunk.runs, 'run')}; {how}"),
    )
    return 0 if small.smaller else 1
