"""The session of a client's send."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.client_sends import ANA
from tests.support.factories import direct, group, room
from tests.support.sending import Platform, WithDirectory, message, places, serving, texts
from trunkline import Address, Decisions, Resolved, SendMessage, SendOutcome
from trunkline.core.events.delivery import IntentPrepared, IntentSettled, SendRequested, TargetResolved
from trunkline.core.events.gateway import InboundAdmitted, SessionCreated
from trunkline.core.reasons import Reason
from trunkline.core.sends.api import SendPlan, plan_send
from trunkline.core.sessions.entries import entry_for

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- the session of the conversation


async def test_a_send_is_delivered_and_kept_in_the_session_of_the_place(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        outcome = await running.gateway.send(message())
        assert await running.transcript("main:discord:default:direct:100") == [("assistant", "hi")]
        [created] = running.recorded(SessionCreated)
    assert outcome == SendOutcome(
        key="k",
        message_id="1",
        channel="discord",
        conversation="100",
        session_key="main:discord:default:direct:100",
        cached=False,
    )
    assert created.entry == entry_for(ANA)
    assert [(request.address, request.text) for request in platform.sent] == [(ANA, "hi")]


async def test_decisions_are_recorded_in_order(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        await running.gateway.send(message())
        events = list(running.log.events)
    [asked] = [event for event in events if isinstance(event.body, SendRequested)]
    [resolved] = [event for event in events if isinstance(event.body, TargetResolved)]
    [prepared] = [event for event in events if isinstance(event.body, IntentPrepared)]
    [created] = [event for event in events if isinstance(event.body, SessionCreated)]
    assert (resolved.cause, prepared.cause, created.cause) == (asked.seq, resolved.seq, resolved.seq)
    assert [body.reason for body in running.recorded(IntentPrepared)] == [Reason.CLIENT_SEND]


PLACES = [
    pytest.param("discord", "user:100", None, direct("100"), id="discord direct"),
    pytest.param("discord", "channel:500", None, room("500"), id="discord channel"),
    pytest.param("discord", "channel:500", "777", room("777", parent="500"), id="discord thread"),
    pytest.param("discord", "channel:777", None, room("777", parent="500"), id="discord thread by itself"),
    pytest.param("telegram", "-1007", "7", group("-1007", thread="7"), id="telegram topic"),
    pytest.param("telegram", "42", None, direct("42", channel="telegram"), id="telegram direct"),
    pytest.param("slack", "channel:C1", "171.2", room("C1", channel="slack", thread="171.2"), id="slack thread"),
    pytest.param("slack", "user:U1", None, direct("U1", channel="slack"), id="slack direct"),
]


@pytest.mark.parametrize(("channel", "target", "thread", "place"), PLACES)
async def test_a_message_from_there_finds_the_session_that_a_send_made(
    path: Path, anyio_backend: str, channel: str, target: str, thread: str | None, place: Address
) -> None:
    platform = Platform(channel)
    async with serving(path, platform) as running:
        outcome = await running.gateway.send(message(target, thread=thread))
        platform.say("m1", place, "hello")
        [admitted] = await running.until(InboundAdmitted)
        [created] = running.recorded(SessionCreated)
        assert (admitted.session_id, admitted.session_key) == (created.session_id, created.session_key)
        assert outcome.session_key == admitted.session_key
        assert created.entry == entry_for(place)
        await running.until(IntentSettled, 2)
    platform.close()


@pytest.mark.parametrize(("channel", "target", "thread", "place"), PLACES)
async def test_a_send_finds_the_session_that_a_message_from_there_made(
    path: Path, anyio_backend: str, channel: str, target: str, thread: str | None, place: Address
) -> None:
    platform = Platform(channel)
    async with serving(path, platform) as running:
        platform.say("m1", place, "hello")
        await running.until(IntentSettled)
        outcome = await running.gateway.send(message(target, thread=thread))
        [created] = running.recorded(SessionCreated)
        assert outcome.session_key == created.session_key
        assert [text for _, text in await running.transcript(created.session_key)][-1] == "hi"
    assert platform.sent[-1].address.lane == place.lane
    platform.close()


async def test_an_exact_place_needs_no_words_and_no_directory(path: Path, anyio_backend: str) -> None:
    platform = WithDirectory(Resolved(target="channel:999"))
    place = room("777", parent="500")
    async with serving(path, platform) as running:
        await running.gateway.send(message(place))
    assert (places(platform), platform.asked) == ([place], [])
    platform.close()


async def test_the_default_agent_sends_unless_another_is_named(path: Path, platform: Platform) -> None:
    agents = [{"id": "main"}, {"id": "ops"}]
    async with serving(path, platform, agents=agents) as running:
        assert (await running.gateway.send(message())).session_key == "main:discord:default:direct:100"
        ops = await running.gateway.send(message(key="k2", agent="ops"))
        assert ops.session_key == "ops:discord:default:direct:100"
        assert [created.agent for created in running.recorded(SessionCreated)] == ["main", "ops"]


# ---------------------------------------------------------------- a named session


@pytest.mark.parametrize("key", ["main:discord:work:channel:500", " Agent:Main:Discord:Channel:500 "])
async def test_a_named_session_remembers_it_and_no_other(path: Path, anyio_backend: str, key: str) -> None:
    platform = Platform(account="work")
    async with serving(path, platform) as running:
        outcome = await running.gateway.send(message(session_key=key))
        assert outcome.session_key == "main:discord:work:channel:500"
        assert await running.transcript("main:discord:work:channel:500") == [("assistant", "hi")]
        assert await running.transcript("main:discord:work:direct:100") == []
        [created] = running.recorded(SessionCreated)
        # It is another conversation's session: nothing of the target belongs in it.
        assert (created.address, created.entry) == (None, None)
    assert places(platform) == [direct("100", account="work")]
    platform.close()


async def test_a_named_session_is_its_own_agents(path: Path, platform: Platform) -> None:
    async with serving(path, platform, agents=[{"id": "main"}, {"id": "ops"}]) as running:
        await running.gateway.send(message(session_key="ops:main"))
        [created] = running.recorded(SessionCreated)
        assert (created.agent, created.session_key) == ("ops", "ops:main")


async def test_the_plan_is_a_decision_that_can_be_replaced(path: Path, platform: Platform) -> None:
    def loud(asked: SendMessage, **decided: Any) -> SendPlan:
        return plan_send(msgspec.structs.replace(asked, text=asked.text.upper()), **decided)

    async with serving(path, platform, decisions=Decisions(plan_send=loud)) as running:
        await running.gateway.send(message())
    assert texts(platform) == ["HI"]
