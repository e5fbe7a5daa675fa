"""A search for a smaller scenario: each pass has what the essay asks for, and what is found stays the same finding."""

import json
from functools import cache

import pytest

from tests.support.paths import ROOT
from tests.support.scale import scaled
from trunkline.sim import ScenarioError, load_scenario
from trunkline.sim.fuzz import shrink
from trunkline.sim.fuzz.finding_file import finding_text, shrink_finding
from trunkline.sim.fuzz.generator import make_scenario
from trunkline.sim.fuzz.shrink import PASSES, ShrinkSearch, measure
from trunkline.sim.fuzz.trial import FuzzFinding, try_file, try_tree
from trunkline.sim.scenario import load_text
from trunkline.sim.scenario.edit import tree_of

BUG = "answers-lose-their-last-word"


@cache
def first_with(bug):
    for seed in range(1, 60):
        trial = try_tree(make_scenario(seed), [bug])
        if trial.findings:
            return make_scenario(seed), trial.findings[0]
    raise AssertionError(f"{bug} is not found")


def test_a_finding_becomes_a_file_that_a_person_can_read_and_that_shows_the_same():
    tree, finding = first_with(BUG)
    shrunk = shrink_finding(tree, finding, [BUG])
    assert shrunk.minimal
    assert len(shrunk.tree["script"]) <= 2 < len(tree["script"])
    text = finding_text(shrunk.tree, finding, [BUG], found_by="trunkline fuzz --seeds 1..1", name="small.yaml")
    assert len(text.splitlines()) < 25
    lines = text.splitlines()
    assert lines[0].startswith(f"# {finding.kind} ")
    assert f"# repeat    trunkline run small.yaml --bug {BUG}" in lines
    file = load_text(text, "small.yaml")
    assert try_file(file, [BUG]).has(finding.cause)
    assert try_file(file).findings == ()
    # Everything that is left in it strikes.
    assert file.strict
    assert file.scenario.bugs == (BUG,)
    assert finding.kind in file.scenario.breaks


def test_nothing_more_can_be_taken_away():
    tree, finding = first_with(BUG)
    small = shrink_finding(tree, finding, [BUG]).tree
    assert shrink_finding(small, finding, [BUG]).tree == small


@pytest.mark.parametrize("candidates", PASSES, ids=lambda of: of.__name__.strip("_"))
def test_most_candidates_of_a_pass_are_valid_and_what_it_makes_smaller_is_less(candidates):
    valid = tried = less = 0
    for seed in range(1, scaled(9, 7)):
        tree = {**make_scenario(seed), "story": "once upon a time"}
        text = json.dumps(tree)
        for number, candidate in enumerate(candidates(tree)):
            assert json.dumps(tree) == text, "a pass changes nothing in place"
            if number % 7:
                continue
            tried += 1
            less += measure(candidate) < measure(tree)
            try:
                load_text(json.dumps(candidate, ensure_ascii=False), "candidate.yaml")
                valid += 1
            except ScenarioError:
                pass
    assert less > 0
    assert valid >= 0.7 * tried


def test_two_passes_that_undo_each_other_come_to_an_end(monkeypatch):
    def other_way(tree):
        yield {**tree, "title": "there" if tree["title"] == "back" else "back"}

    monkeypatch.setattr(shrink, "PASSES", (other_way, other_way))
    tree = {**make_scenario(3), "title": "there"}
    search = ShrinkSearch(tree, lambda _: True)
    assert search.shrink().minimal
    assert search.runs <= 1


def test_a_search_ends_with_its_budget_and_has_what_it_found():
    tree = make_scenario(4)
    shrunk = ShrinkSearch(tree, lambda less: len(less["script"]) > 1, budget=3).shrink()
    assert (shrunk.runs, shrunk.minimal) == (3, False)
    assert measure(shrunk.tree) < measure(tree)


def test_what_cannot_be_loaded_is_not_the_same_finding():
    def is_same(tree) -> bool:
        return bool(load_text("scenario: 7", "bad.yaml"))

    tree = make_scenario(4)
    assert ShrinkSearch(tree, is_same).shrink().tree == tree


def test_a_name_goes_with_all_that_mentions_it():
    tree = tree_of(load_scenario(ROOT / "scenarios" / "seeds" / "004-voice-second-channel.yaml").scenario)
    less = shrink._without_name(tree, ("world", "people", "bo"))
    assert "bo" not in {step.get("as") for step in less["script"]}
    assert len(less["script"]) < len(tree["script"])


def test_an_expectation_that_is_missed_stays_missed():
    tree = tree_of(load_scenario(ROOT / "scenarios" / "faults" / "one-answer.yaml").scenario)
    tree["expect"] = {"events": [{"kind": "intent.settled", "times": 7}]}
    [finding] = try_tree(tree, expected=True).findings
    assert finding.kind == "EXPECTED"
    small = shrink_finding(tree, finding).tree
    assert small["expect"] == {"events": [{"kind": "intent.settled", "times": 7}]}
    assert measure(small) < measure(tree)


def test_what_is_there_without_the_switch_is_not_blamed_on_it():
    """A search could go from the defect of a switch to one that any gateway shows."""
    tree, finding = first_with("recovery-resends-blindly")
    small = shrink_finding(tree, finding, ["recovery-resends-blindly"]).tree
    assert not try_tree(small).has(finding.cause)


def test_findings_of_one_kind_and_culprit_have_one_cause():
    first, second = (FuzzFinding(kind="D1", culprit="wire.accepted", summary=text) for text in ("a", "b"))
    assert first.cause == second.cause != FuzzFinding(kind="D1", culprit="attempt.started", summary="a").cause
