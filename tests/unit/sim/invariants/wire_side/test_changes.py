"""X2, X3, X6 and X9 of messages that are edited, and of what only looks like one that concerns a question."""

import pytest

from tests.support.wire_story import ANA, BEN, DEPLOY, NOTICE, OPS, WireStory
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind
from trunkline.sim.events.model import ModelAnswered
from trunkline.sim.events.wire import WireEdited, WireResponseLost
from trunkline.sim.events.world import ThreadOpened

OTHER_ACCOUNT = Address(channel="telegram", account="second", kind=ChatKind.DIRECT, conversation="7")
ROOM = Address(channel="slack", account="default", kind=ChatKind.CHANNEL, conversation="C1")
OTHER_ROOM = Address(channel="slack", account="default", kind=ChatKind.CHANNEL, conversation="C2", thread="q-a1")


def test_a_message_that_becomes_an_answer_by_an_edit_has_its_place():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.edit(story.send("Do", OPS), text)
    assert story.end().broken == ["X2"]


def test_one_that_becomes_it_after_the_thread_was_deleted_is_x3():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.close(DEPLOY)
    message = story.send("Do", OPS)
    story.edit(message, text)
    story.edit(message, f"{text} (edited)")
    assert story.end().broken == ["X3"]
    assert len(story.verdict("X3").violations) == 1


def test_an_edit_that_changes_nothing_is_no_second_finding():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.close(DEPLOY)
    message = story.send(text, OPS)
    story.edit(message, text, repeated=True)
    story.ask("a2", OPS)
    found = story.send(story.turn("a2"), BEN)
    story.edit(found, "AZa2-g1", repeated=True)
    assert story.end().broken == ["X2", "X3"]
    assert [len(story.verdict(name).violations) for name in ("X2", "X3")] == [1, 1]


def test_an_edit_of_somebody_else_s_message_is_no_answer():
    story = WireStory()
    story.answered("a1")
    story.tell(WireEdited(address=BEN, message_id="q-b1", text="Done. AZa1-g1", author="other"))
    assert story.end().broken == []


def test_an_edit_after_a_second_answer_was_added_is_judged_for_that():
    story = WireStory()
    story.ask("a1")
    story.ask("b1", BEN)
    first, second = story.turn("a1"), story.turn("b1")
    message = story.send(first)
    story.edit(message, f"{first} {second}")
    assert story.end().broken == ["X2"]
    assert story.summaries("X2")[0].startswith("the answer to question b1 ")


def test_a_mark_of_another_run_hides_no_answer_beside_it():
    story = WireStory()
    story.ask("a1", DEPLOY)
    story.turn("a1")
    story.send("AZold-g1 AZa1-g1", OPS)
    assert story.end().broken == ["X2"]
    gone = WireStory()
    gone.ask("a1", DEPLOY)
    gone.turn("a1")
    gone.close(DEPLOY)
    gone.send("AZold-g1 AZa1-g1", OPS)
    assert gone.end().broken == ["X3"]


def test_answers_in_another_order_by_edits_are_x9():
    story = WireStory()
    story.ask("a1")
    story.ask("a2")
    first, second = story.turn("a1"), story.turn("a2")
    later, earlier = story.send("Do"), story.send("Do")
    story.edit(later, second)
    story.edit(earlier, first)
    assert story.end().broken == ["X9"]


def test_an_edit_that_leaves_an_answer_is_no_second_disorder():
    story = WireStory()
    story.ask("a1")
    story.ask("a2")
    first, second = story.turn("a1"), story.turn("a2")
    story.send(second)
    message = story.send(first)
    story.edit(message, f"{first} (edited)")
    story.edit(message, first, repeated=True)
    assert len(story.end().verdict("X9").violations) == 1


def test_an_order_is_exercised_by_what_waits_in_the_same_place():
    story = WireStory()
    story.ask("a1", DEPLOY)
    story.close(DEPLOY)
    story.ask("a2", OPS)
    story.send(story.turn("a2"), OPS)
    story.send(NOTICE, OPS)
    assert story.end().verdict("X9").exercised == 0
    plain = WireStory()
    plain.ask("a1")
    plain.ask("", text="no question")
    plain.send(plain.turn("a1"))
    assert plain.end().verdict("X9").exercised == 0


def test_what_is_answered_in_another_place_has_no_order_there():
    story = WireStory()
    story.ask("a1")
    story.ask("a2")
    first, second = story.turn("a1"), story.turn("a2")
    story.send(second, BEN)
    story.send(first)
    assert "X9" not in story.end().broken


def test_who_is_told_in_a_thread_of_another_room_is_told_nothing():
    story = WireStory()
    story.ask("a1", ROOM)
    story.tell(ThreadOpened(address=OTHER_ROOM, name="C2/a1", on_message="q-a1"))
    story.send(story.turn("a1"), OTHER_ROOM)
    assert story.end().broken == ["X2"]


def test_the_chat_of_another_account_is_another_place():
    story = WireStory()
    story.ask("a1")
    story.refuse(story.turn("a1"), ANA, Reason.PLACE_GONE)
    story.send("That did not work.", OTHER_ACCOUNT)
    assert story.end().broken == ["X6"]


def test_a_lost_response_excuses_words_in_its_place_only():
    story = WireStory()
    story.ask("a1")
    story.tell(WireResponseLost(address=BEN, chunk=1, attempt=1))
    story.send("That may have arrived.")
    story.send(story.turn("a1"))
    assert story.end().broken == ["X6"]
    here = WireStory()
    here.ask("a1")
    here.tell(WireResponseLost(address=ANA, chunk=1, attempt=1))
    here.send("That may have arrived.")
    here.send(here.turn("a1"))
    assert here.end().broken == []


@pytest.mark.parametrize("when", ["before the question", "after the text"])
def test_trouble_at_another_time_excuses_nothing(when: str):
    story = WireStory()
    if when == "before the question":
        story.fault()
    story.ask("a1")
    story.send("A moment, please.")
    if when == "after the text":
        story.fault()
    story.send(story.turn("a1"))
    assert story.end().broken == ["X6"]


def test_an_answer_of_which_the_gateway_knows_is_not_in_doubt():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.send(text, heard=False)
    story.crash()
    story.send(text)
    story.model_says(story.prompt(), "The session was restored.")
    story.send("The session was restored.")
    assert story.end().broken == ["X1", "X6"]


def test_what_is_sent_after_a_notice_puts_nothing_in_doubt_before_it():
    story = WireStory()
    story.answered("w0")
    story.model_says(story.prompt(), "The session was restored.")
    story.send("The session was restored.")
    story.ask("a1")
    story.send(story.turn("a1"), heard=False)
    assert story.end().broken == ["X6"]


def test_a_known_notice_is_known_by_any_of_its_texts():
    story = WireStory()
    story.answered("a1")
    message = story.send(NOTICE)
    story.edit(message, "It is over.")
    assert story.end().broken == []


def test_a_notice_in_the_words_of_the_model_is_one_where_a_question_waits():
    story = WireStory()
    story.ask("a1")
    story.model_says(story.prompt(), NOTICE)
    story.send(NOTICE)
    assert "X6" not in story.end().broken


def test_the_words_of_the_model_are_about_no_question_that_it_was_never_asked():
    story = WireStory()
    story.ask("a1")
    story.crash()
    story.model_says(story.prompt(), "The session was restored.")
    story.send("The session was restored.")
    story.send(story.turn("a1"))
    assert story.end().broken == ["X6"]


def test_an_answer_with_status_500_has_said_nothing():
    story = WireStory()
    story.ask("a1")
    asked = story.prompt("a1")
    story.tell(ModelAnswered(status=500, text="Overloaded, sorry."), asked)
    story.send("Overloaded, sorry.")
    assert story.end().broken == []
