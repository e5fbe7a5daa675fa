"""Marks: the names of questions, and how they are found in texts."""

import pytest

from trunkline.sim.index.marks import (
    AnswerMark,
    answer_text,
    answers_in,
    mark_of,
    question_text,
    questions_in,
    shown_words,
    unique_marks,
    without_marks,
)


@pytest.mark.parametrize(("name", "mark"), [("m1", "m1"), ("My Question-2", "myquestion2"), ("–", "q"), ("", "q")])
def test_a_mark_is_made_of_small_letters_and_digits(name: str, mark: str):
    assert mark_of(name) == mark


def test_no_two_questions_have_one_mark():
    assert unique_marks(["a", "A", "a!", "b"]) == {"a": "a", "A": "ax2", "a!": "ax3", "b": "b"}


def test_marks_are_found_in_what_was_written_with_them():
    marks = [AnswerMark("a1", 1), AnswerMark("b", 12)]
    assert answers_in(answer_text("Done.", marks)) == tuple(marks)
    assert answers_in("`AZa1-g1`\nAZb\\-g12 <b>AZa1-g1</b>") == tuple(marks)
    assert questions_in(f"> {question_text('hello', 'a1')}\n{question_text('and', 'b2')} QZa1") == ("a1", "b2")


@pytest.mark.parametrize("text", ["AZa1", "AZa1-g", "AZ-g1", "azb-g1", "QZa1"])
def test_half_a_mark_is_none(text: str):
    assert answers_in(text) == ()


def test_a_text_without_marks_is_what_was_said():
    assert without_marks("Done\\. AZa1-g1 AZa2-g1") == "Done."
    assert without_marks("hello QZa1") == "hello"
    assert answer_text("", [AnswerMark("a1", 1)]) == "AZa1-g1"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("It is *done*", "It is done", True),
        ("<b>It is</b>  done\n", "It is d\u200bone", True),
        ("see [the page](https://a.b/c)", "see the page", True),
        ("caf\u00e9", "cafe\u0301", True),
        ("It is done!", "It is done", False),
        ("It is done", "it is done", False),
        ("1 < 2", "1 2", False),
    ],
)
def test_two_texts_are_the_same_words_if_people_read_the_same_in_them(one: str, other: str, same: bool) -> None:
    assert (shown_words(one) == shown_words(other)) is same
