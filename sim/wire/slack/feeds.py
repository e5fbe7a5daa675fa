"""How Slack brings updates to an app: over its sockets, or to its address, each until it is acknowledged."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from aiohttp import WSMsgType, web

from trunkline.core.errors import PlatformError
from trunkline.core.values import Envelope
from trunkline.sim.loop import Node
from trunkline.sim.platforms.api.inbound_pushes import Connection
from trunkline.sim.wire.json_values import object_in
from trunkline.sim.wire.slack.hosts import SlackHost
from trunkline.sim.wire.slack.shapes import APP, callback_of, event_of, press_of
from trunkline.sim.wire.sockets import reset_transport

#: sockets that an app may have at once
MOST_SOCKETS = 10


@dataclass(slots=True, eq=False)
class OpenSocket:
    """A socket of an app, and the updates on it that are not acknowledged."""

    response: web.WebSocketResponse
    request: web.Request
    unacked: dict[str, Envelope] = field(default_factory=dict[str, Envelope])
    #: it answers nothing any more
    silent: bool = False


class UpdateFeed:
    """The updates of one account. A subclass brings them to the app."""

    def __init__(self, server: SlackHost, account: str) -> None:
        self.server = server
        self.account = account
        self.connection: Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connect(self) -> None:
        """Take updates from the platform from now on; what was not acknowledged comes again."""
        self.connection = self.server.platform.pushes.connect(self.account, Node("wire"))
        self.spawn(self._pump(self.connection))

    def disconnect(self) -> None:
        """Take no more updates."""
        connection, self.connection = self.connection, None
        if connection is not None:
            self.server.platform.pushes.disconnect(self.account, connection)

    def spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End the feed and its tasks."""
        self.disconnect()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pump(self, connection: Connection) -> None:
        while True:
            found = await connection.queue.get()
            if connection is not self.connection:
                return
            if isinstance(found, PlatformError):
                self.connection = None
                self.broken()
                return
            await self.bring(found)

    def payload(self, envelope: Envelope) -> tuple[bool, dict[str, Any]]:
        """Whether an update is an interaction, and its JSON."""
        server = self.server
        if envelope.pressed is not None:
            return True, press_of(server.platform, envelope, server.response_url(envelope))
        at = server.date(envelope.sent_at)
        return False, callback_of(server.platform, self.account, event_of(server.platform, envelope, at), at)

    async def bring(self, envelope: Envelope) -> None:
        """Bring an update to the app."""
        raise NotImplementedError

    async def bring_event(self, payload: dict[str, Any]) -> None:
        """Bring an event once that is no message of a person, such as an echo."""
        raise NotImplementedError

    def broken(self) -> None:
        """The connection to the app breaks."""


class SocketFeed(UpdateFeed):
    """Socket Mode. Each update goes to one of the open sockets, in turn."""

    def __init__(self, server: SlackHost, account: str) -> None:
        super().__init__(server, account)
        self.sockets: list[OpenSocket] = []
        #: seconds after which an update is brought again that nobody has acknowledged; None: only when its socket ends
        self.patience: float | None = None
        self._numbers = count(1 + server.world.ids_from)
        self._turns = count()
        #: updates that came when no socket could take them
        self._stranded: list[Envelope] = []

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """A socket, from its opening to its end."""
        response = web.WebSocketResponse(autoping=False, max_msg_size=1024 * 1024)
        await response.prepare(request)
        if len(self.sockets) >= MOST_SOCKETS:
            await response.send_str(json.dumps({"type": "disconnect", "reason": "too_many_websockets"}))
            return response
        socket = OpenSocket(response, request)
        if self.connection is None or self.connection.silent:
            self._go_silent()
            self.sockets.append(socket)
            await self._hello(socket)
            self.connect()
        else:
            self.sockets.append(socket)
            await self._hello(socket)
        try:
            await self._listen(socket)
        finally:
            self._forget_socket(socket)
        return response

    async def ask_to_leave(self, reason: str) -> None:
        """Ask the app on every socket to open another one, or say that Socket Mode is off (``link_disabled``)."""
        for socket in tuple(self.sockets):
            await self._send(socket, {"type": "disconnect", "reason": reason, "debug_info": {"host": "wire"}})

    async def bring(self, envelope: Envelope) -> None:
        interactive, payload = self.payload(envelope)
        socket = self._next()
        if socket is None:
            # Every socket is closing.
            self._stranded.append(envelope)
            return
        number = f"{self.account}-{next(self._numbers)}"
        socket.unacked[number] = envelope
        frame = {
            "type": "interactive" if interactive else "events_api",
            "envelope_id": number,
            "payload": payload,
            "accepts_response_payload": interactive,
        }
        await self._send(socket, frame if interactive else {**frame, "retry_attempt": 0, "retry_reason": ""})
        if self.patience is not None:
            when = self.server.world.now() + self.patience
            self.server.world.call_at(when, self._deliver_unanswered, socket, number)

    async def bring_event(self, payload: dict[str, Any]) -> None:
        socket = self._next()
        if socket is not None:
            number = f"{self.account}-{next(self._numbers)}"
            await self._send(
                socket,
                {
                    "type": "events_api",
                    "envelope_id": number,
                    "payload": payload,
                    "accepts_response_payload": False,
                    "retry_attempt": 0,
                    "retry_reason": "",
                },
            )

    async def bring_text(self, text: str) -> None:
        """Bring any text on one of the sockets."""
        socket = self._next()
        if socket is not None:
            await socket.response.send_str(text)

    def broken(self) -> None:
        """Reset every socket."""
        for socket in tuple(self.sockets):
            if socket.request.transport is not None:
                reset_transport(socket.request.transport)

    async def close(self) -> None:
        self.broken()
        await super().close()

    def _next(self) -> OpenSocket | None:
        living = [socket for socket in self.sockets if not socket.silent and not socket.response.closed]
        return living[next(self._turns) % len(living)] if living else None

    async def _hello(self, socket: OpenSocket) -> None:
        hello = {
            "type": "hello",
            "num_connections": len(self.sockets),
            "connection_info": {"app_id": APP},
            "debug_info": {"host": "wire", "approximate_connection_time": 18_060},
        }
        await self._send(socket, hello)

    async def _send(self, socket: OpenSocket, frame: dict[str, Any]) -> None:
        try:
            await socket.response.send_str(json.dumps(frame))
        except (ConnectionError, RuntimeError):
            # The socket is gone; its end brings what was on it again.
            return

    async def _listen(self, socket: OpenSocket) -> None:
        while True:
            message = await socket.response.receive()
            if self.server.calls is not None:
                self.server.calls.count_request("frames to Socket Mode")
            if socket.silent or (self.connection is not None and self.connection.silent):
                continue
            if message.type is WSMsgType.PING:
                await socket.response.pong(message.data)
            elif message.type is WSMsgType.TEXT:
                self._acknowledge(socket, cast("str", message.data))
            elif message.type is not WSMsgType.PONG:
                return

    def _acknowledge(self, socket: OpenSocket, text: str) -> None:
        try:
            number = str(object_in(text).get("envelope_id"))
        except ValueError:
            return
        envelope = socket.unacked.pop(number, None)
        if envelope is not None:
            self.server.platform.pushes.ack(envelope)

    def _deliver_unanswered(self, socket: OpenSocket, number: str) -> None:
        envelope = socket.unacked.pop(number, None)
        if envelope is not None and socket in self.sockets:
            self.server.platform.pushes.deliver_again(envelope)

    def _go_silent(self) -> None:
        """The sockets of a connection that went silent stay so."""
        for socket in self.sockets:
            socket.silent = True
        self.sockets = []

    def _forget_socket(self, socket: OpenSocket) -> None:
        if socket not in self.sockets:
            return
        self.sockets.remove(socket)
        if not self.sockets:
            # The next connection brings everything again that is not acknowledged.
            self._stranded.clear()
            self.disconnect()
            return
        stranded, self._stranded = self._stranded, []
        for envelope in (*socket.unacked.values(), *stranded):
            self.server.platform.pushes.deliver_again(envelope)
