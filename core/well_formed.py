"""Makes text from outside storable, and errors of user code readable."""

from __future__ import annotations

import re

#: maximum length of an error in an event
_MOST = 2000
#: maximum length of a word in a message; file names are shorter
LONGEST_WORD = 300
_LONG_WORD = re.compile(rf"[^\s/]{{{LONGEST_WORD},}}|[\d_,.]{{60,}}")


def well_formed(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot encode, replaced by ``?``."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def is_well_formed(text: str) -> bool:
    """Whether UTF-8 can encode the text."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def plain_text(value: object) -> str | None:
    """A text of user code as a storable `str`, also for a subclass such as `StrEnum`; None: it is no text."""
    if type(value) is str:
        return well_formed(value)
    return well_formed(str.__str__(value)) if isinstance(value, str) else None


def describe(error: BaseException) -> str:
    """The class and the message of any error as one storable text."""
    name = type(error).__name__
    words = words_of(error)
    return f"{name}: {words}" if words else name


def words_of(error: BaseException) -> str:
    """The message of any error as a storable text, cut if it is very long."""
    try:
        words = plain_text(str(error)) or ""
    except Exception:  # noqa: BLE001 -- an error whose text cannot be made must not hide the first one
        words = "unprintable error"
    return words if len(words) <= _MOST else f"{words[:_MOST]}... ({len(words)} characters)"


def cut_words(text: str) -> str:
    """The text with the middle of endless words and numbers left out, for a message that quotes them."""
    return _LONG_WORD.sub(lambda word: f"{word[0][:24]}...{word[0][-8:]} ({len(word[0])} characters)", text)
