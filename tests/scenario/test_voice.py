"""Calls, through the whole gateway: a text is heard in the call that it belongs to, or in none."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from trunkline.core.events.delivery import AttemptStarted, Fallback, IntentSettled, LaneWaiting
from trunkline.core.events.gateway import TranscriptAppended
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState
from trunkline.sim import load_scenario, run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import SpeechHeard
from trunkline.sim.run.result import RunResult
from trunkline.sim.scenario import load_text

SCENARIOS = sorted([*ROOT.glob("scenarios/seeds/004-voice-*.yaml"), *ROOT.glob("scenarios/faults/call-*.yaml")])
FILE = """
scenario: 1
title: calls
world:
  people:
    ana: {{ids: {{voice: "+15551230001", telegram: "7001"}}}}
    bo: {{ids: {{voice: "+15551230002", telegram: "7002"}}}}
  voice: {{}}
  telegram: {{}}
gateway: {gateway}
cast:
  agents:
    main:
      - {{when: {{callback: work}}, do: [{{reply: "done {{result}}"}}]}}
      - when: {{text: "work*"}}
        do: [{{delegate: {{hand: work, task: "{{text}} of {{peer}}"}}}}, {{reply: "begun"}}]
      - {{when: {{text: "tell*"}}, do: [{{send: {{text: "by the tool", target: "{target}"}}}}, {{silent: true}}]}}
      - when: {{wake: true}}
        do: [{{send: {{text: "wake up", target: "{target}", channel: voice}}}}, {{silent: true}}]
      - do: [{{reply: "{answer}"}}]
  hands:
    work: [{{takes: 20s, result: "{{task}}"}}]
script:
{script}
"""
LINKED = (
    '{session: {identity_links: {ana: ["voice:+15551230001", "telegram:7001"]}},'
    " channels: {voice: {after_call: telegram}}}"
)


def play(
    script: str, *, gateway: str = "{}", target: str = "+15551230001", answer: str = "yes", **run: Any
) -> RunResult:
    steps = "\n".join(f"  - {{{step.strip()}}}" for step in script.strip().splitlines())
    result = run_scenario(
        load_text(FILE.format(gateway=gateway, target=target, answer=answer, script=steps), "calls.yaml"), **run
    )
    assert result.violations == ()
    return result


def bodies(result: RunResult, kind: type[Any]) -> list[Any]:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def heard(result: RunResult) -> list[str]:
    return [body.text for body in bodies(result, SpeechHeard) if body.whole]


def settled(result: RunResult) -> list[tuple[IntentState, Reason]]:
    return [(body.state, body.reason) for body in bodies(result, IntentSettled)]


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
@pytest.mark.parametrize("seed", range(1, 6))
def test_the_scenarios_hold_under_other_seeds(path: Path, seed: int) -> None:
    assert run_scenario(load_scenario(path), seed=seed).violations == ()


def test_a_send_to_the_number_of_the_call_stays_in_the_call() -> None:
    # Another call of the same number goes on beside it.
    result = play(
        """at: 0s, as: ana, in: voice/@ana, call: one
        at: 0s, as: ana, in: voice/@ana, call: two
        at: 3s, as: ana, in: voice/@ana/one, say: tell me"""
    )
    [body] = bodies(result, SpeechHeard)
    assert (body.text, body.requested) == ("by the tool", body.address)


@pytest.mark.parametrize(("calls", "said"), [(0, []), (1, ["[from wake-up] wake up"]), (2, [])])
def test_a_number_without_a_call_is_its_only_call_or_refused(calls: int, said: list[str]) -> None:
    lines = "\n".join(f"at: 0s, as: ana, in: voice/@ana, call: c{number}" for number in range(calls))
    result = play(f"{lines}\nat: 5s, wake: {{agent: main, text: x}}")
    assert heard(result) == said
    expected = (IntentState.DELIVERED, Reason.ACCEPTED) if said else (IntentState.FAILED, Reason.CALL_ENDED)
    assert settled(result) == [expected]
    # Nobody asked for it in a call: it goes nowhere else.
    assert bodies(play(f"{lines}\nat: 5s, wake: {{agent: main, text: x}}", gateway=LINKED), Fallback) == []


def test_waiting_for_a_call_on_hold_uses_no_attempt_and_ends_with_the_call() -> None:
    result = play(
        """at: 0s, as: ana, in: voice/@ana, call: one
        at: 3s, as: ana, in: voice/@ana, say: work
        at: 10s, as: ana, in: voice/@ana, hold: true
        at: 200s, as: ana, in: voice/@ana, hang_up: true"""
    )
    assert heard(result) == ["begun"]
    [waiting] = bodies(result, LaneWaiting)
    assert (waiting.reason, waiting.detail) == (Reason.NOT_READY, "call-on-hold")
    assert len(bodies(result, AttemptStarted)) == 2
    assert settled(result)[-1] == (IntentState.FAILED, Reason.CALL_ENDED)


def test_the_agent_is_informed_of_what_nobody_heard() -> None:
    result = play(
        """at: 0s, as: ana, in: voice/@ana, call: one
        at: 3s, as: ana, in: voice/@ana, say: work
        at: 10s, as: ana, in: voice/@ana, hang_up: true"""
    )
    [note] = [body for body in bodies(result, TranscriptAppended) if body.role == "delivery"]
    assert "did not arrive (failed, call-ended)" in note.text


def test_an_answer_that_was_cut_off_goes_whole_to_the_second_channel() -> None:
    first = "The first sentence is long enough to fill one utterance of the gateway, more or less, as it happens."
    second = "The second one is cut off when it has hardly begun."
    answer = f"{first} {second}"
    result = play(
        """at: 0s, as: ana, in: voice/@ana, call: one
        at: 3s, as: ana, in: voice/@ana, say: hello
        at: 12s, as: ana, in: voice/@ana, hang_up: true""",
        gateway=LINKED,
        answer=answer,
    )
    [written] = [body.text for body in bodies(result, WireAccepted) if body.address.channel == "telegram"]
    assert written == answer
    assert len(heard(result)) == 1
    assert settled(result) == [(IntentState.PARTIAL, Reason.CALL_ENDED), (IntentState.DELIVERED, Reason.ACCEPTED)]


def test_without_a_link_nothing_is_written_and_the_reason_says_so() -> None:
    result = play(
        """at: 0s, as: bo, in: voice/@bo, call: one
        at: 3s, as: bo, in: voice/@bo, say: work
        at: 10s, as: bo, in: voice/@bo, hang_up: true""",
        gateway=LINKED,
    )
    [_, ended] = bodies(result, IntentSettled)
    assert (ended.reason, ended.detail) == (Reason.NO_SECOND_CHANNEL, "no identity link has voice:+15551230002")
    assert all(body.address.channel == "voice" for body in bodies(result, WireAccepted))


CHANGES = ("hang_up: true", "hold: true", "call: again", "say: hello")


@pytest.mark.slow(every=7)
@pytest.mark.parametrize("changes", itertools.permutations(CHANGES, 2), ids=" then ".join)
@pytest.mark.parametrize("at", [6, 16, 24.5])
def test_whatever_callers_do_nothing_is_heard_in_another_call(changes: tuple[str, ...], at: float) -> None:
    """Two callers delegate, and one of them does two things around the results; the invariants judge."""
    first, second = (f"as: ana, in: voice/@ana, {change}" for change in changes)
    result = play(
        f"""at: 0s, as: ana, in: voice/@ana, call: one
        at: 0s, as: bo, in: voice/@bo, call: one
        at: 2s, as: ana, in: voice/@ana/one, say: work a
        at: 2.1s, as: bo, in: voice/@bo, say: work b
        at: {at}s, {first}
        at: {at + 1}s, {second}
        at: 60s, crash: {{restart_after: 3s}}
        at: 61s, as: bo, in: voice/@bo, hang_up: true""",
        gateway=LINKED,
    )
    texts = [(body.text, body.address.conversation) for body in bodies(result, SpeechHeard)]
    assert all("of bo" not in text for text, number in texts if number == "+15551230001")
    assert all("of ana" not in text for text, number in texts if number == "+15551230002")
    assert ("done work b of bo", "+15551230002") in texts
