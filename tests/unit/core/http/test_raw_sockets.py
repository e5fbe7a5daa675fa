"""Bytes that no client library sends: the server answers or cuts, and serves the next request."""

import random
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import msgspec
import pytest

from tests.support.http import ALL, SETTINGS, api, over_socket
from tests.support.notes_api import Notes
from trunkline.core.http.settings import HttpLimits

pytestmark = pytest.mark.anyio

GOOD = f"GET /v1/notes/x HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ALL}\r\n\r\n".encode()
#: short times, so that a test does not take long
LIMITS = HttpLimits(headers_time=0.3, body_time=0.3, write_time=0.5, idle_time=1.0)


def post(headers: str, body: bytes) -> bytes:
    """A request that would keep a note."""
    head = f"POST /v1/notes HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ALL}\r\n"
    return f"{head}Content-Type: application/json\r\n{headers}\r\n".encode("latin-1") + body


class Server:
    """A server that is written to."""

    def __init__(self, port: int, notes: Notes) -> None:
        self.port = port
        self.notes = notes

    async def said(self, *pieces: bytes, end: bool = False) -> bytes:
        """What is answered to these pieces, until the server closes or says no more for a while."""
        found = b""
        async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
            try:
                for piece in pieces:
                    await stream.send(piece)
                if end:
                    await stream.send_eof()
                with anyio.move_on_after(1.5) as patience:
                    while True:
                        found += await stream.receive()
                        patience.deadline = anyio.current_time() + 0.1
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                pass
        return found

    async def status(self, *pieces: bytes) -> int:
        """The status that is answered first; 0 for none."""
        found = await self.said(*pieces)
        return int(found.split()[1]) if found else 0

    async def serves(self) -> bool:
        """Whether a good request is answered."""
        return b'"x"' in await self.said(GOOD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Server]:
    notes, settings = Notes(), msgspec.structs.replace(SETTINGS, limits=LIMITS)
    gateway = api(tmp_path / "gateway.db", endpoints=notes.endpoints(), settings=settings)
    async with gateway as one, over_socket(one) as (_, port):
        yield Server(port, notes)


async def test_a_path_that_looks_like_a_template_is_a_path(server: Server) -> None:
    assert b'"{name}"' in await server.said(GOOD.replace(b"/x ", b"/{name} "))


@pytest.mark.slow(every=6)
@pytest.mark.parametrize(
    ("sent", "statuses"),
    {
        "nonsense": (b"nonsense\r\n\r\n", {400}),
        "a TLS hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200, {400}),
        "NULs": (b"\0" * 1000, {400}),
        "no version": (b"GET /\r\n\r\n", {400, 408, 0}),
        "another version": (b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", {400}),
        "an unknown method": (b"FROB / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {400}),
        "CONNECT": (b"CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {400, 404}),
        "OPTIONS *": (b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {400, 404}),
        "NUL in the path": (b"GET /v1/\0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {400, 404}),
        "NUL in a header": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\0b\r\n\r\n", {400}),
        "raw bytes in the path": (b"GET /\xff\xfe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {400, 404}),
        "a space in a header name": (b"GET / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n", {400}),
        "a bare line feed": (b"GET / HTTP/1.1\nHost: 127.0.0.1\n\n", {400, 404}),
        "no host": (b"GET /v1/notes/x HTTP/1.1\r\n\r\n", {400}),
        "two hosts": (b"GET /v1/notes/x HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n", {400}),
        "64 kB of one header": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 65_536 + b"\r\n\r\n", {431}),
        "an endless header": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 1_000_000, {431}),
        "10,000 headers": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 10_000 + b"\r\n", {431}),
        "a huge query": (b"GET /v1/notes?" + b"a=b&" * 10_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {414, 431}),
        "a long path": (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", {414}),
        "a negative length": (post("Content-Length: -5\r\n", b"{}"), {400}),
        "a length that is no number": (post("Content-Length: many\r\n", b"{}"), {400}),
        "two lengths": (post("Content-Length: 5\r\nContent-Length: 6\r\n", b"{}"), {400}),
        "a length beyond all numbers": (post("Content-Length: 99999999999999999999999\r\n", b"{}"), {400, 413}),
        "a length over the limit": (post("Content-Length: 52428800\r\n", b"{}"), {413}),
        "a length and chunks": (post("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"), {400}),
        "an unknown transfer encoding": (post("Transfer-Encoding: gzip\r\n", b"{}"), {400}),
        "chunks that are no chunks": (post("Transfer-Encoding: chunked\r\n", b"zz\r\n{}\r\n0\r\n\r\n"), {400}),
        "a chunk with a huge size": (post("Transfer-Encoding: chunked\r\n", b"ffffffffffffffffff\r\n{}"), {400}),
        "a chunk that does not come": (post("Transfer-Encoding: chunked\r\n", b"5\r\n{}"), {408}),
        "half a body": (post("Content-Length: 100\r\n", b'{"text": '), {408}),
        "half a request line": (b"GET /v1/not", {408}),
        "half the headers": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A", {408}),
        "nothing": (b"", {408}),
        "a body that is not UTF-8": (post("Content-Length: 13\r\n", b'{"text": "\xff"}'), {400}),
        "an expectation of something": (post("Expect: 200-maybe\r\nContent-Length: 2\r\n", b"{}"), {400, 417, 422}),
        "an upgrade to nothing": (GOOD.replace(b"Host", b"Connection: upgrade\r\nUpgrade: h2c\r\nHost"), {200}),
        "half a handshake": (
            GOOD.replace(b"Host", b"Connection: upgrade\r\nUpgrade: websocket\r\nHost"),
            {400, 403, 404, 405, 426},
        ),
    }.items(),
    ids=lambda given: given if isinstance(given, str) else "",
)
async def test_what_is_broken_is_answered_and_stops_nobody(
    server: Server, sent: str, statuses: tuple[bytes, set[int]]
) -> None:
    content, allowed = statuses
    assert await server.status(content) in allowed, sent
    assert server.notes.kept == []
    assert await server.serves()


async def test_what_is_refused_before_it_is_a_request_is_a_problem_too(server: Server) -> None:
    head, _, body = (await server.said(b"nonsense\r\n\r\n")).partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    assert msgspec.json.decode(body)["type"] == "urn:trunkline:problem:malformed-request"


async def test_a_client_that_sends_a_byte_now_and_then_is_cut(server: Server) -> None:
    async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
        said, began = b"", anyio.current_time()
        try:
            for byte in GOOD:
                await stream.send(bytes([byte]))
                await anyio.sleep(0.05)
                with anyio.move_on_after(0.001):
                    said += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass
        assert anyio.current_time() - began < 0.05 * len(GOOD)
        assert b" 408 " in said or not said
    assert await server.serves()


async def test_many_slow_clients_hold_nobody_up(server: Server) -> None:
    async with anyio.create_task_group() as group:
        for n in range(100):
            group.start_soon(server.said, GOOD[: n % len(GOOD)])
        for _ in range(5):
            assert await server.serves()
        group.cancel_scope.cancel()


async def test_requests_in_one_piece_are_answered_one_after_the_other(server: Server) -> None:
    assert (await server.said(GOOD * 3)).count(b'"x"') == 3


async def test_a_request_behind_a_refused_one_is_not_read(server: Server) -> None:
    kept = post("Content-Length: 13\r\n", b'{"text": "x"}')
    said = await server.said(b"nonsense\r\n\r\n" + kept)
    assert len(re.findall(rb"HTTP/1.1 \d", said)) == 1
    assert server.notes.kept == []


async def test_a_body_cannot_smuggle_a_request(server: Server) -> None:
    inner = GOOD
    said = await server.said(post(f"Content-Length: {len(inner)}\r\n", inner))
    assert (len(re.findall(rb"HTTP/1.1 \d", said)), server.notes.kept) == (1, [])


async def test_a_client_that_goes_away_in_the_middle_leaves_nothing(server: Server) -> None:
    for cut in range(0, 200, 20):
        content = post("Content-Length: 1000\r\n", b'{"text": "' + b"x" * 100)
        async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
            await stream.send(content[: len(content) - cut])
    assert await server.serves()
    assert server.notes.kept == []


async def test_random_bytes_stop_nobody(server: Server) -> None:
    rng = random.Random(7)
    for _ in range(60):
        content = bytearray(post("Content-Length: 13\r\n", b'{"text": "x"}'))
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(content) - 14)
            content[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 4))
        async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
            await stream.send(bytes(content))
            with anyio.move_on_after(0.05):
                try:
                    answer = await stream.receive()
                    assert not answer.startswith(b"HTTP/1.1 5"), bytes(content)
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    pass
    assert await server.serves()


async def test_connections_over_the_limit_make_room(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, limits=HttpLimits(connections=3, reserve=0))
    notes = Notes()
    gateway = api(tmp_path / "gateway.db", endpoints=notes.endpoints(), settings=settings)
    async with gateway as one, over_socket(one) as (_, port):
        server = Server(port, notes)
        held = [await anyio.connect_tcp("127.0.0.1", port) for _ in range(3)]
        assert await server.serves()
        with anyio.fail_after(10), pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await held[0].receive()
        for stream in held:
            await stream.aclose()
        assert await server.serves()
