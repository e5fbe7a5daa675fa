"""The gateway's connection: sessions that go on, connections that break, and ones that are dead without saying so."""

import anyio
import pytest

from tests.support.wire.discord import DiscordBench, play, say_raw
from trunkline.core.adapters.discord.receiving.gateway import SessionLost
from trunkline.core.channels import LateOutcome
from trunkline.core.errors import NotSent, Refused, Unauthorized
from trunkline.core.events.adapters import AdapterConnected, UpdateDropped
from trunkline.core.values import Address
from trunkline.sim.events.world import PlatformConnected


def test_a_session_goes_on_in_the_next_process() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            await bench.say(bench.place, "one")
            await bench.adapter.ack((await bench.brought(inbox, "one"))[0])
            await bench.say(bench.place, "two")
            await bench.brought(inbox, "two")
        await bench.say(bench.place, "three")
        bench.adapter = await bench.restart()
        async with bench.listening() as inbox:
            # What was not acknowledged comes again, and what was said meanwhile comes too.
            await bench.brought(inbox, "two", "three")
            assert [one.text for one in inbox.envelopes] == ["two", "three"]
        assert len(bench.server.hub.sessions) == 1

    play(test)


def test_what_is_durable_out_of_order_is_not_handed_out_again() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            for text in ("one", "two", "three"):
                await bench.say(bench.place, text)
            await bench.brought(inbox, "one", "two", "three")
            first, second, third = inbox.envelopes
            await bench.adapter.ack(third)
            await bench.adapter.ack(first)
        async with bench.listening() as inbox:
            await bench.brought(inbox, second.text)
            await bench.adapter.ack(second)
            await anyio.sleep(0.2)
            assert [one.text for one in inbox.envelopes] == [second.text]
        bench.adapter = await bench.restart()
        async with bench.listening() as inbox:
            await anyio.sleep(0.2)
            assert inbox.envelopes == []

    play(test)


def test_the_position_moves_only_with_what_is_durable() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            await anyio.sleep(0.2)
            before = dict(bench.cursors.values)
            for text in ("one", "two"):
                await bench.say(bench.place, text)
            await bench.brought(inbox, "one", "two")
            one, two = inbox.envelopes
            assert bench.cursors.values == before
            await bench.adapter.ack(two)
            assert bench.cursors.values == before
            await bench.adapter.ack(one)
            assert bench.cursors.values != before

    play(test)


def test_the_history_has_what_was_said_while_no_session_was_there() -> None:
    async def test(bench: DiscordBench) -> None:
        room, direct, other = bench.places
        assert bench.thread is not None
        async with bench.listening() as inbox:
            for number, place in enumerate((room, direct)):
                await bench.say(place, f"before {number}")
                await bench.adapter.ack((await bench.brought(inbox, f"before {number}"))[0])
            await anyio.sleep(0.05)
        bench.server.hub.sessions.clear()
        for number in range(3):
            await bench.say(room, f"missed {number}")
            # Ids are in the order of their milliseconds.
            await anyio.sleep(0.01)
        for name, place in (("directly", direct), ("in a thread", bench.thread), ("elsewhere", other)):
            await bench.say(place, name)
        await anyio.sleep(0.2)
        bench.adapter = await bench.restart()
        with pytest.raises(SessionLost):
            async with bench.listening():
                pass
        async with bench.listening() as inbox:
            said = ["missed 0", "missed 1", "missed 2", "directly", "in a thread", "elsewhere"]
            found = await bench.brought(inbox, *said)
            assert {one.address for one in found} == {room, direct, bench.thread, other}
            places = [one.text for one in inbox.envelopes if one.text.startswith("missed")]
            assert places == ["missed 0", "missed 1", "missed 2"]
            # Until all of it is durable, another start would read it again.
            await bench.adapter.ack(found[0])
        bench.server.hub.sessions.clear()
        bench.adapter = await bench.restart()
        async with bench.listening() as inbox:
            found = await bench.brought(inbox, *said[1:])
            for one in inbox.envelopes:
                await bench.adapter.ack(one)
            await bench.say(room, "live")
            await bench.adapter.ack((await bench.brought(inbox, "live"))[0])
        assert bench.server.platform.pushes.waiting == 0

    play(test)


def test_a_message_that_comes_while_the_history_is_read_is_not_lost() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            await bench.say(bench.place, "first")
            await bench.adapter.ack((await bench.brought(inbox, "first"))[0])
        bench.server.hub.sessions.clear()
        await bench.say(bench.place, "missed")
        await anyio.sleep(0.2)
        bench.adapter = await bench.restart()
        with pytest.raises(SessionLost):
            async with bench.listening():
                pass
        bench.fault("slow", on="act", seconds=1.0, action="read")
        async with bench.listening() as inbox:
            await bench.say(bench.place, "meanwhile")
            await bench.brought(inbox, "missed", "meanwhile")

    play(test)


def test_a_new_account_gets_nothing_from_before_its_first_connection() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening():
            await anyio.sleep(0.1)
        bench.server.hub.sessions.clear()
        await bench.say(bench.place, "missed")
        await anyio.sleep(0.2)
        bench.cursors.values.clear()
        bench.adapter = await bench.restart()
        async with bench.listening() as inbox:
            await anyio.sleep(0.2)
            await bench.say(bench.place, "now")
            await bench.brought(inbox, "now")
            assert [one.text for one in inbox.envelopes] == ["now"]

    play(test)


def test_what_is_said_right_after_the_first_connection_is_not_lost_with_its_process() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.adapter.connect():
            # Nothing is read from it any more: the process is killed here.
            await bench.say(bench.place, "hello?")
            await anyio.sleep(0.1)
        bench.adapter = await bench.restart()
        async with bench.listening() as inbox:
            await bench.brought(inbox, "hello?")

    play(test)


def test_a_socket_that_is_dead_without_saying_so_is_noticed() -> None:
    async def test(bench: DiscordBench) -> None:
        bench.server.hub.heartbeat_seconds = 0.3
        async with bench.listening() as inbox:
            bench.fault("dead", on="connect", seconds=60)
            bench.server.platform.pushes.go_silent("default")
            await bench.say(bench.place, "lost in silence")
            error = await bench.ended(inbox, within=3.0)
            assert isinstance(error, NotSent)
            assert "heartbeat" in str(error)
        async with bench.listening() as inbox:
            await bench.brought(inbox, "lost in silence")

    play(test)


def test_a_living_socket_is_kept() -> None:
    async def test(bench: DiscordBench) -> None:
        bench.server.hub.heartbeat_seconds = 0.1
        async with bench.listening() as inbox:
            await anyio.sleep(1.0)
            assert inbox.over is None
            await bench.say(bench.place, "still there")
            await bench.brought(inbox, "still there")
        assert len(bench.recorded(PlatformConnected)) == 1

    play(test)


def test_the_server_restarts() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            await bench.say(bench.place, "one")
            await bench.adapter.ack((await bench.brought(inbox, "one"))[0])
            await bench.listener.restart(0.1)
            assert isinstance(await bench.ended(inbox), NotSent)
        await bench.say(bench.place, "two")
        async with bench.listening() as inbox:
            await bench.brought(inbox, "two")
            assert [one.text for one in inbox.envelopes] == ["two"]
        assert [one.by for one in bench.recorded(AdapterConnected)] == ["gateway", "gateway"]

    play(test)


def test_messages_that_are_deleted_are_told_one_by_one() -> None:
    async def test(bench: DiscordBench) -> None:
        lost = list[LateOutcome]()
        bench.bot.connect_late(lost.append)
        async with bench.listening() as inbox:
            await bench.say(bench.place, "one")
            await bench.brought(inbox, "one")
            say_raw(bench, {"op": 0, "t": "MESSAGE_DELETE", "s": 100, "d": {"id": "7", "channel_id": "1"}})
            say_raw(bench, {"op": 0, "t": "MESSAGE_DELETE_BULK", "s": 101, "d": {"ids": ["8", "9"], "channel_id": "2"}})
            say_raw(bench, {"op": 0, "t": "MESSAGE_DELETE", "s": 102, "d": {"id": "\ud83d", "channel_id": 5}})
            await bench.say(bench.place, "two")
            await bench.brought(inbox, "two")
        assert [(one.place.conversation, one.message_id) for one in lost] == [("1", "7"), ("2", "8"), ("2", "9")]
        assert [one.update for one in bench.recorded(UpdateDropped)] == ["MESSAGE_DELETE ?"]

    play(test)


def test_the_gateway_asks_to_connect_again() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            say_raw(bench, {"op": 7, "d": None, "s": None, "t": None})
            assert isinstance(await bench.ended(inbox), NotSent)
        await bench.say(bench.place, "after")
        async with bench.listening() as inbox:
            await bench.brought(inbox, "after")
        assert len(bench.server.hub.sessions) == 1

    play(test)


def test_a_platform_that_cannot_be_reached_is_connected_later() -> None:
    async def test(bench: DiscordBench) -> None:
        await bench.listener.close()
        with pytest.raises(NotSent):
            async with bench.listening():
                pass
        await bench.listener.open()
        async with bench.listening():
            pass

    play(test)


def test_a_revoked_token_is_told_apart() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening():
            pass
        bench.server.platform.tokens.rotate("default", None)
        with pytest.raises(Unauthorized):
            async with bench.listening():
                pass
        with pytest.raises(Unauthorized):
            await bench.adapter.send(bench.request("hello"))

    play(test)


def test_a_refused_intent_names_the_remedy() -> None:
    async def test(bench: DiscordBench) -> None:
        bench.server.hub.privileged = False
        with pytest.raises(Refused, match="developer portal"):
            async with bench.listening():
                pass

    play(test)


def test_a_session_that_is_too_far_behind_is_over() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            await bench.say(bench.place, "one")
            await bench.adapter.ack((await bench.brought(inbox, "one"))[0])
            await anyio.sleep(0.05)
        [session] = bench.server.hub.sessions.values()
        session.seq += 5
        session.log.clear()
        await bench.say(bench.place, "two")
        await anyio.sleep(0.2)
        with pytest.raises(SessionLost):
            async with bench.listening():
                pass
        async with bench.listening() as inbox:
            await bench.brought(inbox, "two")

    play(test)


def test_a_server_that_never_comes_holds_the_position_until_it_is_gone() -> None:
    async def test(bench: DiscordBench) -> None:
        async with bench.listening() as inbox:
            await anyio.sleep(0.1)
            guilds = [{"id": "5"}, {"id": "6"}]
            ready = {"user": {"id": "7"}, "session_id": "s", "resume_gateway_url": "ws://x", "guilds": guilds}
            say_raw(bench, {"op": 0, "t": "READY", "s": 1, "d": ready})
            say_raw(bench, {"op": 0, "t": "GUILD_CREATE", "s": 2, "d": {"id": "5"}})
            say_raw(bench, {"op": 0, "t": "GUILD_DELETE", "s": 3, "d": {"id": "6", "unavailable": True}})
            await anyio.sleep(0.2)
            before = dict(bench.cursors.values)
            await bench.say(bench.place, "one")
            await bench.adapter.ack((await bench.brought(inbox, "one"))[0])
            assert bench.cursors.values == before
            say_raw(bench, {"op": 0, "t": "GUILD_DELETE", "s": 5, "d": {"id": "6"}})
            await anyio.sleep(0.2)
            assert '"session":"s"' in bench.cursors.values["gateway"]

    play(test)


def test_a_thread_that_is_opened_again_is_told_at_once() -> None:
    async def test(bench: DiscordBench) -> None:
        opened = list[Address]()
        bench.bot.connect_reopened(opened.append)
        thread, threads = bench.thread, bench.server.platform.threads
        assert thread is not None
        room = bench.server.platform.room_at(thread)
        assert room is not None
        threads.close(room, "archived", None, locked=True)
        async with bench.listening() as inbox:
            threads.reopen(room)
            await bench.say(thread, "and now?")
            await bench.brought(inbox, "and now?")
            with anyio.fail_after(5):
                while not opened:  # noqa: ASYNC110 -- nothing notifies of it
                    await anyio.sleep(0.01)
        # It is told with each update of an open thread: to wake what is awake already does nothing.
        assert {place.lane for place in opened} == {thread.lane}

    play(test)
