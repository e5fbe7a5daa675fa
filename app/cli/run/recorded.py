"""``trunkline report`` and ``trunkline diff``: recorded runs as text, with the facts and words of the app's screens."""

from pathlib import Path

from trunkline.app.cli.io.trace_input import judged_run, name_of
from trunkline.app.cli.options import DEFAULT_LIMITS, Flag, LimitOptions, TraceFile, TraceLimits, check_folders
from trunkline.app.errors import inconsistent_as_error
from trunkline.app.report.sections import report
from trunkline.app.report.summary import run_line
from trunkline.app.terminal.output import print_lines
from trunkline.app.view.diff.compare import Diff, as_lines
from trunkline.app.view.index.run_index import RunView
from trunkline.core.errors import UsageError


def print_report(
    file: TraceFile, /, *, plain: Flag = False, html: Path | None = None, limits: LimitOptions = DEFAULT_LIMITS
) -> int:
    """Print a recorded run as text: everything that the app shows. Or write it as a page.

    Exit code: 0 all hold, 1 violated.

    :param file: A trace, as `trunkline run --trace` writes it; `-` reads standard input.
    :param plain: For screen readers and pipes: one fact a line, each with its label, and words instead of signs.
    :param html: Write a page that any browser opens instead: one file, with the timeline, what people saw, and what led
        to each violation.
    """
    if html is not None:
        return _write_html(file, html, limits, plain=plain)
    run = judged_run(file, limits)
    with inconsistent_as_error(name_of(file)):
        lines = list(report(run, plain=plain))
    print_lines(*lines)
    return 0 if run.holds else 1


def _write_html(file: Path, html: Path, limits: TraceLimits, *, plain: bool) -> int:
    if plain:
        raise UsageError("--plain and --html exclude each other: text, or a page")
    check_folders(html)
    if html.exists() and file.exists() and html.samefile(file):
        raise UsageError(f"--html {html}: this is the trace itself, and the page would replace it: name another file")
    from trunkline.app.report.page.run_page import write_page

    run = judged_run(file, limits)
    with inconsistent_as_error(name_of(file)):
        write_page(html, run)
    print_lines(run_line(run), f"page {html}: open it in a browser")
    return 0 if run.holds else 1


def print_diff(a: Path, b: Path, /, *, limits: LimitOptions = DEFAULT_LIMITS) -> int:
    """Compare two recorded runs: events that only one of them has, and differences in the others.

    Exit code: 0 same, 1 different.

    :param a: A trace, as `trunkline run --trace` writes it.
    :param b: The trace to compare it with.
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
