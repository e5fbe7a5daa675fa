"""The best places to split a text: line ends, else white space, and neither inside parentheses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from trunkline.core.text.chunking.utf16 import accented

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
