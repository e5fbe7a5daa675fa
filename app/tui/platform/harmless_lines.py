"""The last look at every line before it goes to the terminal."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter


class HarmlessLines(LineFilter):
    """Replaces what a terminal could take for a command. Texts are cleaned where rows are made, so it rarely acts.

    A line keeps its width: characters without a width of their own are left out.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [segment if segment.control else Segment(_harmless(segment.text), segment.style) for segment in segments]


def _harmless(text: str) -> str:
    return "".join(char if char.isprintable() else " " * cell_len(char) for char in text)
