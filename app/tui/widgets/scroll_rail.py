"""The right edge of a list: where the window is in the whole, and where the violations are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.style import Style

from trunkline.app.tui.theme import Palette

Cell = tuple[str, Style]


def rail(height: int, count: int, top: int, marks: Iterable[int], cursor: int, palette: Palette) -> list[Cell]:
    """A cell a line. `marks` are rows with something wrong; the whole list is scaled to the height."""
    cells: dict[int, Cell] = {}
    if count > height > 0:
        first = _line(top, count, height)
        last = max(_line(min(top + height, count) - 1, count, height), first)
        cells = dict.fromkeys(range(first, last + 1), ("▐", palette.dim))
        if 0 <= cursor < count:
            cells[_line(cursor, count, height)] = ("▐", palette.primary)
    cells |= _marks(height, count, marks, palette)
    return [cells.get(line, (" ", palette.rail)) for line in range(height)]


def thin(marks: Iterable[int], height: int, count: int) -> tuple[int, ...]:
    """A mark for each line of the rail."""
    scale = count if count > height else height
    return tuple({_line(mark, scale, height): mark for mark in marks if 0 <= mark < count}.values())


def _marks(height: int, count: int, marks: Iterable[int], palette: Palette) -> Mapping[int, Cell]:
    scale = count if count > height else height
    return {_line(mark, scale, height): ("█", palette.bad) for mark in marks if 0 <= mark < count}


def _line(row: int, count: int, height: int) -> int:
    return min(row * height // max(count, 1), height - 1)
