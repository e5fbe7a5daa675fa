"""Patterns of a scenario for texts."""

from __future__ import annotations

from fnmatch import fnmatchcase


def text_matches(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern in which only ``*`` is special (any text, line ends included)."""
    escaped = pattern.replace("[", "[[]").replace("?", "[?]")
    return fnmatchcase(text, escaped)
