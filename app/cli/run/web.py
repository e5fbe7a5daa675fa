"""``trunkline web``: the app in a browser of this machine. Each page that is opened is an app of its own."""

from __future__ import annotations

import shlex
import socket
import sys
from importlib.util import find_spec
from pathlib import Path

from trunkline.app.cli.io.trace_input import open_trace
from trunkline.core.errors import UsageError
from trunkline.sim import find_scenarios

#: never another one: whoever reaches the app can read runs and write files
LOOPBACK = "127.0.0.1"


def serve_app(
    paths: tuple[Path, ...],
    *,
    trace: Path | None,
    cut: bool,
    port: int,
    ascii: bool,  # noqa: A002
    theme: str | None,
) -> int:
    """Serve until ctrl-c. What cannot be opened is told before anything is served."""
    if find_spec("textual_serve") is None:
        raise UsageError("the browser needs the package textual-serve, which is not installed: trunkline[web] has it")
    command = command_of(paths, trace=trace, cut=cut, ascii=ascii, theme=theme)
    _check(paths, trace, theme, cut=cut)
    with _listen(port) as listening:
        from trunkline.app.cli.web_server.server import LoopbackServer

        LoopbackServer(command, listening).serve()
    return 0


def command_of(
    paths: tuple[Path, ...],
    *,
    trace: Path | None,
    cut: bool = False,
    ascii: bool,  # noqa: A002
    theme: str | None,
) -> str:
    """The command line that a page runs. Without paths and trace it is the tour."""
    if trace is not None and paths:
        raise UsageError("--trace and scenarios exclude each other: a page opens one or the other")
    if trace is not None:
        words = ["replay", str(trace), *(["--cut"] if cut else [])]
    else:
        words = [str(path) for path in paths] or ["tour"]
    words += ["--ascii"] if ascii else []
    words += ["--theme", theme] if theme is not None else []
    return shlex.join([sys.executable, "-m", "trunkline", *words])


def _check(paths: tuple[Path, ...], trace: Path | None, theme: str | None, *, cut: bool) -> None:
    if trace is not None:
        open_trace(trace, cut=cut)
    for path in paths:
        if not path.exists():
            raise UsageError(f"{str(path)!r} is no file or folder of scenarios")
    if paths:
        find_scenarios(paths)
    if theme is not None:
        from trunkline.app.tui.app import check_theme

        check_theme(theme)


def _listen(port: int) -> socket.socket:
    """Bound before the address is printed, so that nobody else can take it in between."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        # From here on the first page waits in line, however long the server takes to start.
        listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        why = error.strerror if isinstance(error, OSError) else "not a port"
        raise UsageError(f"port {port} on {LOOPBACK}: {why}; --port 0 takes a free one") from error
    return listening
