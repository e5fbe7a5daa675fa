"""Forum topics: bound conversations, and the actions of the message tool, by the real requests."""

from collections.abc import Callable

import anyio
import msgspec
import pytest

from tests.support.wire.telegram import TelegramBench, TelegramWebhookBench, a_send, connected, play_telegram
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.bindings.port import BindsConversations
from trunkline.core.errors import Ambiguous, PlaceArchived, PlaceGone, PlatformError, Refused
from trunkline.core.events.adapters import UpdateDropped
from trunkline.core.records.bindings import PlaceState
from trunkline.core.values import Address, IntentId
from trunkline.sim.events.world import ThreadOpened


def change(action: Action, place: Address, text: str) -> ActionRequest:
    return ActionRequest(action=action, address=place, key="k", intent=IntentId("i"), attempt=1, text=text)


def close(bench: TelegramBench, place: Address, how: str, *, locked: bool = False) -> None:
    room = bench.server.platform.room_at(place)
    assert room is not None
    bench.server.platform.threads.close(room, how, None, locked=locked)


async def until(enough: Callable[[], bool]) -> None:
    """Wait for what comes by a request of its own."""
    with anyio.fail_after(5):
        while not enough():  # noqa: ASYNC110 -- nothing notifies of it
            await anyio.sleep(0.01)


def test_a_topic_is_opened_once_for_its_key_and_takes_messages() -> None:
    async def test(bench: TelegramBench) -> None:
        assert isinstance(bench.bot, BindsConversations)
        room = bench.places[0]
        one = await bench.bot.open_child(room, "work on the lamp", "key")
        assert await bench.bot.open_child(one, "work on the lamp", "key") == one
        other = await bench.bot.open_child(room, "work on the lamp", "another key")
        assert one.thread not in (None, other.thread)
        assert (one.conversation, one.kind) == (room.conversation, room.kind)
        await bench.bot.send(a_send(one))
        assert [message.address for message in await bench.accepted()] == [one]
        assert await bench.bot.inspect(one) is PlaceState.OPEN
        assert await bench.bot.identity(one, "helper") is None

    play_telegram(test)


def test_topics_are_inspected_and_reopened() -> None:
    async def test(bench: TelegramBench) -> None:
        topic = bench.thread
        assert topic is not None
        close(bench, topic, "archived")
        assert await bench.bot.inspect(topic) is PlaceState.ARCHIVED
        await bench.bot.reopen(topic)
        assert await bench.bot.inspect(topic) is PlaceState.OPEN
        await bench.bot.reopen(topic)
        close(bench, topic, "archived", locked=True)
        with pytest.raises(PlaceArchived):
            await bench.bot.reopen(topic)
        close(bench, topic, "deleted")
        assert await bench.bot.inspect(topic) is PlaceState.GONE
        with pytest.raises(PlaceGone):
            await bench.bot.reopen(topic)
        assert await bench.bot.inspect(bench.places[0]) is PlaceState.OPEN
        assert await bench.bot.inspect(bench.nowhere[0]) is PlaceState.GONE

    play_telegram(test)


def test_only_groups_have_topics_and_nobody_guesses_a_state() -> None:
    async def test(bench: TelegramBench) -> None:
        with pytest.raises(Refused):
            await bench.bot.open_child(bench.places[1], "work", "key")
        await bench.listener.close()
        assert bench.thread is not None
        with pytest.raises(PlatformError):
            await bench.bot.inspect(bench.thread)
        await bench.listener.open()

    play_telegram(test)


def test_a_topic_whose_response_is_lost_is_in_doubt() -> None:
    async def test(bench: TelegramBench) -> None:
        bench.fault("reset", on="act")
        with pytest.raises(Ambiguous):
            await bench.bot.act(change(Action.TOPIC_CREATE, bench.places[0], "new"))
        assert len(bench.events(ThreadOpened)) == 1

    play_telegram(test)


def test_a_topic_is_created_and_renamed() -> None:
    async def test(bench: TelegramBench) -> None:
        made = await bench.bot.act(change(Action.TOPIC_CREATE, bench.places[0], "new"))
        assert made.provider_id == made.address.thread
        for _ in range(2):
            receipt = await bench.bot.act(change(Action.TOPIC_EDIT, made.address, "newer"))
            assert receipt.address == made.address
        room = bench.server.platform.room_at(made.address)
        assert room is not None
        assert room.title == "newer"
        await bench.bot.send(a_send(made.address))
        missing = msgspec.structs.replace(made.address, thread="404")
        with pytest.raises(PlaceGone):
            await bench.bot.act(change(Action.TOPIC_EDIT, missing, "newest"))

    play_telegram(test)


@pytest.mark.parametrize("kind", [TelegramBench, TelegramWebhookBench])
def test_a_topic_that_is_opened_again_is_told_at_once_and_is_no_message(kind: type[TelegramBench]) -> None:
    async def test(bench: TelegramBench) -> None:
        opened = list[Address]()
        bench.bot.connect_reopened(opened.append)
        topic = bench.thread
        assert topic is not None
        close(bench, topic, "archived", locked=True)
        async with connected(bench) as inbox:
            room = bench.server.platform.room_at(topic)
            assert room is not None
            bench.server.platform.threads.reopen(room)
            await until(lambda: bool(opened))
            await bench.say(topic, "and now?")
            assert [said.text for said in await inbox.take()] == ["and now?"]
        assert [place.lane for place in opened] == [topic.lane]
        drops = [(drop.reason, drop.detail) for drop in bench.events(UpdateDropped)]
        assert drops == [("service-message", "a note of Telegram: forum_topic_reopened")]

    play_telegram(test, kind)
