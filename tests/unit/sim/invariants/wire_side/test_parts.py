"""Answers in several messages, of which one has the mark: X1, X2, X3, X4 and X9 of the others."""

import pytest

from tests.support.wire_story import ANA, BEN, DEPLOY, NOTICE, OPS, WireStory
from trunkline.core.reasons import Reason
from trunkline.sim.events.world import ThreadReopened

LONG = "a part of an answer that is long enough to be no chance, whatever else is said in this place"
MORE = "and something quite different that goes on for a while, so that it is no chance either, here or there"
REST = "after which there is the end of it, in words of its own, which nobody has said so far in this place"
SHORT = "words that are a letter short of no chance"


def in_parts(story: WireStory, *parts: str) -> list[str]:
    """A question, and the parts of its answer, the last one with the mark."""
    story.ask("a1")
    return story.turn("a1", text="\n".join(parts)).split("\n")


# X1


def test_an_answer_may_say_the_same_twice():
    story = WireStory()
    for part in in_parts(story, LONG, LONG, MORE):
        story.send(part)
    assert story.end().broken == []


def test_but_nobody_may_see_it_three_times():
    story = WireStory()
    first, second, third = in_parts(story, LONG, LONG, MORE)
    for part in (first, first, second, third):
        story.send(part)
    assert story.end().broken == ["X1"]
    assert len(story.verdict("X1").violations) == 1


def test_a_copy_with_its_mark_is_no_part():
    story = WireStory()
    (whole,) = in_parts(story, LONG)
    story.send(whole)
    story.send(whole)
    assert len(story.end().verdict("X1").violations) == 1


def test_the_beginning_of_an_answer_that_stays_beside_the_whole_is_x1():
    story = WireStory()
    first, second = in_parts(story, LONG, MORE)
    story.send(first)
    story.send(f"{first}\n{second}")
    assert story.end().broken == ["X1"]
    assert story.summaries("X1") == ["a part of the answer to a1 is visible twice in telegram/@ana"]


def test_few_words_that_stay_beside_the_whole_may_be_a_chance():
    story = WireStory()
    (whole,) = in_parts(story, f"{SHORT} {MORE}")
    story.send(SHORT)
    story.send(whole)
    assert story.end().broken == []


@pytest.mark.parametrize(("letters", "broken"), [(39, []), (40, ["X1"])])
def test_forty_letters_are_no_chance(letters: int, broken: list[str]):
    story = WireStory()
    words = "abcdefghij" * 4
    (whole,) = in_parts(story, f"{words} {MORE}")
    story.send(words[:letters])
    story.send(whole)
    assert story.end().broken == broken


def test_a_beginning_that_is_taken_away_is_none():
    story = WireStory()
    first, second = in_parts(story, LONG, MORE)
    draft = story.send(first)
    story.send(f"{first}\n{second}")
    story.now += 10.0
    story.delete(draft)
    assert story.end().broken == []


def test_a_turn_that_ran_again_may_show_its_words_again():
    story = WireStory()
    first, _ = in_parts(story, LONG, MORE)
    story.send(first)
    story.crash()
    for part in story.turn("a1", text=f"{LONG}\n{MORE}").split("\n"):
        story.send(part)
    assert story.end().broken == []


def test_the_words_of_a_turn_that_nobody_asked_for_are_no_part():
    story = WireStory()
    story.answered("a1")
    story.model_says(story.prompt(), LONG)
    story.send(LONG)
    story.send(LONG)
    assert story.end().broken == ["X6"]


# X2 and X3


def test_a_part_in_another_place_is_x2():
    story = WireStory()
    story.ask("a1", DEPLOY)
    first, second = story.turn("a1", text=f"{LONG}\n{MORE}").split("\n")
    story.send(first, OPS)
    story.send(second, DEPLOY)
    assert story.end().broken == ["X2"]
    assert story.summaries("X2") == [
        "a part of the answer to question a1 of telegram/ops/deploy appears in telegram/ops"
    ]


def test_a_part_of_what_a_deleted_thread_was_told_is_x3():
    story = WireStory()
    story.ask("a1", DEPLOY)
    first, _ = story.turn("a1", text=f"{LONG}\n{MORE}").split("\n")
    story.close(DEPLOY)
    story.send(first, OPS)
    story.send("That did not work.", OPS)
    assert story.end().broken == ["X3"]
    assert story.summaries("X3")[0].endswith("appears in telegram/ops, 1.0 s after its place was gone")


def test_a_part_in_another_place_before_the_thread_was_deleted_is_x2():
    story = WireStory()
    story.ask("a1", DEPLOY)
    first, second = story.turn("a1", text=f"{LONG}\n{MORE}").split("\n")
    story.send(first, OPS)
    story.send(second, DEPLOY)
    story.close(DEPLOY)
    assert story.end().broken == ["X2"]


def test_the_same_words_for_a_question_of_that_place_are_no_stray():
    story = WireStory()
    for mark, place in (("b1", BEN), ("a1", ANA)):
        story.ask(mark, place)
        for part in story.turn(mark, text=f"{LONG}\n{MORE}").split("\n"):
            story.send(part, place)
    assert story.end().broken == []


def test_a_notice_with_the_words_of_an_answer_is_a_notice():
    story = WireStory()
    story.ask("b1", BEN)
    story.send(story.turn("b1", text=f"{NOTICE} {LONG}"), BEN)
    story.send(f"{NOTICE} {LONG}", ANA)
    assert "X2" not in story.end().broken


# X4


def test_a_part_that_is_refused_and_given_up_is_x4():
    story = WireStory()
    first, second, third = in_parts(story, LONG, f"{MORE} {REST}", "The end.")
    story.send(first)
    story.refuse(second, ANA, Reason.PLATFORM_ERROR)
    story.send(third)
    assert story.end().broken == ["X4"]
    assert story.summaries("X4") == ["a part of the answer to question a1 of telegram/@ana is lost in silence"]


def test_a_part_that_was_never_sent_is_x4():
    story = WireStory()
    *_, last = in_parts(story, f"{LONG} {MORE} {REST}", "The end.")
    story.send(last)
    assert story.end().broken == ["X4"]


def test_a_notice_beside_the_rest_of_an_answer_says_so():
    story = WireStory()
    *_, last = in_parts(story, f"{LONG} {MORE} {REST}", "The end.")
    story.send(last)
    story.send(NOTICE)
    assert story.end().broken == []


def test_a_file_may_have_the_rest_of_an_answer():
    story = WireStory()
    *_, last = in_parts(story, f"{LONG} {MORE} {REST}", "The end.")
    story.send(last, media=("answer.md",))
    assert story.end().broken == []


def test_words_that_look_different_are_not_missing():
    story = WireStory()
    (whole,) = in_parts(story, f"{LONG} | {REST} {MORE}")
    story.send(whole.replace("quite", "(quite)").replace(" | ", " instead of a table: "))
    assert story.end().broken == []


def test_a_part_that_is_taken_away_is_missing():
    story = WireStory()
    first, second = in_parts(story, f"{LONG} {MORE} {REST}", "The end.")
    message = story.send(first)
    story.send(second)
    story.delete(message)
    assert story.end().broken == ["X4"]


# X9


def test_parts_in_another_order_are_x9():
    story = WireStory()
    first, second = in_parts(story, LONG, MORE)
    story.send(second)
    story.send(first)
    assert story.end().broken == ["X9"]
    assert story.summaries("X9") == ["the parts of the answer to question a1 of telegram/@ana are in another order"]


def test_the_short_end_of_an_answer_has_its_mark_and_its_place():
    story = WireStory()
    first, second = in_parts(story, LONG, "The end.")
    story.send(second)
    story.send(first)
    assert story.end().broken == ["X9"]


def test_words_that_come_twice_have_no_order():
    story = WireStory()
    first, second, third = in_parts(story, LONG, MORE, LONG)
    story.send(first)
    story.send(second)
    story.send(third)
    assert story.end().broken == []


def test_a_part_that_was_taken_away_may_be_sent_again_after_the_rest():
    story = WireStory()
    first, second = in_parts(story, LONG, MORE)
    story.send(first)
    late = story.send(second)
    story.delete(late)
    story.send(second)
    assert story.end().broken == []


def test_parts_of_a_turn_that_ran_again_are_in_order():
    story = WireStory()
    first, second = in_parts(story, LONG, MORE)
    story.send(first)
    story.send(second.partition(" AZ")[0])
    story.crash()
    for part in story.turn("a1", text=f"{LONG}\n{MORE}").split("\n"):
        story.send(part)
    assert "X9" not in story.end().broken


def test_a_thread_that_is_open_again_is_judged_as_any_other_place():
    story = WireStory()
    story.ask("a1", DEPLOY)
    first, second = story.turn("a1", text=f"{LONG}\n{MORE}").split("\n")
    story.close(DEPLOY, "archived")
    story.tell(ThreadReopened(address=DEPLOY))
    story.send(first, OPS)
    story.send(second, DEPLOY)
    assert story.end().broken == ["X2"]
