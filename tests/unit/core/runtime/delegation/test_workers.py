"""Workers inside the gateway's process: they take tasks, report progress, and answer with the ticket of their task."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.small_gateway import ANA, Echo, Running, TinyPlatform, serving
from trunkline import Turn
from trunkline.core.errors import AnswerRefused, UnknownName
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.hands import (
    AnswerTurnedAway,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationProgressed,
    DelegationStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import HandOutcome, WorkState

pytestmark = pytest.mark.anyio

WORKERS: dict[str, Any] = {"each": {"robot": {"worker": True, "deadline": "10s"}}, "limits": {"max_result": 100}}
DONE = HandResult(outcome=HandOutcome.OK, text="welded")


async def act(turn: Turn) -> str | None:
    if turn.callback is not None:
        return f"{turn.callback.outcome}: {turn.text}"
    if turn.text == "status":
        return ", ".join(f"{one.state} {one.progress}" for one in await turn.delegations())
    await turn.delegate("robot", turn.text)
    return "on it"


async def asked(running: Running, platform: TinyPlatform, count: int = 1) -> str:
    """The id of a delegation that a person has caused."""
    platform.say(f"m{count}", ANA, "weld")
    await running.until(DelegationAccepted, count)
    return [str(e.delegation) for e in running.log.events if isinstance(e.body, DelegationAccepted)][-1]


def texts(platform: TinyPlatform) -> list[str]:
    return [one.text for one in platform.sent]


async def test_a_worker_takes_a_task_reports_and_answers(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, Echo(act), hands=WORKERS) as running:
        hands = running.gateway.hands
        assert await hands.take("robot", "arm 1") is None
        delegation = await asked(running, platform)
        task = await hands.take("robot", "arm 1")
        assert task is not None
        assert (task.delegation, task.task, await hands.take("robot", "arm 2")) == (delegation, "weld", None)
        await task.progress("half way")
        platform.say("m9", ANA, "status")
        await running.until(IntentSettled, 2)
        assert await running.gateway.inject_callback(delegation, DONE, ticket=task.ticket, by="arm 1")
        await running.until(IntentSettled, 3)
        details = await hands.show(delegation)
    assert texts(platform) == ["on it", "running half way", "ok: welded"]
    assert (details.row.state, details.row.worker) == (WorkState.SUCCEEDED, "arm 1")
    assert [one.worker for one in running.recorded(DelegationStarted)] == ["arm 1"]
    assert [one.text for one in running.recorded(DelegationProgressed)] == ["half way"]
    assert [one.by for one in running.recorded(DelegationFinished)] == ["arm 1"]


async def test_a_second_answer_is_kept_and_changes_nothing(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, Echo(act), hands=WORKERS) as running:
        delegation = await asked(running, platform)
        assert await running.gateway.inject_callback(delegation, DONE)
        again = HandResult(outcome=HandOutcome.ERROR, text="burnt")
        assert not await running.gateway.inject_callback(delegation, again, by="arm 2")
        await running.until(IntentSettled, 2)
        details = await running.gateway.hands.show(delegation)
    assert texts(platform) == ["on it", "ok: welded"]
    assert [(one.outcome, one.text) for one in details.late] == [(HandOutcome.ERROR, "burnt")]
    [ignored] = running.recorded(DelegationIgnored)
    assert (ignored.text, ignored.by, ignored.reason) == ("burnt", "arm 2", Reason.ALREADY_FINISHED)


async def test_answers_that_fit_no_task_are_refused_and_change_nothing(path: Path, platform: TinyPlatform) -> None:
    async def both(turn: Turn) -> str | None:
        if turn.callback is None:
            await turn.delegate("robot" if turn.text == "weld" else "helper", turn.text)
        return None

    others = {"helper": Echo(both)}
    async with serving(path, platform, Echo(both), others=others, hands=WORKERS) as running:
        delegation = await asked(running, platform)
        task = await running.gateway.hands.take("robot", "arm 1")
        assert task is not None
        long = HandResult(outcome=HandOutcome.OK, text="x" * 101)
        nothing = HandResult(outcome=HandOutcome.OK, text=None)  # pyright: ignore[reportArgumentType]
        for name, result, ticket, reason in (
            ("nothing", DONE, None, Reason.UNKNOWN_DELEGATION),
            (delegation, DONE, "stolen", Reason.WRONG_TICKET),
            (delegation, long, task.ticket, Reason.RESULT_TOO_LARGE),
            (delegation, nothing, task.ticket, Reason.BAD_RESULT),
        ):
            with pytest.raises(AnswerRefused) as caught:
                await running.gateway.inject_callback(name, result, ticket=ticket, by="arm 9")
            assert caught.value.reason is reason
        with pytest.raises(AnswerRefused) as caught:
            await running.gateway.hands.take("helper", "arm 1")
        assert caught.value.reason is Reason.NOT_A_WORKER
        assert running.recorded(DelegationFinished) == []
        assert await running.gateway.inject_callback(delegation, DONE, ticket=task.ticket)
        await running.until(DelegationFinished)
    refused = [(one.verb, one.reason, one.by) for one in running.recorded(AnswerTurnedAway)]
    assert refused == [
        ("answer", Reason.UNKNOWN_DELEGATION, "arm 9"),
        ("answer", Reason.WRONG_TICKET, "arm 9"),
        ("answer", Reason.RESULT_TOO_LARGE, "arm 9"),
        ("answer", Reason.BAD_RESULT, "arm 9"),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        "a text",
        None,
        HandResult(outcome="ok", text="x"),  # pyright: ignore[reportArgumentType]
        HandResult(outcome=HandOutcome.OK, text=b"x"),  # pyright: ignore[reportArgumentType]
    ],
)
async def test_what_is_no_result_is_refused(path: Path, platform: TinyPlatform, answer: Any) -> None:
    async with serving(path, platform, Echo(act), hands=WORKERS) as running:
        delegation = await asked(running, platform)
        with pytest.raises(AnswerRefused) as caught:
            await running.gateway.inject_callback(delegation, answer)
        assert caught.value.reason is Reason.BAD_RESULT
        assert running.recorded(DelegationFinished) == []
        assert await running.gateway.inject_callback(delegation, DONE, by=7)  # pyright: ignore[reportArgumentType]
        await running.until(DelegationFinished)


@pytest.mark.parametrize("name", ["\ud800", 7, None])
async def test_an_id_that_no_store_can_have_is_unknown(path: Path, platform: TinyPlatform, name: Any) -> None:
    async with serving(path, platform, Echo(act), hands=WORKERS) as running:
        hands = running.gateway.hands
        with pytest.raises(UnknownName):
            await hands.show(name)
        for call in (
            hands.answer(name, DONE),
            hands.progress(name, "half"),
            hands.cancel(name),
            hands.retry_callback(name),
            hands.discard(name),
        ):
            with pytest.raises(AnswerRefused) as caught:
                await call
            assert caught.value.reason is Reason.UNKNOWN_DELEGATION
    assert len(running.recorded(AnswerTurnedAway)) == 5


async def test_the_answer_of_a_worker_cannot_end_the_run_of_another_hand(path: Path, platform: TinyPlatform) -> None:
    async def helper(_turn: Turn) -> str:
        with pytest.raises(AnswerRefused) as caught:
            await gateway[0].inject_callback(ids[0], DONE)
        return caught.value.reason.value

    async def main(turn: Turn) -> str | None:
        if turn.callback is not None:
            return turn.text
        ids.append(f"{turn.id.removeprefix('t-')}.hand1")
        await turn.delegate("helper", turn.text)
        return None

    ids: list[str] = []
    gateway: list[Any] = []
    async with serving(path, platform, Echo(main), others={"helper": Echo(helper)}, hands=WORKERS) as running:
        gateway.append(running.gateway)
        platform.say("m1", ANA, "go")
        await running.until(IntentSettled)
    assert texts(platform) == ["not-a-worker"]


async def test_half_characters_of_an_answer_are_replaced(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, Echo(act), hands=WORKERS) as running:
        delegation = await asked(running, platform)
        half = HandResult(outcome=HandOutcome.OK, text="a\ud800b")
        assert await running.gateway.inject_callback(delegation, half)
        await running.until(IntentSettled, 2)
    assert texts(platform)[-1] == "ok: a?b"


async def test_an_operator_ends_what_a_worker_has_taken(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, Echo(act), hands=WORKERS) as running:
        delegation = await asked(running, platform)
        task = await running.gateway.hands.take("robot", "arm 1")
        assert task is not None
        assert await running.gateway.hands.cancel(delegation, by="operator kim")
        assert not await running.gateway.hands.cancel(delegation, by="operator kim")
        assert not await running.gateway.inject_callback(delegation, DONE, ticket=task.ticket)
        assert not await running.gateway.hands.progress(delegation, "more", ticket=task.ticket)
        await running.until(IntentSettled, 2)
    assert texts(platform) == ["on it", f"cancelled: {Reason.CANCELLED_BY_OPERATOR.sentence}"]
    [finished] = running.recorded(DelegationFinished)
    assert (finished.by, finished.reason) == ("operator kim", Reason.CANCELLED_BY_OPERATOR)


async def test_a_task_of_a_worker_survives_restarts_with_its_deadline(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, Echo(act), hands=WORKERS) as running:
        delegation = await asked(running, platform)
        task = await running.gateway.hands.take("robot", "arm 1")
        before = (await running.gateway.hands.show(delegation)).row
        await running.until(IntentSettled)
    assert task is not None
    async with serving(path, platform, Echo(act), hands=WORKERS) as running:
        assert await running.gateway.inject_callback(delegation, DONE, ticket=task.ticket)
        await running.until(IntentSettled)
        after = (await running.gateway.hands.show(delegation)).row
    assert texts(platform) == ["on it", "ok: welded"]
    assert (after.deadline, after.worker, after.ticket) == (before.deadline, "arm 1", task.ticket)


async def test_a_task_that_nobody_answers_times_out_even_after_a_restart(path: Path, platform: TinyPlatform) -> None:
    short: dict[str, Any] = {"each": {"robot": {"worker": True, "deadline": "0.3s"}}}
    async with serving(path, platform, Echo(act), hands=short) as running:
        await asked(running, platform)
        await running.until(IntentSettled)
    async with serving(path, platform, Echo(act), hands=short) as running:
        await running.until(IntentSettled)
        [finished] = running.recorded(DelegationFinished)
    assert (finished.outcome, finished.reason) == (HandOutcome.TIMEOUT, Reason.HAND_DEADLINE)
    assert texts(platform) == ["on it", "timeout: no result within 0.3 s"]
