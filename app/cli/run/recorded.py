"""``trunkline report`` and ``trunkline diff``: recorded runs as text, with the facts and words of the app's screens."""

from pathlib import Path

from trunkline.app.cli.io.trace_input import judged_run, name_of
from trunkline.app.cli.options import DEFAULT_LIMITS, Flag, LimitOptions, TraceFile
from trunkline.app.errors import inconsistent_as_error
from trunkline.app.report.sections import report
from trunkline.app.terminal.output import print_lines
from trunkline.app.view.diff.compare import Diff, as_lines
from trunkline.app.view.index.run_index import RunView


def print_report(file: TraceFile, /, *, plain: Flag = False, limits: LimitOptions = DEFAULT_LIMITS) -> int:
    """Print a recorded run as text: everything that the app shows.

    Exit code: 0 all hold, 1 violated.

    Parameters
    ----------
    file:
        A trace, as `trunkline run --trace` writes it; `-` reads standard input.
    plain:
        For screen readers and pipes: one fact a line, each with its label, and words instead of signs.
    """
    run = judged_run(file, limits)
    with inconsistent_as_error(name_of(file)):
        lines = list(report(run, plain=plain))
    print_lines(*lines)
    return 0 if run.holds else 1


def print_diff(a: Path, b: Path, /, *, limits: LimitOptions = DEFAULT_LIMITS) -> int:
    """Compare two recorded runs: events that only one of them has, and differences in the others.

    Exit code: 0 same, 1 different.

    Parameters
    ----------
    a:
        A trace, as `trunkline run --trace` writes it.
    b:
        The trace to compare it with.
    """
    views: list[RunView] = []
    for path in (a, b):
        run = judged_run(path, limits)
        with inconsistent_as_error(name_of(path)):
            views.append(RunView(run))
    with inconsistent_as_error(f"{a} beside {b}"):
        diff = Diff(*views)
        lines = list(as_lines(diff))
    print_lines(*lines)
    return 0 if diff.same else 1
