"""``trunkline report``: a recorded run as text, with the facts of the app's screens."""

from __future__ import annotations

from pathlib import Path

from trunkline.app.cli.io.trace_input import STDIN, believing, open_trace
from trunkline.app.report.run_text import report
from trunkline.app.runs.model import Run
from trunkline.sim import judge


def print_report(file: Path, *, plain: bool, limit: int, cut: bool) -> int:
    """Print it. Exit code as of a replay: 0 holds, 1 violated."""
    trace = open_trace(file, limit=limit, cut=cut)
    with believing("standard input" if file == STDIN else str(file)):
        run = Run(trace=trace, verdicts=judge(trace.events))
        lines = list(report(run, plain=plain))
    for line in lines:
        print(line)
    return 0 if run.holds else 1
