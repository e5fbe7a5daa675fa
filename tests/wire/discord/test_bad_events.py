"""Events that cannot be read: each is dropped visibly, and the next one is handled."""

from typing import Any

import anyio
import pytest

from tests.support.wire.discord import DiscordBench, play, say_raw
from trunkline.core.events.adapters import UpdateDropped
from trunkline.core.reasons import Reason

MESSAGE = {
    "id": "200000000000000001",
    "channel_id": "1",
    "author": {"id": "2", "username": "x"},
    "content": "bad",
    "timestamp": "2026-01-01T00:00:00+00:00",
}


def event(name: str, data: object, seq: int = 100) -> dict[str, Any]:
    return {"op": 0, "t": name, "s": seq, "d": data}


BAD = {
    "no fields": event("MESSAGE_CREATE", {}),
    "no object": event("MESSAGE_CREATE", ["x"]),
    "nothing": event("MESSAGE_CREATE", None),
    "an id with half a surrogate pair": event("MESSAGE_CREATE", {**MESSAGE, "id": "\ud83d"}),
    "an id that is a number": event("MESSAGE_CREATE", {**MESSAGE, "id": 5}),
    "a long id": event("MESSAGE_CREATE", {**MESSAGE, "id": "9" * 5000}),
    "a channel with half a surrogate pair": event("MESSAGE_CREATE", {**MESSAGE, "channel_id": "1\udc00"}),
    "an author without an id": event("MESSAGE_CREATE", {**MESSAGE, "author": {"username": "x"}}),
    "a channel that is not shown": event("MESSAGE_CREATE", MESSAGE),
    "a text that is none": event("MESSAGE_CREATE", {**MESSAGE, "content": {"a": 1}}),
    "a server without an id": event("GUILD_CREATE", {"channels": []}),
    "a channel without a type": event("CHANNEL_CREATE", {"id": "7"}),
    "an interaction without a token": event("INTERACTION_CREATE", {"type": 3, "id": "5"}),
    "a field with half a surrogate pair": event("MESSAGE_CREATE", {**MESSAGE, "\ud83d": 1}),
    "an id that no message can have": event("MESSAGE_CREATE", {**MESSAGE, "id": "9" * 21}),
    "an event without a name": {"op": 0, "t": None, "s": 100, "d": {}},
    "an operation that is none": {"op": "x", "t": None, "s": None, "d": None},
}
IGNORED = {
    "an operation of a future version": {"op": 77, "t": None, "s": None, "d": {"x": 1}},
    "an event of a future version": event("SOMETHING_NEW", {"x": 1}),
    "an unknown interaction": event("INTERACTION_CREATE", {"type": 99}),
    "fields of a future version": event("CHANNEL_CREATE", {"id": "7", "type": 0, "new": {"a": [1]}}),
    "a heartbeat that is asked for": {"op": 1, "t": None, "s": None, "d": None},
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_event_is_dropped_and_the_next_one_is_handled(name: str) -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            await bench.say(bench.place, "before")
            await bench.brought(inbox, "before")
            say_raw(bench, BAD[name])
            await bench.say(bench.place, "after")
            await bench.brought(inbox, "after")
            assert inbox.over is None
        [dropped] = bench.recorded(UpdateDropped)
        assert (dropped.reason, dropped.channel) == (Reason.BAD_UPDATE, "discord")
        assert dropped.detail

    play(test)


@pytest.mark.parametrize("name", IGNORED)
def test_what_is_not_known_needs_no_answer(name: str) -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            await anyio.sleep(0.1)
            say_raw(bench, IGNORED[name])
            await bench.say(bench.place, "after")
            await bench.brought(inbox, "after")
        assert bench.recorded(UpdateDropped) == []

    play(test)


def test_a_name_with_half_a_surrogate_pair_is_shown() -> None:
    async def test(bench: DiscordBench) -> None:
        room = bench.place.conversation
        bad = {**MESSAGE, "channel_id": room, "content": "hi \ud83d", "author": {"id": "2", "username": "a\udc00"}}
        async with bench.listening() as inbox:
            await anyio.sleep(0.1)
            say_raw(bench, event("MESSAGE_CREATE", bad))
            [found] = await bench.brought(inbox, "hi ?")
            assert found.peer.name == "a?"

    play(test)


def test_a_message_of_ten_megabytes_stops_nobody() -> None:
    async def test(bench: DiscordBench) -> None:
        big = {**MESSAGE, "channel_id": bench.place.conversation, "content": "x" * 10_000_000}
        async with bench.listening() as inbox:
            await anyio.sleep(0.1)
            say_raw(bench, event("MESSAGE_CREATE", big))
            await bench.say(bench.place, "after")
            await bench.brought(inbox, "after", within=20.0)

    play(test)


def test_a_session_without_a_name_is_used_and_not_resumed() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            await anyio.sleep(0.1)
            say_raw(bench, event("READY", {"user": {"id": "nobody"}}))
            await bench.say(bench.place, "after")
            await bench.adapter.ack((await bench.brought(inbox, "after"))[0])
            await bench.say(bench.place, "later")
            await bench.brought(inbox, "later")
        assert [one.update for one in bench.recorded(UpdateDropped)] == ["READY"]

    play(test)
