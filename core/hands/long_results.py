"""How long results are kept: the whole text once, by its hash, and its beginning where people and agents read."""

from __future__ import annotations

import hashlib

import msgspec

#: characters of a long result that a transcript shows
SHOWN = 2000


class KeptResult(msgspec.Struct, frozen=True, gc=False):
    """A result as it is kept: `shown` is all of it, unless `ref` names the whole text."""

    shown: str
    ref: str | None = None


def kept_result(text: str, inline: int | None) -> KeptResult:
    """How a result is kept. `inline`: the longest text, in characters, that is kept as it is; none: any."""
    if inline is None or len(text) <= inline:
        return KeptResult(text)
    return KeptResult(beginning_of(text, min(inline, SHOWN)), reference_of(text))


def reference_of(text: str) -> str:
    """The hash that names a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def beginning_of(text: str, limit: int, of: int | None = None) -> str:
    """The beginning of a long text, with a visible note that says so. `of`: how long the whole text is."""
    return f"{text[:limit]}\n[the beginning of {len(text) if of is None else of} characters]"
