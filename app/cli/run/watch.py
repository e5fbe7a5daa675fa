"""``trunkline watch``: the app over a trace that is still being written."""

from __future__ import annotations

import os
import sys

from trunkline.app.cli.io.terminal import can_draw
from trunkline.app.cli.io.trace_input import STDIN
from trunkline.app.cli.options import DEFAULT_LOOKS, Flag, LooksOptions, TraceFile
from trunkline.app.runs.live_run import LiveRun
from trunkline.app.runs.scenario_source import SimSource
from trunkline.app.runs.trace_follower import Feed
from trunkline.core.errors import UsageError
from trunkline.sim import scenario_home

_INSTEAD = (
    "`trunkline report FILE --plain` prints the whole run as text once it has ended, "
    "`tail -f FILE` its lines as they come"
)


def watch_trace(
    file: TraceFile, /, *, plain: Flag = False, limit: int = 256, looks: LooksOptions = DEFAULT_LOOKS
) -> int:
    """Follow the trace of a run that is still going on.

    Exit code: 0 all held when you left, 1 something was violated.

    Parameters
    ----------
    file:
        A trace that is being written, or will be; `-` reads it from a pipe.
    plain:
        Not available here: prints which command to use instead.
    limit:
        Stop reading after this many MiB of trace.
    """
    if limit < 1:
        raise UsageError("--limit must be at least 1")
    if plain:
        raise UsageError(f"watch follows a run on a screen, it has no plain report: {_INSTEAD}")
    fd = _from_pipe() if file == STDIN else None
    if not can_draw():
        raise UsageError(f"no terminal to draw on: {_INSTEAD}")
    from trunkline.app.tui import launch_live

    live = LiveRun(Feed(file if fd is None else None, fd=fd, limit=limit))
    return launch_live(SimSource((scenario_home(),)), live, ascii=looks.ascii, theme=looks.theme)


def _from_pipe() -> int:
    """Make the terminal standard input, for the keys, and return the descriptor of the piped trace."""
    if sys.stdin.isatty():
        raise UsageError("- reads a trace from standard input, and that is a terminal: pipe one in, or name a file")
    terminal = _terminal()
    trace = os.dup(sys.stdin.fileno())
    os.dup2(terminal, sys.stdin.fileno())
    os.close(terminal)
    return trace


def _terminal() -> int:
    """The controlling terminal, else the one that standard output writes to."""
    try:
        return os.open("/dev/tty", os.O_RDWR)
    except OSError:
        if not sys.stdout.isatty():
            raise UsageError(f"no terminal to draw on: {_INSTEAD}") from None
    return os.open(os.ttyname(sys.stdout.fileno()), os.O_RDWR | os.O_NOCTTY)
