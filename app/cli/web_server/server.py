"""textual-serve on loopback only: its page loads nothing from outside, and pages of other sites get no response."""

from __future__ import annotations

import socket
from asyncio import wait_for
from contextlib import suppress
from pathlib import Path

import textual_serve.server
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from textual_serve.app_service import AppService
from textual_serve.server import Server

from trunkline.app.terminal.output import print_lines

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
        """Stop the process and wait for its end."""
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
            self._make_app(),
            sock=self._listening,
            print=lambda *_: None,
            access_log=None,
            shutdown_timeout=_PATIENCE,
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
