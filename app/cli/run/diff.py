"""``trunkline diff``: compares two recorded runs as text, with the words of the Diff screen."""

from __future__ import annotations

from pathlib import Path

from trunkline.app.cli.io.trace_input import open_trace
from trunkline.app.cli.options import DEFAULT_LIMITS, LimitOptions
from trunkline.app.errors import inconsistent_as_error
from trunkline.app.runs.model import Run
from trunkline.app.terminal.output import print_lines
from trunkline.app.view.diff.compare import Diff
from trunkline.app.view.diff.text import as_lines
from trunkline.app.view.index.run_index import RunView
from trunkline.sim import judge


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
        trace = open_trace(path, limit=limits.limit, cut=limits.cut)
        with inconsistent_as_error(str(path)):
            views.append(RunView(Run(trace=trace, verdicts=judge(trace.events))))
    with inconsistent_as_error(f"{a} beside {b}"):
        diff = Diff(*views)
        lines = list(as_lines(diff))
    print_lines(*lines)
    return 0 if diff.same else 1
