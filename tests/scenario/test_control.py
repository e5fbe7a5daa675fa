"""Commands of peers through the whole gateway: done once and told once, wherever the process dies."""

from typing import Any

import pytest

from trunkline.core.events.bindings import BindingBound, BindingEnded, ControlCalled, ControlEnded
from trunkline.core.reasons import Reason
from trunkline.sim import RunResult, Status, run_scenario
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.scenario import load_text

HEAD = """\
scenario: 1
title: made for a test
world:
  people: {ana: {ids: {discord: "1001"}}, bob: {ids: {discord: "1002"}}}
  discord: {guild: acme, rooms: {ops: {id: "700", threads: {deploy: {id: "701"}}}}}
cast: {agents: {main: [{do: [{reply: "heard: {text}"}]}]}}
"""
ON = 'gateway: {control: {enabled: true, owners: ["discord:1001"]}}\n'
KEY = "main:discord:default:channel:700"
HELLO = "at: 0s, as: ana, in: ops, say: hello"
FOCUS = f'at: 3s, as: ana, in: ops/deploy, say: "/focus {KEY}"'
UNFOCUS = 'at: 12s, as: ana, in: ops/deploy, say: "/unfocus"'


def run(*script: str, gateway: str = ON) -> RunResult:
    steps = "".join(f"  - {{{step}}}\n" for step in script)
    return run_scenario(load_text(f"{HEAD}{gateway}script:\n{steps}", "made.yaml"))


def bodies(result: RunResult, kind: type[Any]) -> list[Any]:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def texts(result: RunResult) -> list[str]:
    return [body.text for body in bodies(result, WireAccepted)]


def broken(result: RunResult) -> list[str]:
    return [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED]


#: what happens on the way of a command, in order
WAY = (
    "inbound.admitted",
    "turn.started",
    "control.called",
    "DONE",
    "control.ended",
    "intent.prepared",
    "wire.accepted",
)


@pytest.mark.parametrize("where", WAY)
def test_a_focus_that_is_cut_off_is_done_once_and_recorded_once(where: str) -> None:
    when = "binding.bound" if where == "DONE" else where
    cut = f"at: 2s, crash: {{when: {{event: {when}}}, restart_after: 2s}}"
    result = run(HELLO, cut, FOCUS, "at: 10s, as: ana, in: ops/deploy, say: one")
    said = f"This conversation belongs to the session {KEY} now. /unfocus ends that."
    assert texts(result) == ["heard: hello", said, "heard: one"]
    assert (len(bodies(result, ProcessCrashed)), len(bodies(result, BindingBound))) == (1, 1)
    assert broken(result) == []


@pytest.mark.parametrize("where", WAY)
def test_an_unfocus_that_is_cut_off_is_done_once_and_recorded_once(where: str) -> None:
    when = "binding.ending" if where == "DONE" else where
    cut = f"at: 11s, crash: {{when: {{event: {when}}}, restart_after: 2s}}"
    result = run(HELLO, FOCUS, cut, UNFOCUS, "at: 30s, as: ana, in: ops/deploy, say: one")
    assert texts(result)[2:] == [f"The session {KEY} is left.", "heard: one"]
    (ended,) = bodies(result, BindingEnded)
    assert (ended.reason, len(bodies(result, ProcessCrashed))) == (Reason.UNBOUND, 1)
    assert broken(result) == []


@pytest.mark.parametrize("text", [f"/focus {KEY}", "/unfocus"])
def test_a_stranger_changes_nothing_and_gets_an_answer_that_says_so(text: str) -> None:
    result = run(
        HELLO, FOCUS, f'at: 10s, as: bob, in: ops/deploy, say: "{text}"', "at: 20s, as: ana, in: ops/deploy, say: one"
    )
    assert texts(result)[2].startswith("Not done: only an owner")
    assert (len(bodies(result, BindingBound)), bodies(result, BindingEnded)) == (1, [])
    assert [body.reason for body in bodies(result, ControlEnded)] == [None, Reason.NOT_PERMITTED]
    assert broken(result) == []


def test_a_name_does_not_make_an_owner() -> None:
    # Whoever calls himself like an owner's id is somebody else all the same.
    named = HEAD.replace('bob: {ids: {discord: "1002"}}', 'bob: {name: "1001", ids: {discord: "1002"}}')
    steps = f'  - {{{HELLO}}}\n  - {{at: 3s, as: bob, in: ops/deploy, say: "/focus {KEY}"}}\n'
    result = run_scenario(load_text(f"{named}{ON}script:\n{steps}", "made.yaml"))
    assert bodies(result, BindingBound) == [] and broken(result) == []


def test_what_is_off_is_a_message_like_any_other() -> None:
    result = run(HELLO, FOCUS, gateway="")
    assert texts(result) == ["heard: hello", f"heard: /focus {KEY}"]
    assert bodies(result, ControlCalled) == bodies(result, BindingBound) == []
    assert broken(result) == []
