"""Texts in Markdown. What strangers wrote neither formats, links nor mentions anybody."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trunkline.app.text.cells import clean, clean_lines

_TICKS = re.compile("`+")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@&$-])")
#: between the name of an account and the sign that mentions it
_APART = "\u200b"


def plain(text: str) -> str:
    """A text in a paragraph or a heading: nothing in it formats, links or mentions."""
    line = clean(" ".join(text.split()))
    return _SPECIAL.sub(r"\\\1", line).replace("\\@", f"\\@{_APART}")


def code(text: str) -> str:
    """A text as code in a line."""
    line = clean(" ".join(text.split()))
    longest = max((len(found) for found in _TICKS.findall(line)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}" if line else ""


def block(lines: Sequence[str], language: str = "text") -> list[str]:
    """Lines as a block of code."""
    text = clean_lines("\n".join(lines))
    longest = max((len(found) for found in _TICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return [f"{ticks}{language}", *text.split("\n"), ticks]
