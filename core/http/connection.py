"""A connection of the server: limits for what comes before there is a request, and problems for what is no HTTP."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from trunkline.core.http.endpoint import Departure
from trunkline.core.http.guard.joined_head import JoinedHead
from trunkline.core.http.problems import PROBLEM_JSON, Problem, document_of
from trunkline.core.http.settings import HttpLimits

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
    from uvicorn.server import ServerState

#: seconds that a body gets beyond its limit, in which the application answers that it is late
_GRACE = 5.0


class ClientConnection(HttpToolsProtocol):
    """Refuses heads that are too long or too slow, bodies that never end, and connections over the limit."""

    limits: HttpLimits

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        #: bytes of the request line and the headers so far; none while a body is read
        self._head: int | None = 0
        #: by when something must have come, on the clock of the loop; none: nothing is awaited
        self._deadline: float | None = None
        #: looks whether it is too late; one is enough for many deadlines, which nearly all are met
        self._clock: asyncio.TimerHandle | None = None
        self._departure = Departure()
        self._look: asyncio.TimerHandle | None = None
        self._refusal: Problem | None = None

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(Problem(503, "busy", "Too many connections are open.", headers={"Retry-After": "1"}))
            return
        self._await(self.limits.headers_time)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        if self._clock is not None:
            self._clock.cancel()
        self._stop_looking()
        super().connection_lost(exc)
        self._departure.tell()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._head is not None:
            if self._deadline is None:
                self._await(self.limits.headers_time)
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
        self.app_state = {**self.app_state, "abort": self._abort}
        self._stop_looking()
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser refused."""
        malformed = Problem(400, "malformed-request", "This is not HTTP/1.1, or a part of it is malformed.")
        self._refuse(self._refusal or malformed)

    # The parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        state = self.scope["state"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
        state["abort"] = self._abort
        state["takes"] = self._takes
        state["departure"] = self._departure
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
        self._await(self.limits.body_time + _GRACE)
        super().on_headers_complete()
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and cycle.transport is self.transport:
            cycle.transport = cast("asyncio.Transport", JoinedHead(self.transport, self.loop))
            self.scope["state"]["whole"] = lambda: not cycle.more_body  # pyright: ignore[reportTypedDictNotRequiredAccess]

    def on_message_complete(self) -> None:
        self._disarm()
        self._head = 0
        super().on_message_complete()

    # Limits

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self.limits.headers:
            self._stop(_TOO_LONG)

    def _stop(self, problem: Problem) -> None:
        """Let the parser stop: it takes any error of a callback for bad input."""
        self._refusal = problem
        raise ValueError(problem.slug)

    def _await(self, seconds: float) -> None:
        self._deadline = deadline = self.loop.time() + seconds
        if self._clock is not None and self._clock.when() > deadline:
            self._clock.cancel()
            self._clock = None
        if self._clock is None:
            self._clock = self.loop.call_at(deadline, self._late)

    def _disarm(self) -> None:
        self._deadline = None

    def _late(self) -> None:
        self._clock = None
        if self._deadline is None:
            return
        if self._deadline > self.loop.time():
            self._clock = self.loop.call_at(self._deadline, self._late)
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

    def _takes(self) -> bool:
        """Whether what is written now waits for nobody."""
        return not self.flow.write_paused

    def _abort(self) -> None:
        self.transport.abort()


_TOO_LONG = Problem(431, "headers-too-large", "The request line and the headers are too long.")


def connection_type(limits: HttpLimits) -> type[ClientConnection]:
    """The class of the connections of a server with these limits."""
    return type("LimitedConnection", (ClientConnection,), {"limits": limits})
