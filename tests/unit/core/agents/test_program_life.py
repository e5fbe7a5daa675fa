"""The life of a program: what it is started with, how it ends with its gateway, and what its end does to turns."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from tests.support.agents.attached import Attached, attached, program
from tests.support.factories import direct
from tests.support.paths import ROOT
from tests.support.small_gateway import ANA
from trunkline.core.events.gateway import TurnEnded, TurnStarted
from trunkline.core.reasons import Reason

pytestmark = pytest.mark.anyio


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


async def test_a_stop_ends_the_program_and_what_it_has_started(tmp_path: Path) -> None:
    async with attached(tmp_path, program()) as main:
        pid, child = int(await main.answer("pid")), int(await main.answer("child"))
        assert is_there(pid) and is_there(child)
    assert not is_there(pid)
    await until_gone(child)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to a process that asks for them")
@pytest.mark.parametrize("end", ["stop", "exit", "killed", "stubborn"])
async def test_what_a_program_starts_in_sessions_of_its_own_ends_with_it(tmp_path: Path, end: str) -> None:
    settings = program("stubborn", stop_timeout=0.2) if end == "stubborn" else program()
    async with attached(tmp_path, settings) as main:
        escaped = [int(await main.answer("escaped")) for _ in range(3)]
        assert all(is_there(pid) for pid in escaped)
        if end in ("exit", "killed"):
            main.say("die" if end == "exit" else "killed")
            for pid in escaped:
                await until_gone(pid)
    for pid in escaped:
        await until_gone(pid)


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

#: a shell's word for whether SIGPIPE (13) or SIGXFSZ (25) is ignored
IGNORED_BY_PYTHON = "m=$(sed -n 's/^SigIgn:.//p' /proc/self/status); echo $((0x$m & 0x1001000))"


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        pytest.param("echo ${LC_CTYPE-unset}", "unset", id="locale"),
        # Python ignores SIGPIPE (13) and SIGXFSZ (25). Others may be ignored since before the tests began.
        pytest.param(
            "m=$(sed -n 's/^SigIgn:.//p' /proc/self/status); echo $((0x$m & 0x1001000))", "0", id="ignored-signals"
        ),
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
        print(await main.answer("pid"), await main.answer("escaped"), flush=True)
        main.say("interrupted the tower")
        await main.answers(3)
        print(main.platform.sent[2].text, main.platform.sent[2].key, sep="/", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has died")
def test_a_program_dies_with_its_gateway_and_the_turn_has_one_effect(tmp_path: Path) -> None:
    command = [sys.executable, "-c", GATEWAY, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as gateway:
        assert gateway.stdout is not None
        pid, escaped = map(int, gateway.stdout.readline().split())
        assert is_there(pid) and is_there(escaped)
        text, _, key = gateway.stdout.readline().strip().partition("/")
        assert text == "working on the tower"
        gateway.kill()
    anyio.run(until_gone, pid)
    anyio.run(until_gone, escaped)
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


async def test_every_turn_ends_while_the_program_is_killed_at_random(tmp_path: Path) -> None:
    chance = random.Random(17)
    async with attached(tmp_path, program(repeatable=True, timeout=20)) as main:
        people = [direct(str(2000 + n)) for n in range(30)]
        for round_number in range(5):
            pid = await process_of(main)
            for place in people:
                main.say(f"sleep {chance.random() / 10:.3f}", place)
            await anyio.sleep(chance.random() / 10)
            os.kill(pid, signal.SIGKILL)
            await until_gone(pid)
            # Each turn of the round ends, with an answer or with the reason of the end of its program.
            with anyio.fail_after(30):
                while len(ends_of(main)) < (round_number + 1) * len(people):  # noqa: ASYNC110 -- the log is a list
                    await anyio.sleep(0.02)
        ended = ends_of(main)
        assert {(one.outcome, one.reason) for one in ended} <= {
            ("replied", None),
            ("failed", Reason.AGENT_BROKE_OFF),
            ("failed", Reason.AGENT_UNREACHABLE),
        }
        replied = sum(one.outcome == "replied" for one in ended)
        with anyio.fail_after(10):
            while awake(main) < replied:  # noqa: ASYNC110 -- the platform is a list
                await anyio.sleep(0.02)
        assert awake(main) == replied


def awake(main: Attached) -> int:
    return sum(one.text == "awake" for one in main.platform.sent)


def ends_of(main: Attached) -> list[TurnEnded]:
    """The ends of the turns of everybody but the person who asks for the process."""
    events = tuple(main.gateway.log.events)
    asked = {event.turn for event in events if isinstance(event.body, TurnStarted) and event.body.origin == ANA}
    return [event.body for event in events if isinstance(event.body, TurnEnded) and event.turn not in asked]


async def process_of(main: Attached) -> int:
    """The process of the program, asked for until there is an answer."""
    for _ in range(20):
        before = len(to_ana(main))
        if (await main.ask("pid")).outcome == "replied":
            with anyio.fail_after(10):
                while len(to_ana(main)) == before:  # noqa: ASYNC110 -- the platform is a list
                    await anyio.sleep(0.02)
            return int(to_ana(main)[-1])
    raise AssertionError("no answer")


def to_ana(main: Attached) -> list[str]:
    return [request.text for request in main.platform.sent if request.address == ANA]
