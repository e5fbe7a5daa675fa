"""Splits a text into chunks for a platform, in linear time (docs/delivery.md).

Limits are in UTF-16 code units, as platforms count; a limit that is not positive is none. A grapheme cluster
(`core.text.chunking.utf16`) is split only if it is wider than the limit; a single character wider than the limit is
a chunk nevertheless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from trunkline.core.text.chunking.break_points import breaks
from trunkline.core.text.chunking.code_fences import fences
from trunkline.core.text.chunking.markdown import cut_markdown
from trunkline.core.text.chunking.utf16 import BLANKS, boundary, fits, reach, skip_blanks, units
from trunkline.core.values import Chunker, ChunkMode

_PARAGRAPH_END = re.compile(r"\n[ \t]*\n+")
#: separates paragraphs that are sent together
BETWEEN = "\n\n"
_LINE_END = re.compile(r"\r\n?|\u2028")

#: start and end of a part of a text
Span = tuple[int, int]


def chunk(
    text: str,
    limit: int,
    *,
    chunker: Chunker = Chunker.TEXT,
    mode: ChunkMode = ChunkMode.LENGTH,
    pack: bool = False,
) -> tuple[str, ...]:
    """Split a text into chunks within a limit.

    In mode `length` a text that fits is one unchanged chunk. In mode `newline` every paragraph is a chunk, or with
    `pack` as many paragraphs as fit. The chunker splits what is too long for one chunk.
    """
    if not text:
        return ()
    if limit <= 0 or (mode is ChunkMode.LENGTH and fits(text, limit)):
        return (text,)
    if mode is ChunkMode.LENGTH:
        return tuple(_cut(text, limit, chunker))
    text = with_line_ends(text)
    if fits(text, limit) and not _PARAGRAPH_END.search(text):
        only = text.rstrip(BLANKS)
        return (only,) if only else ()
    chunks: list[str] = []
    for group in grouped(text, limit, [(block.start, block.end) for block in fences(text)], pack=pack):
        paragraph = together(text, group)
        chunks += (paragraph,) if fits(paragraph, limit) else _cut(paragraph, limit, chunker)
    return tuple(chunks)


def plain_spans(text: str, limit: int, start: int, end: int) -> Iterator[Span]:
    """The chunks of plain text between two places, without white space at cuts and without blank chunks."""
    while start < end:
        stop = reach(text, start, end, limit)
        cut = stop
        if stop < end:
            cut = next(breaks(text, ((start, stop),), start + 1), 0) or boundary(text, max(stop, start + 1), start)
        size = len(text[start:cut].rstrip(BLANKS))
        if size:
            yield start, start + size
        start = skip_blanks(text, cut, end)


def spans_of(chunker: Chunker) -> Callable[[str, int, int, int], Iterator[Span]]:
    """How a chunker cuts text without markup."""
    return sentence_spans if chunker is Chunker.SENTENCES else plain_spans


def with_line_ends(text: str) -> str:
    """A text with Unix line ends; a paragraph separator becomes an empty line."""
    if text.isascii() and "\r" not in text:
        return text
    return _LINE_END.sub("\n", text).replace("\u2029", BETWEEN)


def grouped(text: str, limit: int, code: Iterable[Span], *, pack: bool) -> Iterator[list[Span]]:
    """The paragraphs of a text, a single paragraph per group, or with `pack` as many as fit into a chunk.

    Empty lines inside `code` separate nothing.
    """
    held: list[Span] = []
    size = 0
    for span in _paragraphs(text, code):
        more = len(BETWEEN) + units(text[slice(*span)])
        if held and pack and size + more <= limit + len(BETWEEN):
            held.append(span)
            size += more
            continue
        if held:
            yield held
        held, size = [span], more
    if held:
        yield held


def together(text: str, group: list[Span]) -> str:
    """The text of a group of paragraphs."""
    return BETWEEN.join(text[start:end] for start, end in group)


def _cut(text: str, limit: int, chunker: Chunker) -> list[str]:
    if chunker is Chunker.MARKDOWN:
        return cut_markdown(text, limit)
    return [text[start:end] for start, end in spans_of(chunker)(text, limit, 0, len(text))]


def _paragraphs(text: str, code: Iterable[Span]) -> Iterator[Span]:
    """The paragraphs of a text, without trailing white space and without blank ones."""
    blocks = iter(code)
    block, start = next(blocks, None), 0
    for gap in _PARAGRAPH_END.finditer(text):
        at = gap.start()
        while block is not None and block[1] <= at:
            block = next(blocks, None)
        if block is None or at <= block[0]:
            yield from _trimmed(text, start, at)
            start = gap.end()
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    size = len(text[start:end].rstrip(BLANKS))
    if size:
        yield start, start + size


# ---------------------------------------------------------------- utterances
# A text that is said in a call is cut at ends of sentences, else of clauses, else of words. Each utterance is heard
# whole, or the call has ended: so it must be short enough to be spoken within the time that a request may take.

#: a full stop after one of these, or after a single letter, ends no sentence
_SHORT = frozenset("dr mr mrs ms st no nr vs ca prof sen jr sr bzw usw".split())  # noqa: SIM905 -- plainer
_SENTENCE = re.compile(r"(?P<word>\w*)[.!?…。！？]+[\"'”’)\]]*(?=\s)|\n")
_CLAUSE = re.compile(r"[,;:–—][\"'”’)\]]*(?=\s)")


def sentence_spans(text: str, limit: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The utterances of plain text between two places, each of as many sentences as fit into the limit."""
    start = skip_blanks(text, start, end)
    while start < end:
        stop = reach(text, start, end, limit) if limit > 0 else end
        cut = end if stop >= end else _utterance_end(text, start, max(stop, start + 1))
        size = len(text[start:cut].rstrip(BLANKS))
        if size:
            yield start, start + size
        start = skip_blanks(text, cut, end)


def _utterance_end(text: str, start: int, stop: int) -> int:
    """The end of the utterance from `start`, at most at `stop`."""
    # One character more: an end is known by the white space after it.
    window = text[start : stop + 1]
    ends = [
        found.end() for found in _SENTENCE.finditer(window) if _ends_sentence(found) and found.end() <= stop - start
    ]
    ends = ends or [found.end() for found in _CLAUSE.finditer(window) if found.end() <= stop - start]
    if ends:
        return start + ends[-1]
    return next(breaks(text, ((start, stop),), start + 1), 0) or boundary(text, stop, start)


def _ends_sentence(found: re.Match[str]) -> bool:
    word = found["word"]
    if not word or not found[0].startswith(f"{word}."):
        return True
    return word.lower() not in _SHORT and not (len(word) == 1 and word.isalpha())
