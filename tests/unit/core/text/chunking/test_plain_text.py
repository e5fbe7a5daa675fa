"""Chunking by example, beside the table in tests/conformance. The laws are in tests/property/test_chunks.py."""

import pytest

from tests.support.for_each import for_each
from trunkline.core.text.chunking.chunks import chunk
from trunkline.core.text.chunking.code_fences import fences, seems_open
from trunkline.core.values import Chunker, ChunkMode


def plain(text: str, limit: int) -> list[str]:
    return list(chunk(text, limit))


def markdown(text: str, limit: int) -> list[str]:
    return list(chunk(text, limit, chunker=Chunker.MARKDOWN))


def newline(text: str, limit: int = 100, *, chunker: Chunker = Chunker.TEXT, pack: bool = False) -> list[str]:
    return list(chunk(text, limit, chunker=chunker, mode=ChunkMode.NEWLINE, pack=pack))


# -------------------------------------------------------------------- plain text


@for_each(
    ("text", "limit", "chunks"),
    [
        ("  one  ", 9, ["  one  "]),
        ("     ", 9, ["     "]),
        ("     ", 3, []),
        ("one two  ", 6, ["one", "two"]),
        (" one two", 6, [" one", "two"]),
        ("one\u00a0two", 5, ["one", "two"]),
        ("one (two three", 8, ["one", "(two thr", "ee"]),
        ("(one\ntwo) three", 12, ["(one\ntwo)", "three"]),
        ("one ))) two", 9, ["one )))", "two"]),
        ("one\r\ntwo three", 8, ["one", "two", "three"]),
        ("\n\n\nabcdef", 4, ["abcd", "ef"]),
        ("hello world foo", 11, ["hello", "world foo"]),
        ("any", -3, ["any"]),
    ],
)
def test_plain_text(text: str, limit: int, chunks: list[str]) -> None:
    assert plain(text, limit) == chunks


@for_each("chunker", Chunker)
@for_each(
    ("text", "limit", "chunks"),
    [
        ("😀😀😀", 4, ["😀😀", "😀"]),
        ("😀😀😀", 5, ["😀😀", "😀"]),
        ("a😀", 1, ["a", "😀"]),
        ("aaa" + "👩\u200d👩\u200d👧" + "z", 10, ["aaa", "👩\u200d👩\u200d👧z"]),
        ("👩\u200d👩\u200d👧", 5, ["👩\u200d👩", "\u200d👧"]),
        ("🇩🇪🇫🇷", 6, ["🇩🇪", "🇫🇷"]),
        ("abce\u0301", 4, ["abc", "e\u0301"]),
        ("ab \u0301cd", 3, ["ab", " \u0301c", "d"]),
        ("\ud83d\ude00a", 2, ["\ud83d\ude00", "a"]),
    ],
)
def test_characters_stay_whole_within_the_limit(chunker: Chunker, text: str, limit: int, chunks: list[str]) -> None:
    assert list(chunk(text, limit, chunker=chunker)) == chunks


# -------------------------------------------------------------------- Markdown


@pytest.mark.parametrize(
    ("text", "limit", "chunks"),
    [
        ("one   two", 5, ["one ", " two"]),
        ("one\n\n\n  two", 5, ["one\n", "  two"]),
        ("  one  \ntwo  ", 9, ["  one  ", "two  "]),
        ("one\r\n\r\ntwo", 6, ["one", "two"]),
        ("abcdef", 4, ["abcd", "ef"]),
    ],
)
def test_prose_is_not_trimmed(text: str, limit: int, chunks: list[str]) -> None:
    assert markdown(text, limit) == chunks


def test_blanks_in_code_stay() -> None:
    text = "```py\nif a:\n    if b:\n        c()\n```"
    assert markdown(text, 26) == ["```py\nif a:\n    if b:\n```", "```py\n        c()\n```"]
    assert markdown("```\na b c d e\n```", 12) == ["```\na b \n```", "```\nc d \n```", "```\ne\n```"]


def test_parentheses_in_code_do_not_count() -> None:
    assert markdown("```\n(\n```\none two three four", 18) == ["```\n(\n```", "one two three four"]


def test_a_block_keeps_its_blanks_and_its_info() -> None:
    text = "  ~~~~sh -x\n" + "ab\n" * 5 + "  ~~~~"
    chunks = markdown(text, 26)
    assert chunks == [
        f"  ~~~~sh -x\n{'ab' + chr(10)}ab\n  ~~~~",
        "  ~~~~sh -x\nab\nab\n  ~~~~",
        "  ~~~~sh -x\nab\n  ~~~~",
    ]


def test_a_cut_at_the_end_of_the_code_makes_no_empty_block() -> None:
    assert markdown("```\nabcd\nefgh\n``````\nend", 18) == ["```\nabcd\nefgh\n```", "end"]
    assert markdown("```\nabcd\n\n\n\n\n\n\n\n```\nend", 13) == ["```\nabcd\n\n```", "end"]


def test_empty_lines_alone_are_no_block() -> None:
    assert markdown("```\n\nabcdefghij\n```", 13) == ["```\n\nabcd\n```", "```\nefghi\n```", "```\nj\n```"]


def test_an_info_string_is_repeated_while_there_is_room() -> None:
    text = "```" + "i" * 20 + "\n" + "x" * 5 + "\n```"
    assert markdown(text, 30) == [f"```{'i' * 20}\n{part}\n```" for part in ("xx", "xx", "x")]


def test_a_long_info_is_not_sent_with_every_few_characters() -> None:
    opening, code = "```" + "i" * 950, "x" * 3000
    chunks = markdown(f"{opening}\n{code}\n```", 1000)
    assert [one.partition("\n")[0] for one in chunks] == [opening, "```", "```", "```"]
    assert "".join(one.split("\n")[1] for one in chunks) == code


def test_a_block_without_room_is_cut_as_it_comes() -> None:
    text = "```" + "i" * 40 + "\n" + "a b\n" * 10 + "```"
    chunks = markdown(text, 30)
    assert "".join(chunks) == text
    assert markdown(f"before\n{text}\nafter", 30)[0] == "before"


def test_a_block_behind_an_open_parenthesis_begins_its_own_chunk() -> None:
    text = "open (and long enough\n```py\nabcdef\n```"
    assert markdown(text, 26) == ["open", "(and long enough", "```py\nabcdef\n```"]


def test_words_do_not_become_fences() -> None:
    assert markdown("say ~~~ here", 6) == ["say ~~", "~ here"]
    assert markdown("many words ``` and more", 12) == ["many", "words ```", "and more"]
    assert markdown("```a b c `d` e", 9) == ["``", "`a b c", "`d` e"]


def test_code_does_not_close_its_block_early() -> None:
    text = "```\nabcdefgh```\nxyz\n```"
    assert [len(fences(one)) for one in markdown(text, 16)] == [1] * len(markdown(text, 16))
    assert markdown(text, 16) == ["```\nabcdefg\n```", "```\nh```\nxyz\n```"]


# -------------------------------------------------------------------- paragraphs


@for_each(
    ("text", "chunks"),
    [
        ("", []),
        (" \n\n ", []),
        ("one  ", ["one"]),
        ("one\r\n\r\ntwo\r\rthree", ["one", "two", "three"]),
        ("one\u2029two\u2028three", ["one", "two\nthree"]),
        ("  one\n\n  two", ["  one", "  two"]),
        ("\n\none", ["one"]),
        ("a\n\n```\nb\n\nc\n```\n\nd", ["a", "```\nb\n\nc\n```", "d"]),
        ("```\na\n\nb", ["```\na\n\nb"]),
    ],
)
@for_each("chunker", Chunker)
def test_paragraphs(chunker: Chunker, text: str, chunks: list[str]) -> None:
    assert newline(text, chunker=chunker) == chunks


def test_paragraphs_that_are_too_long_are_cut_as_the_chunker_says() -> None:
    text = "a\n\n```\nbc\nde\nfg\n```\n\nh"
    assert newline(text, 14, chunker=Chunker.MARKDOWN) == ["a", "```\nbc\nde\n```", "```\nfg\n```", "h"]
    assert newline("one two\n\nthree", 6) == ["one", "two", "three"]


def test_packed_paragraphs() -> None:
    assert newline("a  \n\n\n\nb\n\nc", 4, pack=True) == ["a\n\nb", "c"]
    assert newline("😀\n\n😀\n\n😀", 6, pack=True) == ["😀\n\n😀", "😀"]
    assert newline("aaaaaaa\n\nb\n\nc", 4, pack=True) == ["aaaa", "aaa", "b\n\nc"]


def test_without_a_limit_nothing_is_cut() -> None:
    assert newline("a\r\n\r\nb", 0) == ["a\r\n\r\nb"]


# -------------------------------------------------------------------- fences


@for_each(
    ("text", "blocks"),
    [
        ("no code", []),
        ("```\na\n```", ["```\na\n```"]),
        ("x\n   ````py\n```\n````\ny", ["   ````py\n```\n````"]),
        ("    ```\na", []),
        ("```a`b\nc\n```", ["```"]),
        ("~~~ a`b\nc\n~~~  \nd", ["~~~ a`b\nc\n~~~"]),
        ("```\na\n``` no\n```\r\nb", ["```\na\n``` no\n```"]),
        ("```\na\n~~~\nb", ["```\na\n~~~\nb"]),
        ("x ```\na\n```", ["```"]),
        ("```\n```\n\n~~~\n~~~", ["```\n```", "~~~\n~~~"]),
        ("```", ["```"]),
    ],
)
def test_blocks_of_code(text: str, blocks: list[str]) -> None:
    found = fences(text)
    assert [text[block.start : block.end] for block in found] == blocks
    assert all(block.start < block.body <= block.close <= block.end for block in found)


def test_a_marker_in_a_line_with_backticks_opens_nothing() -> None:
    assert seems_open("~~~ `a`") and seems_open("   ```py") and not seems_open("``` `a`") and not seems_open("a ```")
