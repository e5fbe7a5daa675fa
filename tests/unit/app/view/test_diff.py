"""Two runs compared: pairs, marks, and where they part."""

import msgspec
import pytest

from tests.support.app.repeated_runs import repeated
from tests.support.app.traces import bound_completion, foreign_mirror
from trunkline.app.runs.model import Run
from trunkline.app.view.diff.compare import (
    Diff,
    DiffMark,
    as_lines,
    differences,
    divergence,
    facts_of,
    outcome,
    row_text,
)
from trunkline.app.view.index.growing import next_around
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Trace
from trunkline.core.events.delivery import AttemptEnded
from trunkline.core.reasons import Reason
from trunkline.sim.events.script import BugEnabled
from trunkline.sim.events.wire import WireAccepted


def views(one: Run, other: Run) -> Diff:
    return Diff(RunView(one), RunView(other))


@pytest.fixture(scope="module")
def defect() -> Diff:
    """A without the defect, B with it."""
    return views(bound_completion(bug=False, seed=7), bound_completion(bug=True, seed=7))


def later(run: Run, seconds: float, after: float) -> Run:
    events = tuple(
        msgspec.structs.replace(event, at=event.at + seconds) if event.at > after else event
        for event in run.trace.events
    )
    return Run(trace=Trace(header=run.trace.header, events=events), verdicts=run.verdicts)


def test_a_run_is_the_same_as_itself():
    diff = views(foreign_mirror(), foreign_mirror())
    assert diff.same
    assert {row.mark for row in diff.rows} == {DiffMark.SAME}
    assert (diff.stops, next_around(diff.stops, 0, 1), divergence(diff)) == ((), None, "no difference")
    assert list(as_lines(diff))[-1].startswith("no difference")


def test_an_event_of_one_run_only_keeps_its_place(defect):
    only = [defect.event(row)[1] for row in defect.rows if row.mark is DiffMark.ONLY_B]
    assert any(isinstance(event.body, WireAccepted) for event in only)
    back = Diff(defect.b, defect.a)
    assert back.counts[DiffMark.ONLY_A] == defect.counts[DiffMark.ONLY_B]
    for diff in (defect, back):
        assert [row.a for row in diff.rows if row.a] == list(range(1, diff.a.last + 1))
        assert sorted(row.b for row in diff.rows if row.b) == list(range(1, diff.b.last + 1))


def test_the_same_event_with_another_verdict_is_marked(defect):
    marked = [row for row in defect.rows if row.mark is DiffMark.VERDICT]
    broken = [row for row in marked if "broken nothing → " in row_text(defect, row)]
    assert broken
    facts = [(fact.label, fact.text) for fact in facts_of(defect, broken[0])]
    assert any(label == "broken" for label, _ in facts)


def test_the_header_counts_and_names_the_first_difference(defect):
    head = outcome(defect, short=False)
    assert head.startswith("A ✓ ok  B ✗")
    assert "dup" in head
    assert f"first divergence #{defect.rows[defect.first].b}" in head
    assert ("only B" in head, "only B" in outcome(defect, short=True)) == (True, False)


def test_that_a_defect_is_on_is_not_where_they_part(defect):
    _, event = defect.event(defect.rows[defect.first])
    assert not isinstance(event.body, BugEnabled)


def test_later_is_not_different():
    run = foreign_mirror()
    middle = run.trace.events[len(run.trace.events) // 2].at
    diff = views(run, later(run, 0.5, middle))
    assert {row.mark for row in diff.rows} == {DiffMark.SAME, DiffMark.MOVED}
    assert len(diff.stops) == 1, "everything later is one stretch"
    assert not diff.same


def test_stops_go_round_and_round(defect):
    first, last = defect.stops[0], defect.stops[-1]
    assert next_around(defect.stops, -1, 1) == first
    assert next_around(defect.stops, last, 1) == first
    assert next_around(defect.stops, first, -1) == last


def test_rows_are_found_by_the_cursor(defect):
    assert defect.row_of(0) == -1
    for row in (3, len(defect.rows) // 2, len(defect.rows) - 1):
        seq = defect.seq_at(row)
        assert defect.seq_at(defect.row_of(seq)) == seq
    assert defect.row_of(defect.b.last) == len(defect.rows) - 1


def test_numbers_and_times_are_no_difference():
    one = AttemptEnded(chunk=0, attempt=1, reason=Reason.ACCEPTED, decision="settle", retry_at=1.0)
    assert differences(one, msgspec.structs.replace(one, retry_at=2.0)) == []
    assert differences(one, msgspec.structs.replace(one, decision="retry")) == [("decision", "settle", "retry")]


def test_long_runs_are_compared_event_by_event():
    diff = views(repeated(bug=False, count=20_000, shift=0.0), repeated(bug=True, count=20_000, shift=0.001))
    assert diff.counts[DiffMark.MOVED] > 10_000
