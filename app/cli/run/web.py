"""``trunkline web``: serves the app to a browser on this machine. Each page that opens runs its own app."""

import shlex
import socket
import sys
from asyncio import wait_for
from contextlib import suppress
from pathlib import Path

from trunkline.app.cli.io.trace_input import open_trace
from trunkline.app.cli.options import DEFAULT_LOOKS, Flag, Looks, LooksOptions
from trunkline.app.terminal.output import print_lines
from trunkline.core.errors import UsageError
from trunkline.sim import find_scenarios

try:
    import textual_serve.server
    from aiohttp import web
    from aiohttp.typedefs import Handler, Middleware
    from textual_serve.app_service import AppService
    from textual_serve.server import Server
except ModuleNotFoundError as error:
    raise UsageError("the browser needs textual-serve, not installed: pip install 'trunkline[web]'") from error

# textual-serve on loopback only: its page loads nothing from outside, and pages of other sites get no response.

#: seconds for the apps of open pages to end after Ctrl-C
_PATIENCE = 2.0


class AwaitedAppService(AppService):
    """The process behind a page. Notifies the page when it ends, and is awaited when it is stopped."""

    async def run(self) -> None:
        """Run until the process ends, then close the page."""
        await super().run()
        with suppress(ConnectionError):
            await self.remote_close()

    async def stop(self) -> None:
        await super().stop()
        process = self._process
        if process is None or process.returncode is not None:
            return
        try:
            await wait_for(process.wait(), _PATIENCE)
        except TimeoutError:
            process.kill()
            await process.wait()


# The server looks up the class under this name.
textual_serve.server.AppService = AwaitedAppService  # pyright: ignore[reportPrivateImportUsage]


class LoopbackServer(Server):
    """Serves one command on a bound socket."""

    def __init__(self, command: str, listening: socket.socket) -> None:
        host, port = listening.getsockname()
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            command, host=host, port=port, title="Trunkline", templates_path=Path(__file__).parent
        )
        self._listening = listening

    async def _make_app(self) -> web.Application:
        application = await super()._make_app()
        application.middlewares.append(only_from(self.port))
        return application

    async def on_startup(self, app: web.Application) -> None:
        """Print the address; a program that started the server may wait for this line."""
        print_lines(f"Trunkline is at {self.public_url}  (this machine only; Ctrl-C ends it)", flush=True)

    def serve(self, debug: bool = False) -> None:
        self.debug = debug
        web.run_app(
            self._make_app(), sock=self._listening, print=lambda *_: None, access_log=None, shutdown_timeout=_PATIENCE
        )


def only_from(port: int) -> Middleware:
    """Refuse requests of pages of other sites, which have another Host or Origin."""
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
    origins = {f"http://{host}" for host in hosts}

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        origin = request.headers.get("Origin")
        if request.headers.get("Host") not in hosts or (origin is not None and origin not in origins):
            raise web.HTTPForbidden(text="only pages of this server are allowed\n")
        return await handler(request)

    return check


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
    command = command_of(paths, looks, trace=trace, cut=cut)
    _check(paths, trace, looks.theme, cut=cut)
    with _listen(port) as listening:
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
