"""Cuts a text into utterances: at ends of sentences, else of clauses, else of words. Pure.

Each one is heard whole, or the call has ended. So it must be short enough to be spoken within the time that a request
may take.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trunkline.core.text.chunking.break_points import breaks
from trunkline.core.text.chunking.utf16 import BLANKS, boundary, reach, skip_blanks

#: a full stop after one of these, or after a single letter, ends no sentence
_SHORT = frozenset("dr mr mrs ms st no nr vs ca prof sen jr sr bzw usw".split())  # noqa: SIM905 -- plainer
_SENTENCE = re.compile(r"(?P<word>\w*)[.!?…。！？]+[\"'”’)\]]*(?=\s)|\n")
_CLAUSE = re.compile(r"[,;:–—][\"'”’)\]]*(?=\s)")


def sentence_spans(text: str, limit: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The utterances of plain text between two places, each of as many sentences as fit into the limit."""
    start = skip_blanks(text, start, end)
    while start < end:
        stop = reach(text, start, end, limit) if limit > 0 else end
        cut = end if stop >= end else _cut(text, start, max(stop, start + 1))
        size = len(text[start:cut].rstrip(BLANKS))
        if size:
            yield start, start + size
        start = skip_blanks(text, cut, end)


def _cut(text: str, start: int, stop: int) -> int:
    """Where the utterance that begins at `start` ends, at most at `stop`."""
    # One character more: an end is known by the white space after it.
    window = text[start : stop + 1]
    ends = [found.end() for found in _SENTENCE.finditer(window) if _ends(found) and found.end() <= stop - start]
    ends = ends or [found.end() for found in _CLAUSE.finditer(window) if found.end() <= stop - start]
    if ends:
        return start + ends[-1]
    return next(breaks(text, ((start, stop),), start + 1), 0) or boundary(text, stop, start)


def _ends(found: re.Match[str]) -> bool:
    word = found["word"]
    if not word or not found[0].startswith(f"{word}."):
        return True
    return word.lower() not in _SHORT and not (len(word) == 1 and word.isalpha())
