"""What belongs to one act of a person, and the message that it becomes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.factories import envelope, room
from trunkline.core.channels.acts import ALBUM, LONG_TEXT, MOST, album_of, belongs, is_whole, joined
from trunkline.core.message_parts import FilePart, LocationPart, MediaKind
from trunkline.core.values import Envelope

PLACE = room("-100", channel="telegram")


def picture(message: str, text: str = "", act: str | None = "a1", name: str = "lamp.jpg") -> Envelope:
    part = FilePart(file=MediaKind.PICTURE, name=name)
    return envelope(PLACE, message_id=message, text=text, parts=(part,), act=act)


def words(message: str, text: str, act: str | None = None, **more: object) -> Envelope:
    return envelope(PLACE, message_id=message, text=text, act=act, **more)


@pytest.mark.parametrize(
    ("last", "then", "expected"),
    [
        (picture("1"), picture("2"), True),
        (picture("1"), picture("2", act="a2"), False),
        (picture("1"), words("2", "what is this?"), False),
        (words("1", "x" * 4000, LONG_TEXT), words("2", "and so on"), True),
        (words("1", "x" * 4000, LONG_TEXT), words("2", "x" * 4000, LONG_TEXT), True),
        (words("1", "x" * 4000, LONG_TEXT), picture("2"), False),
        (words("1", "x" * 4000, LONG_TEXT), words("2", "yes", pressed="0"), False),
        (words("1", "x" * 4000, LONG_TEXT), words("2", "yes", stands_for="0"), False),
        # Platforms hand over at once what was said while the gateway was away.
        (words("1", "x" * 4000, LONG_TEXT, sent_at=9.0), words("2", "and so on", sent_at=11.0), True),
        (words("1", "x" * 4000, LONG_TEXT, sent_at=9.0), words("2", "anybody here?", sent_at=12.0), False),
    ],
)
def test_a_message_belongs_to_the_act_before_it(last: Envelope, then: Envelope, expected: bool) -> None:
    assert belongs(then, last) is expected


def test_an_act_is_whole_once_nothing_can_follow() -> None:
    assert is_whole([words("1", "hello")])
    assert not is_whole([picture("1")])
    assert is_whole([words("1", "x" * 4000, LONG_TEXT), words("2", "the rest")])
    assert is_whole([picture(str(number)) for number in range(MOST)])


def test_files_make_albums_where_the_platform_names_none() -> None:
    assert album_of((FilePart(file=MediaKind.DOCUMENT),)) == ALBUM
    assert album_of((FilePart(file=MediaKind.VOICE),)) is None
    assert album_of((LocationPart(latitude=1.0, longitude=2.0),)) is None


def test_an_album_is_one_message_with_all_files_and_captions() -> None:
    whole = joined([picture("1", "look", name="a"), picture("2", name="b"), picture("3", "and this", name="c")])
    assert (whole.message_id, whole.text) == ("1", "look\nand this")
    assert [getattr(part, "name", "") for part in whole.parts] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (("x" * 4096, "y"), "x" * 4096 + "y"),
        (("x" * 4000, "y"), "x" * 4000 + "\ny"),
        (("😀" * 2048, "y"), "😀" * 2048 + "y"),
    ],
)
def test_pieces_of_a_text_are_put_together_as_they_were_cut(pieces: tuple[str, ...], expected: str) -> None:
    assert joined([words(str(n), text, LONG_TEXT) for n, text in enumerate(pieces)]).text == expected


@given(st.lists(st.tuples(st.text(max_size=8), st.integers(0, 2)), min_size=1, max_size=MOST))
def test_nothing_of_an_act_is_lost_and_all_is_in_order(messages: list[tuple[str, int]]) -> None:
    part = FilePart(file=MediaKind.PICTURE)
    act = [
        envelope(PLACE, message_id=str(n), text=text, parts=(part,) * parts, act="a")
        for n, (text, parts) in enumerate(messages)
    ]
    whole = joined(act)
    assert whole.text == "\n".join(text for text, _ in messages if text)
    assert len(whole.parts) == sum(parts for _, parts in messages)
    assert whole.message_id == "0"
