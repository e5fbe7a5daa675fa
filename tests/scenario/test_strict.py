"""A strict scenario is never green without a strike: what nothing reached makes its run red, and says where."""

from pathlib import Path

import pytest

from tests.support.for_each import for_each
from tests.support.paths import SCENARIO_FILES
from tests.support.scenario.own_defects import FILES, OWN_BUGS, defect_run, sound_run
from trunkline.app.runs.model import ScenarioEntry
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.picker.scenario_results import ScenarioResults, result_of
from trunkline.app.view.timeline.status_line import verdict_chip
from trunkline.sim import RunResult, run_scenario
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.script import FaultFired, ScriptMissed
from trunkline.sim.run.expectations import missed_parts
from trunkline.sim.scenario import ScenarioError, load_text
from trunkline.sim.scenario.checks.strict import check_strict
from trunkline.sim.scenario.load import ScenarioReport

TEXT = """\
scenario: VERSION
title: one answer
world: {people: [ana], telegram: {rooms: [ops]}}
gateway: {hands: {each: {press: {worker: true}}}}
cast:
  agents:
    main: [AGENT]
  CAST
script:
  - {at: 1s, as: ana, in: telegram/@ana, say: hello}
SCRIPT
"""
#: the line of the first step that is added
STEP = 11
HI = '{do: [{reply: "hi {text}"}]}'


def play(script: str = "", *, agent: str = HI, cast: str = "", version: int = 2) -> RunResult:
    text = TEXT.replace("VERSION", str(version)).replace("AGENT", agent).replace("CAST", cast or "hooks: {}")
    steps = "".join(f"  - {{{step}}}\n" for step in script.splitlines())
    return run_scenario(load_text(text.replace("SCRIPT", steps), "one.yaml"))


def missed(result: RunResult) -> list[str]:
    return [event.body.part for event in result.trace.events if isinstance(event.body, ScriptMissed)]


#: what never strikes -> its path
STEPS = {
    "at: 1s, crash: {when: {event: delegation.accepted}}": "script[1].crash",
    "at: 1s, restart: {when: {event: delegation.accepted}}": "script[1].restart",
    "at: 1s, freeze: {when: {event: delegation.accepted}}": "script[1].freeze",
    "at: 1s, when: {event: delegation.accepted}, as: ana, in: telegram/ops, say: well": "script[1].when",
    "at: 2s, when: {event: delegation.accepted}, crash: {when: {event: wire.accepted}}": "script[1].when",
    "at: 1s, fault: {on: send, do: lose-response, nth: 7}": "script[1].fault",
    "at: 5s, fault: {on: send, do: lose-response, in: telegram/@ana}": "script[1].fault",
    "at: 2s, fault: {on: boot, do: missing, in: telegram/@ana, for: 5s}": "script[1].fault",
    "at: 3s, fault: {on: hand, do: error}": "script[1].fault",
    "at: 3s, fault: {on: mirror, do: refuse, for: 5s}": "script[1].fault",
    "at: 3s, fault: {on: ready, do: error, for: 5s}": "script[1].fault",
    "at: 3s, fault: {on: queue, do: damage}": "script[1].fault",
    "at: 3s, fault: {on: lookup, do: error}": "script[1].fault",
}


@pytest.mark.parametrize(("step", "part"), STEPS.items(), ids=[step.partition(", ")[2][:60] for step in STEPS])
def test_a_step_that_nothing_reaches_makes_the_run_red(step: str, part: str) -> None:
    result = play(step)
    assert missed(result) == [part]
    assert (result.holds, result.violated, result.not_exercised) == (False, (), 1)
    (unmet,) = result.unmet
    assert (unmet.not_exercised, unmet.line) == (True, STEP)
    # The same step is fine where it may be missed, and in files of version 1.
    assert play(f"{step}, may_miss: true").holds
    assert play(step, version=1).holds


#: a part of the cast that nothing uses -> its path
CAST = {
    "hands: {clerk: {takes: 5s, result: done}}": "cast.hands.clerk[0]",
    'hooks: {nope: {when: {text: "*passwrd*"}, cancel: pw}}': "cast.hooks.nope",
    'hooks: {late: {on: sent, when: {text: "*passwrd*"}}}': "cast.hooks.late",
    "workers: {wim: {hand: press, rules: [{works: 5s}]}}": "cast.workers.wim.rules[0]",
}


@pytest.mark.parametrize(("cast", "part"), CAST.items(), ids=list(CAST.values()))
def test_a_part_of_the_cast_that_nothing_uses_makes_the_run_red(cast: str, part: str) -> None:
    result = play(cast=cast)
    assert missed(result) == [part]
    assert result.unmet[0].line == 8
    assert play(cast=cast, version=1).holds


def test_a_rule_that_no_turn_matches_makes_the_run_red_unless_it_may_be_missed() -> None:
    rule = '{when: {text: "helo*"}, do: [{reply: never}]}, ' + HI
    assert missed(play(agent=rule)) == ["cast.agents.main[0]"]
    assert play(agent=rule.replace("{when", "{may_miss: true, when")).holds


@pytest.mark.parametrize(
    "cast",
    [
        "hands: {clerk: {takes: 5s, result: done, may_miss: true}}",
        'hooks: {nope: {when: {text: "*passwrd*"}, cancel: pw, may_miss: true}}',
        "workers: {wim: {hand: press, rules: [{works: 5s, may_miss: true}]}}",
    ],
)
def test_a_part_of_the_cast_may_be_missed_where_it_says_so(cast: str) -> None:
    assert play(cast=cast).holds


DELEGATES = '{when: {callback: "*"}, do: [{reply: "{result}"}]}, {do: [{delegate: {hand: HAND}}, {reply: wait}]}'


@pytest.mark.parametrize(
    ("hand", "cast"),
    [
        ("clerk", "hands: {clerk: {takes: 2s, result: done}}"),
        ("press", "workers: {wim: {hand: press, rules: [{works: 5s, result: done}]}}"),
    ],
)
def test_what_is_used_is_reached(hand: str, cast: str) -> None:
    assert play(agent=DELEGATES.replace("HAND", hand), cast=cast).holds


# ------------------------------------------------------------ an armed part keeps its run open


THINKS = "{do: [{think: 12s}, {reply: done}]}"


def test_a_crash_at_an_event_that_comes_long_after_the_last_step_strikes() -> None:
    crash = "at: 1s, crash: {when: {event: wire.accepted}, restart_after: 1s}"
    late = play(crash, agent=THINKS)
    assert [event.at > 12 for event in late.trace.events if isinstance(event.body, ProcessCrashed)] == [True]
    assert late.holds
    # Files of version 1 run as they did: all is disarmed 10 s after the last step.
    early = play(crash, agent=THINKS, version=1)
    assert not [event for event in early.trace.events if isinstance(event.body, ProcessCrashed)]


def test_a_fault_at_a_send_that_comes_long_after_the_last_step_strikes() -> None:
    result = play("at: 1s, fault: {on: send, do: lose-response}", agent=THINKS)
    assert [event.body.fault for event in result.trace.events if isinstance(event.body, FaultFired)] == [
        "send/lose-response"
    ]
    assert result.holds


def test_a_run_is_not_kept_open_by_what_can_strike_nothing_any_more() -> None:
    result = play("at: 1s, crash: {when: {event: delegation.accepted}}")
    (unmet,) = result.unmet
    assert result.virtual_seconds < 60
    assert unmet.actual == (
        "nothing reached it until it was disarmed at 11.000s",
        "nothing that it could have struck came later",
    )


def test_what_came_too_late_is_named_with_its_time() -> None:
    again = "at: 20s, as: ana, in: telegram/@ana, say: again"
    assert play(f"at: 1s, fault: {{on: mirror, do: refuse, for: 5s}}\n{again}").holds
    (unmet,) = play(f"at: 3s, fault: {{on: mirror, do: refuse, for: 5s}}\n{again}").unmet
    assert unmet.actual[0] == "nothing reached it until it was disarmed at 8.000s"
    assert unmet.actual[1].startswith("mirror came later, at 20.")


def test_an_event_that_came_after_its_trigger_was_disarmed_is_named() -> None:
    bound = "at: 2s, bind: {in: telegram/ops, session: telegram/@ana, idle: 14s}"
    result = play(f"{bound}\nat: 2s, crash: {{when: {{event: binding.ended}}}}")
    (unmet,) = result.unmet
    assert unmet.actual[0] == "nothing reached it until it was disarmed at 12.000s"
    assert unmet.actual[1].startswith("binding.ended came later, at 16.")


def test_a_recorded_run_and_the_app_say_it_too() -> None:
    result = play("at: 1s, crash: {when: {event: delegation.accepted}}")
    assert tuple(missed_parts(result.trace.events)) == result.unmet
    view = RunView(result)
    assert verdict_chip(view, view.last).text == "✗ not exercised"
    results = ScenarioResults()
    entry = ScenarioEntry(path=Path("one.yaml"), id="one", title="one answer")
    results.note(entry, result_of(result), defect=False)
    assert results.sound(entry).words.startswith("✗ not exercised, ")


def test_a_connection_that_breaks_is_struck() -> None:
    """B004: the gateway comes back too late for a refusal, and the connection broke all the same."""
    assert play("at: 3s, fault: {on: connect, do: error, in: telegram/@ana, for: 1ms}").holds


# ------------------------------------------------------------ what is refused


def refused(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load_text(text, "one.yaml")
    assert all(problem.column > 1 or problem.field == "script" for problem in caught.value.problems)
    return [f"{problem.line}: {problem.message} ({problem.hint})" for problem in caught.value.problems]


def expecting(expect: str, version: int = 2) -> str:
    text = TEXT.replace("VERSION", str(version)).replace("AGENT", HI).replace("  CAST\n", "").replace("SCRIPT\n", "")
    return f"{text}expect:\n  {expect}\n"


REFUSED = {
    'accepted: [{in: telegram/@ana, text: "* item"}]': "the `*` at the start hides",
    'accepted: [{in: telegram/@ana, text: "*"}]': "the `*` at the start hides",
    'transcripts: [{in: telegram/@ana, lines: ["user: hello", "assistant: *hello"]}]': "the `*` at the start",
    'events: [{kind: wire.accepted, text: "*hello"}]': "the `*` at the start hides",
    'events: [{kind: wire.accepted, text: "**"}]': "this cannot fail: '**' matches every text (leave it out)",
    "events: [{kind: turn.ended, reason: rate-limited, times: 0}]": "an event turn.ended never has the reason",
    "events: [{kind: turn.started, reason: rate-limited, times: 0}]": "an event turn.started never has `reason`",
    "events: [{kind: turn.started, state: delivered}]": "an event turn.started never has `state`, so this fails",
    "events: [{kind: lease.taken, in: telegram/@ana, times: 0}]": "an event lease.taken never has `in`",
    "in_order: true": "this cannot fail without `accepted`",
}


@pytest.mark.parametrize(("expect", "problem"), REFUSED.items())
def test_an_expectation_that_cannot_fail_is_refused_with_its_place_and_the_remedy(expect: str, problem: str) -> None:
    found = refused(expecting(expect))
    assert [line.startswith(f"11: {problem}") for line in found] == [True]
    assert not found[0].endswith("()")
    load_text(expecting(expect, version=1), "one.yaml")


@pytest.mark.parametrize(
    "script", ["{at: 1s, note: nothing}", "{at: 1s, fault: {on: send, do: drop}}\n  - {at: 2s, crash: {}}"]
)
def test_a_script_in_which_nothing_reaches_the_gateway_is_refused(script: str) -> None:
    text = expecting("accepted: []").replace("{at: 1s, as: ana, in: telegram/@ana, say: hello}", script)
    (found,) = refused(text)
    assert found.startswith("8: nothing here reaches the gateway")


@pytest.mark.parametrize(
    ("said", "wanted", "met"),
    [
        ("* item", r"\* item", True),
        ("SECRET * item", r"\* item", False),
        ("SECRET * item", "** item", True),
        ("a [b]? \\* c", r"a [b]? \\* c", True),
        ("a [b]? \\- c", r"a [b]? \\* c", False),
    ],
)
def test_a_star_can_be_expected_as_a_character(said: str, wanted: str, met: bool) -> None:
    text = expecting(f"accepted: [{{in: telegram/@ana, text: '{wanted}'}}]")
    text = text.replace('"hi {text}"', f"'{said}'")
    assert run_scenario(load_text(text, "one.yaml")).holds is met


# ------------------------------------------------------------ what ships


@for_each("path", sorted(Path(SCENARIO_FILES[0]).parents[1].rglob("*.yaml")))
def test_every_shipped_scenario_is_strict(path: Path) -> None:
    assert "\nscenario: 2\n" in path.read_text("utf-8")


@pytest.mark.slow(every=20)
@pytest.mark.parametrize("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_no_reason_that_occurs_is_refused(path: Path) -> None:
    """Neither of a sound gateway nor of a defective one: an expectation is there for the defective ones."""
    runs = [sound_run(path), *(defect_run(path, bug) for other, bug in OWN_BUGS if other == path)]
    facts = {
        (event.kind, str(reason))
        for run in runs
        for event in run.trace.events
        if (reason := getattr(event.body, "reason", None)) is not None
    }
    report = ScenarioReport("one.yaml")
    events = [{"kind": kind, "reason": reason} for kind, reason in sorted(facts)]
    check_strict({"expect": {"events": events}}, report)
    assert [problem.message for problem in report.problems] == []
    assert FILES[path].strict
