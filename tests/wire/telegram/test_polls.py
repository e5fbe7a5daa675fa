"""Long polling: what is confirmed when, what comes again, and what a poll survives."""

import asyncio
import json
import time
from typing import Any

import aiohttp
import pytest

from tests.support.wire.telegram import TelegramBench, connected, play_telegram, spoil_updates
from trunkline.core.errors import Ambiguous, PlatformError, Refused
from trunkline.core.events.adapters import AdapterConnected, UpdateDropped
from trunkline.core.reasons import Reason
from trunkline.sim.wire.telegram.base import Parameters


class Quick(TelegramBench):
    """An account with short polls."""

    config = {**TelegramBench.config, "poll_seconds": 1}  # noqa: RUF012 -- constant


async def waiting(bench: TelegramBench) -> int:
    await asyncio.sleep(0.2)
    return bench.server.platform.pushes.waiting


def test_an_update_is_confirmed_once_every_one_before_it_is_safe() -> None:
    async def test(bench: TelegramBench) -> None:
        async with connected(bench) as inbox:
            for text in ("one", "two", "three"):
                await bench.say(bench.places[0], text)
                await asyncio.sleep(0.05)
            one, two, three = await inbox.take(3)
            await bench.bot.ack(two)
            await bench.bot.ack(three)
            assert await waiting(bench) == 3
            await bench.bot.ack(one)
            assert await waiting(bench) == 0
        assert json.loads(bench.cursors.values["offset"])[0] > 700_000_003

    play_telegram(test, Quick)


def test_the_next_process_goes_on_where_the_last_one_was() -> None:
    """Also if the last process ended before its offset reached Telegram."""

    async def test(bench: TelegramBench) -> None:
        async with connected(bench) as inbox:
            await bench.say(bench.places[0], "one")
            [one] = await inbox.take()
            await bench.bot.ack(one)
            assert await waiting(bench) == 0
            await bench.say(bench.places[0], "two")
        await bench.restart()
        async with connected(bench) as inbox:
            assert [envelope.text for envelope in await inbox.take()] == ["two"]

    play_telegram(test, Quick)


@pytest.mark.parametrize("age", [0, 6 * 86_400])
def test_an_offset_of_last_week_confirms_nothing(age: float) -> None:
    """After a week without updates Telegram counts from another number, which may be a lower one."""

    async def test(bench: TelegramBench) -> None:
        await bench.say(bench.places[0], "one")
        await asyncio.sleep(0.3)
        bench.cursors.values["offset"] = json.dumps([900_000_000, time.time() - age])
        async with connected(bench) as inbox:
            if age:
                assert [envelope.text for envelope in await inbox.take()] == ["one"]
            else:
                with pytest.raises(TimeoutError):
                    await inbox.take(1, within=1.5)

    play_telegram(test, Quick)


def test_other_chats_do_not_wait_for_a_message_that_is_not_acknowledged() -> None:
    async def test(bench: TelegramBench) -> None:
        async with connected(bench) as inbox:
            await bench.say(bench.places[0], "stuck")
            [stuck] = await inbox.take()
            for text in ("next", "and next"):
                await bench.say(bench.places[1], text)
                [found] = await inbox.take(1, within=3.0)
                assert found.text == text
                await bench.bot.ack(found)
            assert await waiting(bench) == 3
            await bench.bot.ack(stuck)
            assert await waiting(bench) == 0

    play_telegram(test, Quick)


BAD: dict[str, Any] = {
    "no message id": lambda update: {**update, "message": {"chat": {"id": 5, "type": "private"}}},
    "a text as a number": lambda update: {**update, "message": {**update["message"], "text": 7}},
    "a chat of another type": lambda update: {
        **update,
        "message": {**update["message"], "chat": {"id": 5, "type": "x"}},
    },
    "an id of 80 bits": lambda update: {**update, "message": {**update["message"], "message_id": 2**80}},
    "10 MB": lambda update: {**update, "message": {**update["message"], "text": "x" * 10_000_000}},
    "a press with half a character as id": lambda update: {
        "update_id": update["update_id"],
        "callback_query": {"id": "\ud83d", "from": update["message"]["from"], "message": update["message"]},
    },
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_update_is_recorded_and_the_next_one_arrives(bad: str) -> None:
    async def test(bench: TelegramBench) -> None:
        def spoil(update: dict[str, Any]) -> Any:
            return BAD[bad](update) if update.get("message", {}).get("text") == "bad" else update

        spoil_updates(bench, spoil)
        async with connected(bench) as inbox:
            for text in ("before", "bad", "after"):
                await bench.say(bench.places[0], text)
                await asyncio.sleep(0.05)
            found = await inbox.take(2, within=10.0)
            assert [envelope.text for envelope in found] == ["before", "after"]
            for envelope in found:
                await bench.bot.ack(envelope)
            assert await waiting(bench) == 0
        [dropped] = {one.update: one for one in bench.events(UpdateDropped)}.values()
        assert (dropped.reason, len(dropped.update)) == (Reason.BAD_UPDATE, 9)
        assert 0 < len(dropped.detail) <= 300

    play_telegram(test, Quick)


def test_what_is_of_a_future_version_is_passed_over() -> None:
    async def test(bench: TelegramBench) -> None:
        def spoil(update: dict[str, Any]) -> Any:
            if update["message"]["text"] == "new kind":
                return {"update_id": update["update_id"], "thought_transfer": {"id": 1}}
            return {**update, "seal": {"deep": [1]}, "message": {**update["message"], "mood": {"colour": "red"}}}

        spoil_updates(bench, spoil)
        async with connected(bench) as inbox:
            for text in ("new kind", "new field"):
                await bench.say(bench.places[0], text)
            assert [envelope.text for envelope in await inbox.take()] == ["new field"]

    play_telegram(test, Quick)


def test_half_a_character_in_a_text_stops_nobody() -> None:
    async def test(bench: TelegramBench) -> None:
        def spoil(update: dict[str, Any]) -> Any:
            return {**update, "message": {**update["message"], "text": "half \ud83d"}}

        spoil_updates(bench, spoil)
        async with connected(bench) as inbox:
            await bench.say(bench.places[0], "hello")
            assert [envelope.text for envelope in await inbox.take()] == ["half \ud83d"]

    play_telegram(test, Quick)


def test_a_message_that_comes_twice_is_handed_over_twice_and_confirmed_once() -> None:
    """The gateway recognises it, and records that."""

    async def test(bench: TelegramBench) -> None:
        bench.fault("duplicate", on="push")
        async with connected(bench) as inbox:
            await bench.say(bench.places[0], "twice")
            first, second = await inbox.take(2)
            assert (first.message_id, first.text) == (second.message_id, second.text)
            await bench.bot.ack(first)
            assert await waiting(bench) == 0

    play_telegram(test, Quick)


def test_a_poll_that_is_dead_ends_the_stream() -> None:
    async def test(bench: TelegramBench) -> None:
        async with connected(bench) as inbox:
            bench.fault("dead", on="connect", seconds=60.0)
            await bench.say(bench.places[0], "unheard")
            with pytest.raises(Ambiguous):
                await inbox.take(1, within=20.0)
        async with connected(bench) as inbox:
            assert [envelope.text for envelope in await inbox.take()] == ["unheard"]

    play_telegram(test, Quick)


def test_another_program_with_the_same_token_is_named() -> None:
    async def test(bench: TelegramBench) -> None:
        address = f"{bench.server.url}/bot{bench.server.token('default', 1)}/getUpdates?timeout=3"
        async with connected(bench) as inbox, aiohttp.ClientSession() as other:
            await asyncio.sleep(0.3)
            rival = asyncio.ensure_future(other.get(address))
            with pytest.raises(Refused, match="another program"):
                await inbox.take()
            rival.cancel()

    play_telegram(test)


def test_no_connection_is_claimed_before_a_poll_was_answered() -> None:
    async def test(bench: TelegramBench) -> None:
        await bench.listener.close()
        with pytest.raises(PlatformError):
            async with connected(bench):
                pass
        assert bench.events(AdapterConnected) == []
        await bench.listener.open()
        async with connected(bench):
            assert [one.by for one in bench.events(AdapterConnected)] == ["polling"]

    play_telegram(test, Quick)


def test_a_server_that_does_not_wait_is_not_asked_all_the_time() -> None:
    async def test(bench: TelegramBench) -> None:
        asked: list[Any] = []
        get_updates = bench.server.deliveries.get_updates

        async def at_once(caller: Any, given: Any) -> Any:
            asked.append(given)
            return await get_updates(caller, Parameters({"timeout": 0}, {}))

        bench.server.deliveries.get_updates = at_once  # type: ignore[method-assign] -- a server in between
        async with connected(bench):
            await asyncio.sleep(2.0)
        assert 3 <= len(asked) <= 8

    play_telegram(test)
