"""Threads, members, channels, groups, polls and message parts on fake platforms: state that can be asked for."""

import json
from typing import Any

import anyio
import pytest

from tests.support.contract.stage import ALL, Stage, attempt, play, request
from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action, ActionKind
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.errors import PlatformError, Refused, UnknownName
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.message_tool.conversations import account_place, server_place
from trunkline.core.values import Address, Capability, IntentId, Poll, Receipt
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import ThreadOpened
from trunkline.sim.platforms import PLATFORMS
from trunkline.sim.platforms.actions.questions import QUESTIONS
from trunkline.sim.platforms.api.action_wire import CHANGES

GUILD = server_place("discord", "default", "acme")


async def do(stage: Stage, action: Action, place: Address, message_id: str | None = None, **fields: Any) -> Any:
    """A change with parameters; a receipt or an error."""
    asked = ActionRequest(
        action=action,
        address=place,
        key=f"{action.value}/0",
        intent=IntentId("i1"),
        attempt=1,
        message_id=message_id,
        fields=json.dumps(fields),
    )
    try:
        return await stage.adapter(place.channel).act(asked)
    except PlatformError as error:
        return error


async def ask(stage: Stage, action: Action, place: Address, message_id: str | None = None, **fields: Any) -> Any:
    query = ActionQuery(action=action, address=place, message_id=message_id, fields=json.dumps(fields))
    return await stage.adapter(place.channel).ask(query)


@for_each("platform", ALL)
def test_every_declared_action_is_played(platform: str) -> None:
    declared = PLATFORMS[platform].actions_of()
    assert {action for action in declared if action.spec.kind is not ActionKind.MESSAGE} <= {*CHANGES, *QUESTIONS}


def person(stage: Stage, name: str) -> str:
    return stage.world.peer("discord", name).id


# ---------------------------------------------------------------- members


def test_a_banned_person_posts_no_more_in_rooms_and_in_direct_messages_still() -> None:
    async def test(stage: Stage) -> None:
        ana = person(stage, "ana")
        for repeated in (False, True):
            assert isinstance(await do(stage, Action.BAN, GUILD, guildId="acme", userId=ana), Receipt)
            assert stage.recorded(WireActed)[-1].repeated is repeated
        with pytest.raises(UnknownName, match="banned"):
            stage.say("m1", "discord/mine")
        stage.say("m2", "discord:default/@ana")
        info = await ask(stage, Action.MEMBER_INFO, GUILD, guildId="acme", userId=ana)
        assert (info["name"], info["status"]) == ("ana", "banned")

    play(test)


def test_a_timeout_ends_by_itself_or_when_it_is_lifted() -> None:
    async def test(stage: Stage) -> None:
        ana = person(stage, "ana")
        for minutes, problem in ((50_000, "at most"), (-1, "at most"), ("ten", "at most")):
            assert problem in str(await do(stage, Action.TIMEOUT, GUILD, userId=ana, durationMin=minutes))
        await do(stage, Action.TIMEOUT, GUILD, userId=ana, durationMin=1)
        with pytest.raises(UnknownName, match="timed out"):
            stage.say("m1", "discord/mine")
        await anyio.sleep(61.0)
        stage.say("m2", "discord/mine")
        await do(stage, Action.TIMEOUT, GUILD, userId=ana, durationMin=10)
        await do(stage, Action.TIMEOUT, GUILD, userId=ana, durationMin=0)
        stage.say("m3", "discord/mine")

    play(test)


def test_roles_that_the_gateway_gives_and_takes_show_on_messages() -> None:
    async def test(stage: Stage) -> None:
        ana, adapter = person(stage, "ana"), stage.adapter("discord")
        await do(stage, Action.ROLE_ADD, GUILD, userId=ana, roleId="ops")
        await do(stage, Action.ROLE_REMOVE, GUILD, userId=ana, roleId="dev")
        stage.say("m1", "discord/mine")
        [envelope] = await stage.taken(adapter)
        assert envelope.roles == ("ops",)
        assert await ask(stage, Action.ROLE_INFO, GUILD, guildId="acme") == [{"roleId": "ops", "name": "ops"}]

    play(test)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"userId": "404"}, "unknown member"),
        ({"userId": "ANA", "guildId": "another"}, "unknown guild"),
        ({}, "userId is missing"),
    ],
)
def test_nobody_else_is_removed(fields: dict[str, str], problem: str) -> None:
    async def test(stage: Stage) -> None:
        given = {name: person(stage, "ana") if value == "ANA" else value for name, value in fields.items()}
        assert problem in str(await do(stage, Action.KICK, GUILD, **given))
        assert not stage.recorded(WireActed)

    play(test)


# ---------------------------------------------------------------- threads, channels, other objects


def test_a_thread_is_created_by_itself_or_on_a_message() -> None:
    async def test(stage: Stage) -> None:
        place, adapter = stage.place("discord/mine"), stage.adapter("discord")
        alone = await do(stage, Action.THREAD_CREATE, place, threadName="deploys")
        assert alone.address.parent == place.conversation and alone.provider_id == alone.address.conversation
        root = await adapter.send(request(place))
        on_message = await do(stage, Action.THREAD_CREATE, place, root.provider_id, threadName="this one")
        assert on_message.address.conversation == root.provider_id
        # A second one with the same name is another thread; what is created is no longer the same twice.
        again = await do(stage, Action.THREAD_CREATE, place, threadName="deploys")
        assert again.address != alone.address
        assert [body.name for body in stage.recorded(ThreadOpened)] == ["deploys", "this one", "deploys"]
        listed = await ask(stage, Action.THREAD_LIST, GUILD, guildId="acme", channelId=place.conversation)
        assert [one["name"] for one in listed] == ["deploys", "this one", "deploys"]
        await adapter.send(request(alone.address, key="k2/0"))
        assert "threadName is missing" in str(await do(stage, Action.THREAD_CREATE, place, threadName=" "))

    play(test)


def test_a_topic_is_created_and_renamed_on_telegram() -> None:
    async def test(stage: Stage) -> None:
        place = stage.place("telegram/mine")
        topic = await do(stage, Action.TOPIC_CREATE, place, name="deploys")
        assert topic.address.thread == topic.provider_id
        for repeated in (False, True):
            await do(stage, Action.TOPIC_EDIT, topic.address, name="releases")
            assert stage.recorded(WireActed)[-1].repeated is repeated
        assert "no such topic" in str(await do(stage, Action.TOPIC_EDIT, place, name="releases"))

    play(test)


def test_channels_categories_and_events_are_kept() -> None:
    async def test(stage: Stage) -> None:
        made = await do(stage, Action.CHANNEL_CREATE, GUILD, guildId="acme", name="lamps", topic="light")
        place = made.address
        await stage.adapter("discord").send(request(place))
        await do(stage, Action.CHANNEL_EDIT, place, name="bulbs")
        info = await ask(stage, Action.CHANNEL_INFO, place, channelId=place.conversation)
        assert (info["name"], info["topic"]) == ("bulbs", "light")
        names = [one["name"] for one in await ask(stage, Action.CHANNEL_LIST, GUILD, guildId="acme")]
        assert "bulbs" in names and "lamps" not in names
        for repeated in (False, True):
            await do(stage, Action.CHANNEL_DELETE, place)
            assert stage.recorded(WireActed)[-1].repeated is repeated
        assert isinstance(await attempt(stage.adapter("discord"), place, key="k2/0"), Refused)
        category = await do(stage, Action.CATEGORY_CREATE, GUILD, name="rooms")
        await do(stage, Action.CATEGORY_EDIT, GUILD, categoryId=category.provider_id, name="halls")
        assert stage.recorded(WireActed)[-1].before == "rooms"
        for _ in range(2):
            assert isinstance(await do(stage, Action.CATEGORY_DELETE, GUILD, categoryId=category.provider_id), Receipt)
        assert "unknown category" in str(await do(stage, Action.CATEGORY_DELETE, GUILD, categoryId="404"))
        await do(stage, Action.EVENT_CREATE, GUILD, eventName="lights out", startTime="2026-01-01T00:00:00Z")
        [event] = await ask(stage, Action.EVENT_LIST, GUILD, guildId="acme")
        assert (event["name"], event["startTime"]) == ("lights out", "2026-01-01T00:00:00Z")

    play(test)


def test_a_presence_is_shown_until_another_one() -> None:
    async def test(stage: Stage) -> None:
        place = account_place("discord", "default")
        for status, repeated in (("dnd", False), ("dnd", True), ("idle", False)):
            await do(stage, Action.SET_PRESENCE, place, status=status)
            assert stage.recorded(WireActed)[-1].repeated is repeated
        assert "status is one of" in str(await do(stage, Action.SET_PRESENCE, place, status="asleep"))
        assert stage.world.platforms["discord"].server.presences["default"] == {"status": "idle"}

    play(test)


def test_messages_are_searched_where_the_account_is() -> None:
    async def test(stage: Stage) -> None:
        stage.say("m1", "discord/mine", "a lamp is out")
        stage.say("m2", "discord/both", "the Lamp is on")
        found = await ask(stage, Action.SEARCH, GUILD, guildId="acme", query="LAMP")
        assert [one["text"] for one in found] == ["the Lamp is on", "a lamp is out"]
        here = stage.place("discord/mine").conversation
        assert len(await ask(stage, Action.SEARCH, GUILD, query="lamp", channelId=here)) == 1
        query = ActionQuery(
            action=Action.SEARCH, address=server_place("discord", "second", "acme"), fields='{"query": "lamp"}'
        )
        found: Any = await stage.adapter("discord", "second").ask(query)
        assert [one["text"] for one in found] == ["the Lamp is on"]

    play(test)


# ---------------------------------------------------------------- polls and parts


@pytest.mark.parametrize("platform", [name for name in ALL if Capability.POLL in PLATFORMS[name].extras])
def test_a_receipt_names_the_poll_and_its_results_can_be_asked_for(platform: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}/mine")
        receipt = await stage.adapter(platform).send(
            request(place, poll=Poll(question="Which?", options=("red", "green")))
        )
        [accepted] = stage.recorded(WireAccepted)
        assert receipt.poll_id and accepted.poll_id == receipt.poll_id
        if Action.POLL_RESULTS in stage.adapter(platform).capabilities.actions:
            found = await ask(stage, Action.POLL_RESULTS, place, receipt.provider_id)
            assert found["pollId"] == receipt.poll_id
            assert [(one["text"], one["votes"]) for one in found["options"]] == [("red", 0), ("green", 0)]

    play(test)


def test_a_bot_votes_on_matrix() -> None:
    async def test(stage: Stage) -> None:
        place = stage.place("matrix/mine")
        receipt = await stage.adapter("matrix").send(
            request(place, poll=Poll(question="Which?", options=("red", "green")))
        )
        for option, repeated in (("red", False), (2, False), ("green", True)):
            await do(stage, Action.POLL_VOTE, place, receipt.provider_id, pollOptionIndex=option)
            assert stage.recorded(WireActed)[-1].repeated is repeated
        found = await ask(stage, Action.POLL_RESULTS, place, receipt.provider_id)
        assert [one["votes"] for one in found["options"]] == [0, 1]
        for option in (0, 3, "blue"):
            wrong = await do(stage, Action.POLL_VOTE, place, receipt.provider_id, pollOptionIndex=option or "0")
            assert isinstance(wrong, Refused)

    play(test)


@for_each("platform", ALL)
@for_each(
    ("needs", "parts"),
    [
        (Capability.SILENT, MessageParts(silent=True)),
        (Capability.BUTTONS, MessageParts(buttons=((Button(text="Yes", value="yes"),),))),
        (Capability.CARDS, MessageParts(card="{}")),
        (Capability.COMPONENTS, MessageParts(components="{}")),
        (Capability.EMBEDS, MessageParts(embed="From #general")),
        (Action.SEND_WITH_EFFECT, MessageParts(effect="confetti")),
        (Action.STICKER, MessageParts(sticker="wave")),
    ],
)
def test_parts_are_on_the_wire_where_a_platform_has_them(
    platform: str, needs: Capability | Action, parts: MessageParts
) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        sent = await attempt(adapter, stage.place(f"{platform}/mine"), parts=parts)
        can = needs in adapter.capabilities.can | adapter.capabilities.actions
        assert isinstance(sent, Receipt if can else Refused)
        assert [body.parts for body in stage.recorded(WireAccepted)] == [parts] * can

    play(test)
