"""The mailbox over HTTP: by a cursor, without a gap and without a repeat."""

from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.support.chat import add_mailbox, said, say, web_chat
from tests.support.http import TOKENS, Api, over_socket
from trunkline import Turn
from trunkline.core.env import system_env
from trunkline.core.http.settings import HttpLimits, HttpSettings
from trunkline.core.store.commands import Prune
from trunkline.core.store.port import answer

pytestmark = pytest.mark.anyio


async def outbox(one: Api, **query: Any) -> httpx.Response:
    return await one.http.get("/v1/chat/outbox", params={"channel": "webchat", **query})


def texts_of(found: httpx.Response) -> list[str]:
    assert found.status_code == 200, found.text
    return [message["text"] for message in found.json()["messages"]]


async def test_the_mailbox_is_read_by_a_cursor(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        for n in range(5):
            await say(one, f"{n}", message=f"m{n}", by="ana" if n % 2 else "ben", wait=True)
        everything = await outbox(one)
        assert texts_of(everything) == [f"you said {n}" for n in range(5)]
        seen: list[str] = []
        cursor, pages = 0, 0
        while pages < 10:
            page = await outbox(one, after=cursor, limit=2)
            seen += texts_of(page)
            cursor, pages = page.json()["next"], pages + 1
            if not page.json()["messages"]:
                break
        assert seen == texts_of(everything)
        assert texts_of(await outbox(one, conversation="ana")) == ["you said 1", "you said 3"]
    async with web_chat(tmp_path / "gateway.db") as one:
        assert texts_of(await outbox(one)) == [f"you said {n}" for n in range(5)], "after a restart"
        assert texts_of(await outbox(one, after=cursor)) == []


async def test_a_bridge_waits_for_the_next_message(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        found: list[str] = []

        async def wait() -> None:
            found.extend(texts_of(await outbox(one, wait=30)))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                await anyio.sleep(0.05)
                await say(one, "hello")
        assert found == ["you said hello"]
        assert texts_of(await outbox(one, after=1, wait=0.05)) == []


async def test_a_wait_ends_when_the_server_stops(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: outbox(one, wait=60))
                await anyio.sleep(0.05)
                one.served.stopping.set()


async def test_each_account_has_a_mailbox_of_its_own(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        add_mailbox(one, "discord", "second")
        await say(one, "here", wait=True)
        await say(one, "there", channel="discord", account="second", wait=True)
        assert texts_of(await outbox(one)) == ["you said here"]
        assert texts_of(await outbox(one, channel="discord", account="second")) == ["you said there"]


async def test_a_cursor_of_what_is_no_longer_kept_is_refused(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        for n in range(3):
            await say(one, f"{n}", message=f"m{n}", wait=True)
        await one.served.store.write(Prune(cutoff=system_env().now() + 10), answer)
        for cursor in (1, 4):
            refused = await outbox(one, after=cursor)
            assert (refused.status_code, refused.json()["type"]) == (410, "urn:trunkline:problem:expired-cursor")
        assert texts_of(await outbox(one, after=3)) == []
        await say(one, "later", message="m4", wait=True)
        assert texts_of(await outbox(one, after=0)) == ["you said later"]
        assert (await outbox(one)).json()["messages"][0]["n"] == 4, "no number is given twice"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"channel": "discord"}, 404),
        ({"channel": "nowhere"}, 404),
        ({"after": -1}, 422),
        ({"after": "x"}, 422),
        ({"limit": 0}, 422),
        ({"limit": 1001}, 422),
        ({"wait": 1e6}, 422),
        ({"colour": "blue"}, 422),
    ],
)
async def test_unusable_questions(tmp_path: Path, query: dict[str, Any], status: int) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        assert (await outbox(one, **query)).status_code == status


async def test_a_client_that_goes_takes_up_no_place_while_it_would_have_waited(tmp_path: Path) -> None:
    """A bridge with a shorter time limit than its own `wait` would fill the server with requests of its past."""
    settings = HttpSettings(tokens=TOKENS, limits=HttpLimits(requests=3))
    async with (
        web_chat(tmp_path / "gateway.db", settings=settings, agent=Silent()) as one,
        over_socket(one) as (http, _),
    ):
        for n in range(4):
            ask = [
                http.get("/v1/chat/outbox", params={"channel": "webchat", "wait": 60}, timeout=0.3),
                http.post("/v1/chat/inbound", json=said(message=f"m{n}", wait=60), timeout=0.3),
            ]
            for request in ask:
                with pytest.raises(httpx.ReadTimeout):
                    await request
        found = await http.get("/v1/health/ready")
        assert found.status_code == 200, found.text


class Silent:
    """An agent that never answers."""

    async def turn(self, turn: Turn) -> str | None:
        await anyio.sleep_forever()
