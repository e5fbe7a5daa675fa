"""Every scenario holds without its bug switches, and is violated, as it says, with each of them."""

import re

import pytest

from tests.support.for_each import for_each
from tests.support.paths import SCENARIO_FILES
from tests.support.scale import scaled
from tests.support.scenario.own_defects import FILES, OWN_BUGS, bugs_of, defect_run, sound_run, unchanged
from trunkline.app.runs.model import declared_defects
from trunkline.sim import BUGS, Status, run_scenario
from trunkline.sim.invariants import CHECKERS

WITH_BUGS = list(dict.fromkeys(path for path, _ in OWN_BUGS))
OWN_BUG_NAMES = [f"{path.stem}-{bug}" for path, bug in OWN_BUGS]
#: the public reports that the first museum must retell
REPORTS = {"B001", "B002", "B013", "B043", "B044", "B050", "B061", "B108"} | {
    # routing and sessions
    *("B037", "B046", "B049", "B052", "B053", "B055", "B058", "B068", "B069", "B071", "B072", "B074", "B075"),
    *("B076", "B078", "B079", "B081", "B090", "B093"),
    # delivery: repeats, retries, order, truth
    *("B007", "B010", "B019", "B028", "B029", "B032", "B034", "B035", "B038", "B063", "B064", "B066", "B098", "B099"),
    *("B103", "B105", "B109", "B111", "B114"),
    # delivery: who sends
    *("B004", "B005"),
    # delivery: transports, readiness, mirrors, dry runs, hooks
    *("B008", "B026", "B060", "B152", "B153", "B155"),
    # busy and ending sessions, hands, schedules
    *("B011", "B020", "B022", "B023", "B025", "B041"),
    # bound conversations: who speaks, proxies, reopened threads
    *("B134", "B136", "B139"),
    # bound conversations
    *("B056", "B130", "B131", "B133", "B137"),
    # results of hands: whose they are, and where they go
    *("B115", "B138", "B141", "B142", "B144", "B145", "B148", "B150"),
}


def violated(result):
    return {verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED}


@pytest.mark.parametrize("seed", [None, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 77))])
@pytest.mark.parametrize("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_it_holds(path, seed):
    result = sound_run(path) if seed is None else run_scenario(FILES[path], seed=seed)
    assert (violated(result), result.unmet) == (set(), ())


@pytest.mark.slow(every=20)
@pytest.mark.parametrize("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_it_holds_in_plain_order_too(path):
    assert run_scenario(FILES[path], order="fifo").holds


@pytest.mark.parametrize("path", WITH_BUGS, ids=lambda path: path.stem)
def test_its_bugs_are_caught_with_evidence_and_break_exactly_what_it_declares(path):
    """In one test, so that each run is made once, whichever worker has the test."""
    declared = FILES[path].scenario
    runs = {bug: defect_run(path, bug) for bug in declared.bugs}
    assert list(runs) == bugs_of(path)
    assert {bug: set(BUGS[bug].caught_by) - violated(run) for bug, run in runs.items()} == {bug: set() for bug in runs}
    assert declared.breaks
    assert [defect.differs for defect in declared_defects(declared.breaks, list(runs.values()))] == [""] * len(runs)
    for run in runs.values():
        check_evidence(run)


def check_evidence(result):
    seqs = range(1, len(result.trace.events) + 1)
    for violation in result.violations:
        assert violation.evidence
        assert all(seq in seqs for seq in (*violation.evidence, violation.at))
        assert violation.blamed in seqs
        assert violation.first_wrong is None or violation.missing_after is None
        # What only the end shows is missing after an earlier event.
        assert violation.first_wrong is None or result.trace.events[violation.first_wrong - 1].kind != "run.ended"
        assert violation.expected and violation.actual


@pytest.mark.slow(every=20)
@pytest.mark.parametrize(("path", "bug"), OWN_BUGS, ids=OWN_BUG_NAMES)
def test_no_violation_blames_a_step_that_the_sound_run_has_too(path, bug):
    defect = defect_run(path, bug)
    innocent = unchanged(defect, sound_run(path))
    assert [v for v in defect.violations if v.first_wrong in innocent] == []


@for_each("invariant", [checker.id for checker in CHECKERS if not checker.wire_side])
def test_each_invariant_has_a_bug_switch_that_it_alone_catches(invariant):
    # The likeliest first: what is declared to break nothing else, then what is declared to break this.
    breaks = {path: FILES[path].scenario.breaks for path in WITH_BUGS}
    likely = sorted(OWN_BUGS, key=lambda own: (invariant not in breaks[own[0]], len(breaks[own[0]])))
    alone = any(violated(defect_run(path, bug)) == {invariant} for path, bug in likely)
    assert alone, f"whatever {invariant} says, another one says too: merge the two, or show what it alone sees"


@for_each("bug", BUGS)
def test_each_bug_switch_is_shown_by_a_scenario(bug):
    assert bug in {name for _, name in OWN_BUGS}


@for_each("report", sorted(REPORTS))
def test_each_public_report_has_its_scenario_and_its_bug(report):
    path = next(path for path in SCENARIO_FILES if path.stem.startswith(report))
    file = FILES[path]
    assert path.parent.name == "museum"
    assert file.scenario.source
    assert any(report in BUGS[bug].reports for bug in file.scenario.bugs)


@for_each("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_it_carries_the_editor_line_and_claims_what_it_exercises(path):
    assert re.match(r"# yaml-language-server: \$schema=\.\./\.\./docs/scenario\.schema\.json\n", path.read_text())
    assert FILES[path].scenario.expect.exercised


def test_the_tour_is_commented_line_by_line():
    (tour,) = [path for path in SCENARIO_FILES if path.parent.name == "tour"]
    lines = tour.read_text().splitlines()
    comments = [line for line in lines if line.strip().startswith("#")]
    assert len(comments) >= 30


@pytest.mark.parametrize("report", ["B098", "B099"])
def test_whatever_the_latencies_are_the_order_is_kept(report):
    file = next(file for path, file in FILES.items() if path.stem.startswith(report))
    assert [seed for seed in range(scaled(100, 10)) if not run_scenario(file, seed=seed).holds] == []


def test_bug_switches_do_nothing_to_runs_that_do_not_name_them():
    file = FILES[SCENARIO_FILES[0]]
    run_scenario(file, bugs=list(BUGS))
    assert run_scenario(file).holds
