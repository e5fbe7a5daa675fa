"""What a send proves when the socket fails: certainly not sent, certainly refused, or in doubt."""

import asyncio
import logging
import time
from typing import Any

import pytest

from tests.support.wire.telegram import TelegramBench, a_send, play_telegram
from trunkline.core.errors import (
    Ambiguous,
    NotSent,
    PlaceArchived,
    PlaceGone,
    PlatformError,
    RateLimited,
    Refused,
    Unauthorized,
)


class Impatient(TelegramBench):
    """An account whose requests are in doubt soon."""

    config = {**TelegramBench.config, "request_timeout": 1, "poll_seconds": 1}  # noqa: RUF012 -- constant


@pytest.mark.parametrize(
    ("do", "error", "seen"),
    [
        ("reset", Ambiguous, 1),
        ("reset-before", Ambiguous, 0),
        ("half-answer", Ambiguous, 1),
        ("html", Ambiguous, 0),
        ("lose-response", Ambiguous, 1),
        ("slow-loris", Ambiguous, 1),
        ("error", Ambiguous, 0),
        ("refuse", Refused, 0),
        ("rate-limit", RateLimited, 0),
    ],
)
def test_a_failure_says_no_more_than_it_proves(do: str, error: type[PlatformError], seen: int) -> None:
    async def test(bench: TelegramBench) -> None:
        bench.fault(do, seconds=6.4)
        began = time.monotonic()
        with pytest.raises(error) as raised:
            await bench.bot.send(a_send(bench.places[0]))
        assert type(raised.value) is error
        assert time.monotonic() - began < 4.0
        if isinstance(raised.value, RateLimited):
            # In whole seconds, and none too few.
            assert raised.value.retry_after == 7.0
        assert len(await bench.accepted()) == seen
        # Nobody has sent it again, and the next one arrives.
        await bench.bot.send(a_send(bench.places[0], "again"))
        assert [one.text for one in await bench.accepted()][seen:] == ["again"]
        assert await bench.requests() == 2

    play_telegram(test, Impatient)


def test_a_server_that_is_away_got_nothing() -> None:
    async def test(bench: TelegramBench) -> None:
        await bench.bot.send(a_send(bench.places[0], "before"))
        await bench.listener.close()
        with pytest.raises(NotSent):
            await bench.bot.send(a_send(bench.places[0], "while"))
        await bench.listener.open()
        # The connection from before the restart is not used: that would be doubt.
        await bench.bot.send(a_send(bench.places[0], "after"))
        assert [one.text for one in await bench.accepted()] == ["before", "after"]

    play_telegram(test)


def test_a_token_that_was_replaced_is_not_accepted() -> None:
    async def test(bench: TelegramBench) -> None:
        bench.server.platform.tokens.rotate("default", None)
        with pytest.raises(Unauthorized):
            await bench.bot.send(a_send(bench.places[0]))
        with pytest.raises(Unauthorized):
            async with bench.bot.connect():
                pass

    play_telegram(test)


@pytest.mark.parametrize(("how", "error"), [("archived", PlaceArchived), ("deleted", PlaceGone)])
def test_a_closed_topic_takes_nothing(how: str, error: type[PlatformError]) -> None:
    async def test(bench: TelegramBench) -> None:
        assert bench.thread is not None
        room = bench.server.platform.room_at(bench.thread)
        assert room is not None
        bench.server.platform.threads.close(room, how, None)
        with pytest.raises(error) as raised:
            await bench.bot.send(a_send(bench.thread))
        assert type(raised.value) is error
        assert await bench.accepted() == []

    play_telegram(test)


def test_a_bot_that_was_removed_reaches_the_other_rooms() -> None:
    async def test(bench: TelegramBench) -> None:
        room = bench.server.platform.room_at(bench.places[0])
        assert room is not None
        room.left.add("default")
        with pytest.raises(PlaceGone, match="not a member"):
            await bench.bot.send(a_send(bench.places[0]))
        await bench.bot.send(a_send(bench.places[2], "elsewhere"))
        assert [one.text for one in await bench.accepted()] == ["elsewhere"]

    play_telegram(test)


def test_requests_side_by_side_fail_alone() -> None:
    async def test(bench: TelegramBench) -> None:
        bench.fault("reset", text="no 3")
        sends = (bench.bot.send(a_send(bench.places[n % 3], f"no {n}")) for n in range(20))
        found: list[Any] = await asyncio.gather(*sends, return_exceptions=True)
        assert [n for n, one in enumerate(found) if isinstance(one, Exception)] == [3]
        assert isinstance(found[3], Ambiguous)
        assert len({one.text for one in await bench.accepted()}) == 20

    play_telegram(test)


def test_what_was_accepted_has_a_receipt_whatever_the_library_makes_of_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """telegram-test-api, for one, answers with times of the year 58864, which the library cannot read."""

    async def test(bench: TelegramBench) -> None:
        monkeypatch.setattr(bench.server, "date", lambda at=None: 1_795_427_359_000)
        receipt = await bench.bot.send(a_send(bench.places[0]))
        [message] = await bench.accepted()
        assert message.provider_id == receipt.provider_id

    play_telegram(test)


def test_no_log_line_has_the_token(caplog: pytest.LogCaptureFixture) -> None:
    async def test(bench: TelegramBench) -> None:
        caplog.clear()
        with caplog.at_level(logging.DEBUG):
            await bench.bot.send(a_send(bench.places[0]))
        said = "\n".join(record.getMessage() for record in caplog.records)
        assert "/bot.../sendMessage" in said
        assert bench.server.token("default", 1) not in said

    play_telegram(test)
