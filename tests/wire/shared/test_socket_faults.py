"""What a client sees on its socket when a fault strikes, and when its server goes away."""

import asyncio
import json

import aiohttp
import pytest

from tests.wire.shared.plain_server import Plain, play_plain
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted


def accepted(one: Plain) -> int:
    return sum(isinstance(event.body, WireAccepted) for event in one.world.log.events)


@pytest.mark.parametrize(
    ("do", "error", "seen"),
    [
        ("reset", aiohttp.ClientOSError, 1),
        ("reset-before", aiohttp.ClientOSError, 0),
        ("half-answer", aiohttp.ClientPayloadError, 1),
    ],
)
def test_a_connection_breaks_where_the_fault_says(do: str, error: type[Exception], seen: int) -> None:
    async def test(one: Plain) -> None:
        one.fault(do)
        with pytest.raises(error):
            await one.send()
        assert accepted(one) == seen
        assert (await one.send("again"))[0] == 200

    play_plain(test)


def test_half_of_the_response_arrives_with_its_head() -> None:
    async def test(one: Plain) -> None:
        one.fault("half-answer")
        async with one.client.post(f"{one.listener.server.url}/send", data="hello") as response:
            assert (response.status, response.headers["X-Own"]) == (200, "kept")
            got = await response.content.readany()
        assert 0 < len(got) < int(response.headers["Content-Length"])
        assert got.startswith(b'{"id"')

    play_plain(test)


def test_a_proxy_answers_with_a_page() -> None:
    async def test(one: Plain) -> None:
        one.fault("html")
        status, kind, body = await one.send()
        assert (status, kind) == (502, "text/html")
        assert body.startswith(b"<html>")
        assert accepted(one) == 0

    play_plain(test)


@pytest.mark.parametrize("factor", [1.0, 10.0])
def test_a_response_comes_byte_by_byte_and_is_whole(factor: float) -> None:
    async def test(one: Plain) -> None:
        one.fault("slow-loris", **{"for": "1s"})
        began = one.world.now()
        async with one.client.post(f"{one.listener.server.url}/send", data="hello") as response:
            headed = one.world.now() - began
            pieces = [piece async for piece in response.content.iter_any()]
        took = one.world.now() - began
        assert headed < 0.7 < 1.0 <= took < 3.0
        assert len(pieces) > 10
        assert json.loads(b"".join(pieces))["more"] == "x" * 200
        assert accepted(one) == 1

    play_plain(test, factor=factor)


def test_a_client_that_leaves_a_slow_response_disturbs_nobody() -> None:
    async def test(one: Plain) -> None:
        one.fault("slow-loris", **{"for": "60s"})
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await one.send()
        assert (await one.send("again"))[0] == 200
        assert accepted(one) == 2

    play_plain(test)


def test_a_response_is_withheld_until_the_client_leaves() -> None:
    async def test(one: Plain) -> None:
        one.fault("lose-response")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await one.send()
        assert accepted(one) == 1

    play_plain(test)


@pytest.mark.parametrize(
    ("do", "status"), [("refuse", 400), ("error", 400), ("rate-limit", 400)], ids=["refuse", "error", "rate-limit"]
)
def test_a_refusal_is_the_words_of_the_server(do: str, status: int) -> None:
    async def test(one: Plain) -> None:
        one.fault(do)
        assert (await one.send())[0] == status
        assert [event.body.fault for event in one.world.log.events if isinstance(event.body, FaultFired)] == [
            f"send/{do}"
        ]

    play_plain(test)


# ---------------------------------------------------------------- the listener


def test_a_server_restarts_on_its_port() -> None:
    async def test(one: Plain) -> None:
        url = one.listener.server.url
        restart = asyncio.ensure_future(one.listener.restart(0.3))
        await asyncio.sleep(0.1)
        assert not one.listener.is_open
        with pytest.raises(aiohttp.ClientConnectorError):
            await one.send()
        await restart
        assert (one.listener.is_open, one.listener.server.url) == (True, url)
        assert (await one.send())[0] == 200

    play_plain(test)


def test_all_connections_are_broken_and_new_ones_work() -> None:
    async def test(one: Plain) -> None:
        one.fault("lose-response")
        waiting = asyncio.ensure_future(one.send())
        await asyncio.sleep(0.2)
        assert one.listener.break_connections() == 1
        with pytest.raises(aiohttp.ClientOSError):
            await waiting
        assert (await one.send())[0] == 200
        await one.listener.close()
        assert one.listener.break_connections() == 0

    play_plain(test)


def test_a_closed_server_closes_twice_and_opens_once() -> None:
    async def test(one: Plain) -> None:
        await one.listener.open()
        url = one.listener.server.url
        await one.listener.close()
        await one.listener.close()
        await one.listener.open()
        assert one.listener.server.url == url
        assert (await one.send())[0] == 200

    play_plain(test)
