"""Programs that die, hang, flood and talk nonsense: the turn ends with a reason, and no other turn is harmed."""

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.agents.attached import Attached, attached, program
from tests.support.paths import ROOT
from tests.support.small_gateway import BEN
from trunkline.core.events.gateway import TurnEnded

pytestmark = pytest.mark.anyio


async def failed(main: Attached, text: str) -> tuple[str, str]:
    """The reason and the facts with which the turn of a message fails."""
    ended = await main.ask(text)
    assert ended.outcome == "failed" and ended.reason is not None
    return ended.reason.value, ended.detail


def is_there(pid: int) -> bool:
    """Whether a process runs, or waits as a zombie for its parent."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def until_gone(pid: int) -> None:
    with anyio.fail_after(15):
        while is_there(pid):  # noqa: ASYNC110 -- there is no event for the end of another's process
            await anyio.sleep(0.02)


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
        await anyio.sleep(0.3)
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
    async with attached(tmp_path, program(timeout=0.5)) as main:
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
    async with attached(tmp_path, program(timeout=2)) as main:
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


async def test_a_stop_ends_the_program_and_what_it_has_started(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        pid, child = int(await main.answer("pid")), int(await main.answer("child"))
        assert is_there(pid) and is_there(child)
    assert not is_there(pid)
    await until_gone(child)


async def test_a_program_that_ignores_every_request_to_end_is_killed(tmp_path: Path) -> None:
    async with attached(tmp_path, program("stubborn", stop_timeout=0.2)) as main:
        pid = int(await main.answer("pid"))
    assert not is_there(pid)


async def test_a_stop_in_the_middle_of_a_turn_leaves_it_to_the_next_process(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        main.say("resumed")
        with anyio.fail_after(10):
            while not main.platform.acked:  # noqa: ASYNC110 -- the platform is a list
                await anyio.sleep(0.02)
        await anyio.sleep(0.3)
    async with attached(tmp_path, program()) as main:
        assert await main.answers(1) == ["done by the next process"]


@pytest.mark.parametrize(
    ("match_calls", "sent"),
    [
        # By their order: "third" has the number of an earlier call and so no effect, and the third call is a new one.
        ("order", ["done", "first", "second", "second"]),
        ("content", ["done", "first", "second", "third"]),
    ],
)
async def test_calls_of_an_earlier_run_are_matched_as_configured(
    tmp_path: Path, match_calls: str, sent: list[str]
) -> None:
    settings = program(match_calls=match_calls)
    async with attached(tmp_path, settings) as main:
        main.say("reordered")
        assert await main.answers(2) == ["first", "second"]
        await anyio.sleep(0.3)
    async with attached(tmp_path, settings) as again:
        (ended,) = await again.gateway.until(TurnEnded)
        assert ended.outcome == "replied"
        wanted = len(sent)
        with anyio.fail_after(10):
            while len(main.platform.sent) + len(again.platform.sent) < wanted:  # noqa: ASYNC110 -- lists
                await anyio.sleep(0.02)
        assert sorted(one.text for one in (*main.platform.sent, *again.platform.sent)) == sent


async def test_only_named_variables_reach_the_program(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from a file\n", "utf-8")
    environ = {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "OPENAI_API_KEY": "gateway only",
        "INNER": "from the environment",
    }
    env = {"MODE": "test", "KEY": {"env": "INNER"}, "TOKEN": {"file": "token"}}
    async with attached(tmp_path, program(env=env), environ) as main:
        assert json.loads(await main.answer("environ")) == {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "MODE": "test",
            "KEY": "from the environment",
            "TOKEN": "from a file",
        }


SHELL = """
printf '{"type": "hello", "protocol": 1}\\n'
while read -r line; do
    turn=$(printf '%s' "$line" | sed -n 's/.*"id":"\\(t-[^"]*\\)".*/\\1/p')
    [ -z "$turn" ] || printf '{"type": "answer", "turn": "%s", "text": "%s"}\\n' "$turn" "$(SAID)"
done
"""


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        pytest.param("echo ${LC_CTYPE-unset}", "unset", id="locale"),
        pytest.param("grep SigIgn /proc/self/status | tr -d '\\t'", "SigIgn:0000000000000000", id="ignored-signals"),
        pytest.param("pwd | sed 's#.*/##'", "work", id="folder"),
    ],
)
async def test_a_program_starts_as_from_a_shell(tmp_path: Path, said: str, answer: str) -> None:
    (tmp_path / "work").mkdir()
    settings = {"command": ["sh", "-c", SHELL.replace("SAID", said)], "folder": "work"}
    async with attached(tmp_path, {"program": settings}, {"PATH": os.environ["PATH"], "LANG": "C"}) as main:
        assert await main.answer("x") == answer


GATEWAY = """
import os, sys
from pathlib import Path
import anyio
from tests.support.agents.attached import attached, program

async def main():
    async with attached(Path(sys.argv[1]), program()) as main:
        print(await main.answer("pid"), flush=True)
        main.say("interrupted the tower")
        await main.answers(2)
        print(main.platform.sent[1].text, main.platform.sent[1].key, sep="/", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has died")
def test_a_program_dies_with_its_gateway_and_the_turn_has_one_effect(tmp_path: Path) -> None:
    command = [sys.executable, "-c", GATEWAY, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as gateway:
        assert gateway.stdout is not None
        pid = int(gateway.stdout.readline())
        assert is_there(pid)
        text, _, key = gateway.stdout.readline().strip().partition("/")
        assert text == "working on the tower"
        gateway.kill()
    anyio.run(until_gone, pid)
    anyio.run(the_turn_ends_in_the_next_process, tmp_path, key)


async def the_turn_ends_in_the_next_process(folder: Path, key: str) -> None:
    async with attached(folder, program()) as main:
        (ended,) = await main.gateway.until(TurnEnded)
        assert ended.outcome == "replied"
        with anyio.fail_after(10):
            while "the tower at last" not in (sent := [one.text for one in main.platform.sent]):  # noqa: ASYNC110 -- a list
                await anyio.sleep(0.02)
        # If the receipt of the message was not stored yet, it is sent again under its key, which platforms recognise.
        keys = [request.key for request in main.platform.sent if request.text == "working on the tower"]
        assert keys in ([], [key]) and len(sent) == len(keys) + 1
