"""Index of an alignment of a transcript with the visible messages: counts at any event, and the row of any event."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

from trunkline.app.view.index.evidence import Evidence


class _Side(Protocol):
    @property
    def seq(self) -> int: ...


class _Row(Protocol):
    """A pair of `trunkline.app.view.sessions.transcripts`."""

    @property
    def line(self) -> _Side | None: ...
    @property
    def seen(self) -> _Side | None: ...
    @property
    def seq(self) -> int: ...
    @property
    def at(self) -> float: ...
    @property
    def wrong(self) -> bool: ...


class AlignmentIndex:
    """Counts over rows in order of events, each by bisection."""

    def __init__(self, rows: Sequence[_Row], marks: Evidence) -> None:
        self._seqs = [row.seq for row in rows]
        self._ats = [row.at for row in rows]
        #: indexes of the rows whose sides differ
        self.wrong: tuple[int, ...] = tuple(index for index, row in enumerate(rows) if row.wrong)
        copies = (_is_copy(row, marks) for row in rows)
        self._copies = list(accumulate(copies, initial=0))
        self._row_of: dict[int, int] = {}
        for index, row in enumerate(rows):
            for side in (row.line, row.seen):
                if side is not None:
                    self._row_of.setdefault(side.seq, index)

    def before(self, seq: int) -> int:
        """Number of rows up to event `seq`."""
        return bisect_right(self._seqs, seq)

    def row_at(self, seq: int) -> int:
        """The row that contains an event; else the last row before it, or -1."""
        own = self._row_of.get(seq)
        return self.before(seq) - 1 if own is None else own

    def copies(self, seq: int) -> int:
        """Number of messages up to event `seq` that people saw before."""
        return self._copies[self.before(seq)]

    def differences(self, seq: int) -> int:
        """Number of rows up to event `seq` whose sides differ."""
        return bisect_right(self.wrong, self.before(seq) - 1)

    def last(self, seq: int) -> float:
        """Time of the last row up to event `seq`; 0 before the first."""
        done = self.before(seq)
        return self._ats[done - 1] if done else 0.0


def _is_copy(row: _Row, marks: Evidence) -> bool:
    copy = marks.copies.get(row.seen.seq) if row.seen is not None else None
    return copy is not None and copy.number > 1
