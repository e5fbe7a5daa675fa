"""Preparing what is said: after this, the bytes do not change any more, and only then are they committed."""

from __future__ import annotations


def _cut(text: str, limit: int) -> int:
    """Where to end the first chunk of a text over the limit: a line end, else a blank, else the limit."""
    window = text[: limit + 1]
    for mark in ("\n", " "):
        at = window.rfind(mark, 1)
        if at > 0:
            return at
    return limit


def chunk_text(text: str, limit: int) -> tuple[str, ...]:
    """Split a text into chunks of at most `limit` characters, at line ends or blanks where there are any.

    White space at a cut is dropped; a text without anything visible has no chunks.
    """
    rest = text if text.strip() else ""
    chunks: list[str] = []
    while len(rest) > limit:
        at = _cut(rest, limit)
        chunks.append(rest[:at].rstrip())
        rest = rest[at:].lstrip()
    if rest:
        chunks.append(rest)
    return tuple(chunk for chunk in chunks if chunk)
