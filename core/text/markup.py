"""Renders Markdown for platforms: as plain text with style ranges (Signal) and as HTML (Telegram). Pure."""

import functools
import html
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Protocol

import msgspec

from trunkline.core.text.chunking.utf16 import units, visible
from trunkline.core.values import Style, StyleKind

# Reads Markdown, and passes blocks and spans, in order, to a writer for another form.
#
# The parser is imported when the first text needs it: gateways whose platforms take plain Markdown never do. A text
# that the parser cannot be trusted with is left unchanged. Nothing visible is dropped except the markup itself.

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

    def block(self, token: "Token") -> None:
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

    def _begin(self, token: "Token", *, opens: bool = False) -> None:
        """Begin a block after as many line ends as in the source. `opens`: the content continues the line."""
        first, after = token.map or (self._line or 0, self._line or 0)
        if self._line is not None and not self._begun:
            self._to.text("\n" * max(1, first - self._line + 1))
        self._line, self._begun = first + 1 if opens else after, opens

    def _spans(self, tokens: "Sequence[Token]") -> None:
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


@functools.cache
def _parser() -> "MarkdownIt":
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


def _bars(state: "StateInline", silent: bool) -> bool:
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


def _spoilers(state: "StateInline") -> None:
    """Inline rule: turn matching pairs of bars into spoilers, here and inside links."""
    _pair(state, state.delimiters)
    for meta in state.tokens_meta:
        _pair(state, meta["delimiters"] if meta else ())


def _pair(state: "StateInline", found: "Sequence[Delimiter]") -> None:
    for bar in found:
        if bar.marker != ord(_BAR) or bar.end < 0:
            continue
        opening, closing = state.tokens[bar.token], state.tokens[found[bar.end].token]
        opening.type, opening.nesting, opening.content = "spoiler_open", 1, ""
        closing.type, closing.nesting, closing.content = "spoiler_close", -1, ""


_STYLES = {
    MarkupKind.BOLD: StyleKind.BOLD,
    MarkupKind.ITALIC: StyleKind.ITALIC,
    MarkupKind.STRIKETHROUGH: StyleKind.STRIKETHROUGH,
    MarkupKind.SPOILER: StyleKind.SPOILER,
    MarkupKind.CODE: StyleKind.MONOSPACE,
    MarkupKind.BLOCK: StyleKind.MONOSPACE,
}
_QUOTE = "> "
#: parts of an address that its label may omit
_DRESS = re.compile(r"\A(?:https?://|mailto:)?(?:www\.)?|/+\Z", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_LANGUAGE = re.compile(r"[\w#+.-]+")


class StyledText(msgspec.Struct, frozen=True, kw_only=True):
    """A plain text with styles as character ranges."""

    text: str
    #: kind, start and end; in order of start
    styles: tuple[tuple[StyleKind, int, int], ...] = ()

    @property
    def code(self) -> list[tuple[int, int]]:
        """The ranges of code, in order."""
        return [(start, end) for kind, start, end in self.styles if kind is StyleKind.MONOSPACE]


class HtmlPage(msgspec.Struct, frozen=True, kw_only=True):
    """A text as HTML, and the visible text."""

    html: str
    shown: str


def styled(text: str) -> StyledText:
    """Markdown as plain text with styles. A text without markup stays identical."""
    writer = _Plain()
    if not read(text, writer):
        return StyledText(text=text)
    shown = "".join(writer.parts)
    if not visible(shown) or (not writer.styles and shown.split() == text.split()):
        return StyledText(text=text)
    return StyledText(text=shown, styles=tuple(sorted(writer.styles, key=lambda style: (style[1], -style[2]))))


def page(text: str) -> HtmlPage:
    """Markdown as HTML for Telegram. A text without markup is only escaped."""
    writer = _Html()
    if read(text, writer):
        shown = "".join(writer.shown)
        if visible(shown) and (writer.marked or shown.split() != text.split()):
            return HtmlPage(html="".join(writer.parts), shown=shown)
    return HtmlPage(html=escaped(text), shown=text)


def escaped(text: str) -> str:
    """HTML for an unchanged text."""
    return html.escape(text, quote=False)


def rebased(
    whole: StyledText, pieces: Sequence[Sequence[tuple[int, int]]], between: str
) -> Iterator[tuple[Style, ...]]:
    """The styles of each piece of a text, in UTF-16 code units from the start of the piece.

    A piece consists of parts of the text, in order, separated by `between`.
    """
    styles, first = whole.styles, 0
    for parts in pieces:
        found: list[Style] = []
        offset = 0
        for start, end in parts:
            while first < len(styles) and styles[first][2] <= start:
                first += 1
            found += _within(whole, first, (start, end), offset)
            offset += units(whole.text[start:end]) + len(between)
        yield tuple(found)


def _within(whole: StyledText, first: int, part: tuple[int, int], offset: int) -> Iterator[Style]:
    """The styles of a part of a text, from `offset` code units after the start of the piece."""
    start, end = part
    place, size = start, offset
    for index in range(first, len(whole.styles)):
        kind, begins, ends = whole.styles[index]
        if begins >= end:
            return
        low, high = max(begins, start), min(ends, end)
        if low < high:
            # Styles are in order, so one pass counts the code units.
            place, size = low, size + units(whole.text[place:low])
            yield Style(kind=kind, start=size, length=units(whole.text[low:high]))


def _address(address: str, label: str) -> str:
    """The address to append to the label of a link; empty for a label with the address."""
    if not label.strip():
        return address
    same = _DRESS.sub("", label.strip()).casefold() == _DRESS.sub("", address).casefold()
    return "" if same or not address else f" ({address})"


class _Plain:
    """Writes plain text and collects style ranges."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.styles: list[tuple[StyleKind, int, int]] = []
        self._size = 0
        #: open marks: kind, detail, start, and number of parts before it
        self._open: list[tuple[MarkupKind, str, int, int]] = []
        self._quotes = 0

    def text(self, text: str) -> None:
        """Add visible text. Every line of a quotation begins with a sign."""
        if self._quotes:
            text = text.replace("\n", "\n" + _QUOTE * self._quotes)
        self.parts.append(text)
        self._size += len(text)

    def enter(self, mark: MarkupKind, detail: str = "") -> None:
        if mark is MarkupKind.QUOTE:
            self.text(_QUOTE)
            self._quotes += 1
        self._open.append((mark, detail, self._size, len(self.parts)))

    def leave(self) -> None:
        """End the innermost mark. A link is followed by the address unless visible in the label."""
        mark, detail, start, part = self._open.pop()
        if mark is MarkupKind.QUOTE:
            self._quotes -= 1
        elif mark is MarkupKind.LINK:
            self.text(_address(detail, "".join(self.parts[part:])))
        elif start < self._size and not any(_STYLES.get(outer) is _STYLES[mark] for outer, *_ in self._open):
            self.styles.append((_STYLES[mark], start, self._size))


class _Html:
    """Writes HTML and collects the visible text."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.shown: list[str] = []
        self.marked = False
        #: open marks: kind, detail, tags, and number of parts of both kinds before it
        self._open: list[tuple[MarkupKind, str, tuple[str, str], int, int]] = []

    def text(self, text: str) -> None:
        if text:
            self.parts.append(escaped(text))
            self.shown.append(text)

    def enter(self, mark: MarkupKind, detail: str = "") -> None:
        """Begin a mark. Inside a mark of the same kind there are no tags: quotations, for example, cannot be nested."""
        tags = ("", "") if any(outer is mark for outer, *_ in self._open) else _tags(mark, detail)
        self._open.append((mark, detail, tags, len(self.parts), len(self.shown)))
        self.parts.append(tags[0])

    def leave(self) -> None:
        """The innermost mark ends. Empty marks get no tags."""
        mark, detail, (opening, closing), part, shown = self._open.pop()
        if mark is MarkupKind.LINK and not opening:
            self.text(_address(detail, "".join(self.shown[shown:])))
        if len(self.shown) == shown:
            del self.parts[part:]
            self.text(detail if mark is MarkupKind.LINK else "")
            return
        self.parts.append(closing)
        self.marked = self.marked or bool(closing)


def _tags(mark: MarkupKind, detail: str) -> tuple[str, str]:
    """The opening and closing tags of a mark."""
    if mark is MarkupKind.LINK:
        # The platform drops links whose address has no scheme.
        return (f'<a href="{html.escape(detail)}">', "</a>") if _SCHEME.match(detail) else ("", "")
    language = _LANGUAGE.match(detail) if mark is MarkupKind.BLOCK else None
    if language is not None:
        return f'<pre><code class="language-{language[0]}">', "</code></pre>"
    return f"<{mark.value}>", f"</{mark.value}>"
