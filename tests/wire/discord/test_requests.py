"""One call is one request: not two on a connection that was over, and none to where a redirect points."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from trunkline.core.adapters.discord.calls import RestCall, delete, get, patch, post, put
from trunkline.core.adapters.discord.client import OneRequestClient
from trunkline.core.errors import Ambiguous, Refused

pytestmark = pytest.mark.anyio
CHANGES = (post("a"), put("a"), delete("a"), patch("a", json={}))
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Scripted:
    """A server that answers with bytes, one request after the other; None: it resets the connection."""

    def __init__(self, *answers: bytes | None) -> None:
        self.answers = list(answers)
        self.seen: list[str] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.seen.append(head.split(b"\r\n")[0].decode())
                length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                await reader.readexactly(int(length[0].split(b":")[1]) if length else 0)
                answer = self.answers.pop(0) if self.answers else OK
                if answer is None:
                    linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
                    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    break
                writer.write(answer.replace(b"{url}", self.url.encode()))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def against(*answers: bytes | None) -> AsyncGenerator[tuple[Scripted, OneRequestClient]]:
    script = Scripted(*answers)
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    client = OneRequestClient(script.url, "token-of-the-bot", 5.0)
    await client.open()
    try:
        yield script, client
    finally:
        await client.close()
        server.close()


@pytest.mark.parametrize("call", CHANGES, ids=lambda call: call.method)
async def test_a_change_after_which_the_connection_breaks_is_made_once(call: RestCall) -> None:
    # On a connection that was used before, aiohttp would make a PUT or DELETE again.
    async with against(OK, OK, None) as (script, client):
        await client.call(get("a"))
        await client.call(call)
        with pytest.raises(Ambiguous):
            await client.call(call)
        assert [line.split()[0] for line in script.seen] == ["GET", call.method, call.method]


@pytest.mark.parametrize("call", CHANGES, ids=lambda call: call.method)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(call: RestCall, status: int) -> None:
    moved = f"HTTP/1.1 {status} Moved\r\nLocation: {{url}}/elsewhere\r\nContent-Length: 0\r\n\r\n".encode()
    async with against(moved) as (script, client):
        with pytest.raises(Ambiguous):
            await client.call(call)
        assert len(script.seen) == 1


UNREADABLE = {"deep": b"[" * 100_000, "large": b'{"id": ' + b"1" * 5000 + b"}", "half": b'{"id": "1', "html": b"<html>"}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
async def test_an_answer_that_cannot_be_read_is_doubt(body: bytes) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    async with against(head + body) as (_, client):
        with pytest.raises(Ambiguous):
            await client.call(post("a"))


async def test_a_refusal_that_cannot_be_read_is_a_refusal() -> None:
    body = b'{"code": 50013, "errors": ' + b"[" * 100_000
    head = f"HTTP/1.1 403 Forbidden\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    async with against(head + body) as (_, client):
        with pytest.raises(Refused):
            await client.call(post("a"))


async def test_half_a_surrogate_pair_hides_no_page() -> None:
    body = rb'[{"content": "\ud83d"}, {"content": "x"}]'
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    async with against(head + body) as (_, client):
        assert await client.call(get("a")) == [{"content": "\ud83d"}, {"content": "x"}]


def test_no_repr_shows_a_secret() -> None:
    assert "secret" not in repr(RestCall(method="POST", path="/webhooks/1/secret", token="secret", json="secret"))
