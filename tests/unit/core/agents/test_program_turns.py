"""A program as an agent on a real gateway: turns, tools, and many turns at once."""

import json
from pathlib import Path

import anyio
import pytest

from tests.support.agents.attached import attached, program
from tests.support.factories import direct
from tests.support.small_gateway import BEN
from trunkline import HandTask, Turn
from trunkline.core.events.gateway import TurnEnded, TurnStarted

pytestmark = pytest.mark.anyio


async def test_a_program_answers_each_message(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        assert await main.answer("echo hello") == "hello"
        assert await main.answer("echo grüße 👋\u2028", BEN) == "grüße 👋\u2028"
        assert (await main.ask("silent")).outcome == "silent"
        assert await main.answer("echo again") == "again"


async def test_one_process_works_on_all_turns(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        assert await main.answer("pid") == await main.answer("pid", BEN)


async def test_per_turn_each_turn_has_its_process(tmp_path: Path) -> None:
    async with attached(tmp_path, program(per_turn=True, concurrency=2)) as main:
        pids = {await main.answer("pid"), await main.answer("pid", BEN), await main.answer("pid")}
        assert len(pids) == 3


async def test_a_hundred_turns_at_once_get_their_own_answers(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        people = [direct(str(1000 + n)) for n in range(100)]
        for place in people:
            main.say(f"echo for {place.conversation}", place)
        await main.answers(100)
        said = {request.address.conversation: request.text for request in main.platform.sent}
        assert said == {place.conversation: f"for {place.conversation}" for place in people}


async def test_a_slow_turn_does_not_hold_up_another(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        main.say("sleep 1")
        main.say("echo quick", BEN)
        assert await main.answers(2) == ["quick", "awake"]


async def test_concurrency_bounds_what_the_program_is_given(tmp_path: Path) -> None:
    async with attached(tmp_path, program(concurrency=1)) as main:
        main.say("sleep 0.5")
        await anyio.sleep(0.2)
        main.say("echo quick", BEN)
        assert await main.answers(2) == ["awake", "quick"]


async def test_the_document_has_what_a_turn_has(tmp_path: Path) -> None:
    prompts = {"agents": [{"id": "main", "prompt": "Be kind."}], "channels": {"discord": {"prompt": "Be brief."}}}
    async with attached(tmp_path, program(), **prompts) as main:
        await main.answer("echo first")
        document = json.loads(await main.answer("show"))
        assert document["type"] == "turn" and document["protocol"] == 1 and document["again"] is False
        assert document["agent"] == "main" and document["work"] == "message"
        assert document["text"] == document["for_model"] == "show"
        assert document["peer"] == {"id": "100", "name": "peer 100"} == document["asked_by"]
        assert document["place"]["channel"] == "discord"
        assert document["session"]["key"].startswith("main:discord")
        assert document["prompts"] == [{"kind": "base", "text": "Be kind."}, {"kind": "channel", "text": "Be brief."}]
        assert [(line["role"], line["text"]) for line in document["history"]] == [
            ("user", "echo first"),
            ("assistant", "first"),
        ]
        assert document["history_cut"] is False
        assert document["tools"] == ["message", "agent_send_async", "agent_cancel", "agent_status", "agent_list"]


async def test_history_and_tools_are_limited_as_configured(tmp_path: Path) -> None:
    settings = program(history={"lines": 1}, tools=False)
    async with attached(tmp_path, settings) as main:
        await main.answer("echo first")
        document = json.loads(await main.answer("show"))
        assert [line["text"] for line in document["history"]] == ["first"]
        assert document["history_cut"] is True
        assert document["tools"] == []


async def test_the_message_tool_sends_during_the_turn(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        ended = await main.ask("message on my way")
        assert ended.outcome == "replied"
        first, second = await main.answers(2)
        assert first == "on my way"
        done = json.loads(second)
        assert done["ok"] is True and done["result"]["status"] == "queued"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("robot", "robot"),
        ("message", "action"),
        ('message {"action": "dance"}', "dance"),
        ('message {"action": "send", "message": "x", "to": "user:"}', "user:"),
        ('agent_send_async {"agent_id": "nobody", "message": "x"}', "nobody"),
        ('agent_cancel {"delegation_id": "nothing"}', "nothing"),
        ('history {"limit": 0}', "limit"),
        ('history {"robot": 1}', "limit"),
    ],
)
async def test_a_refused_call_comes_back_with_its_error(tmp_path: Path, call: str, says: str) -> None:
    async with attached(tmp_path, program()) as main:
        done = json.loads(await main.answer(f"call {call}"))
        assert done["ok"] is False
        assert says in done["error"]
        assert "result" not in done


async def test_the_tool_history_reads_more_than_the_document(tmp_path: Path) -> None:
    async with attached(tmp_path, program(history={"lines": 0})) as main:
        await main.answer("echo first")
        done = json.loads(await main.answer('call history {"limit": 10}'))
        assert [line["text"] for line in done["result"]["lines"]] == ["echo first", "first"]


async def test_a_delegation_comes_back_in_a_callback_turn(tmp_path: Path) -> None:
    async with attached(tmp_path, program(), hands={"prompt": "A result."}) as main:
        main.say("delegate count the words")
        await main.gateway.until(TurnEnded, 2)
        accepted, reported = await main.answers(2)
        assert accepted.startswith("accepted: ")
        # The result is not a word of the script, so the program answers that it was told so.
        assert reported == "you said done: count the words"


class Shower:
    """A hand whose result makes the scripted program show its turn."""

    def has(self, hand: str) -> bool:
        return hand == "clerk"

    async def run(self, task: HandTask) -> str:
        return "show"


async def test_the_document_of_a_callback_says_what_it_reports(tmp_path: Path) -> None:
    hands = {"prompt": "A result."}
    async with attached(tmp_path, program(tools=False), runner=Shower(), hands=hands) as main:
        main.say("delegate count the words")
        await main.gateway.until(TurnEnded, 2)
        document = json.loads((await main.answers(2))[1])
        assert document["work"] == "callback"
        assert document["callback"]["hand"] == "clerk" and document["callback"]["outcome"] == "ok"
        assert document["peer"]["id"] == "hand:clerk" and document["asked_by"]["id"] == "100"
        assert document["prompts"] == [{"kind": "callback", "text": "A result."}]
        assert document["text"] == "show" and "<data-" in document["for_model"]


async def test_a_person_may_be_notified_of_a_failure(tmp_path: Path) -> None:
    async with attached(tmp_path, program(), turns={"error_notice": "That went wrong."}) as main:
        ended = await main.ask("die")
        assert ended.reason == "agent-broke-off"
        assert await main.answers(1) == ["That went wrong."]


class Worker:
    """An agent that gives its message to the agent `helper`, and cancels that on `stop`."""

    async def turn(self, turn: Turn) -> str | None:
        if turn.callback is not None:
            return f"helper: {turn.text}"
        if turn.text == "stop":
            for one in await turn.delegations():
                await turn.cancel(one.delegation)
            return "stopped"
        await turn.send_async("helper", turn.text)
        return None


async def test_a_program_works_on_tasks_of_another_agent(tmp_path: Path) -> None:
    async with attached(tmp_path, program(), main=Worker()) as main:
        main.say("echo the tower")
        assert await main.answers(1) == ["helper: the tower"]
        main.say("never")
        await main.gateway.until(TurnStarted, 5)
        # A later task has been answered, so the program has the one before it too.
        main.say("echo the moon")
        assert (await main.answers(2))[1] == "helper: the moon"
        main.say("stop")
        assert (await main.answers(3))[2] == "stopped"
        # The task was cancelled, and the work of the program with it.
        main.say("cancelled")
        assert (await main.answers(4))[3] == "helper: 1 cancelled"


async def test_a_program_says_why_it_cannot_answer(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        failed = await main.ask("fail no more tokens")
        assert (failed.outcome, failed.reason, failed.detail) == ("failed", "agent-raised", "no more tokens")
        refused = await main.ask("refuse not that")
        assert (refused.outcome, refused.reason, refused.detail) == ("failed", "agent-refused", "not that")
        assert await main.answer("echo next") == "next"
