"""Lengths in UTF-16 code units, and what people see as one character, by example."""

from tests.support.for_each import for_each
from trunkline.core.text.chunking.utf16 import boundaries, boundary, fits, reach, skip_blanks, units, visible


@for_each(
    ("text", "length"),
    [("", 0), ("abc", 3), ("Grüße", 5), ("漢字", 2), ("😀", 2), ("a😀b", 4), ("\ud83d", 1), ("\ud83d\ude00", 2)],
)
def test_lengths(text: str, length: int) -> None:
    assert units(text) == length


@for_each(
    ("text", "limit", "expected"),
    [
        ("abc", 3, True),
        ("abcd", 3, False),
        ("😀😀", 4, True),
        ("😀😀", 3, False),
        ("é" * 3, 3, True),
        ("abc", 0, True),
        ("abc", -1, True),
    ],
)
def test_what_fits(text: str, limit: int, expected: bool) -> None:
    assert fits(text, limit) is expected


@for_each(
    ("text", "room", "stop"),
    [("abc", 2, 2), ("abc", 9, 3), ("a😀b", 2, 1), ("a😀b", 3, 2), ("😀", 1, 0), ("abc", 0, 0), ("abc", -5, 0)],
)
def test_reach(text: str, room: int, stop: int) -> None:
    assert reach(text, 0, len(text), room) == stop


@for_each(
    "cluster",
    [
        "e\u0301",
        "n\u0303\u0323",
        "❤\ufe0f",
        "1\ufe0f\u20e3",
        "👍🏽",
        "🇩🇪",
        "👩\u200d👩\u200d👧",
        "🏴\U000e0067\U000e0062\U000e007f",
        "🧑🏽\u200d⚕\ufe0f",
        "\u1100\u1161\u11a8",
        "\uac00\u11a8",
        "\uac01\u11a8",
        "क्षि",
        "நி",
        "\u0e01\u0e31",
        "\u0600١",
        "ｶ\uff9e",
        "\r\n",
        " \u0301",
    ],
)
def test_what_people_see_as_one_character_is_kept(cluster: str) -> None:
    text = f"a{cluster}b"
    inside = list(range(2, len(cluster) + 1))
    assert boundaries(text, 0, len(text)) == [at for at in range(1, len(text) + 1) if at not in inside]
    assert all(boundary(text, at, 0) == 1 for at in inside)


def test_characters_that_only_stand_together_are_parted() -> None:
    for text in ("ab", "🇩🇪🇫🇷", "漢字", "\n\u0301", "가가", "کم", "a\u200bb", "👍👍", "क ष", "ªº", "\u200da"):
        middle = len(text) // 2
        assert boundaries(text, 0, middle)[-1] == middle, text


def test_flags_pair_up_from_the_first() -> None:
    text = "🇩🇪🇫🇷🇮"
    assert boundaries(text, 0, 5) == [2, 4, 5]
    assert boundaries(text, 1, 5) == [3, 5]


def test_a_cluster_without_end_is_cut_where_it_must() -> None:
    assert boundary("e" + "\u0301" * 9, 5, 0) == 5


def test_blanks_go_but_for_those_with_an_accent() -> None:
    assert skip_blanks("a \n\u00a0\ufeffb", 1, 6) == 5
    assert skip_blanks("a  \u0301b", 1, 5) == 2
    assert skip_blanks("a  ", 1, 3) == 3
    assert skip_blanks("ab", 1, 2) == 1


@for_each(
    ("text", "expected"),
    [
        ("", False),
        (" \n\u200b", False),
        ("\u2060x", True),
        ("\x1b", False),
        ("\ue000", True),
        ("\u3164", True),
        ("é", True),
    ],
)
def test_what_can_be_seen(text: str, expected: bool) -> None:
    assert visible(text) is expected
