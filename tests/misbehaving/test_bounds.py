"""Turns and hands that take the gateway down are bounded; those that an orderly stop cuts off are not charged."""

import asyncio

import anyio
import pytest

from tests.support.misbehaving import LoopAdapter, envelope, place, serve
from trunkline import Hooks, Peer, SendingHook
from trunkline.core.errors import InvariantBroken

NOTICE = "Sorry, I could not answer this message."


async def take_down(*_):
    """End the gateway from inside: cancel the task that calls."""
    asyncio.current_task().cancel()  # pyright: ignore[reportOptionalMemberAccess]
    await anyio.sleep_forever()


def hello(start):
    return envelope(f"hello {start}", f"h{start}", address=place("bo"), peer=Peer(id="bo", name="Bo"))


def served(run):
    return any("hello" in text for text in run.adapter.texts)


def given_up(run):
    ended = [*run.of("turn.ended"), *run.of("delegation.finished")]
    return served(run) and any(body.reason == "runs-exhausted" for body in ended)


def starts(store, deaths, **parts):
    """The runs of the starts that die, of the next one, which gives up, and of one more. The first gets the poison."""
    runs = []
    for start in range(deaths + 2):
        messages = [hello(start)] if start else [envelope("poison", "p"), hello(start)]
        until = (lambda run: run.error is not None) if start < deaths else given_up if start == deaths else served
        runs.append(anyio.run(lambda: serve(store, LoopAdapter(messages=messages), until=until, **parts)))  # noqa: B023
    return runs


def test_a_turn_that_ends_the_gateway_is_given_up_after_three_runs(tmp_path):
    async def agent(turn):
        if turn.text == "poison":
            await take_down()
        return f"re {turn.text}"

    runs = starts(tmp_path / "trunkline.db", 3, agent=agent)
    assert [type(run.error) for run in runs] == [InvariantBroken] * 3 + [type(None)] * 2
    tried = [[body.attempt for body in run.of("turn.started") if body.origin == place("ana")] for run in runs]
    assert tried == [[1], [2], [3], [], []]
    ended = [body for run in runs for body in run.of("turn.ended") if body.outcome == "failed"]
    assert [(body.reason, body.attempts) for body in ended] == [("runs-exhausted", 3)]
    assert NOTICE in runs[3].adapter.texts
    assert {text for run in runs for text in run.adapter.texts if "hello" in text} >= {"re hello 3", "re hello 4"}


def test_the_notice_may_be_left_out(tmp_path):
    async def agent(turn):
        return await take_down() if turn.text == "poison" else f"re {turn.text}"

    config = {"turns": {"max_attempts": 2, "failed_notice": ""}}
    runs = starts(tmp_path / "trunkline.db", 2, agent=agent, config=config)
    assert [type(run.error) for run in runs] == [InvariantBroken] * 2 + [type(None)] * 2
    assert all("hello" in text for run in runs for text in run.adapter.texts)


def test_a_hook_that_ends_the_gateway_at_the_notice_too_ends_it_once_more(tmp_path):
    async def call(message):
        if message.address == place("ana"):
            await take_down()

    hooks = Hooks(sending=(SendingHook(name="h", call=call),))
    runs = starts(tmp_path / "trunkline.db", 4, hooks=hooks)
    assert [type(run.error) for run in runs] == [InvariantBroken] * 4 + [type(None)] * 2
    assert [body.attempts for body in runs[4].of("turn.ended") if body.outcome == "failed"] == [4]


def test_a_hand_that_ends_the_gateway_is_lost_after_three_runs(tmp_path):
    async def agent(turn):
        if turn.callback is not None:
            return f"the hand is {turn.callback.outcome}"
        if turn.text == "poison":
            await turn.delegate("h", "x")
            return None
        return f"re {turn.text}"

    runs = starts(tmp_path / "trunkline.db", 3, agent=agent, hand=take_down)
    assert [type(run.error) for run in runs] == [InvariantBroken] * 3 + [type(None)] * 2
    finished = [body for run in runs for body in run.of("delegation.finished")]
    assert [(body.outcome, body.reason) for body in finished] == [("lost", "runs-exhausted")]


@pytest.mark.parametrize("what", ["turn", "hand"])
def test_an_orderly_stop_charges_no_run(tmp_path, what):
    async def slow(*_):
        await anyio.sleep_forever()

    async def agent(turn):
        if turn.callback is not None or turn.text != "poison":
            return f"re {turn.text}"
        if what == "turn":
            await slow()
        await turn.delegate("h", "x")
        return "NO_REPLY"

    store, kind = tmp_path / "trunkline.db", f"{'delegation' if what == 'hand' else what}.started"
    for start in range(5):
        adapter = LoopAdapter(messages=[] if start else [envelope("poison", "p")])
        run = anyio.run(lambda: serve(store, adapter, agent=agent, hand=slow, until=lambda run: bool(run.of(kind))))  # noqa: B023
        assert run.error is None

    async def quick(task_or_turn):
        return "done"

    last = anyio.run(
        lambda: serve(store, LoopAdapter(), agent=quick, hand=quick, until=lambda run: run.adapter.texts != [])
    )
    assert last.adapter.texts == ["done"]


def test_work_that_only_waited_is_not_charged(tmp_path):
    """The second message of a session waits behind the poison one; it is answered after that is given up."""

    async def agent(turn):
        return await take_down() if turn.text == "poison" else f"re {turn.text}"

    store, runs = tmp_path / "trunkline.db", []
    for start in range(4):
        first = LoopAdapter(messages=[] if start else [envelope("poison", "p"), envelope("behind", "b")])

        def over(run):
            return run.error is not None or "re behind" in run.adapter.texts

        runs.append(anyio.run(lambda: serve(store, first, agent=agent, until=over)))  # noqa: B023 -- called at once
    assert runs[-1].adapter.texts == [NOTICE, "re behind"]
    assert [body.attempt for body in runs[-1].of("turn.started")] == [1]


@pytest.mark.slow
def test_a_turn_that_waits_for_the_answer_before_it_is_not_charged_for_the_wait(tmp_path):
    async def agent(turn):
        if turn.text.startswith("die"):
            # Until the suspects have started.
            await anyio.sleep(2.0)
            await take_down()
        return f"re {turn.text}"

    async def hanging(adapter, request):
        return await anyio.sleep_forever() if request.text == "re first" else adapter.accept(request)

    def start(adapter, until, **parts):
        config = {"turns": {"max_attempts": 2}, "delivery": {"request_timeout": 30.0}}
        return anyio.run(lambda: serve(tmp_path / "trunkline.db", adapter, until=until, config=config, **parts))

    def said():
        return [sent.text for sent in adapter.accepted if sent.address == place("ana")]

    for number in range(3):
        die = envelope(f"die {number}", f"d{number}", address=place(f"bo{number}"), peer=Peer(id="bo", name="Bo"))
        asked = [] if number else [envelope("first", "1"), envelope("second", "2")]
        adapter = LoopAdapter(messages=[*asked, die], sends=hanging)
        run = start(adapter, lambda run: run.error is not None, agent=agent)
        assert isinstance(run.error, InvariantBroken)
        assert not [body for body in run.of("turn.started") if body.attempt > 1 and body.origin == place("ana")]
    adapter = LoopAdapter()
    start(adapter, lambda _: len(said()) == 2)
    assert said() == ["re first", "re second"]
