"""``trunkline web``: serves the app to a browser on this machine. Each page that opens runs its own app."""

from __future__ import annotations

import shlex
import socket
import sys
from importlib.util import find_spec
from pathlib import Path

from trunkline.app.cli.io.trace_input import open_trace
from trunkline.app.cli.options import DEFAULT_LOOKS, Flag, Looks, LooksOptions
from trunkline.core.errors import UsageError
from trunkline.sim import find_scenarios

#: fixed, because a client that reaches the app can read runs and write files
LOOPBACK = "127.0.0.1"


def serve_app(
    *paths: Path, trace: Path | None = None, cut: Flag = False, port: int = 0, looks: LooksOptions = DEFAULT_LOOKS
) -> int:
    """Serve the app to a browser on this machine. Prints the address; Ctrl-C ends it.

    Parameters
    ----------
    paths:
        Scenario files or folders, as the app takes them; by default the tour.
    trace:
        Open this trace instead.
    cut:
        Open a truncated trace as far as it goes.
    port:
        Port on 127.0.0.1; 0 takes a free one.
    """
    if find_spec("textual_serve") is None:
        raise UsageError("the browser needs textual-serve, not installed: pip install 'trunkline[web]'")
    command = command_of(paths, looks, trace=trace, cut=cut)
    _check(paths, trace, looks.theme, cut=cut)
    with _listen(port) as listening:
        from trunkline.app.cli.web_server.server import LoopbackServer

        LoopbackServer(command, listening).serve()
    return 0


def command_of(paths: tuple[Path, ...], looks: Looks, *, trace: Path | None, cut: bool = False) -> str:
    """The command line that a page runs; without paths and trace, that of the tour."""
    if trace is not None and paths:
        raise UsageError("--trace and scenarios exclude each other: a page opens one or the other")
    if trace is not None:
        words = ["replay", str(trace), *(["--cut"] if cut else [])]
    else:
        words = [str(path) for path in paths] or ["tour"]
    words += ["--ascii"] if looks.ascii else []
    words += ["--theme", looks.theme] if looks.theme is not None else []
    return shlex.join([sys.executable, "-m", "trunkline", *words])


def _check(paths: tuple[Path, ...], trace: Path | None, theme: str | None, *, cut: bool) -> None:
    if trace is not None:
        open_trace(trace, cut=cut)
    for path in paths:
        if not path.exists():
            raise UsageError(f"{str(path)!r} is not a file or folder of scenarios")
    if paths:
        find_scenarios(paths)
    if theme is not None:
        from trunkline.app.tui.app import check_theme

        check_theme(theme)


def _listen(port: int) -> socket.socket:
    """Bind before the address is printed, so that no other program takes the port in between."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        # From here on the first page waits in the backlog, however long the server takes to start.
        listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        why = error.strerror if isinstance(error, OSError) else "not a port"
        raise UsageError(f"port {port} on {LOOPBACK}: {why}; --port 0 takes a free one") from error
    return listening
