"""The gateway dies at every step while clients send: what is asked for again under its key is seen once."""

from collections import Counter
from itertools import count

import msgspec
import pytest

from trunkline.core.events.delivery import SendJoined
from trunkline.core.runtime.client_sends.gateway_ports import GatewaySendPorts
from trunkline.core.runtime.client_sends.planner import StoredSend
from trunkline.core.sends.api import SendPlan
from trunkline.sim import CrashAt, RunResult, ScenarioFile, Status, run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.scenario import load_text

WORLD = """\
scenario: 1
title: made for a test
world:
  people: {ana: {ids: {telegram: "1"}}}
  discord: {rooms: {ops: {id: "700"}}}
  telegram: {rooms: {crew: {id: "-1007"}}}
  slack: {idempotency: lookup, rooms: {desk: {id: C7}}}
  matrix: {rooms: {den: {id: "!den:example.org"}}}
cast: {agents: {main: [{do: [{reply: "I know {memory}"}]}]}}
script:
"""
#: the client asks twice at once, and again when a process that died is back for sure
TIMES = ("0s", "0s", "40s", "400s")
#: platforms that keep one of two sends with one key, or can be asked
SURE = ("discord", "slack", "matrix")
TARGETS = {"discord": "channel:700", "telegram": '"-1007"', "slack": "channel:C7", "matrix": '"!den:example.org"'}


def script(channel: str, text: str = "the release is out") -> ScenarioFile:
    steps = [
        f"  - {{at: {at}, send: {{target: {TARGETS[channel]}, channel: {channel}, text: {text}, key: r12}}}}\n"
        for at in TIMES
    ]
    return load_text(WORLD + "".join(steps), "made.yaml")


def seen(result: RunResult) -> Counter[str]:
    return Counter(event.body.text for event in result.trace.events if isinstance(event.body, WireAccepted))


def broken(result: RunResult) -> list[str]:
    return [f"{v.id}: {v.violations[0].summary}" for v in result.verdicts if v.status is Status.VIOLATED]


def everywhere(file: ScenarioFile) -> list[CrashAt]:
    sound = run_scenario(file)
    commits = [CrashAt(what="commit", n=n) for n in range(1, sound.commits + 1)]
    return commits + [CrashAt(what="step", n=n) for n in range(1, sound.steps)]


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("channel", TARGETS)
def test_a_send_is_seen_once_wherever_the_gateway_dies(channel: str) -> None:
    file = script(channel)
    assert seen(run_scenario(file)) == {"the release is out": 1}
    for crash in everywhere(file):
        result = run_scenario(file, crash=crash)
        times = seen(result)["the release is out"]
        assert times == 1 if channel in SURE else times <= 1, crash
        assert broken(result) == [], crash


def test_a_send_of_several_parts_is_completed_wherever_the_gateway_dies() -> None:
    text = "one " * 600
    file = script("discord", text)
    parts = seen(run_scenario(file))
    assert len(parts) == 2
    for crash in everywhere(file)[::3]:
        assert seen(run_scenario(file, crash=crash)) == parts, crash


def test_a_call_after_the_crash_joins_what_was_left_open() -> None:
    file = script("discord")
    joined = [
        event.body.ended
        for crash in everywhere(file)
        for event in run_scenario(file, crash=crash).trace.events
        if isinstance(event.body, SendJoined)
    ]
    assert {True, False} == set(joined)


def test_a_gateway_that_forgets_its_keys_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, store = count(), GatewaySendPorts.store

    async def forget(self: GatewaySendPorts, plan: SendPlan, cause: int | None) -> StoredSend:
        message = msgspec.structs.replace(plan.message, key=f"{plan.message.key}.{next(numbers)}")
        return await store(self, msgspec.structs.replace(plan, message=message), cause)

    monkeypatch.setattr(GatewaySendPorts, "store", forget)
    assert seen(run_scenario(script("discord")))["the release is out"] > 1
