"""What people say reaches the accounts of a fake platform."""

from contextlib import aclosing
from typing import Any, cast

import anyio
import pytest

from tests.support.contract.stage import ALL, LONG, SPOTS, Stage, play
from tests.support.for_each import for_each
from trunkline.sim.events.world import PlatformPushed
from trunkline.sim.loop import Node


@for_each(("platform", "spot"), SPOTS)
def test_a_message_comes_with_who_said_what_where(platform: str, spot: str) -> None:
    async def test(stage: Stage) -> None:
        name = f"{platform}:default/{spot}"
        message = stage.say("m1", name, "hello")
        [envelope] = await stage.taken(stage.adapter(platform))
        assert (envelope.address, envelope.text, envelope.message_id) == (stage.place(name), "hello", message)
        assert (envelope.peer.name, envelope.roles) == ("ana", ("dev",))
        assert envelope.guild == ("acme" if platform == "discord" else None)

    play(test)


@for_each("platform", ALL)
def test_what_is_not_acked_comes_again_to_the_next_connection(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.say("m1", f"{platform}/mine")
        [first] = await stage.taken(stage.adapter(platform))
        [again] = await stage.taken(stage.adapter(platform), ack=True)
        assert (again.message_id, again.address, again.text) == (first.message_id, first.address, first.text)
        assert [body.replay for body in stage.recorded(PlatformPushed)] == [False, True]
        assert await stage.taken(stage.adapter(platform)) == []

    play(test)


@for_each("platform", ALL)
def test_an_ack_is_for_one_message(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        stage.say("m1", f"{platform}/mine", "one")
        await anyio.sleep(1)
        stage.say("m2", f"{platform}/mine", "two")
        one, _ = await stage.taken(adapter)
        await adapter.ack(one)
        assert [envelope.text for envelope in await stage.taken(adapter)] == ["two"]

    play(test)


@for_each("platform", ALL)
def test_what_is_said_while_nobody_is_connected_waits_in_its_order(platform: str) -> None:
    async def test(stage: Stage) -> None:
        for text in ("one", "two", "three"):
            stage.say(text, f"{platform}/mine", text)
            await anyio.sleep(1)
        assert stage.recorded(PlatformPushed) == []
        found = await stage.taken(stage.adapter(platform))
        assert [envelope.text for envelope in found] == ["one", "two", "three"]

    play(test)


@for_each("platform", ALL)
def test_a_dead_process_is_given_nothing(platform: str) -> None:
    async def test(stage: Stage) -> None:
        node = Node("gateway", 1)
        assert await stage.taken(stage.adapter(platform, node=node)) == []
        node.kill()
        stage.say("m1", f"{platform}/mine")
        await anyio.sleep(LONG)
        assert stage.recorded(PlatformPushed) == []
        assert len(await stage.taken(stage.adapter(platform, node=Node("gateway", 2)))) == 1

    play(test)


@for_each("platform", ALL)
def test_each_account_of_a_room_gets_its_own_copy(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.say("m1", f"{platform}:default/both")
        for account in ("default", "second"):
            [envelope] = await stage.taken(stage.adapter(platform, account), ack=True)
            assert envelope.address == stage.place(f"{platform}:{account}/both")
        assert stage.world.platforms[platform].pushes.waiting == 0

    play(test)


@for_each("platform", ALL)
def test_a_direct_message_is_for_one_account(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.say("m1", f"{platform}:second/@ana")
        assert await stage.taken(stage.adapter(platform, "default")) == []
        assert len(await stage.taken(stage.adapter(platform, "second"))) == 1

    play(test)


@pytest.mark.parametrize("stable", [True, False])
def test_a_replay_comes_under_its_old_id_only_where_ids_are_stable(stable: bool) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("telegram")
        assert adapter.capabilities.stable_ids is stable
        message = stage.say("m1", "telegram/mine")
        async with adapter.connect() as stream, aclosing(cast("Any", stream)):
            await adapter.ack(await anext(stream))
            stage.world.platforms["telegram"].people.replay(("m1",), None)
            again = await anext(stream)
            await adapter.ack(again)
        assert (again.message_id == message) is stable
        assert [(body.original_id, body.replay) for body in stage.recorded(PlatformPushed)] == [
            (message, False),
            (message, True),
        ]
        assert stage.world.platforms["telegram"].pushes.waiting == 0

    play(test, {"telegram": f"stable_ids: {str(stable).lower()}"})
