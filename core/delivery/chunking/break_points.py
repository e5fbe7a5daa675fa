"""Where a text is best cut: at a line end, else at a blank, and at neither inside of parentheses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from trunkline.core.delivery.chunking.utf16 import accented

_LAST_BLANK = re.compile(r".*([\s\ufeff])", re.DOTALL)
_SIGN = re.compile(r"[()\s\ufeff]")

#: parts of a text between two places each, in order
Parts = Sequence[tuple[int, int]]


def breaks(text: str, parts: Parts, first: int) -> Iterator[int]:
    """The places to cut at, from `first` on, best first: line ends from the last one, then blanks from the last one.

    A place is that of the separator, which belongs to neither side. Only `parts` of the text are looked at. A closing
    parenthesis without an opening one does not count; one that is not closed hides what comes after it.
    """
    if any(text.find("(", low, high) >= 0 for low, high in parts):
        lines, blanks = _outside(text, parts, first)
        yield from reversed(lines)
        yield from reversed(blanks)
        return
    for low, high in reversed(parts):
        low, at = max(low, first), high
        while (at := text.rfind("\n", low, at)) >= 0:
            # Both halves of a line end of Windows go.
            yield at - 1 if at > low and text[at - 1] == "\r" else at
    for low, high in reversed(parts):
        low, at = max(low, first), high
        while at > low and (found := _LAST_BLANK.match(text, low, at)):
            at = found.start(1)
            if not accented(text, at):
                yield at


def _outside(text: str, parts: Parts, first: int) -> tuple[list[int], list[int]]:
    """Line ends and blanks outside of parentheses."""
    lines: list[int] = []
    blanks: list[int] = []
    depth = 0
    for low, high in parts:
        for sign in _SIGN.finditer(text, low, high):
            char, at = sign[0], sign.start()
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
