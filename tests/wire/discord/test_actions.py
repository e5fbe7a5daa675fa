"""What the message tool asks of Discord, on the wire: each change is made by the platform, each question answered."""

import json
from typing import Any

import anyio
import msgspec
import pytest

from tests.support.wire.discord import DiscordBench, play
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.errors import Ambiguous, AmbiguousTarget, Refused
from trunkline.core.message_tool.conversations import account_place, server_place
from trunkline.core.values import Address, IntentId, Poll, Receipt
from trunkline.sim.events.actions import WireActed

GUILD = "810000000000000001"
SERVER = server_place("discord", "default", GUILD)
SETTINGS = f'guild: "{GUILD}"'
LAMP = "data:image/png;name=lamp.png;base64,bGFtcA=="


async def act(
    bench: DiscordBench, action: Action, place: Address = SERVER, message: str | None = None, **fields: Any
) -> Receipt:
    request = ActionRequest(
        action=action,
        address=place,
        key=f"{action}",
        intent=IntentId("i"),
        attempt=1,
        message_id=message,
        fields=json.dumps(fields),
    )
    return await bench.bot.act(request)


async def ask(
    bench: DiscordBench, action: Action, place: Address = SERVER, message: str | None = None, **fields: Any
) -> Any:
    query = ActionQuery(action=action, address=place, message_id=message, fields=json.dumps(fields))
    return await bench.bot.ask(query)


def test_members() -> None:
    async def test(bench: DiscordBench) -> None:
        who: dict[str, Any] = {"guildId": GUILD, "userId": bench.ana.id}
        member = bench.server.platform.server.members[bench.ana.id]
        await act(bench, Action.ROLE_ADD, **who, roleId="77")
        assert (await ask(bench, Action.MEMBER_INFO, **who))["roles"] == ["77"]
        assert "77" in [one["roleId"] for one in await ask(bench, Action.ROLE_INFO, guildId=GUILD)]
        await act(bench, Action.ROLE_REMOVE, **who, roleId="77")
        assert (await ask(bench, Action.MEMBER_INFO, **who))["roles"] == []
        await act(bench, Action.TIMEOUT, **who, durationMin=5)
        assert 4.5 < (member.timeout - bench.server.world.now()) / 60 < 5.1
        assert (await ask(bench, Action.MEMBER_INFO, **who))["status"] == "timed out"
        await act(bench, Action.TIMEOUT, **who, durationMin=0)
        assert (await ask(bench, Action.VOICE_STATUS, **who))["connected"] is False
        await act(bench, Action.KICK, **who, reason="spam")
        assert member.out == "kicked"
        await act(bench, Action.BAN, **who)
        assert member.out == "banned"
        with pytest.raises(Refused, match="10007"):
            await ask(bench, Action.MEMBER_INFO, **who)
        with pytest.raises(Refused, match="10007"):
            await act(bench, Action.KICK, guildId=GUILD, userId="404")
        with pytest.raises(Refused, match="10004"):
            await ask(bench, Action.ROLE_INFO, guildId="404")

    play(test, SETTINGS)


def test_channels_and_threads() -> None:
    async def test(bench: DiscordBench) -> None:
        room = bench.place
        made = await act(bench, Action.CHANNEL_CREATE, guildId=GUILD, name="lamps", topic="light")
        await bench.adapter.send(bench.request("here", place=made.address))
        await act(bench, Action.CHANNEL_EDIT, made.address, name="lights")
        await act(bench, Action.CHANNEL_MOVE, made.address, position=3)
        info = await ask(bench, Action.CHANNEL_INFO, made.address)
        assert (info["name"], info["topic"], info["position"]) == ("lights", "light", 3)
        category = await act(bench, Action.CATEGORY_CREATE, guildId=GUILD, name="work")
        await act(bench, Action.CATEGORY_EDIT, categoryId=category.provider_id, name="play")
        names = {one["name"] for one in await ask(bench, Action.CHANNEL_LIST, guildId=GUILD)}
        assert {"lights", "play", "one", "two"} <= names
        await act(bench, Action.CATEGORY_DELETE, categoryId=category.provider_id)
        await act(bench, Action.CHANNEL_DELETE, made.address)
        names = {one["name"] for one in await ask(bench, Action.CHANNEL_LIST, guildId=GUILD)}
        assert names == {"one", "two"}
        thread = await act(bench, Action.THREAD_CREATE, room, threadName="talk")
        assert thread.address.parent == room.conversation
        root = await bench.adapter.send(bench.request("root", "root"))
        on_it = await act(bench, Action.THREAD_CREATE, room, root.provider_id, threadName="about it")
        assert on_it.provider_id == root.provider_id
        again = await act(bench, Action.THREAD_CREATE, room, root.provider_id, threadName="about it")
        assert again == on_it
        listed = await ask(bench, Action.THREAD_LIST, guildId=GUILD, channelId=room.conversation)
        assert {"talk", "about it"} <= {one["name"] for one in listed}
        assert "send-messages" in (await ask(bench, Action.PERMISSIONS, room))["permissions"]

    play(test, SETTINGS)


def test_emoji_stickers_and_events() -> None:
    async def test(bench: DiscordBench) -> None:
        await act(bench, Action.EMOJI_UPLOAD, guildId=GUILD, emojiName="lamp", media=LAMP)
        assert [one["name"] for one in await ask(bench, Action.EMOJI_LIST, guildId=GUILD)] == ["lamp"]
        fields: dict[str, Any] = {"stickerName": "bulb", "stickerDesc": "a bulb", "stickerTags": "light"}
        await act(bench, Action.STICKER_UPLOAD, guildId=GUILD, **fields, media=LAMP)
        assert [one["name"] for one in bench.server.platform.server.objects_of("sticker").values()] == ["bulb"]
        times: dict[str, Any] = {"startTime": "2030-01-01T00:00:00+00:00", "endTime": "2030-01-01T01:00:00+00:00"}
        await act(bench, Action.EVENT_CREATE, guildId=GUILD, eventName="party", location="here", **times)
        [event] = await ask(bench, Action.EVENT_LIST, guildId=GUILD)
        assert (event["name"], event["startTime"]) == ("party", times["startTime"])

    play(test, SETTINGS)


def test_messages_are_found() -> None:
    async def test(bench: DiscordBench) -> None:
        poll = Poll(question="Which?", options=("red", "green"))
        asked = await bench.adapter.send(bench.request("vote", poll=poll))
        await bench.adapter.send(bench.request("a needle", "k2"))
        found = await ask(bench, Action.POLL_RESULTS, bench.place, asked.provider_id)
        assert [one["text"] for one in found["options"]] == ["red", "green"]
        assert [one["text"] for one in await ask(bench, Action.SEARCH, guildId=GUILD, query="needle")] == ["a needle"]
        read = await ask(bench, Action.READ, bench.place, limit=1)
        assert [one["text"] for one in read] == ["a needle"]

    play(test, SETTINGS)


def test_a_presence_goes_by_the_gateway() -> None:
    async def test(bench: DiscordBench) -> None:
        place = account_place("discord", "default")
        async with bench.listening():
            await anyio.sleep(0.1)
            await act(bench, Action.SET_PRESENCE, place, status="idle", activityName="chess")
            await anyio.sleep(0.3)
        shown = bench.server.platform.server.presences["default"]
        assert (shown["status"], shown["activityName"]) == ("idle", "chess")
        assert [one.action for one in bench.recorded(WireActed)] == [Action.SET_PRESENCE]

    play(test, SETTINGS)


def test_names_are_looked_up() -> None:
    async def test(bench: DiscordBench) -> None:
        found = [await bench.bot.resolve_target(text) for text in ("#two", "@ana", "channel:one", "nobody", "#t")]
        room, direct, other = bench.places
        targets = [None if one is None else one.target for one in found]
        assert targets[:4] == [
            f"channel:{other.conversation}",
            f"user:{direct.conversation}",
            f"channel:{room.conversation}",
            None,
        ]
        with pytest.raises(AmbiguousTarget):
            await bench.bot.resolve_target("#o")

    play(test, SETTINGS)


def test_a_deletion_whose_answer_is_lost_is_in_doubt_and_is_one_request() -> None:
    async def test(bench: DiscordBench) -> None:
        sent = await bench.adapter.send(bench.request("hello"))
        bench.fault("reset", on="act")
        gone = ActionRequest(
            action=Action.DELETE,
            address=bench.place,
            key="d",
            intent=IntentId("i"),
            attempt=1,
            message_id=sent.provider_id,
        )
        # aiohttp makes a DELETE again by itself; the second one would be refused, as there is no such message any more.
        with pytest.raises(Ambiguous):
            await bench.bot.act(gone)
        assert len(bench.recorded(WireActed)) == 1
        assert await bench.bot.act(msgspec.structs.replace(gone, attempt=2)) == sent

    play(test)
