"""Fakes of iMessage, BlueBubbles and Microsoft Teams: their own rules; and why accounts are not ready."""

import anyio
import pytest

from tests.support.contract.stage import ALL, Stage, act, attempt, play, request
from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.channels import Ready
from trunkline.core.errors import Refused
from trunkline.core.message_parts import MessageParts
from trunkline.core.values import Address, ChatKind, IntentId, Poll, Receipt
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import ThreadOpened
from trunkline.sim.scenario import ScenarioError, load_text
from trunkline.sim.scenario.model.world import not_ready

APPLE = ["bluebubbles", "imessage"]


@pytest.mark.parametrize("platform", APPLE)
def test_a_guid_names_the_same_conversation(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        for spot, kind, style in (("mine", ChatKind.GROUP, "+"), ("@ana", ChatKind.DIRECT, "-")):
            place = stage.place(f"{platform}:default/{spot}")
            guid = f"iMessage;{style};{place.conversation}"
            other = Address(channel=platform, account="default", kind=kind, conversation=guid)
            assert (await adapter.send(request(other, key=f"{spot}/0"))).address == place

    play(test)


@pytest.mark.parametrize("platform", APPLE)
def test_a_message_is_unsent_within_two_minutes_and_edited_five_times_within_fifteen(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        first, second = [await adapter.send(request(place, key=f"k{n}/0")) for n in (1, 2)]
        for number in range(5):
            assert isinstance(await act(adapter, Action.EDIT, first, f"text {number}"), Receipt)
        assert "edited 5 times" in str(await act(adapter, Action.EDIT, first, "once more"))
        assert isinstance(await act(adapter, Action.EDIT, first, "text 4"), Receipt)
        assert isinstance(await act(adapter, Action.UNSEND, second), Receipt)
        await anyio.sleep(120.0)
        assert "too old" in str(await act(adapter, Action.UNSEND, first))
        third = await adapter.send(request(place, key="k3/0"))
        await anyio.sleep(15 * 60.0)
        assert "too old" in str(await act(adapter, Action.EDIT, third, "late"))

    play(test)


@pytest.mark.parametrize("platform", APPLE)
def test_an_effect_has_a_known_name(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        for number, (effect, known) in enumerate(
            (("confetti", True), ("com.apple.messages.effect.lasers", True), ("earthquake", False))
        ):
            sent = await attempt(adapter, place, key=f"k{number}/0", parts=MessageParts(effect=effect))
            assert isinstance(sent, Receipt if known else Refused)
        assert len(stage.recorded(WireAccepted)) == 2

    play(test)


@pytest.mark.parametrize("platform", APPLE)
def test_groups_are_renamed_joined_and_left(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, group = stage.adapter(platform), stage.place(f"{platform}/mine")

        async def do(action: Action, fields: str, place: Address = group) -> Receipt:
            asked = ActionRequest(
                action=action, address=place, key="k/0", intent=IntentId("i1"), attempt=1, fields=fields
            )
            return await adapter.act(asked)

        for action, fields in (
            (Action.RENAME_GROUP, '{"displayName": "Lamps"}'),
            (Action.SET_GROUP_ICON, '{"media": "https://example.org/lamp.png"}'),
            (Action.ADD_PARTICIPANT, '{"address": "+15550001111"}'),
            (Action.REMOVE_PARTICIPANT, '{"address": "+15550001111"}'),
            (Action.LEAVE_GROUP, "{}"),
        ):
            for repeated in (False, True):
                if action is Action.LEAVE_GROUP or not repeated:
                    await do(action, fields)
                    assert stage.recorded(WireActed)[-1].repeated is repeated
        assert stage.recorded(WireActed)[0].before == "mine"
        assert "no such conversation" in str(await attempt(adapter, group))
        stage.say("m1", f"{platform}/mine")
        assert await stage.taken(adapter) == []
        with pytest.raises(Refused, match="no group"):
            await do(Action.RENAME_GROUP, '{"displayName": "Ana"}', stage.place(f"{platform}:default/@ana"))

    play(test)


def test_a_thread_of_teams_is_a_reply_chain() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("msteams"), stage.place("msteams/mine")
        root = await adapter.send(request(place))
        chain = Address(
            channel="msteams",
            account="default",
            kind=ChatKind.CHANNEL,
            conversation=place.conversation,
            thread=root.provider_id,
        )
        for number in (1, 2):
            assert (await adapter.send(request(chain, key=f"k{number}/0"))).address == chain
        assert [body.address for body in stage.recorded(ThreadOpened)] == [chain]
        with pytest.raises(Refused):
            await adapter.open_thread(place, root.provider_id, "title")

    play(test)


def test_a_poll_of_teams_has_twelve_options() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("msteams"), stage.place("msteams/mine")
        options = tuple(f"option {n}" for n in range(13))
        assert isinstance(await attempt(adapter, place, poll=Poll(question="Which?", options=options[:12])), Receipt)
        assert isinstance(
            await attempt(adapter, place, key="k2/0", poll=Poll(question="Which?", options=options)), Refused
        )

    play(test)


def test_a_button_of_a_card_is_pressed() -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("msteams")
        card = '{"actions": [{"type": "Action.Submit", "title": "Approve", "data": "ok"}]}'
        receipt = await adapter.send(request(stage.place("msteams/mine"), parts=MessageParts(card=card)))
        people = stage.world.platforms["msteams"].people
        people.press("press1", stage.world.peer("msteams", "ana"), (), stage.message(receipt), "Approve")
        assert [one.text for one in await stage.taken(adapter)] == ["ok"]

    play(test)


# ---------------------------------------------------------------- readiness


@for_each("platform", ALL)
def test_every_reason_of_a_platform_can_be_played(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        for reason in not_ready(platform):
            stage.fault("error", on="ready", reason=reason, **{"for": 5.0})
            assert await adapter.ready() == Ready(ok=False, reason=reason)
            await anyio.sleep(6.0)
            assert await adapter.ready() == Ready(ok=True)
            stage.world.faults.heal()

    play(test)


def test_another_reason_is_an_error_of_the_file() -> None:
    text = """
scenario: 1
title: Not ready
world: {whatsapp: {rooms: [crew]}}
cast: {agents: {main: [{do: [{silent: true}]}]}}
script:
  - {at: 0s, fault: {on: ready, do: error, reason: whatsapp-not-linked}}
  - {at: 1s, fault: {on: ready, do: error, reason: discord-offline}}
  - {at: 1s, fault: {on: send, do: error, reason: whatsapp-not-linked}}
"""
    with pytest.raises(ScenarioError) as caught:
        load_text(text)
    assert "`reason` goes with `ready` only" in str(caught.value)
    with pytest.raises(ScenarioError) as caught:
        load_text(text.rsplit("\n", 2)[0])
    assert "expected a reason of the platform, found 'discord-offline'" in str(caught.value)
