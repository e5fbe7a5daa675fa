"""Lengths as platforms count them, in UTF-16 code units, and the places where a text may be cut at all.

A character outside of the basic plane counts twice. A cut never falls into a grapheme cluster, which is what people see
as one character: a letter with its accents, a flag, a family of emoji, a Hangul syllable. The rule for clusters is that
of Unicode (UAX 29), made with what the standard library knows; where it lacks a property, it rather keeps together.
"""

from __future__ import annotations

import re
import unicodedata

#: white space, as upstream has it too: what Python takes for it, and the byte order mark
BLANKS = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_RUN = re.compile(r"[\s\ufeff]*")
#: categories of what nobody sees: controls, formats, separators
_UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me", "Mc"})
_ZWJ = "\u200d"
_HALVES = "\uff9e\uff9f"
#: signs that go before what they belong to
_PREPENDED = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
#: signs that join two consonants of an Indic script into one
_VIRAMAS = frozenset("\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d")
_HANGUL = (
    ("L", "\u1100", "\u115f"),
    ("V", "\u1160", "\u11a7"),
    ("T", "\u11a8", "\u11ff"),
    ("L", "\ua960", "\ua97c"),
    ("V", "\ud7b0", "\ud7c6"),
    ("T", "\ud7cb", "\ud7fb"),
)
#: parts of Hangul that go together, see `_hangul`
_SYLLABLES = frozenset({"LL", "LV", "LS", "LE", "SV", "VV", "ST", "VT", "ET", "TT"})


def units(text: str) -> int:
    """Length in UTF-16 code units. Halves of characters, which no encoding carries, count as one each."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def fits(text: str, limit: int) -> bool:
    """Whether a text is within a limit; every text is within one that is not positive."""
    size = len(text)
    if limit <= 0 or 2 * size <= limit:
        return True
    return size <= limit and (text.isascii() or units(text) <= limit)


def reach(text: str, start: int, end: int, room: int) -> int:
    """The furthest place, at most `end`, up to which the text from `start` is within `room` units."""
    if room <= 0:
        return start
    stop = min(start + room, end)
    over = units(text[start:stop]) - room
    while over > 0:
        stop -= 1
        over -= 2 if text[stop] > "\uffff" else 1
    return stop


def visible(text: str) -> bool:
    """Whether there is anything to see."""
    if text[:1] > " " and text[0].isprintable():
        return True
    return any(unicodedata.category(char) not in _UNSEEN for char in text)


def accented(text: str, at: int) -> bool:
    """Whether the character at a place carries an accent or the like, so that it is no mere blank."""
    after = text[at + 1 : at + 2]
    return after >= "\u0300" and _extends(after)


def skip_blanks(text: str, start: int, end: int) -> int:
    """Where the white space at `start` ends. A blank that carries an accent is none."""
    found = _RUN.match(text, start, end)
    stop = found.end() if found else start
    return stop - 1 if stop > start and accented(text, stop - 1) else stop


def boundary(text: str, at: int, start: int) -> int:
    """The last place up to `at`, and after `start`, that is in no grapheme cluster; `at` when there is none."""
    place = at
    while place > start and joined(text, place, start):
        place -= 1
    return place if place > start else at


def joined(text: str, at: int, start: int) -> bool:
    """Whether the characters before and after a place belong to one grapheme cluster; `start` is a boundary."""
    if not start < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if left < "\u0300" and right < "\u0300":
        return left == "\r" and right == "\n"
    if _control(left) or _control(right):
        return False
    if _extends(right) or left in _PREPENDED:
        return True
    if left == _ZWJ:
        return _pictographic(right)
    if _flag_half(left) and _flag_half(right):
        return _run_of_halves(text, at, start) % 2 == 1
    return _hangul(left) + _hangul(right) in _SYLLABLES or _one_conjunct(text, at, start)


def _control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Zl", "Zp")


def _extends(char: str) -> bool:
    """Accents, joiners, variation selectors, tones of skin, tags of flags."""
    if unicodedata.category(char) in _MARKS or char in _HALVES or "\u200c" <= char <= _ZWJ:
        return True
    return "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f"


def _pictographic(char: str) -> bool:
    """What may be joined into one emoji. Other symbols count as well: a joiner before them means it."""
    return unicodedata.category(char) in ("So", "Sm", "Po") or "\U0001f000" <= char <= "\U0001faff"


def _flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _run_of_halves(text: str, at: int, start: int) -> int:
    """How many halves of flags stand before a place: they pair up from the first."""
    place = at
    while place > start and _flag_half(text[place - 1]):
        place -= 1
    return at - place


def _hangul(char: str) -> str:
    """What a character is to a Hangul syllable: leading, vowel, trailing, or all of one, without or with its end."""
    if "\uac00" <= char <= "\ud7a3":
        return "S" if (ord(char) - 0xAC00) % 28 == 0 else "E"
    return next((part for part, low, high in _HANGUL if low <= char <= high), "-")


def _one_conjunct(text: str, at: int, start: int) -> bool:
    """Consonants of an Indic script with a joining sign between them."""
    if unicodedata.category(text[at]) != "Lo":
        return False
    place, linked = at - 1, False
    while place > start and (text[place] in _VIRAMAS or _extends(text[place])):
        linked = linked or text[place] in _VIRAMAS
        place -= 1
    return linked and unicodedata.category(text[place]) == "Lo" and ord(text[place]) >> 7 == ord(text[at]) >> 7
