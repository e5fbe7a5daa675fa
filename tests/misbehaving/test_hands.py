"""Bad input around delegated work: each has a typed error and an event, nothing is lost, and all others are served."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from tests.support.for_each import for_each
from tests.support.hands.roles import Asker, takes
from tests.support.hands.stage import ANA, BEN, Stage, staged
from trunkline.core.errors import AnswerRefused, DelegationRefused, UnknownName, UsageError
from trunkline.core.events.gateway import ToolRefused
from trunkline.core.events.hands import AnswerTurnedAway, DelegationAccepted, DelegationFinished, DelegationIgnored
from trunkline.core.events.trace import encode_event
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.store.delegations import HandPost, PostToGateway, PostVerb

#: half of a surrogate pair: a cut emoji, as the JSON of some platforms has it
HALF = "\ud83d"
WORKERS: dict[str, Any] = {"hands": {"each": {"courier": {"worker": True}, "porter": {"worker": True}}}}


def served(stage: Stage) -> None:
    """Everything that was recorded can be stored as a trace, and the store holds no half character."""
    for event in stage.log.events:
        encode_event(event)
    assert HALF not in "\n".join(stage.disk.open().iterdump())


def says(turn: Any) -> str:
    return f"{turn.callback.outcome.value}: {turn.text}"


# ---------------------------------------------------------------- what an agent passes in

CALLS: dict[str, dict[str, Any]] = {
    "unknown hand": {"agent_id": "nobody"},
    "itself": {"agent_id": "main"},
    "an empty name": {"agent_id": ""},
    "a half character in the name": {"agent_id": f"cl{HALF}rk"},
    "no text": {"agent_id": "clerk", "message": None},
    "a number": {"agent_id": "clerk", "message": 7},
    "a name that is none": {"agent_id": 7},
    "no time": {"agent_id": "clerk", "timeout": 0},
    "negative time": {"agent_id": "clerk", "timeout": -1},
    "not a number": {"agent_id": "clerk", "timeout": float("nan")},
    "a text as time": {"agent_id": "clerk", "timeout": "soon"},
    "a label that is none": {"agent_id": "clerk", "label": 7},
    "a place that is none": {"agent_id": "clerk", "reply_to": "ana"},
}


@for_each("case", CALLS)
def test_a_bad_call_is_refused_with_its_place_and_nothing_starts(case):
    call, errors = {"message": "work", **CALLS[case]}, []

    async def main(turn: Any) -> str:
        try:
            await turn.send_async(**call)
        except UsageError as error:
            errors.append(error)
        return f"served {turn.text}"

    async def play(stage: Stage) -> None:
        stage.say(ANA, "one")
        await anyio.sleep(30)
        (error,) = errors
        assert error.facts and len(error.facts) < 1000
        assert stage.bodies(DelegationAccepted) == [] and len(stage.bodies(ToolRefused)) == 1
        assert stage.texts(ANA) == ["served one"]
        served(stage)

    staged(play, agents={"main": main}, hands={"clerk": takes(1)})


@pytest.mark.parametrize("part", ["task", "label"])
def test_half_characters_in_a_task_or_a_label_do_no_harm(part):
    tasks, errors = [], []

    async def main(turn: Any) -> str | None:
        if turn.callback is not None:
            return says(turn)
        try:
            message = f"a{HALF}b" if part == "task" else "work"
            await turn.send_async("clerk", message, label=f"l{HALF}" if part == "label" else "")
        except UsageError as error:
            errors.append(error)
        return "served"

    async def clerk(task: Any) -> str:
        tasks.append((task.task, task.label))
        return "done"

    async def play(stage: Stage) -> None:
        stage.say(ANA, "one")
        await anyio.sleep(30)
        # Refused, or made well-formed and worked on; never half of each.
        if errors:
            assert stage.bodies(DelegationAccepted) == [] and stage.texts(ANA) == ["served"]
        else:
            assert len(tasks) == 1 and HALF not in "".join(tasks[0])
            assert stage.texts(ANA) == ["served", "ok: done"]
        served(stage)

    staged(play, agents={"main": main}, hands={"clerk": clerk})


# ---------------------------------------------------------------- what a hand returns


class Text(str):
    """A text of a type of its own."""


RESULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "half a character": (lambda: f"a{HALF}b", "ok"),
    "nothing": (lambda: None, "error"),
    "bytes": (lambda: b"done", "error"),
    "a text of its own type": (lambda: Text("done"), "ok"),
    "an empty text": (lambda: "", "ok"),
    "only white space": (lambda: " \n\t", "ok"),
    "control characters": (lambda: "a\x00b\x1b[31m\u202e", "ok"),
    "too long": (lambda: "x" * 3_000_000, "error"),
}


@for_each("case", RESULTS)
def test_whatever_a_hand_returns_is_reported_once(case):
    make, outcome = RESULTS[case]
    main = Asker(answer=lambda turn: f"{turn.callback.outcome.value} {len(turn.text)}")

    async def clerk(task: Any) -> Any:
        await task.progress(f"half{HALF}way")
        return make()

    async def play(stage: Stage) -> None:
        stage.say(ANA, "one")
        await anyio.sleep(60)
        (heard,) = main.heard
        assert HALF not in heard.text
        assert len(stage.texts(ANA)) == 2 and stage.texts(ANA)[1].startswith(outcome)
        (row,) = await stage.rows()
        assert row.callback is CallbackState.DELIVERED
        served(stage)

    config = {"hands": {"limits": {"max_result": 1_000_000}}}
    staged(play, agents={"main": main}, hands={"clerk": clerk}, config=config)


# ---------------------------------------------------------------- what a worker says


async def _taken(stage: Stage, hand: str = "courier", worker: str = "w1") -> Any:
    task = await stage.inside(stage.gateway.hands.take(hand, worker))
    assert task is not None
    return task


def _answer(text: str = "done", outcome: HandOutcome = HandOutcome.OK) -> HandResult:
    return HandResult(outcome=outcome, text=text)


async def _refused(stage: Stage, call: Any) -> Any:
    with pytest.raises((AnswerRefused, UnknownName)) as caught:
        await stage.inside(call)
    assert caught.value.facts
    return caught.value


BAD_ANSWERS = {
    "an unknown delegation": Reason.UNKNOWN_DELEGATION,
    "the ticket of nobody": Reason.WRONG_TICKET,
    "no ticket": Reason.WRONG_TICKET,
    "the ticket of another task": Reason.WRONG_TICKET,
    "a function's delegation": Reason.NOT_A_WORKER,
    "an answer of 100 MB": Reason.RESULT_TOO_LARGE,
}


@pytest.mark.parametrize("outside", [False, True], ids=["inside", "outside"])
@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_a_bad_answer_is_refused_and_the_right_one_still_counts(case, outside):
    if case == "no ticket" and not outside:
        pytest.skip("a program around the gateway needs none: it answers for its own workers")
    main = Asker("courier", answer=says)

    async def agent(turn: Any) -> str | None:
        if turn.callback is None and turn.text == "function":
            await turn.delegate("clerk", "long")
            return None
        return await main(turn)

    async def play(stage: Stage) -> None:
        for where, text in ((ANA, "one"), (BEN, "two"), (BEN, "function")):
            stage.say(where, text)
        await anyio.sleep(2)
        first, second = await _taken(stage), await _taken(stage, worker="w2")
        function = next(row.id for row in await stage.rows() if row.hand == "clerk")
        named, ticket, text = {
            "an unknown delegation": ("nothing", first.ticket, "stolen"),
            "the ticket of nobody": (first.delegation, "guess", "stolen"),
            "no ticket": (first.delegation, None, "stolen"),
            "the ticket of another task": (first.delegation, second.ticket, "stolen"),
            "a function's delegation": (function, first.ticket, "stolen"),
            "an answer of 100 MB": (first.delegation, first.ticket, "x" * 100_000_000),
        }[case]
        if outside:
            post = HandPost(delegation=named, verb=PostVerb.ANSWER, outcome=HandOutcome.OK, text=text, ticket=ticket)
            error = await _refused(stage, stage.write(PostToGateway(post=post)))
        else:
            error = await _refused(stage, stage.gateway.inject_callback(named, _answer(text), ticket=ticket, by="w9"))
            (turned,) = stage.bodies(AnswerTurnedAway)
            assert (turned.reason, turned.by) == (BAD_ANSWERS[case], "w9")
        assert isinstance(error, UnknownName) or error.reason is BAD_ANSWERS[case]
        for task in (first, second):
            await stage.inside(stage.gateway.inject_callback(task.delegation, _answer(), ticket=task.ticket))
        await anyio.sleep(30)
        assert stage.texts(ANA) == ["on it: one", "ok: done"]
        assert stage.texts(BEN) == ["on it: two", "ok: done"]
        assert not any("stolen" in text for text in stage.texts())
        served(stage)

    config = {"hands": {**WORKERS["hands"], "defaults": {"deadline": 1000}}}
    staged(play, agents={"main": agent}, hands={"clerk": takes(500)}, config=config)


def test_a_worker_that_answers_twice_is_heard_once():
    main = Asker("courier", answer=says)

    async def play(stage: Stage) -> None:
        stage.say(ANA, "one")
        await anyio.sleep(2)
        task = await _taken(stage)
        for text in ("first", "second", "third"):
            await stage.inside(stage.gateway.inject_callback(task.delegation, _answer(text), ticket=task.ticket))
        await anyio.sleep(30)
        assert stage.texts(ANA) == ["on it: one", "ok: first"]
        assert [body.text for body in stage.bodies(DelegationIgnored)] == ["second", "third"]
        assert len(stage.bodies(DelegationFinished)) == 1

    staged(play, agents={"main": main}, config=WORKERS)


def test_half_characters_of_a_worker_do_no_harm():
    main = Asker("courier", answer=lambda turn: f"{turn.callback.outcome.value} {len(turn.text)}")

    async def play(stage: Stage) -> None:
        stage.say(ANA, "one")
        await anyio.sleep(2)
        task = await _taken(stage, worker=f"w{HALF}")
        await stage.inside(stage.gateway.hands.progress(task.delegation, f"half{HALF}", ticket=task.ticket, by=HALF))
        await stage.inside(
            stage.gateway.inject_callback(task.delegation, _answer(f"a{HALF}b"), ticket=task.ticket, by=HALF)
        )
        await anyio.sleep(30)
        assert len(stage.texts(ANA)) == 2
        (row,) = await stage.rows()
        assert (row.state, row.callback) == (WorkState.SUCCEEDED, CallbackState.DELIVERED)
        served(stage)

    staged(play, agents={"main": main}, config=WORKERS)


def test_a_hand_that_is_no_worker_gives_no_task():
    async def play(stage: Stage) -> None:
        await anyio.sleep(1)
        error = await _refused(stage, stage.gateway.hands.take("clerk", "w1"))
        assert isinstance(error, AnswerRefused) and error.reason is Reason.NOT_A_WORKER
        assert await stage.inside(stage.gateway.hands.take("courier", "w1")) is None

    staged(play, agents={"main": Asker()}, hands={"clerk": takes(1)}, config=WORKERS)


def test_a_cap_that_is_reached_refuses_and_what_is_open_goes_on():
    errors = []

    async def main(turn: Any) -> str | None:
        if turn.callback is not None:
            return says(turn)
        try:
            await turn.send_async("clerk", turn.text)
        except DelegationRefused as error:
            errors.append(error.reason)
        return None

    async def play(stage: Stage) -> None:
        for number in range(5):
            stage.say(ANA, f"task {number}")
        await anyio.sleep(5)
        assert errors == [Reason.SESSION_CAP] * 3
        await anyio.sleep(30)
        stage.say(ANA, "task 9")
        await anyio.sleep(30)
        assert errors == [Reason.SESSION_CAP] * 3
        assert stage.texts(ANA) == [f"ok: done: task {number}" for number in (0, 1, 9)]

    config = {"hands": {"limits": {"open_per_session": 2}}}
    staged(play, agents={"main": main}, hands={"clerk": takes(10)}, config=config)
