"""X1: how often people see an answer."""

import pytest

from tests.support.wire_story import ANA, BEN, WireStory

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


def test_a_copy_that_is_edited_away_was_visible_at_its_worst():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    first = story.send(text)
    story.send(text)
    story.now += 19.0
    story.edit(first, "✓")
    assert story.end().broken == ["X1"]
    assert " for 20.0 s" in story.summaries("X1")[0]


def test_a_copy_that_comes_later_is_no_draft_however_soon_it_goes():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.send(text)
    story.delete(story.send(text))
    assert story.end().broken == ["X1"]


def test_the_time_of_several_copies_is_that_of_all_of_them():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.send(text)
    first, second = story.send(text), story.send(text)
    story.delete(first, after=7.0)
    story.delete(second, after=7.0)
    assert story.end().summaries("X1")[0].startswith("question a1 of telegram/@ana is answered 2 times for 8.0 s")


def test_copies_are_seen_together_until_the_first_of_them_goes():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    first, second = story.send(text), story.send(text)
    story.delete(second, after=10.0)
    story.delete(first, after=10.0)
    story.send(text)
    assert story.end().summaries("X1")[0].startswith("question a1 of telegram/@ana is answered 2 times for 10.0 s")


@pytest.mark.parametrize(("seconds", "broken"), [(2.0, []), (2.1, ["X1"])])
def test_a_draft_may_stand_for_two_seconds_beside_its_answer(seconds: float, broken: list[str]):
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    draft = story.send(text)
    story.now = 100.0 - 1.0
    story.send(text)
    story.now = 100.0 + seconds
    story.delete(draft, after=0.0)
    assert story.end().broken == broken


def test_another_text_is_no_beginning_of_the_answer():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    first = story.send(f"Well: {text}")
    story.send(text)
    story.delete(first, after=5.0)
    assert story.end().broken == ["X1"]


def test_what_is_taken_away_shows_no_later_text():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    draft = story.send("Do")
    story.delete(draft)
    story.edit(draft, text)
    story.send(text)
    assert story.end().broken == []


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


def test_a_kill_between_two_turns_is_said_and_in_the_path() -> None:
    story = WireStory()
    story.answered("a1")
    story.crash()
    story.send(story.turn("a1"))
    violation = story.end().verdict("X5").violations[0]
    assert "the process ended in between (#" in violation.actual[0]
    assert "process.crashed" in [story.events[seq - 1].kind for seq in violation.path]


def test_turns_that_overlap_are_told_from_a_turn_that_runs_twice() -> None:
    story = WireStory()
    for mark in ("a1", "a2", "a3"):
        story.ask(mark)
    for marks in (("a1",), ("a1", "a2"), ("a1", "a2", "a3")):
        story.send(story.turn(*marks))
    summary = story.end().summaries("X1")[0]
    assert "turns of one place ran at the same time, and it was in 3 prompts (a1, a2, a3)" in summary
    assert "assumption" in summary
