"""Faults that only a socket shows: what they mean to a sender and a reader without one, in virtual time."""

from contextlib import aclosing
from typing import Any, cast

import anyio
import pytest

from tests.support.contract.stage import ALL, LONG, Stage, attempt, play, request
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.errors import Ambiguous, NotSent, Refused
from trunkline.core.values import IntentId, Receipt
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted, WireResponseLost
from trunkline.sim.events.world import PlatformConnected, PlatformPushed


@pytest.mark.parametrize("platform", ALL)
@pytest.mark.parametrize(
    ("do", "seen", "says"), [("half-answer", 1, "the connection was reset"), ("html", 0, "status 502")]
)
def test_a_response_that_proves_nothing_leaves_doubt_at_once(platform: str, do: str, seen: int, says: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        stage.fault(do)
        failed = await attempt(adapter, place)
        assert (type(failed), str(failed)) == (Ambiguous, f"{Ambiguous()}: {says}")
        assert stage.world.now() < 1.0
        await anyio.sleep(LONG)
        assert len(stage.recorded(WireAccepted)) == len(stage.recorded(WireResponseLost)) == seen
        assert [body.fault for body in stage.recorded(FaultFired)] == [f"send/{do}"]

    play(test)


@pytest.mark.parametrize("platform", ALL)
def test_a_slow_response_is_late_and_its_message_is_not(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        stage.fault("slow-loris", **{"for": "20s"})
        receipt = await adapter.send(request(place))
        assert stage.world.now() >= 20.0
        [accepted] = [event for event in stage.world.log.events if isinstance(event.body, WireAccepted)]
        assert accepted.at < 1.0
        assert cast("WireAccepted", accepted.body).provider_id == receipt.provider_id
        assert stage.recorded(WireResponseLost) == []

    play(test)


def test_a_refusal_is_answered_whole() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        stage.fault("half-answer")
        assert isinstance(await attempt(adapter, place, text="x" * 5000), Refused)

    play(test)


@pytest.mark.parametrize(("do", "done"), [("half-answer", True), ("html", False), ("slow-loris", True)])
def test_changes_and_questions_are_struck_as_sends_are(do: str, done: bool) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/mine")
        receipt = await adapter.send(request(place))
        edit = ActionRequest(
            action=Action.EDIT,
            address=place,
            message_id=receipt.provider_id,
            text="new",
            key="e1",
            intent=IntentId("i"),
            chunk=0,
            attempt=1,
        )
        stage.fault(do, on="act", action="edit")
        if do == "slow-loris":
            assert isinstance(await adapter.act(edit), Receipt)
            assert stage.world.now() > 5.0
        else:
            with pytest.raises(Ambiguous):
                await adapter.act(edit)
        assert (stage.message(receipt).text == "new") is done
        stage.fault(do, on="act", action="reactions")
        query = ActionQuery(action=Action.REACTIONS, address=place, message_id=receipt.provider_id)
        if do == "slow-loris":
            assert await adapter.ask(query) == []
        else:
            with pytest.raises(Ambiguous):
                await adapter.ask(query)

    play(test)


# ---------------------------------------------------------------- inbound


@pytest.mark.parametrize("platform", ALL)
def test_a_message_comes_twice_in_a_row_with_one_id(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.fault("duplicate", on="push", text="one")
        first, second = stage.say("m1", f"{platform}/mine", "one"), stage.say("m2", f"{platform}/mine", "two")
        got = await stage.taken(stage.adapter(platform), ack=True)
        assert sorted(one.message_id for one in got) == sorted([first, first, second])
        assert [body.replay for body in stage.recorded(PlatformPushed) if body.message_id == first] == [False, True]
        assert await stage.taken(stage.adapter(platform)) == []

    play(test)


@pytest.mark.parametrize("platform", ALL)
def test_a_dead_connection_is_silent_until_it_breaks(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        async with adapter.connect() as stream, aclosing(cast("Any", stream)):
            stage.fault("dead", on="connect", **{"for": "30s"})
            stage.say("m1", f"{platform}/mine")
            with pytest.raises(NotSent, match="the connection broke"):
                await anext(stream)
            assert 30.0 < stage.world.now() < 31.0
        [missed] = await stage.taken(adapter, ack=True)
        assert missed.text == "hi"
        # Nobody has stopped the sends.
        assert stage.recorded(PlatformPushed)[0].replay is False
        assert [body.fault for body in stage.recorded(FaultFired)] == ["connect/dead"]

    play(test)


@pytest.mark.parametrize("platform", ALL)
def test_a_new_connection_works_while_the_dead_one_is_silent(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        async with adapter.connect() as dead, aclosing(cast("Any", dead)):
            stage.fault("dead", on="connect", **{"for": "30s"})
            stage.say("m1", f"{platform}/mine")
            async with adapter.connect() as stream, aclosing(cast("Any", stream)):
                assert (await anext(stream)).text == "hi"
                # The time of the dead one ends; this one goes on.
                await anyio.sleep(40)
                stage.say("m2", f"{platform}/mine", "again")
                assert (await anext(stream)).text == "again"
        assert len(stage.recorded(PlatformConnected)) == 2

    play(test)


def test_without_a_connection_the_next_one_is_dead() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        stage.fault("dead", on="connect", **{"for": "10s"})
        stage.say("m1", "telegram/mine")
        assert stage.recorded(FaultFired) == []
        # It is no period in which the account is down.
        assert (await adapter.ready()).ok
        await adapter.send(request(place))
        async with adapter.connect() as stream, aclosing(cast("Any", stream)):
            with pytest.raises(NotSent):
                await anext(stream)
        assert len(await stage.taken(adapter)) == 1
        assert [body.detail for body in stage.recorded(FaultFired)] == ["telegram:default"]

    play(test)


def test_a_dead_connection_may_be_that_of_one_account() -> None:
    async def test(stage: Stage) -> None:
        stage.fault("dead", on="connect", **{"in": "telegram/mine", "for": "10s"})
        async with stage.adapter("discord").connect(), stage.adapter("telegram").connect():
            pass
        assert [body.detail for body in stage.recorded(FaultFired)] == ["telegram:default"]

    play(test)
