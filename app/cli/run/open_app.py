"""Commands that open the app; without a terminal each falls back to a report."""

from collections.abc import Sequence
from pathlib import Path

from trunkline.app.cli.io.terminal import can_draw, only_ascii
from trunkline.app.cli.io.trace_input import judged_run, name_of
from trunkline.app.cli.options import DEFAULT_LIMITS, DEFAULT_LOOKS, Flag, LimitOptions, Looks, LooksOptions, TraceFile
from trunkline.app.errors import inconsistent_as_error
from trunkline.app.report.summary import report_lines
from trunkline.app.runs.scenario_source import SimSource, entry_of, load
from trunkline.app.terminal.output import print_lines
from trunkline.core.config.files.problems import nearest
from trunkline.core.errors import UsageError
from trunkline.sim import ScenarioFile, find_scenarios, run_scenario, scenario_home
from trunkline.sim.plugins import Toolbox
from trunkline.sim.run.result import with_culprits
from trunkline.sim.scenario.discovery import scenario_path

#: fast enough to show the violation of the tour within five seconds
TOUR_SPEED = 2.0


def open_app(paths: tuple[Path, ...], looks: Looks, commands: Sequence[str], tools: Toolbox) -> int:
    """Open the picker over some scenarios. `commands`: their names, for the error about a path that is not there."""
    for path in paths:
        if not scenario_path(path).exists():
            meant = nearest(str(path), commands)
            known = f"; did you mean `trunkline {meant}`?" if meant else f". Commands: {', '.join(commands)}"
            raise UsageError(f"{str(path)!r} is neither a command nor a file or folder of scenarios{known}")
    where = paths or (scenario_home(),)
    found = find_scenarios(where)
    if not can_draw():
        raise UsageError(
            f"no terminal to draw on ({len(found)} scenarios found): use `trunkline run`, or `trunkline tour`"
        )
    from trunkline.app.tui import launch

    return launch(SimSource(where, tools), ascii=looks.ascii or only_ascii(), theme=looks.theme)


def open_tour(*, looks: LooksOptions = DEFAULT_LOOKS) -> int:
    """Show a public bug report happen, and why: in the app, or as a report where there is no terminal."""
    home = scenario_home()
    file = load(find_scenarios((home / "tour",))[0])
    if not can_draw():
        return _tour_report(file)
    from trunkline.app.tui import launch

    return launch(
        SimSource((home,)),
        entry=entry_of(file),
        seed=file.scenario.seed,
        bugs=file.scenario.bugs,
        ascii=looks.ascii or only_ascii(),
        theme=looks.theme,
        first="overview",
        speed=TOUR_SPEED,
    )


def _tour_report(file: ScenarioFile) -> int:
    """Print the tour. Exit code 0 when the defect is caught and the sound gateway holds, as they should."""
    story = file.scenario.story.strip().split("\n")
    print_lines(f"{file.scenario.title}  ({file.scenario.source})", "", *story, "")
    sound = run_scenario(file)
    defective = with_culprits(run_scenario(file, bugs=file.scenario.bugs), sound)
    print_lines("With the reported defect:", *report_lines(defective))
    print_lines("", "Without it:", *report_lines(sound))
    return 0 if sound.holds and not defective.holds else 1


def replay_trace(
    file: TraceFile,
    /,
    *,
    plain: Flag = False,
    limits: LimitOptions = DEFAULT_LIMITS,
    looks: LooksOptions = DEFAULT_LOOKS,
) -> int:
    """Judge a recorded trace again and open it; without a terminal, print a report.

    The exit code of the report: 0 all hold, 1 violated.

    :param file: A trace, as `trunkline run --trace` writes it.
    :param plain: Print the report even on a terminal.
    """
    run, drawn = judged_run(file, limits), not plain and can_draw()
    with inconsistent_as_error(name_of(file)):
        lines = [] if drawn else list(report_lines(run))
    if not drawn:
        print_lines(*lines)
        return 0 if run.holds else 1
    from trunkline.app.tui import launch

    with inconsistent_as_error(name_of(file)):
        return launch(
            SimSource((scenario_home(),), limits.toolbox),
            run=run,
            seed=run.trace.header.seed,
            bugs=run.trace.header.bugs,
            ascii=looks.ascii or only_ascii(),
            theme=looks.theme,
        )
