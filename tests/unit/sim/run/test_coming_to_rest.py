"""When a run is over: at rest, after what it waits for, or cut."""

import pytest

from tests.support.paths import FIXTURES, SCENARIO_FILES
from trunkline.core.events.base import RunEnded
from trunkline.sim import Status, load_scenario, run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.plugins import OURS
from trunkline.sim.run import runner
from trunkline.sim.run.result import RunResult

MANY_CHUNKS = """
scenario: 1
title: An answer in many chunks
gateway: {channels: {telegram: {text_limit: 1}}}
world: {people: [ana], telegram: {}}
cast: {agents: {main: [{do: [{reply: "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"}]}]}}
script: [{at: 1s, as: ana, in: "@ana", say: hi}]
"""
MANY_MESSAGES = """
scenario: 1
title: More work than a run may have after its script
world: {people: [ana], telegram: {}}
cast: {agents: {main: [{do: [{think: 1m}, {reply: "re {text}"}]}]}}
script:
  - {at: 1s, as: ana, in: "@ana", say: one}
  - {at: 1s, as: ana, in: "@ana", say: two}
  - {at: 1s, as: ana, in: "@ana", say: three}
"""

CLOSED_FOR_LONG = """
scenario: 1
title: The clock begins many turns while an answer waits for its place
gateway:
  delivery: {max_age: 1h}
  channels: {discord: {auto_thread: true}}
  cron: [{id: c0, text: job, cron: "* * * * *"}]
world: {people: [ben], discord: {rooms: {ops: {}}}}
cast: {agents: {main: [{do: [{reply: "re: {text}"}]}]}}
script:
  - {as: ben, in: "discord:default/ops", say: mute}
  - {at: 1s, as: ben, in: "discord:default/ops/m1", say: think}
  - {in: "discord:default/ops/m1", archive: true}
"""

SPOKEN_INTO_A_CLOSED_PLACE = """
scenario: 1
title: A schedule speaks into a place that stays closed
gateway:
  delivery: {max_age: 10m}
  channels: {discord: {auto_thread: true}}
  cron: [{id: c0, text: job, every: 2m, target: discord}]
world: {people: [ben], discord: {rooms: {ops: {}}}}
cast: {agents: {main: [{when: {cron: "*"}, do: [{reply: "round {n}"}]}, {do: [{think: 5s}, {reply: "re: {text}"}]}]}}
script:
  - {as: ben, in: "discord:default/ops", say: mute}
  - {at: 10s, as: ben, in: "discord:default/ops/m1", say: think}
  - {at: 11s, in: "discord:default/ops/m1", archive: true}
"""


def played(tmp_path, text: str) -> RunResult:
    path = tmp_path / "made.yaml"
    path.write_text(text)
    return run_scenario(load_scenario(path, names=OURS))


def end(result: RunResult) -> RunEnded:
    body = result.trace.events[-1].body
    assert isinstance(body, RunEnded)
    return body


def test_the_chunks_of_a_message_are_no_circle(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "MOST_EVENTS", 0)
    monkeypatch.setattr(runner, "_PER_CHUNK", 4)
    result = played(tmp_path, MANY_CHUNKS)
    assert (end(result).at_rest, end(result).cut, result.violations, result.unmet) == (True, "", (), ())


def test_turns_that_the_clock_begins_are_no_circle(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "MOST_EVENTS", 0)
    result = played(tmp_path, CLOSED_FOR_LONG)
    assert (end(result).at_rest, end(result).cut, result.violations, result.unmet) == (True, "", (), ())


def test_what_waits_as_long_as_it_may_is_held_against_nobody(tmp_path):
    result = played(tmp_path, SPOKEN_INTO_A_CLOSED_PLACE)
    assert result.violations == ()
    assert end(result).cut.endswith(runner.STILL_FED)


@pytest.fixture
def cut(tmp_path, monkeypatch) -> RunResult:
    monkeypatch.setattr(runner, "MOST_EVENTS", -450)
    return played(tmp_path, MANY_MESSAGES)


def test_a_run_that_is_cut_blames_nobody(cut):
    assert end(cut).cut.startswith("after ")
    assert cut.violations == ()


def test_a_run_that_is_cut_does_not_hold(cut):
    assert not cut.holds
    assert [one.summary for one in cut.unmet] == [f"not judged: the run was cut {end(cut).cut}"]


def test_what_only_the_end_can_break_is_not_judged_then(cut):
    verdicts = {verdict.id: verdict for verdict in cut.verdicts}
    assert verdicts["L1"].status is Status.NOT_EXERCISED
    assert verdicts["L1"].note == cut.unmet[0].summary
    assert verdicts["D1"].status is Status.OK


def test_what_waits_for_an_announced_time_has_until_then():
    path = FIXTURES / "reported/verdict/L1-waits-beyond-the-bound.yaml"
    result = run_scenario(load_scenario(path, names=OURS))
    assert (end(result).at_rest, result.virtual_seconds > runner.REST_BOUND) == (True, True)


def test_nothing_rightly_waits_for_longer_than_it_may_live():
    """The defect announces a retry in eleven days, which is as good as never."""
    (path,) = [path for path in SCENARIO_FILES if path.stem == "B032-rest-is-dropped"]
    file = load_scenario(path, names=OURS)
    result = run_scenario(file, bugs=["timeout-drops-the-rest"])
    assert (end(result).at_rest, end(result).cut) == (False, "")
    assert "L1" in result.violated


NOBODY_ANSWERS = """
scenario: 1
title: A worker that never answers, and six hours
gateway: {hands: {each: {press: {worker: true, deadline: 6h}}}}
world: {people: [ana], telegram: {}}
cast:
  agents: {main: [{when: {callback: "*"}, do: [{reply: "{outcome}"}]}, {do: [{delegate: {hand: press}}]}]}
  workers: {wim: {hand: press, rules: {dies: true}}}
script: [{at: 1s, as: ana, in: "@ana", say: print}]
"""
AFTER_THE_CALL = """
scenario: 1
title: A report for a call that has ended
world: {people: [ana], voice: {}}
cast:
  agents: {main: [{when: {callback: "*"}, do: [{reply: "{result}"}]}, {do: [{delegate: {hand: clerk}}]}]}
  hands: {clerk: {takes: 30s}}
script:
  - {at: 1s, as: ana, in: voice/@ana, call: first}
  - {at: 2s, as: ana, in: voice/@ana, say: print}
  - {at: 15s, as: ana, in: voice/@ana, hang_up: true}
"""


def test_a_task_that_nobody_answers_has_until_its_deadline(tmp_path):
    result = played(tmp_path, NOBODY_ANSWERS)
    assert (end(result).at_rest, end(result).open, end(result).waiting) == (True, (), ())
    assert [event.body.text for event in result.trace.events if isinstance(event.body, WireAccepted)] == ["timeout"]
    assert result.virtual_seconds > 6 * 3600


def test_a_report_that_waits_for_an_operator_is_named_and_the_run_rests(tmp_path):
    result = played(tmp_path, AFTER_THE_CALL)
    assert (end(result).at_rest, end(result).open) == (True, ())
    assert end(result).waiting == ("report of m1.hand1",)
