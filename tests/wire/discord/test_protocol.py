"""The words of the protocol, as a client without a library sees them: responses, errors, close codes, compression."""

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from tests.support.wire.discord import DiscordBench, play

Client = aiohttp.ClientSession


def raw(test: Callable[[DiscordBench, Client], Awaitable[None]], **config: Any) -> None:
    """Run a test with a client of its own."""

    async def whole(bench: DiscordBench) -> None:
        async with aiohttp.ClientSession() as client:
            await test(bench, client)

    play(whole, **config)


def url(bench: DiscordBench, path: str) -> str:
    return f"{bench.server.url}/api/v10{path}"


def token(bench: DiscordBench) -> dict[str, str]:
    return {"Authorization": f"Bot {bench.server.token('default', 1)}"}


async def ask(response: aiohttp.ClientResponse) -> tuple[int, int, Any]:
    """Status, code and body."""
    assert response.headers["Content-Type"] == "application/json"
    body = await response.json()
    return response.status, body.get("code", 0), body


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b"{", "application/json", 400, 50109),
        (b"[]", "application/json", 400, 50109),
        (b'{"content": "x"}', "text/plain", 400, 50035),
        (b'{"content": 5}', "application/json", 400, 50035),
        (b'{"content": "x", "nonce": "12345678901234567890123456"}', "application/json", 400, 50035),
        (b'{"content": "x", "flags": "4096"}', "application/json", 400, 50035),
        (b'{"content": "x", "components": [{"type": 2}]}', "application/json", 400, 50035),
        (b'{"content": " "}', "application/json", 400, 50006),
        (b"", "application/json", 400, 50006),
    ],
)
def test_bad_bodies(body: bytes, kind: str, status: int, code: int) -> None:
    async def test(bench: DiscordBench, client: Client) -> None:
        path = url(bench, f"/channels/{bench.place.conversation}/messages")
        async with client.post(path, data=body, headers={**token(bench), "Content-Type": kind}) as response:
            assert (await ask(response))[:2] == (status, code)
        assert bench.texts() == []

    raw(test)


@pytest.mark.parametrize("header", ["", "Bot", "Bot x", "Bearer {}", "{}"])
def test_other_tokens(header: str) -> None:
    async def test(bench: DiscordBench, client: Client) -> None:
        given = {"Authorization": header.replace("{}", bench.server.token("default", 1))}
        async with client.get(url(bench, "/users/@me"), headers=given) as response:
            assert (await ask(response))[:2] == (401, 0)

    raw(test)


@pytest.mark.parametrize("path", ["/nothing", "/channels/1/nothing", "/../../etc/passwd"])
def test_unknown_paths(path: str) -> None:
    async def test(bench: DiscordBench, client: Client) -> None:
        async with client.get(url(bench, path), headers=token(bench)) as response:
            assert (await ask(response))[0] == 404

    raw(test)


def test_limits_and_waits_are_in_headers() -> None:
    async def test(bench: DiscordBench, client: Client) -> None:
        path = url(bench, f"/channels/{bench.place.conversation}/messages")
        bench.fault("rate-limit", seconds=2.5)
        async with client.post(path, json={"content": "x"}, headers=token(bench)) as response:
            status, _, body = await ask(response)
            assert (status, body["retry_after"], body["global"]) == (429, 2.5, False)
            assert response.headers["Retry-After"] == "3"
        async with client.post(path, json={"content": "x"}, headers=token(bench)) as response:
            assert response.status == 200
            assert int(response.headers["X-RateLimit-Remaining"]) > 0

    raw(test)


def test_a_nonce_counts_only_if_it_is_to_be_enforced() -> None:
    async def test(bench: DiscordBench, client: Client) -> None:
        path = url(bench, f"/channels/{bench.place.conversation}/messages")
        ids: list[str] = []
        for enforce in (True, True, False):
            body = {"content": "x", "nonce": "same", "enforce_nonce": enforce}
            async with client.post(path, json=body, headers=token(bench)) as response:
                ids.append((await ask(response))[2]["id"])
        assert ids[0] == ids[1] != ids[2]

    raw(test)


# -------------------------------------------------------------------- the gateway


class Socket:
    """A gateway socket that reads compressed payloads or plain ones."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse, *, compressed: bool) -> None:
        self.ws = ws
        self._inflate = zlib.decompressobj() if compressed else None

    async def read(self) -> Any:
        frame = await asyncio.wait_for(self.ws.receive(), 5)
        if frame.type is aiohttp.WSMsgType.BINARY and self._inflate is not None:
            return json.loads(self._inflate.decompress(frame.data))
        return json.loads(frame.data) if frame.type is aiohttp.WSMsgType.TEXT else self.ws.close_code

    async def say(self, op: int, data: Any) -> None:
        await self.ws.send_json({"op": op, "d": data})


async def connect(bench: DiscordBench, client: Client, *, compressed: bool = False) -> Socket:
    query = "&compress=zlib-stream" if compressed else ""
    ws = await client.ws_connect(f"{bench.server.gateway_url}?v=10&encoding=json{query}")
    socket = Socket(ws, compressed=compressed)
    hello = await socket.read()
    assert (hello["op"], hello["d"]["heartbeat_interval"]) == (10, 41250)
    return socket


def identity(bench: DiscordBench, **changed: Any) -> dict[str, Any]:
    return {"token": bench.server.token("default", 1), "intents": 1, "properties": {}, **changed}


@pytest.mark.parametrize("compressed", [False, True])
def test_a_session(*, compressed: bool) -> None:
    async def test(bench: DiscordBench, client: Client) -> None:
        socket = await connect(bench, client, compressed=compressed)
        await socket.say(1, None)
        assert (await socket.read())["op"] == 11
        await socket.say(2, identity(bench))
        ready, guild = await socket.read(), await socket.read()
        assert [ready["t"], ready["s"], guild["t"], guild["s"]] == ["READY", 1, "GUILD_CREATE", 2]
        assert ready["d"]["resume_gateway_url"] == bench.server.gateway_url
        assert {one["name"] for one in guild["d"]["channels"]} == {"one", "two"}
        await socket.ws.close()
        socket = await connect(bench, client, compressed=compressed)
        session = {"token": bench.server.token("default", 1), "session_id": ready["d"]["session_id"], "seq": 1}
        await socket.say(6, session)
        assert [(await socket.read())["t"] for _ in range(2)] == ["GUILD_CREATE", "RESUMED"]

    raw(test)


@pytest.mark.parametrize(
    ("op", "changed", "code"),
    [
        (2, {"token": "x"}, 4004),
        (2, {"token": None}, 4004),
        (2, {"intents": None}, 4013),
        (2, {"intents": -1}, 4013),
        (2, {"properties": None}, 4002),
        (3, {}, 4003),
        (99, {}, 4001),
    ],
)
def test_close_codes(op: int, changed: dict[str, Any], code: int) -> None:
    async def test(bench: DiscordBench, client: Client) -> None:
        socket = await connect(bench, client)
        await socket.say(op, identity(bench, **changed))
        assert await socket.read() == code

    raw(test)


def test_more_close_codes() -> None:
    async def test(bench: DiscordBench, client: Client) -> None:
        socket = await connect(bench, client)
        await socket.ws.send_str("{")
        assert await socket.read() == 4002
        socket = await connect(bench, client)
        await socket.say(2, identity(bench, intents=0))
        ready = await socket.read()
        await socket.say(2, identity(bench))
        assert await socket.read() == 4005
        socket = await connect(bench, client)
        await socket.say(6, {**identity(bench), "session_id": ready["d"]["session_id"], "seq": 1000})
        assert await socket.read() == 4007
        socket = await connect(bench, client)
        await socket.say(6, {**identity(bench), "session_id": "other", "seq": 1})
        assert (await socket.read())["op"] == 9

    raw(test)


def test_a_message_says_what_client_libraries_know_a_place_by() -> None:
    """discord.js drops a direct message without `channel_type`, and a reply is known by what it replies to."""

    async def test(bench: DiscordBench, client: Client) -> None:
        socket = await connect(bench, client)
        await socket.say(2, identity(bench, intents=1 | 1 << 9 | 1 << 12 | 1 << 15))
        await socket.read()
        await socket.read()
        me = bench.server.view.bot("default")["id"]
        room, direct = bench.places[:2]
        assert bench.thread is not None
        kinds: list[int] = []
        for place in (room, direct, bench.thread):
            await bench.say(place, f"hello <@{me}> and <@404>")
            event = await socket.read()
            while event["t"] != "MESSAGE_CREATE":
                event = await socket.read()
            kinds.append(event["d"]["channel_type"])
            assert ("guild_id" in event["d"]) is (place is not direct)
            assert [user["id"] for user in event["d"]["mentions"]] == [me]
        assert kinds == [0, 1, 11]
        path = url(bench, f"/channels/{room.conversation}/messages")
        reply = {"content": "yes?", "message_reference": {"message_id": (await last(client, bench, path))["id"]}}
        async with client.post(path, json=reply, headers=token(bench)) as response:
            assert (await response.json())["referenced_message"]["content"].startswith("hello")

    raw(test)


async def last(client: Client, bench: DiscordBench, path: str) -> Any:
    async with client.get(path, headers=token(bench)) as response:
        return (await response.json())[0]
