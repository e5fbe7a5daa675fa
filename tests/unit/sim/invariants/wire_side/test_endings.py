"""X4: what becomes of each question."""

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
def test_a_notice_of_what_became_of_it_is_an_end(text: str):
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


def test_a_person_whose_own_chat_is_gone_cannot_be_notified():
    story = WireStory()
    story.ask("b1", BEN)
    story.refuse(story.turn("b1"), BEN, Reason.PLACE_GONE, detail="bot was blocked by the user")
    story.answered("a1")
    assert story.end().broken == []


def test_nor_those_of_a_room_that_the_gateway_is_no_member_of():
    story = WireStory()
    story.ask("a1", OPS)
    story.refuse(story.turn("a1"), OPS, Reason.PLACE_GONE, detail="bot was kicked from the group")
    story.answered("a2")
    assert story.end().broken == []


def test_a_chat_that_takes_messages_again_is_there():
    story = WireStory()
    story.ask("b1", BEN)
    story.refuse(story.turn("b1"), BEN, Reason.PLACE_GONE)
    story.answered("b2", BEN)
    story.ask("b3", BEN)
    story.turn("b3")
    assert [text.split()[1] for text in story.end().summaries("X4")] == ["b1", "b3"]


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


def test_what_was_dropped_and_handed_out_again_is_judged_as_before():
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


# ---------------------------------------------------------------- told at once, at the next message, or never


def lost_and_asked_again(notice: bool) -> WireStory:
    """A question whose answer is refused; its asker writes once more, and gets a notice about it, or none."""
    story = WireStory()
    story.ask("one")
    story.refuse(story.turn("one"))
    story.now += 60
    story.ask("againone", text="are you there?")
    if notice:
        story.send("I could not confirm whether my previous reply reached this chat.")
    story.send(story.turn("againone"))
    return story.end()


def test_who_is_told_at_the_next_message_only_is_told_late() -> None:
    story = lost_and_asked_again(notice=True)
    assert story.broken == []
    (remark,) = story.verdict("X4").remarks
    assert "question one of telegram/@ana: notified only when its asker wrote again" in remark


def test_who_is_told_nothing_at_the_next_message_either_is_lost_in_silence() -> None:
    story = lost_and_asked_again(notice=False)
    assert story.broken == ["X4"]
    (summary,) = story.summaries("X4")
    assert "not within 45 s, nor when its asker wrote again; its answer was tried once" in summary
    assert story.verdict("X4").remarks == ()


def test_who_was_told_at_once_is_no_case_for_a_remark() -> None:
    story = WireStory()
    story.ask("one")
    story.refuse(story.turn("one"))
    story.send("⚠️ It could not be sent.")
    story.ask("againone", text="are you there?")
    story.send(story.turn("againone"))
    assert story.end().verdict("X4").remarks == ()


def test_what_was_written_once_more_is_no_question_of_the_run() -> None:
    """It is lost with the first one, and has no place in the order."""
    story = WireStory()
    story.ask("one")
    story.turn("one")
    story.ask("againone", text="are you there?")
    assert len(story.end().summaries("X4")) == 1
    story = WireStory()
    story.ask("one")
    said = story.turn("one")
    story.ask("againone", text="are you there?")
    story.send(story.turn("againone"))
    story.send(said)
    assert story.end().broken == []


# ---------------------------------------------------------------- what it was that kept people from an answer


def test_a_notice_that_is_refused_too_is_said() -> None:
    story = WireStory()
    story.ask("one", DEPLOY)
    story.close(DEPLOY)
    said = story.turn("one")
    for _ in range(3):
        story.refuse(said, DEPLOY, digest="another each time")
    story.refuse("Delivery failed.", DEPLOY)
    (summary,) = story.end().summaries("X4")
    assert summary.endswith("; the answer was tried 3 times, and a notice once: all were refused")


def test_a_wait_that_nothing_followed_is_said() -> None:
    story = WireStory()
    story.ask("one")
    story.refuse(story.turn("one"), reason=Reason.RATE_LIMITED, retry_after=4.0)
    violation = story.end().verdict("X4").violations[0]
    assert violation.summary.endswith("; its answer was refused with a wait of 4 s, and not sent again")
    kinds = [story.events[seq - 1].kind for seq in violation.path]
    assert kinds == ["peer.said", "model.asked", "model.answered", "wire.called", "wire.refused"]
    assert violation.missing_after == violation.path[-1]


def test_a_kill_is_in_the_path_of_what_it_lost() -> None:
    story = WireStory()
    story.ask("one")
    story.turn("one")
    story.crash()
    violation = story.end().verdict("X4").violations[0]
    assert "process.crashed" in [story.events[seq - 1].kind for seq in violation.path]
    assert any("the gateway was killed" in line for line in violation.actual)


def test_an_answer_in_pieces_is_no_silence() -> None:
    story = WireStory()
    story.ask("one")
    story.turn("one", text="The deployment of the new version has come through.")
    for piece in ("The deployment of ", "the new version has "):
        story.send(piece)
    (summary,) = story.end().summaries("X4")
    assert "is answered in pieces: 2 messages with parts of its answer" in summary
    assert "silence" not in summary
