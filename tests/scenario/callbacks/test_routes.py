"""S17 to S21: the answer goes to the person who asked, where they asked, by the account that heard them, or nowhere."""

import anyio
import pytest

from tests.support.hands.roles import Asker, takes
from tests.support.hands.stage import ANA, BEN, Stage, place, staged
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.errors import Ambiguous, NotSent, Refused
from trunkline.core.events.bindings import RouterDecided
from trunkline.core.events.delivery import ChunkAcked, IntentSettled
from trunkline.core.events.hands import CallbackChanged
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import ChatKind, Idempotency, IntentState, Peer
from trunkline.sim import run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.scenario import load_text

ACCOUNTS = [("loop", "default"), ("loop", "relay"), ("other", "default")]


def test_s17_d7_the_answer_leaves_by_the_account_that_heard_the_question():
    # One person, two bots, two platforms, and always the newest message elsewhere.
    main = Asker()
    places = [place("ana"), place("ana", account="relay"), place("ana", channel="other")]

    async def play(stage: Stage) -> None:
        for number, where in enumerate(places):
            stage.say(where, f"task {number}")
            await anyio.sleep(1)
        await anyio.sleep(60)
        for number, where in enumerate(places):
            assert stage.texts(where) == [f"on it: task {number}", f"clerk: done: task {number}"]

    config = {"session": {"dm_scope": "main"}}
    staged(play, agents={"main": main}, hands={"clerk": takes(20)}, accounts=ACCOUNTS, config=config)


def test_s17_never_the_only_active_peer():
    # Ana is gone; Ben is the only one who is there.
    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(2)
        stage.account(ANA).gone.add(("ana", None))
        stage.say(BEN, "hello")
        await anyio.sleep(120)
        assert stage.texts(ANA) == ["on it: clean"]
        assert all("clean" not in text for text in stage.texts(BEN))
        ana = next(row for row in await stage.rows() if row.task == "clean")
        assert (ana.callback, ana.callback_reason) == (CallbackState.UNDELIVERABLE, Reason.PLACE_GONE)

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(10)})


def test_s18_a_thread_that_is_gone_fails_closed():
    thread = place("room", kind=ChatKind.GROUP, thread="t7", parent="room")

    async def play(stage: Stage) -> None:
        stage.say(thread, "clean", peer=Peer(id="u1", name="Ana"))
        await anyio.sleep(2)
        stage.account(thread).gone.add(("room", "t7"))
        await anyio.sleep(120)
        # The result is said nowhere else; its room is told that it cannot be said.
        answer, notice = stage.seen()
        assert (answer.place, notice.text) == (thread, DeliveryConfig().failed_notice)
        assert (notice.place.conversation, notice.place.thread) == ("room", None)
        (row,) = await stage.rows()
        assert (row.callback, row.callback_reason) == (CallbackState.UNDELIVERABLE, Reason.PLACE_GONE)

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(10)})


BOUND = """\
scenario: 1
title: made for a test
gateway: {channels: {discord: {thread_bindings: {spawn_subagent_sessions: true}}}}
world: {people: [ana], discord: {guild: acme, rooms: {ops: {}}}}
cast:
  agents:
    main:
      - {when: {callback: clerk}, do: [{reply: "{result}"}]}
      - do: [{delegate: {hand: clerk, task: "{text}"}}, {reply: "on it"}]
  hands: {clerk: {takes: 5s, result: "done {task}"}}
script:
  - {at: 0s, as: ana, in: ops, say: clean}
"""


def test_s19_work_that_is_bound_to_a_thread_is_routed_by_the_router_which_is_recorded():
    result = run_scenario(load_text(BOUND, "bound.yaml"))
    assert result.violations == ()
    (decided,) = [event.body for event in result.trace.events if isinstance(event.body, RouterDecided)]
    assert decided.mode and decided.reason and decided.conversation is not None
    seen = [event.body for event in result.trace.events if isinstance(event.body, WireAccepted)]
    (report,) = [body for body in seen if "done clean" in body.text]
    assert report.address == decided.conversation


def test_s20_delivered_means_acknowledged_by_the_platform_under_a_key_of_its_own():
    async def play(stage: Stage) -> None:
        account = stage.account(ANA)
        stage.say(ANA, "clean")
        await anyio.sleep(3)
        account.errors += [NotSent("no"), NotSent("no")]
        await anyio.sleep(3)
        (row,) = await stage.rows()
        assert row.callback is CallbackState.QUEUED
        await anyio.sleep(60)
        (row,) = await stage.rows()
        assert row.callback is CallbackState.DELIVERED
        acked = [event for event in stage.events(ChunkAcked) if event.intent == f"{row.id}.back.reply"]
        delivered = [event for event in stage.events(CallbackChanged) if event.body.state is CallbackState.DELIVERED]
        assert len(acked) == len(delivered) == 1 and acked[0].seq < delivered[0].seq
        keys = [one.key for one in stage.seen(ANA)]
        assert len(set(keys)) == len(keys) == 2 and row.id in keys[1]

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(5)})


def test_s20_d10_a_send_that_nobody_can_vouch_for_is_no_delivery():
    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(3)
        stage.account(ANA).errors.append(Ambiguous("who knows"))
        await anyio.sleep(60)
        (row,) = await stage.rows()
        assert row.callback is CallbackState.PARKED
        settled = [body.state for body in stage.bodies(IntentSettled)]
        assert settled == [IntentState.DELIVERED, IntentState.UNKNOWN, IntentState.DELIVERED]

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(5)}, idempotency=Idempotency.NONE)


def test_s20_a_long_answer_is_sent_in_chunks_and_a_failure_in_the_middle_is_no_delivery():
    main = Asker(answer=lambda _: "word " * 60)

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(3)
        account = stage.account(ANA)
        account.latency = 1.0
        await anyio.sleep(4)
        account.gone.add(("ana", None))
        await anyio.sleep(60)
        (row,) = await stage.rows()
        # What was seen is seen: the report is partly there, and the rest is accounted for.
        partial = [body for body in stage.bodies(IntentSettled) if body.state is IntentState.PARTIAL]
        assert len(partial) == 1 and len(stage.texts(ANA)) > 1
        assert row.callback is CallbackState.PARKED
        # An operator has the rest sent, once the place is there again.
        before = len(stage.seen(ANA))
        account.gone.clear()
        await stage.gateway.hands.retry_callback(row.id)
        await anyio.sleep(60)
        (row,) = await stage.rows()
        assert row.callback is CallbackState.DELIVERED and len(stage.seen(ANA)) > before
        keys = [one.key for one in stage.seen(ANA)]
        assert len(set(keys)) == len(keys)

    config = {"channels": {"loop": {"text_limit": 80}}}
    staged(play, agents={"main": main}, hands={"clerk": takes(5)}, config=config)


@pytest.mark.parametrize("peer", [Peer(id="u1", name="Ana"), Peer(id="42", name="Åsa 👩‍🚀")])
def test_s21_name_and_id_of_the_person_survive_until_the_answer(peer):
    main = Asker(answer=lambda turn: f"{turn.asked_by.name} ({turn.asked_by.id}): {turn.text}")

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean", peer=peer)
        await anyio.sleep(1)
        stage.restart()
        await anyio.sleep(60)
        assert stage.texts(ANA)[-1] == f"{peer.name} ({peer.id}): done: clean"
        assert [one.recipient for one in stage.seen(ANA)] == [None, peer]

    config = {"hands": {"defaults": {"on_restart": "rerun"}}}
    staged(play, agents={"main": main}, hands={"clerk": takes(5)}, config=config)


@pytest.mark.parametrize("announce", ["turn", "direct"])
def test_s21_d7_the_adapter_gets_the_person_also_after_a_restart_and_a_retry(announce):
    ana = Peer(id="u1", name="Ana")

    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean", peer=ana)
        await anyio.sleep(2)
        stage.account(ANA).errors.append(Refused("not now"))
        await anyio.sleep(10)
        (row,) = await stage.rows()
        assert row.callback is CallbackState.UNDELIVERABLE
        stage.restart()
        await anyio.sleep(1)
        stage.account(ANA).away = "away"
        await stage.gateway.hands.retry_callback(row.id)
        stage.restart()
        await anyio.sleep(10)
        stage.account(ANA).away = ""
        await anyio.sleep(60)
        (row,) = await stage.rows()
        assert row.callback is CallbackState.DELIVERED
        said = [one for one in stage.seen(ANA) if one.text != DeliveryConfig().failed_notice]
        assert [one.recipient for one in said] == [None, ana]

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(5)}, config={"hands": {"announce": announce}})
