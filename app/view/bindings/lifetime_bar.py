"""Life bars: one binding as a line of cells on a scale of virtual time.

``├──●──●╌╌╌┤``: bound, touched twice, ending, ended. A cell is told what it stands for, so that a screen can colour it;
what lies after the cursor is marked, not left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from trunkline.app.view.index.bindings import BindingRow, Mark, Point
from trunkline.core.bindings.records import BindingStatus


class Part(StrEnum):
    """What a cell of a life bar stands for."""

    NONE = "none"
    LIVE = "live"
    TOUCH = "touch"
    #: takes nothing new
    ENDING = "ending"
    #: over, or past its deadline
    END = "end"
    #: used after that
    WRONG = "wrong"


class Cell(msgspec.Struct, frozen=True):
    """One cell. `later`: it lies after the cursor."""

    char: str
    part: Part
    later: bool = False


#: what is never drawn over by what comes after it in the same cell
_RANK = {Part.NONE: 0, Part.LIVE: 1, Part.ENDING: 2, Part.TOUCH: 3, Part.END: 4, Part.WRONG: 5}
#: from the last event of the run on: it goes on
OPEN = "▸"


def column(at: float, span: tuple[float, float], width: int) -> int:
    """The cell of a moment, for a scale of `width` cells."""
    start, end = span
    share = (at - start) / (end - start) if end > start else 0.0
    return max(0, min(int(share * (width - 1) + 0.5), width - 1))


def life_bar(row: BindingRow, points: Sequence[Point], span: tuple[float, float], now: float, width: int) -> list[Cell]:
    """The whole life of a binding in `width` cells. `row` is its last record; `now` is the cursor's time."""
    bar = _Bar(span, now, width)
    over = _over(row)
    end = span[1] if over is None else min(over, span[1])
    bar.line(row.bound_at, end if row.ending_at is None else row.ending_at, "─", Part.LIVE)
    if row.ending_at is not None:
        bar.line(row.ending_at, end, "╌", Part.ENDING)
    for point in points:
        if point.mark in (Mark.TOUCHED, Mark.WRONG):
            wrong = point.mark is Mark.WRONG
            bar.put(point.at, "✗" if wrong else "●", Part.WRONG if wrong else Part.TOUCH)
    bar.put(row.bound_at, "├", Part.END)
    if over is None or over > span[1]:
        bar.put(span[1], OPEN, Part.END)
    else:
        bar.put(over, "┤" if row.ended_at is not None else "┊", Part.END, last=True)
    return bar.cells


def _over(row: BindingRow) -> float | None:
    """When it stopped to route for good: it was ended, or its deadline passed without that."""
    if row.ended_at is not None:
        return row.ended_at
    return row.expires_at if row.status is BindingStatus.ACTIVE else None


class _Bar:
    def __init__(self, span: tuple[float, float], now: float, width: int) -> None:
        self.cells = [Cell(" ", Part.NONE)] * width
        self._span = span
        self._now = now
        self._width = width

    def line(self, start: float, end: float, char: str, part: Part) -> None:
        here = column(self._now, self._span, self._width)
        for x in range(self._x(start), self._x(end) + 1):
            self._set(x, Cell(char, part, x > here))

    def put(self, at: float, char: str, part: Part, *, last: bool = False) -> None:
        x = self._x(at)
        # Bound and over in one cell: both are to be seen.
        if last and self.cells[x].char == "├" and x + 1 < self._width:
            x += 1
        self._set(x, Cell(char, part, at > self._now))

    def _x(self, at: float) -> int:
        return column(at, self._span, self._width)

    def _set(self, x: int, cell: Cell) -> None:
        if _RANK[cell.part] >= _RANK[self.cells[x].part]:
            self.cells[x] = cell
