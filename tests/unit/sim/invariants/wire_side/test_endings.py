"""X4 and X6: what becomes of each question, and what is said that nobody asked for."""

from __future__ import annotations

import pytest

from tests.support.wire_story import ANA, BEN, DEPLOY, NOTICE, OPS, REMARK, ROLLBACK, WireStory
from trunkline.core.reasons import Reason
from trunkline.sim import Status
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.world import PlatformConfirmed, PlatformPushed


def test_a_question_without_an_answer_is_x4_alone():
    story = WireStory()
    story.ask("a1")
    story.turn("a1")
    assert story.end().broken == ["X4"]
    assert story.summaries("X4") == [
        "question a1 of telegram/@ana is lost in silence: not within 45 s, although the model answered"
    ]


def test_it_says_how_far_the_question_came():
    story = WireStory()
    first = story.ask("a1")
    second = story.ask("a2", BEN, taken=False)
    story.end()
    assert story.summaries("X4") == [
        "question a1 of telegram/@ana is lost in silence: not within 45 s, and the model was never asked",
        "question a2 of telegram/@ben is lost in silence: not within 45 s, and it was never handed out",
    ]
    assert {one.missing_after for one in story.verdict("X4").violations} == {first + 1, second}


@pytest.mark.parametrize("text", [NOTICE, "Something went wrong, sorry."])
def test_whoever_reads_what_became_of_it_has_an_end(text: str):
    story = WireStory()
    story.ask("a1")
    story.turn("a1")
    story.crash()
    story.send(text)
    assert story.end().broken == []


def test_a_remark_is_no_end():
    story = WireStory()
    story.ask("a1")
    story.send(REMARK)
    assert story.end().broken == ["X4"]


def test_a_notice_before_the_question_is_no_end():
    story = WireStory()
    story.send(NOTICE)
    story.ask("a1")
    assert story.end().broken == ["X4"]


def test_a_notice_in_another_place_is_no_end():
    story = WireStory()
    story.ask("a1", DEPLOY)
    story.fault()
    story.send(NOTICE, ROLLBACK)
    assert "X4" in story.end().broken


def test_the_asker_may_get_a_notice_alone():
    story = WireStory()
    story.ask("a1", DEPLOY)
    story.close(DEPLOY)
    story.send(NOTICE, ANA)
    assert story.end().broken == []


def test_a_notice_in_the_room_is_an_end_if_the_thread_is_gone():
    story = WireStory()
    story.ask("a1", DEPLOY)
    story.close(DEPLOY)
    story.send(NOTICE, OPS)
    assert story.end().broken == []


def test_a_notice_that_replies_to_another_waiting_question_is_no_end_of_this_one():
    story = WireStory()
    story.ask("a1")
    story.ask("a2")
    story.send(NOTICE, reply_to="q-a1")
    assert story.end().broken == ["X4"]
    assert [text.split()[1] for text in story.summaries("X4")] == ["a2"]


def test_a_notice_about_a_turn_of_both_replies_to_one_of_them():
    story = WireStory()
    story.ask("a1")
    story.ask("a2")
    story.turn("a1", "a2", status=500)
    story.send(NOTICE, reply_to="q-a2")
    assert story.end().broken == []


def test_a_notice_that_replies_to_an_answered_question_is_about_what_came_after_it():
    story = WireStory()
    story.answered("a1")
    story.ask("a2")
    story.crash()
    story.send(NOTICE, reply_to="q-a1")
    assert story.end().broken == []


def test_nobody_can_be_told_whose_own_chat_is_gone():
    story = WireStory()
    story.ask("b1", BEN)
    story.refuse(story.turn("b1"), BEN, Reason.PLACE_GONE, detail="bot was blocked by the user")
    story.answered("a1")
    assert story.end().broken == []


def test_a_refusal_that_leaves_the_chat_there_is_no_excuse():
    story = WireStory()
    story.ask("b1", BEN)
    story.refuse(story.turn("b1"), BEN, Reason.REFUSED)
    assert story.end().broken == ["X4"]


def test_an_answer_that_is_taken_away_is_lost():
    story = WireStory()
    story.ask("a1")
    story.delete(story.send(story.turn("a1")))
    assert story.end().broken == ["X4"]
    assert "is taken away" in story.summaries("X4")[0]


def test_an_answer_that_stops_growing_is_lost():
    story = WireStory()
    story.ask("a1")
    story.turn("a1", text="one two three")
    story.send("one two")
    assert story.end().broken == ["X4"]


def test_a_question_that_the_model_passed_over_is_the_model_s_business():
    """It was in the prompt, and people read what the model said to that."""
    story = WireStory()
    story.ask("a1")
    story.ask("a2")
    story.prompt("a1")
    asked = story.prompt("a1", "a2")
    story.model_says(asked, "Done. AZa2-g1")
    story.send("Done. AZa2-g1")
    assert story.end().broken == []


def test_what_the_platform_lost_on_its_way_needs_no_answer():
    story = WireStory()
    story.ask("a1", taken=False)
    story.tell(FaultFired(fault="push/drop", detail="hello QZa1"))
    assert story.end().broken == []
    assert story.verdict("X4").status is Status.NOT_EXERCISED


def test_what_the_gateway_had_dropped_is_lost():
    story = WireStory()
    asked = story.ask("a1", taken=False)
    story.tell(PlatformConfirmed(address=ANA, message_id="q-a1", dropped=True), asked)
    assert story.end().broken == ["X4"]


def test_what_was_handed_out_and_then_dropped_is_lost_whatever_the_gateway_says():
    story = WireStory()
    story.answered("w0")
    asked = story.ask("a1")
    story.crash()
    story.tell(PlatformConfirmed(address=ANA, message_id="q-a1", dropped=True), asked)
    story.send("The session was restored. What next?")
    assert story.end().broken == ["X4"]


def test_what_was_dropped_and_handed_out_again_is_judged_as_ever():
    story = WireStory()
    asked = story.ask("a1", taken=False)
    story.tell(PlatformConfirmed(address=ANA, message_id="q-a1", dropped=True), asked)
    story.tell(PlatformPushed(address=ANA, message_id="q-a1", original_id="q-a1"), asked)
    story.crash()
    story.send(NOTICE)
    assert story.end().broken == []


def test_another_bot_needs_no_answer():
    story = WireStory()
    story.ask("a1", bot=True)
    assert story.end().broken == []


def test_nothing_is_lost_before_patience_is_over():
    story = WireStory()
    story.ask("a1")
    story.end(after=20.0, rest=False)
    verdict = story.verdict("X4")
    assert (verdict.status, verdict.note) == (
        Status.NOT_EXERCISED,
        "1 question is not judged: the run ended before its patience of 45 s was over",
    )


def test_patience_begins_with_the_last_fault_and_the_last_start():
    story = WireStory()
    story.ask("a1")
    story.now += 40.0
    story.crash()
    story.end(after=20.0, rest=False)
    assert story.verdict("X4").status is Status.NOT_EXERCISED


def test_a_run_that_came_to_rest_waited_long_enough():
    story = WireStory(patience=100.0)
    story.ask("a1")
    assert story.end(after=20.0).broken == ["X4"]
    assert "not until the run came to rest" in story.summaries("X4")[0]


# X6


def test_a_message_that_nobody_asked_for_is_x6_alone():
    story = WireStory()
    story.answered("a1")
    story.send("I am back!")
    assert story.end().broken == ["X6"]


@pytest.mark.parametrize("text", [NOTICE, REMARK, "📬 No home channel\\ is set"])
def test_texts_of_the_profile_are_no_surprise(text: str):
    story = WireStory()
    story.answered("a1")
    story.send(text)
    assert story.end().broken == []


def test_the_answer_of_a_turn_that_nobody_asked_for_is_x6():
    story = WireStory()
    story.answered("a1")
    story.crash()
    asked = story.prompt()
    story.model_says(asked, "The session was restored. What next?")
    story.send("The session was restored. What next?")
    assert story.end().broken == ["X6"]
    assert "the answer of a turn that nobody asked for" in story.summaries("X6")[0]


def test_such_a_turn_is_no_notice_either_where_no_question_waits():
    story = WireStory()
    story.answered("a1")
    story.crash()
    asked = story.prompt()
    story.model_says(asked, NOTICE)
    story.send(NOTICE)
    assert story.end().broken == ["X6"]


def test_such_a_turn_is_a_notice_where_a_question_waits():
    story = WireStory()
    story.ask("a1")
    story.prompt("a1")
    story.crash()
    asked = story.prompt()
    story.model_says(asked, "The session was restored. What next?")
    story.send("The session was restored. What next?")
    assert story.end().broken == []


def test_such_a_turn_may_follow_an_answer_of_which_the_gateway_cannot_know():
    story = WireStory()
    story.ask("a1")
    story.send(story.turn("a1"), heard=False)
    story.crash()
    asked = story.prompt()
    story.model_says(asked, "The session was restored.")
    story.send("The session was restored.")
    assert story.end().broken == []


def test_an_answer_in_doubt_in_another_place_is_no_reason_for_such_a_turn():
    story = WireStory()
    story.ask("b1", BEN)
    story.send(story.turn("b1"), BEN, heard=False)
    story.crash()
    asked = story.prompt()
    story.model_says(asked, "The session was restored.")
    story.send("The session was restored.")
    assert story.end().broken == ["X6"]


def test_such_a_turn_that_nobody_sees_breaks_nothing():
    story = WireStory()
    story.answered("a1")
    asked = story.prompt()
    story.model_says(asked, "Nothing was asked.")
    assert story.end().broken == []


def test_a_status_that_is_taken_away_before_the_answer_is_no_surprise():
    story = WireStory()
    story.ask("a1")
    story.delete(story.send("Thinking"))
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_a_status_that_stays_beside_the_answer_is_x6():
    story = WireStory()
    story.ask("a1")
    story.send("Thinking")
    story.send(story.turn("a1"))
    assert story.end().broken == ["X6"]


def test_a_reply_to_the_question_is_asked_for():
    story = WireStory()
    story.ask("a1")
    story.send("I cannot do that.", reply_to="q-a1")
    assert story.end().broken == []


def test_a_command_is_answered_without_the_model():
    story = WireStory()
    story.ask("a1", text="/help")
    story.send("These are the commands.")
    assert story.end().broken == []


def test_an_answer_to_a_question_of_another_run_is_x6():
    story = WireStory()
    story.answered("a1")
    story.send("Done. AZold-g1")
    assert story.end().broken == ["X6"]
    assert "AZold-g1 answers a question that nobody asked in this run" in story.summaries("X6")[0]


def test_what_the_model_answered_unasked_is_no_second_answer():
    """The model took an old question out of what the gateway had added; that is no mistake of the gateway."""
    story = WireStory()
    story.answered("a1")
    story.ask("a2")
    asked = story.prompt("a2")
    story.model_says(asked, "Done. AZa1-g2 AZa2-g1")
    story.send("Done. AZa1-g2 AZa2-g1")
    assert story.end().broken == []


def test_a_refused_message_is_not_seen():
    story = WireStory()
    story.answered("a1")
    story.refuse("I am back!", ANA, Reason.REFUSED)
    assert story.end().broken == []
