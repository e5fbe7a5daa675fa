"""What a send to a homeserver proves when the socket fails, and what a resend under its key does then."""

import time

import pytest

from tests.support.wire.matrix import MatrixBench, a_send, play_matrix
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.values import IntentId


class Impatient(MatrixBench):
    """An account whose requests are in doubt soon."""

    config = {**MatrixBench.config, "request_timeout": 1, "poll_seconds": 1}  # noqa: RUF012 -- constant


@pytest.mark.parametrize(
    ("do", "error"),
    [
        ("reset", Ambiguous),
        ("reset-before", Ambiguous),
        ("half-answer", Ambiguous),
        ("html", Ambiguous),
        ("lose-response", Ambiguous),
        ("slow-loris", Ambiguous),
        ("error", Ambiguous),
        ("refuse", Refused),
        ("rate-limit", RateLimited),
    ],
)
def test_a_failure_says_no_more_than_it_proves_and_a_resend_is_one_message(do: str, error: type[PlatformError]) -> None:
    async def test(bench: MatrixBench) -> None:
        bench.fault(do, seconds=7.0)
        began, request = time.monotonic(), a_send(bench.places[0])
        with pytest.raises(error) as raised:
            await bench.bot.send(request)
        assert raised.value.ambiguous is (error is Ambiguous)
        assert time.monotonic() - began < 4.0
        if isinstance(raised.value, RateLimited):
            assert raised.value.retry_after == 7.0
        assert await bench.requests() == 1
        receipt = await bench.bot.send(request)
        assert [(one.text, one.provider_id) for one in await bench.accepted()] == [("hello", receipt.provider_id)]

    play_matrix(test, Impatient)


def test_a_server_that_is_away_got_nothing() -> None:
    async def test(bench: MatrixBench) -> None:
        await bench.bot.send(a_send(bench.places[0], "before"))
        await bench.listener.close()
        with pytest.raises(NotSent):
            await bench.bot.send(a_send(bench.places[0], "while"))
        with pytest.raises(NotSent):
            await bench.bot.send(a_send(bench.places[1], "to a person, whose room is not known yet"))
        await bench.listener.open()
        await bench.bot.send(a_send(bench.places[0], "after"))
        assert [one.text for one in await bench.accepted()] == ["before", "after"]

    play_matrix(test)


def test_a_question_before_a_change_that_breaks_changes_nothing() -> None:
    async def test(bench: MatrixBench) -> None:
        receipt = await bench.bot.send(a_send(bench.places[0]))
        bench.fault("reset", on="act")
        react = ActionRequest(
            action=Action.REACT,
            address=receipt.address,
            key="react/0",
            intent=IntentId("react"),
            attempt=1,
            message_id=receipt.provider_id,
            text="+",
            remove=True,
        )
        # What it asks first is struck: nothing was changed, and the gateway may ask again at once.
        with pytest.raises(NotSent):
            await bench.bot.act(react)
        await bench.bot.act(react)

    play_matrix(test)


def test_a_token_that_was_replaced_is_not_accepted() -> None:
    async def test(bench: MatrixBench) -> None:
        bench.server.platform.tokens.rotate("default", None)
        with pytest.raises(Unauthorized):
            await bench.bot.send(a_send(bench.places[0]))
        with pytest.raises(Unauthorized):
            async with bench.bot.connect():
                pass

    play_matrix(test)


def test_a_thread_that_is_gone_and_a_room_that_the_bot_was_removed_from() -> None:
    async def test(bench: MatrixBench) -> None:
        assert bench.thread is not None
        platform = bench.server.platform
        thread, room = platform.room_at(bench.thread), platform.room_at(bench.places[2])
        assert thread is not None
        assert room is not None
        platform.threads.close(thread, "deleted", None)
        with pytest.raises(PlaceGone, match="root of the thread"):
            await bench.bot.send(a_send(bench.thread))
        await bench.bot.send(a_send(bench.places[2], "still there"))
        room.left.add("default")
        with pytest.raises(PlaceGone, match="not in the room"):
            await bench.bot.send(a_send(bench.places[2], "gone"))
        await bench.bot.send(a_send(bench.places[0], "elsewhere"))
        assert [one.text for one in await bench.accepted()] == ["still there", "elsewhere"]

    play_matrix(test)
