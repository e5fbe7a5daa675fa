"""Long results: the whole text is kept once, by hash, and the beginning where people and agents read."""

from __future__ import annotations

import hashlib

import msgspec

#: characters of a long result that a transcript shows
SHOWN = 2000


class KeptResult(msgspec.Struct, frozen=True, gc=False):
    """A result to keep: `shown` is the whole text, unless `ref` names the whole text."""

    shown: str
    ref: str | None = None


def kept_result(text: str, inline: int | None) -> KeptResult:
    """The kept form of a result. `inline`: maximum length of an unchanged text, in characters; none for any."""
    if inline is None or len(text) <= inline:
        return KeptResult(text)
    return KeptResult(beginning_of(text, min(inline, SHOWN)), reference_of(text))


def reference_of(text: str) -> str:
    """The hash as the name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def beginning_of(text: str, limit: int, of: int | None = None) -> str:
    """The beginning of a long text, with a visible note. `of`: the length of the whole text."""
    return f"{text[:limit]}\n[the beginning of {len(text) if of is None else of} characters]"
