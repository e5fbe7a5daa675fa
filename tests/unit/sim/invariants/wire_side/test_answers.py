"""X1 and X5: how often people see an answer, and how often the model is asked for one."""

from __future__ import annotations

import pytest

from tests.support.wire_story import ANA, BEN, DEPLOY, OPS, WireStory
from trunkline.core.values import Peer
from trunkline.sim import Status
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessThawed
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.world import PlatformPushed

LONG = "a part of an answer that is long enough to be no chance, whatever else is said in this place"


def test_an_answer_in_its_place_breaks_nothing():
    story = WireStory()
    story.answered("a1")
    assert story.end().broken == []
    assert [story.verdict(name).exercised for name in ("X1", "X2", "X4", "X5", "X6")] == [1, 1, 1, 1, 1]


def test_an_answer_that_is_sent_twice_is_x1_alone():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.send(text, heard=False)
    story.send(text)
    assert story.end().broken == ["X1"]
    assert story.summaries("X1") == [
        "question a1 of telegram/@ana is answered 2 times: one answer, sent more than once"
    ]


def test_two_turns_that_people_see_are_x1_and_say_so():
    story = WireStory()
    story.ask("a1")
    story.send(story.turn("a1"))
    story.send(story.turn("a1"))
    assert story.end().broken == ["X1", "X5"]
    assert "the answers of 2 turns" in story.summaries("X1")[0]


def test_a_copy_that_is_deleted_later_was_visible_at_its_worst():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.send(text)
    copy = story.send(text)
    story.delete(copy, after=5.0)
    assert story.end().broken == ["X1"]
    assert story.summaries("X1")[0].endswith("2 times for 5.0 s, at its worst: one answer, sent more than once")


def test_the_earlier_copy_may_be_the_one_that_goes():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    first = story.send(text)
    story.send(text)
    story.delete(first, after=5.0)
    assert story.end().broken == ["X1"]


def test_a_copy_that_comes_after_the_first_one_is_gone_is_no_second_answer():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.delete(story.send(text))
    story.send(text)
    assert story.end().broken == []


def test_an_answer_that_grows_by_edits_is_one():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1", text="one two three")
    message = story.send("one")
    story.edit(message, "one two")
    story.edit(message, text)
    story.edit(message, text, repeated=True)
    assert story.end().broken == []


def test_a_draft_may_stand_for_a_moment_beside_the_answer_that_replaces_it():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    draft = story.send(text)
    story.send(text)
    story.delete(draft)
    assert story.end().broken == []


def test_a_final_text_beside_the_message_that_was_edited_is_x1():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    message = story.send("Do")
    story.edit(message, text)
    story.send(text)
    assert story.end().broken == ["X1"]


def test_an_edit_that_turns_another_message_into_a_second_answer_is_x1():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    other = story.send("⚠️ wait")
    story.send(text)
    story.edit(other, text)
    assert story.end().broken == ["X1"]


def test_an_answer_in_several_messages_is_one():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1", text=f"{LONG}\n\nand another part of it")
    story.send(f"{LONG} (1/2)")
    story.send(text.removeprefix(LONG).strip())
    assert story.end().broken == []


def test_the_same_part_of_an_answer_twice_is_x1():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1", text=f"{LONG}\n\nthe end")
    story.send(LONG, heard=False)
    story.send(LONG)
    story.send(text.removeprefix(LONG).strip())
    assert story.end().broken == ["X1"]


def test_the_beginning_of_an_answer_may_stand_beside_it_until_it_goes():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    draft = story.send(text)
    story.now += 5.0
    story.send(f"{text} And more of it.")
    story.delete(draft, after=5.0)
    assert story.end().broken == []


def test_a_part_that_was_taken_away_may_be_sent_again():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1", text=LONG)
    story.delete(story.send(LONG))
    story.send(LONG)
    story.send(text[len(LONG) :])
    assert story.end().broken == []


def test_short_words_may_come_twice_in_one_answer():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1", text="Step by step.\nStep by step.\nThat is all.")
    for part in text.split("\n"):
        story.send(part)
    assert story.end().broken == []


def test_two_answers_may_have_the_same_words():
    story = WireStory()
    for mark in ("a1", "a2"):
        story.ask(mark)
        text = story.turn(mark, text=LONG)
        story.send(LONG)
        story.send(text[len(LONG) :])
    assert story.end().broken == []


def test_a_part_is_shown_twice_although_a_later_answer_has_the_same_words():
    story = WireStory()
    for mark in ("a1", "a2"):
        story.ask(mark)
        text = story.turn(mark, text=LONG)
        story.send(LONG)
        if mark == "a1":
            story.send(LONG)
        story.send(text[len(LONG) :])
    assert story.end().broken == ["X1"]
    assert "a part of the answer to a1 is visible twice" in story.summaries("X1")[0]


def test_the_same_words_for_another_person_allow_no_copy():
    story = WireStory()
    for mark, place in (("b1", BEN), ("a1", ANA)):
        story.ask(mark, place)
        text = story.turn(mark, text=LONG)
        story.send(LONG, place)
        story.send(text[len(LONG) :], place)
    story.send(LONG)
    assert story.end().broken == ["X1"]


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        (f"See:\n```python\n{LONG}\nmore\n```", (f"See:\n```python\n{LONG}\n```", "```python\nmore\n```")),
        (f"[The page](https://x.example/a?b=1) {LONG}", ("The page", LONG)),
        (f"[The page](https://x.example/a) {LONG}", ('<a href="https://x.example/a">The page</a>', LONG)),
        (f"[The page](https://x.example/a) {LONG}", ("<https://x.example/a|The page>", LONG)),
    ],
    ids=["code", "words of a link", "link in HTML", "link of Slack"],
)
def test_a_part_may_have_markup_of_its_own(said: str, parts: tuple[str, ...]):
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1", text=said)
    for part in (*parts, text[len(said) :]):
        story.send(part)
    assert story.end().broken == []


def test_one_message_may_answer_several_questions():
    story = WireStory()
    for mark in ("a1", "a2", "a3"):
        story.ask(mark)
    story.prompt("a1")
    story.send(story.turn("a1", "a2", "a3"))
    assert story.end().broken == []
    assert story.verdict("X1").exercised == 3


def test_an_answer_in_its_place_and_in_another_one_is_x1_and_x2():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.send(text)
    story.send(text, BEN)
    assert story.end().broken == ["X1", "X2"]
    assert "in 2 places" in story.summaries("X1")[0]


# X5


def test_a_second_turn_that_nobody_sees_is_x5_alone():
    story = WireStory()
    story.ask("a1")
    story.turn("a1")
    story.send(story.turn("a1"))
    assert story.end().broken == ["X5"]


def test_a_turn_may_run_again_after_a_failure_of_the_model():
    story = WireStory()
    story.ask("a1")
    story.turn("a1", status=500)
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_a_turn_may_run_again_after_a_fault_on_the_model():
    story = WireStory()
    story.ask("a1")
    asked = story.prompt("a1")
    story.tell(FaultFired(fault="model/cut"), asked)
    story.model_says(asked, "This answer breaks")
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_a_request_that_was_given_up_may_be_made_again():
    story = WireStory()
    story.ask("a1")
    story.prompt("a1")
    story.now += 14.5
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_whoever_does_not_wait_for_the_model_asks_twice():
    story = WireStory()
    story.ask("a1")
    story.prompt("a1")
    story.now += 13.5
    story.send(story.turn("a1"))
    assert story.end().broken == ["X5"]


def test_a_request_that_was_given_up_for_the_same_message_is_another_turn():
    story = WireStory()
    said = story.ask("a1")
    story.prompt("a1")
    story.tell(PlatformPushed(address=ANA, message_id="q-a1", original_id="q-a1", replay=True), said)
    story.send(story.turn("a1"))
    assert story.end().broken == ["X5"]


def test_two_requests_at_once_that_are_both_answered_are_two_turns():
    story = WireStory()
    story.ask("a1")
    first, second = story.prompt("a1"), story.prompt("a1")
    story.model_says(first, "Done. AZa1-g1")
    story.model_says(second, "Done. AZa1-g2")
    story.send("Done. AZa1-g1")
    assert story.end().broken == ["X5"]


def test_a_failure_of_another_turn_is_no_reason_for_another_one():
    story = WireStory()
    story.ask("a1")
    story.ask("b1", BEN)
    text = story.turn("a1")
    story.turn("b1", status=500)
    story.turn("a1")
    story.send(text)
    story.send(story.turn("b1"), BEN)
    assert story.end().broken == ["X5"]
    assert "asked again for a1" in story.summaries("X5")[0]


def test_a_fault_on_a_send_is_no_reason_for_another_turn():
    story = WireStory()
    story.ask("a1")
    story.turn("a1")
    story.fault("send/reset")
    story.send(story.turn("a1"))
    assert story.end().broken == ["X5"]


def test_a_turn_may_run_again_after_the_process_was_killed_in_it():
    story = WireStory()
    story.ask("a1")
    story.turn("a1")
    story.crash()
    story.send(NOTICE_OF_RESTART)
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_what_a_killed_process_had_asked_is_read_after_its_end_and_may_be_asked_again():
    """The request was in the socket when the process was killed."""
    story = WireStory()
    story.ask("a1")
    story.tell(FaultFired(fault="crash"))
    story.tell(ProcessCrashed(why="crash"), after=0.0)
    story.prompt("a1")
    story.start()
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_what_the_next_process_asks_twice_is_two_turns():
    """The first of the two was asked by the process that runs."""
    story = WireStory()
    story.ask("a1")
    story.crash()
    story.turn("a1")
    story.send(story.turn("a1"))
    assert story.end().broken == ["X5"]


def test_a_turn_may_run_again_after_a_freeze():
    story = WireStory()
    story.ask("a1")
    story.turn("a1")
    story.tell(ProcessFrozen(why="freeze"))
    story.tell(ProcessThawed())
    story.send(story.turn("a1"))
    assert story.end().broken == []


def test_a_turn_whose_answer_people_had_before_the_crash_must_not_run_again():
    story = WireStory()
    story.answered("a1")
    story.crash()
    story.turn("a1")
    assert story.end().broken == ["X5"]


def test_requests_beside_a_turn_are_none():
    story = WireStory()
    story.answered("a1")
    story.prompt("a1", beside=True)
    assert story.end().broken == []


def test_a_message_that_waited_is_no_second_turn_of_the_first():
    story = WireStory()
    story.ask("a1", OPS)
    story.prompt("a1")
    story.ask("a2", OPS, peer=Peer(id="8"))
    story.send(story.turn("a1", "a2"), OPS)
    assert story.end().broken == []
    assert story.verdict("X5").exercised == 2


# judging by side


def test_what_needs_the_inside_of_the_gateway_is_not_judged():
    story = WireStory()
    story.answered("a1", DEPLOY)
    inside = [verdict for verdict in story.end().verdicts if not verdict.id.startswith("X")]
    assert {verdict.status for verdict in inside} == {Status.NOT_EXERCISED}
    assert {verdict.note for verdict in inside} == {
        "not judged: it needs the inside of the gateway, and only the wire is known here"
    }
    assert [verdict.id for verdict in story.verdicts if verdict.id.startswith("X")] == [
        f"X{number}" for number in range(1, 11)
    ]


NOTICE_OF_RESTART = "⚠️ I go on with your question."
