"""Who gets the answer of a callback, and when nothing is sent (S15, S16, S17, S21)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.callbacks import Caller, HeldClerk
from tests.support.factories import direct, room
from tests.support.sending import Platform, Tried, serving
from tests.support.small_gateway import ANA, BEN, KEY, Echo, Running, TinyPlatform
from trunkline import Address, Peer, Turn
from trunkline.core.actions.result import ActionStatus
from trunkline.core.errors import Ambiguous, Refused
from trunkline.core.events.delivery import IntentSettled, IntentSuppressed
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.events.hands import CallbackChanged
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import Idempotency, WorkKind

pytestmark = pytest.mark.anyio

HALL = room("500")


async def callback_of(running: Running, count: int) -> CallbackChanged:
    """The last change of a callback, when there have been this many."""
    return (await running.until(CallbackChanged, count))[-1]


async def test_the_agent_knows_whom_it_answers(path: Path, platform: TinyPlatform) -> None:
    """The author of the message is the hand; the person who asked keeps id and name, also in a group."""
    agent, cleo = Caller(), Peer(id="7", name="Cleo")
    async with serving(path, platform, agent=agent) as running:
        platform.say("m1", HALL, "count", peer=cleo)
        await running.until(IntentSettled, 2)
    asked, callback = agent.seen
    assert (asked.peer, asked.asked_by) == (cleo, cleo)
    assert (callback.peer, callback.asked_by) == (Peer(id="hand:clerk", name="clerk"), cleo)
    assert callback.place == HALL


async def test_two_people_in_one_group_are_told_apart(path: Path, platform: TinyPlatform) -> None:
    agent = Caller()
    async with serving(path, platform, agent=agent) as running:
        platform.say("m1", HALL, "count one", peer=Peer(id="7", name="Cleo"))
        platform.say("m2", HALL, "count two", peer=Peer(id="8", name="Dan"))
        await running.until(IntentSettled, 4)
    seen = {one.text: one.asked_by for one in agent.callbacks}
    assert seen == {"done: count one": Peer(id="7", name="Cleo"), "done: count two": Peer(id="8", name="Dan")}


async def test_the_account_that_heard_the_person_answers(path: Path, anyio_backend: str) -> None:
    """Two bots of one platform (D7): the answer leaves by the one that was asked, whichever wrote last."""
    first, second, hand = Platform(account="first"), Platform(account="second"), HeldClerk()
    async with serving(path, first, second, agent=Caller(), runner=hand) as running:
        here = direct("100", account="second")
        second.say("m1", here, "count")
        await hand.working.wait()
        first.say("m2", direct("100", account="first"), "hello")
        await running.until(IntentSettled, 2)
        hand.released.set()
        await running.until(IntentSettled, 3)
    for platform in (first, second):
        platform.close()
    assert [one.text for one in second.sent] == ["on it: count", "result: done: count"]
    assert [one.text for one in first.sent] == ["on it: hello"]


async def test_a_message_that_came_meanwhile_changes_nothing(path: Path, platform: TinyPlatform) -> None:
    hand = HeldClerk()
    async with serving(path, platform, agent=Caller(), runner=hand) as running:
        platform.say("m1", ANA, "count")
        await hand.working.wait()
        platform.say("m2", BEN, "hello")
        await running.until(IntentSettled, 2)
        hand.released.set()
        await running.until(IntentSettled, 3)
    assert [one.text for one in platform.sent if one.address == BEN] == ["on it: hello"]
    assert platform.sent[-1].address == ANA


@pytest.mark.parametrize("answer", [None, "", "  ", "NO_REPLY", "**NO_REPLY**", "Ana knows it.\nNO_REPLY"])
async def test_an_answer_that_says_nothing_closes_the_callback(
    path: Path, platform: TinyPlatform, answer: str | None
) -> None:
    async def nothing(_turn: Turn) -> str | None:
        return answer

    async with serving(path, platform, agent=Caller(nothing)) as running:
        platform.say("m1", ANA, "count")
        [suppressed] = await running.until(IntentSuppressed)
        changed = await callback_of(running, 3)
        outcomes = [body.outcome for body in running.recorded(TurnEnded)]
    assert (changed.state, changed.reason) == (CallbackState.SUPPRESSED, Reason.NO_REPLY)
    assert (suppressed.reason, suppressed.text) == (Reason.NO_REPLY, answer or "")
    assert outcomes == ["replied", "silent"]
    assert [one.text for one in platform.sent] == ["on it: count"]


async def test_a_suppressed_callback_is_not_tried_again(path: Path, platform: TinyPlatform) -> None:
    """B #84270: a gateway that took silence for a failure announced it again until its limit."""
    agent = Caller(_silent)
    async with serving(path, platform, agent=agent) as running:
        platform.say("m1", ANA, "count")
        await callback_of(running, 3)
    again = TinyPlatform()
    async with serving(path, again, agent=agent) as running:
        again.say("m2", ANA, "hello")
        await running.until(IntentSettled)
    again.close()
    assert len(agent.callbacks) == 1


async def _silent(_turn: Turn) -> str:
    return "NO_REPLY"


async def test_the_token_is_no_text_in_any_turn(path: Path, platform: TinyPlatform) -> None:
    async def act(turn: Turn) -> str:
        sent = await turn.send("NO_REPLY")
        assert (sent.status, sent.reason) == (ActionStatus.SUPPRESSED, Reason.NO_REPLY)
        return "NO_REPLY"

    async with serving(path, platform, agent=Echo(act)) as running:
        platform.say("m1", ANA, "hello")
        assert [body.reason for body in await running.until(IntentSuppressed, 2)] == [Reason.NO_REPLY] * 2
        assert await running.transcript(KEY) == [("user", "hello")]
    assert platform.sent == []


@pytest.mark.parametrize("again", ["47 mails", " 47  mails\n"])
async def test_an_answer_that_the_turn_has_sent_already_is_not_sent_again(
    path: Path, platform: TinyPlatform, again: str
) -> None:
    async def twice(turn: Turn) -> str:
        await turn.send("47 mails")
        return again

    async with serving(path, platform, agent=Caller(twice)) as running:
        platform.say("m1", ANA, "count")
        await running.until(IntentSettled, 2)
        changed = await callback_of(running, 3)
        [suppressed] = running.recorded(IntentSuppressed)
    assert [one.text for one in platform.sent] == ["on it: count", "47 mails"]
    assert suppressed.reason is Reason.ALREADY_SENT
    assert changed.state is CallbackState.DELIVERED


async def test_a_tool_call_with_wire_parameters_counts_too(path: Path, platform: TinyPlatform) -> None:
    async def twice(turn: Turn) -> str:
        await turn.message({"action": "send", "message": "47 mails"})
        return "47 mails"

    async with serving(path, platform, agent=Caller(twice)) as running:
        platform.say("m1", ANA, "count")
        await running.until(IntentSettled, 2)
        await callback_of(running, 3)
    assert [one.text for one in platform.sent] == ["on it: count", "47 mails"]


@pytest.mark.parametrize(("text", "to"), [("47 mails!", None), ("47 mails", BEN)])
async def test_another_text_or_another_place_is_sent(
    path: Path, platform: TinyPlatform, text: str, to: Address | None
) -> None:
    async def both(turn: Turn) -> str:
        await turn.send(text, to=to)
        return "47 mails"

    async with serving(path, platform, agent=Caller(both)) as running:
        platform.say("m1", ANA, "count")
        await running.until(IntentSettled, 3)
        assert running.recorded(IntentSuppressed) == []
    assert sorted(one.text for one in platform.sent) == sorted(["on it: count", text, "47 mails"])


async def test_a_dry_run_is_no_message(path: Path, platform: TinyPlatform) -> None:
    async def preview(turn: Turn) -> str:
        await turn.send("47 mails", dry_run=True)
        return "47 mails"

    async with serving(path, platform, agent=Caller(preview)) as running:
        platform.say("m1", ANA, "count")
        await running.until(IntentSettled, 2)
    assert [one.text for one in platform.sent] == ["on it: count", "47 mails"]


async def test_a_turn_of_a_message_says_it_once_too(path: Path, platform: TinyPlatform) -> None:
    async def twice(turn: Turn) -> str:
        await turn.send("hear, hear")
        return "hear, hear"

    async with serving(path, platform, agent=Echo(twice)) as running:
        platform.say("m1", ANA, "hello")
        await running.until(IntentSuppressed)
    assert [one.text for one in platform.sent] == ["hear, hear"]


@pytest.mark.parametrize(("error", "said"), [(Refused("no"), ["hear, hear"]), (None, ["hear, hear"])])
async def test_an_answer_waits_for_the_send_that_it_repeats(
    path: Path, platform: TinyPlatform, error: Exception | None, said: list[str]
) -> None:
    """One that fails is no reason to say nothing: then the answer goes."""

    async def twice(turn: Turn) -> str:
        await turn.send("hear, hear")
        return "hear, hear"

    platform.errors[:] = [] if error is None else [error]
    async with serving(path, platform, agent=Echo(twice)) as running:
        platform.say("m1", ANA, "hello")
        [ended] = await running.until(TurnEnded)
        await running.until(IntentSettled, 1 if error is None else 2)
    assert ended.outcome == ("silent" if error is None else "replied")
    assert [sent.text for sent in platform.sent] == said


async def test_of_a_send_in_doubt_people_hear_that_nobody_knows(path: Path, platform: TinyPlatform) -> None:
    async def twice(turn: Turn) -> str:
        await turn.send("hear, hear")
        return "hear, hear"

    blind = Tried(idempotency=Idempotency.NONE)
    blind.errors[:] = [Ambiguous("no response")]
    async with serving(path, blind, agent=Echo(twice), delivery={"doubt_notice": "It may be there."}) as running:
        blind.say("m1", ANA, "hello")
        await running.until(IntentSettled, 2)
    blind.close()
    assert [sent.text for sent in blind.sent] == ["It may be there."]


async def test_a_turn_that_runs_again_remembers_what_it_had_sent(path: Path, platform: TinyPlatform) -> None:
    """The process died between the tool call and the end of the turn: the message is there, and is not doubled."""

    async def twice(turn: Turn) -> str:
        await turn.send("47 mails")
        return "47 mails"

    agent = Caller(twice)
    async with serving(path, platform, agent=agent) as running:
        platform.say("m1", ANA, "count")
        await running.until(IntentSettled, 2)
        await callback_of(running, 3)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE inbox SET state = 'pending' WHERE kind = 'callback'")
        db.execute("UPDATE delegations SET callback = 'in_turn'")
    again = TinyPlatform()
    async with serving(path, again, agent=agent) as running:
        reasons = [body.reason for body in await running.until(IntentSuppressed, 2)]
    again.close()
    assert reasons == [Reason.ALREADY_QUEUED, Reason.ALREADY_SENT]
    assert again.sent == []
    assert [one.work for one in agent.seen] == [WorkKind.MESSAGE, WorkKind.CALLBACK, WorkKind.CALLBACK]
