"""Sessions follow their conversations when scopes change, and who shares a session is counted."""

from pathlib import Path

import pytest

from tests.support.factories import direct
from tests.support.gateway_sessions import (
    ANA_ANYWHERE,
    MAIN,
    PEER_1,
    PER_PEER,
    SHARED,
    Slow,
    TinyTelegram,
    config,
    lines,
    say,
)
from tests.support.small_gateway import ANA, BEN, KEY, Echo, Running, TinyPlatform, serving
from trunkline import Turn
from trunkline.core.errors import ConfigError, NotSent
from trunkline.core.events import Body
from trunkline.core.events.delivery import IntentSettled, MirrorAppended
from trunkline.core.events.gateway import (
    ConfigReloaded,
    InboundAdmitted,
    ProcessStarted,
    RouteDecided,
    SessionCreated,
    SessionLeft,
    SessionMoved,
    SessionShared,
    TurnStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.store.queries import FindSession

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- scopes that change


async def test_the_next_message_follows_a_new_configuration(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        await say(running, platform, "one")
        assert running.gateway.reload(config(**PER_PEER)) == 2
        await say(running, platform, "two")
        assert running.gateway.reload(config(**PER_PEER, delivery={"lanes": 7})) == 3
        await say(running, platform, "three")
        assert [(body.session_key, body.revision) for body in running.recorded(RouteDecided)] == [
            (KEY, 1),
            (ANA_ANYWHERE, 2),
            (ANA_ANYWHERE, 3),
        ]
        first, second = running.recorded(ConfigReloaded)
        assert (first.revision, first.changed, first.dm_scope) == (2, ("session",), "per-peer")
        assert (second.revision, second.changed, second.group_scope) == (3, ("delivery",), "per-group")
        assert [body.revision for body in running.recorded(ProcessStarted)] == [1]


async def test_a_conversation_takes_its_session_along(path: Path, platform: TinyPlatform) -> None:
    agent = Echo()
    async with serving(path, platform, agent) as running:
        await say(running, platform, "one")
        running.gateway.reload(config(**PER_PEER))
        await say(running, platform, "two")
        [created], [moved] = running.recorded(SessionCreated), running.recorded(SessionMoved)
        assert moved == SessionMoved(
            old_key=KEY, session_key=ANA_ANYWHERE, session_id=created.session_id, reason=Reason.SCOPE_CHANGED
        )
        expected = ["one", "you said one", "two", "you said two"]
        assert [text for _, text in await running.transcript(ANA_ANYWHERE)] == expected
        assert await running.store.read(FindSession(key=KEY)) is None
    assert {session for _, session in agent.turns} == {created.session_id}


async def test_a_conversation_takes_its_session_along_over_a_restart(path: Path, platform: TinyPlatform) -> None:
    first, second = Echo(), Echo()
    async with serving(path, platform, first) as running:
        await say(running, platform, "one")
    async with serving(path, platform, second, **PER_PEER) as running:
        await say(running, platform, "two")
        assert [body.old_key for body in running.recorded(SessionMoved)] == [KEY]
    assert first.turns[0][1] == second.turns[0][1]


async def test_a_session_that_people_shared_is_left_by_each_of_them(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, **SHARED) as running:
        await say(running, platform, "one", ANA)
        await say(running, platform, "two", BEN)
        running.gateway.reload(config())
        await say(running, platform, "three", ANA)
        await say(running, platform, "four", BEN)
        shared, ana, ben = running.recorded(SessionCreated)
        left = running.recorded(SessionLeft)
        assert [(body.old_key, body.old_session_id, body.session_key, body.reason) for body in left] == [
            (MAIN, shared.session_id, ana.session_key, Reason.SCOPE_CHANGED),
            (MAIN, shared.session_id, ben.session_key, Reason.SCOPE_CHANGED),
        ]
        assert await lines(running, shared.session_id) == ["one", "you said one", "two", "you said two"]
        assert await lines(running, ben.session_id) == ["four", "you said four"]
        assert running.recorded(SessionMoved) == []


async def test_a_running_turn_answers_where_it_was_asked_into_its_own_session(
    path: Path, platform: TinyPlatform
) -> None:
    agent = Slow("one")
    async with serving(path, platform, agent) as running:
        platform.say("m1", text="one")
        await agent.begun["one"].wait()
        running.gateway.reload(config(**PER_PEER))
        agent.go["one"].set()
        await running.until(IntentSettled)
        [created], [mirror] = running.recorded(SessionCreated), running.recorded(MirrorAppended)
        assert (mirror.session_id, mirror.session_key) == (created.session_id, KEY)
        # Nobody has spoken since: the session is still where it was.
        assert running.recorded(SessionMoved) == []
        await say(running, platform, "two")
        assert [body.session_id for body in running.recorded(SessionMoved)] == [created.session_id]
    assert {request.address for request in platform.sent} == {ANA}


async def test_a_running_turn_goes_along_with_its_session(path: Path, platform: TinyPlatform) -> None:
    agent = Slow("one")
    async with serving(path, platform, agent) as running:
        platform.say("m1", text="one")
        await agent.begun["one"].wait()
        running.gateway.reload(config(**PER_PEER))
        platform.say("m2", text="two")
        await running.until(SessionMoved)
        # One turn at a time, whatever key the session has by now.
        assert [text for text, _ in agent.turns] == ["one"]
        agent.go["one"].set()
        await running.until(IntentSettled, 2)
        [created] = running.recorded(SessionCreated)
        assert {(body.session_id, body.session_key) for body in running.recorded(MirrorAppended)} == {
            (created.session_id, ANA_ANYWHERE)
        }
        expected = ["one", "two", "you said one", "you said two"]
        assert [text for _, text in await running.transcript(ANA_ANYWHERE)] == expected
    assert agent.turns == [("one", created.session_id), ("two", created.session_id)]


async def test_the_answer_of_a_running_turn_is_remembered_where_its_conversation_is(
    path: Path, platform: TinyPlatform
) -> None:
    agent = Slow("one")
    async with serving(path, platform, agent, **SHARED) as running:
        await say(running, platform, "zero", BEN)
        platform.say("m1", text="one")
        await agent.begun["one"].wait()
        running.gateway.reload(config())
        await say(running, platform, "two")
        agent.go["one"].set()
        await running.until(IntentSettled, 3)
        shared, own = running.recorded(SessionCreated)
        assert await lines(running, shared.session_id) == ["zero", "you said zero", "one"]
        assert sorted(await lines(running, own.session_id)) == ["two", "you said one", "you said two"]
        # The late answer does not tie the conversation to the old session again.
        await say(running, platform, "three")
        assert (await lines(running, own.session_id))[-2:] == ["three", "you said three"]
        assert len(running.recorded(SessionLeft)) == 1


async def test_what_was_said_to_another_conversation_is_found_there_after_it_moved(
    path: Path, platform: TinyPlatform
) -> None:
    async def post(turn: Turn) -> None:
        if turn.text == "tell ben":
            await turn.send("news", BEN)

    async with serving(path, platform, Echo(post), delivery={"backoff": ["200ms"]}) as running:
        platform.say("m1", BEN, "hello")
        await running.until(InboundAdmitted)
        platform.errors = [NotSent("no network")]
        platform.say("m2", ANA, "tell ben")
        await running.until(InboundAdmitted, 2)
        running.gateway.reload(config(**PER_PEER, delivery={"backoff": ["200ms"]}))
        platform.say("m3", BEN, "hello again")
        await running.until(IntentSettled)
        await running.until(InboundAdmitted, 3)
        key = "main:*:*:direct:200"
        assert {text for _, text in await running.transcript(key)} == {"hello", "news", "hello again"}
        assert await running.store.read(FindSession(key="main:discord:default:direct:200")) is None
        assert running.recorded(SessionLeft) == []


async def test_a_configuration_that_does_not_fit_changes_nothing(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        await say(running, platform, "one")
        with pytest.raises(ConfigError, match="no agent is installed for: ops"):
            running.gateway.reload(config(agents=[{"id": "main"}, {"id": "ops"}], **PER_PEER))
        with pytest.raises(ConfigError, match="the form of session keys cannot change"):
            running.gateway.reload(config(profile="openclaw", **PER_PEER))
        await say(running, platform, "two")
        assert [(body.session_key, body.revision) for body in running.recorded(RouteDecided)] == [(KEY, 1), (KEY, 1)]
        assert running.recorded(ConfigReloaded, SessionMoved) == []
        assert running.gateway.reload(config()) == 2
        assert [body.changed for body in running.recorded(ConfigReloaded)] == [()]


# ---------------------------------------------------------------- sessions that people share


def order(running: Running, *bodies: type[Body]) -> list[Body]:
    return [event.body for event in running.log.events if isinstance(event.body, bodies)]


async def test_a_stranger_in_the_shared_session_is_warned_of_before_the_turn(
    path: Path, platform: TinyPlatform
) -> None:
    async with serving(path, platform, **SHARED) as running:
        await say(running, platform, "one", ANA)
        assert running.recorded(SessionShared) == []
        await say(running, platform, "two", BEN)
        await say(running, platform, "three", BEN)
        await say(running, platform, "four", ANA)
        [shared] = running.recorded(SessionShared)
        assert (shared.session_key, shared.people, shared.peer.id) == (MAIN, 2, BEN.conversation)
        assert shared.reason is Reason.SHARED_MAIN
        kinds = [type(body) for body in order(running, SessionShared, TurnStarted)]
        assert kinds == [TurnStarted, SessionShared, TurnStarted, TurnStarted, TurnStarted]
        await say(running, platform, "five", direct("300"))
        assert [body.people for body in running.recorded(SessionShared)] == [2, 3]


async def test_people_are_warned_of_once_over_restarts(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, **SHARED) as running:
        await say(running, platform, "one", ANA)
    async with serving(path, platform, **SHARED) as running:
        await say(running, platform, "two", BEN)
        assert len(running.recorded(SessionShared)) == 1
    async with serving(path, platform, **SHARED) as running:
        await say(running, platform, "three", BEN)
        await say(running, platform, "four", ANA)
        assert running.recorded(SessionShared) == []


async def test_linked_people_are_no_strangers(path: Path, platform: TinyPlatform, telegram: TinyTelegram) -> None:
    links = {"dmScope": "main", "identityLinks": {"ana": ["discord:100", "telegram:1"]}}
    async with serving(path, platform, None, telegram, session=links) as running:
        await say(running, platform, "one", ANA)
        await say(running, telegram, "two", PEER_1)
        assert running.recorded(SessionShared) == []
        await say(running, platform, "three", BEN)
        assert [body.people for body in running.recorded(SessionShared)] == [2]


async def test_people_who_are_linked_later_are_no_strangers_from_then_on(
    path: Path, platform: TinyPlatform, telegram: TinyTelegram
) -> None:
    async with serving(path, platform, None, telegram, **SHARED) as running:
        await say(running, platform, "one", ANA)
        links = {"dmScope": "main", "identityLinks": {"ana": ["discord:100", "telegram:1"]}}
        running.gateway.reload(config(session=links))
        await say(running, telegram, "two", PEER_1)
        await say(running, platform, "three", ANA)
        assert running.recorded(SessionShared) == []


async def test_the_scope_of_a_binding_is_warned_of_too(path: Path, platform: TinyPlatform) -> None:
    binding = {"agent": "main", "match": {"channel": "discord"}, "session": {"dmScope": "main"}}
    async with serving(path, platform, bindings=[binding]) as running:
        await say(running, platform, "one", ANA)
        await say(running, platform, "two", BEN)
        assert [body.people for body in running.recorded(SessionShared)] == [2]


async def test_nobody_is_warned_of_where_everybody_is_alone(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        await say(running, platform, "one", ANA)
        await say(running, platform, "two", BEN)
        assert running.recorded(SessionShared) == []
        assert len(running.recorded(SessionCreated)) == 2
