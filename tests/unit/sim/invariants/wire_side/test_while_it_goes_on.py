"""What the judge says of a wire before the run has ended: what is sure, what waits, and what the end makes of it."""

import pytest

from tests.support.wire_story import ANA, OPS, WireStory
from trunkline.core.events.base import RunEnded
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.index.projection import Projection, on
from trunkline.sim.invariants import CHECKERS, Judge, Status, Verdict


def so_far(story: WireStory, name: str) -> Verdict:
    return story.verdict(name)


def test_two_answers_are_sure_after_two_seconds_and_with_the_next_event():
    story = WireStory()
    story.answered("a1")
    story.send("Done. AZa1-g1")
    two = "question a1 of telegram/@ana has two answers now, and one of them may still be taken away"
    assert (so_far(story, "X1").status, so_far(story, "X1").note) == (Status.NOT_EXERCISED, two)
    story.tell_nothing(after=1.0)
    assert so_far(story, "X1").status is Status.NOT_EXERCISED
    story.tell_nothing(after=1.5)
    verdict = so_far(story, "X1")
    assert (verdict.status, verdict.exercised, verdict.note) == (Status.VIOLATED, 1, "")
    twice = "question a1 of telegram/@ana is answered 2 times: one answer, sent more than once"
    assert [violation.summary for violation in verdict.violations] == [twice]
    assert story.end().verdict("X1").violations == verdict.violations


def test_what_was_two_answers_stays_that_whatever_is_edited_later():
    story = WireStory()
    first = story.answered("a1")
    second = story.send("Done. AZa1-g1")
    story.tell_nothing(after=3.0)
    story.edit(second, "Done. AZa1-g1 and more")
    story.tell_nothing(after=3.0)
    story.delete(first)
    assert story.end().summaries("X1") == [
        "question a1 of telegram/@ana is answered 2 times: one answer, sent more than once"
    ]


def test_what_ends_before_anything_else_happens_says_for_how_long():
    story = WireStory()
    first = story.answered("a1")
    story.send("Done. AZa1-g1")
    story.delete(first, after=3.0)
    (violation,) = so_far(story, "X1").violations
    assert "is answered 2 times for 3.0 s, at its worst: " in violation.summary
    assert story.end().verdict("X1").violations == (violation,)


def test_more_answers_than_were_sure_are_counted_at_the_end():
    story = WireStory()
    story.answered("a1")
    for _ in range(2):
        story.send("Done. AZa1-g1")
        story.tell_nothing(after=3.0)
    found = [text.partition(":")[0].rpartition("answered ")[2] for text in story.end().summaries("X1")]
    assert (found, story.verdict("X1").exercised) == (["2 times", "3 times"], 1)


@pytest.mark.parametrize("seconds", [1.9, 60.0])
def test_an_answer_that_grows_beside_its_draft_is_one(seconds: float):
    story = WireStory()
    draft = story.answered("a1")
    whole = story.send("Done. AZa1-g1 and")
    story.tell_nothing(after=seconds)
    story.edit(whole, "Done. AZa1-g1 and more")
    story.delete(draft)
    assert story.end().broken == []


def test_answers_in_turn_are_no_copies():
    story = WireStory()
    first = story.answered("a1")
    story.send("Done. AZa1-g1")
    story.delete(first, after=1.5)
    assert so_far(story, "X1").note == ""
    story.tell_nothing(after=30.0)
    assert so_far(story, "X1").violations == ()
    assert story.end().broken == []


def test_a_question_that_waits_too_long_is_named_and_not_yet_judged():
    story = WireStory(patience=45.0)
    story.ask("a1")
    story.turn("a1")
    verdict = so_far(story, "X4")
    why = "judged at the end: an answer may still come, and a restart or a fault begins the wait again"
    assert (verdict.status, verdict.note) == (Status.NOT_EXERCISED, why)
    story.tell_nothing(after=50.0)
    assert (
        so_far(story, "X4").note == f"{why}; question a1 of telegram/@ana has waited for 52 s, and the patience is 45 s"
    )
    story.send("Done. AZa1-g1")
    assert so_far(story, "X4").note == why
    verdict = story.end().verdict("X4")
    assert (verdict.status, verdict.note) == (Status.OK, "")


def test_what_ends_a_question_without_an_answer_is_not_named():
    story = WireStory(patience=5.0)
    story.ask("a1")
    story.send("⚠️ I was restarted.")
    story.tell_nothing(after=50.0)
    assert "waited" not in so_far(story, "X4").note


def test_what_nobody_asked_for_is_named_and_not_yet_judged():
    story = WireStory()
    story.answered("a1")
    why = "judged at the end: a message may still be edited into an answer"
    assert (so_far(story, "X6").status, so_far(story, "X6").note) == (Status.NOT_EXERCISED, why)
    back = story.send("I am back!", OPS)
    assert so_far(story, "X6").note == f"{why}; nobody has asked for “I am back!” in telegram/ops"
    assert story.end().broken == ["X6"]
    assert story.verdict("X6").note == ""
    assert back


def test_a_run_that_is_cut_keeps_what_was_sure():
    story = WireStory()
    story.answered("a1")
    story.send("Done. AZa1-g1")
    story.ask("a2", ANA)
    story.tell_nothing(after=3.0)
    story.tell(RunEnded(at_rest=False, cut="after 9 events"))
    judging = Judge(CHECKERS)
    for event in story.events:
        judging.see(event)
    judging.finish()
    verdicts = {verdict.id: verdict for verdict in judging.verdicts()}
    found = {name: (verdicts[name].status, verdicts[name].note) for name in ("X1", "X4")}
    assert found == {
        "X1": (Status.VIOLATED, "not judged to its end: the run was cut after 9 events"),
        "X4": (Status.NOT_EXERCISED, "not judged: the run was cut after 9 events"),
    }


def test_a_projection_takes_each_body_with_one_method():
    with pytest.raises(TypeError, match="Twice takes PeerSaid twice: in one and in other"):

        class Twice(Projection):
            @on(PeerSaid)
            def one(self, _event: object, _body: PeerSaid) -> None: ...

            @on(PeerSaid)
            def other(self, _event: object, _body: PeerSaid) -> None: ...
