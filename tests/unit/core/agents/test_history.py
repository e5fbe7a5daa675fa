"""Which lines of a transcript a turn is given."""

from hypothesis import given
from hypothesis import strategies as st

from trunkline.core.agents.history import earlier_lines, newest_lines
from trunkline.core.values import TranscriptLine, TurnId


def line(role: str, text: str, ref: str) -> TranscriptLine:
    return TranscriptLine(role=role, text=text, ref=ref, partial=False, at=0.0)


TALK = (
    line("user", "first", "in-1"),
    line("user", "second", "in-2"),
    line("assistant", "to the first", "in-1.reply"),
    line("delivery", "not arrived", "delivery/in-1.reply"),
    line("user", "third", "in-3"),
)


def texts(turn: str) -> list[str]:
    return [one.text for one in earlier_lines(TurnId(turn), TALK)]


def test_the_message_of_the_turn_and_those_that_wait_are_left_out() -> None:
    assert texts("t-in-1") == ["to the first", "not arrived"]
    assert texts("t-in-2") == ["first", "to the first", "not arrived"]
    assert texts("t-in-3") == ["first", "second", "to the first", "not arrived"]


def test_a_turn_without_a_message_has_every_line() -> None:
    assert texts("t-in-9") == [one.text for one in TALK]


def test_the_newest_lines_are_kept_within_both_limits() -> None:
    assert [one.text for one in newest_lines(TALK, 2, 100).lines] == ["not arrived", "third"]
    assert [one.text for one in newest_lines(TALK, 9, 16).lines] == ["not arrived", "third"]
    assert newest_lines(TALK, 9, 15).lines == TALK[4:]
    assert newest_lines(TALK, 0, 100) == newest_lines(TALK, 9, 0)
    assert newest_lines(TALK, 0, 100).cut is True
    assert newest_lines(TALK, 5, 100).cut is False


@given(st.lists(st.text(max_size=20)), st.integers(0, 30), st.integers(0, 200))
def test_no_line_is_cut_or_left_out_in_the_middle(said: list[str], most: int, characters: int) -> None:
    lines = [line("user", text, str(n)) for n, text in enumerate(said)]
    found = newest_lines(lines, most, characters)
    kept = list(found.lines)
    assert kept == lines[len(lines) - len(kept) :]
    assert len(kept) <= most and sum(len(one.text) for one in kept) <= characters
    assert found.cut == (len(kept) < len(lines))
    if found.cut and len(kept) < most:
        assert sum(len(one.text) for one in lines[len(lines) - len(kept) - 1 :]) > characters
