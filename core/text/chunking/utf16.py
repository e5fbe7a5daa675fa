"""Lengths in the units of platforms, UTF-16 code units, and the places where a text may be cut at all.

A character outside the Basic Multilingual Plane counts twice. A cut never falls inside a grapheme cluster, which people
see as one character: a letter with its accents, a flag, a family emoji, a Hangul syllable (Unicode UAX 29).
"""

import regex

#: white space as upstream defines it: Python's, plus the byte order mark
BLANKS = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_RUN = regex.compile(r"[\s\ufeff]*")
_VISIBLE = regex.compile(r"[^\p{Cc}\p{Cf}\p{Z}]")
_CLUSTER = regex.compile(r"\X")
#: characters that extend the one before them: accents, joiners, variation selectors, skin tones
_EXTENDING = regex.compile(r"[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]")


def units(text: str) -> int:
    """Length in UTF-16 code units. A lone surrogate counts as a single unit."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def fits(text: str, limit: int) -> bool:
    """Whether a text is within a limit in UTF-16 code units; without a positive limit every text is."""
    size = len(text)
    if limit <= 0 or 2 * size <= limit:
        return True
    return size <= limit and (text.isascii() or units(text) <= limit)


def reach(text: str, start: int, end: int, room: int) -> int:
    """The furthest place, at most `end`, with at most `room` code units in `text[start:place]`."""
    if room <= 0:
        return start
    stop = min(start + room, end)
    over = units(text[start:stop]) - room
    while over > 0:
        stop -= 1
        over -= 2 if text[stop] > "\uffff" else 1
    return stop


def visible(text: str) -> bool:
    """Whether a text has a visible character: anything but controls, formats and separators."""
    return (text[:1] > " " and text[0].isprintable()) or _VISIBLE.search(text) is not None


def accented(text: str, at: int) -> bool:
    """Whether an accent or the like follows the character at a place, and so makes white space visible."""
    after = text[at + 1 : at + 2]
    return after >= "\u0300" and _EXTENDING.match(after) is not None


def skip_blanks(text: str, start: int, end: int) -> int:
    """The end of the white space at `start`. White space with an accent counts as text."""
    found = _RUN.match(text, start, end)
    stop = found.end() if found else start
    return stop - 1 if stop > start and accented(text, stop - 1) else stop


def boundaries(text: str, start: int, stop: int) -> list[int]:
    """The places after `start`, up to `stop`, outside of grapheme clusters; `start` must be such a place."""
    # One character beyond `stop` decides whether `stop` itself is inside a cluster.
    ends = [start + cluster.end() for cluster in _CLUSTER.finditer(text[start : stop + 1])]
    if ends and ends[-1] > stop:
        ends.pop()
    return ends


def boundary(text: str, at: int, start: int) -> int:
    """The last place after `start`, up to `at`, outside of grapheme clusters; `at` if there is none."""
    ends = boundaries(text, start, at)
    return ends[-1] if ends else at
