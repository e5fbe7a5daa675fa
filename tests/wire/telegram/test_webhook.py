"""Updates by webhook: who may call it, when a call succeeds, and what comes again."""

import asyncio
import json
from typing import Any

import aiohttp
import anyio
import pytest

from tests.support.wire.telegram import SECRET, TelegramBench, TelegramWebhookBench, connected, play_telegram
from trunkline.core.adapters.port import WebhookAnswer, WebhookCall
from trunkline.core.errors import ConfigError, Refused
from trunkline.core.events.adapters import UpdateDropped, WebhookRefused
from trunkline.core.reasons import Reason

HEADER = "x-telegram-bot-api-secret-token"
MESSAGE = {
    "update_id": 5,
    "message": {
        "message_id": 3,
        "date": 1,
        "chat": {"id": 77, "type": "private", "first_name": "Ana"},
        "from": {"id": 77, "is_bot": False, "first_name": "Ana"},
        "text": "hello",
    },
}


def call(body: Any = MESSAGE, *, method: str = "POST", tail: str = "", **headers: str) -> WebhookCall:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in ({HEADER: SECRET} | headers).items() if value}
    return WebhookCall(method=method, tail=tail, query=(), headers=named, body=raw)


def play(test: Any) -> None:
    play_telegram(test, TelegramWebhookBench)


@pytest.mark.parametrize("secret", ["", "not-this", f"{SECRET} ", "open-sesam\u00e9", "\udcff"])
def test_a_call_without_the_secret_is_refused_and_recorded(secret: str) -> None:
    async def test(bench: TelegramBench) -> None:
        async with connected(bench) as inbox:
            answer = await bench.bot.webhook(call(**{HEADER: secret}))
            assert answer.status == 401
            [refused] = bench.events(WebhookRefused)
            assert refused.reason is Reason.BAD_SIGNATURE
            assert refused.detail == ("another secret" if secret else "no secret")
            with pytest.raises(TimeoutError):
                await inbox.take(within=0.2)

    play(test)


def test_a_secret_of_another_account_is_refused() -> None:
    """The address names the account, and each account has a secret of its own."""

    async def test(bench: TelegramBench) -> None:
        answer = await bench.bot.webhook(call(**{HEADER: "of-the-other-account"}))
        assert answer.status == 401
        assert len(bench.events(WebhookRefused)) == 1

    play(test)


@pytest.mark.parametrize(("change", "status"), [({"method": "GET"}, 405), ({"tail": "/more"}, 404)])
def test_other_requests_are_none_of_telegrams(change: dict[str, str], status: int) -> None:
    async def test(bench: TelegramBench) -> None:
        assert (await bench.bot.webhook(call(**change))).status == status  # type: ignore[arg-type] -- both are texts

    play(test)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1]", b"null", b"\xff\xfe", b'{"update_id": 1e400}', b"[" * 200_000, b'{"update_id": ' + b"9" * 5000],
    ids=["nothing", "half", "a list", "null", "no text", "infinite", "deep", "long number"],
)
def test_a_body_that_is_no_update_is_recorded_and_not_asked_for_again(body: bytes) -> None:
    async def test(bench: TelegramBench) -> None:
        async with connected(bench) as inbox:
            assert (await bench.bot.webhook(call(body))).status == 200
            assert [one.reason for one in bench.events(UpdateDropped)] == [Reason.BAD_UPDATE]
            calls = asyncio.create_task(bench.bot.webhook(call()))
            [good] = await inbox.take()
            await bench.bot.ack(good)
            assert (await calls).status == 200

    play(test)


def test_a_large_update_is_recorded_and_not_handed_over() -> None:
    async def test(bench: TelegramBench) -> None:
        large = {**MESSAGE, "message": {**MESSAGE["message"], "text": "x" * 10_000_000}}  # type: ignore[dict-item] -- an object
        async with connected(bench):
            assert (await bench.bot.webhook(call(large))).status == 200
        assert [(one.update, one.reason) for one in bench.events(UpdateDropped)] == [("5", Reason.BAD_UPDATE)]

    play(test)


def test_a_call_succeeds_once_its_message_is_safe() -> None:
    async def test(bench: TelegramBench) -> None:
        async with connected(bench) as inbox:
            first = asyncio.create_task(bench.bot.webhook(call()))
            [envelope] = await inbox.take()
            # Telegram gives up waiting, and calls again: that is no second message.
            second = asyncio.create_task(bench.bot.webhook(call()))
            await asyncio.sleep(0.1)
            assert not first.done()
            assert not second.done()
            await bench.bot.ack(envelope)
            assert [(await one).status for one in (first, second)] == [200, 200]
            # A replay of what is safe changes nothing.
            assert await bench.bot.webhook(call()) == WebhookAnswer()
            with pytest.raises(TimeoutError):
                await inbox.take(within=0.2)

    play(test)


def test_a_call_fails_while_nobody_reads_and_when_the_reader_ends() -> None:
    async def test(bench: TelegramBench) -> None:
        assert (await bench.bot.webhook(call())).status == 503
        async with connected(bench) as inbox:
            waiting = asyncio.create_task(bench.bot.webhook(call()))
            await inbox.take()
        assert (await waiting).status == 503

    play(test)


def test_what_is_not_acknowledged_comes_again_and_other_chats_do_not_wait() -> None:
    async def test(bench: TelegramBench) -> None:
        async with connected(bench) as inbox:
            await bench.say(bench.places[0], "kept")
            [kept] = await inbox.take()
            await bench.say(bench.places[1], "other")
            [other] = await inbox.take()
            assert (kept.text, other.text) == ("kept", "other")
            await bench.bot.ack(other)
        async with connected(bench) as inbox:
            assert [one.text for one in await inbox.take(within=8.0)] == ["kept"]
            with pytest.raises(TimeoutError):
                await inbox.take(within=1.5)

    play(test)


def test_nothing_waits_for_the_rest_of_an_album() -> None:
    """Telegram brings the second file when the first is answered for, which is after its turn has begun."""
    album = {**MESSAGE["message"], "photo": [{"file_id": "f", "width": 1, "height": 1}], "media_group_id": "a"}
    text = {**MESSAGE["message"], "message_id": 4, "text": "x" * 4000}

    async def test(bench: TelegramBench) -> None:
        async with connected(bench) as inbox, anyio.create_task_group() as group:
            for number, message in enumerate((album, text), 5):
                group.start_soon(bench.bot.webhook, call({"update_id": number, "message": message}))
                [found] = await inbox.take()
                assert found.act is None
                await bench.bot.ack(found)

    play(test)


def test_messages_arrive_after_the_server_was_away() -> None:
    async def test(bench: TelegramBench) -> None:
        async with connected(bench) as inbox:
            await bench.listener.close()
            await bench.say(bench.places[0], "meanwhile")
            await bench.listener.open()
            assert [one.text for one in await inbox.take()] == ["meanwhile"]

    play(test)


def test_the_webhook_keeps_polls_out_and_polling_removes_it() -> None:
    async def test(bench: TelegramBench) -> None:
        root = f"{bench.server.url}/bot{bench.server.token('default', 1)}"
        async with connected(bench), aiohttp.ClientSession() as http:
            async with http.get(f"{root}/getUpdates") as answer:
                assert (answer.status, (await answer.json())["error_code"]) == (409, 409)
            async with http.get(f"{root}/getWebhookInfo") as answer:
                info = (await answer.json())["result"]
            assert info["url"].endswith("/v1/platforms/telegram/default")
            async with http.get(f"{root}/deleteWebhook") as answer:
                assert (await answer.json()) == {"ok": True, "result": True}
            async with http.get(f"{root}/getUpdates") as answer:
                assert await answer.json() == {"ok": True, "result": []}

    play(test)


def test_a_webhook_that_somebody_removed_is_noticed_and_set_again() -> None:
    async def test(bench: TelegramBench) -> None:
        root = f"{bench.server.url}/bot{bench.server.token('default', 1)}"
        async with connected(bench) as inbox:
            async with aiohttp.ClientSession() as http, http.get(f"{root}/deleteWebhook"):
                pass
            with pytest.raises(Refused, match="changed the webhook"):
                await inbox.take(within=150.0)
        async with connected(bench) as inbox:
            await bench.say(bench.places[0], "hello")
            assert [one.text for one in await inbox.take(within=60.0)] == ["hello"]

    play_telegram(test, TelegramWebhookBench, factor=30.0)


def test_a_secret_that_telegram_does_not_take_is_said_before_anything_starts() -> None:
    class Spaced(TelegramWebhookBench):
        def secrets(self) -> dict[str, str]:
            return {"SECRET": "two words"}

    async def test(bench: TelegramBench) -> None:
        raise AssertionError("it started")

    with pytest.raises(ConfigError, match="1 to 256 letters"):
        play_telegram(test, Spaced)
