"""Splits Markdown like plain text, but closes and reopens fenced code blocks at every cut.

Nothing is trimmed. A cut in prose drops one blank and the line ends after it; a cut in code drops nothing. The limit
has priority: a block that cannot be balanced within it is split without fences, and its parts concatenate to it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain, islice

from trunkline.core.text.chunking.break_points import breaks
from trunkline.core.text.chunking.code_fences import Fence, fences, seems_open
from trunkline.core.text.chunking.utf16 import accented, boundaries, boundary, reach, skip_blanks, units

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

    # ------------------------------------------------------------ prose

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

    # ------------------------------------------------------------ code

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
