"""The fault palette and what is kept of a run: every step loads, every file that is written holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.runs import Run
from app.view.faults import Option, options, placed_words, with_faults
from app.view.observed import saved_text, violated
from app.view.spot import Spot, place_names, spot_of
from app.view.story import RunView
from core.events import bodies as b
from sim import BUGS, INVARIANTS, ScenarioFile, find_scenarios, load_scenario, run_scenario
from sim.branch import step_text, text_of, tree_of, with_step
from sim.scenario import load_text

SCENARIOS = Path(__file__).parents[2] / "scenarios"
THREE = ("tour/told-twice", "faults/dead-thread", "museum/B050-topic-lost")
EVERY = (
    *("crash", "restart", "lose-response", "refuse", "rate-limit", "slow", "again"),
    *("archive", "delete", "token", "webhook", "store", "freeze"),
)


def scenario(name: str) -> ScenarioFile:
    return load_scenario(SCENARIOS / f"{name}.yaml", known_bugs=BUGS, known_invariants=INVARIANTS)


@pytest.fixture(scope="module", params=THREE)
def told(request) -> tuple[ScenarioFile, Run]:
    file = scenario(request.param)
    return file, run_scenario(file)


def first(view: RunView, kind: type[b.Body]) -> int:
    return next(event.seq for event in view.events if isinstance(event.body, kind))


def choices(file: ScenarioFile, run: Run, seq: int) -> tuple[Option, ...]:
    return options(spot_of(RunView(run), file, seq))


# ---------------------------------------------------------------- a scenario as text


@pytest.mark.parametrize("path", find_scenarios((SCENARIOS,)), ids=lambda path: path.stem)
def test_a_scenario_that_is_written_is_the_same_when_it_is_read(path):
    file = load_scenario(path)
    again = load_text(text_of(tree_of(file.scenario)), path)
    assert again.scenario == file.scenario
    assert (again.times, again.say_ids, again.world) == (file.times, file.say_ids, file.world)


@pytest.mark.parametrize(
    "text", ["yes", "null", "1.5", "a: b", "# no", "@ana", "“x”\n", "- x", " x", "", "{a}", "e\t1"]
)
def test_texts_that_yaml_would_take_for_something_else(text):
    tree = tree_of(scenario(THREE[0]).scenario)
    tree["script"][0]["say"] = text
    assert load_text(text_of(tree)).scenario.script[0].say == text


def test_a_step_comes_after_what_happens_then_and_moves_nothing():
    file = scenario(THREE[0])
    more = with_step(file, {"note": "here"}, 1.0)
    assert [step.note for step in more.scenario.script] == [None, None, "here", None]
    assert more.times == (*file.times[:2], 1.0, *file.times[2:])
    assert (more.id, more.say_ids) == ("told-twice-branch", file.say_ids)
    assert with_step(more, {"note": "again"}, 0.5).id == "told-twice-branch"


def test_times_that_are_told_from_the_step_before_stay():
    text = text_of(tree_of(scenario(THREE[0]).scenario)).replace("at: 2s", "after: 1s")
    file = load_text(text)
    assert with_step(file, {"crash": {}}, 1.5).times == (0.0, 1.0, 1.5, 2.0)


def test_a_step_reads_as_people_write_it():
    step = {"fault": {"on": "send", "do": "slow", "for": 5.0}}
    assert step_text(step, 1.26) == "{at: 1.26s, fault: {on: send, do: slow, for: 5s}}"


# ---------------------------------------------------------------- the palette


def test_every_entry_gives_a_scenario_that_loads(told):
    file, run = told
    view = RunView(run)
    seen = set()
    for seq in (0, first(view, b.PeerSaid), first(view, b.IntentPrepared), view.last):
        found = choices(file, run, seq)
        assert tuple(option.id for option in found) == EVERY
        for option in found:
            if option.step is None:
                assert option.told.startswith("not here: ")
                continue
            seen.add(option.id)
            branch = with_faults(file, [option.placed()])
            assert len(branch.scenario.script) == len(file.scenario.script) + 1
            assert option.at in branch.times
    missing = set(EVERY) - seen
    assert missing <= {"webhook"}, "each of them can be placed somewhere in a scenario with a thread"


@pytest.mark.parametrize("name", [name for name in EVERY if name not in ("token", "webhook")])
def test_a_fault_strikes_and_nothing_before_it_changes(told, name):
    file, run = told
    view = RunView(run)
    seq = first(view, b.InboundAdmitted)
    option = next(one for one in choices(file, run, seq) if one.id == name)
    assert option.step is not None
    branch = run_scenario(with_faults(file, [option.placed()]))
    assert branch.trace.events[: seq // 2] == run.trace.events[: seq // 2]
    assert any(isinstance(event.body, b.FaultFired | b.ProcessCrashed) for event in branch.trace.events)
    skipped = [event.body.step for event in branch.trace.events if isinstance(event.body, b.ScriptSkipped)]
    assert set(skipped) <= set(file.say_ids), "all that may not happen is that somebody writes where nobody can"


def test_a_spot_names_the_conversation_and_the_message():
    file = scenario(THREE[0])
    view = RunView(run_scenario(file))
    spot = spot_of(view, file, first(view, b.TurnStarted))
    assert (spot.place, spot.said, spot.text, spot.webhook) == ("ops/deploy", "m1", "ship it", False)
    assert spot_of(view, file, 0) == Spot(at=0.0, seq=0)
    assert sorted(name for name, _ in place_names(view, file).values()) == ["ops", "ops/deploy", "telegram/@bo"]


def test_faults_add_up_in_the_order_in_which_they_were_placed():
    file = scenario(THREE[0])
    run = run_scenario(file)
    found = {option.id: option for option in choices(file, run, 30)}
    placed = [found["crash"].placed(), found["slow"].placed()]
    branch = with_faults(file, placed)
    assert len(branch.scenario.script) == 5
    assert [line.split(" at ")[0] for line in placed_words(placed)] == ["crash", "slow"]


# ---------------------------------------------------------------- what is kept


@pytest.mark.parametrize("name", ["crash", "lose-response", "refuse", "again", "delete", "freeze"])
def test_what_is_written_holds_when_it_is_run(told, name):
    file, run = told
    view = RunView(run)
    option = next(one for one in choices(file, run, first(view, b.InboundAdmitted)) if one.id == name)
    branch = with_faults(file, [option.placed()])
    seen = run_scenario(branch, seed=5)
    kept = load_text(saved_text(branch, seen, faults=[option.word]), known_bugs=BUGS, known_invariants=INVARIANTS)
    again = run_scenario(kept)
    assert (again.holds, again.unmet, violated(again)) == (True, (), [])
    if not any(isinstance(event.body, b.ScriptSkipped) for event in seen.trace.events):
        assert again.trace.events == seen.trace.events
    assert option.word in kept.scenario.title


def test_a_defect_is_kept_as_what_must_break_it():
    file = scenario(THREE[0])
    defective = run_scenario(file, bugs=file.scenario.bugs)
    kept = load_text(saved_text(file, run_scenario(file), defective=defective))
    assert kept.scenario.bugs == ("hand-announces-too",)
    assert set(kept.scenario.breaks) == {"D2", "R1"}
    assert run_scenario(kept).holds
    assert violated(run_scenario(kept, bugs=kept.scenario.bugs)) == list(kept.scenario.breaks)
