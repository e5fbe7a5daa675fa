"""Laws of chunking: no chunk is too long or blank, and nothing visible is lost."""

from hypothesis import example, given
from hypothesis import strategies as st

from core.delivery.prepare import chunk_text

texts = st.one_of(
    st.text(max_size=80),
    st.text(alphabet="ab \n\t\u2003\u00a0\r", max_size=80),
    st.lists(st.sampled_from(["word", "a", " ", "\n", "   ", "\n\n", "longer-than-most"]), max_size=20).map("".join),
)
limits = st.integers(1, 30)


@given(texts, limits)
@example("aaa" + "\u2003" * 10, 3)
@example("   " + "a" * 9, 3)
def test_no_chunk_is_over_the_limit(text: str, limit: int) -> None:
    assert all(len(chunk) <= limit for chunk in chunk_text(text, limit))


@given(texts, limits)
def test_nothing_visible_is_lost(text: str, limit: int) -> None:
    assert "".join("".join(chunk_text(text, limit)).split()) == "".join(text.split())


@given(texts, limits)
def test_no_chunk_is_blank(text: str, limit: int) -> None:
    assert all(chunk.strip() for chunk in chunk_text(text, limit))


@given(texts)
def test_a_text_within_the_limit_stays_as_it_is(text: str) -> None:
    assert chunk_text(text, max(1, len(text))) == ((text,) if text.strip() else ())


@given(texts, limits)
def test_the_same_text_gives_the_same_chunks(text: str, limit: int) -> None:
    assert chunk_text(text, limit) == chunk_text(text, limit)


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=8), min_size=1, max_size=12), st.integers(8, 30))
def test_words_that_fit_are_not_cut(words: list[str], limit: int) -> None:
    chunks = chunk_text(" ".join(words), limit)
    assert [word for chunk in chunks for word in chunk.split()] == words
