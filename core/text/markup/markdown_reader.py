"""Reads Markdown and passes blocks and spans, in order, to a writer for another form.

The parser is imported when the first text needs it: gateways whose platforms take plain Markdown never do. A text that
the parser cannot be trusted with is left unchanged. Nothing visible is dropped except the markup itself.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.rules_inline.state_inline import Delimiter
    from markdown_it.token import Token

#: characters of which every text with markup has at least one
_SIGNS = re.compile(r"[\\`*_~\[&<>#]|\|\||^[ \t]*(?:[-+=]|\d{1,9}[.)])", re.MULTILINE)
#: maximum nesting of blocks; the parser drops deeper ones
_DEEPEST = 40
#: maximum number of opening brackets without a link: for each the parser scans to the end of the text
_MOST_BRACKETS = 500
_BAR = "|"
_RULE = "───"
_BULLET = "• "
_INDENT = "  "


class MarkupKind(Enum):
    """The kind of a marked part of a text; the value is the HTML tag."""

    BOLD = "b"
    ITALIC = "i"
    STRIKETHROUGH = "s"
    SPOILER = "tg-spoiler"
    CODE = "code"
    #: with its language
    BLOCK = "pre"
    QUOTE = "blockquote"
    #: with its address
    LINK = "a"


class MarkupWriter(Protocol):
    """Receives a text in parts, in order. Marks are nested."""

    def text(self, text: str) -> None:
        """Visible text."""
        ...

    def enter(self, mark: MarkupKind, detail: str = "") -> None:
        """A mark begins."""
        ...

    def leave(self) -> None:
        """The innermost mark ends."""
        ...


def read(text: str, writer: MarkupWriter) -> bool:
    """Read a text into a writer. False for a text without readable markup, of which nothing was written."""
    if not _SIGNS.search(text) or text.count("[") - text.count("](") > _MOST_BRACKETS:
        return False
    try:
        tokens = _parser().parse(text)
    except (LookupError, ValueError, RecursionError):
        # A text that the parser fails on is better sent without styles than not at all.
        return False
    if max((token.level for token in tokens), default=0) >= _DEEPEST - 1:
        return False
    reader = _Reader(writer)
    for token in tokens:
        reader.block(token)
    return True


class _Reader:
    """Walks over the parser's tokens and keeps track of line ends and list indentation."""

    def __init__(self, writer: MarkupWriter) -> None:
        self._to = writer
        #: the line after the previous block; None before the first
        self._line: int | None = None
        #: the current output line has begun
        self._begun = True
        self._lists = 0

    def block(self, token: Token) -> None:
        match token.type:
            case "inline":
                self._spans(token.children or ())
            case "paragraph_open" | "heading_open":
                self._begin(token)
                if token.type == "heading_open":
                    self._to.enter(MarkupKind.BOLD)
            case "heading_close":
                self._to.leave()
            case "blockquote_open":
                self._begin(token, opens=True)
                self._to.enter(MarkupKind.QUOTE)
            case "blockquote_close":
                self._begun = False
                self._to.leave()
            case "bullet_list_open" | "ordered_list_open":
                self._lists += 1
            case "bullet_list_close" | "ordered_list_close":
                self._lists -= 1
            case "list_item_open":
                indent = "" if self._begun else _INDENT * (self._lists - 1)
                self._begin(token, opens=True)
                self._to.text(indent + (f"{token.info}{token.markup} " if token.info else _BULLET))
            case "list_item_close":
                self._begun = False
            case "fence":
                self._begin(token)
                self._whole(MarkupKind.BLOCK, token.content.removesuffix("\n"), token.info.strip().partition(" ")[0])
            case "hr":
                self._begin(token)
                self._to.text(_RULE)
            case _:
                self._to.text(token.content)

    def _begin(self, token: Token, *, opens: bool = False) -> None:
        """Begin a block after as many line ends as in the source. `opens`: the content continues the line."""
        first, after = token.map or (self._line or 0, self._line or 0)
        if self._line is not None and not self._begun:
            self._to.text("\n" * max(1, first - self._line + 1))
        self._line, self._begun = first + 1 if opens else after, opens

    def _spans(self, tokens: Sequence[Token]) -> None:
        """Write the inline tokens of a paragraph."""
        for token in tokens:
            kind, _, side = token.type.rpartition("_")
            if side == "open" and kind in _SPANS:
                self._to.enter(_SPANS[kind], str(token.attrGet("href") or ""))
            elif side == "close" and kind in _SPANS:
                self._to.leave()
            elif token.type in ("softbreak", "hardbreak"):
                self._to.text("\n")
            elif token.type == "code_inline":
                self._whole(MarkupKind.CODE, token.content)
            elif token.type == "image":
                self._whole(MarkupKind.LINK, token.content, str(token.attrGet("src") or ""))
            else:
                self._to.text(token.content)

    def _whole(self, mark: MarkupKind, text: str, detail: str = "") -> None:
        self._to.enter(mark, detail)
        self._to.text(text)
        self._to.leave()


_SPANS = {
    "strong": MarkupKind.BOLD,
    "em": MarkupKind.ITALIC,
    "s": MarkupKind.STRIKETHROUGH,
    "spoiler": MarkupKind.SPOILER,
    "link": MarkupKind.LINK,
}


# -------------------------------------------------------------------- the parser


@functools.cache
def _parser() -> MarkdownIt:
    """CommonMark with strikethrough and spoilers, without HTML.

    Indented code and link definitions are off too: people do not mean them in a chat, and text would disappear.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST})
    parser.enable("strikethrough").disable(["code", "reference", "html_block", "html_inline"])
    parser.inline.add_terminator_char(_BAR)
    parser.inline.ruler.before("emphasis", "spoiler", _bars)
    parser.inline.ruler2.before("emphasis", "spoiler", _spoilers)
    return parser


def _bars(state: StateInline, silent: bool) -> bool:
    """Inline rule: two bars may open or close a spoiler; in a longer run each pair counts separately."""
    from markdown_it.rules_inline.state_inline import Delimiter

    if silent or not state.src.startswith(_BAR * 2, state.pos):
        return False
    row = state.scanDelims(state.pos, True)
    if row.length % 2:
        state.push("text", "", 0).content = _BAR
    for _ in range(row.length // 2):
        state.push("text", "", 0).content = _BAR * 2
        pair = Delimiter(ord(_BAR), 0, len(state.tokens) - 1, -1, row.can_open, row.can_close)
        state.delimiters.append(pair)
    state.pos += row.length
    return True


def _spoilers(state: StateInline) -> None:
    """Inline rule: turn matching pairs of bars into spoilers, here and inside links."""
    _pair(state, state.delimiters)
    for meta in state.tokens_meta:
        _pair(state, meta["delimiters"] if meta else ())


def _pair(state: StateInline, found: Sequence[Delimiter]) -> None:
    for bar in found:
        if bar.marker != ord(_BAR) or bar.end < 0:
            continue
        opening, closing = state.tokens[bar.token], state.tokens[found[bar.end].token]
        opening.type, opening.nesting, opening.content = "spoiler_open", 1, ""
        closing.type, closing.nesting, closing.content = "spoiler_close", -1, ""
