"""C5 and C6 on stories written by hand: what is accepted is worked on, and the first answer counts."""

from typing import Any

import pytest

from tests.support.invariants.hand_trace import HandStory
from trunkline.core.events.hands import AnswerTurnedAway, DelegationIgnored
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome
from trunkline.sim.events.processes import ProcessThawed
from trunkline.sim.events.world import WorldLimits
from trunkline.sim.invariants import Status


def begun(*only: str, **accepted: Any) -> HandStory:
    """Ana asks, and her agent calls the clerk."""
    story = HandStory(*only)
    story.world()
    story.asks()
    story.delegates(**accepted)
    return story


# -------------------------------------------------------------------- C5


def test_accepted_and_begun():
    story = begun("C5")
    story.began()
    assert (story.end().verdict.status, story.verdict.exercised) == (Status.OK, 2)


def test_accepted_and_never_begun():
    story = begun("C5")
    call = story.events[-1].seq
    (violation,) = story.end().verdict.violations
    assert violation.missing_after == call


def test_ended_with_a_reason_before_it_began():
    story = begun("C5")
    story.finished("The process that ran it died.", outcome=HandOutcome.LOST)
    assert story.end().broken == []


@pytest.mark.parametrize(("deadline", "broken"), [(None, []), (1e9, []), (1.0, ["C5"])])
def test_a_task_may_wait_for_its_worker_until_its_deadline(deadline: float | None, broken: list[str]):
    story = begun("C5", hand_kind="worker", deadline=deadline)
    assert story.end().broken == broken


@pytest.mark.parametrize("begins", ["began", "took"])
def test_nothing_begins_before_it_is_accepted(begins: str):
    story = HandStory("C5")
    story.asks()
    seq = getattr(story, begins)()
    story.delegates()
    (violation,) = story.end().verdict.violations
    assert violation.blamed == seq


@pytest.mark.parametrize(("after", "broken"), [(50.0, []), (70.0, ["C5"])])
def test_nothing_begins_when_it_is_too_old(after: float, broken: list[str]):
    story = HandStory("C5")
    story.tell(WorldLimits(max_attempts=5, max_age=1e9, hand_age=60.0), node="sim")
    story.asks()
    story.delegates()
    story.began(after=after)
    assert story.end().broken == broken


def test_two_calls_have_two_ids():
    story = begun("C5")
    story.began()
    story.called(call=2)
    assert any("two calls" in wrong for wrong in story.end().wrong)


def test_a_turn_that_runs_again_makes_the_same_call():
    story = begun("C5")
    story.began()
    story.called()
    assert story.end().broken == []


def test_a_refused_call_starts_nothing():
    story = HandStory("C5")
    story.asks()
    accepted = story.accepted_by_gateway()
    story.called(None, refused="DelegationRefused")
    (violation,) = story.end().verdict.violations
    assert violation.blamed == accepted


def test_a_refused_call_beside_an_accepted_one():
    story = begun("C5")
    story.began()
    story.called(None, call=2, refused="DelegationRefused")
    assert story.end().broken == []


def test_no_call_waits_for_its_hand():
    story = HandStory("C5")
    story.asks()
    since = story.now
    story.accepted_by_gateway()
    story.began()
    story.answers()
    story.called(since=since)
    assert any("kept waiting" in wrong for wrong in story.end().wrong)


def test_a_process_that_stood_still_makes_nobody_wait():
    story = HandStory("C5")
    story.asks()
    since = story.now
    story.accepted_by_gateway()
    story.began()
    story.answers()
    story.tell(ProcessThawed(), node="sim")
    story.called(since=since)
    assert story.end().broken == []


# -------------------------------------------------------------------- C6


def test_the_result_of_the_hand():
    story = begun("C6")
    story.worked()
    assert (story.end().verdict.status, story.verdict.exercised) == (Status.OK, 1)


@pytest.mark.parametrize(
    ("outcome", "text"),
    [(HandOutcome.OK, "twenty so far"), (HandOutcome.OK, "forty"), (HandOutcome.ERROR, "forty zebras")],
)
def test_what_the_hand_did_not_return(outcome: HandOutcome, text: str):
    story = begun("C6")
    story.began()
    story.answers()
    story.finished(text, outcome=outcome)
    assert any("did not return" in wrong for wrong in story.end().wrong)


def test_an_error_is_no_result():
    story = begun("C6")
    story.began()
    story.answers("no ink", outcome=HandOutcome.ERROR)
    story.finished("no ink")
    assert story.end().broken == ["C6"]


def test_an_answer_that_comes_after_the_end_was_not_it():
    story = begun("C6")
    story.began()
    story.finished()
    story.answers()
    assert story.end().broken == ["C6"]


def test_an_error_of_the_gateway_is_its_own():
    story = begun("C6")
    story.began()
    story.finished("the hand returned a value of type bytes instead of a str", outcome=HandOutcome.ERROR)
    assert story.end().broken == []


def test_an_end_is_an_end():
    story = begun("C6")
    story.worked()
    seq = story.finished()
    (violation,) = story.end().verdict.violations
    assert violation.blamed == seq


@pytest.mark.parametrize("ticket_right", [True, False])
def test_only_the_worker_with_the_ticket_may_answer(ticket_right: bool):
    story = begun("C6")
    story.took()
    story.worker_answers("forty zebras", ticket_right=ticket_right)
    story.finished()
    assert story.end().broken == ([] if ticket_right else ["C6"])


def test_a_refused_answer_of_a_stranger_is_right():
    story = begun("C6")
    story.took()
    story.worker_answers("nine", ticket_right=False, accepted=False, reason=Reason.WRONG_TICKET)
    story.worker_answers("forty zebras")
    story.finished()
    assert story.end().broken == []


def ignored(story: HandStory) -> None:
    story.tell(DelegationIgnored(hand="clerk", reason=Reason.ALREADY_FINISHED, text="copy 2"), delegation="d1")


def turned_away(story: HandStory) -> None:
    story.tell(AnswerTurnedAway(verb="answer", reason=Reason.ALREADY_FINISHED), delegation="d1")


@pytest.mark.parametrize(("then", "broken"), [(ignored, []), (turned_away, []), (None, ["C6"])])
def test_a_later_answer_is_recorded(then: Any, broken: list[str]):
    story = begun("C6")
    story.took()
    story.worker_answers("copy 1")
    story.finished("copy 1")
    story.worker_answers("copy 2")
    if then is not None:
        then(story)
    assert story.end().broken == broken


def test_an_agent_that_says_nothing_gives_an_empty_result():
    story = begun("C6")
    story.began()
    story.answers("", silent=True, agent=True)
    story.finished("")
    assert story.end().broken == []
