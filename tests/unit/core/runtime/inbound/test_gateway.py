"""Sessions, turns and answers of a gateway on a real store file and the wall clock, without the simulator.

Two messages of one direct conversation resume one session, also after a restart, and different peers share none.
"""

from pathlib import Path

import anyio
import pytest

from tests.support.factories import room
from tests.support.small_gateway import ANA, BEN, KEY, Echo, TinyPlatform, serving
from trunkline import Turn
from trunkline.core.events.delivery import IntentSettled, IntentSuppressed
from trunkline.core.events.gateway import InboundDropped, ProcessStarted, SessionCreated
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio


async def test_a_message_is_answered_once_where_it_came_from_and_both_are_kept(
    path: Path, platform: TinyPlatform
) -> None:
    async with serving(path, platform) as running:
        platform.say("m1", text="hello")
        [settled] = await running.until(IntentSettled)
        assert settled.state is IntentState.DELIVERED
        assert await running.transcript(KEY) == [("user", "hello"), ("assistant", "you said hello")]
        assert platform.acked == ["m1"]
    assert [(request.address, request.text) for request in platform.sent] == [(ANA, "you said hello")]


async def test_two_messages_of_one_direct_conversation_resume_one_session(path: Path, platform: TinyPlatform) -> None:
    agent = Echo()
    async with serving(path, platform, agent) as running:
        platform.say("m1", text="one")
        platform.say("m2", text="two")
        await running.until(IntentSettled, 2)
        [created] = running.recorded(SessionCreated)
    assert agent.turns == [("one", created.session_id), ("two", created.session_id)]
    assert [request.text for request in platform.sent] == ["you said one", "you said two"]


async def test_the_same_peer_goes_to_the_same_session_after_a_restart(path: Path, platform: TinyPlatform) -> None:
    first, second = Echo(), Echo()
    async with serving(path, platform, first) as running:
        platform.say("m1", text="before")
        await running.until(IntentSettled)
    async with serving(path, platform, second) as running:
        platform.say("m2", text="after")
        await running.until(IntentSettled)
        assert running.recorded(SessionCreated) == []
        assert [text for role, text in await running.transcript(KEY) if role == "user"] == ["before", "after"]
    assert first.turns[0][1] == second.turns[0][1]


async def test_different_peers_do_not_share_a_session(path: Path, platform: TinyPlatform) -> None:
    agent = Echo()
    async with serving(path, platform, agent) as running:
        platform.say("m1", ANA, "from ana")
        platform.say("m2", BEN, "from ben")
        await running.until(IntentSettled, 2)
        assert await running.transcript("main:discord:default:direct:200") == [
            ("user", "from ben"),
            ("assistant", "you said from ben"),
        ]
    assert len({session for _, session in agent.turns}) == 2


async def test_different_peers_share_a_session_when_it_is_configured(path: Path, platform: TinyPlatform) -> None:
    agent = Echo()
    async with serving(path, platform, agent, session={"dmScope": "main"}) as running:
        platform.say("m1", ANA, "from ana")
        platform.say("m2", BEN, "from ben")
        await running.until(IntentSettled, 2)
    assert len({session for _, session in agent.turns}) == 1
    answered = {request.address.conversation: request.text for request in platform.sent}
    assert answered == {"100": "you said from ana", "200": "you said from ben"}


async def test_a_message_that_comes_twice_is_answered_once(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        platform.say("m1")
        await running.until(IntentSettled)
        platform.say("m1")
        [dropped] = await running.until(InboundDropped)
        assert dropped.reason is Reason.DUPLICATE_MESSAGE
    assert len(platform.sent) == 1


async def test_a_message_that_comes_again_after_a_restart_is_answered_once(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        platform.say("m1")
        await running.until(IntentSettled)
    async with serving(path, platform) as running:
        platform.say("m1")
        await running.until(InboundDropped)
    assert len(platform.sent) == 1


async def test_a_turn_that_was_cut_off_by_the_end_of_the_process_is_run_again(
    path: Path, platform: TinyPlatform
) -> None:
    begun = anyio.Event()

    async def never(_: Turn) -> str:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with serving(path, platform, Echo(never)):
        platform.say("m1", text="hello")
        await begun.wait()
    assert platform.acked == ["m1"]
    async with serving(path, platform) as running:
        await running.until(IntentSettled)
    assert [request.text for request in platform.sent] == ["you said hello"]


async def test_what_the_message_tool_said_is_not_said_again_when_the_turn_is_run_again(
    path: Path, platform: TinyPlatform
) -> None:
    said = anyio.Event()

    async def say_and_hang(turn: Turn) -> str:
        await turn.send("on it")
        said.set()
        await anyio.sleep_forever()
        raise AssertionError

    async def say_and_answer(turn: Turn) -> str:
        await turn.send("on it")
        return "done"

    async with serving(path, platform, Echo(say_and_hang)) as running:
        platform.say("m1")
        await said.wait()
        await running.until(IntentSettled)
    async with serving(path, platform, Echo(say_and_answer)) as running:
        await running.until(IntentSettled)
    assert [request.text for request in platform.sent] == ["on it", "done"]


async def test_the_result_of_a_hand_comes_back_to_the_session_that_asked(path: Path, platform: TinyPlatform) -> None:
    async def delegate(turn: Turn) -> str:
        if turn.callback is not None:
            return f"the {turn.callback.hand} says {turn.text}"
        await turn.delegate("clerk", "count")
        return "wait"

    agent = Echo(delegate)
    async with serving(path, platform, agent) as running:
        platform.say("m1")
        await running.until(IntentSettled, 2)
        assert ("hand", "done: count") in await running.transcript(KEY)
    assert {request.text for request in platform.sent} == {"wait", "the clerk says done: count"}
    assert {request.address for request in platform.sent} == {ANA}
    assert len({session for _, session in agent.turns}) == 1


async def test_a_message_to_another_place_is_kept_in_the_session_of_that_place(
    path: Path, platform: TinyPlatform
) -> None:
    async def post(turn: Turn) -> None:
        await turn.send("news", room("500"))

    async with serving(path, platform, Echo(post)) as running:
        platform.say("m1")
        await running.until(IntentSettled)
        assert await running.transcript("main:discord:default:channel:500") == [("assistant", "news")]
        assert await running.transcript(KEY) == [("user", "hello")]


async def test_a_wake_up_has_nowhere_to_answer_to(path: Path, platform: TinyPlatform) -> None:
    agent = Echo()
    async with serving(path, platform, agent) as running:
        await running.until(ProcessStarted)
        platform.say("m1")
        await running.until(IntentSettled)
        await running.gateway.wake("main", "good morning")
        suppressed = await running.until(IntentSuppressed)
        assert [body.reason for body in suppressed] == [Reason.NO_ORIGIN]
        assert await running.transcript("main:main") == [("user", "good morning")]
    assert len(platform.sent) == 1
