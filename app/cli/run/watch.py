"""``trunkline watch``: the app over a trace that is still being written, or over a gateway that is running."""

import os
import sys
from pathlib import Path
from time import sleep
from typing import Annotated

from cyclopts import Parameter

from trunkline.app.cli.io.terminal import can_draw
from trunkline.app.cli.io.trace_input import STDIN
from trunkline.app.cli.options import (
    DEFAULT_LOOKS,
    DEFAULT_PLUGINS,
    Flag,
    Looks,
    LooksOptions,
    PluginOptions,
    check_at_least,
)
from trunkline.app.runs.live_run import Budget, Feed, GrowingTrace, LiveRun
from trunkline.app.runs.scenario_source import SimSource
from trunkline.app.terminal.output import print_error
from trunkline.core.errors import UsageError
from trunkline.core.events import TraceHeader, encode_event
from trunkline.core.events.trace import encode_header
from trunkline.sim import scenario_home
from trunkline.sim.plugins import Toolbox

#: seconds between two looks at the trace of a gateway, for pipes and for logs of continuous integration
_EVERY = 0.05
#: a trace file, ``-``, or the address of a gateway
TraceOrUrl = Annotated[str, Parameter(allow_leading_hyphen=True)]
_INSTEAD = (
    "`trunkline report FILE --plain` prints the whole run as text once it has ended, "
    "`tail -f FILE` its lines as they come"
)


def watch_trace(
    file: TraceOrUrl,
    /,
    *,
    plain: Flag = False,
    token_file: Path | None = None,
    limit: int = 256,
    plugins: PluginOptions = DEFAULT_PLUGINS,
    looks: LooksOptions = DEFAULT_LOOKS,
) -> int:
    """Follow a gateway that is running, or the trace of a run that is still going on.

    Exit code: 0 all held when you left, 1 something was violated.

    :param file: A trace that is being written, or will be; `-` reads it from a pipe. Or the address of a gateway that
        is running, e.g. `http://127.0.0.1:8420`: it is looked at, and never changed.
    :param plain: With an address: write the trace to standard output, line by line. Not available for a file.
    :param token_file: With an address: the file that holds its token. By default the variable `TRUNKLINE_TOKEN`, else
        the file that `trunkline serve` made.
    :param limit: Stop reading after this many MiB of trace. A gateway is shown from the start again from then on.
    """
    check_at_least(1, limit=limit)
    if file.lower().startswith(("http://", "https://")):
        return _watch_gateway(file, token_file, plain=plain, limit=limit, tools=plugins.toolbox, looks=looks)
    if file.startswith(("postgresql://", "postgres://")):
        raise UsageError("a store is not watched, but its gateway: name the address of that, http://HOST:PORT")
    if token_file is not None:
        raise UsageError("--token-file goes with the address of a gateway")
    return _watch_file(Path(file), plain=plain, limit=limit, tools=plugins.toolbox, looks=looks)


def _watch_gateway(url: str, token_file: Path | None, *, plain: bool, limit: int, tools: Toolbox, looks: Looks) -> int:
    if not plain and not can_draw():
        raise UsageError("no terminal to draw on: --plain writes the trace of the gateway to standard output")
    from trunkline.app.runs.watched_gateway import watched_gateway

    feed = watched_gateway(url, token_file, limit=limit)
    if plain:
        return _write_as_it_comes(feed)
    from trunkline.app.tui import launch_live

    return launch_live(
        SimSource((scenario_home(),), tools), LiveRun(feed, tools.checkers), ascii=looks.ascii, theme=looks.theme
    )


def _write_as_it_comes(feed: GrowingTrace) -> int:
    """Write a trace on standard output until it ends, or the reader leaves.

    Exit code 2 where events are missing, or the trace broke off.
    """
    out = sys.stdout.buffer
    try:
        out.write(encode_header(feed.header or TraceHeader(scenario=feed.name)) + b"\n")
        while True:
            events = feed.pull(Budget(1_000, 1.0))
            if feed.pop_new_run():
                # A trace has no holes: two of them in one file would be refused.
                print_error(f"trunkline: {feed.waiting_for()}: the trace ends here")
                return 2
            for event in events:
                out.write(encode_event(event) + b"\n")
            if events:
                continue
            out.flush()
            if feed.over:
                print_error(f"trunkline: {feed.problem}")
                return 2
            sleep(_EVERY)
    except (KeyboardInterrupt, BrokenPipeError):
        return 0
    finally:
        feed.close()


def _watch_file(file: Path, *, plain: bool, limit: int, tools: Toolbox, looks: Looks) -> int:
    if plain:
        raise UsageError(f"watch follows a run on a screen, it has no plain report: {_INSTEAD}")
    fd = _from_pipe() if file == STDIN else None
    if not can_draw():
        raise UsageError(f"no terminal to draw on: {_INSTEAD}")
    from trunkline.app.tui import launch_live

    live = LiveRun(Feed(file if fd is None else None, fd=fd, limit=limit), tools.checkers)
    return launch_live(SimSource((scenario_home(),), tools), live, ascii=looks.ascii, theme=looks.theme)


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
