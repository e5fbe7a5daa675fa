"""Sessions of a gateway that runs: scopes that change under it, resets, keys of older versions, shared sessions.

On the fakes of `tests.unit.core.runtime.inbound.test_gateway`: wall-clock time and a store in a file.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.support.contract.version_1 import write_version_1
from tests.support.factories import direct
from tests.unit.core.runtime.inbound.test_gateway import ANA, BEN, KEY, Echo, Running, TinyPlatform, serving
from trunkline import Address, Gateway, GatewayConfig, HandTask, SqliteStore, Turn
from trunkline.core.config import HandsConfig
from trunkline.core.decisions import Decisions
from trunkline.core.errors import ConfigError, NotSent
from trunkline.core.events import Body
from trunkline.core.events.delivery import IntentSettled, MirrorAppended
from trunkline.core.events.gateway import (
    CompletionPlanned,
    CompletionStep,
    ConfigReloaded,
    DelegationFinished,
    InboundAdmitted,
    ProcessStarted,
    RouteDecided,
    SessionCreated,
    SessionLeft,
    SessionMoved,
    SessionReset,
    SessionShared,
    TurnStarted,
)
from trunkline.core.hands.completion_plan import CompletionPlan, HandCompletion
from trunkline.core.reasons import Reason
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.values import IntentState, SessionId

pytestmark = pytest.mark.anyio

PER_PEER: dict[str, Any] = {"session": {"dmScope": "per-peer"}}
SHARED: dict[str, Any] = {"session": {"dmScope": "main"}}
ANA_ANYWHERE, MAIN = "main:*:*:direct:100", "main:main"


class TinyTelegram(TinyPlatform):
    """The same on another platform."""

    channel = "telegram"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[TinyPlatform]:
    tiny = TinyPlatform()
    yield tiny
    tiny.close()


@pytest.fixture
def telegram(anyio_backend: str) -> Iterator[TinyTelegram]:
    tiny = TinyTelegram()
    yield tiny
    tiny.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


class Slow(Echo):
    """Answers a message only when it is told to, and looks at what it remembers then."""

    def __init__(self, *waits_for: str) -> None:
        super().__init__()
        self.begun = {text: anyio.Event() for text in waits_for}
        self.go = {text: anyio.Event() for text in waits_for}
        #: what each turn remembered at its end
        self.remembered: dict[str, list[str]] = {}

    async def turn(self, turn: Turn) -> str | None:
        self.turns.append((turn.text, turn.session_id))
        if turn.text in self.go:
            self.begun[turn.text].set()
            with anyio.fail_after(30):
                await self.go[turn.text].wait()
        self.remembered[turn.text] = [line.text for line in await turn.history()]
        return f"you said {turn.text}"


def config(**fields: Any) -> GatewayConfig:
    return GatewayConfig.model_validate(fields)


async def lines(running: Running, session: str) -> list[str]:
    """The transcript of a session by its id."""
    return [line.text for line in await running.store.history(SessionId(session))]


async def say(running: Running, platform: TinyPlatform, name: str, place: Address = ANA) -> None:
    """A message is said, and answered."""
    before = len(running.told(IntentSettled))
    platform.say(name, place, name)
    await running.until(IntentSettled, before + 1)


# ---------------------------------------------------------------- scopes that change


async def test_the_next_message_follows_a_new_configuration(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        await say(running, platform, "one")
        assert running.gateway.reload(config(**PER_PEER)) == 2
        await say(running, platform, "two")
        assert running.gateway.reload(config(**PER_PEER, delivery={"lanes": 7})) == 3
        await say(running, platform, "three")
        assert [(body.session_key, body.revision) for body in running.told(RouteDecided)] == [
            (KEY, 1),
            (ANA_ANYWHERE, 2),
            (ANA_ANYWHERE, 3),
        ]
        first, second = running.told(ConfigReloaded)
        assert (first.revision, first.changed, first.dm_scope) == (2, ("session",), "per-peer")
        assert (second.revision, second.changed, second.group_scope) == (3, ("delivery",), "per-group")
        assert [body.revision for body in running.told(ProcessStarted)] == [1]


async def test_a_conversation_takes_its_session_along(path: Path, platform: TinyPlatform) -> None:
    agent = Echo()
    async with serving(path, platform, agent) as running:
        await say(running, platform, "one")
        running.gateway.reload(config(**PER_PEER))
        await say(running, platform, "two")
        [created], [moved] = running.told(SessionCreated), running.told(SessionMoved)
        assert moved == SessionMoved(
            old_key=KEY, session_key=ANA_ANYWHERE, session_id=created.session_id, reason=Reason.SCOPE_CHANGED
        )
        expected = ["one", "you said one", "two", "you said two"]
        assert [text for _, text in await running.transcript(ANA_ANYWHERE)] == expected
        assert await running.store.session(KEY) is None
    assert {session for _, session in agent.turns} == {created.session_id}


async def test_a_conversation_takes_its_session_along_over_a_restart(path: Path, platform: TinyPlatform) -> None:
    first, second = Echo(), Echo()
    async with serving(path, platform, first) as running:
        await say(running, platform, "one")
    async with serving(path, platform, second, **PER_PEER) as running:
        await say(running, platform, "two")
        assert [body.old_key for body in running.told(SessionMoved)] == [KEY]
    assert first.turns[0][1] == second.turns[0][1]


async def test_a_session_that_people_shared_is_left_by_each_of_them(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, **SHARED) as running:
        await say(running, platform, "one", ANA)
        await say(running, platform, "two", BEN)
        running.gateway.reload(config())
        await say(running, platform, "three", ANA)
        await say(running, platform, "four", BEN)
        shared, ana, ben = running.told(SessionCreated)
        left = running.told(SessionLeft)
        assert [(body.old_key, body.old_session_id, body.session_key, body.reason) for body in left] == [
            (MAIN, shared.session_id, ana.session_key, Reason.SCOPE_CHANGED),
            (MAIN, shared.session_id, ben.session_key, Reason.SCOPE_CHANGED),
        ]
        assert await lines(running, shared.session_id) == ["one", "you said one", "two", "you said two"]
        assert await lines(running, ben.session_id) == ["four", "you said four"]
        assert running.told(SessionMoved) == []


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
        [created], [mirror] = running.told(SessionCreated), running.told(MirrorAppended)
        assert (mirror.session_id, mirror.session_key) == (created.session_id, KEY)
        # Nobody has spoken since: the session is still where it was.
        assert running.told(SessionMoved) == []
        await say(running, platform, "two")
        assert [body.session_id for body in running.told(SessionMoved)] == [created.session_id]
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
        [created] = running.told(SessionCreated)
        assert {(body.session_id, body.session_key) for body in running.told(MirrorAppended)} == {
            (created.session_id, ANA_ANYWHERE)
        }
        expected = ["one", "two", "you said one", "you said two"]
        assert [text for _, text in await running.transcript(ANA_ANYWHERE)] == expected
    assert agent.turns == [("one", created.session_id), ("two", created.session_id)]


async def test_a_running_turn_stays_in_a_session_that_its_conversation_has_left(
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
        shared, own = running.told(SessionCreated)
        assert await lines(running, shared.session_id) == ["zero", "you said zero", "one", "you said one"]
        assert await lines(running, own.session_id) == ["two", "you said two"]
        # The late answer does not tie the conversation to the old session again.
        await say(running, platform, "three")
        assert (await lines(running, own.session_id))[-2:] == ["three", "you said three"]
        assert len(running.told(SessionLeft)) == 1


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
        assert await running.store.session("main:discord:default:direct:200") is None
        assert running.told(SessionLeft) == []


async def test_a_configuration_that_does_not_fit_changes_nothing(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        await say(running, platform, "one")
        with pytest.raises(ConfigError, match="no agent is installed for: ops"):
            running.gateway.reload(config(agents=[{"id": "main"}, {"id": "ops"}], **PER_PEER))
        with pytest.raises(ConfigError, match="the form of session keys cannot change"):
            running.gateway.reload(config(profile="openclaw", **PER_PEER))
        await say(running, platform, "two")
        assert [(body.session_key, body.revision) for body in running.told(RouteDecided)] == [(KEY, 1), (KEY, 1)]
        assert running.told(ConfigReloaded, SessionMoved) == []
        assert running.gateway.reload(config()) == 2
        assert [body.changed for body in running.told(ConfigReloaded)] == [()]


# ---------------------------------------------------------------- resets


async def test_a_reset_starts_the_conversation_anew(path: Path, platform: TinyPlatform) -> None:
    agent = Slow()
    async with serving(path, platform, agent) as running:
        await say(running, platform, "one")
        row = await running.gateway.reset_session("main", ANA)
        assert row is not None
        [created], [reset] = running.told(SessionCreated), running.told(SessionReset)
        assert (reset.session_key, reset.session_id, reset.generation) == (KEY, row.id, 2)
        assert reset.before == created.session_id
        await say(running, platform, "two")
        assert await running.gateway.reset_session("main", BEN) is None
        assert len(running.told(SessionReset)) == 1
    assert agent.remembered == {"one": ["one"], "two": ["two"]}
    assert [session for _, session in agent.turns] == [created.session_id, row.id]


async def test_what_runs_in_a_session_that_is_reset_ends_there(path: Path, platform: TinyPlatform) -> None:
    agent = Slow("one")
    async with serving(path, platform, agent) as running:
        platform.say("m1", text="one")
        await agent.begun["one"].wait()
        row = await running.gateway.reset_session("main", ANA)
        assert row is not None
        # The new session does not wait for the old one's turn, and knows nothing of it.
        await say(running, platform, "two")
        agent.go["one"].set()
        await running.until(IntentSettled, 2)
        [created] = running.told(SessionCreated)
        assert await lines(running, created.session_id) == ["one", "you said one"]
        assert await lines(running, row.id) == ["two", "you said two"]
    assert agent.remembered == {"one": ["one"], "two": ["two"]}
    assert {request.text for request in platform.sent} == {"you said one", "you said two"}


async def test_work_of_a_session_that_was_reset_is_run_there_after_a_restart(
    path: Path, platform: TinyPlatform
) -> None:
    agent, again = Slow("one"), Slow()
    async with serving(path, platform, agent) as running:
        platform.say("m1", text="one")
        await agent.begun["one"].wait()
        await running.gateway.reset_session("main", ANA)
    async with serving(path, platform, again) as running:
        await running.until(IntentSettled)
        await say(running, platform, "two")
        assert running.told(SessionCreated) == []
    assert again.remembered == {"one": ["one"], "two": ["two"]}
    assert len({session for _, session in again.turns}) == 2


async def test_a_conversation_whose_scope_has_changed_is_reset_before_it_speaks(
    path: Path, platform: TinyPlatform
) -> None:
    agent = Slow()
    async with serving(path, platform, agent) as running:
        await say(running, platform, "one")
        running.gateway.reload(config(**PER_PEER))
        row = await running.gateway.reset_session("main", ANA)
        assert row is not None
        assert [body.session_key for body in running.told(SessionMoved, SessionReset)] == [ANA_ANYWHERE] * 2
        await say(running, platform, "two")
    assert agent.remembered["two"] == ["two"]
    assert agent.turns[-1] == ("two", row.id)


class Builder:
    """A hand that works until it is told to end."""

    def __init__(self) -> None:
        self.go = anyio.Event()

    def has(self, hand: str) -> bool:
        return hand == "builder"

    async def run(self, task: HandTask) -> str:
        with anyio.fail_after(30):
            await self.go.wait()
        return f"built: {task.task}"


class Foreman(Slow):
    """Has a hand build what it is told."""

    async def turn(self, turn: Turn) -> str | None:
        if turn.text == "build":
            await turn.delegate("builder", "a house")
        return await super().turn(turn)


async def test_the_result_of_a_hand_is_posted_once_when_its_session_was_reset(
    path: Path, platform: TinyPlatform
) -> None:
    agent, hand = Foreman(), Builder()
    async with serving(path, platform, agent, runner=hand) as running:
        await say(running, platform, "build")
        row = await running.gateway.reset_session("main", ANA)
        assert row is not None
        hand.go.set()
        await running.until(IntentSettled, 2)
        [planned] = running.told(CompletionPlanned)
        assert [(step.mode, step.reason, step.address) for step in planned.steps] == [
            ("direct", Reason.REQUESTER_REPLACED, ANA)
        ]
        # It is seen in the conversation, so that is where it is remembered; it starts no turn.
        assert await lines(running, row.id) == ["built: a house"]
        assert len(running.told(TurnStarted)) == 1
    assert [request.text for request in platform.sent] == ["you said build", "built: a house"]


async def test_a_rule_of_ones_own_that_knows_of_no_resets_cannot_hold_a_result_up(
    path: Path, platform: TinyPlatform
) -> None:
    def always_a_turn(done: HandCompletion, _config: HandsConfig) -> CompletionPlan:
        step = CompletionStep(mode="turn", reason=Reason.CALLBACK_TURN, address=done.origin)
        return CompletionPlan(steps=(step,))

    agent, hand = Foreman(), Builder()
    rules = Decisions(plan_completion=always_a_turn)
    async with serving(path, platform, agent, runner=hand, decisions=rules) as running:
        await say(running, platform, "build")
        await running.gateway.reset_session("main", ANA)
        hand.go.set()
        await running.until(IntentSettled, 2)
        assert len(running.told(TurnStarted)) == 1
    assert [request.text for request in platform.sent] == ["you said build", "built: a house"]


async def test_a_reset_between_the_decision_and_the_write_is_noticed(
    path: Path, platform: TinyPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, hand = Foreman(), Builder()
    gateways: list[Gateway] = []
    finish = SqliteStore.finish_delegation

    async def finish_late(self: SqliteStore, *given: Any, **options: Any) -> Any:
        while gateways:
            await gateways.pop().reset_session("main", ANA)
        return await finish(self, *given, **options)

    monkeypatch.setattr(SqliteStore, "finish_delegation", finish_late)
    async with serving(path, platform, agent, runner=hand) as running:
        await say(running, platform, "build")
        gateways.append(running.gateway)
        hand.go.set()
        await running.until(IntentSettled, 2)
        assert len(running.told(DelegationFinished)) == len(running.told(CompletionPlanned)) == 1
        assert len(running.told(TurnStarted)) == 1
    assert [request.text for request in platform.sent] == ["you said build", "built: a house"]


async def test_the_result_of_a_hand_follows_a_session_that_moved(path: Path, platform: TinyPlatform) -> None:
    agent, hand = Foreman(), Builder()
    async with serving(path, platform, agent, runner=hand) as running:
        await say(running, platform, "build")
        running.gateway.reload(config(**PER_PEER))
        await say(running, platform, "two")
        hand.go.set()
        await running.until(IntentSettled, 3)
        assert running.told(SessionLeft) == []
        assert [body.session_key for body in running.told(SessionMoved)] == [ANA_ANYWHERE]
    assert len({session for _, session in agent.turns}) == 1
    assert agent.remembered["built: a house"][-1] == "built: a house"


async def test_the_result_of_a_hand_stays_in_a_session_that_its_conversation_has_left(
    path: Path, platform: TinyPlatform
) -> None:
    agent, hand = Foreman(), Builder()
    async with serving(path, platform, agent, runner=hand, **SHARED) as running:
        await say(running, platform, "zero", BEN)
        await say(running, platform, "build")
        running.gateway.reload(config())
        await say(running, platform, "two")
        hand.go.set()
        await running.until(IntentSettled, 4)
        shared, own = running.told(SessionCreated)
        assert "built: a house" in await lines(running, shared.session_id)
        assert await lines(running, own.session_id) == ["two", "you said two"]
        assert len(running.told(SessionLeft)) == 1
    assert agent.turns[-1] == ("built: a house", shared.session_id)


# ---------------------------------------------------------------- keys of older versions

OLD, OLDER = "agent:main:telegram:direct:1", "agent:main:telegram:dm:1"
UPSTREAMS = {"dmScope": "per-channel-peer"}
PEER_1, KEY_1 = direct("1", channel="telegram"), "main:telegram:default:direct:1"


def write_stored(path: Path, *rows: tuple[str, str, float], codec: str = "openclaw") -> None:
    """A store with sessions of another form of keys: key, id, and when each was used last."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        migrate(raw)
        for key, session, at in rows:
            raw.execute(
                "INSERT INTO session_map (session_key, agent_id, session_id, codec, created_at, updated_at)"
                " VALUES (?, 'main', ?, ?, 1.0, 1.0)",
                (key, session, codec),
            )
            line = (session, f"said in {session}", at)
            raw.execute("INSERT INTO transcript (session_id, role, text, ref, at) VALUES (?, 'user', ?, 'r', ?)", line)


async def test_a_session_with_an_old_key_goes_on(path: Path, telegram: TinyTelegram) -> None:
    write_stored(path, (OLDER, "s-old", 5.0))
    agent = Slow()
    async with serving(path, telegram, agent) as running:
        await say(running, telegram, "hello", PEER_1)
        [moved] = running.told(SessionMoved)
        assert (moved.old_key, moved.session_key, moved.session_id) == (OLDER, KEY_1, "s-old")
        assert moved.reason is Reason.KEY_MIGRATED
        assert running.told(SessionCreated, SessionLeft) == []
    assert agent.turns == [("hello", "s-old")]
    assert agent.remembered["hello"] == ["said in s-old", "hello"]


@pytest.mark.parametrize(("old", "older", "kept"), [(1.0, 2.0, "s-older"), (2.0, 1.0, "s-old"), (2.0, 2.0, "s-old")])
async def test_two_spellings_of_one_key_are_merged_and_it_is_told(
    old: float, older: float, kept: str, path: Path, telegram: TinyTelegram
) -> None:
    write_stored(path, (OLDER, "s-older", older), (OLD, "s-old", old))
    agent = Slow()
    async with serving(path, telegram, agent) as running:
        await say(running, telegram, "hello", PEER_1)
        [left] = running.told(SessionLeft)
        lost = ({"s-old", "s-older"} - {kept}).pop()
        assert (left.old_session_id, left.session_key, left.reason) == (lost, KEY_1, Reason.KEYS_MERGED)
        assert await lines(running, lost) == [f"said in {lost}"]
    assert agent.turns == [("hello", kept)]
    again = Slow()
    async with serving(path, telegram, again) as running:
        await say(running, telegram, "again", PEER_1)
        assert running.told(SessionLeft, SessionMoved, SessionCreated) == []
    assert again.turns == [("again", kept)]


async def test_an_old_key_meets_the_session_that_has_the_new_one(path: Path, telegram: TinyTelegram) -> None:
    write_stored(path, (KEY_1, "s-new", 1.0), codec="v1")
    write_stored(path, (OLDER, "s-old", 2.0))
    agent = Slow()
    async with serving(path, telegram, agent) as running:
        await say(running, telegram, "hello", PEER_1)
        assert [body.old_session_id for body in running.told(SessionLeft)] == ["s-new"]
    assert agent.turns == [("hello", "s-old")]


async def test_an_old_key_without_an_account_is_of_the_one_that_there_is(path: Path, telegram: TinyTelegram) -> None:
    write_stored(path, (OLDER, "s-old", 5.0))
    telegram.account = "tasks"
    agent = Slow()
    async with serving(path, telegram, agent) as running:
        await say(running, telegram, "hello", msgspec.structs.replace(PEER_1, account="tasks"))
        assert [body.session_key for body in running.told(SessionMoved)] == ["main:telegram:tasks:direct:1"]
    assert agent.turns == [("hello", "s-old")]


async def test_an_old_key_becomes_that_of_todays_scope(path: Path, telegram: TinyTelegram) -> None:
    write_stored(path, (OLDER, "s-old", 5.0))
    links = {"identityLinks": {"ana": ["telegram:1"]}}
    agent = Slow()
    async with serving(path, telegram, agent, session={"dmScope": "per-peer", **links}) as running:
        await say(running, telegram, "hello", PEER_1)
        assert [body.session_key for body in running.told(SessionMoved)] == ["main:*:*:direct:*ana"]
    assert agent.turns == [("hello", "s-old")]


async def test_an_old_key_that_cannot_be_read_stays_and_is_told_of_once(path: Path, telegram: TinyTelegram) -> None:
    odd = "agent:main:cron:nightly"
    write_stored(path, (odd, "s-odd", 5.0))
    for told in (1, 0):
        async with serving(path, telegram) as running:
            await running.until(ProcessStarted)
            await say(running, telegram, f"hello{told}", PEER_1)
            assert len(running.told(SessionLeft)) == told
            assert (await running.store.session(odd)) is not None
    with contextlib.closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT session_id FROM session_map WHERE session_key = ?", (odd,)).fetchone() == ("s-odd",)


async def test_upstreams_profiles_take_its_keys_as_they_are(path: Path, telegram: TinyTelegram) -> None:
    write_stored(path, (OLDER, "s-older", 5.0), (OLD, "s-old", 4.0))
    agent = Slow()
    async with serving(path, telegram, agent, profile="openclaw", session=UPSTREAMS) as running:
        await say(running, telegram, "hello", PEER_1)
        assert running.told(SessionMoved, SessionLeft) == []
    assert agent.turns == [("hello", "s-old")]


async def test_a_session_goes_on_under_another_profile_and_back(path: Path, telegram: TinyTelegram) -> None:
    agent = Slow()
    for number, profile in enumerate(("trunkline", "openclaw", "trunkline", "openclaw", "trunkline")):
        async with serving(path, telegram, agent, profile=profile, session=UPSTREAMS) as running:
            await say(running, telegram, f"hello{number}", PEER_1)
            moved = [(body.session_key, body.reason) for body in running.told(SessionMoved)]
            # Upstream looks a key up when somebody speaks; ours are all brought up to date at the start.
            there, here = (OLD, Reason.SCOPE_CHANGED), ("main:telegram:*:direct:1", Reason.KEY_MIGRATED)
            assert moved == ([there if profile == "openclaw" else here] if number else [])
            assert len(running.told(SessionCreated)) == (number == 0)
    assert len({session for _, session in agent.turns}) == 1


async def test_a_store_of_version_1_is_gone_on_with(path: Path, platform: TinyPlatform, telegram: TinyTelegram) -> None:
    write_version_1(path)
    agent, hand = Slow(), Builder()
    hand.go.set()
    forever = {"max_age": "90000d"}
    async with serving(path, platform, agent, telegram, runner=hand, delivery=forever) as running:
        # Three turns with an answer, an answer cut in half, two sends, a hand that starts and one that is lost.
        await running.until(IntentSettled, 8)
        await say(running, platform, "hello")
        assert running.told(SessionCreated, SessionMoved, SessionLeft) == []
        states = {body.state for body in running.told(IntentSettled)}
        assert states == {IntentState.DELIVERED}
    assert dict(agent.turns)["hello"] == dict(agent.turns)["text of m2"] == "s-ana"
    assert dict(agent.turns)["text of wake1"] == "s-main"
    assert "two" in [request.text for request in platform.sent]
    assert [request.address.thread for request in telegram.sent] == ["10"]


# ---------------------------------------------------------------- sessions that people share


def order(running: Running, *bodies: type[Body]) -> list[Body]:
    return [event.body for event in running.log.events if isinstance(event.body, bodies)]


async def test_a_stranger_in_the_shared_session_is_warned_of_before_the_turn(
    path: Path, platform: TinyPlatform
) -> None:
    async with serving(path, platform, **SHARED) as running:
        await say(running, platform, "one", ANA)
        assert running.told(SessionShared) == []
        await say(running, platform, "two", BEN)
        await say(running, platform, "three", BEN)
        await say(running, platform, "four", ANA)
        [shared] = running.told(SessionShared)
        assert (shared.session_key, shared.people, shared.peer.id) == (MAIN, 2, BEN.conversation)
        assert shared.reason is Reason.SHARED_MAIN
        kinds = [type(body) for body in order(running, SessionShared, TurnStarted)]
        assert kinds == [TurnStarted, SessionShared, TurnStarted, TurnStarted, TurnStarted]
        await say(running, platform, "five", direct("300"))
        assert [body.people for body in running.told(SessionShared)] == [2, 3]


async def test_people_are_warned_of_once_over_restarts(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, **SHARED) as running:
        await say(running, platform, "one", ANA)
    async with serving(path, platform, **SHARED) as running:
        await say(running, platform, "two", BEN)
        assert len(running.told(SessionShared)) == 1
    async with serving(path, platform, **SHARED) as running:
        await say(running, platform, "three", BEN)
        await say(running, platform, "four", ANA)
        assert running.told(SessionShared) == []


async def test_linked_people_are_no_strangers(path: Path, platform: TinyPlatform, telegram: TinyTelegram) -> None:
    links = {"dmScope": "main", "identityLinks": {"ana": ["discord:100", "telegram:1"]}}
    async with serving(path, platform, None, telegram, session=links) as running:
        await say(running, platform, "one", ANA)
        await say(running, telegram, "two", PEER_1)
        assert running.told(SessionShared) == []
        await say(running, platform, "three", BEN)
        assert [body.people for body in running.told(SessionShared)] == [2]


async def test_people_who_are_linked_later_are_no_strangers_from_then_on(
    path: Path, platform: TinyPlatform, telegram: TinyTelegram
) -> None:
    async with serving(path, platform, None, telegram, **SHARED) as running:
        await say(running, platform, "one", ANA)
        links = {"dmScope": "main", "identityLinks": {"ana": ["discord:100", "telegram:1"]}}
        running.gateway.reload(config(session=links))
        await say(running, telegram, "two", PEER_1)
        await say(running, platform, "three", ANA)
        assert running.told(SessionShared) == []


async def test_the_scope_of_a_binding_is_warned_of_too(path: Path, platform: TinyPlatform) -> None:
    binding = {"agent": "main", "match": {"channel": "discord"}, "session": {"dmScope": "main"}}
    async with serving(path, platform, bindings=[binding]) as running:
        await say(running, platform, "one", ANA)
        await say(running, platform, "two", BEN)
        assert [body.people for body in running.told(SessionShared)] == [2]


async def test_nobody_is_warned_of_where_everybody_is_alone(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        await say(running, platform, "one", ANA)
        await say(running, platform, "two", BEN)
        assert running.told(SessionShared) == []
        assert len(running.told(SessionCreated)) == 2
