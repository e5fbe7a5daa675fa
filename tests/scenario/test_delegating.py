"""What agents, people and operators do with delegations, in the scenario language."""

from typing import TypeVar

import pytest

from trunkline.core.states.delegation import CallbackState, WorkState
from trunkline.sim import RunResult, run_scenario
from trunkline.sim.events.hands import AgentChecked, AgentDelegated, AgentGiven, HandAnswered, HandBegan
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.run.expectations import delegations_of
from trunkline.sim.scenario import load_text

T = TypeVar("T")

BASE = """
scenario: 1
title: Agents delegate
gateway:
  agents: [{id: main, default: true}, {id: scout}]
  control: {enabled: true}
  delivery: {watch: 1s}
world:
  people: [ana]
  slack: {rooms: {ops: {threads: [quay]}}}
cast:
  agents:
    main:
      - {when: {callback: "*", label: lamp}, do: [{reply: "the lamp: {result}"}]}
      - {when: {callback: "*"}, do: [{reply: "{hand} {outcome}: {result}"}]}
      - {when: {wake: true, text: bare}, do: [{delegate: {hand: clerk}}]}
      - {when: {wake: true}, do: [{delegate: {hand: clerk, reply_to: ops/quay}}]}
      - {when: {text: self}, do: [{delegate: {hand: main}}, {reply: "{status}: {error}"}]}
      - {when: {text: scout*}, do: [{delegate: {hand: scout, label: tower, timeout: 20s}}]}
      - {when: {text: fail*}, do: [{delegate: {hand: scout, task: no way}}]}
      - {do: [{delegate: {hand: clerk, label: lamp}}, {check: true}, {reply: "{open}: {delegations}"}]}
    scout:
      - {when: {task: main, text: no*}, do: [{fail: no way}]}
      - {when: {task: main}, do: [{delegate: {hand: clerk}}, {silent: true}]}
      - {when: {callback: clerk}, do: [{reply: "scouted, {result}"}]}
  hands:
    clerk: {takes: 10s, result: lit}
script:
SCRIPT
"""


def play(*steps: str) -> RunResult:
    """Play steps; every invariant must hold, and every step must happen."""
    file = load_text(BASE.replace("SCRIPT", "\n".join(f"  - {{{step}}}" for step in steps)), "delegating.yaml")
    result = run_scenario(file)
    assert ([one for one in result.verdicts if one.violations], result.unmet) == ([], ())
    return result


def bodies(result: RunResult, kind: type[T]) -> list[T]:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def texts(result: RunResult) -> list[str]:
    return [body.text for body in bodies(result, WireAccepted)]


def test_a_label_chooses_the_rule_of_its_callback_and_a_check_says_how_far_hands_are() -> None:
    result = play("at: 1s, as: ana, in: ops, say: light it")
    assert texts(result)[0].startswith("1: lamp ")
    assert texts(result)[1:] == ["the lamp: lit"]
    (checked,) = bodies(result, AgentChecked)
    assert f"1: {checked.answer}" == texts(result)[0]


def test_a_turn_without_a_place_names_that_of_the_answer() -> None:
    result = play("at: 1s, wake: {agent: main, text: go}")
    (delegated,) = bodies(result, AgentDelegated)
    assert delegated.reply_to is not None
    assert [body.address for body in bodies(result, WireAccepted)] == [delegated.reply_to]
    assert texts(result) == ["[from wake-up] clerk ok: lit"]


def test_without_a_place_it_is_refused_before_any_work_starts() -> None:
    result = play("at: 1s, wake: {agent: main, text: bare}")
    (delegated,) = bodies(result, AgentDelegated)
    assert delegated.refused
    assert (bodies(result, HandBegan), delegations_of(result.trace.events)) == ([], ())


def test_an_agent_cannot_delegate_to_itself() -> None:
    (text,) = texts(play("at: 1s, as: ana, in: ops, say: self"))
    assert text.startswith("refused: ")


def test_an_agent_works_as_a_hand_and_what_it_returns_is_a_fact() -> None:
    result = play("at: 1s, as: ana, in: ops, say: scout the tower")
    began = [(body.hand, body.agent) for body in bodies(result, HandBegan)]
    assert began == [("scout", True), ("clerk", False)]
    answers = [(body.hand, body.text, body.silent) for body in bodies(result, HandAnswered)]
    assert answers == [("scout", "", True), ("clerk", "lit", False), ("scout", "scouted, lit", False)]
    assert texts(result) == ["scout ok: scouted, lit"]
    tasks = [body for body in bodies(result, AgentGiven) if body.agent == "scout"]
    assert [(body.peer.id, body.asked_by and body.asked_by.name) for body in tasks] == [
        ("agent:main", "ana"),
        ("hand:clerk", "ana"),
    ]


def test_an_agent_that_fails_is_a_hand_that_fails() -> None:
    result = play("at: 1s, as: ana, in: ops, say: fail")
    (answered,) = bodies(result, HandAnswered)
    assert (answered.outcome, answered.agent) == ("error", True)
    assert "no way" in answered.text
    assert texts(result)[0].startswith("scout error: ")


def test_a_person_cancels_with_a_command() -> None:
    result = play("at: 1s, as: ana, in: ops, say: light it", "at: 3s, as: ana, in: ops, say: /cancel lamp")
    (one,) = delegations_of(result.trace.events)
    assert one.work is WorkState.CANCELLED


@pytest.mark.parametrize("where", ["", ", outside: true"])
def test_an_operator_has_a_report_made_again_or_gives_it_up(where: str) -> None:
    steps = (
        "at: 1s, as: ana, in: ops/quay, say: light it",
        "at: 2s, fault: {on: send, do: refuse, in: ops/quay, text: the lamp*}",
    )
    again = play(*steps, f"at: 60s, hands: {{do: retry-callback, label: lamp{where}}}")
    (one,) = delegations_of(again.trace.events)
    assert (one.callback, texts(again)[-1]) == (CallbackState.DELIVERED, "the lamp: lit")
    given_up = play(*steps, f"at: 60s, hands: {{do: discard, hand: clerk{where}}}")
    (one,) = delegations_of(given_up.trace.events)
    assert one.callback is CallbackState.SUPPRESSED
