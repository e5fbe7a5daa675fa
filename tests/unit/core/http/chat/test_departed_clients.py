"""Clients that go while their request waits: it ends at once, and what they said stays said."""

from pathlib import Path

import anyio
import msgspec
import pytest

from tests.support.chat import said, say, texts, web_chat
from tests.support.http import ALL, Api, over_socket
from tests.support.small_gateway import Echo
from trunkline import Turn
from trunkline.core.events.gateway import InboundAdmitted

pytestmark = pytest.mark.anyio


def request(method: str, target: str, body: bytes = b"") -> bytes:
    head = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ALL}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def ended(one: Api, method: str, route: str) -> None:
    """Wait until a request has ended without an answer."""
    line = f'trunkline_http_requests_total{{method="{method}",route="{route}",status="0"}} 1'
    with anyio.fail_after(10):
        while line not in one.served.metrics.text():  # noqa: ASYNC110 (the metrics have no event for it)
            await anyio.sleep(0.01)


async def test_a_message_whose_author_goes_is_answered_all_the_same(tmp_path: Path) -> None:
    release = anyio.Event()

    async def late(turn: Turn) -> str:
        await release.wait()
        return "at last"

    async with web_chat(tmp_path / "gateway.db", agent=Echo(late)) as one, over_socket(one) as (_, port):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(request("POST", "/v1/chat/inbound", msgspec.json.encode(said("hello", wait=True))))
            await one.running.until(InboundAdmitted)
        await ended(one, "POST", "/v1/chat/inbound")
        release.set()
        assert texts(await say(one, "hello", wait=True)) == ["at last"]


async def test_a_question_is_dropped_whose_asker_goes(tmp_path: Path) -> None:
    async def never(turn: Turn) -> None:
        await anyio.sleep_forever()

    async with web_chat(tmp_path / "gateway.db", agent=Echo(never)) as one, over_socket(one) as (_, port):
        rest: str = (await say(one, "hello")).json()["rest"]
        questions = [
            (f"{rest}?wait=100", "/v1/chat/inbound/{inbound}"),
            ("/v1/chat/outbox?channel=webchat&wait=100", "/v1/chat/outbox"),
        ]
        for target, route in questions:
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(request("GET", target))
                await anyio.sleep(0.1)
            await ended(one, "GET", route)
