"""`trunkline run --bug all` says which known defects break a scenario; `trunkline bugs` takes words."""

import json
from pathlib import Path

import pytest

from tests.support.for_each import for_each
from trunkline.app.runs.known_defects import known_defects, symptoms_of
from trunkline.sim import BUGS
from trunkline.sim.invariants import CHECKERS
from trunkline.sim.scenario import load_scenario

TWICE = """\
scenario: 2
title: The answer came twice after a restart
world: {people: [kim], telegram: {}}
cast: {agents: {main: [{do: [{reply: "that is 40 euros"}]}]}}
script:
  - {at: 0s, crash: {when: {event: wire.accepted}, restart_after: 5s}}
  - {at: 1s, as: kim, in: "@kim", say: "how much is it?"}
expect:
  accepted:
    - {in: "@kim", text: "that is 40 euros"}
    - {in: "@kim", text: "Sorry, my answer may not have arrived. *"}
"""


@pytest.fixture
def some(monkeypatch):
    """Only some of the known defects, so that a run with each is quick."""
    names = ("recovery-resends-blindly", "announce-busy-twice", "reply-loses-thread", "answer-forgotten")
    chosen = tuple(defect for defect in known_defects() if defect.bug.name in names)
    monkeypatch.setattr("trunkline.app.cli.run.run.known_defects", lambda _bugs: chosen)
    return chosen


def test_the_defects_that_break_a_scenario_are_a_table_with_their_reports(trunkline, tmp_path, some):
    file, report = tmp_path / "twice.yaml", tmp_path / "twice.json"
    file.write_text(TWICE)
    code, out, _ = trunkline("run", file, "--bug", "all", "--json", report)
    head, names, *rows = [line.split("  ") for line in out.splitlines()]
    assert (code, head) == (0, ["twice, seed 1: 2 of 4 known defects break it"])
    assert [cell.strip() for cell in names if cell] == ["switch", "breaks", "expectations", "public reports"]
    cells = {row[0]: row[1:] for row in ([cell.strip() for cell in line if cell.strip()] for line in rows)}
    assert cells["recovery-resends-blindly"][0] == "D1 D4"
    assert "openclaw/openclaw#" in cells["recovery-resends-blindly"][-1]
    (document,) = json.loads(report.read_text())["known_defects"]
    found = {defect["bug"]: defect["breaks"] for defect in document["defects"]}
    assert (document["scenario"], document["holds"], found["recovery-resends-blindly"]) == ("twice", True, ["D1", "D4"])
    assert set(found) == set(cells)


def test_a_scenario_that_does_not_hold_without_a_defect_says_so(trunkline, tmp_path, some):
    file = tmp_path / "twice.yaml"
    file.write_text(TWICE.replace('40 euros"}\n    -', '50 euros"}\n    -'))
    code, out, _ = trunkline("run", file, "--bug", "all")
    assert code == 1
    assert out.startswith("Without any of the known defects:\n✗ twice")
    # What is missed without a defect is no sign of one.
    assert "answer-forgotten" in out and "announce-busy-twice" not in out


@pytest.mark.parametrize("more", [["--wire"], ["--trace", "x.jsonl"], ["--junit", "x.xml"], ["--bug", "own"]])
def test_all_goes_with_no_other_way_to_run(trunkline, more):
    code, _, err = trunkline("run", "scenarios/tour", "--bug", "all", *more)
    assert code == 2
    assert "not with --" in err


def test_bugs_are_found_by_words_about_them(trunkline):
    code, out, _ = trunkline("bugs", "B001")
    assert code == 0
    assert out.splitlines()[0].startswith("announce-busy-twice  caught by D2  (B001, ")
    code, out, _ = trunkline("bugs", "wrong place", "THREAD", "--json")
    names = [defect["bug"] for defect in json.loads(out)]
    assert "reply-loses-thread" in names and "announce-busy-twice" not in names
    code, _, err = trunkline("bugs", "no-such-word")
    assert (code, "no bug switch has all of these words: no-such-word" in err) == (2, True)


def test_every_switch_is_known_with_scenarios_that_exist():
    every = known_defects()
    assert [defect.bug.name for defect in every] == list(BUGS)
    shown = every[0].shown_by[0]
    assert shown.path.parts[0] == "scenarios"
    assert every[0].bug.name in load_scenario(Path(shown.path)).scenario.bugs


@for_each("invariant", [checker.id for checker in CHECKERS if not checker.wire_side])
def test_people_notice_something_of_each_broken_promise(invariant):
    assert symptoms_of([invariant])
