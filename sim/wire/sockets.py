"""Sockets on loopback, and their failures: a response that never comes, comes in half, or byte by byte."""

import asyncio
import socket
import struct

from aiohttp import web

HOST = "127.0.0.1"
#: seconds that requests have to end when a server closes; for aiohttp, none would be for ever
_TO_END = 0.05
#: a response that comes byte by byte is written in at most so many pieces, so that its time is kept
_MOST_PIECES = 500


class LoopbackSite:
    """A server on loopback, which can be closed, and opened again on the same port."""

    def __init__(self) -> None:
        #: also while it is closed; 0 before it was ever open
        self.port = 0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The address of the server; empty before it was ever open."""
        return f"http://{HOST}:{self.port}" if self.port else ""

    def app(self) -> web.Application:
        raise NotImplementedError

    async def open(self, port: int = 0) -> None:
        """Listen; port 0 takes a free one, and later the same one again. Raises `OSError` for a port that is taken."""
        if self._runner is not None:
            return
        runner = self._runner = web.AppRunner(
            self.app(), handler_cancellation=True, access_log=None, shutdown_timeout=_TO_END
        )
        await runner.setup()
        await web.TCPSite(runner, HOST, port or self.port, reuse_address=True).start()
        self.port = runner.addresses[0][1]

    async def close(self) -> None:
        """Close the socket and all connections: new connections are refused, until `open`."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await self.end()
            await runner.cleanup()

    async def end(self) -> None:
        """End what runs beside the requests, before the socket closes."""


class ResponseWithheld(Exception):
    """The connection of a request is closed; nothing more is written to it."""


def reset(request: web.BaseRequest) -> ResponseWithheld:
    """Close a connection with RST, as when the peer dies. Raise what it returns."""
    if request.transport is not None:
        reset_transport(request.transport)
    return ResponseWithheld()


def reset_transport(transport: asyncio.Transport) -> None:
    """Close a connection with RST."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def half_answer(request: web.BaseRequest, response: web.StreamResponse) -> ResponseWithheld:
    """Send the head of a response and half of its body, then close the connection. Raise what it returns."""
    body = body_of(response)
    partial = await _send_head(request, response, body)
    await partial.write(body[: len(body) // 2])
    # Not reset: the other side's machine would throw away what it has not read yet.
    if request.transport is not None:
        request.transport.close()
    return ResponseWithheld()


async def slow_answer(request: web.BaseRequest, response: web.StreamResponse, seconds: float) -> web.StreamResponse:
    """Send a response byte by byte, over `seconds` of the loop."""
    body = body_of(response)
    partial = await _send_head(request, response, body)
    loop = asyncio.get_running_loop()
    began, sent = loop.time(), 0
    while sent < len(body):
        # As many bytes as are due: a long body has more of them than a loop has turns.
        due = min(len(body), int(len(body) * (loop.time() - began) / seconds) + 1) if seconds else len(body)
        await partial.write(body[sent:due])
        sent = due
        if sent < len(body):
            # Not after the last byte: its client may close the connection at once.
            await asyncio.sleep(seconds / min(len(body), _MOST_PIECES))
    return partial


def proxy_page() -> web.Response:
    """The page of a proxy without access to the platform."""
    page = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
    return web.Response(status=502, text=page, content_type="text/html")


def body_of(response: web.StreamResponse) -> bytes:
    """The bytes of a response that was not sent yet; none of one that is streamed."""
    body = response.body if isinstance(response, web.Response) else None
    return bytes(body) if isinstance(body, bytes | bytearray) else b""


async def _send_head(request: web.BaseRequest, response: web.StreamResponse, body: bytes) -> web.StreamResponse:
    partial = web.StreamResponse(status=response.status, headers=response.headers)
    partial.content_length = len(body)
    await partial.prepare(request)
    return partial
