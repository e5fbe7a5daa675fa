"""Sends over a socket that breaks, and what is refused: nothing is doubled, and no refusal counts as doubt."""

import msgspec
import pytest

from tests.support.wire.discord import DiscordBench, play
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import (
    Ambiguous,
    IdentityGone,
    NotSent,
    PlaceArchived,
    PlaceGone,
    PlatformError,
    RateLimited,
    Refused,
)
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, ChatKind, IntentId, Receipt
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated


async def failure(bench: DiscordBench, key: str = "k", place: Address | None = None) -> PlatformError:
    with pytest.raises(PlatformError) as caught:
        await bench.adapter.send(bench.request("hello", key, place))
    return caught.value


@pytest.mark.parametrize(("do", "accepted"), [("reset", 1), ("reset-before", 0), ("half-answer", 1), ("html", 0)])
def test_a_lost_answer_is_doubt_and_the_nonce_leaves_one_message(do: str, accepted: int) -> None:
    async def test(bench: DiscordBench) -> None:
        bench.fault(do)
        assert type(await failure(bench)) is Ambiguous
        assert len(bench.recorded(WireAccepted)) == accepted
        again = msgspec.structs.replace(bench.request("hello"), attempt=2)
        receipts = {await bench.adapter.send(again) for _ in range(3)}
        assert len(receipts) == 1
        assert bench.texts() == ["hello"]
        assert len(bench.recorded(WireDeduplicated)) == 2 + accepted

    play(test)


def test_twenty_lost_answers_in_a_row_leave_twenty_messages() -> None:
    async def test(bench: DiscordBench) -> None:
        for number in range(20):
            bench.fault("reset" if number % 2 else "half-answer")
            assert isinstance(await failure(bench, f"k{number}"), Ambiguous)
            await bench.adapter.send(bench.request("hello", f"k{number}"))
        assert len(bench.recorded(WireAccepted)) == len(bench.texts()) == 20

    play(test)


def test_an_internal_error_is_doubt_and_is_one_request() -> None:
    async def test(bench: DiscordBench) -> None:
        bench.fault("error")
        assert type(await failure(bench)) is Ambiguous
        assert await bench.requests() == 1

    play(test)


def test_a_wait_is_reported_and_not_slept() -> None:
    async def test(bench: DiscordBench) -> None:
        bench.fault("rate-limit", seconds=600.0)
        error = await failure(bench)
        assert (type(error), error.retry_after) == (RateLimited, 600.0)
        assert await bench.requests() == 1

    play(test)


def test_a_silent_server_is_doubt_after_the_time_out() -> None:
    async def test(bench: DiscordBench) -> None:
        bench.fault("lose-response")
        assert type(await failure(bench)) is Ambiguous

    play(test, request_timeout=0.5)


def test_a_slow_answer_is_an_answer() -> None:
    async def test(bench: DiscordBench) -> None:
        bench.fault("slow-loris", seconds=1.0)
        assert isinstance(await bench.adapter.send(bench.request("hello")), Receipt)

    play(test)


def test_a_server_that_is_down_got_nothing() -> None:
    async def test(bench: DiscordBench) -> None:
        await bench.listener.close()
        assert type(await failure(bench)) is NotSent
        # The direct conversation has to be opened first; whatever becomes of that, nothing was sent.
        await bench.listener.close()
        assert type(await failure(bench, place=bench.places[1])) is NotSent

    play(test)


def test_an_archived_thread_and_a_deleted_one() -> None:
    async def test(bench: DiscordBench) -> None:
        assert bench.thread is not None
        room = bench.server.platform.room_at(bench.thread)
        assert room is not None
        bench.server.platform.threads.close(room, "archived", None)
        assert type(await failure(bench, place=bench.thread)) is PlaceArchived
        bench.server.platform.threads.reopen(room)
        bench.server.platform.threads.close(room, "deleted", None)
        assert type(await failure(bench, place=bench.thread)) is PlaceGone

    play(test)


def test_a_bot_that_was_removed_from_a_room_writes_elsewhere() -> None:
    async def test(bench: DiscordBench) -> None:
        room = bench.server.platform.room_at(bench.place)
        assert room is not None
        room.left.add("default")
        assert type(await failure(bench)) is PlaceGone
        await bench.adapter.send(bench.request("still here", "k2", bench.places[2]))
        assert bench.texts() == ["still here"]

    play(test)


def test_content_that_discord_refuses_is_refused() -> None:
    async def test(bench: DiscordBench) -> None:
        long = Button(text="lamp", value="x" * 101)
        request = bench.request("hello", parts=MessageParts(buttons=((long,),)))
        with pytest.raises(Refused, match="50035"):
            await bench.adapter.send(request)
        with pytest.raises(Refused, match="50006"):
            await bench.adapter.send(bench.request("   "))
        assert bench.texts() == []

    play(test)


def test_a_webhook_posts_in_its_thread_under_its_name() -> None:
    async def test(bench: DiscordBench) -> None:
        adapter, thread = bench.bot, bench.thread
        assert thread is not None
        identity = await adapter.identity(thread, "deployer")
        assert identity is not None
        request = bench.request("done", place=thread, identity=identity)
        receipt = await adapter.send(request)
        assert receipt.address == thread
        [accepted] = bench.recorded(WireAccepted)
        assert (accepted.identity, accepted.address) == (str(identity), thread)
        change = ActionRequest(
            action=Action.EDIT,
            address=thread,
            key="e",
            intent=IntentId("e"),
            attempt=1,
            message_id=receipt.provider_id,
            text="done now",
            identity=identity,
        )
        await adapter.act(change)
        assert bench.texts() == ["done now"]
        # The webhook of the account is found again, by another process too.
        await bench.restart()
        assert await bench.bot.identity(thread, "deployer") == identity
        room = bench.server.platform.room_at(bench.place)
        assert room is not None
        bench.server.platform.webhooks.end(bench.place, "deleted", None)
        with pytest.raises(IdentityGone):
            await adapter.send(msgspec.structs.replace(request, key="k2"))
        assert bench.texts() == ["done now"]

    play(test)


def test_a_webhook_posts_in_a_thread_that_was_named_by_its_id_alone() -> None:
    async def test(bench: DiscordBench) -> None:
        assert bench.thread is not None
        bare = msgspec.structs.replace(bench.thread, parent=None)
        identity = await bench.bot.identity(bare, "deployer")
        assert identity is not None
        receipt = await bench.adapter.send(bench.request("done", place=bare, identity=identity))
        assert receipt.address == bare
        [accepted] = bench.recorded(WireAccepted)
        assert accepted.address.conversation == bare.conversation

    play(test)


def test_a_lost_answer_to_a_webhook_is_doubt() -> None:
    async def test(bench: DiscordBench) -> None:
        identity = await bench.bot.identity(bench.place, "deployer")
        assert identity is not None
        bench.fault("reset")
        with pytest.raises(Ambiguous):
            await bench.adapter.send(bench.request("done", identity=identity))
        assert bench.texts() == ["done"]

    play(test)


def test_a_reply_that_cannot_quote_is_still_sent() -> None:
    async def test(bench: DiscordBench) -> None:
        await bench.adapter.send(bench.request("hello", reply_to="123456789012345678"))
        assert bench.texts() == ["hello"]

    play(test)


def test_a_thread_is_opened_once_for_a_key() -> None:
    async def test(bench: DiscordBench) -> None:
        first = await bench.bot.open_child(bench.place, "deploy", "task-1")
        await bench.restart()
        assert await bench.bot.open_child(bench.place, "deploy", "task-1") == first
        other = await bench.bot.open_child(bench.place, "deploy", "task-2")
        assert other != first
        assert (first.kind, first.parent) == (ChatKind.CHANNEL, bench.place.conversation)

    play(test)
