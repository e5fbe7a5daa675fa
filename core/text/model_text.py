"""Texts of models: what people must not see is cut, and what names a file or the answered message is read.

Answers of turns and texts of the message tool are read alike. They come from outside, so every pattern here takes a
time that grows with the length of the text only.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import pairwise

import msgspec

from trunkline.core.profile_rules import OURS, ProfileRules
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
#: before the media that a line names
MEDIA = "MEDIA:"
_FENCE = re.compile(r" {0,3}(```|~~~)")
_QUOTED = re.compile(r"([`\"'])(.+)\1")
#: the forms of a file's address: a URL, a path, or a name with an extension
_URL = re.compile(r"(?:https?|file)://\S", re.IGNORECASE)
_PATH = re.compile(r"[/~\\]|\.{1,2}/|[a-z]:[/\\]", re.IGNORECASE)
_NAME = re.compile(r"[^:]*\.\w{1,10}")


class ModelText(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A text of a model for people, and the requests in the text."""

    text: str
    #: URLs or paths of files
    media: tuple[str, ...] = ()
    #: the message that it says it answers; `CURRENT_MESSAGE` for that of the turn
    reply_to: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self.text.strip() and not self.media

    @property
    def as_result(self) -> str:
        """The text as the result of a task, with a line for each file."""
        return "\n".join(part for part in (self.text, *(f"{MEDIA}{file}" for file in self.media)) if part)


class MediaRules:
    """The rules of a profile for lines that name files."""

    def split_media(self, text: str, media: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """See `split_media`."""
        if not media and MEDIA not in text:
            return text, ()
        rest, found = media_lines(text, MEDIA.__eq__)
        return rest if found else text, distinct((*media, *found))


def read_model_text(text: str, by: ProfileRules = OURS, media: tuple[str, ...] = ()) -> ModelText:
    """A text of a model, read: reasoning is cut, reply tags and lines that name files are taken out.

    `media`: files that were named beside it.
    """
    text, replied = split_reply_tag(without_reasoning(text))
    text, media = split_media(text, media, by)
    return ModelText(text=text, media=media, reply_to=replied)


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


def split_media(text: str, media: tuple[str, ...], by: ProfileRules = OURS) -> tuple[str, tuple[str, ...]]:
    """Text and media of a message, without blank or duplicate media.

    A line ``MEDIA:<address>...`` also names media, unless it is in a code block or is not the address of a file.
    """
    return by[MediaRules].split_media(text, media)


def media_lines(text: str, is_word: Callable[[str], bool]) -> tuple[str, list[str]]:
    """A text without the lines that name media, and these media. `is_word`: whether a word is the one before them."""
    kept: list[str] = []
    found: list[str] = []
    fence, cut = "", False
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        named = [] if fence or mark else _named(line, is_word)
        if mark:
            fence = "" if fence == mark[1] else fence or mark[1]
        found += named
        blank = not line.strip()
        # Blank lines around a removed line become one blank line.
        if not named and not (cut and blank and not (kept and kept[-1].strip())):
            kept.append(line)
        cut = bool(named) or (cut and blank)
    return "\n".join(kept).strip(), found


def distinct(media: Iterable[str]) -> tuple[str, ...]:
    """Media without blank or duplicate ones."""
    return tuple(dict.fromkeys(one.strip() for one in media if one.strip()))


def _named(line: str, is_word: Callable[[str], bool]) -> list[str]:
    """The media that a line names; empty for ordinary text."""
    trimmed = line.strip()
    word, rest = trimmed[: len(MEDIA)], trimmed[len(MEDIA) :].strip()
    if not is_word(word):
        return []
    quoted = _QUOTED.fullmatch(rest)
    addresses = [quoted[2].strip()] if quoted else rest.split()
    return addresses if all(_URL.match(one) or _PATH.match(one) or _NAME.fullmatch(one) for one in addresses) else []
