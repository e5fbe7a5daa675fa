"""What can go wrong on a socket: a response that never comes, comes in half, or byte by byte."""

from __future__ import annotations

import asyncio
import socket
import struct

from aiohttp import web


class ResponseWithheld(Exception):
    """The connection of a request is closed; nothing more is written to it."""


def reset(request: web.BaseRequest) -> ResponseWithheld:
    """Close a connection with RST, as when the peer dies. Raise what it returns."""
    transport = request.transport
    if transport is not None:
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return ResponseWithheld()


async def half_answer(request: web.BaseRequest, body: bytes) -> ResponseWithheld:
    """Send the head of a response and half of its body, then close the connection. Raise what it returns."""
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(body))})
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    return reset(request)


async def slow_answer(request: web.BaseRequest, body: bytes, seconds: float) -> web.StreamResponse:
    """Send a response byte by byte, over `seconds`."""
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(body))})
    await response.prepare(request)
    for n in range(len(body)):
        await response.write(body[n : n + 1])
        await asyncio.sleep(seconds / len(body))
    return response
