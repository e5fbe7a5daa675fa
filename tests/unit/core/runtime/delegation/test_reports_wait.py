"""Reports of hands that wait for their adapter, are given up, or are long: what the store and the events say."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.small_gateway import ANA, KEY, Clerk, Echo, Running, TinyPlatform, let_pass, serving
from trunkline import HandTask, HandWorker, Ready, Turn
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.hands import (
    AnswerTurnedAway,
    CallbackChanged,
    DelegationAccepted,
    DelegationFinished,
    DelegationProgressed,
    DelegationStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio

C = CallbackState
#: looks at once
QUICK: dict[str, Any] = {"watch": "10ms", "not_ready_wait": "10ms"}
WORKER: dict[str, Any] = {"each": {"archive": {"worker": True, "deadline": "10m"}}}


class Shaky(TinyPlatform):
    """A platform that is ready or not."""

    is_ready = True

    async def ready(self) -> Ready:
        return Ready(ok=self.is_ready, reason="" if self.is_ready else "no connection")


@pytest.fixture
def shaky(anyio_backend: str) -> Iterator[Shaky]:
    platform = Shaky()
    yield platform
    platform.close()


def asking(platform: Shaky | None = None, hand: str = "clerk") -> Echo:
    """An agent that delegates, after which the platform goes away, and presents what comes back."""

    async def act(turn: Turn) -> str | None:
        if turn.callback is None:
            await turn.send_async(hand, turn.text)
            return None
        if platform is not None:
            platform.is_ready = False
        return f"found {turn.text}"

    return Echo(act)


def reports(running: Running) -> list[tuple[CallbackState, CallbackState, Reason | None]]:
    return [(one.before, one.state, one.reason) for one in running.recorded(CallbackChanged)]


BEGUN = [(C.WAITING, C.PENDING_TURN, None), (C.PENDING_TURN, C.IN_TURN, None), (C.IN_TURN, C.QUEUED, None)]
PARKED = (C.QUEUED, C.PARKED, Reason.NOT_READY)


async def test_a_report_is_parked_once_while_its_adapter_is_away_and_goes_on_by_itself(
    path: Path, shaky: Shaky
) -> None:
    async with serving(path, shaky, asking(shaky), delivery=QUICK) as running:
        # The platform is away before the first send, so that its readiness is asked for.
        shaky.say("m1", ANA, "mails")
        await running.until(CallbackChanged, 4)
        await anyio.sleep(0.1)
        assert reports(running) == [*BEGUN, PARKED]
        shaky.is_ready = True
        await running.until(IntentSettled)
        await running.until(CallbackChanged, 6)
    assert reports(running)[4:] == [(C.PARKED, C.QUEUED, None), (C.QUEUED, C.DELIVERED, None)]
    assert [one.text for one in shaky.sent] == ["found done: mails"]


async def test_a_parked_report_goes_on_after_a_restart(path: Path, shaky: Shaky) -> None:
    async with serving(path, shaky, asking(shaky), delivery=QUICK) as running:
        shaky.say("m1", ANA, "mails")
        await running.until(CallbackChanged, 4)
    shaky.is_ready = True
    async with serving(path, shaky, asking(), delivery=QUICK) as running:
        await running.until(CallbackChanged, 2)
    assert reports(running) == [(C.PARKED, C.QUEUED, None), (C.QUEUED, C.DELIVERED, None)]
    assert len(shaky.sent) == 1


@pytest.mark.parametrize("restart", [False, True])
async def test_a_parked_report_that_is_discarded_is_never_sent(path: Path, shaky: Shaky, restart: bool) -> None:
    async with serving(path, shaky, asking(shaky), delivery=QUICK) as running:
        shaky.say("m1", ANA, "mails")
        await running.until(CallbackChanged, 4)
        [accepted] = [one for one in running.log.events if isinstance(one.body, DelegationAccepted)]
        assert accepted.delegation is not None
        if not restart:
            await running.gateway.hands.discard(accepted.delegation)
            [settled] = await running.until(IntentSettled)
            assert (settled.state, settled.reason) == (IntentState.CANCELLED, Reason.DISCARDED)
            assert reports(running)[4:] == [(C.PARKED, C.SUPPRESSED, Reason.DISCARDED)]
    if restart:
        with closing(sqlite3.connect(path)) as raw, raw:
            # As if the process had died right after the discard was stored.
            raw.execute("UPDATE delegations SET callback = 'suppressed', callback_reason = 'discarded'")
    shaky.is_ready = True
    async with serving(path, shaky, asking(), delivery=QUICK) as running:
        if restart:
            [settled] = await running.until(IntentSettled)
            assert (settled.state, settled.reason) == (IntentState.CANCELLED, Reason.DISCARDED)
        await anyio.sleep(0.1)
    assert shaky.sent == []
    assert reports(running) == []


async def test_a_plain_message_changes_no_callback(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        platform.say("m1")
        await running.until(IntentSettled)
    assert reports(running) == []


# ---------------------------------------------------------------- long results


class Archivist(Clerk):
    """A hand that returns much."""

    async def run(self, task: HandTask) -> str:
        return "0123456789" * 20_000


@pytest.mark.parametrize("restart", [False, True])
async def test_a_long_result_reaches_its_turn_whole(path: Path, platform: TinyPlatform, restart: bool) -> None:
    seen: list[str] = []
    lines: list[tuple[str, str]] = []
    began, stay = anyio.Event(), anyio.Event()

    async def act(turn: Turn) -> str | None:
        if turn.callback is None:
            await turn.send_async("clerk", turn.text)
            return None
        seen.append(turn.text)
        began.set()
        if restart and len(seen) == 1:
            await stay.wait()
        return "much"

    async with serving(path, platform, Echo(act), runner=Archivist()) as running:
        platform.say("m1", ANA, "all")
        if restart:
            with anyio.fail_after(20):
                await began.wait()
        else:
            await running.until(IntentSettled)
            lines = await running.transcript(KEY)
    if restart:
        async with serving(path, platform, Echo(act), runner=Archivist()) as running:
            await running.until(IntentSettled)
            lines = await running.transcript(KEY)
    assert seen == ["0123456789" * 20_000] * (2 if restart else 1)
    [(_, text)] = [line for line in lines if line[0] == "hand"]
    assert text.endswith("\n[the beginning of 200000 characters]")
    assert len(text) < 3000
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT count(*) FROM results").fetchone() == (0,)
        [(result, ref)] = raw.execute("SELECT result, result_ref FROM delegations").fetchall()
        assert (result, ref) == (text, None)


# ---------------------------------------------------------------- workers in other processes


async def test_an_answer_that_was_there_in_time_counts_after_the_deadline(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform, asking(hand="archive"), hands=WORKER, delivery=QUICK) as running:
        platform.say("m1", ANA, "mails")
        await running.until(DelegationAccepted)
        worker = HandWorker(path, name="w1")
        task = None
        with anyio.fail_after(30):
            while task is None:
                task = worker.take("archive")
                await anyio.sleep(0.01)
        [started] = await running.until(DelegationStarted)
        assert started.worker == "w1"
        worker.progress(task.delegation, task.ticket or "", "half")
        [heard] = await running.until(DelegationProgressed)
        assert heard.text == "half"
    # No gateway runs now.
    assert worker.answer(task.delegation, task.ticket, "47 mails") is True
    let_pass(path, 1000)
    async with serving(path, platform, asking(), hands=WORKER, delivery=QUICK) as running:
        [done] = await running.until(DelegationFinished)
        await running.until(IntentSettled)
    assert (done.outcome, done.text, done.by) == (HandOutcome.OK, "47 mails", "w1")
    assert [one.text for one in platform.sent] == ["found 47 mails"]
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT count(*) FROM hand_posts").fetchone() == (0,)


@pytest.mark.parametrize("by", ["operator", "agent"])
async def test_an_answer_that_is_stored_wins_over_a_later_cancel(path: Path, platform: TinyPlatform, by: str) -> None:
    async def act(turn: Turn) -> str | None:
        if turn.callback is not None:
            return f"found {turn.text}"
        if turn.text == "stop":
            [one] = await turn.delegations()
            assert task is not None
            worker.answer(one.delegation, task.ticket, "47 mails")
            return f"cancelled: {await turn.cancel(one.delegation)}"
        await turn.delegate("archive", turn.text)
        return "on it"

    slow = {**WORKER, "watch": "1h"}
    async with serving(path, platform, Echo(act), hands=slow) as running:
        platform.say("m1", ANA, "mails")
        await running.until(DelegationAccepted)
        worker = HandWorker(path, name="w1")
        task = worker.take("archive")
        assert task is not None
        if by == "agent":
            platform.say("m2", ANA, "stop")
            await running.until(IntentSettled, 3)
            assert "cancelled: False" in [one.text for one in platform.sent]
        else:
            worker.answer(task.delegation, task.ticket, "47 mails")
            assert await running.gateway.hands.cancel(task.delegation) is False
            await running.until(IntentSettled, 2)
        [done] = running.recorded(DelegationFinished)
    assert (done.outcome, done.text, done.by) == (HandOutcome.OK, "47 mails", "w1")
    assert "found 47 mails" in [one.text for one in platform.sent]


async def test_answers_are_looked_for_more_often_while_workers_may_answer(path: Path, platform: TinyPlatform) -> None:
    often = {**WORKER, "watch": "20ms"}
    async with serving(path, platform, asking(hand="archive"), hands=often, delivery={"watch": "1h"}) as running:
        platform.say("m1", ANA, "mails")
        await running.until(DelegationAccepted)
        worker = HandWorker(path, name="w1")
        task = worker.take("archive")
        assert task is not None
        worker.answer(task.delegation, task.ticket, "47 mails")
        await running.until(IntentSettled)
    assert [one.text for one in platform.sent] == ["found 47 mails"]


async def test_a_post_that_does_not_fit_any_more_is_recorded_and_removed(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform):
        pass
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(
            "INSERT INTO hand_posts (delegation_id, verb, text, by, at) VALUES ('d9', 'cancel', '', 'ops', 1.0)"
        )
        raw.execute("INSERT INTO hand_posts (delegation_id, verb, text, by, at) VALUES ('d9', 'sing', '', 'ops', 1.0)")
    async with serving(path, platform, delivery=QUICK) as running:
        refused = await running.until(AnswerTurnedAway, 2)
        await anyio.sleep(0.05)
    assert {(one.verb, one.reason) for one in refused} == {
        ("cancel", Reason.UNKNOWN_DELEGATION),
        ("progress", Reason.BROKEN_ROW),
    }
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT count(*) FROM hand_posts").fetchone() == (0,)
