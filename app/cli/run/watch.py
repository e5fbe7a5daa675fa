"""``trunkline watch``: the app over a trace that is still being written."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from trunkline.app.cli.io.terminal import can_draw
from trunkline.app.cli.io.trace_input import STDIN
from trunkline.app.runs.live_run import LiveRun
from trunkline.app.runs.scenario_source import SimSource
from trunkline.app.runs.trace_follower import Feed
from trunkline.core.errors import UsageError
from trunkline.sim import scenario_home

_INSTEAD = (
    "`trunkline report FILE --plain` tells the whole run as text once it has ended, "
    "`tail -f FILE` its lines as they come"
)


def watch_trace(file: Path, *, plain: bool, limit: int, ascii: bool, theme: str | None) -> int:  # noqa: A002
    """Follow a trace in the app. Returns 1 when something was violated by the time it was left."""
    if limit < 1:
        raise UsageError("--limit must be at least 1")
    if plain:
        raise UsageError(f"watch follows a run on a screen, it has no plain report: {_INSTEAD}")
    fd = _from_pipe() if file == STDIN else None
    if not can_draw():
        raise UsageError(f"no terminal to draw on: {_INSTEAD}")
    from trunkline.app.tui import launch_live

    live = LiveRun(Feed(file if fd is None else None, fd=fd, limit=limit))
    return launch_live(SimSource((scenario_home(),)), live, ascii=ascii, theme=theme)


def _from_pipe() -> int:
    """Standard input is the trace; the keys come from the terminal itself. The descriptor of the trace."""
    if sys.stdin.isatty():
        raise UsageError("- reads a trace from standard input, and that is a terminal: pipe one in, or name a file")
    terminal = _terminal()
    trace = os.dup(sys.stdin.fileno())
    os.dup2(terminal, sys.stdin.fileno())
    os.close(terminal)
    return trace


def _terminal() -> int:
    """The terminal that the command was given from, else the one that it writes to."""
    try:
        return os.open("/dev/tty", os.O_RDWR)
    except OSError:
        if not sys.stdout.isatty():
            raise UsageError(f"no terminal to draw on: {_INSTEAD}") from None
    return os.open(os.ttyname(sys.stdout.fileno()), os.O_RDWR | os.O_NOCTTY)
