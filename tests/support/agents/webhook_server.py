"""A server on loopback that is a webhook: it does what the text of each turn says, with its own bytes where asked."""

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

#: seconds; longer than any time-out of a test
_LONG = 30.0


class Request(msgspec.Struct, frozen=True):
    """A request as it came. Names of headers are lower case."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.body)


def response(body: bytes, status: str = "200 OK", kind: str = "application/json", *more: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *more]
    return "\r\n".join([*lines, "", ""]).encode() + body


def reply(**fields: Any) -> bytes:
    return response(json.dumps(fields).encode())


class WebhookServer:
    """Keeps the requests that it gets, and answers them."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                if not await self._answer(request, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; whether the connection goes on."""
        document = request.document
        word, _, rest = document["text"].partition(" ")
        match word:
            case "close":
                return False
            case "cut":
                writer.write(response(b'{"answer": "the whole text"}')[:-10])
                await writer.drain()
                return False
            case "never":
                await asyncio.sleep(_LONG)
            case "drip":
                for one in response(b'{"answer": "slowly"}'):
                    writer.write(bytes([one]))
                    await writer.drain()
                    await asyncio.sleep(0.05)
            case _:
                writer.write(self._bytes(word, rest, document))
                await writer.drain()
        return True

    def _bytes(self, word: str, rest: str, document: dict[str, Any]) -> bytes:
        number, made = document["round"], document["calls"]
        match word:
            case "echo":
                return reply(answer=rest)
            case "silent":
                return reply(answer=None)
            case "fail":
                return reply(error=rest)
            case "refuse":
                return reply(error=rest, refused=True)
            case "call":
                if number == 0:
                    tool, _, params = rest.partition(" ")
                    return reply(calls=[{"call": "c1", "tool": tool, "params": json.loads(params or "{}")}])
                return reply(answer=json.dumps(made))
            case "parts":
                if number < int(rest):
                    params = {"action": "send", "message": f"part {number}"}
                    return reply(calls=[{"call": str(number), "tool": "message", "params": params}])
                return reply(answer=f"after {len(made)} parts")
            case "many":
                return reply(calls=[{"call": str(n), "tool": "agent_list"} for n in range(int(rest))])
            case "status":
                return response(b"no \x1b[31mroom", rest, "text/plain")
            case "passing":
                tries = sum(one.document["text"] == document["text"] for one in self.requests)
                return response(b"{}", rest) if tries == 1 else reply(answer="at the second try")
            case "redirect":
                return response(b"", "307 Temporary Redirect", "text/plain", f"Location: {self.url}")
            case "type":
                return response(b'{"answer": "x"}', "200 OK", rest)
            case "gzip":
                return response(
                    gzip.compress(b'{"answer": "x"}'), "200 OK", "application/json", "Content-Encoding: gzip"
                )
            case "body":
                return response(rest.encode("utf-8", "surrogateescape"))
            case "bytes":
                return response(bytes.fromhex(rest))
            case "long":
                return reply(answer="x" * int(rest))
            case "nonsense":
                return b"this is not HTTP\r\n\r\n"
            case _:
                return reply(answer=f"you said {document['text']}")


async def _read(reader: asyncio.StreamReader) -> Request | None:
    head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
    if not head:
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Request(first, headers, await reader.readexactly(int(headers["content-length"])))


@asynccontextmanager
async def webhook_server(trust: ssl.SSLContext | None = None) -> AsyncGenerator[WebhookServer, None]:
    """The server, until the block ends; with a certificate it speaks TLS, as `localhost`."""
    one = WebhookServer()
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(one.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=trust)
    base = "http://127.0.0.1" if trust is None else "https://localhost"
    one.url = f"{base}:{server.sockets[0].getsockname()[1]}/turn?key=hidden"
    try:
        yield one
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
