"""The HTTP server: uvicorn in the task group of its caller, on sockets that are open already."""

from __future__ import annotations

import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import anyio
import anyio.abc
import uvicorn
from starlette.types import ASGIApp

from trunkline.core.http.connection import connection_type
from trunkline.core.http.served import Served
from trunkline.core.http.settings import HttpSettings


class _Uvicorn(uvicorn.Server):
    """A server that leaves signals to its process, and says when it accepts connections."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.accepting = anyio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.accepting.set()


class HttpServer:
    """Serves an application until it is cancelled or stopped; requests in work are finished first, within a time."""

    def __init__(self, app: ASGIApp, served: Served, settings: HttpSettings) -> None:
        self._served = served
        limits = settings.limits
        config = uvicorn.Config(
            app,
            http=connection_type(limits),
            ws="websockets-sansio",
            ws_max_size=limits.frame,
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=int(limits.idle_time),
            timeout_graceful_shutdown=max(1, int(limits.stop_time)),
            ssl_context_factory=None if settings.tls is None else (lambda _config, _default: settings.tls),  # pyright: ignore[reportArgumentType]
        )
        self._uvicorn = _Uvicorn(config)
        self._stop = anyio.Event()
        #: set when the last connection is closed
        self.ended = anyio.Event()

    def stop(self, *, at_once: bool = False) -> None:
        """Take no more connections, finish requests in work unless it is to be `at_once`, and end `run`."""
        self._uvicorn.force_exit = self._uvicorn.force_exit or at_once
        self._stop.set()

    async def run(
        self,
        sockets: Sequence[socket.socket],
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve on listening sockets, which are closed in the end. Started, it accepts connections."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._serve, sockets, name="uvicorn")
            try:
                await self._uvicorn.accepting.wait()
                task_status.started()
                await self._stop.wait()
            finally:
                self._served.stopping.set()
                self._uvicorn.should_exit = True

    async def _serve(self, sockets: Sequence[socket.socket]) -> None:
        with anyio.CancelScope(shield=True):
            try:
                await self._uvicorn.serve(list(sockets))
            finally:
                self.ended.set()
