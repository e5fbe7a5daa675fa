"""``trunkline report``: a recorded run as text, with the facts of the app's screens."""

from __future__ import annotations

from pathlib import Path

from app.cli.traces import STDIN, believing, open_trace
from app.report.linear import report
from app.runs import Run
from sim import judge


def print_report(file: Path, *, plain: bool, limit: int, cut: bool) -> int:
    """Print it. Exit code as of a replay: 0 holds, 1 violated."""
    trace = open_trace(file, limit=limit, cut=cut)
    with believing("standard input" if file == STDIN else str(file)):
        run = Run(trace=trace, verdicts=judge(trace.events))
        lines = list(report(run, plain=plain))
    for line in lines:
        print(line)
    return 0 if run.holds else 1
