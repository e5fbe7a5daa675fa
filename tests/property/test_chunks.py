"""Laws of chunking: no chunk is too long, nothing that can be seen is lost or torn, and code stays code."""

import re
import unicodedata

from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.support.property.texts import anything, documents, fenced, made_of, marked, plain
from trunkline.core.delivery.prepare import Leading, Recipe, normalised, pieces
from trunkline.core.text.chunking.chunks import chunk
from trunkline.core.text.chunking.code_fences import fences
from trunkline.core.text.chunking.utf16 import boundaries, boundary, reach, units, visible
from trunkline.core.values import Chunker, ChunkMode, Markup

limits = st.integers(1, 30)
chunkers = st.sampled_from(Chunker)
modes = st.sampled_from(ChunkMode)
recipes = st.builds(
    Recipe,
    chunker=chunkers,
    mode=modes,
    limit=st.integers(2, 40),
    pack=st.booleans(),
    markup=st.sampled_from(Markup),
    leading=st.sampled_from(Leading),
)


def letters(text: str) -> str:
    """What of a text is no white space, nor otherwise unseen."""
    return "".join(char for char in text if unicodedata.category(char) not in ("Cc", "Cf", "Zs", "Zl", "Zp"))


def is_balanced(text: str) -> bool:
    return all(block.close < block.end for block in fences(text))


# -------------------------------------------------------------------- every chunker


@given(anything, limits, chunkers, modes, st.booleans())
@example("aaa" + "\u2003" * 10, 3, Chunker.TEXT, ChunkMode.LENGTH, False)
@example("   " + "a" * 9, 3, Chunker.TEXT, ChunkMode.LENGTH, False)
@example("```\n" + "😀" * 9 + "\n```", 10, Chunker.MARKDOWN, ChunkMode.LENGTH, False)
def test_no_chunk_is_over_the_limit(text: str, limit: int, chunker: Chunker, mode: ChunkMode, pack: bool) -> None:
    for one in chunk(text, limit, chunker=chunker, mode=mode, pack=pack):
        # A single character that counts twice cannot be halved.
        assert units(one) <= limit or len(one) == 1


@given(plain, limits, modes, st.booleans())
def test_nothing_visible_is_lost(text: str, limit: int, mode: ChunkMode, pack: bool) -> None:
    assert letters("".join(chunk(text, limit, mode=mode, pack=pack))) == letters(text)


@given(anything, chunkers)
def test_a_text_within_the_limit_stays_as_it_is(text: str, chunker: Chunker) -> None:
    assert chunk(text, max(1, units(text)), chunker=chunker) == ((text,) if text else ())


@given(anything, limits, chunkers, modes)
def test_the_same_text_gives_the_same_chunks(text: str, limit: int, chunker: Chunker, mode: ChunkMode) -> None:
    assert chunk(text, limit, chunker=chunker, mode=mode) == chunk(text, limit, chunker=chunker, mode=mode)


def by_the_rule(text: str, limit: int) -> list[str]:
    """The rule for plain texts, word by word."""
    chunks, rest = [], text
    while len(rest) > limit:
        depth, line, blank = 0, 0, 0
        for at, char in enumerate(rest[:limit]):
            depth = max(0, depth + {"(": 1, ")": -1}.get(char, 0))
            line = at if char == "\n" and not depth else line
            blank = at if char.isspace() and not depth else blank
        cut = line or blank or limit
        chunks.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [one for one in (*chunks, rest.rstrip()) if one]


@given(
    st.one_of(st.text("ab \n\u00a0\t()", max_size=120), made_of("word", "(", ")", " ", "\n", "a b ", most=40)), limits
)
def test_plain_texts_are_cut_by_the_rule(text: str, limit: int) -> None:
    assume(len(text) > 1)
    # A text within the limit would stay as it is.
    limit = min(limit, len(text) - 1)
    assert list(chunk(text, limit)) == by_the_rule(text, limit)


@given(plain, limits)
def test_plain_chunks_are_trimmed(text: str, limit: int) -> None:
    chunks = chunk(text, limit)
    assume(len(chunks) > 1)
    assert all(one and one == one.rstrip() for one in chunks)
    assert all(one == one.lstrip() or one[:2].lstrip() == one[1:2] for one in chunks[1:])


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=8), min_size=1, max_size=12), st.integers(8, 30), chunkers)
def test_words_that_fit_are_not_cut(words: list[str], limit: int, chunker: Chunker) -> None:
    chunks = chunk(" ".join(words), limit, chunker=chunker)
    assert [word for one in chunks for word in one.split()] == words


@given(st.lists(plain.filter(str.strip), min_size=1, max_size=5), st.integers(1, 200), chunkers)
def test_a_packed_text_has_no_more_chunks(paragraphs: list[str], limit: int, chunker: Chunker) -> None:
    text = "\n\n".join(paragraphs)
    alone = chunk(text, limit, chunker=chunker, mode=ChunkMode.NEWLINE)
    packed = chunk(text, limit, chunker=chunker, mode=ChunkMode.NEWLINE, pack=True)
    assert len(packed) <= len(alone)
    assert "".join("".join(packed).split()) == "".join("".join(alone).split())


# -------------------------------------------------------------------- what people see as one character


@given(plain, st.integers(0, 80))
def test_a_reach_is_as_far_as_it_goes(text: str, room: int) -> None:
    stop = reach(text, 0, len(text), room)
    assert units(text[:stop]) <= room
    assert stop == len(text) or units(text[: stop + 1]) > room


@given(plain.filter(bool), st.integers(0, 80))
def test_a_boundary_is_in_no_cluster(text: str, at: int) -> None:
    at = at % len(text) + 1
    place = boundary(text, at, 0)
    assert 0 < place <= at
    ends = boundaries(text, 0, len(text))
    assert place in ends or (place == at and ends[0] > at)


@given(st.lists(st.sampled_from(["👩‍👩‍👧", "🇩🇪", "👍🏽", "e\u0301", "각", "क्षि", "❤️", "a"]), max_size=20))
def test_clusters_that_fit_are_not_cut(clusters: list[str]) -> None:
    limit = max(map(units, clusters), default=1)
    chunks = chunk("".join(clusters), limit)
    rest = list(clusters)
    for one in chunks:
        took = ""
        while took != one:
            took += rest.pop(0)
    assert not rest


# -------------------------------------------------------------------- Markdown


@given(documents, st.integers(30, 80))
def test_balanced_text_has_balanced_chunks(text: str, limit: int) -> None:
    assert is_balanced(text)
    assert all(map(is_balanced, chunk(text, limit, chunker=Chunker.MARKDOWN)))


@given(fenced, limits)
def test_nothing_visible_of_markdown_is_lost(text: str, limit: int) -> None:
    # What opens and closes code again comes in between, and may stand for what closes it in the text.
    fence = str.maketrans("", "", "`~")
    told = iter(letters("".join(chunk(text, limit, chunker=Chunker.MARKDOWN))).translate(fence))
    assert all(char in told for char in letters(text).translate(fence))


@given(
    st.text(alphabet="ab \n", min_size=1, max_size=200), st.integers(12, 40), st.sampled_from(["```", "~~~~", "```py"])
)
def test_code_keeps_its_blanks_and_is_never_empty(code: str, limit: int, opening: str) -> None:
    assume(code.strip())
    marker = opening.removesuffix("py")
    text = f"{opening}\n{code}\n{marker}"
    chunks = chunk(text, limit, chunker=Chunker.MARKDOWN)
    bodies = [one.removeprefix(f"{opening}\n").removesuffix(marker).removesuffix("\n") for one in chunks]
    assert all(one.startswith(f"{opening}\n") and one.endswith(marker) for one in chunks)
    assert "".join("".join(bodies).split("\n")).startswith("".join(code.rstrip().split("\n")))
    room = limit - len(opening) - len(marker) - 2
    assert all(body.strip() for body in bodies) or re.search(rf"[ \n]{{{room},}}", f"{code}\n")


@given(st.text(alphabet="ab \n", max_size=60), st.integers(1, 7))
def test_a_block_that_cannot_be_balanced_is_its_pieces(code: str, limit: int) -> None:
    text = f"```\n{code}\n```"
    assert "".join(chunk(text, limit, chunker=Chunker.MARKDOWN)) == text


# -------------------------------------------------------------------- pieces


@given(anything, recipes)
def test_no_piece_is_over_the_limit_or_blank(text: str, recipe: Recipe) -> None:
    for piece in pieces(text, recipe):
        assert units(piece.text) <= recipe.limit
        assert visible(piece.text)
        piece.text.encode()


@given(anything, recipes)
def test_normalisation_is_done_after_one_time(text: str, recipe: Recipe) -> None:
    once = normalised(text, recipe)
    assert normalised(once, recipe) == once
    assert pieces(once, recipe) == pieces(text, recipe)


@given(marked, recipes)
def test_styles_lie_within_their_piece(text: str, recipe: Recipe) -> None:
    for piece in pieces(text, recipe):
        assert all(style.length > 0 and style.start >= 0 for style in piece.styles)
        assert all(style.start + style.length <= units(piece.text) for style in piece.styles)
        assert [style.start for style in piece.styles] == sorted(style.start for style in piece.styles)


@given(anything, limits)
def test_chunks_of_a_plain_text_can_be_seen(text: str, limit: int) -> None:
    assert any(visible(one) for one in chunk(text, limit)) == visible(text)
