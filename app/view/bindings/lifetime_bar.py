"""Bars on a scale of virtual time, and the life of a binding as one.

``├──●──●╌╌╌┤``: bound, touched twice, ending, ended. Each cell has a meaning, for its color; cells after the cursor are
marked, not left out.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Generic, TypeVar

import msgspec

from trunkline.app.text.fact import Tone
from trunkline.app.view.index.bindings import BarPoint, BindingRow
from trunkline.core.states.binding import BindingStatus

P = TypeVar("P", bound=StrEnum)


class BarPart(StrEnum):
    """Meaning of a cell of a life bar. In one cell, the part that comes last here is drawn."""

    NONE = "none"
    LIVE = "live"
    #: accepts no new messages
    ENDING = "ending"
    TOUCH = "touch"
    #: ended, or past its deadline
    END = "end"
    #: used after its end
    WRONG = "wrong"


class BarCell(msgspec.Struct, Generic[P], frozen=True):
    """A cell. `later`: after the cursor. `tone` is that of an end."""

    char: str
    part: P
    later: bool = False
    tone: Tone = Tone.PLAIN


#: still bound at the end of the run
OPEN = "▸"


def column(at: float, span: tuple[float, float], width: int) -> int:
    """The cell of a time, on a scale of `width` cells."""
    start, end = span
    share = (at - start) / (end - start) if end > start else 0.0
    return max(0, min(int(share * (width - 1) + 0.5), width - 1))


class TimeBar(Generic[P]):
    """The cells of one bar while it is drawn. `parts` are the meanings; the first one is that of a blank cell."""

    def __init__(self, parts: Iterable[P], span: tuple[float, float], now: float, width: int) -> None:
        self._rank = {part: rank for rank, part in enumerate(parts)}
        self._span, self._now = span, now
        self.cells = [BarCell(" ", next(iter(self._rank)))] * width

    def column(self, at: float) -> int:
        """The cell of a time."""
        return column(at, self._span, len(self.cells))

    def line(self, start: float, end: float, char: str, part: P) -> None:
        """Draw what lasts from a time to another."""
        here = self.column(self._now)
        for x in range(self.column(start), self.column(end) + 1):
            self._set(x, BarCell(char, part, x > here or start > self._now))

    def put(self, at: float, char: str, part: P, tone: Tone = Tone.PLAIN, *, x: int | None = None) -> None:
        """Draw what happens at a time, in its cell or in another one."""
        self._set(self.column(at) if x is None else x, BarCell(char, part, at > self._now, tone))

    def _set(self, x: int, cell: BarCell[P]) -> None:
        if self._rank[cell.part] >= self._rank[self.cells[x].part]:
            self.cells[x] = cell


def life_bar(
    row: BindingRow, points: Sequence[BarPoint], span: tuple[float, float], now: float, width: int
) -> list[BarCell[BarPart]]:
    """The life of a binding in `width` cells. `row` is its last record, `now` the time of the cursor."""
    bar = TimeBar(BarPart, span, now, width)
    # It stops routing at its end, or else at its deadline.
    over = row.ended_at if row.ended_at is not None or row.status is not BindingStatus.ACTIVE else row.expires_at
    end = span[1] if over is None else min(over, span[1])
    bar.line(row.bound_at, end if row.ending_at is None else row.ending_at, "─", BarPart.LIVE)
    if row.ending_at is not None:
        bar.line(row.ending_at, end, "╌", BarPart.ENDING)
    for point in points:
        if point.wrong:
            bar.put(point.at, "✗", BarPart.WRONG)
        else:
            bar.put(point.at, "●", BarPart.TOUCH)
    bar.put(row.bound_at, "├", BarPart.END)
    if over is None or over > span[1]:
        bar.put(span[1], OPEN, BarPart.END)
    else:
        # Bound and ended in one cell: show both.
        x = bar.column(over)
        x += bar.cells[x].char == "├" and x + 1 < width
        bar.put(over, "┤" if row.ended_at is not None else "┊", BarPart.END, x=x)
    return bar.cells
