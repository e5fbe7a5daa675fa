"""Servers that are only a socket: for what no HTTP server would do."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


@asynccontextmanager
async def answering(answer: Callable[[int, bytes], bytes | None]) -> AsyncIterator[str]:
    """A server; `answer` gets the number of the request on its connection, and the request. None: it closes instead."""

    open_ones: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        open_ones.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (int(one[15:]) for one in head.lower().split(b"\r\n") if one.startswith(b"content-length:")), 0
                )
                found = answer(number, head + await reader.readexactly(length))
                number += 1
                if found is None:
                    break
                writer.write(found)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for one in open_ones:
            one.transport.abort()
        await asyncio.sleep(0.02)


def response(body: bytes, status: str = "200 OK", kind: str = "application/json") -> bytes:
    """A whole response."""
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@asynccontextmanager
async def not_accepting() -> AsyncIterator[str]:
    """A machine that answers no attempt to connect: its queue of connections is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        port = listener.getsockname()[1]
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                waiting.connect(("127.0.0.1", port))
        await asyncio.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
