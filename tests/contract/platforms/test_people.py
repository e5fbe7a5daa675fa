"""What people do to messages on fake platforms: reactions, votes, presses, edits, deletions."""

import pytest

from tests.support.contract.stage import ALL, Stage, play, request
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import identify, plan_reply
from trunkline.core.errors import UnknownName
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Capability, Poll, Receipt
from trunkline.sim.events.world import PeerDeleted, PeerEdited, PeerReacted, PeerSaid, PeerVoted
from trunkline.sim.platforms import PLATFORMS
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.platforms.people import People
from trunkline.sim.scenario.model.world import BUTTONLESS, POLLLESS

PARTS = MessageParts(
    buttons=((Button(text="Yes", value="yes:1"), Button(text="No"), Button(text="Page", url="https://example.org")),)
)


def people_and(stage: Stage, receipt: Receipt) -> tuple[People, BoardMessage]:
    return stage.world.platforms[receipt.address.channel].people, stage.message(receipt)


def test_the_words_of_a_file_fit_the_platforms() -> None:
    assert {name for name in PLATFORMS if Capability.POLL not in PLATFORMS[name].extras} == set(POLLLESS)
    buttons = {Capability.BUTTONS, Capability.COMPONENTS, Capability.CARDS}
    assert {name for name in PLATFORMS if not buttons & PLATFORMS[name].extras} == set(BUTTONLESS)


@pytest.mark.parametrize("platform", [name for name in ALL if Capability.BUTTONS in PLATFORMS[name].extras])
def test_a_press_reaches_the_gateway_as_a_message_with_the_value_of_the_button(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        receipt = await adapter.send(request(place, parts=PARTS))
        people, message = people_and(stage, receipt)
        ana = stage.world.peer(platform, "ana")
        for number, button in enumerate(("Yes", "No", "yes:1")):
            people.press(f"press{number}", ana, (), message, button)
        for button in ("Perhaps", "Page"):
            with pytest.raises(UnknownName, match="has no button"):
                people.press("press9", ana, (), message, button)
        came = await stage.taken(adapter)
        assert sorted(one.text for one in came) == ["No", "yes:1", "yes:1"]
        assert {one.pressed for one in came} == {receipt.provider_id}
        assert len({identify(one, adapter.capabilities) for one in came}) == 3
        assert [body.pressed for body in stage.recorded(PeerSaid)] == [receipt.provider_id] * 3
        # A press is no message: nobody can react to it, and no thread can be opened on it.
        assert len(stage.world.platforms[platform].board.all) == 1
        config = GatewayConfig.model_validate({"channels": {platform: {"auto_thread": True}}})
        assert plan_reply(came[0], config).open_on in (None, receipt.provider_id)

    play(test)


def test_a_press_keeps_its_identity_where_replays_have_new_ids() -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("telegram")
        receipt = await adapter.send(request(stage.place("telegram/mine"), parts=PARTS))
        people, message = people_and(stage, receipt)
        people.press("press1", stage.world.peer("telegram", "ana"), (), message, "Yes")
        [first] = await stage.taken(adapter, ack=True)
        people.replay((), None)
        [again] = await stage.taken(adapter)
        assert identify(first, adapter.capabilities) == identify(again, adapter.capabilities)

    play(test, {"telegram": "stable_ids: false"})


def test_buttons_inside_components_are_pressed_too() -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("discord")
        components = '{"blocks": [{"buttons": [{"label": "Roll back", "custom_id": "back"}]}]}'
        receipt = await adapter.send(request(stage.place("discord/mine"), parts=MessageParts(components=components)))
        people, message = people_and(stage, receipt)
        people.press("press1", stage.world.peer("discord", "ana"), ("dev",), message, "Roll back")
        [came] = await stage.taken(adapter)
        assert (came.text, came.roles) == ("back", ("dev",))

    play(test)


def test_people_vote_and_change_their_vote() -> None:
    async def test(stage: Stage) -> None:
        poll = Poll(question="Which?", options=("red", "green", "blue"), max_selections=2, duration_hours=1)
        receipt = await stage.adapter("whatsapp").send(request(stage.place("whatsapp/mine"), poll=poll))
        people, message = people_and(stage, receipt)
        ana, ben = (stage.world.peer("whatsapp", name) for name in ("ana", "ben"))
        people.vote(ana, message, ("red",))
        people.vote(ben, message, ("red", "blue"))
        people.vote(ana, message, ("green",))
        people.vote(ana, message, ("green",))
        assert message.votes == {ana.id: (1,), ben.id: (0, 2)}
        votes = stage.recorded(PeerVoted)
        assert [body.repeated for body in votes] == [False, False, False, True]
        assert (votes[2].before, votes[2].options) == (("red",), ("green",))
        people.vote(ben, message, ())
        assert list(message.votes) == [ana.id]
        for options, problem in ((("pink",), "no option"), (("red", "green", "blue"), "at most 2")):
            with pytest.raises(UnknownName, match=problem):
                people.vote(ben, message, options)
        message.at -= 3600.0
        with pytest.raises(UnknownName, match="over"):
            people.vote(ben, message, ("red",))

    play(test)


def test_people_react_edit_and_delete_and_the_gateway_hears_what_the_platform_reports() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        receipt = await adapter.send(request(place))
        people, message = people_and(stage, receipt)
        ana, ben = (stage.world.peer("telegram", name) for name in ("ana", "ben"))
        for who, emoji, remove in ((ana, "👍", False), (ben, "👍", False), (ana, "💡", False), (ben, "👍", True)):
            people.react(who, message, emoji, remove=remove)
        assert message.reactions == {"💡": [ana.id]}
        assert len(stage.recorded(PeerReacted)) == 4
        stage.say("m1", "telegram/mine", "helo")
        own = people.message(message.room, "m1", lambda _: False)
        people.edit(ana, own, "hello")
        with pytest.raises(UnknownName, match="did not write"):
            people.edit(ben, own, "mine now")
        people.unsend(ana, own)
        assert [(body.before, body.text) for body in stage.recorded(PeerEdited)] == [("helo", "hello")]
        assert [body.before for body in stage.recorded(PeerDeleted)] == ["hello"]
        with pytest.raises(UnknownName, match="m1 is not in"):
            people.message(message.room, "m1", lambda _: True)
        heard = [(said.text, said.deed and said.deed.kind.value) for said in await stage.taken(adapter)]
        # Telegram reports no deletion.
        reactions = [("👍", "react"), ("👍", "react"), ("💡", "react"), ("👍", "unreact")]
        assert sorted(heard, key=str) == sorted([("helo", None), ("hello", "edit"), *reactions], key=str)

    play(test)
