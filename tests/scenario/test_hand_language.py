"""The words of the scenario language for hands: what the cast does with each, and what a run expects of them."""

from typing import TypeVar

import pytest

from trunkline.core.events.hands import DelegationProgressed
from trunkline.sim import RunResult, run_scenario
from trunkline.sim.events.hands import AgentDelegated, AgentGiven, HandAnswered, HandBegan, HandProgressed
from trunkline.sim.scenario import load_text

T = TypeVar("T")

BASE = """
scenario: 1
title: Ana asks, and a hand works
world:
  people: [ana]
  discord: {{rooms: [ops]}}
cast:
  agents:
    main:
      - {{when: {{callback: "*", outcome: ok}}, do: [{{reply: "{{hand}} for {{asked_by}}: {{result}}"}}]}}
      - {{when: {{callback: "*"}}, do: [{{reply: "{{hand}} {{outcome}}"}}]}}
      - {{do: [{{delegate: {{hand: clerk}}}}, {{reply: "on it {{status}}"}}]}}
  hands:
    clerk: {clerk}
script:
  - {{at: 1s, as: ana, in: ops, say: count the lamps}}
expect:
  {expect}
"""


def run(clerk: str = "{result: twelve}", expect: str = "hands: []") -> RunResult:
    return run_scenario(load_text(BASE.format(clerk=clerk, expect=expect), "hands.yaml"))


def bodies(result: RunResult, kind: type[T]) -> list[T]:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def test_what_a_hand_returned_is_a_fact_of_the_world() -> None:
    result = run()
    (began,), (answered,) = bodies(result, HandBegan), bodies(result, HandAnswered)
    assert (began.hand, began.task, began.process, began.generation) == ("clerk", "count the lamps", "gateway", 1)
    assert (answered.outcome, answered.text) == ("ok", "twelve")
    (given,) = bodies(result, AgentGiven)
    assert (given.peer.id, given.text, given.hand, given.outcome) == ("hand:clerk", "twelve", "clerk", "ok")
    assert given.asked_by is not None
    assert given.asked_by.name == "ana"
    (delegated,) = bodies(result, AgentDelegated)
    assert (delegated.call, delegated.refused) == (1, "")


def test_the_error_of_a_hand_is_a_fact_too() -> None:
    (answered,) = bodies(run("{fails: no lamp}"), HandAnswered)
    assert (answered.outcome, answered.text) == ("error", "no lamp")


def test_a_result_can_have_any_size() -> None:
    (answered,) = bodies(run("{result: lamp, result_size: 5003}"), HandAnswered)
    assert len(answered.text) == 5003
    assert answered.text.startswith("lamp lamp ")


def test_a_hand_reports_its_progress_at_its_times() -> None:
    result = run("{takes: 10s, progress: [{at: 6s, text: 'most of {task}'}, {at: 2s, text: some}, {at: 20s, text: n}]}")
    reported = [event for event in result.trace.events if isinstance(event.body, HandProgressed)]
    began = next(event.at for event in result.trace.events if isinstance(event.body, HandBegan))
    texts = [(round(event.at - began), event.body.text) for event in reported if isinstance(event.body, HandProgressed)]
    assert texts == [(2, "some"), (6, "most of count the lamps")]
    stored = [body.text for body in bodies(result, DelegationProgressed)]
    assert stored in ([], ["some", "most of count the lamps"])


@pytest.mark.parametrize(
    "expect",
    [
        "hands: [{hand: clerk, task: count*, agent: main, in: ops, work: succeeded, result: twelve}]",
        "hands: [{work: failed, times: 0}]",
        "given: [{agent: main, text: twelve, from: 'hand:clerk', asked_by: ana, callback: clerk, outcome: ok}]",
        "given: [{callback: clerk, prompts: ['*outcome of a task*']}]",
        "accepted: [{in: ops, text: on it accepted}, {in: ops, text: 'clerk for ana: twelve'}]",
    ],
)
def test_what_a_run_expects_of_hands_holds(expect: str) -> None:
    assert run(expect=expect).unmet == ()


@pytest.mark.parametrize(
    ("expect", "actual"),
    [
        ("hands: [{hand: clerk, work: failed}]", "m1.hand1 clerk: succeeded, “twelve”, callback"),
        ("hands: [{agent: main, times: 2}]", "1×"),
        ("given: [{callback: clerk, prompts: []}]", "main: “twelve” from hand:clerk, asked by ana, “"),
        ("given: [{from: 'hand:diver'}]", "0×"),
    ],
)
def test_what_does_not_hold_is_reported_with_what_happened(expect: str, actual: str) -> None:
    (unmet,) = run(expect=expect).unmet
    assert any(actual in line for line in unmet.actual)
    assert unmet.line is not None
