"""An agent that is asked again while its answer is on its way: `turns.await_answer`."""

import pytest

from trunkline.core.events.gateway import TurnStarted
from trunkline.sim import load_scenario, run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.run.result import RunResult

FILE = """
scenario: 1
title: asked again
gateway: {{turns: {{await_answer: {wait}}}}}
world: {{people: [ana], telegram: {{latency: 300ms}}}}
cast:
  agents:
    main:
      - {{when: {{text: "two"}}, do: [{{reply: "known: {{memory}}"}}]}}
      - do: [{{reply: "first answer"}}]
script:
  - {fault}
  - {{at: 1s, as: ana, in: "telegram/@ana", say: one}}
  - {{at: 1.01s, as: ana, in: "telegram/@ana", say: two}}
  - {{at: 5m, note: over}}
"""
NONE = "{at: 0s, note: nothing}"


def run(tmp_path, wait: str, fault: str = NONE) -> RunResult:
    path = tmp_path / "again.yaml"
    path.write_text(FILE.format(wait=wait, fault=fault))
    result = run_scenario(load_scenario(path))
    assert result.violations == ()
    return result


def answer_to_two(result: RunResult) -> str:
    return next(
        one.body.text
        for one in result.trace.events
        if isinstance(one.body, WireAccepted) and one.body.text.startswith("known: ")
    )


def turns(result: RunResult) -> list[float]:
    return [one.at for one in result.trace.events if isinstance(one.body, TurnStarted)]


@pytest.mark.parametrize(("wait", "known"), [("0s", False), ("10s", True)])
def test_an_agent_that_is_asked_again_knows_its_answer_if_turns_wait_for_it(tmp_path, wait, known) -> None:
    assert ("first answer" in answer_to_two(run(tmp_path, wait))) is known


def test_a_turn_does_not_wait_longer_than_it_is_allowed_to(tmp_path) -> None:
    """The first answer is refused for a minute; the second turn runs after two seconds, without it."""
    fault = "{at: 0s, fault: {on: send, do: rate-limit, for: 60s, text: 'first*'}}"
    result = run(tmp_path, "2s", fault)
    first, second = turns(result)
    assert 2.0 <= second - first < 2.5
    assert "first answer" not in answer_to_two(result)


def test_an_answer_that_ended_badly_is_waited_for_no_longer(tmp_path) -> None:
    fault = "{at: 0s, fault: {on: send, do: refuse, text: 'first*'}}"
    first, second = turns(run(tmp_path, "60s", fault))
    assert second - first < 1.0


@pytest.mark.parametrize(("wait", "known"), [("0s", False), ("10s", True)])
def test_a_turn_waits_for_an_answer_that_an_earlier_process_has_stored(tmp_path, wait, known) -> None:
    """It is killed between the store and the platform, and sends the answer when it is back."""
    fault = "{when: {event: intent.prepared}, crash: {restart_after: 2s}}"
    result = run(tmp_path, wait, fault)
    assert ("first answer" in answer_to_two(result)) is known
