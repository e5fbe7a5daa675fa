"""The HTTP server: uvicorn in the task group of its caller, on sockets that are open already.

Its connections have limits on the request head, and answer malformed HTTP with problems.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.abc
import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from trunkline.core.agents.log import Ration
from trunkline.core.http.clients import Disconnect
from trunkline.core.http.connections import RESERVED, Connections, Grant, Proxies
from trunkline.core.http.problems import PROBLEM_JSON, Problem, document_of, unavailable
from trunkline.core.http.served import Served
from trunkline.core.http.settings import HttpLimits, HttpSettings

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
    from uvicorn.server import ServerState

LOG = logging.getLogger("trunkline.http")
#: what the log says of a crowd, at most every ten seconds
_CROWDED = {"busy": "new connections are refused", "evicted": "idle connections are closed for new ones"}
#: seconds that a body gets beyond its limit, in which the application answers that it is late
_GRACE = 5.0


class ClientConnection(HttpToolsProtocol):
    """Server connection with limits on the request head, and problem responses for malformed HTTP.

    Refuses heads that are too long or too slow, bodies that never end, and connections over the limit.
    """

    limits: HttpLimits
    all: Connections
    #: called with the type of a problem, for which a connection is closed
    report: Callable[[str], None]

    def __init__(
        self,
        config: "Config",
        server_state: "ServerState",
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        #: bytes of the request line and the headers so far; none while a body is read
        self._head: int | None = 0
        #: the time by which the client must have sent something, on the clock of the loop; none: nothing is awaited
        self._deadline: float | None = None
        #: timer that checks the deadline; re-armed lazily, since most deadlines are met
        self._timer: asyncio.TimerHandle | None = None
        self._disconnect = Disconnect()
        self._look: asyncio.TimerHandle | None = None
        self._refusal: Problem | None = None
        #: only the paths that have a reserve are answered
        self._reserved = False

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        place = self.all.add(transport, self.client and self.client[0])
        self._reserved = place is Grant.RESERVED
        if place is Grant.NONE:
            self._refuse(_BUSY)
            return
        self._set_deadline(self.limits.headers_time)

    def connection_lost(self, exc: Exception | None) -> None:
        self.all.remove(self.transport)
        self._disarm()
        if self._timer is not None:
            self._timer.cancel()
        self._stop_looking()
        super().connection_lost(exc)
        self._disconnect.notify()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._head is not None:
            if self._deadline is None:
                self._set_deadline(self.limits.headers_time)
            self._head += len(data)
        super().data_received(data)
        # What the parser keeps of an endless header is counted here: it is only reported once the header has ended.
        if self._head is not None and self._head > self.limits.headers and not self.transport.is_closing():
            self._refuse(_TOO_LONG)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look_at_reader()

    def resume_writing(self) -> None:
        self._stop_looking()
        super().resume_writing()

    def handle_websocket_upgrade(self) -> None:
        self._disarm()
        # A WebSocket that has lagged is cut, as a request is whose answer is not read.
        transport = self.transport
        self.app_state = {**self.app_state, "abort": self._abort, "in_use": lambda: self.all.use(transport)}
        self._stop_looking()
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        malformed = Problem(400, "malformed-request", "This is not HTTP/1.1, or a part of it is malformed.")
        self._refuse(self._refusal or malformed)

    # The parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        state = self.scope["state"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
        state["abort"] = self._abort
        state["is_writable"] = self._is_writable
        state["disconnect"] = self._disconnect
        self._size = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > self.limits.target:
            self._stop(Problem(414, "address-too-long", f"Path and query are longer than {self.limits.target} bytes."))
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count(len(name) + len(value) + 4)

    def on_headers_complete(self) -> None:
        self._head = None
        if self._reserved and not self.url.startswith(_RESERVED):
            self._stop(_BUSY)
        self._set_deadline(self.limits.body_time + _GRACE)
        super().on_headers_complete()
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and cycle.transport is self.transport:
            cycle.transport = cast("asyncio.Transport", _JoinedHead(self.transport, self.loop))
            self.scope["state"]["whole"] = lambda: not cycle.more_body  # pyright: ignore[reportTypedDictNotRequiredAccess]

    def on_message_complete(self) -> None:
        self._disarm()
        self._head = 0
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_complete:
            self.all.use(self.transport)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self.pipeline:
            self.all.rest(self.transport)
        super().on_response_complete()

    # Limits

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self.limits.headers:
            self._stop(_TOO_LONG)

    def _stop(self, problem: Problem) -> None:
        """Let the parser stop: it takes any error of a callback for bad input."""
        self._refusal = problem
        raise ValueError(problem.slug)

    def _set_deadline(self, seconds: float) -> None:
        self._deadline = deadline = self.loop.time() + seconds
        if self._timer is not None and self._timer.when() > deadline:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self.loop.call_at(deadline, self._check_deadline)

    def _disarm(self) -> None:
        self._deadline = None

    def _check_deadline(self) -> None:
        self._timer = None
        if self._deadline is None:
            return
        if self._deadline > self.loop.time():
            self._timer = self.loop.call_at(self._deadline, self._check_deadline)
            return
        self._deadline = None
        self._refuse(Problem(408, "request-timeout", "The request did not come within its time."))

    def _look_at_reader(self, before: int | None = None) -> None:
        """Cut a client that has read nothing for a while, in which what is written to it waits in memory."""
        waiting = self.transport.get_write_buffer_size()
        if waiting == before:
            self._abort()
            return
        self._look = self.loop.call_later(self.limits.write_time, self._look_at_reader, waiting)

    def _stop_looking(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def _refuse(self, problem: Problem) -> None:
        """Answer, unless an answer is being sent, and close the connection."""
        self.report(problem.slug)
        self._disarm()
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_complete:
            if cycle.response_started:
                self._abort()
                return
            # Its task waits for the rest of the body, and ends as if the client had gone.
            cycle.disconnected = True
            cycle.message_event.set()
        content = msgspec.json.encode(document_of(problem, ""))
        lines = [
            f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}",
            f"content-type: {PROBLEM_JSON}",
            f"content-length: {len(content)}",
            *(f"{name.lower()}: {value}" for name, value in problem.headers.items()),
            "connection: close",
        ]
        self.transport.write("\r\n".join([*lines, "", ""]).encode("latin-1") + content)
        self.transport.close()

    def _is_writable(self) -> bool:
        """Whether a write returns at once, because the client reads."""
        return not self.flow.write_paused

    def _abort(self) -> None:
        self.transport.abort()


class _JoinedHead:
    """A transport that writes the head of an answer together with the beginning of its body: one packet, one call.

    The head waits for the body until the loop turns.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head: bytes | None = None
        self._begun = False

    def write(self, data: bytes) -> None:
        """Write, or keep the head for a moment."""
        if not self._begun:
            self._begun = True
            self._head = data
            self._loop.call_soon(self._flush)
        elif self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head + data)
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Close the connection once everything is written."""
        self._flush()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def _flush(self) -> None:
        if self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head)


_BUSY = unavailable("busy", "Too many connections are open.")
_RESERVED = tuple(path.encode() for path in RESERVED)
_TOO_LONG = Problem(431, "headers-too-large", "The request line and the headers are too long.")


class ClientSocket(WebSocketsSansIOProtocol):
    all: Connections

    def connection_lost(self, exc: Exception | None) -> None:
        self.all.remove(self.transport)
        super().connection_lost(exc)


class _Uvicorn(uvicorn.Server):
    """A server that leaves signals to its process, and says when it accepts connections."""

    def __init__(self, config: uvicorn.Config, backlog: int) -> None:
        super().__init__(config)
        self.accepting = anyio.Event()
        self._backlog = backlog

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio has one number for the queue of the system and for what it accepts in a turn; the queue may be longer.
        for listening in sockets or ():
            listening.listen(self._backlog)
        self.accepting.set()


class HttpServer:
    """A server, until it is cancelled or stopped: requests in work are finished first, within a time."""

    def __init__(self, app: ASGIApp, served: Served, settings: HttpSettings) -> None:
        self._served = served
        limits = settings.limits
        every = Connections(limits, Proxies(settings.trusted_proxies), self._report)
        self._ration = Ration(0.1, 1, served.env.steady())
        shared = {"limits": limits, "all": every, "report": self._report}
        config = uvicorn.Config(
            app,
            http=type("LimitedConnection", (ClientConnection,), shared),
            ws=type("LimitedSocket", (ClientSocket,), {"all": every}),
            backlog=limits.accepts,
            ws_max_size=limits.frame,
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
            server_header=False,
            timeout_keep_alive=int(limits.idle_time),
            timeout_graceful_shutdown=max(1, int(limits.stop_time)),
            ssl_context_factory=None if settings.tls is None else (lambda _config, _default: settings.tls),  # pyright: ignore[reportArgumentType]
        )
        self._uvicorn = _Uvicorn(config, limits.backlog)
        self._stop = anyio.Event()
        #: set when the last connection is closed
        self.ended = anyio.Event()

    def _report(self, reason: str) -> None:
        """Count a connection that was closed; a crowd gets a line in the log."""
        self._served.metrics.refused.add(reason)
        if reason in _CROWDED and self._ration.spend(1, self._served.env.steady()):
            LOG.warning("too many connections, of one address or of all: %s", _CROWDED[reason])

    def stop(self, *, at_once: bool = False) -> None:
        """Take no more connections, finish requests in work unless it is to be `at_once`, and end `run`."""
        self._uvicorn.force_exit = self._uvicorn.force_exit or at_once
        self._stop.set()

    async def run(
        self, sockets: Sequence[socket.socket], *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
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
