"""``trunkline report``: a recorded run as text, with the facts of the app's screens."""

from __future__ import annotations

from trunkline.app.cli.io.trace_input import STDIN, open_trace
from trunkline.app.cli.options import DEFAULT_LIMITS, Flag, LimitOptions, TraceFile
from trunkline.app.errors import inconsistent_as_error
from trunkline.app.report.run_text import report
from trunkline.app.runs.model import Run
from trunkline.app.terminal.output import print_lines
from trunkline.sim import judge


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
    trace = open_trace(file, limit=limits.limit, cut=limits.cut)
    with inconsistent_as_error("standard input" if file == STDIN else str(file)):
        run = Run(trace=trace, verdicts=judge(trace.events))
        lines = list(report(run, plain=plain))
    print_lines(*lines)
    return 0 if run.holds else 1
