"""Fenced code in Markdown: where the blocks are, and how a piece of one is closed and opened again.

A fence is up to three blanks, then three or more backticks or tildes. It is closed by a line with at least as many of
the same character and nothing but blanks behind; the line that opens a fence of backticks has no backtick in its info.
A fence that nothing closes goes on to the end of the text.
"""

from __future__ import annotations

import re

import msgspec

from trunkline.core.delivery.chunking.utf16 import units

_LINE = re.compile(r"^( {0,3})(`{3,}(?!`)|~{3,}(?!~))([^\n]*)", re.MULTILINE)
#: a piece of a block has room for at least this part of the limit, or its fence is not opened again as it was: a long
#: info would be sent with every few characters of code
_LEAST_ROOM = 16


class Fence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A block of fenced code, in places of its text: a cut strictly between `start` and `end` is inside of it."""

    start: int
    #: where the code begins, after the line that opens the fence
    body: int
    #: where the line that closes it begins; the end where nothing does
    close: int
    end: int
    #: the line that opens it
    opening: str
    #: its blanks and its marker: a line that closes it
    marker: str

    def reopening(self, limit: int) -> str:
        """The line that opens a further piece of the block, with its line end; empty when there is no room for any.

        It is the whole opening line, else the marker alone. A piece of code, a line end and the marker have to follow.
        """
        for line in (self.opening, self.marker):
            if limit - units(line) - units(self.marker) - 2 >= max(1, limit // _LEAST_ROOM):
                return f"{line}\n"
        return ""

    def closes(self, line: str) -> bool:
        """Whether a line would close it."""
        found = _LINE.match(line)
        return found is not None and _closes(found, self.marker.lstrip(" "))


def fences(text: str) -> list[Fence]:
    """The blocks of fenced code in a text, in order."""
    found: list[Fence] = []
    if "```" not in text and "~~~" not in text:
        return found
    opened: re.Match[str] | None = None
    for line in _LINE.finditer(text):
        if opened is None:
            opened = line if _opens(line) else None
        elif _closes(line, opened[2]):
            # Blanks behind the marker, half a line end among them, are prose again.
            found.append(_fence(opened, close=line.start(), end=line.end(2)))
            opened = None
    if opened is not None:
        found.append(_fence(opened, close=len(text), end=len(text)))
    return found


def seems_open(line: str) -> bool:
    """Whether a text would open a fence if it stood in a line of its own."""
    found = _LINE.match(line)
    return found is not None and _opens(found)


def _opens(line: re.Match[str]) -> bool:
    return line[2][0] == "~" or "`" not in line[3]


def _closes(line: re.Match[str], marker: str) -> bool:
    return line[2].startswith(marker) and not line[3].strip(" \t\r")


def _fence(opened: re.Match[str], *, close: int, end: int) -> Fence:
    return Fence(
        start=opened.start(),
        body=min(opened.end() + 1, close),
        close=close,
        end=end,
        opening=opened[0],
        marker=opened[1] + opened[2],
    )
