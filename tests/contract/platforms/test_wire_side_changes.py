"""Where only the wire is recorded of a gateway, edits and deletions have kinds of their own, and no other kind."""

from tests.support.contract.stage import ALL, Stage, act, change, play, request
from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.wire import WireDeleted, WireEdited
from trunkline.sim.platforms import PLATFORMS


def having(action: Action) -> list[str]:
    return [name for name in ALL if action in PLATFORMS[name].actions_of()]


@for_each("platform", having(Action.EDIT))
def test_an_edit_is_recorded_with_both_texts(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.world.wire_side = True
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/both")
        receipt = await adapter.send(request(place, "one"))
        await adapter.act(change(Action.EDIT, receipt, "another text"))
        [edited] = stage.recorded(WireEdited)
        assert (edited.message_id, edited.before, edited.text) == (receipt.provider_id, "one", "another text")
        assert (edited.address, edited.author, edited.repeated) == (place, "bot", False)
        assert not stage.recorded(WireActed)

    play(test)


@for_each("action", [Action.DELETE, Action.UNSEND])
@for_each("platform", ALL)
def test_a_deletion_is_recorded_with_what_people_read_until_then(platform: str, action: Action) -> None:
    async def test(stage: Stage) -> None:
        stage.world.wire_side = True
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        receipt = await adapter.send(request(place, "one"))
        await act(adapter, action, receipt)
        deleted = stage.recorded(WireDeleted)
        if action in adapter.capabilities.actions:
            assert [(one.message_id, one.before, one.author) for one in deleted] == [
                (receipt.provider_id, "one", "bot")
            ]
        else:
            assert not deleted
        assert not stage.recorded(WireActed)

    play(test)


@for_each("platform", having(Action.REACT))
def test_other_changes_keep_their_kind(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.world.wire_side = True
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        await act(adapter, Action.REACT, await adapter.send(request(place)), "👍")
        assert [one.action for one in stage.recorded(WireActed)] == [Action.REACT]

    play(test)
