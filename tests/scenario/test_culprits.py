"""The culprit of every shipped defect: the first step that the sound run lacks or has otherwise, found and walkable."""

import pytest

from tests.support.scenario.own_defects import OWN_BUGS, defect_run, sound_run, unchanged
from trunkline.app.report.summary import report_lines
from trunkline.app.view.explain.explanation import explain, path_of
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.timeline.timeline import CAUSE, GAP, Timeline
from trunkline.sim.index.pairs import differs, pair_events
from trunkline.sim.run.culprits import Divergence, find_culprits
from trunkline.sim.run.result import with_culprits

NAMES = [f"{path.stem}-{bug}" for path, bug in OWN_BUGS]
_NOTHING_ELSE = "a step is missing, and the twin has no step in its place that any right one caused"
_NOT_RECORDED = "the defect is in the store or in an adapter, and no step before the end of the run is another one"
#: defects whose runs have no culprit: what the rule of the invariant says is all that there is
WITHOUT = {
    "album-is-one-question-album-keeps-first": _NOTHING_ELSE,
    "duplicate-push-silent-drops": _NOTHING_ELSE,
    "ends-are-recorded-reason-stored-is-another": _NOT_RECORDED,
    "every-wake-up-counts-second-wake-up-is-a-repeat": _NOTHING_ELSE,
    "queue-needs-no-restart-queue-runs-at-start-only": _NOT_RECORDED,
    "server-notification-lost-notified-or-never": _NOT_RECORDED,
    "short-answers-short-answers-are-silent": _NOTHING_ELSE,
    "004-parked-until-ready-parked-report-is-forgotten": _NOT_RECORDED,
    "004-posts-over-a-crash-posts-removed-when-read": _NOTHING_ELSE,
    "B041-conflict-while-a-turn-ends-conflict-drops-message": _NOTHING_ELSE,
}


@pytest.mark.slow(every=20)
@pytest.mark.parametrize(("path", "bug"), OWN_BUGS, ids=NAMES)
def test_the_culprit_is_a_divergence_and_nothing_after_it_counts_as_right(path, bug):
    sound = sound_run(path)
    run = with_culprits(defect_run(path, bug), sound)
    events, twin = run.trace.events, sound.trace.events
    pairs, innocent = pair_events(events, twin), unchanged(run, sound)
    assert (run.culprits == ()) == (f"{path.stem}-{bug}" in WITHOUT or not run.violations)
    for culprit in run.culprits:
        pair, missing = pairs[culprit.seq - 1], culprit.divergence is Divergence.MISSING
        if missing:
            assert culprit.sound is not None
            assert culprit.sound.seq not in pairs
        elif culprit.divergence is Divergence.EXTRA:
            assert not pair
        else:
            assert culprit.seq not in innocent or differs(events[culprit.seq - 1].body, twin[pair - 1].body)
        assert {found.invariant for found in culprit.led_to} <= set(run.violated)
    view = RunView(run)
    rows = Timeline(view, TimelineLanes(view))
    for culprit in run.culprits:
        # Also where its kind has no row of its own.
        assert rows.row(culprit.seq).tags[-1] == (GAP if culprit.divergence is Divergence.MISSING else CAUSE)
        assert culprit.seq in rows
    step_of = {(found.invariant, found.at): found.step for culprit in run.culprits for found in culprit.led_to}
    for violation in run.violations[:20]:
        ticked = [fact.seq for fact in path_of(view, violation) if fact.mark == "✓"]
        assert max(ticked, default=0) <= step_of.get((violation.invariant, violation.at), run.trace.events[-1].seq)


def test_reports_and_the_app_lead_with_the_culprit_and_what_it_should_have_been():
    path, bug = next(own for own in OWN_BUGS if own[0].stem == "told-twice")
    run = with_culprits(defect_run(path, bug), sound_run(path))
    (culprit,) = run.culprits
    assert (culprit.seq, culprit.divergence, culprit.invariants) == (75, Divergence.OTHERWISE, ("C3", "D2", "R1"))
    line, instead = list(report_lines(run))[1:3]
    assert line.startswith("  culprit   #75 3.059 completion plan: turn")
    assert line.endswith("✗ it led to C3 D2 R1")
    assert instead == "  sound run 3.059 completion plan: turn → discord/ops/deploy (callback-turn)"
    why = explain(RunView(run), culprit.seq).lines
    assert [fact.label for fact in why[:2]] == ["culprit", "sound run"]


def test_equal_runs_have_no_culprit():
    path, bug = next(own for own in OWN_BUGS if own[0].stem == "told-twice")
    run = defect_run(path, bug)
    assert find_culprits(run.trace.events, run.trace.events, run.violations) == ()
