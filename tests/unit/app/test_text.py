"""Cells of a terminal: cleaning, cutting and wrapping."""

from rich.cells import cell_len

from tests.support.for_each import for_each
from trunkline.app.text.cells import clean, count, cut, middle_cut, pad, quoted, wrap


def test_a_message_is_one_printable_line():
    assert clean("a\nb\tc") == "a ↵ b c"
    assert clean("red \x1b[31m and bell \x07") == "red ·[31m and bell ·"
    assert "\u202e" not in clean("abc\u202edef")


def test_a_joined_emoji_becomes_its_parts():
    assert clean("👩‍💻") == "👩💻"


@for_each("text", ["short", "a longer text than fits", "会话绑定通道", quoted("a longer text than fits")])
@for_each("width", [0, 1, 2, 5, 8, 12, 40])
def test_nothing_is_wider_than_its_room(text, width):
    assert cell_len(cut(text, width)) <= width
    assert cell_len(middle_cut(text, width)) <= width
    assert cell_len(pad(text, width)) == width


def test_a_cut_message_keeps_its_closing_mark():
    assert cut(quoted("release 41 is out"), 12) == "“release 4…”"


def test_a_key_loses_its_middle():
    assert middle_cut("jeeves:discord:main:channel:501:thread:601", 20) == "jeeves…01:thread:601"


def test_words_wrap_and_long_ones_break():
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert wrap("", 4) == [""]
    assert wrap("a abcdefgh", 6, 4) == ["a", "abcd", "efgh"]
    assert wrap("abcdefghij kl", 6, 4) == ["abcdef", "ghij", "kl"]
    assert all(cell_len(line) <= 5 for line in wrap("会话绑定 x 通道不可知", 5))


def test_counted_nouns_have_a_plural():
    assert [count(0, "row"), count(1, "row"), count(2, "row")] == ["0 rows", "1 row", "2 rows"]
    assert [count(1, "breach", "breaches"), count(2, "breach", "breaches")] == ["1 breach", "2 breaches"]
