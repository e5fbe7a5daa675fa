"""The fake as a bot meets it: strict in its parameters, in its methods, and in who may read updates."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from tests.support.wire.telegram import TelegramBench, play_telegram
from trunkline.sim.events.wire import WireAccepted


class Client:
    """Plain HTTP."""

    def __init__(self, bench: TelegramBench, http: aiohttp.ClientSession) -> None:
        self.bench = bench
        self.http = http
        self.root = f"{bench.server.url}/bot{bench.server.token('default', 1)}"
        self.room = int(bench.places[0].conversation)

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        async with self.http.post(f"{self.root}/{method}", json=parameters) as answer:
            body = await answer.json()
            assert answer.status == body.get("error_code", 200)
            return body

    async def error(self, method: str, **parameters: Any) -> str:
        body = await self.call(method, **parameters)
        assert body["ok"] is False
        return body["description"]


def play(test: Callable[[Client], Awaitable[None]]) -> None:
    async def run(bench: TelegramBench) -> None:
        async with aiohttp.ClientSession() as http:
            await test(Client(bench, http))

    play_telegram(run)


def test_the_topic_general_has_a_number_for_typing_only() -> None:
    async def test(client: Client) -> None:
        general: dict[str, Any] = {"chat_id": client.room, "message_thread_id": 1}
        assert (await client.call("sendChatAction", action="typing", **general))["result"] is True
        assert await client.error("sendMessage", text="x", **general) == "Bad Request: message thread not found"
        other = {**general, "message_thread_id": 404}
        assert await client.error("sendChatAction", action="typing", **other) == "Bad Request: message thread not found"

    play(test)


def test_parameters_come_in_four_forms() -> None:
    async def test(client: Client) -> None:
        markup = {"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]}
        text: dict[str, Any] = {"chat_id": str(client.room), "text": "hello", "reply_markup": json.dumps(markup)}
        form = aiohttp.FormData(text)
        multipart = aiohttp.FormData({**text, "document": "attach://file"})
        multipart.add_field("file", b"lamp", filename="lamp.pdf")
        address = f"{client.root}/sendMessage"
        forms: tuple[dict[str, Any], ...] = (
            {"params": text},
            {"data": form},
            {"json": {**text, "chat_id": client.room, "reply_markup": markup}},
        )
        for options in forms:
            async with client.http.post(address, **options) as answer:
                assert (await answer.json())["result"]["reply_markup"] == markup
        async with client.http.get(address, params=text) as answer:
            assert (await answer.json())["result"]["text"] == "hello"
        async with client.http.post(f"{client.root}/sendDocument", data=multipart) as answer:
            sent = (await answer.json())["result"]
        found = (await client.call("getFile", file_id=sent["document"]["file_id"]))["result"]
        token = client.bench.server.token("default", 1)
        async with client.http.get(f"{client.bench.server.url}/file/bot{token}/{found['file_path']}") as answer:
            assert await answer.read() == b"lamp"

    play(test)


@pytest.mark.parametrize(
    ("method", "parameters", "description"),
    [
        ("sendMessage", {"text": "x"}, "Bad Request: chat_id is empty"),
        ("sendMessage", {"chat_id": -100404, "text": "x"}, "Bad Request: chat not found"),
        ("sendMessage", {"chat_id": "@team", "text": "x"}, "Bad Request: chat not found"),
        ("sendMessage", {"chat_id": "ROOM", "text": " "}, "Bad Request: message text is empty"),
        ("sendMessage", {"chat_id": "ROOM", "text": "x" * 4097}, "Bad Request: message is too long"),
        ("sendMessage", {"chat_id": "ROOM", "text": "x", "parse_mode": "RTF"}, "Bad Request: unsupported parse_mode"),
        ("sendMessage", {"chat_id": "ROOM", "text": "<b>x", "parse_mode": "HTML"}, "Bad Request: can't parse entities"),
        (
            "sendMessage",
            {"chat_id": "ROOM", "text": "a.b", "parse_mode": "MarkdownV2"},
            "Bad Request: can't parse entities",
        ),
        ("sendMessage", {"chat_id": "ROOM", "text": "x", "message_thread_id": "x"}, "Bad Request: parameter"),
        (
            "sendMessage",
            {"chat_id": "ROOM", "text": "x", "message_thread_id": 404},
            "Bad Request: message thread not found",
        ),
        ("sendMessage", {"chat_id": "ROOM", "text": "x", "reply_markup": "{"}, "Bad Request: can't parse reply_markup"),
        (
            "sendMessage",
            {"chat_id": "ROOM", "text": "x", "reply_markup": {"inline_keyboard": [[{"text": "x"}]]}},
            "Bad Request: text buttons are unallowed in the inline keyboard",
        ),
        (
            "sendMessage",
            {
                "chat_id": "ROOM",
                "text": "x",
                "reply_markup": {"inline_keyboard": [[{"text": "x", "callback_data": "y" * 65}]]},
            },
            "Bad Request: BUTTON_DATA_INVALID",
        ),
        ("sendMessage", {"chat_id": "ROOM", "text": "\ud83d"}, "Bad Request: strings must be encoded in UTF-8"),
        ("sendPhoto", {"chat_id": "ROOM"}, "Bad Request: there is no photo in the request"),
        ("sendPhoto", {"chat_id": "ROOM", "photo": "none"}, "Bad Request: wrong file identifier"),
        (
            "sendPhoto",
            {"chat_id": "ROOM", "photo": "https://e.org/a", "caption": "x" * 1025},
            "Bad Request: message caption",
        ),
        ("sendMediaGroup", {"chat_id": "ROOM", "media": [{}]}, "Bad Request: media group must include 2-10 items"),
        ("sendPoll", {"chat_id": "ROOM", "question": "?", "options": ["a"]}, "Bad Request: poll must have at least 2"),
        (
            "editMessageText",
            {"chat_id": "ROOM", "message_id": 404, "text": "x"},
            "Bad Request: message to edit not found",
        ),
        ("deleteMessage", {"chat_id": "ROOM", "message_id": 404}, "Bad Request: message to delete not found"),
        ("pinChatMessage", {"chat_id": "ROOM"}, "Bad Request: message identifier is not specified"),
        ("getFile", {"file_id": "none"}, "Bad Request: invalid file_id"),
        ("getUpdates", {"timeout": -1}, "Bad Request: timeout must be non-negative"),
        ("setWebhook", {"url": "http://example.org"}, "Bad Request: bad webhook: An HTTPS URL must be provided"),
        ("setWebhook", {"url": "https://e.org", "secret_token": "a b"}, "Bad Request: secret token contains unallowed"),
        ("closeForumTopic", {"chat_id": "ROOM", "message_thread_id": 404}, "Bad Request: message thread not found"),
        ("inventTelephone", {}, "Not Found"),
    ],
)
def test_what_telegram_does_not_take(method: str, parameters: dict[str, Any], description: str) -> None:
    async def test(client: Client) -> None:
        given = {name: client.room if value == "ROOM" else value for name, value in parameters.items()}
        assert (await client.error(method, **given)).startswith(description)
        assert client.bench.events(WireAccepted) == []

    play(test)


@pytest.mark.parametrize(("token", "status"), [("1:none", 401), ("none", 404)])
def test_a_token_that_is_none_is_refused_with_its_status(token: str, status: int) -> None:
    async def test(client: Client) -> None:
        async with client.http.get(f"{client.bench.server.url}/bot{token}/getMe") as answer:
            assert (answer.status, (await answer.json())["error_code"]) == (status, status)

    play(test)


def test_markdown_and_html_are_shown_as_text() -> None:
    async def test(client: Client) -> None:
        texts = {
            "MarkdownV2": "*bold _and_* `a.b` ||no|| [page](https://e.org/a\\)b) 1\\.5\n>quoted\n```py\nx = 1\n```",
            "HTML": "<b>a &lt; b</b> <tg-spoiler>no</tg-spoiler>",
        }
        for mode, text in texts.items():
            await client.call("sendMessage", chat_id=client.room, text=text, parse_mode=mode)
        shown = [one.text for one in client.bench.events(WireAccepted)]
        assert shown == ["bold and a.b no page 1.5\nquoted\nx = 1\n", "a < b no"]

    play(test)


@pytest.mark.parametrize("text", ["*a", "a_", "[a](b", "`a", "a!", "*a _b* c_", "(a)", "#1", "a-b", "```a"])
def test_markdown_that_is_not_escaped_is_refused(text: str) -> None:
    async def test(client: Client) -> None:
        said = await client.error("sendMessage", chat_id=client.room, text=text, parse_mode="MarkdownV2")
        assert said.startswith("Bad Request: can't parse entities")

    play(test)


async def numbers(client: Client, **parameters: Any) -> list[int]:
    return [update["update_id"] for update in (await client.call("getUpdates", **parameters))["result"]]


def test_offsets_confirm_and_limits_hold() -> None:
    async def test(client: Client) -> None:
        for number in range(4):
            await client.bench.say(client.bench.places[0], f"no {number}")
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        first, second, third, fourth = await numbers(client)
        assert await numbers(client, limit=2) == [first, second]
        assert await numbers(client, offset=second) == [second, third, fourth]
        assert await numbers(client, offset=-1) == [fourth]
        assert await numbers(client) == [fourth]
        assert (await client.call("deleteWebhook", drop_pending_updates=True))["ok"]
        assert await numbers(client) == []

    play(test)


@pytest.mark.parametrize(("drop", "left"), [(True, 0), (False, 1)])
def test_what_came_before_the_first_poll_is_dropped_on_request(drop: bool, left: int) -> None:
    async def test(client: Client) -> None:
        await client.bench.say(client.bench.places[0], "is anybody there?")
        await asyncio.sleep(0.3)
        assert (await client.call("deleteWebhook", drop_pending_updates=drop))["ok"]
        assert len(await numbers(client)) == left
        await client.bench.say(client.bench.places[0], "and now?")
        await asyncio.sleep(0.3)
        assert len(await numbers(client)) == left + 1

    play(test)


def test_a_poll_waits_and_ends_when_something_comes() -> None:
    async def test(client: Client) -> None:
        poll = asyncio.create_task(numbers(client, timeout=5))
        await asyncio.sleep(0.2)
        assert not poll.done()
        await client.bench.say(client.bench.places[0], "hello")
        async with asyncio.timeout(1.0):
            assert len(await poll) == 1
        assert await numbers(client, timeout=0, offset=999_999_999) == []

    play(test)


def test_a_later_poll_ends_an_earlier_one() -> None:
    async def test(client: Client) -> None:
        earlier = asyncio.create_task(client.error("getUpdates", timeout=5))
        await asyncio.sleep(0.1)
        later = asyncio.create_task(numbers(client, timeout=1))
        assert (await earlier).startswith("Conflict: terminated by other getUpdates request")
        assert await later == []

    play(test)


def test_only_allowed_updates_come() -> None:
    async def test(client: Client) -> None:
        assert await numbers(client, allowed_updates=["callback_query"]) == []
        await client.bench.say(client.bench.places[0], "unwanted")
        await asyncio.sleep(0.3)
        # What was allowed last holds until it is said again.
        assert await numbers(client) == []
        assert await numbers(client, allowed_updates=[]) == []
        await client.bench.say(client.bench.places[0], "wanted")
        assert len(await numbers(client, timeout=3)) == 1

    play(test)


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("/start now", [("bot_command", 0, 6)]),
        ("\U0001f600 /help@default_bot", [("bot_command", 3, 17)]),
        ("ask @default_bot", [("mention", 4, 12)]),
        ("see https://example.org/x?y", [("url", 4, 23)]),
        ("a/b, me@example.org and 1/2", []),
    ],
)
def test_commands_and_names_in_a_text_are_marked(text: str, entities: list[tuple[str, int, int]]) -> None:
    """Libraries know a command by its entity, and not by its text."""

    async def test(client: Client) -> None:
        await client.bench.say(client.bench.places[0], text)
        await asyncio.sleep(0.3)
        (update,) = (await client.call("getUpdates"))["result"]
        found = update["message"].get("entities", [])
        assert [(entity["type"], entity["offset"], entity["length"]) for entity in found] == entities

    play(test)
