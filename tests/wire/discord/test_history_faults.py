"""What was missed is read whole, whatever comes between, and however long it takes."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import anyio
import pytest

from tests.support.wire.discord import DiscordBench, play, say_raw
from trunkline.core.adapters.discord.calls import RestCall
from trunkline.core.adapters.discord.client import OneRequestClient
from trunkline.core.adapters.discord.errors import error_of
from trunkline.core.adapters.discord.receiving.gateway import SessionLost
from trunkline.core.errors import NotSent
from trunkline.core.events.adapters import UpdateDropped
from trunkline.sim.events.world import PlatformConnected, PlatformPushed

PAGE_OF_A_FIREWALL = error_of(403, {}, b"<html>blocked</html>")


@contextmanager
def answers(path: str, *answered: object) -> Generator[None]:
    """The first GETs of a path are answered so; the others as usual."""
    real, left = OneRequestClient.call, list(answered)

    async def call(self: OneRequestClient, call: RestCall) -> Any:
        if left and call.method == "GET" and call.path.endswith(path):
            answer = left.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        return await real(self, call)

    with patch.object(OneRequestClient, "call", call):
        yield


async def missed(bench: DiscordBench, *texts: str) -> None:
    """Messages that can only be read in the history; the session is lost."""
    async with bench.listening() as inbox:
        await bench.say(bench.place, "first")
        await bench.adapter.ack((await bench.brought(inbox, "first"))[0])
        await anyio.sleep(0.05)
    bench.server.hub.sessions.clear()
    for text in texts:
        await bench.say(bench.place, text)
        await anyio.sleep(0.01)
    await anyio.sleep(0.2)
    bench.adapter = await bench.restart()
    with pytest.raises(SessionLost):
        async with bench.listening():
            pass


@pytest.mark.parametrize("answer", [PAGE_OF_A_FIREWALL, {"messages": []}], ids=["firewall", "no-list"])
def test_a_page_that_is_not_discords_ends_the_connection_and_not_the_history(answer: object) -> None:
    async def test(bench: DiscordBench) -> None:
        await missed(bench, "missed")
        with answers("/messages", answer):
            async with bench.listening() as inbox:
                assert isinstance(await bench.ended(inbox), NotSent)
                assert inbox.saying("missed") == []
            async with bench.listening() as inbox:
                await bench.brought(inbox, "missed")

    play(test)


def test_a_message_whose_channel_cannot_be_looked_up_comes_again() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            await bench.say(bench.place, "first")
            await bench.adapter.ack((await bench.brought(inbox, "first"))[0])
        with answers(f"/channels/{bench.place.conversation}", PAGE_OF_A_FIREWALL):
            bench.adapter = await bench.restart()
            async with bench.listening() as inbox:
                await bench.say(bench.place, "second")
                assert isinstance(await bench.ended(inbox), NotSent)
            async with bench.listening() as inbox:
                await bench.brought(inbox, "second")
        assert bench.recorded(UpdateDropped) == []

    play(test)


def test_what_was_missed_counts_as_handed_out_when_it_is_read() -> None:
    """A new session brings nothing of before: a client that does not read the history is never given it."""

    async def test(bench: DiscordBench) -> None:
        await missed(bench, "missed")
        before = bench.recorded(PlatformPushed)
        with answers("/messages", PAGE_OF_A_FIREWALL):
            async with bench.listening() as inbox:
                assert isinstance(await bench.ended(inbox), NotSent)
        assert bench.recorded(PlatformPushed) == before
        async with bench.listening() as inbox:
            await bench.brought(inbox, "missed")
        (pushed,) = bench.recorded(PlatformPushed)[len(before) :]
        assert not pushed.replay

    play(test)


def test_a_history_that_takes_many_heartbeats_is_read_on_one_connection() -> None:
    async def test(bench: DiscordBench) -> None:
        await missed(bench, *(f"missed {number}" for number in range(3)))
        bench.server.hub.heartbeat_seconds = 0.1
        before = len(bench.recorded(PlatformConnected))
        bench.fault("slow", on="act", seconds=1.0, action="read")
        async with bench.listening() as inbox:
            await bench.brought(inbox, *(f"missed {number}" for number in range(3)))
            await bench.say(bench.place, "live")
            await bench.brought(inbox, "live")
            assert inbox.over is None
        assert len(bench.recorded(PlatformConnected)) == before + 1

    play(test)


def test_a_channel_that_cannot_be_read_hides_no_other() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            await anyio.sleep(0.1)
            bad: list[object] = [{"id": "x", "type": 0}, {"id": "77"}, 5]
            good = {"id": "78", "type": 0, "name": "good"}
            data = {"id": "5", "channels": [*bad, good], "threads": [None]}
            say_raw(bench, {"op": 0, "t": "GUILD_CREATE", "s": 50, "d": data})
            written = {"id": "200000000000000001", "channel_id": "78", "author": {"id": "2"}, "content": "seen"}
            event = {**written, "timestamp": "2026-01-01T00:00:00+00:00"}
            say_raw(bench, {"op": 0, "t": "MESSAGE_CREATE", "s": 51, "d": event})
            [found] = await bench.brought(inbox, "seen")
            assert found.guild == "5"
        assert len(bench.recorded(UpdateDropped)) == 4

    play(test)


def test_an_address_for_resuming_that_is_dead_is_tried_once() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            await bench.say(bench.place, "one")
            await bench.adapter.ack((await bench.brought(inbox, "one"))[0])
            await anyio.sleep(0.05)
        await bench.say(bench.place, "two")
        stored = json.loads(bench.cursors.values["gateway"])
        bench.cursors.values["gateway"] = json.dumps({**stored, "url": "ws://127.0.0.1:1"})
        bench.adapter = await bench.restart()
        with pytest.raises(NotSent):
            async with bench.listening():
                pass
        async with bench.listening() as inbox:
            await bench.brought(inbox, "two")
        assert len(bench.server.hub.sessions) == 1

    play(test)
