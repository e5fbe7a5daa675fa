"""X2, X3 and X9: where answers appear, and in which order."""

import pytest

from tests.support.wire_story import ANA, BEN, DEPLOY, OPS, ROLLBACK, WireStory
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind
from trunkline.sim import Status
from trunkline.sim.events.world import PlatformPushed, ThreadOpened, ThreadReopened

CHANNEL = Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation="500")
THREAD = Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation="q-a1", parent="500")
ELSEWHERE = {
    "another person": BEN,
    "the parent": OPS,
    "the thread beside it": ROLLBACK,
    "another account": Address(
        channel="telegram", account="second", kind=ChatKind.GROUP, conversation="-100", thread="11"
    ),
}


@pytest.mark.parametrize("where", ELSEWHERE.values(), ids=ELSEWHERE)
def test_an_answer_elsewhere_is_x2_alone(where: Address):
    story = WireStory()
    story.ask("a1", DEPLOY)
    story.send(story.turn("a1"), where)
    assert story.end().broken == ["X2"]


def test_a_thread_on_the_question_itself_is_its_place():
    story = WireStory()
    story.ask("a1", CHANNEL)
    story.tell(ThreadOpened(address=THREAD, name="500/a1", on_message="q-a1"))
    story.send(story.turn("a1"), THREAD)
    assert story.end().broken == []


def test_a_thread_on_another_message_is_not():
    story = WireStory()
    other = Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation="600", parent="500")
    story.ask("a1", CHANNEL)
    story.tell(ThreadOpened(address=other, name="500/b1", on_message="q-b1"))
    story.send(story.turn("a1"), other)
    assert story.end().broken == ["X2"]


def test_an_edit_of_an_answer_is_reported_once():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    message = story.send(text, OPS)
    story.edit(message, f"{text} (edited)")
    assert story.end().broken == ["X2"]
    assert len(story.verdict("X2").violations) == 1


# X3


def test_an_answer_of_a_deleted_thread_in_its_parent_is_x3_alone():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.close(DEPLOY)
    story.send(text, OPS)
    assert story.end().broken == ["X3"]
    assert story.summaries("X3") == [
        "what belongs to question a1 of telegram/ops/deploy appears in telegram/ops, 1.0 s after its place was gone"
    ]


@pytest.mark.parametrize("how", ["deleted", "archived", "locked"])
def test_however_a_thread_was_closed(how: str):
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.close(DEPLOY, how)
    story.send(text, ROLLBACK)
    assert story.end().broken == ["X3"]


def test_a_refusal_shows_that_the_place_is_gone():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.refuse(text, DEPLOY, Reason.PLACE_GONE)
    story.send(text, OPS)
    assert story.end().broken == ["X3"]


def test_a_notice_that_quotes_the_question_of_a_deleted_thread_is_x3():
    story = WireStory()
    story.ask("a1", DEPLOY)
    story.close(DEPLOY)
    story.send("⚠️ I could not answer: hello QZa1", OPS)
    assert story.end().broken == ["X3"]


def test_a_notice_without_content_in_the_parent_is_right():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.refuse(text, DEPLOY, Reason.PLACE_GONE)
    story.send("An answer could not be posted in its topic.", OPS)
    assert story.end().broken == []
    assert (story.verdict("X3").status, story.verdict("X3").exercised) == (Status.OK, 1)


def test_a_place_that_accepts_a_message_is_not_gone():
    """The refusal was no more than the platform's mistake, or the person has unblocked the bot."""
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.refuse(text, DEPLOY, Reason.PLACE_GONE)
    story.send(text, DEPLOY)
    story.ask("a2", DEPLOY)
    story.send(story.turn("a2"), OPS)
    assert "X2" in story.end().broken
    assert "X3" not in story.broken


def test_such_a_place_may_go_again():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.refuse(text, DEPLOY, Reason.PLACE_GONE)
    story.answered("a2", DEPLOY)
    story.close(DEPLOY)
    story.send(text, OPS)
    assert story.end().broken == ["X3"]


def test_a_thread_that_was_opened_again_is_a_place_like_any_other():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.close(DEPLOY, "archived")
    story.tell(ThreadReopened(address=DEPLOY))
    story.send(text, DEPLOY)
    assert story.end().broken == []


def test_the_answer_to_another_question_of_the_parent_is_no_leak():
    story = WireStory()
    story.answered("a1", DEPLOY)
    story.close(DEPLOY)
    story.answered("a2", OPS)
    assert story.end().broken == []
    assert story.verdict("X3").status is Status.NOT_EXERCISED


# X9


def test_answers_in_another_order_are_x9_alone():
    story = WireStory()
    story.ask("a1")
    story.ask("a2")
    first, second = story.turn("a1"), story.turn("a2")
    story.send(second)
    story.send(first)
    assert story.end().broken == ["X9"]
    assert story.summaries("X9") == ["question a1 of telegram/@ana is answered after a2, which came after it"]


def test_answers_in_order_are_right():
    story = WireStory()
    story.ask("a1")
    story.ask("a2")
    first, second = story.turn("a1"), story.turn("a2")
    story.send(first)
    story.send(second)
    assert story.end().broken == []
    assert story.verdict("X9").exercised == 1


def test_a_question_that_the_platform_hands_out_late_comes_after_those_that_it_overtook():
    story = WireStory()
    late = story.ask("a1", taken=False)
    story.ask("a2")
    story.tell(PlatformPushed(address=ANA, message_id="q-a1", original_id="q-a1"), late)
    story.send(story.turn("a2"))
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_one_answer_to_both_has_no_order():
    story = WireStory()
    story.ask("a1")
    story.ask("a2")
    story.prompt("a2")
    story.send(story.turn("a1", "a2"))
    assert "X9" not in story.end().broken


def test_places_have_no_order_among_each_other():
    story = WireStory()
    story.ask("a1", DEPLOY)
    story.ask("a2", ROLLBACK)
    first, second = story.turn("a1"), story.turn("a2")
    story.send(second, ROLLBACK)
    story.send(first, DEPLOY)
    assert story.end().broken == []
    assert story.verdict("X9").status is Status.NOT_EXERCISED


def test_a_question_that_was_answered_before_the_next_one_exercises_no_order():
    story = WireStory()
    story.answered("a1")
    story.answered("a2")
    assert story.end().verdict("X9").status is Status.NOT_EXERCISED


def test_answers_that_grow_at_once_stand_in_the_order_of_their_messages():
    story = WireStory()
    story.ask("a1")
    story.ask("a2")
    first, second = story.turn("a1"), story.turn("a2")
    above, below = story.send("Do"), story.send("Do")
    story.edit(below, second)
    story.edit(above, first)
    assert story.end().broken == []


def test_a_second_copy_of_an_earlier_answer_is_no_disorder():
    story = WireStory()
    story.ask("a1")
    story.ask("a2")
    first, second = story.turn("a1"), story.turn("a2")
    story.send(first)
    story.send(second)
    story.send(first, ANA)
    assert story.end().broken == ["X1"]
