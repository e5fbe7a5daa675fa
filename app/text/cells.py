"""Terminal text: cleaning, cutting, padding and wrapping by cell width."""

import shlex
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime

from rich.cells import cell_len, set_cell_size

from trunkline.core.errors import TrunklineError

_GLYPHS = r"""
    │| ┃# ─- ━= ═= ┄. ┈. ╌. ┼+ ┿+ ╪+ ├+ ┤+ ┨# ┠# ┏/ ┣| ┗\ ▶>
    ◀< ▸> └` ●* ·. ✗X ✓+ ╳X ↻@ ×x ½% ≠! …~ “" ”" –- −- →> ↵/
    ‹< ›> ▐: █# ▌| ◐% ○o ◆* ■# □_ ▼v ┊: ↓v ↑^ ←<
"""

#: glyph -> one ASCII character; for terminals in which the drawn glyphs are wide or missing
ASCII = str.maketrans({pair[0]: pair[1] for pair in _GLYPHS.split()})


#: stands for a line end inside a message
LINE_END = "↵"
ELLIPSIS = "…"
#: harmless where nobody counts cells: tabs, and joiners of emoji and of scripts that need them
_KEPT = "\t\u200c\u200d"


def clean(text: str) -> str:
    """Clean a text to a printable line: line ends become ``↵``, and no control character reaches the terminal."""
    text = text.replace("\r\n", "\n").replace("\n", f" {LINE_END} ").replace("\t", " ")
    # Terminals disagree on the width of joined emoji; their separate parts have a known width.
    text = text.replace("\u200d", "").replace("\ufe0f", "")
    if text.isprintable():
        return text
    return "".join(char if _harmless(char) else "·" for char in text)


def clean_lines(text: str) -> str:
    """A text of several lines for elsewhere, such as the clipboard: without control characters, otherwise as it is."""
    lines = text.split("\n")
    return "\n".join("".join(char if _harmless(char) or char in _KEPT else "·" for char in line) for line in lines)


def _harmless(char: str) -> bool:
    # Direction overrides and other format characters (Cf) would reorder the line; unusual spaces (Zs) would not.
    return char.isprintable() or unicodedata.category(char) == "Zs"


def shell_words(words: Iterable[str]) -> str:
    """A command as one types it. What `clean` would change is spelled as bash and zsh know it, so that it stays so."""
    return " ".join(shlex.quote(word) if clean(word) == word else f"$'{_spelled(word)}'" for word in words)


def _spelled(word: str) -> str:
    return "".join(f"\\{char}" if char in "\\'" else char if clean(char) == char else _bytes(char) for char in word)


def _bytes(char: str) -> str:
    # A code point would depend on the locale of the shell.
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))


def quoted(text: str) -> str:
    """A message text, cleaned and in quotation marks."""
    return f"“{clean(text)}”"


def cut(text: str, width: int) -> str:
    """Cut to at most `width` cells, with an ellipsis. A closing quotation mark is kept."""
    if cell_len(text) <= width:
        return text
    if width <= 0:
        return ""
    tail = ELLIPSIS + "”" if text.endswith("”") and width >= 6 else ELLIPSIS
    return set_cell_size(text, width - len(tail)).rstrip() + tail


def pad(text: str, width: int) -> str:
    """Cut or pad to exactly `width` cells, left aligned."""
    return set_cell_size(cut(text, width), width)


def aligned(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of a table as lines, with their cells in columns."""
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(pad(text, width) for text, width in zip(row, widths, strict=True)).rstrip()


def middle_cut(text: str, width: int) -> str:
    """Cut the middle to fit `width` cells, because keys differ at both ends."""
    if cell_len(text) <= width or width < 5:
        return cut(text, width)
    head = (width - 1) // 3
    tail = text
    while cell_len(tail) > width - 1 - head:
        tail = tail[1:]
    return set_cell_size(text, head) + ELLIPSIS + tail


def wrap(text: str, width: int, rest: int | None = None) -> list[str]:
    """Wrap into lines of at most `width` cells, at spaces where possible; `rest`: cells of all lines but the first."""
    rest = max(width if rest is None else rest, 1)
    room = max(width, 1)
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= room:
            line = joined
            continue
        if line:
            lines.append(line)
            room = rest
        *full, line = _pieces(word, room, rest)
        lines.extend(full)
        room = rest if lines else room
    lines.append(line)
    return lines


def _pieces(word: str, width: int, rest: int) -> list[str]:
    pieces: list[str] = []
    piece = ""
    for char in word:
        if cell_len(piece + char) > (rest if pieces else width):
            pieces.append(piece)
            piece = ""
        piece += char
    return [*pieces, piece]


#: a time that is not virtual: seconds since the epoch, in a trace of a real gateway
WALL_CLOCK = 1e8


def seconds(at: float) -> str:
    """A virtual time with three decimals; a time of the wall clock as hours, minutes and seconds, here and now."""
    if at >= WALL_CLOCK:
        with suppress(OverflowError, ValueError, OSError):
            return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S")
    return f"{at:.3f}"


def brief_seconds(at: float) -> str:
    """A virtual time in eight cells: far away, milliseconds do not matter."""
    return seconds(at) if abs(at) < 1000 or at >= WALL_CLOCK else f"{at:.0f}"


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 chunk``, ``2 chunks``; `plural` for an irregular noun."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def error_text(error: TrunklineError) -> str:
    """The facts of an error, or its description if it has none."""
    return clean(error.facts or str(error))


def span(seconds: float) -> str:
    """A duration in its two largest units, e.g. ``2d 4h``."""
    left = round(abs(seconds))
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, left = divmod(left, size)
        if number:
            parts.append(f"{number}{unit}")
        elif parts:
            break
    return " ".join(parts[:2]) or "0s"
