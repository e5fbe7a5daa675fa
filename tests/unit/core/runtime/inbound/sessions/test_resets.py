"""Resetting sessions, and keys of older versions."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.support.contract.version_1 import write_version_1
from tests.support.gateway_sessions import (
    ANA_ANYWHERE,
    KEY_1,
    PEER_1,
    PER_PEER,
    SHARED,
    Slow,
    TinyTelegram,
    config,
    lines,
    say,
)
from tests.support.small_gateway import ANA, BEN, KEY, TinyPlatform, serving
from tests.support.stores import on_write
from trunkline import Gateway, HandTask, Turn
from trunkline.core.config import HandsConfig
from trunkline.core.decisions import Decisions
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import (
    ProcessStarted,
    SessionCreated,
    SessionLeft,
    SessionMoved,
    SessionReset,
    TurnStarted,
)
from trunkline.core.events.hands import CompletionPlanned, CompletionStep, DelegationFinished
from trunkline.core.hands.completion_plan import CompletionPlan, HandCompletion
from trunkline.core.reasons import Reason
from trunkline.core.store.delegations import FinishDelegation
from trunkline.core.store.queries import FindSession
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- resets


async def test_a_reset_starts_the_conversation_over(path: Path, platform: TinyPlatform) -> None:
    agent = Slow()
    async with serving(path, platform, agent) as running:
        await say(running, platform, "one")
        row = await running.gateway.reset_session("main", ANA)
        assert row is not None
        [created], [reset] = running.recorded(SessionCreated), running.recorded(SessionReset)
        assert (reset.session_key, reset.session_id, reset.generation) == (KEY, row.id, 2)
        assert reset.before == created.session_id
        await say(running, platform, "two")
        assert await running.gateway.reset_session("main", BEN) is None
        assert len(running.recorded(SessionReset)) == 1
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
        [created] = running.recorded(SessionCreated)
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
        assert running.recorded(SessionCreated) == []
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
        assert [body.session_key for body in running.recorded(SessionMoved, SessionReset)] == [ANA_ANYWHERE] * 2
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
        [planned] = running.recorded(CompletionPlanned)
        assert [(step.mode, step.reason, step.address) for step in planned.steps] == [
            ("direct", Reason.REQUESTER_REPLACED, ANA)
        ]
        # It is seen in the conversation, so that is where it is remembered; it starts no turn.
        assert await lines(running, row.id) == ["built: a house"]
        assert len(running.recorded(TurnStarted)) == 1
    assert [request.text for request in platform.sent] == ["you said build", "built: a house"]


async def test_a_rule_of_ones_own_that_knows_of_no_resets_cannot_hold_a_result_up(
    path: Path, platform: TinyPlatform
) -> None:
    def always_a_turn(done: HandCompletion, _config: HandsConfig) -> CompletionPlan:
        step = CompletionStep(mode="turn", reason=Reason.CALLBACK_TURN, address=done.reply_to)
        return CompletionPlan(steps=(step,))

    agent, hand = Foreman(), Builder()
    rules = Decisions(plan_completion=always_a_turn)
    async with serving(path, platform, agent, runner=hand, decisions=rules) as running:
        await say(running, platform, "build")
        await running.gateway.reset_session("main", ANA)
        hand.go.set()
        await running.until(IntentSettled, 2)
        assert len(running.recorded(TurnStarted)) == 1
    assert [request.text for request in platform.sent] == ["you said build", "built: a house"]


async def test_a_reset_between_the_decision_and_the_write_is_noticed(path: Path, platform: TinyPlatform) -> None:
    agent, hand = Foreman(), Builder()
    gateways: list[Gateway] = []

    async def finish_late(write: Any, command: Any, story: Any, then: Any) -> Any:
        while gateways:
            await gateways.pop().reset_session("main", ANA)
        return await write(command, story, then)

    async with serving(path, platform, agent, runner=hand) as running:
        on_write(running.store, FinishDelegation, finish_late)
        await say(running, platform, "build")
        gateways.append(running.gateway)
        hand.go.set()
        await running.until(IntentSettled, 2)
        assert len(running.recorded(DelegationFinished)) == len(running.recorded(CompletionPlanned)) == 1
        assert len(running.recorded(TurnStarted)) == 1
    assert [request.text for request in platform.sent] == ["you said build", "built: a house"]


async def test_the_result_of_a_hand_follows_a_session_that_moved(path: Path, platform: TinyPlatform) -> None:
    agent, hand = Foreman(), Builder()
    async with serving(path, platform, agent, runner=hand) as running:
        await say(running, platform, "build")
        running.gateway.reload(config(**PER_PEER))
        await say(running, platform, "two")
        hand.go.set()
        await running.until(IntentSettled, 3)
        assert running.recorded(SessionLeft) == []
        assert [body.session_key for body in running.recorded(SessionMoved)] == [ANA_ANYWHERE]
    assert len({session for _, session in agent.turns}) == 1
    assert agent.remembered["built: a house"][-1] == "built: a house"


async def test_the_result_of_a_hand_is_posted_if_its_conversation_has_left_the_session(
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
        shared, own = running.recorded(SessionCreated)
        assert "built: a house" not in await lines(running, shared.session_id)
        assert await lines(running, own.session_id) == ["two", "you said two", "built: a house"]
        assert len(running.recorded(SessionLeft)) == 1
        [plan] = running.recorded(CompletionPlanned)
        assert [step.reason for step in plan.steps] == [Reason.REQUESTER_REPLACED]
    assert "built: a house" not in [text for text, _ in agent.turns]


# ---------------------------------------------------------------- keys of older versions


OLD, OLDER = "agent:main:telegram:direct:1", "agent:main:telegram:dm:1"
UPSTREAMS = {"dmScope": "per-channel-peer"}


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
        [moved] = running.recorded(SessionMoved)
        assert (moved.old_key, moved.session_key, moved.session_id) == (OLDER, KEY_1, "s-old")
        assert moved.reason is Reason.KEY_MIGRATED
        assert running.recorded(SessionCreated, SessionLeft) == []
    assert agent.turns == [("hello", "s-old")]
    assert agent.remembered["hello"] == ["said in s-old", "hello"]


@pytest.mark.parametrize(("old", "older", "kept"), [(1.0, 2.0, "s-older"), (2.0, 1.0, "s-old"), (2.0, 2.0, "s-old")])
async def test_two_spellings_of_one_key_are_merged_and_that_is_recorded(
    old: float, older: float, kept: str, path: Path, telegram: TinyTelegram
) -> None:
    write_stored(path, (OLDER, "s-older", older), (OLD, "s-old", old))
    agent = Slow()
    async with serving(path, telegram, agent) as running:
        await say(running, telegram, "hello", PEER_1)
        [left] = running.recorded(SessionLeft)
        lost = ({"s-old", "s-older"} - {kept}).pop()
        assert (left.old_session_id, left.session_key, left.reason) == (lost, KEY_1, Reason.KEYS_MERGED)
        assert await lines(running, lost) == [f"said in {lost}"]
    assert agent.turns == [("hello", kept)]
    again = Slow()
    async with serving(path, telegram, again) as running:
        await say(running, telegram, "again", PEER_1)
        assert running.recorded(SessionLeft, SessionMoved, SessionCreated) == []
    assert again.turns == [("again", kept)]


async def test_an_old_key_meets_the_session_that_has_the_new_one(path: Path, telegram: TinyTelegram) -> None:
    write_stored(path, (KEY_1, "s-new", 1.0), codec="v1")
    write_stored(path, (OLDER, "s-old", 2.0))
    agent = Slow()
    async with serving(path, telegram, agent) as running:
        await say(running, telegram, "hello", PEER_1)
        assert [body.old_session_id for body in running.recorded(SessionLeft)] == ["s-new"]
    assert agent.turns == [("hello", "s-old")]


async def test_an_old_key_without_an_account_is_of_the_one_that_there_is(path: Path, telegram: TinyTelegram) -> None:
    write_stored(path, (OLDER, "s-old", 5.0))
    telegram.account = "tasks"
    agent = Slow()
    async with serving(path, telegram, agent) as running:
        await say(running, telegram, "hello", msgspec.structs.replace(PEER_1, account="tasks"))
        assert [body.session_key for body in running.recorded(SessionMoved)] == ["main:telegram:tasks:direct:1"]
    assert agent.turns == [("hello", "s-old")]


async def test_an_old_key_becomes_that_of_todays_scope(path: Path, telegram: TinyTelegram) -> None:
    write_stored(path, (OLDER, "s-old", 5.0))
    links = {"identityLinks": {"ana": ["telegram:1"]}}
    agent = Slow()
    async with serving(path, telegram, agent, session={"dmScope": "per-peer", **links}) as running:
        await say(running, telegram, "hello", PEER_1)
        assert [body.session_key for body in running.recorded(SessionMoved)] == ["main:*:*:direct:*ana"]
    assert agent.turns == [("hello", "s-old")]


async def test_an_old_key_that_cannot_be_read_stays_and_is_reported_once(path: Path, telegram: TinyTelegram) -> None:
    odd = "agent:main:cron:nightly"
    write_stored(path, (odd, "s-odd", 5.0))
    for told in (1, 0):
        async with serving(path, telegram) as running:
            await running.until(ProcessStarted)
            await say(running, telegram, f"hello{told}", PEER_1)
            assert len(running.recorded(SessionLeft)) == told
            assert (await running.store.read(FindSession(key=odd))) is not None
    with contextlib.closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT session_id FROM session_map WHERE session_key = ?", (odd,)).fetchone() == ("s-odd",)


async def test_upstreams_profiles_take_its_keys_as_they_are(path: Path, telegram: TinyTelegram) -> None:
    write_stored(path, (OLDER, "s-older", 5.0), (OLD, "s-old", 4.0))
    agent = Slow()
    async with serving(path, telegram, agent, profile="openclaw", session=UPSTREAMS) as running:
        await say(running, telegram, "hello", PEER_1)
        assert running.recorded(SessionMoved, SessionLeft) == []
    assert agent.turns == [("hello", "s-old")]


async def test_a_session_goes_on_under_another_profile_and_back(path: Path, telegram: TinyTelegram) -> None:
    agent = Slow()
    for number, profile in enumerate(("trunkline", "openclaw", "trunkline", "openclaw", "trunkline")):
        async with serving(path, telegram, agent, profile=profile, session=UPSTREAMS) as running:
            await say(running, telegram, f"hello{number}", PEER_1)
            moved = [(body.session_key, body.reason) for body in running.recorded(SessionMoved)]
            # Upstream looks a key up when somebody speaks; ours are all brought up to date at the start.
            there, here = (OLD, Reason.SCOPE_CHANGED), ("main:telegram:*:direct:1", Reason.KEY_MIGRATED)
            assert moved == ([there if profile == "openclaw" else here] if number else [])
            assert len(running.recorded(SessionCreated)) == (number == 0)
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
        assert running.recorded(SessionCreated, SessionMoved, SessionLeft) == []
        states = {body.state for body in running.recorded(IntentSettled)}
        assert states == {IntentState.DELIVERED}
    assert dict(agent.turns)["hello"] == dict(agent.turns)["text of m2"] == "s-ana"
    assert dict(agent.turns)["text of wake1"] == "s-main"
    assert "two" in [request.text for request in platform.sent]
    assert [request.address.thread for request in telegram.sent] == ["10"]
