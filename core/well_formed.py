"""Makes text from outside storable, and errors of user code readable."""

import re
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: maximum length of an error in an event
_MOST = 2000
#: maximum length of a word in a message; file names are shorter
LONGEST_WORD = 300
#: an escape in a JSON text: a pair of surrogates, half of one, which is the group, or another
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_LONG_WORD = re.compile(rf"[^\s/]{{{LONGEST_WORD},}}|[\d_,.]{{60,}}")


def well_formed(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot encode, replaced by ``?``."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def well_formed_json(document: str | bytes, instead: bytes = b"?") -> bytes:
    """A JSON text with escaped half characters, as of a text that JavaScript has cut, replaced by ``?``.

    JSON allows them, and no decoder into storable text takes them: a message must not be lost for half an emoji.
    """
    data = document.encode("utf-8", "replace") if isinstance(document, str) else document
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _ESCAPE.sub(lambda escape: instead if escape[1] else escape[0], data)


def decode_json(decode: Callable[[bytes], T], document: str | bytes) -> T:
    """The value of a JSON text from a stranger. Half characters become ``?`` in texts, and are refused in ids.

    An id with a replaced character would name another message or person. Types check their ids (`untrusted.check_ids`).
    """
    data = well_formed_json(document)
    if len(data) != len(document) and data != document:
        # Once with NUL instead, which no id may have, and which a text may.
        decode(well_formed_json(document, b"\\u0000"))
    return decode(data)


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
