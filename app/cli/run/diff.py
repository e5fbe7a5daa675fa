"""``trunkline diff``: two recorded runs compared as text, the other face of the Diff screen."""

from __future__ import annotations

from pathlib import Path

from trunkline.app.cli.io.trace_input import believing, open_trace
from trunkline.app.runs.model import Run
from trunkline.app.view.diff.compare import Diff
from trunkline.app.view.diff.text import as_lines
from trunkline.app.view.index.run_index import RunView
from trunkline.sim import judge


def print_diff(a: Path, b: Path, *, limit: int, cut: bool) -> int:
    """Print what differs. Exit code 0: the runs tell the same, 1: they do not."""
    views = [_view(path, limit, cut=cut) for path in (a, b)]
    with believing(f"{a} beside {b}"):
        diff = Diff(*views)
        lines = list(as_lines(diff))
    for line in lines:
        print(line)
    return 0 if diff.same else 1


def _view(path: Path, limit: int, *, cut: bool) -> RunView:
    trace = open_trace(path, limit=limit, cut=cut)
    with believing(str(path)):
        return RunView(Run(trace=trace, verdicts=judge(trace.events)))
