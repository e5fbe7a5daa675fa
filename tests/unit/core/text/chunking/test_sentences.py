"""Utterances: as many sentences as fit, else clauses, else words."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.for_each import for_each
from trunkline.core.text.chunking.chunks import chunk
from trunkline.core.text.chunking.utf16 import BLANKS, units
from trunkline.core.values import Chunker

CASES = {
    ("One. Two. Three.", 10): ("One. Two.", "Three."),
    ("One! Two? Three… Four", 10): ("One! Two?", "Three…", "Four"),
    ("He met Dr. Smith today. Fine.", 26): ("He met Dr. Smith today.", "Fine."),
    ("See J. Doe there now, please.", 22): ("See J. Doe there now,", "please."),
    ("It costs 3.50 today. Yes.", 21): ("It costs 3.50 today.", "Yes."),
    ("first, second, third", 14): ("first, second,", "third"),
    ("no stops in this at all", 10): ("no stops", "in this", "at all"),
    ("line one\nline two", 12): ("line one", "line two"),
    ("She said “Yes.” Then she left.", 18): ("She said “Yes.”", "Then she left."),
    ("abcdefghij", 4): ("abcd", "efgh", "ij"),
    ("short", 10): ("short",),
}


@for_each(("text", "limit"), CASES)
def test_a_text_is_cut_at_the_best_place(text: str, limit: int) -> None:
    assert chunk(text, limit, chunker=Chunker.SENTENCES) == CASES[text, limit]


@given(st.text(alphabet="ab .,!?\n…é🙂", max_size=200), st.integers(2, 40))
def test_nothing_is_lost_and_nothing_is_too_long(text: str, limit: int) -> None:
    found = chunk(text, limit, chunker=Chunker.SENTENCES)
    assert all(units(one) <= limit for one in found)
    if len(found) > 1:
        assert _bare("".join(found)) == _bare(text)


def _bare(text: str) -> str:
    return "".join(char for char in text if char not in BLANKS)
