"""textual-serve, kept to this machine: its page asks for nothing from outside, other sites' pages get nothing."""

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

#: seconds that pages get to end their apps after ctrl-c
_PATIENCE = 2.0


class Awaited(AppService):
    """The process behind a page, which is waited for; and when it has ended, the page is told."""

    async def run(self) -> None:
        """Until the process ends, however it does."""
        await super().run()
        with suppress(ConnectionError):
            await self.remote_close()

    async def stop(self) -> None:
        """Nothing of it is left when this returns."""
        await super().stop()
        process = self._process
        if process is None or process.returncode is not None:
            return
        try:
            await wait_for(process.wait(), _PATIENCE)
        except TimeoutError:
            process.kill()
            await process.wait()


# It is the name by which the server finds what starts a process.
textual_serve.server.AppService = Awaited  # pyright: ignore[reportPrivateImportUsage]


class LoopbackServer(Server):
    """Serves one command on a socket that is bound already."""

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
        """Say where it is; whoever started it may be a program that waits for this line."""
        print(f"Trunkline is at {self.public_url}  (this machine only; ctrl-c ends it)", flush=True)

    def serve(self, debug: bool = False) -> None:
        """Serve until a signal comes."""
        self.debug = debug
        web.run_app(
            self._make_app(),
            sock=self._listening,
            print=lambda *_: None,
            access_log=None,
            shutdown_timeout=_PATIENCE,
        )


def only_from(port: int) -> Middleware:
    """Refuse what a page of another site asks for: a browser tells by Host and Origin whom it believes to speak to."""
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
    origins = {f"http://{host}" for host in hosts}

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        origin = request.headers.get("Origin")
        if request.headers.get("Host") not in hosts or (origin is not None and origin not in origins):
            raise web.HTTPForbidden(text="only pages of this server may ask\n")
        return await handler(request)

    return check
