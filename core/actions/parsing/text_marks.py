"""What models write into texts that people must not see: reasoning tags, and tags that name the answered message."""

from __future__ import annotations

import re

from trunkline.core.delivery.chunking.code_fences import fences

_ANY_TAG = re.compile(r"<\s*/?\s*(?:think(?:ing)?|thought|antthinking|final)\b", re.IGNORECASE)
_FINAL = re.compile(r"<\s*/?\s*final\b[^<>]*>", re.IGNORECASE)
_THINKING = re.compile(r"<\s*(/?)\s*(?:think(?:ing)?|thought|antthinking)\b[^<>]*>", re.IGNORECASE)
_INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_REPLY_TAG = re.compile(r"[ \t]*\[\[\s*(?:(reply_to_current)|reply_to\s*:\s*([^\]\n]+?))\s*\]\][ \t]*", re.IGNORECASE)
#: stands for the message that the turn answers; no id is blank
CURRENT_MESSAGE = ""


def without_reasoning(text: str) -> str:
    """The text without what stands between reasoning tags, and without the tags of a final answer, outside code.

    A reasoning tag that is never closed hides the rest: it is surely not meant for people.
    """
    if not _ANY_TAG.search(text):
        return text
    code = _code(text)
    text = _FINAL.sub(lambda tag: tag[0] if _inside(tag.start(), code) else "", text)
    code = _code(text)
    kept: list[str] = []
    at, thinking = 0, False
    for tag in _THINKING.finditer(text):
        if _inside(tag.start(), code):
            continue
        if not thinking:
            kept.append(text[at : tag.start()])
        if tag[1]:
            thinking = False
        elif not tag[0].rstrip("> \t").endswith("/"):
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
    code = _code(text)
    named: list[str] = []

    def cut(tag: re.Match[str]) -> str:
        if _inside(tag.start(), code):
            return tag[0]
        named.append(CURRENT_MESSAGE if tag[1] else tag[2])
        alone = tag.start() == 0 or tag.end() == len(text) or text[tag.start() - 1] == "\n"
        return "" if alone else " "

    rest = _REPLY_TAG.sub(cut, text)
    return (rest.strip(), named[0]) if named else (text, None)


def _code(text: str) -> list[tuple[int, int]]:
    """The places of code blocks and of code within lines."""
    blocks = [(fence.start, fence.end) for fence in fences(text)]
    if "`" not in text:
        return blocks
    inline = (found.span() for found in _INLINE_CODE.finditer(text))
    return [*blocks, *(span for span in inline if not _inside(span[0], blocks))]


def _inside(place: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)
