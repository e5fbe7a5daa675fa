"""The rows of the timeline, and which of them a cursor, a chain or a set of copies touches."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property

import msgspec
from rich.cells import cell_len

from app.view.drawing import Drawing
from app.view.lanes import Lanes, Wish
from app.view.row import Look, Row
from app.view.rows import visible
from app.view.story import RunView
from core.events import Event
from core.events import bodies as b


class Timeline:
    """All rows of a run. A cursor on an event without a row of its own stands on the last visible row before it."""

    def __init__(self, view: RunView, lanes: Lanes, *, unfolded: bool = False) -> None:
        self.unfolded = unfolded
        self._gateway = lanes.gateway
        self._stops = view.marks.stops
        drawing = Drawing(view, lanes)
        rows: list[Row] = []
        for event in view.events:
            row = visible(drawing, event) or (drawing.internal(event) if unfolded else None)
            if row is not None:
                rows.append(row)
        if not unfolded:
            rows = _with_mirrors(view, rows)
        self.rows: tuple[Row, ...] = tuple(_with_brackets(view, rows))
        self.seqs: tuple[int, ...] = tuple(row.seq for row in self.rows)

    def only(self, rows: Sequence[Row]) -> Timeline:
        """The same with some of its rows."""
        made = Timeline.__new__(Timeline)
        made.unfolded, made._gateway, made._stops = self.unfolded, self._gateway, self._stops
        made.rows, made.seqs = tuple(rows), tuple(row.seq for row in rows)
        return made

    @cached_property
    def broken(self) -> tuple[int, ...]:
        """Indexes of the rows at which violations were seen."""
        return tuple(dict.fromkeys(index for seq in self._stops if (index := self.row_at(seq)) >= 0))

    @cached_property
    def wish(self) -> Wish:
        """Cells that the messages would like to have beside the gateway."""
        arrows = [row for row in self.rows if not row.is_note]
        hands = [_label_width(row) for row in arrows if max(row.start, row.end) > self._gateway]
        places = [_label_width(row) for row in arrows if max(row.start, row.end) == self._gateway]
        return Wish(max(places, default=0), max(hands, default=0))

    def row_at(self, seq: int) -> int:
        """Index of the row that stands for an event; -1 before the first row."""
        return bisect_right(self.seqs, seq) - 1

    def neighbour(self, seq: int, step: int) -> int:
        """The seq `step` rows further down or up, stopping at both ends."""
        if not self.rows:
            return seq
        return self.seqs[max(0, min(self.row_at(seq) + step, len(self.rows) - 1))]

    def find(self, seq: int, step: int, wanted: Callable[[Row], bool]) -> int | None:
        """The next (`step` 1) or previous (-1) row that is wanted, as a seq."""
        index = bisect_right(self.seqs, seq) if step > 0 else bisect_left(self.seqs, seq) - 1
        while 0 <= index < len(self.rows):
            if wanted(self.rows[index]):
                return self.seqs[index]
            index += step
        return None

    def covered(self, index: int, last: int) -> range:
        """The seqs that a row stands for: its own and the folded ones up to the next row. `last` is the run's."""
        end = self.seqs[index + 1] if index + 1 < len(self.rows) else last + 1
        return range(self.seqs[index], end)


def _label_width(row: Row) -> int:
    return cell_len(row.text) + (cell_len(row.who) + 1 if row.who else 0)


def is_delivery(row: Row) -> bool:
    """A message crosses between people and the gateway."""
    return row.look in {Look.INBOUND, Look.DELIVERED, Look.FIRST, Look.COPY, Look.FALLBACK, Look.MISPLACED}


def _with_mirrors(view: RunView, rows: list[Row]) -> list[Row]:
    """Put each mirror into the gutter of the delivery that it mirrors."""
    at = {row.seq: index for index, row in enumerate(rows)}
    for event in view.events:
        if isinstance(event.body, b.MirrorAppended):
            accepted = _mirrored(view, event)
            index = at.get(accepted) if accepted else None
            if index is not None and not rows[index].mirror.endswith("!"):
                mark = "m" + view.marks.mirrors.get(event.seq, "")
                rows[index] = msgspec.structs.replace(rows[index], mirror=mark, mirror_seq=event.seq)
    for seq, wrong in view.marks.mirrors.items():
        if wrong == "?" and seq in at:
            rows[at[seq]] = msgspec.structs.replace(rows[at[seq]], mirror="m?", mirror_seq=seq)
    return rows


def _mirrored(view: RunView, mirror: Event) -> int | None:
    accepted = [event.seq for event in view.of_intent(mirror.intent, b.WireAccepted)]
    before = [seq for seq in accepted if seq < mirror.seq]
    return before[-1] if before else next(iter(accepted), None)


def _with_brackets(view: RunView, rows: list[Row]) -> Sequence[Row]:
    """Join the copies of one thing in the gutter. Where two sets overlap, the ends win over the bar."""
    at = {row.seq: index for index, row in enumerate(rows)}
    for group in view.marks.groups:
        members = [at[seq] for seq in group if seq in at]
        if len(members) < 2:
            continue
        for index in range(members[0], members[-1] + 1):
            mark = "┃"
            if index in members:
                mark = {members[0]: "┏", members[-1]: "┗"}.get(index, "┣")
            if mark != "┃" or not rows[index].bracket:
                rows[index] = msgspec.structs.replace(rows[index], bracket=mark)
    return rows
