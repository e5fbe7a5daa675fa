"""S22 to S26: many delegations at once, noninterference, and people who cannot be reached."""

import anyio
import pytest

from tests.support.hands.roles import Asker, by_task, takes
from tests.support.hands.stage import ANA, BEN, Stage, place, staged
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.events.delivery import LaneWaiting
from trunkline.core.events.hands import CallbackChanged
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import ChatKind, Peer

ACCOUNTS = [("loop", "default"), ("loop", "relay"), ("other", "default")]


def test_s22_n_delegations_of_one_session_give_n_callbacks_each_with_its_own_origin():
    main = Asker()

    async def play(stage: Stage) -> None:
        for number in range(20):
            stage.say(ANA, f"task {number}")
        await anyio.sleep(200)
        assert sorted(heard.text for heard in main.heard) == sorted(f"done: task {number}" for number in range(20))
        for heard in main.heard:
            assert heard.origin.inbound == heard.callback.delegation.partition(".hand")[0]
        assert len(stage.texts(ANA)) == 40

    # The last is done first.
    takes_long = by_task(lambda task: 50.0 - 2 * int(task.split()[1]))
    staged(play, agents={"main": main}, hands={"clerk": takes_long})


def test_s23_nothing_of_a_result_reaches_another_person_or_session():
    # Everybody shares the agent and the hand; see tests/random_hands for thousands of interleavings.
    people = [f"p{number}" for number in range(12)]

    async def play(stage: Stage) -> None:
        for person in people:
            stage.say(place(person), f"secret of {person}.")
        await anyio.sleep(200)
        for person in people:
            texts = stage.texts(place(person))
            assert len(texts) == 2 and all(f"secret of {person}." in text for text in texts)
        rows = stage.disk.open().execute("SELECT session_id, text FROM transcript").fetchall()
        for session, text in rows:
            assert session.endswith(text.rpartition(" of ")[2].rstrip("."))

    staged(play, agents={"main": Asker()}, hands={"clerk": by_task(lambda task: (hash(task) % 7) + 1.0)})


def test_s24_one_person_on_two_channels_gets_each_result_on_the_channel_that_asked():
    here, there = place("ana"), place("ana", channel="other")

    async def play(stage: Stage) -> None:
        stage.say(here, "here")
        stage.say(there, "there")
        await anyio.sleep(60)
        assert stage.texts(here) == ["on it: here", "clerk: done: here"]
        assert stage.texts(there) == ["on it: there", "clerk: done: there"]

    config = {"session": {"dm_scope": "per-peer", "identity_links": {"ana": ["loop:ana", "other:ana"]}}}
    staged(play, agents={"main": Asker()}, hands={"clerk": takes(5)}, accounts=ACCOUNTS, config=config)


def test_s25_an_adapter_that_is_not_ready_parks_the_callback_and_delivers_it_when_it_is():
    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(2)
        stage.account(ANA).leave("logged-out")
        await anyio.sleep(60)
        (row,) = await stage.rows()
        assert row.callback is CallbackState.PARKED
        assert stage.texts() == ["on it: clean"] and stage.bodies(LaneWaiting)
        stage.account(ANA).leave("")
        await anyio.sleep(60)
        (row,) = await stage.rows()
        assert row.callback is CallbackState.DELIVERED
        assert stage.texts(ANA) == ["on it: clean", "clerk: done: clean"]
        states = [body.state.value for body in stage.bodies(CallbackChanged)]
        assert states.count("parked") == 1

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(10)})


def test_s25_it_is_given_up_when_it_is_too_old_and_says_so():
    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(2)
        stage.account(ANA).leave("logged-out")
        await anyio.sleep(600)
        stage.account(ANA).leave("")
        await anyio.sleep(60)
        (row,) = await stage.rows()
        assert (row.callback, row.callback_reason) == (CallbackState.UNDELIVERABLE, Reason.TOO_OLD)
        assert stage.texts(ANA) == ["on it: clean", DeliveryConfig().failed_notice]

    config = {"delivery": {"max_age": 300, "not_ready_wait": 5, "backoff": [1]}}
    staged(play, agents={"main": Asker()}, hands={"clerk": takes(10)}, config=config)


@pytest.mark.parametrize("verb", ["retry", "discard"])
def test_s25_an_operator_can_try_again_or_give_up(verb):
    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(2)
        stage.account(ANA).gone.add(("ana", None))
        await anyio.sleep(60)
        (row,) = await stage.rows()
        assert row.callback is CallbackState.UNDELIVERABLE
        stage.account(ANA).gone.clear()
        hands = stage.gateway.hands
        call = hands.retry_callback if verb == "retry" else hands.discard
        await stage.inside(call(row.id))
        await anyio.sleep(60)
        (row,) = await stage.rows()
        if verb == "retry":
            assert stage.texts(ANA) == ["on it: clean", "clerk: done: clean"]
            assert row.callback is CallbackState.DELIVERED
        else:
            assert stage.texts(ANA) == ["on it: clean"]
            assert (row.callback, row.callback_reason) == (CallbackState.SUPPRESSED, Reason.DISCARDED)

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(10)})


def test_s25_a_report_that_is_discarded_while_it_is_on_its_way_and_arrives_counts_as_seen():
    async def play(stage: Stage) -> None:
        stage.say(ANA, "clean")
        await anyio.sleep(3)
        stage.account(ANA).latency = 5
        await anyio.sleep(9)
        (row,) = await stage.rows()
        assert row.callback is CallbackState.QUEUED
        await stage.inside(stage.gateway.hands.discard(row.id))
        await anyio.sleep(60)
        (row,) = await stage.rows()
        assert stage.texts(ANA) == ["on it: clean", "clerk: done: clean"]
        assert row.callback is CallbackState.DELIVERED

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(10)})


def test_s26_a_dead_thread_is_not_a_dead_chat():
    ana = Peer(id="u1", name="Ana")
    room = place("room", kind=ChatKind.GROUP)
    threads = [place("room", kind=ChatKind.GROUP, thread=name, parent="room") for name in ("t1", "t2")]

    async def play(stage: Stage) -> None:
        for where in (room, *threads):
            stage.say(where, f"in {where.thread}", peer=ana)
        await anyio.sleep(2)
        stage.account(room).gone.add(("room", "t1"))
        await anyio.sleep(60)
        ends = {row.task: row.callback.value for row in await stage.rows()}
        assert ends == {"in None": "delivered", "in t1": "undeliverable", "in t2": "delivered"}
        stage.account(room).gone.add(("room", None))
        stage.say(BEN, "and me?")
        for where in (room, threads[1]):
            stage.say(where, f"again in {where.thread}", peer=ana)
        await anyio.sleep(60)
        ends = {row.task: row.callback.value for row in await stage.rows()}
        assert (ends["again in None"], ends["again in t2"]) == ("undeliverable", "undeliverable")
        assert ends["and me?"] == "delivered"

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(10)})
