"""Splits a text into chunks for a platform, in linear time (docs/delivery.md).

Limits are in UTF-16 code units, as platforms count; a limit that is not positive is none. A grapheme cluster
(`core.text.chunking.utf16`) is split only if it is wider than the limit; a single character wider than the limit is
a chunk nevertheless.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from trunkline.core.text.chunking.code_fences import Fence, fences, seems_open
from trunkline.core.text.chunking.utf16 import BLANKS, accented, boundaries, boundary, fits, reach, skip_blanks, units
from trunkline.core.values import Chunker, ChunkMode

# The best places to split a text: line ends, else white space, and neither inside parentheses.

_LAST_BLANK = re.compile(r".*([\s\ufeff])", re.DOTALL)
_CHARACTER = re.compile(r"[()\s\ufeff]")

#: parts of a text as start and end, in order
Parts = Sequence[tuple[int, int]]


def breaks(text: str, parts: Parts, first: int) -> Iterator[int]:
    """The places to split at, not before `first`, best first: line ends from the last, then blanks from the last.

    A place is that of the separator, which belongs to neither side. Only `parts` of the text are searched. An unmatched
    closing parenthesis is ignored; an unmatched opening parenthesis hides everything after it.
    """
    if any(text.find("(", low, high) >= 0 for low, high in parts):
        lines, blanks = _outside(text, parts, first)
        yield from reversed(lines)
        yield from reversed(blanks)
        return
    for low, high in reversed(parts):
        low, at = max(low, first), high
        while (at := text.rfind("\n", low, at)) >= 0:
            # Drop both characters of a Windows line end.
            yield at - 1 if at > low and text[at - 1] == "\r" else at
    for low, high in reversed(parts):
        low, at = max(low, first), high
        while at > low and (found := _LAST_BLANK.match(text, low, at)):
            at = found.start(1)
            if not accented(text, at):
                yield at


def _outside(text: str, parts: Parts, first: int) -> tuple[list[int], list[int]]:
    """Line ends and blanks outside parentheses."""
    lines: list[int] = []
    blanks: list[int] = []
    depth = 0
    for low, high in parts:
        for match in _CHARACTER.finditer(text, low, high):
            char, at = match[0], match.start()
            if char == "(":
                depth += 1
            elif char == ")":
                depth = max(depth - 1, 0)
            elif depth or at < first:
                continue
            elif char == "\n":
                lines.append(at - 1 if at > first and text[at - 1] == "\r" else at)
            elif not accented(text, at):
                blanks.append(at)
    return lines, blanks


# Splits Markdown like plain text, but closes and reopens fenced code blocks at every cut.
#
# Nothing is trimmed. A cut in prose drops one blank and the line ends after it; a cut in code drops nothing. The limit
# has priority: a block that cannot be balanced within it is split without fences, and its parts concatenate to it.

_SEPARATOR = re.compile(r"[\s\ufeff]?[\r\n]*")
#: number of places to try before accepting a place that makes prose look like a fence
_TRIES = 64


def cut_markdown(text: str, limit: int) -> list[str]:
    """The chunks of a text; a character wider than the limit is a chunk by itself."""
    cutter = _Cutter(text, limit)
    chunks: list[str] = []
    while not cutter.done:
        chunks.append(cutter.next())
    return chunks


class _Cutter:
    """Splits a text from start to end."""

    def __init__(self, text: str, limit: int) -> None:
        self._text = text
        self._limit = limit
        self._blocks = fences(text)
        self._ends = [block.end for block in self._blocks]
        self._pos = 0
        #: the line that reopens the block in which the next chunk begins
        self._head = ""
        #: the block that is split without fences
        self._raw: Fence | None = None

    @property
    def done(self) -> bool:
        return self._pos >= len(self._text)

    def next(self) -> str:
        stop = reach(self._text, self._pos, len(self._text), self._limit - units(self._head))
        if stop >= len(self._text):
            return self._take(stop, stop)
        parts, block = self._prose(stop)
        cut = self._best(parts, stop if block is None else None)
        if cut is not None:
            return self._take(cut, self._after(cut))
        if block is not None and block is not self._raw:
            return self._split(block)
        cut = self._limit_at(stop)
        return self._take(cut, cut)

    def _take(self, cut: int, then: int) -> str:
        """The chunk up to `cut`; the next begins at `then`."""
        chunk = self._head + self._text[self._pos : cut]
        self._head, self._pos = "", then
        return chunk

    def _after(self, cut: int) -> int:
        """Where the text continues after a cut in prose."""
        found = None if accented(self._text, cut) else _SEPARATOR.match(self._text, cut)
        return found.end() if found else cut

    def _prose(self, stop: int) -> tuple[list[tuple[int, int]], Fence | None]:
        """The parts of prose up to a place, and the block around the place."""
        parts: list[tuple[int, int]] = []
        low = self._pos
        for index in range(bisect_right(self._ends, self._pos), len(self._blocks)):
            block = self._blocks[index]
            if block.start >= stop:
                break
            if low < block.start:
                parts.append((low, block.start))
            if stop < block.end:
                return parts, block
            low = block.end
        if low < stop:
            parts.append((low, stop))
        return parts, None

    def _best(self, parts: list[tuple[int, int]], stop: int | None) -> int | None:
        """The best place to split prose: between words, or inside a word beyond `stop`.

        A place that makes prose look like a fence is used only if `stop` is in prose and there is no other place.
        """
        first: int | None = None
        between = islice(breaks(self._text, parts, self._pos + 1), _TRIES)
        for cut in between if stop is None else chain(between, self._within(stop)):
            if not self._tears(cut):
                return cut
            first = cut if first is None else first
        return None if stop is None else first

    def _limit_at(self, stop: int) -> int:
        """The end of a chunk up to the limit: `stop`, or before the grapheme cluster around `stop`."""
        return boundary(self._text, max(stop, self._pos + 1), self._pos)

    def _within(self, stop: int) -> Iterator[int]:
        """Places inside a word, the last first."""
        cut = self._limit_at(stop)
        yield cut
        low = max(self._start_of_prose(cut), cut - _TRIES)
        yield from (place for place in reversed(boundaries(self._text, self._pos, cut - 1)) if place > low)

    def _tears(self, cut: int) -> bool:
        """Whether a cut in a line of prose makes a part of the line look like a fence."""
        text, then = self._text, self._after(cut)
        if text[then - 1] != "\n" and seems_open(text[then : then + self._limit]):
            return True
        low = self._start_of_prose(cut)
        start = text.rfind("\n", low, cut) + 1
        # The rest of a closing line is not a line of its own.
        return (start > 0 or low == self._pos) and seems_open(text[max(start, low) : cut])

    def _start_of_prose(self, cut: int) -> int:
        """Where the prose around a place begins, within the next chunk."""
        before = bisect_right(self._ends, cut) - 1
        return max(self._pos, self._ends[before] if before >= 0 else 0)

    def _split(self, block: Fence) -> str:
        """The chunk with an end inside a block."""
        cut, head = self._cut_in(block), block.reopening(self._limit)
        if cut is None or not head:
            if self._pos < block.start - 1:
                return self._take(block.start - 1, block.start)
            self._raw, self._head = block, ""
            return self.next()
        chunk = self._take(cut, cut)
        if skip_blanks(self._text, cut, block.close) >= block.close:
            # No code is left: empty lines and the closing line need no chunk of their own.
            self._pos = self._after(block.end)
        else:
            self._head = head
        return f"{chunk}{'' if chunk.endswith(chr(10)) else chr(10)}{block.marker}"

    def _cut_in(self, block: Fence) -> int | None:
        """The place to split the code of a block: after a line, else at the limit; None if nothing fits."""
        text, start = self._text, max(self._pos, block.body)
        room = self._limit - units(self._head) - units(block.marker)
        line = text.rfind("\n", start, reach(text, self._pos, block.close, room)) + 1
        if text[start:line].strip():
            return line
        stop = reach(text, self._pos, block.close, room - 1)
        if stop <= start:
            return None
        # A chunk of empty lines only would be useless: a part of the long line after them goes with them.
        cut = boundary(text, stop, start)
        low = max(start, cut - _TRIES)
        return next((place for place in range(cut, low, -1) if not self._ends_early(block, start, place)), cut)

    def _ends_early(self, block: Fence, start: int, cut: int) -> bool:
        """Whether a cut makes a part of a line of code look like the closing fence."""
        line = max(start, self._text.rfind("\n", start, cut) + 1)
        return block.closes(self._text[line:cut]) or block.closes(self._text[cut : cut + self._limit])


_PARAGRAPH_END = re.compile(r"\n[ \t]*\n+")
#: separates paragraphs that are sent together
BETWEEN = "\n\n"
_LINE_END = re.compile(r"\r\n?|\u2028")

#: start and end of a part of a text
Span = tuple[int, int]


def chunk(
    text: str, limit: int, *, chunker: Chunker = Chunker.TEXT, mode: ChunkMode = ChunkMode.LENGTH, pack: bool = False
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
