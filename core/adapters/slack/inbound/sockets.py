"""Socket Mode: the WebSockets on which Slack delivers updates, each with an envelope to acknowledge later.

The library's own client is not used: it reconnects in a loop of its own without end, and its `connect` never fails.
Here a socket that breaks, or that answers no ping, ends the stream with an error, and the gateway connects again.
When Slack asks for a new socket (a ``disconnect`` message, docs.slack.dev/apis/events-api/using-socket-mode), it is
opened before the old socket closes, so that nothing has to wait.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import aiohttp
from aiohttp import ClientWebSocketResponse, ClientWSTimeout, WSMsgType

from trunkline.core.adapters.slack.web import SlackWeb
from trunkline.core.errors import NotSent, PlatformError, Refused

#: bytes of a message of a socket; a longer message breaks the socket
_LARGEST = 64 * 1024 * 1024
#: seconds to wait for the other side when a socket is closed
_CLOSING = 1.0
#: why Slack asks for a new socket while the old socket still works
_REFRESH = frozenset({"warning", "refresh_requested"})
#: Socket Mode was switched off
_OFF = "link_disabled"


@dataclass(frozen=True, slots=True)
class Frame:
    #: None: it was no JSON object
    data: dict[str, Any] | None
    socket: ClientWebSocketResponse
    #: bytes, about
    size: int

    @property
    def envelope_id(self) -> str | None:
        """The id for an acknowledgement; None for a frame without need of any."""
        found = None if self.data is None else self.data.get("envelope_id")
        return found if isinstance(found, str) else None

    async def acknowledge(self) -> None:
        """Acknowledge the frame on the same socket. Raises `NotSent` on a closed socket: then Slack delivers again."""
        if self.envelope_id is None:
            return
        try:
            await self.socket.send_str(json.dumps({"envelope_id": self.envelope_id}))
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            raise NotSent(f"the socket is closed: {type(error).__name__}") from error


#: what the sockets of one connection bring; an error is the end
Frames = asyncio.Queue[Frame | PlatformError]


class SocketMode:
    def __init__(self, web: SlackWeb, app_token: str, *, timeout: float, ping_every: float) -> None:
        self._web = web
        self._app_token = app_token
        self._timeout = timeout
        self._ping_every = ping_every

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Frames]:
        """Open a socket and its successors. Raises `PlatformError` without a first socket."""
        readers = _Readers(self)
        try:
            readers.start(await self.dial())
            yield readers.frames
        finally:
            await readers.close()

    async def dial(self) -> ClientWebSocketResponse:
        """A new socket on which Slack has said hello."""
        url = (await self._web.call("apps.connections.open", app_token=self._app_token)).get("url")
        if not isinstance(url, str):
            raise NotSent("Slack named no address for a socket")
        try:
            async with asyncio.timeout(self._timeout):
                socket = await self._web.session.ws_connect(
                    url,
                    heartbeat=self._ping_every,
                    max_msg_size=_LARGEST,
                    timeout=ClientWSTimeout(ws_close=_CLOSING),  # pyright: ignore[reportCallIssue] -- an attrs class
                    proxy=self._web.proxy,
                )
                try:
                    await _hello(socket)
                except BaseException:
                    await socket.close()
                    raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NotSent(f"no socket: {type(error).__name__}") from error
        return socket


class _Readers:
    def __init__(self, mode: SocketMode) -> None:
        self.frames: Frames = asyncio.Queue()
        self._mode = mode
        self._tasks: set[asyncio.Task[None]] = set()
        #: the newest socket; when an older socket closes, nothing is lost
        self._current: ClientWebSocketResponse | None = None

    def start(self, socket: ClientWebSocketResponse) -> None:
        self._current = socket
        self._spawn(self._read(socket))

    async def close(self) -> None:
        """End all readers, each of which closes a socket."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, socket: ClientWebSocketResponse) -> None:
        try:
            while True:
                message = await socket.receive()
                if message.type is WSMsgType.TEXT:
                    await self._take(cast("str", message.data), socket)
                elif message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR):
                    break
            if socket is self._current:
                why = socket.exception()
                self._end(NotSent(f"the socket broke: {type(why).__name__ if why else 'closed'}"))
        except Exception as error:  # noqa: BLE001 -- whatever ends a reader ends the connection
            self._end(NotSent(f"the socket cannot be read: {type(error).__name__}"))
        finally:
            await socket.close()

    async def _take(self, text: str, socket: ClientWebSocketResponse) -> None:
        data = parsed(text)
        kind = None if data is None else data.get("type")
        if kind == "hello":
            return
        if kind == "disconnect":
            self._asked_to_leave(str((data or {}).get("reason")), socket)
            return
        self.frames.put_nowait(Frame(data, socket, len(text)))

    def _asked_to_leave(self, reason: str, socket: ClientWebSocketResponse) -> None:
        if socket is not self._current:
            return
        if reason in _REFRESH:
            # From here on, the end of the old socket is no news.
            self._current = None
            self._spawn(self._refresh())
        else:
            self._end(Refused("Socket Mode is off") if reason == _OFF else NotSent("Slack closes the socket"))

    async def _refresh(self) -> None:
        try:
            self.start(await self._mode.dial())
        except PlatformError as error:
            self._end(error)
        except Exception as error:  # noqa: BLE001 -- without a successor nothing would ever come again
            self._end(NotSent(f"no socket: {type(error).__name__}"))

    def _end(self, error: PlatformError) -> None:
        self.frames.put_nowait(error)


def parsed(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object of a text, also with lone surrogates; None for any other text."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


async def _hello(socket: ClientWebSocketResponse) -> None:
    """Wait until Slack has said hello. Raises `NotSent` for anything else."""
    message = await socket.receive()
    data = parsed(cast("str", message.data)) if message.type is WSMsgType.TEXT else None
    if data is None or data.get("type") != "hello":
        raise NotSent("Slack did not say hello")
