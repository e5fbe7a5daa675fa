"""Commands that open the app; each falls back to a report where there is no terminal."""

from __future__ import annotations

from pathlib import Path

from trunkline.app.cli.io.terminal import can_draw, only_ascii
from trunkline.app.cli.io.trace_input import believing, open_trace
from trunkline.app.report.summary import blocks, run_line
from trunkline.app.runs.model import Run
from trunkline.app.runs.outcome import TimedRun
from trunkline.app.runs.scenario_source import SimSource, entry_of, load
from trunkline.core.errors import UsageError
from trunkline.sim import find_scenarios, judge, run_scenario, scenario_home

#: what can stand where `trunkline` also takes paths
COMMANDS = (
    *("run", "tour", "replay", "watch", "report", "diff", "web"),
    *("explore", "explain", "queue", "bindings", "transcript", "bugs", "schema"),
)

#: the violation of the tour is on the screen within five seconds
TOUR_SPEED = 2.0


def open_app(paths: tuple[Path, ...], *, ascii: bool, theme: str | None) -> int:  # noqa: A002
    """The picker over some scenarios."""
    for path in paths:
        if not path.exists():
            commands = ", ".join(COMMANDS)
            raise UsageError(f"{str(path)!r} is neither a command ({commands}) nor a file or folder of scenarios")
    where = paths or (scenario_home(),)
    found = find_scenarios(where)
    if not can_draw():
        raise UsageError(
            f"no terminal to draw on ({len(found)} scenarios found): use `trunkline run`, or `trunkline tour`"
        )
    from trunkline.app.tui import launch

    return launch(SimSource(where), ascii=ascii or only_ascii(), theme=theme)


def open_tour(*, ascii: bool, theme: str | None) -> int:  # noqa: A002
    """The tour: with its defect on, so that there is something to see."""
    home = scenario_home()
    path = find_scenarios((home / "tour",))[0]
    file = load(path)
    if not can_draw():
        return _tour_report(path)
    from trunkline.app.tui import launch

    return launch(
        SimSource((home,)),
        entry=entry_of(file),
        seed=file.scenario.seed,
        bugs=file.scenario.bugs,
        ascii=ascii or only_ascii(),
        theme=theme,
        first="overview",
        speed=TOUR_SPEED,
    )


def _tour_report(path: Path) -> int:
    """The tour as text. Exit code 0 when the defect is caught and the sound gateway holds, as they should."""
    file = load(path)
    print(f"{file.scenario.title}  ({file.scenario.source})\n\n{file.scenario.story.strip()}\n")
    defective = TimedRun(run=run_scenario(file, bugs=file.scenario.bugs), spent=0.0)
    print("With the reported defect:")
    print(run_line(defective))
    for block in blocks(defective):
        print(block)
    sound = TimedRun(run=run_scenario(file), spent=0.0)
    print("\nWithout it:")
    print(run_line(sound))
    for block in blocks(sound):
        print(block)
    return 0 if sound.holds and not defective.holds else 1


def replay_trace(
    file: Path,
    *,
    plain: bool,
    limit: int,
    cut: bool,
    ascii: bool,  # noqa: A002
    theme: str | None,
) -> int:
    """A recorded run. The report's exit code is that of the run: 0 holds, 1 violated."""
    trace = open_trace(file, limit=limit, cut=cut)
    drawn = not plain and can_draw()
    with believing(str(file)):
        run = Run(trace=trace, verdicts=judge(trace.events))
        outcome = TimedRun(run=run, spent=0.0)
        lines = [] if drawn else [run_line(outcome), *blocks(outcome)]
    if not drawn:
        for line in lines:
            print(line)
        return 0 if outcome.holds else 1
    from trunkline.app.tui import launch

    source = SimSource((scenario_home(),))
    with believing(str(file)):
        return launch(
            source, run=run, seed=trace.header.seed, bugs=trace.header.bugs, ascii=ascii or only_ascii(), theme=theme
        )
