"""Patterns of a scenario for texts."""

from fnmatch import fnmatchcase


def text_matches(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern in which only ``*`` is special (any text, line ends included)."""
    return fnmatchcase(text, _glob(pattern))


def expected_text_matches(pattern: str, text: str) -> bool:
    r"""Whether a text matches what a strict scenario expects: there ``\*`` is the character ``*``."""
    return fnmatchcase(text, "[*]".join(map(_glob, pattern.split("\\*"))))


def exact_pattern(text: str) -> str:
    """The pattern of a strict scenario for exactly this text."""
    return text.replace("*", "\\*")


def _glob(pattern: str) -> str:
    return pattern.replace("[", "[[]").replace("?", "[?]")
