"""Workers outside the gateway, in the scenario language: what each does, and what becomes of it."""

from typing import TypeVar

import pytest

from trunkline.core.events.hands import DelegationIgnored, DelegationProgressed
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.sim import RunResult, run_scenario
from trunkline.sim.events.hands import WorkerAnswered, WorkerDied, WorkerReported, WorkerTook
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.run.expectations import EndedDelegation, delegations_of
from trunkline.sim.scenario import load_text

T = TypeVar("T")

BASE = """
scenario: 1
title: A worker prints
gateway:
  delivery: {watch: 1s}
  hands: {each: {press: {worker: true, deadline: 30s}}}
world:
  people: [ana]
  slack: {rooms: [ops]}
cast:
  agents:
    main:
      - {when: {callback: "*", outcome: ok}, do: [{reply: "{label}: {result}"}]}
      - {when: {callback: "*"}, do: [{reply: "{label}: {outcome}"}]}
      - {when: {text: "cancel*"}, do: [{cancel: first}, {reply: "{status}"}]}
      - {when: {text: "ask*"}, do: [{check: true}, {reply: "{open}: {delegations}"}]}
      - {when: {text: "two*"}, do: [{delegate: {hand: press, label: first}}, {delegate: {hand: press, label: other}}]}
      - {when: {text: "soon*"}, do: [{delegate: {hand: press, label: first, timeout: 3s}}]}
      - {do: [{delegate: {hand: press, label: first}}]}
  workers:
WORKERS
script:
SCRIPT
"""


def play(worker: str, *steps: str, says: str = "print") -> RunResult:
    """Play a worker's rule; every invariant must hold, and every step must happen."""
    first = f"at: 1s, as: ana, in: ops, say: {says}"
    text = BASE.replace("WORKERS", f"    wim: {{hand: press, rules: {worker}}}")
    text = text.replace("SCRIPT", "\n".join(f"  - {{{step}}}" for step in (first, *steps)))
    result = run_scenario(load_text(text, "workers.yaml"))
    assert ([one for one in result.verdicts if one.violations], result.unmet) == ([], ())
    return result


def bodies(result: RunResult, kind: type[T]) -> list[T]:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def texts(result: RunResult) -> list[str]:
    return [body.text for body in bodies(result, WireAccepted)]


def ended(result: RunResult) -> EndedDelegation:
    (found,) = delegations_of(result.trace.events)
    return found


def test_a_worker_takes_a_task_reports_and_answers() -> None:
    result = play("{works: 15s, progress: [{at: 2s, text: half}], result: 'done {task}'}")
    assert [(body.worker, body.task) for body in bodies(result, WorkerTook)] == [("wim", "print")]
    assert [(body.text, body.accepted) for body in bodies(result, WorkerReported)] == [("half", True)]
    (answered,) = bodies(result, WorkerAnswered)
    assert (answered.outcome, answered.text, answered.ticket_right) == (HandOutcome.OK, "done print", True)
    assert texts(result) == ["first: done print"]
    assert [body.text for body in bodies(result, DelegationProgressed)] == ["half"]


def test_only_the_first_of_two_answers_counts() -> None:
    result = play("{result: 'answer {n}', answers: 2}")
    assert [body.accepted for body in bodies(result, WorkerAnswered)] == [True, True]
    assert texts(result) == ["first: answer 1"]
    assert ended(result).result == "answer 1"
    assert [body.text for body in bodies(result, DelegationIgnored)] == ["answer 2"]


def test_an_error_of_a_worker_is_reported() -> None:
    assert texts(play("{fails: no paper}")) == ["first: error"]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("{ticket: wrong}", Reason.WRONG_TICKET),
        ("{ticket: none}", Reason.WRONG_TICKET),
        ("{names: unknown}", Reason.UNKNOWN_DELEGATION),
        ("{names: other}", Reason.UNKNOWN_DELEGATION),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_and_the_deadline_ends_the_task(rule: str, reason: Reason) -> None:
    result = play(rule)
    (answered,) = bodies(result, WorkerAnswered)
    assert (answered.accepted, answered.reason, answered.ticket_right) == (False, reason, False)
    assert texts(result) == ["first: timeout"]
    assert ended(result).work is WorkState.TIMED_OUT


def test_a_worker_cannot_answer_the_task_of_another_one() -> None:
    result = play("[{text: 'print*', names: other}, {works: 8s}]", "after: 0.1s, as: ana, in: ops, say: two more")
    refused = [body for body in bodies(result, WorkerAnswered) if not body.accepted]
    assert [body.reason for body in refused] == [Reason.WRONG_TICKET]
    assert {one.work for one in delegations_of(result.trace.events)} == {WorkState.SUCCEEDED, WorkState.TIMED_OUT}


@pytest.mark.parametrize("rule", ["{works: 2s, dies: true}", "{works: 2s, answers: 0}"])
def test_a_task_that_nobody_answers_times_out(rule: str) -> None:
    result = play(rule)
    assert len(bodies(result, WorkerDied)) == ("dies" in rule)
    assert texts(result) == ["first: timeout"]


def test_a_timeout_of_the_caller_comes_before_that_of_the_hand() -> None:
    result = play("{works: 10s, result: late}", says="soon please")
    assert texts(result) == ["first: timeout"]
    assert ended(result).callback is CallbackState.DELIVERED
    assert [body.text for body in bodies(result, DelegationIgnored)] == ["late"]


def test_a_worker_answers_while_no_gateway_runs() -> None:
    result = play("{works: 5s, result: printed}", "at: 3s, crash: {restart_after: 60s}")
    assert texts(result) == ["first: printed"]
    finished = next(event for event in result.trace.events if event.kind == "delegation.finished")
    answered = next(event for event in result.trace.events if event.kind == "worker.answered")
    assert answered.at < 10 < 60 < finished.at


def test_a_full_disk_delays_an_answer() -> None:
    result = play("{works: 5s, result: printed}", "at: 4s, fault: {on: store, do: error, times: 3}")
    assert texts(result) == ["first: printed"]


def test_an_agent_cancels_by_its_label_and_asks_what_has_not_ended() -> None:
    steps = ("at: 10s, as: ana, in: ops, say: ask", "at: 11s, as: ana, in: ops, say: cancel it")
    result = play("{works: 20s}", *steps, "at: 12s, as: ana, in: ops, say: cancel it again")
    assert texts(result) == ["1: first running", "cancelled", "ended"]
    assert (ended(result).work, ended(result).callback) == (WorkState.CANCELLED, CallbackState.SUPPRESSED)


@pytest.mark.parametrize("where", ["", ", outside: true"])
def test_an_operator_cancels_in_the_process_or_from_outside(where: str) -> None:
    result = play("{works: 20s}", f"at: 5s, hands: {{do: cancel, label: first{where}}}")
    assert texts(result) == ["first: cancelled"]
    assert ended(result).work is WorkState.CANCELLED


def test_a_program_answers_inside_the_process() -> None:
    result = play("{works: 20s, result: late}", "at: 5s, hands: {do: answer, hand: press, result: by hand}")
    assert texts(result) == ["first: by hand"]


def test_a_request_that_matches_nothing_is_no_step() -> None:
    text = BASE.replace("WORKERS", "    wim: {hand: press}").replace(
        "SCRIPT", "  - {at: 1s, hands: {do: cancel, hand: press}}\n  - {at: 2s, hands: {do: cancel, outside: true}}"
    )
    result = run_scenario(load_text(text, "workers.yaml"))
    assert [unmet.actual[0].split(" ", 2)[2] for unmet in result.unmet] == ["no delegation matches"] * 2


def test_a_result_of_a_million_characters_arrives_once() -> None:
    result = play("{result: lamp, result_size: 1000000}")
    (answered,) = bodies(result, WorkerAnswered)
    assert len(answered.text) == 1_000_000
    assert ended(result).work is WorkState.SUCCEEDED
