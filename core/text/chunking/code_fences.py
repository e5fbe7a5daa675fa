"""Finds fenced code blocks in Markdown, and closes and reopens split blocks.

A fence is up to three blanks, then three or more backticks or tildes. It is closed by a line with at least as many of
the same character and nothing but blanks after them; the info string of a backtick fence has no backtick. An unclosed
fence extends to the end of the text (CommonMark, section "Fenced code blocks").
"""

import re

import msgspec

from trunkline.core.text.chunking.utf16 import units

_LINE = re.compile(r"^( {0,3})(`{3,}(?!`)|~{3,}(?!~))([^\n]*)", re.MULTILINE)
#: a fence is reopened only if this fraction of the limit is left for code: otherwise a long info string would be sent
#: with every few characters of code
_LEAST_ROOM = 16


class Fence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A fenced code block, as places in its text: a cut strictly between `start` and `end` is inside it."""

    start: int
    #: where the code begins, after the opening line
    body: int
    #: where the closing line begins; the end of the text if there is none
    close: int
    end: int
    #: the opening line
    opening: str
    #: indentation and marker: a line that closes the block
    marker: str

    def reopening(self, limit: int) -> str:
        """The line to reopen the block in a further chunk, with a line end; empty without enough room.

        It is the whole opening line, else the marker alone. Some code, a line end and the marker must fit after it.
        """
        for line in (self.opening, self.marker):
            if limit - units(line) - units(self.marker) - 2 >= max(1, limit // _LEAST_ROOM):
                return f"{line}\n"
        return ""

    def closes(self, line: str) -> bool:
        """Whether a line would close the block."""
        found = _LINE.match(line)
        return found is not None and _closes(found, self.marker.lstrip(" "))


def fences(text: str) -> list[Fence]:
    """The fenced code blocks of a text, in order."""
    found: list[Fence] = []
    if "```" not in text and "~~~" not in text:
        return found
    opened: re.Match[str] | None = None
    for line in _LINE.finditer(text):
        if opened is None:
            opened = line if _opens(line) else None
        elif _closes(line, opened[2]):
            # What follows the marker in its line, even a carriage return, is prose again.
            found.append(_fence(opened, close=line.start(), end=line.end(2)))
            opened = None
    if opened is not None:
        found.append(_fence(opened, close=len(text), end=len(text)))
    return found


def seems_open(line: str) -> bool:
    """Whether a text on a separate line would open a fence."""
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
