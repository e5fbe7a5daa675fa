"""Updates without a usable number, polls that stand still, and connections that end at the wrong moment."""

import asyncio
import json
from typing import Any

import pytest

from tests.support.own_names import own_names
from tests.support.wire.telegram import TelegramBench, connected, play_telegram, spoil_updates
from tests.wire.shared.raw_socket import answering, not_accepting, response
from trunkline.core.adapters.telegram import adapter
from trunkline.core.adapters.telegram.config import TelegramConfig
from trunkline.core.adapters.telegram.sends import BotApi, BotCall, chat_of, number_of, read_answer
from trunkline.core.adapters.telegram.updates import BadUpdate, read_batch
from trunkline.core.errors import Ambiguous, NotSent, PlaceGone, RateLimited, Refused
from trunkline.core.events.adapters import UpdateDropped
from trunkline.core.values import Address, ChatKind

TOKEN = "700000001:AAtesttokentesttokentesttokentest"
HELLO = BotCall(method="send_message", arguments={"chat_id": 5, "text": "hello"})


class Quick(TelegramBench):
    """An account with short polls."""

    config = {**TelegramBench.config, "poll_seconds": 1}  # noqa: RUF012 -- constant


def api_at(url: str, **fields: Any) -> BotApi:
    return BotApi(TelegramConfig.model_validate({"token": {"env": "TOKEN"}, "api_root": url, **fields}), TOKEN)


@pytest.mark.parametrize("number", [None, "7", 2**64, -5, 10**400, True, 1.5])
def test_an_update_without_a_usable_number_is_no_reason_to_ask_all_the_time(number: Any) -> None:
    """Nothing can confirm it, so Telegram answers each poll with it at once."""

    async def test(bench: TelegramBench) -> None:
        asked: list[Any] = []
        get_updates = bench.server.deliveries.get_updates

        async def counted(caller: Any, given: Any) -> Any:
            asked.append(given)
            return await get_updates(caller, given)

        def spoil(update: dict[str, Any]) -> Any:
            return {**update, "update_id": number} if update["message"]["text"] == "bad" else update

        bench.server.deliveries.get_updates = counted  # type: ignore[method-assign] -- a server in between
        spoil_updates(bench, spoil)
        async with connected(bench) as inbox:
            await bench.say(bench.places[0], "bad")
            await asyncio.sleep(2.0)
            assert len(asked) <= 8
            assert bench.events(UpdateDropped)
            await bench.say(bench.places[0], "good")
            [good] = await inbox.take(1, within=8.0)
            assert good.text == "good"
            await bench.bot.ack(good)
        assert json.loads(bench.cursors.values.get("offset", "[0]"))[0] < 2**40

    play_telegram(test, Quick)


def test_a_bad_update_behind_a_message_that_is_not_safe_is_recorded_once() -> None:
    async def test(bench: TelegramBench) -> None:
        def spoil(update: dict[str, Any]) -> Any:
            return {**update, "message": 5} if update["message"]["text"] == "bad" else update

        spoil_updates(bench, spoil)
        async with connected(bench) as inbox:
            await bench.say(bench.places[0], "not safe")
            await inbox.take()
            await bench.say(bench.places[0], "bad")
            await asyncio.sleep(3.5)
            assert len(bench.events(UpdateDropped)) == 1

    play_telegram(test, Quick)


def test_a_message_that_is_never_safe_ends_the_stream_when_nothing_else_can_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Telegram shows only the first updates that are not confirmed: what is behind them would wait in silence."""
    monkeypatch.setattr(adapter, "_LIMIT", 3)
    monkeypatch.setattr(adapter, "_STALLED", 2.0)

    async def test(bench: TelegramBench) -> None:
        async with connected(bench) as inbox:
            for text in ("never safe", "two", "three", "four"):
                await bench.say(bench.places[0], text)
                await asyncio.sleep(0.05)
            _, *others = await inbox.take(3)
            for one in others:
                await bench.bot.ack(one)
            with pytest.raises(NotSent, match="1 message"):
                await inbox.take(1, within=10.0)
        async with connected(bench) as inbox:
            [again] = await inbox.take()
            assert again.text == "never safe"
            await bench.bot.ack(again)
            assert [one.text for one in await inbox.take()] == ["four"]

    play_telegram(test, Quick)


def test_a_nest_that_is_too_deep_to_be_written_again_is_a_bad_update() -> None:
    """Just below the depth at which it cannot be read."""
    found: list[Any] = []
    for depth in range(900, 1000):
        nest = (
            b"[" * depth + b'"' + b"x" * 1_000_100 + b'"' + b"]" * depth if depth % 2 else b"[" * depth + b"]" * depth
        )
        batch = read_batch(
            b'{"ok":true,"result":[{"update_id":7,"x":%s}]}' % nest, "default", own_names("telegram", "1")
        )
        found += batch or []
    assert found
    assert all(one.number == 7 and (one.content is None or isinstance(one.content, BadUpdate)) for one in found)


def test_a_connection_that_ends_between_two_messages_leaves_no_doubt() -> None:
    """A server may close an idle connection just when the next message is written to it."""

    async def test() -> None:
        done: list[bytes] = []

        def answer(number: int, request: bytes) -> bytes | None:
            if number:
                return None
            done.append(request)
            return response(b'{"ok":true,"result":{"message_id":1}}')

        async with answering(answer) as url:
            api = api_at(url)
            for _ in range(2):
                await api.call(HELLO)
            await api.close()
        assert len(done) == 2

    asyncio.run(test())


def test_a_server_that_lets_nobody_connect_got_nothing() -> None:
    """Also if a request has hardly more time than a connection."""

    async def test() -> None:
        async with not_accepting() as url:
            api = api_at(url, request_timeout=1)
            with pytest.raises(NotSent):
                await api.call(HELLO)
            await api.close()

    asyncio.run(test())


@pytest.mark.parametrize("wait", ["9" * 400, "1e999", "NaN", "-1"])
def test_a_wait_that_is_no_time_stays_a_refusal(wait: str) -> None:
    body = f'{{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{{"retry_after":{wait}}}}}'
    answer = read_answer(429, body.encode())
    assert answer is not None
    error = answer.error()
    assert (type(error), error.retry_after) == (RateLimited, None)


@pytest.mark.parametrize("text", ["1_000", " 12", "12 ", "+12", "١٢", "1" * 30, "--1", "", "12\n"])
def test_what_python_takes_for_a_number_is_no_chat(text: str) -> None:
    """A message would go to another chat than the one that was named."""
    with pytest.raises(PlaceGone):
        chat_of(Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation=text))
    with pytest.raises(Refused):
        number_of(text, "a topic")


@pytest.mark.parametrize(
    "body", [b"{}", b'{"ok":true}', b'{"ok":false,"result":{}}', b'{"result":{}}', b'{"ok":1,"result":{}}', b"[]", b""]
)
def test_a_success_that_does_not_say_so_is_doubt(body: bytes) -> None:
    answer = read_answer(200, body)
    assert answer is not None
    assert type(answer.error()) is Ambiguous
