"""Session keys that are almost the same stand together, and what differs is known."""

import pytest

from tests.support.for_each import for_each
from trunkline.app.view.sessions.similar_keys import cut_around, group_similar


def differing(*keys: str) -> dict[str, str]:
    _, spots = group_similar(keys)
    return {keys[at]: keys[at][spot.start : spot.stop] for at, spot in spots.items()}


@for_each(
    ("one", "other", "mine", "theirs"),
    [
        ("a:dc:main:channel:OPS", "a:dc:main:channel:ops", "OPS", "ops"),
        ("a:tg:main:group:-1001", "a:tg:main:group:-1002", "1", "2"),
        ("a:dc:main:channel:1", "a:dc:main:channel:1:thread:7", "", ":thread:7"),
        ("a:tg:*:direct:97", "a:tg:default:direct:97", "*", "default"),
        ("a:tg:dm:1002003", "a:tg:direct:1002003", "m", "irect"),
        ("a:mx:main:channel:%21%41b", "a:mx:main:channel:%21ab", "%41", "a"),
    ],
)
def test_near_keys_differ_in_these_characters(one, other, mine, theirs):
    assert differing(one, other) == {one: mine, other: theirs}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a:dc:main:direct:970312941", "a:dc:main:direct:711076224"),
        ("a:main", "a:dc:main:direct:711076224"),
        ("", "a:main"),
        ("", ""),
    ],
)
def test_other_keys_are_left_alone(one, other):
    assert group_similar([one, other]) == ([0, 1], {})


def test_similar_keys_are_grouped_at_the_first_of_them():
    keys = ["a:dc:x:channel:ops", "a:tg:x:direct:1234567", "a:dc:x:channel:OPS", "", "a:dc:x:channel:random"]
    order, spots = group_similar(keys)
    assert [keys[at] for at in order] == [keys[2], keys[0], keys[1], keys[3], keys[4]]
    assert set(spots) == {0, 2}


@pytest.mark.parametrize(
    ("room", "text", "marked"),
    [(60, "a:dc:main:channel:OPS:thread:7", "OPS"), (13, "…nel:OPS:thr…", "OPS"), (5, "a:…:7", "…"), (1, "…", "…")],
)
def test_a_cut_key_still_shows_where_it_differs(room, text, marked):
    shown, there = cut_around("a:dc:main:channel:OPS:thread:7", range(18, 21), room)
    assert (shown, "".join(shown[at] for at in sorted(there))) == (text, marked)


def test_a_cut_key_that_differs_at_its_end_keeps_both_ends():
    shown, there = cut_around("a:dc:main:channel:12345:thread:7", range(31, 32), 13)
    assert (shown, sorted(there)) == ("a:dc:m…read:7", [12])
