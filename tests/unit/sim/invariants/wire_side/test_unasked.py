"""X6: what is said that nobody asked for."""

import pytest

from tests.support.wire_story import ANA, BEN, DEPLOY, NOTICE, REMARK, WireStory
from trunkline.core.reasons import Reason
from trunkline.core.values import Address
from trunkline.sim.index.wire_side import MarkedQuestion, RunWireSide


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


def test_an_answer_without_letters_is_the_beginning_of_no_text():
    story = WireStory()
    story.answered("a1")
    story.ask("a2")
    asked = story.prompt("a2")
    story.model_says(asked, "…")
    story.send("I am back!")
    assert "X6" in story.end().broken


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


def test_a_refusal_in_another_place_excuses_no_text_here():
    story = WireStory()
    story.ask("a1")
    story.ask("b1", BEN)
    story.refuse(story.turn("b1"), BEN, Reason.REFUSED)
    story.send(NOTICE, BEN)
    story.send("I am back!")
    story.send(story.turn("a1"))
    assert story.end().broken == ["X6"]


def test_a_closed_thread_excuses_no_text_in_another_room():
    story = WireStory()
    story.ask("a1")
    story.close(DEPLOY)
    story.send("I am back!")
    story.send(story.turn("a1"))
    assert story.end().broken == ["X6"]


def test_a_limit_in_another_place_may_hold_for_all_of_them():
    story = WireStory()
    story.ask("a1")
    story.ask("b1", BEN)
    answer = story.turn("b1")
    story.refuse(answer, BEN, Reason.RATE_LIMITED, retry_after=5.0)
    story.send("A moment, please.")
    story.now += 5.0
    story.send(answer, BEN)
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_an_answer_that_was_refused_in_a_wrong_place_is_trouble_of_its_question():
    story = WireStory()
    story.ask("a1")
    story.refuse(story.turn("a1"), BEN, Reason.REFUSED)
    story.send("That did not work.")
    assert story.end().broken == []


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


@pytest.mark.parametrize("text", [NOTICE, "I could not send it."], ids=["notice", "unknown text"])
def test_a_gateway_that_hears_of_no_response_is_judged_without_a_look_at_each_pair(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    looks = 0
    concerns = RunWireSide.concerns

    def counted(self: RunWireSide, question: MarkedQuestion, where: Address) -> bool:
        nonlocal looks
        looks += 1
        return concerns(self, question, where)

    monkeypatch.setattr(RunWireSide, "concerns", counted)
    found: list[int] = []
    for questions in (50, 200):
        story, looks = WireStory(), 0
        for number in range(questions):
            story.ask(f"a{number}", DEPLOY)
            story.send(story.turn(f"a{number}"), DEPLOY, heard=False)
            story.send(text, (DEPLOY, BEN)[number % 2], heard=False)
        story.end()
        found.append(looks)
    assert found[1] < 6 * found[0], found
