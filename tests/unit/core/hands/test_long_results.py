"""How long results are kept."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from trunkline.core.hands.result_limits import SHOWN, KeptResult, beginning_of, kept_result, reference_of


def test_a_short_result_is_kept_as_it_is() -> None:
    assert kept_result("three", 5) == KeptResult("three")
    assert kept_result("three", None) == KeptResult("three")


def test_a_long_result_is_kept_by_its_hash_and_shows_its_beginning() -> None:
    text = "ä" * 70_000
    kept = kept_result(text, 65_536)
    assert kept.ref == hashlib.sha256(text.encode()).hexdigest()
    assert kept.shown == "ä" * SHOWN + "\n[the beginning of 70000 characters]"


@given(st.text(), st.text())
def test_different_texts_have_different_references(one: str, other: str) -> None:
    assert (reference_of(one) == reference_of(other)) == (one == other)


def test_the_beginning_names_the_length_of_the_whole_text() -> None:
    assert beginning_of("abcdef", 3) == "abc\n[the beginning of 6 characters]"
    assert beginning_of("abc", 3, of=900) == "abc\n[the beginning of 900 characters]"
