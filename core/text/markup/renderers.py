"""Renders Markdown for platforms: as plain text with style ranges (Signal) and as HTML (Telegram). Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

import msgspec

from trunkline.core.text.chunking.utf16 import units, visible
from trunkline.core.text.markup.markdown_reader import MarkupKind, read
from trunkline.core.values import Style, StyleKind

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
