"""Life bars: one binding as a line of cells on a scale of virtual time.

``├──●──●╌╌╌┤``: bound, touched twice, ending, ended. Each cell has a meaning, for its color; cells after the cursor are
marked, not left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from trunkline.app.view.index.bindings import BarMark, BarPoint, BindingRow
from trunkline.core.states.binding import BindingStatus


class BarPart(StrEnum):
    """Meaning of a cell of a life bar."""

    NONE = "none"
    LIVE = "live"
    TOUCH = "touch"
    #: accepts no new messages
    ENDING = "ending"
    #: ended, or past its deadline
    END = "end"
    #: used after its end
    WRONG = "wrong"


class BarCell(msgspec.Struct, frozen=True):
    """One cell. `later`: after the cursor."""

    char: str
    part: BarPart
    later: bool = False


#: in one cell, the part with the higher rank is drawn
_RANK = {BarPart.NONE: 0, BarPart.LIVE: 1, BarPart.ENDING: 2, BarPart.TOUCH: 3, BarPart.END: 4, BarPart.WRONG: 5}
#: still bound at the end of the run
OPEN = "▸"


def column(at: float, span: tuple[float, float], width: int) -> int:
    """The cell of a time, on a scale of `width` cells."""
    start, end = span
    share = (at - start) / (end - start) if end > start else 0.0
    return max(0, min(int(share * (width - 1) + 0.5), width - 1))


def life_bar(
    row: BindingRow, points: Sequence[BarPoint], span: tuple[float, float], now: float, width: int
) -> list[BarCell]:
    """The life of a binding in `width` cells. `row` is its last record, `now` the time of the cursor."""
    bar = _Bar(span, now, width)
    over = _over(row)
    end = span[1] if over is None else min(over, span[1])
    bar.line(row.bound_at, end if row.ending_at is None else row.ending_at, "─", BarPart.LIVE)
    if row.ending_at is not None:
        bar.line(row.ending_at, end, "╌", BarPart.ENDING)
    for point in points:
        if point.mark in (BarMark.TOUCHED, BarMark.WRONG):
            wrong = point.mark is BarMark.WRONG
            bar.put(point.at, "✗" if wrong else "●", BarPart.WRONG if wrong else BarPart.TOUCH)
    bar.put(row.bound_at, "├", BarPart.END)
    if over is None or over > span[1]:
        bar.put(span[1], OPEN, BarPart.END)
    else:
        bar.put(over, "┤" if row.ended_at is not None else "┊", BarPart.END, last=True)
    return bar.cells


def _over(row: BindingRow) -> float | None:
    """When it stopped routing: at its end, or else at its deadline; none while it routes."""
    if row.ended_at is not None:
        return row.ended_at
    return row.expires_at if row.status is BindingStatus.ACTIVE else None


class _Bar:
    def __init__(self, span: tuple[float, float], now: float, width: int) -> None:
        self.cells = [BarCell(" ", BarPart.NONE)] * width
        self._span = span
        self._now = now
        self._width = width

    def line(self, start: float, end: float, char: str, part: BarPart) -> None:
        here = column(self._now, self._span, self._width)
        for x in range(self._x(start), self._x(end) + 1):
            self._set(x, BarCell(char, part, x > here))

    def put(self, at: float, char: str, part: BarPart, *, last: bool = False) -> None:
        x = self._x(at)
        # Bound and ended in one cell: show both.
        if last and self.cells[x].char == "├" and x + 1 < self._width:
            x += 1
        self._set(x, BarCell(char, part, at > self._now))

    def _x(self, at: float) -> int:
        return column(at, self._span, self._width)

    def _set(self, x: int, cell: BarCell) -> None:
        if _RANK[cell.part] >= _RANK[self.cells[x].part]:
            self.cells[x] = cell
