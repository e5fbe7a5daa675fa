"""Text from outside, made fit to be stored."""

from __future__ import annotations


def well_formed(text: str) -> str:
    """The text with lone surrogates, which no encoding can carry, replaced by ``?``."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
