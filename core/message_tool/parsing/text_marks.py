"""What models write into texts that people must not see: reasoning tags, and tags that name the answered message.

The texts come from outside, so every pattern here takes a time that grows with the length of the text only.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise

from trunkline.core.text.chunking.code_fences import fences

_ANY_TAG = re.compile(r"<[ \t]{0,8}/?[ \t]{0,8}(?:think(?:ing)?|thought|antthinking|final)\b", re.IGNORECASE)
_FINAL = re.compile(r"<[ \t]{0,8}/?[ \t]{0,8}final\b[^<>]*>", re.IGNORECASE)
_THINKING = re.compile(
    r"<[ \t]{0,8}(/?)[ \t]{0,8}(?:think(?:ing)?|thought|antthinking)\b(?P<rest>[^<>]*)>", re.IGNORECASE
)
_TICKS = re.compile(r"`+")
#: ids have no blanks and no brackets
_REPLY_TAG = re.compile(
    r"\[\[[ \t]{0,8}(?:(reply_to_current)|reply_to[ \t]{0,8}:[ \t]{0,8}([^\[\]\s]{1,256}))[ \t]{0,8}\]\]", re.IGNORECASE
)
_BLANKS = " \t"
#: stands for the message that the turn answers; no id is blank
CURRENT_MESSAGE = ""


class Spans:
    """Places in a text, disjoint and in order."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._spans = sorted(spans)
        self._starts = [start for start, _ in self._spans]

    def __contains__(self, place: int) -> bool:
        before = bisect_right(self._starts, place) - 1
        return before >= 0 and place < self._spans[before][1]


def _code(text: str) -> Spans:
    """The places of code blocks and of code within lines."""
    blocks = [(fence.start, fence.end) for fence in fences(text)]
    return Spans([*blocks, *_inline(text, Spans(blocks))] if "`" in text else blocks)


def without_reasoning(text: str) -> str:
    """The text without what stands between reasoning tags, and without the tags of a final answer, outside code.

    A reasoning tag that is never closed hides the rest: it is surely not meant for people.
    """
    if not _ANY_TAG.search(text):
        return text
    code = _code(text)
    text = _FINAL.sub(lambda tag: tag[0] if tag.start() in code else "", text)
    code = _code(text)
    kept: list[str] = []
    at, thinking = 0, False
    for tag in _THINKING.finditer(text):
        if tag.start() in code:
            continue
        if not thinking:
            kept.append(text[at : tag.start()])
        if tag[1]:
            thinking = False
        elif not tag["rest"].rstrip().endswith("/"):
            thinking = True
        at = tag.end()
    if not thinking:
        kept.append(text[at:])
    return "".join(kept).strip()


def split_reply_tag(text: str) -> tuple[str, str | None]:
    """The text without its reply tags, and the message that the first one names; `CURRENT_MESSAGE` for the turn's own.

    The tags are ``[[reply_to:<id>]]`` and ``[[reply_to_current]]``.
    """
    if "[[" not in text:
        return text, None
    code, named, kept, at = _code(text), list[str](), list[str](), 0
    for tag in _REPLY_TAG.finditer(text):
        if tag.start() in code:
            continue
        named.append(CURRENT_MESSAGE if tag[1] else tag[2])
        kept.append(text[at : tag.start()])
        at = tag.end()
    if not named:
        return text, None
    kept.append(text[at:])
    parts = [part.strip(_BLANKS) for part in kept]
    # Only around the tags.
    parts[0] = kept[0].rstrip(_BLANKS)
    return _joined([part for part in parts if part]).strip(), named[0]


def _joined(parts: list[str]) -> str:
    """The parts between tags, with a blank between words."""
    pieces = parts[:1]
    for before, after in pairwise(parts):
        pieces += ("" if before.endswith("\n") or after.startswith("\n") else " ", after)
    return "".join(pieces)


def _inline(text: str, blocks: Spans) -> list[tuple[int, int]]:
    """Code within lines, outside blocks: between two runs of equally many backticks."""
    found: list[tuple[int, int]] = []
    start = 0
    for line in text.split("\n"):
        if "`" in line and start not in blocks:
            found += ((start + opened, start + closed) for opened, closed in _in_line(line))
        start += len(line) + 1
    return found


def _in_line(line: str) -> list[tuple[int, int]]:
    runs = [run.span() for run in _TICKS.finditer(line)]
    # For each run the next one of its length.
    nexts: list[int | None] = [None] * len(runs)
    latest: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number][1] - runs[number][0]
        nexts[number] = latest.get(length)
        latest[length] = number
    found: list[tuple[int, int]] = []
    number = 0
    while number < len(runs):
        closing = nexts[number]
        if closing is None:
            number += 1
            continue
        found.append((runs[number][0], runs[closing][1]))
        number = closing + 1
    return found
