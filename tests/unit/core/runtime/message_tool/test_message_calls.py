"""Messages of the message tool: parts, files, polls, answers, broadcasts, hooks, and turns that run again."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.factories import direct, room
from tests.support.hooks import hooks, sending
from tests.support.sending import serving
from tests.support.small_gateway import ANA, KEY, Echo, Running
from tests.support.tool_calls import Answering, Call, Outcome, called, outcome_of, the_error, the_result
from trunkline import (
    ActionResult,
    ActionStatus,
    Button,
    Cancel,
    Capability,
    InvalidAction,
    InvalidSend,
    MessageParts,
    Poll,
    Resolved,
    Turn,
)
from trunkline.core.events.delivery import IntentPrepared, IntentSettled, IntentSuppressed, TargetResolved
from trunkline.core.events.gateway import ToolRefused, TurnEnded, TurnStarted
from trunkline.core.reasons import Reason

pytestmark = pytest.mark.anyio

HALL = room("500")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Answering]:
    tiny = Answering("telegram")
    yield tiny
    tiny.close()


HERE = direct("100", channel="telegram")


async def settled(running: Running) -> None:
    await running.until(IntentSettled)


async def test_a_message_may_have_buttons_files_and_silence(path: Path, platform: Answering) -> None:
    rows = [[{"text": "Yes", "callback_data": "y"}]]
    wire: Call = {"action": "send", "message": "ok?", "buttons": rows, "silent": "true", "media": "https://x.y/a.png"}
    outcomes, _ = await called(path, platform, calls=[wire], at=HERE, see=settled)
    assert the_result(outcomes).ok
    [request] = platform.tried
    assert request.parts == MessageParts(silent=True, buttons=((Button(text="Yes", value="y"),),))
    assert (request.text, request.media) == ("ok?", ("https://x.y/a.png",))


async def test_the_typed_form_says_the_same(path: Path, platform: Answering) -> None:
    async def send(turn: Turn) -> ActionResult:
        buttons = [[Button(text="Yes", value="y")]]
        return await turn.send("ok?", buttons=buttons, silent=True, media=["https://x.y/a.png"], reply_to="m1")

    outcomes, _ = await called(path, platform, calls=[send], at=HERE, see=settled)
    assert the_result(outcomes).ok
    [request] = platform.tried
    assert request.parts == MessageParts(silent=True, buttons=((Button(text="Yes", value="y"),),))
    assert (request.media, request.reply_to) == (("https://x.y/a.png",), "m1")


async def test_a_poll_is_a_message_with_its_question_as_its_text(path: Path, platform: Answering) -> None:
    wire: Call = {"action": "poll", "pollQuestion": " Lunch? ", "pollOption": ["yes", " ", "no"], "pollAnonymous": True}
    outcomes, _ = await called(path, platform, calls=[wire], at=HERE, see=settled)
    assert the_result(outcomes).action.value == "poll"
    [request] = platform.tried
    assert request.poll == Poll(question="Lunch?", options=("yes", "no"), anonymous=True)
    assert request.text == "Lunch?"


async def test_a_sticker_needs_no_text(path: Path, platform: Answering) -> None:
    gate: dict[str, Any] = {"channels": {"telegram": {"actions": {"sticker": True}}}}
    wire: Call = {"action": "sticker", "fileId": "CAAC"}
    outcomes, _ = await called(path, platform, calls=[wire], at=HERE, see=settled, **gate)
    assert the_result(outcomes).status is ActionStatus.QUEUED
    [request] = platform.tried
    assert (request.text, request.parts) == ("", MessageParts(sticker="CAAC"))


async def test_a_file_in_the_call_is_a_data_url_with_its_name(path: Path, platform: Answering) -> None:
    content = base64.b64encode(b"hello").decode()
    wire: Call = {
        "action": "send",
        "message": "see",
        "buffer": content,
        "filename": "a b.txt",
        "mimeType": "text/plain",
    }

    async def remembered(running: Running) -> None:
        await running.until(IntentSettled)
        [prepared] = running.recorded(IntentPrepared)
        assert prepared.media == ("a b.txt",)
        lines = await running.transcript("main:telegram:default:direct:100")
        assert lines[-1] == ("assistant", "see\na b.txt")

    outcomes, _ = await called(path, platform, calls=[wire], at=HERE, see=remembered)
    assert the_result(outcomes).ok
    assert platform.tried[0].media == (f"data:text/plain;name=a%20b.txt;base64,{content}",)


async def test_a_file_that_is_too_large_is_refused(path: Path, platform: Answering) -> None:
    wire: Call = {"action": "send", "message": "see", "buffer": "aGVsbG8="}
    tools: dict[str, Any] = {"tools": {"message": {"max_attachment": 4}}}
    outcomes, running = await called(path, platform, calls=[wire], at=HERE, **tools)
    error = the_error(outcomes)
    assert isinstance(error, InvalidAction)
    assert error.reason is Reason.BAD_ATTACHMENT
    assert "5 bytes, and the limit is 4" in error.facts
    assert running.recorded(IntentPrepared) == []


LACKING: list[Any] = [
    (Capability.SILENT, {"silent": True}),
    (Capability.BUTTONS, {"buttons": [[{"text": "Yes", "callback_data": "y"}]]}),
    (Capability.MEDIA, {"media": "https://x.y/a.png"}),
]


@pytest.mark.parametrize(("lacking", "params"), LACKING)
async def test_what_an_adapter_cannot_send_is_refused(
    path: Path, anyio_backend: str, lacking: Capability, params: dict[str, object]
) -> None:
    platform = Answering("telegram", can=frozenset(Capability) - {lacking})
    calls: list[Call] = [{"action": "send", "message": "x", **params}]
    outcomes, running = await called(path, platform, calls=calls, at=HERE)
    platform.close()
    assert lacking.value in str(the_error(outcomes))
    assert [one.reason for one in running.recorded(ToolRefused)] == [Reason.UNSUPPORTED]


async def test_a_hook_that_cancels_suppresses_the_message(path: Path, platform: Answering) -> None:
    calls: list[Call] = [{"action": "send", "message": "x"}, lambda turn: turn.send("y")]
    outcomes, _ = await called(path, platform, calls=calls, at=HERE, hooks=hooks(sending("no", Cancel("not that"))))
    for outcome in outcomes:
        assert isinstance(outcome, ActionResult)
        assert (outcome.status, outcome.reason, outcome.ok) == (
            ActionStatus.SUPPRESSED,
            Reason.CANCELLED_BY_HOOK,
            False,
        )
    assert platform.tried == []


async def test_a_text_of_blanks_is_no_message(path: Path, platform: Answering) -> None:
    outcomes, _ = await called(path, platform, calls=[lambda turn: turn.send("  \n ")], at=HERE)
    result = the_result(outcomes)
    assert (result.status, result.reason, result.intent) == (ActionStatus.SUPPRESSED, Reason.NO_REPLY, None)


async def test_an_answer_names_its_message_by_the_intent_that_sent_it(path: Path, platform: Answering) -> None:
    outcomes: list[Outcome] = []

    async def act(turn: Turn) -> None:
        if turn.text == "one":
            outcomes.append(await outcome_of({"action": "send", "message": "first"}, turn))
            return
        assert isinstance(outcomes[0], ActionResult)
        again = {"action": "send", "message": "second", "replyTo": outcomes[0].intent}
        outcomes.append(await outcome_of(again, turn))

    async with serving(path, platform, agent=Echo(act)) as running:
        platform.say("m1", HERE, "one")
        await running.until(IntentSettled)
        platform.say("m2", HERE, "two")
        await running.until(IntentSettled, 2)
    assert [request.reply_to for request in platform.tried] == [None, "1"]


async def test_a_message_without_an_id_yet_cannot_be_answered(path: Path, platform: Answering) -> None:
    platform.hold()

    async def act(turn: Turn) -> ActionResult:
        first = await turn.send("first")
        return await turn.send("second", reply_to=first.intent)

    outcomes, _ = await called(path, platform, calls=[act], at=HERE)
    error = the_error(outcomes)
    assert isinstance(error, InvalidSend)
    assert error.reason is Reason.UNKNOWN_MESSAGE


async def test_a_message_that_is_named_by_its_intent_is_answered_in_its_conversation(
    path: Path, platform: Answering
) -> None:
    outcomes: list[Outcome] = []

    async def act(turn: Turn) -> None:
        if turn.text == "one":
            outcomes.append(await outcome_of({"action": "send", "message": "first"}, turn))
            return
        assert isinstance(outcomes[0], ActionResult)
        there = {"action": "send", "message": "second", "target": "group:-1005", "replyTo": outcomes[0].intent}
        outcomes.append(await outcome_of(there, turn))

    async with serving(path, platform, agent=Echo(act)) as running:
        platform.say("m1", HERE, "one")
        await running.until(IntentSettled)
        platform.say("m2", HERE, "two")
        await running.until(TurnEnded, 2)
    error = the_error(outcomes[1:])
    assert isinstance(error, InvalidSend)
    assert error.reason is Reason.OTHER_CONVERSATION
    assert len(platform.tried) == 1


# ---------------------------------------------------------------- broadcasts


async def test_a_broadcast_reports_each_target(path: Path, anyio_backend: str) -> None:
    platform = Answering()
    targets = ["user:1", "what is this", "channel:5"]
    outcomes, running = await called(
        path, platform, calls=[{"action": "broadcast", "targets": targets, "message": "x"}], see=_two
    )
    platform.close()
    result = the_result(outcomes)
    assert (result.status, result.ok, result.detail) == (ActionStatus.FAILED, False, "1 of 3 targets failed")
    assert [one.ok for one in result.results] == [True, False, True]
    assert result.results[1].reason is Reason.BAD_TARGET
    assert "what is this" in result.results[1].detail
    assert {str(request.address) for request in platform.tried} == {str(direct("1")), str(room("5"))}
    assert len({one.intent for one in result.results}) == 3
    assert len(running.recorded(ToolRefused)) == 1


async def _two(running: Running) -> None:
    await running.until(IntentSettled, 2)


BROADCASTS: list[Any] = [
    ({"targets": [f"user:{n}" for n in range(1000)]}, Reason.BAD_TARGET, "at most"),
    ({"targets": ["user:1", "user:2", "user:1"]}, Reason.BAD_TARGET, "twice: user:1"),
    ({"targets": []}, Reason.NO_TARGET, "targets required"),
    ({}, Reason.NO_TARGET, "targets required"),
    ({"target": "user:1", "targets": ["user:1"]}, Reason.BAD_TARGET, "does not accept a target"),
]


@pytest.mark.parametrize(("params", "reason", "words"), BROADCASTS)
async def test_a_bad_broadcast_sends_nothing(
    path: Path, platform: Answering, params: dict[str, object], reason: Reason, words: str
) -> None:
    calls: list[Call] = [{"action": "broadcast", "message": "x", **params}]
    outcomes, running = await called(path, platform, calls=calls, at=HERE)
    assert words in str(the_error(outcomes))
    assert [one.reason for one in running.recorded(ToolRefused)] == [reason]
    assert running.recorded(IntentPrepared) == []


# ---------------------------------------------------------------- a turn that runs again


class Stopping:
    """An agent whose first run never ends, so that its turn runs again in the next process."""

    def __init__(self, calls: list[Call]) -> None:
        self._calls = calls
        self.runs: list[list[Outcome]] = []
        self.before: list[str] = []
        self.done = anyio.Event()

    async def turn(self, turn: Turn) -> None:
        """Make the calls; the first time, wait for ever then."""
        outcomes: list[Outcome] = []
        self.runs.append(outcomes)
        self.before = [f"{one.action.value} {one.said}" for one in (await turn.done_before()).sent]
        for call in self._calls:
            outcomes.append(await outcome_of(call, turn))
        if len(self.runs) == 1:
            self.done.set()
            await anyio.sleep_forever()


AGAIN: list[Call] = [
    lambda turn: turn.send("typed"),
    {"action": "send", "message": "named", "target": "user:ana"},
    {"action": "broadcast", "targets": ["user:1", "user:2"], "message": "all", "channel": "discord"},
    {"action": "react", "messageId": "m1", "emoji": "+1"},
    {"action": "read"},
]


class _Directory(Answering):
    """A directory that fails after its first answers."""

    def __init__(self) -> None:
        super().__init__()
        self.answer_of_directory: Resolved | Exception | None = None

    async def resolve_target(self, text: str) -> Resolved | None:
        if isinstance(self.answer_of_directory, Exception):
            raise self.answer_of_directory
        return Resolved(target="user:100") if text == "user:ana" else None


@pytest.mark.parametrize("hooked", [False, True])
async def test_a_turn_that_runs_again_repeats_nothing_and_hears_the_same(
    path: Path, anyio_backend: str, hooked: bool
) -> None:
    """The directory and the configuration have changed meanwhile, which changes nothing of what was done."""
    first, agent = _Directory(), Stopping(AGAIN)
    seen: list[Any] = []
    asked = hooks(sending("see", seen=seen)) if hooked else None
    async with serving(path, first, agent=agent, hooks=asked) as running:  # pyright: ignore[reportArgumentType]
        first.say("m1")
        await agent.done.wait()
        await running.until(IntentSettled, 5)
    first.close()
    second, shown = _Directory(), len(seen)
    second.answer_of_directory = OSError("down")
    tools: dict[str, Any] = {"message": {"cross_context": {"allow_within_provider": False}}}
    async with serving(path, second, agent=agent, hooks=asked, tools=tools) as running:  # pyright: ignore[reportArgumentType]
        await running.until(TurnEnded)
        assert [one.attempt for one in running.recorded(TurnStarted)] == [2]
        assert len(await running.until(IntentSuppressed, 5 + 1)) == 5 + 1
        assert running.recorded(IntentPrepared) == []
        assert running.recorded(TargetResolved) == []
    second.close()
    assert agent.runs[0] == agent.runs[1]
    # The sends of a broadcast are left out.
    assert agent.before == ["send typed", "send named", "react +1"]
    assert (len(seen), second.tried, second.asked) == (shown, [], [])
    assert len(first.tried) == 4
    assert len(first.carried_out) == 1


async def test_the_same_session_remembers_a_tool_send(path: Path, anyio_backend: str) -> None:
    platform = Answering()
    outcomes, _ = await called(path, platform, calls=[lambda turn: turn.send("x", HALL)])
    platform.close()
    result = the_result(outcomes)
    assert (result.place, result.session_key) == (HALL, "main:discord:default:channel:500")
    assert result.session_key != KEY
    assert result.place != ANA
