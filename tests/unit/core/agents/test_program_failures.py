"""Programs that die, hang, flood and talk nonsense: the turn ends with a reason, and no other turn is harmed."""

import logging
import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.agents.attached import Attached, attached, program
from tests.support.small_gateway import BEN
from trunkline.core.events.gateway import TurnEnded, TurnStarted

pytestmark = pytest.mark.anyio


async def failed(main: Attached, text: str) -> tuple[str, str]:
    """The reason and the facts with which the turn of a message fails."""
    ended = await main.ask(text)
    assert ended.outcome == "failed" and ended.reason is not None
    return ended.reason.value, ended.detail


@pytest.mark.parametrize("per_turn", [False, True])
@pytest.mark.parametrize(("word", "how"), [("die", "ended with exit code 3"), ("killed", "was ended by SIGKILL")])
async def test_a_program_that_ends_in_a_turn_breaks_it_off(tmp_path: Path, word: str, how: str, per_turn: bool) -> None:
    async with attached(tmp_path, program(per_turn=per_turn)) as main:
        reason, facts = await failed(main, word)
        assert reason == "agent-broke-off"
        assert how in facts
        # It is started again.
        assert await main.answer("echo next") == "next"


async def test_the_last_words_are_in_the_facts_without_control_characters(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        _, facts = await failed(main, "die")
        assert "I cannot go on" in facts and "\x1b" not in facts


async def test_every_turn_of_a_program_that_is_killed_breaks_off(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        pid = int(await main.answer("pid"))
        main.say("never")
        main.say("never", BEN)
        await main.gateway.until(TurnStarted, 3)
        await anyio.sleep(0.5)
        os.kill(pid, signal.SIGKILL)
        ended = (await main.gateway.until(TurnEnded, 3))[1:]
        assert [one.reason for one in ended] == ["agent-broke-off"] * 2
        assert await main.answer("pid") != str(pid)


@pytest.mark.parametrize("per_turn", [False, True])
async def test_a_repeatable_turn_is_run_again_and_its_calls_have_one_effect(tmp_path: Path, per_turn: bool) -> None:
    async with attached(tmp_path, program(repeatable=True, per_turn=per_turn)) as main:
        main.say("once the tower")
        await main.gateway.until(TurnEnded)
        assert await main.answers(2) == ["working on the tower", "the tower at last"]
        await main.answer("echo next")
        assert [request.text for request in main.platform.sent] == ["working on the tower", "the tower at last", "next"]


async def test_without_that_declaration_no_turn_is_run_again(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        reason, _ = await failed(main, "once the tower")
        assert reason == "agent-broke-off"


async def test_a_repeated_turn_that_makes_other_calls_fails(tmp_path: Path) -> None:
    async with attached(tmp_path, program(repeatable=True)) as main:
        reason, facts = await failed(main, "changing")
        assert reason == "agent-broke-off" and "another one than before" in facts
        assert len(await main.answers(1)) == 1


async def test_a_turn_that_takes_too_long_is_cancelled(tmp_path: Path) -> None:
    async with attached(tmp_path, program(timeout=4)) as main:
        await main.answer("echo warm")
        assert (await failed(main, "never"))[0] == "agent-timeout"
        assert await main.answer("cancelled") == "1 cancelled"


@pytest.mark.parametrize(
    ("how", "settings", "says"),
    [
        ("mute", {"start_timeout": 0.3, "stop_timeout": 0.2}, "did not say hello within 0.3 s"),
        ("broken", {}, "ended with exit code 7; the last line of its error output: no such model"),
        ("foreign", {}, "speaks version 99 of the protocol"),
        ("eager", {}, "sent a message before its hello"),
    ],
)
async def test_a_program_that_does_not_start_is_unreachable(
    tmp_path: Path, how: str, settings: dict[str, Any], says: str
) -> None:
    async with attached(tmp_path, program(how, **settings)) as main:
        for _ in range(2):
            reason, facts = await failed(main, "echo x")
            assert reason == "agent-unreachable"
            assert says in facts or "closed its output" in facts


async def test_a_program_that_is_gone_since_the_start_is_unreachable(tmp_path: Path) -> None:
    script = tmp_path / "agent.sh"
    script.write_text("#!/bin/sh\n", "utf-8")
    script.chmod(0o755)
    async with attached(tmp_path, {"program": {"command": ["./agent.sh"]}}) as main:
        script.unlink()
        assert (await failed(main, "echo x"))[0] == "agent-unreachable"


async def test_a_program_that_reads_nothing_is_ended_and_its_turns_fail(tmp_path: Path) -> None:
    settings = program("deaf", stuck_timeout=0.5, stop_timeout=0.2)
    async with attached(tmp_path, settings) as main:
        reason, facts = await failed(main, "x" * 3_000_000)
        assert reason == "agent-broke-off"
        assert "did not read its input for 0.5 s" in facts


NONSENSE = [
    pytest.param("nothing of JSON", id="no-json"),
    pytest.param('{"type": "answer"', id="cut-json"),
    pytest.param("[1, 2]", id="no-object"),
    pytest.param('{"type": "dance", "turn": "x"}', id="unknown-type"),
    pytest.param('{"type": "answer", "turn": "t-nobody", "text": "x"}', id="unknown-turn"),
    pytest.param('{"type": "answer", "turn": 7, "text": "x"}', id="turn-is-a-number"),
    pytest.param('{"type": "hello", "protocol": 1}', id="hello-again"),
    pytest.param("[" * 100_000, id="endless-nesting"),
    pytest.param("\x00\x1b[2J", id="control-characters"),
    pytest.param('{"type": "log", "text": "\\ud800"}', id="half-character"),
]


@pytest.mark.parametrize("line", NONSENSE)
async def test_nonsense_harms_no_other_turn(tmp_path: Path, line: str) -> None:
    async with attached(tmp_path, program()) as main:
        await main.answer("echo warm")
        main.say("sleep 0.5", BEN)
        main.say(f"raw {line}")
        assert (await main.answers(2))[1] == "awake"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"type": "answer", "turn": "TURN"}', "bad-answer"),
        ('{"type": "answer", "turn": "TURN", "text": 7}', "bad-answer"),
        ('{"type": "answer", "turn": "TURN", "txt": "x"}', "bad-answer"),
        ('{"type": "call", "turn": "TURN", "call": "1", "tool": "message", "params": []}', "bad-answer"),
        ('{"type": "call", "turn": "TURN", "tool": "message"}', "bad-answer"),
        ('{"type": "dance", "turn": "TURN"}', "bad-answer"),
        ('{"type": "answer", "turn": "TURN", "text": "' + "x" * 200_000 + '"}', "answer-too-long"),
        ('{"type": "answer", "turn": "TURN", "text": "' + "x" * 1_100_000 + '"}', "answer-too-long"),
    ],
)
async def test_a_bad_message_of_a_turn_ends_that_turn(tmp_path: Path, line: str, reason: str) -> None:
    async with attached(tmp_path, program()) as main:
        main.say("sleep 0.5", BEN)
        assert (await failed(main, f"raw {line}"))[0] == reason
        assert await main.answers(1) == ["awake"]


async def test_only_the_first_answer_counts_and_calls_after_it_do_nothing(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        assert await main.answer("twice") == "first"
        assert await main.answer("echo next") == "next"
        assert [request.text for request in main.platform.sent] == ["first", "next"]


@pytest.mark.parametrize(
    ("word", "settings", "reason"),
    [
        ("calls 1000", {"max_calls": 5}, "too-many-calls"),
        ("pipelined 1000", {}, "too-many-calls"),
        ("long 2000", {"max_answer": 1999}, "answer-too-long"),
        ("long 3000", {"max_line": 2000}, "answer-too-long"),
        ("output 30", {"max_output": 100_000}, "answer-too-long"),
    ],
)
async def test_a_limit_ends_the_turn(tmp_path: Path, word: str, settings: dict[str, Any], reason: str) -> None:
    async with attached(tmp_path, program(**settings)) as main:
        assert (await failed(main, word))[0] == reason
        assert await main.answer("echo next") == "next"


async def test_a_flood_is_rationed_in_the_log_and_ends_nothing(tmp_path: Path, caplog) -> None:
    caplog.set_level(logging.INFO, "trunkline.agents")
    async with attached(tmp_path, program()) as main:
        assert await main.answer("flood 3000") == "flooded"
        assert await main.answer("echo next") == "next"
    assert 0 < len(caplog.records) < 1000


async def test_what_a_program_says_is_in_the_log_without_control_characters(tmp_path: Path, caplog) -> None:
    caplog.set_level(logging.INFO, "trunkline.agents")
    async with attached(tmp_path, program()) as main:
        assert await main.answer("log one \x1b[31mred\x07") == "logged"
    assert "main: one \\x1b[31mred\\x07" in caplog.messages
    assert "main: an error line" in caplog.messages
    assert caplog.messages[0].startswith("main: its program is started, process ")
    assert caplog.messages[-1].startswith("main: the program was stopped by the gateway (ended with exit code 0)")
