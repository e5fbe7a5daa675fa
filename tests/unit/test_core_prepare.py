"""Chunking by example. The laws are in tests/property/test_chunks.py."""

import pytest

from core.delivery.prepare import chunk_text


@pytest.mark.parametrize(
    ("text", "limit", "chunks"),
    [
        ("", 5, ()),
        (" \n\t ", 5, ()),
        ("hello", 5, ("hello",)),
        ("hello!", 5, ("hello", "!")),
        ("one two", 5, ("one", "two")),
        ("one two", 3, ("one", "two")),
        ("one\ntwo three", 8, ("one", "two", "three")),
        ("a b\nc d e f", 6, ("a b", "c d e", "f")),
        ("  indented", 40, ("  indented",)),
        ("ends with blanks   ", 40, ("ends with blanks   ",)),
        ("one  \n  two", 6, ("one", "two")),
    ],
)
def test_a_text_is_cut_at_line_ends_else_blanks_else_the_limit(text: str, limit: int, chunks: tuple[str, ...]) -> None:
    assert chunk_text(text, limit) == chunks
