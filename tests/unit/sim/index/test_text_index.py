"""Texts found by what they hold, and numbers found by their size: the same as a look at all of them finds."""

from hypothesis import given
from hypothesis import strategies as st

from trunkline.sim.index.asked_places import Peaks
from trunkline.sim.index.text_index import HeldTexts, TextIndex

TEXTS = st.text("ab", max_size=40)


@given(st.lists(st.tuples(st.integers(0, 9), TEXTS)), TEXTS.filter(bool))
def test_the_texts_that_hold_a_text_are_found(added: list[tuple[int, str]], text: str) -> None:
    index, kept = TextIndex(), dict[int, str]()
    for number, held in added:
        index.add(number, held)
        kept[number] = held
        assert index.holding(text) == sorted(number for number, held in kept.items() if text in held)


@given(st.lists(TEXTS), TEXTS)
def test_the_texts_that_a_text_holds_are_found(texts: list[str], whole: str) -> None:
    held = HeldTexts[int]()
    for number, text in enumerate(texts):
        held.add(text, number)
    found = dict(held.held_by(whole))
    assert found.keys() == {text for text in texts if text and text in whole}
    assert all(found[text] == [at for at, other in enumerate(texts) if other == text] for text in found)


@given(st.lists(st.integers(0, 9)), st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9))), st.integers(-1, 9))
def test_the_numbers_above_a_limit_are_found(row: list[int], changes: list[tuple[int, int]], limit: int) -> None:
    peaks = Peaks()
    for value in row:
        peaks.append(value)
    for at, value in changes:
        if at < len(row):
            peaks[at] = row[at] = value
    for end in range(len(row) + 2):
        assert list(peaks.above(limit, end)) == [at for at, value in enumerate(row[:end]) if value > limit]
