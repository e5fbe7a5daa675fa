"""What invariants say at a moment: by themselves, by family, and with the evidence of each violation."""

import msgspec

from tests.support.app.traces import bound_completion, foreign_mirror, verdicts
from trunkline.app.runs.model import Run
from trunkline.app.text.fact import Tone
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.invariants.results import FAMILIES, MOST_SHOWN, InvariantStatus, Verdicts
from trunkline.app.view.overview.cards import latest_facts
from trunkline.sim.invariants import INVARIANTS, Status, Violation


def of(run: Run) -> Verdicts:
    return Verdicts(RunView(run))


def row_of(judged: Verdicts, name: str, seq: int):
    return next(row for row in judged.rows(seq) if row.id == name)


def many(number: int) -> Verdicts:
    """A run in which one invariant breaks at every event from the first on."""
    run = bound_completion(bug=False)
    broken = [
        Violation(invariant="D1", at=at, summary=f"breach {at}", expected=("one",), actual=("two",), evidence=(at,))
        for at in range(1, number + 1)
    ]
    return of(Run(trace=run.trace, verdicts=verdicts(*broken)))


def test_every_invariant_that_there_is_belongs_to_a_family():
    assert {name[0] for name in INVARIANTS} <= set(FAMILIES)


def test_status_follows_the_cursor_and_idle_is_not_ok():
    judged = of(bound_completion())
    at = judged.view.marks.stops[0]
    before, after = row_of(judged, "D2", at - 1), row_of(judged, "D2", at)
    assert (before.judged, before.broken, before.ahead, before.first) == (InvariantStatus.LATER, 0, 1, at)
    assert (after.judged, after.broken, after.ahead, after.latest) == (InvariantStatus.VIOLATED, 1, 0, at)
    assert row_of(judged, "D1", at).words == "ok 3 times"
    assert row_of(judged, "D4", at).words == "not exercised"
    assert (judged.broken(at - 1), judged.broken(at)) == (0, 2)


def test_a_family_is_as_bad_as_its_worst_member():
    judged = of(bound_completion())
    families = {family.letter: family for family in judged.families(judged.view.last)}
    delivery = families["D"]
    assert (delivery.judged, delivery.ids, delivery.worst, delivery.broken) == (
        InvariantStatus.VIOLATED,
        ("D2",),
        "D2",
        1,
    )
    assert families["V"].judged is InvariantStatus.IDLE
    assert families["L"].ids == ("L1", "L2")
    start = {family.letter: family.judged for family in judged.families(0)}
    assert (start["D"], start["R"], start["O"]) == (InvariantStatus.LATER, InvariantStatus.LATER, InvariantStatus.OK)


def test_the_latest_violation_is_the_last_one_by_the_cursor():
    judged = of(foreign_mirror())
    mirror, copy = judged.view.marks.stops
    assert judged.latest(mirror - 1) == []
    assert [one.invariant for one in judged.latest(copy - 1)] == ["M1"]
    assert [one.invariant for one in judged.latest(copy)] == ["D1"]
    assert [one.invariant for one in of(bound_completion()).latest(9999)] == ["D2", "R1"]


def test_an_event_concerns_the_invariant_that_it_breaks():
    judged = of(foreign_mirror())
    mirror, copy = judged.view.marks.stops
    assert (judged.concerned(mirror), judged.concerned(copy), judged.concerned(1)) == ("M1", "D1", None)


def test_the_facts_hold_the_promise_and_lead_to_every_piece_of_evidence():
    judged = of(bound_completion())
    facts = list(judged.facts("D2", judged.view.last))
    at = judged.view.marks.stops[0]
    assert [fact.label for fact in facts] == [
        "promise",
        "status",
        "judged",
        "✗ 1 of 1",
        "expected",
        "actual",
        "",
        "evidence",
        "",
        "",
    ]
    assert facts[1].text == f"✗ violated: 1 so far, first #{at}"
    violation = next(one for one in judged.all if one.id == "D2").violations[0]
    proof = facts[-3:]
    assert violation.first_wrong is not None
    assert [fact.seq for fact in proof] == sorted({*violation.evidence, violation.first_wrong})
    assert [fact.mark for fact in proof] == ["✗ first wrong step", "", ""]
    assert [fact.text.split(" ")[0] for fact in proof[1:]] == ["1×", "2×"]
    assert proof[2].tone is Tone.BAD


def test_an_absence_is_a_line_below_the_step_that_nothing_followed():
    run = bound_completion()
    d2, _ = run.violations
    d2 = msgspec.structs.replace(d2, first_wrong=None, missing_after=d2.evidence[0])
    view = RunView(msgspec.structs.replace(run, verdicts=verdicts(d2)))
    facts = list(Verdicts(view).facts("D2", view.last))
    (at,) = [index for index, fact in enumerate(facts) if fact.mark == f"✗ nothing followed #{d2.missing_after}"]
    assert facts[at].text == f"missing: {d2.expected[0]}"
    assert (facts[at - 1].seq, facts[at - 1].mark) == (d2.missing_after, "")
    assert not any("first wrong step" in fact.mark for fact in facts)
    card = latest_facts(view, Verdicts(view), view.last)
    assert [fact.mark for fact in card[-2:]] == ["", f"✗ nothing followed #{d2.missing_after}"]


def test_a_verdict_that_could_not_be_judged_says_why():
    run = bound_completion()
    quiet = next(one for one in run.verdicts if not one.violations)
    quiet = msgspec.structs.replace(quiet, note="their keys", exercised=0, status=Status.NOT_EXERCISED)
    view = RunView(msgspec.structs.replace(run, verdicts=(quiet,)))
    facts = [fact.text for fact in Verdicts(view).facts(quiet.id, view.last)]
    assert "their keys" in facts
    assert "nothing happened" not in " ".join(facts)


def test_what_was_not_exercised_says_that_it_proves_nothing():
    judged = of(bound_completion())
    facts = list(judged.facts("V1", judged.view.last))
    assert [fact.label for fact in facts] == ["promise", "status", "judged"]
    assert "no proof" in facts[2].text
    assert list(judged.facts("X9", 0)) == []


def test_of_many_violations_those_around_the_cursor_are_shown():
    judged = many(80)
    at_start, at_end = list(judged.facts("D1", 0)), list(judged.facts("D1", 84))
    assert at_start[-1].text == "20 violations after these: n goes there"
    assert at_end[3].text == "20 violations before these: N goes there"
    assert sum(fact.label.startswith("✗") for fact in at_end) == MOST_SHOWN
    assert at_end[4].label == "✗ 21 of 80"
    middle = [fact.label for fact in judged.facts("D1", 40)]
    assert "earlier" in middle
    assert "later" in middle


def test_a_run_without_verdicts():
    judged = of(msgspec.structs.replace(bound_completion(), verdicts=()))
    assert (judged.rows(9), judged.families(9), judged.latest(9), judged.broken(9)) == ([], [], [], 0)
