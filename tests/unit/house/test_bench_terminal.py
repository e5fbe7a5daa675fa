"""The bars of the tour read a screen: what a program writes stands where it moved the cursor to."""

import os
import sys

import pytest

from tests.support.bench.terminal import NotShown, Picture, shown


def test_text_stands_where_the_cursor_was_moved_to():
    picture = Picture(12, 3)
    picture.write(b"\x1b[?1049h\x1b]22;default\x07\x1b[2;3H\x1b[1;38;2;1;2;3mq Quit\x1b[0m\r\nend")
    assert picture.lines == ["", "  q Quit", "end"]


def test_a_sequence_and_a_character_may_come_in_two_pieces():
    picture = Picture(8, 2)
    whole = "\x1b[2;2H╭─\x1b[0m!".encode()
    for at in range(len(whole)):
        picture.write(whole[at : at + 1])
    assert picture.lines == ["", " ╭─!"]


def test_stages_are_waited_for_and_an_end_before_them_is_reported():
    command = (sys.executable, "-c", "print('one'); print('two')")
    first, second = shown(command, (("one",), ("one", "two")), size=(20, 5), environment=os.environ, patience=30)
    assert 0 < first.wall <= second.wall
    with pytest.raises(NotShown, match="one\ntwo"):
        shown(command, (("three",),), size=(20, 5), environment=os.environ, patience=30)
