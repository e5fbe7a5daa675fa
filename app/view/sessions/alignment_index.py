"""A transcript aligned with the visible messages: its rows, and counts at any event."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate

import msgspec

from trunkline.app.view.index.evidence import Evidence
from trunkline.app.view.index.transcripts import TranscriptEntry
from trunkline.app.view.index.visible_messages import VisibleMessage


class TranscriptDifference(StrEnum):
    """How a transcript can differ from the visible messages."""

    NONE = ""
    #: visible, but not in the transcript
    MISSING_MIRROR = "not in the transcript"
    #: in the transcript, but visible in another conversation
    FOREIGN_MIRROR = "said elsewhere"
    #: in the transcript, but never visible
    UNDELIVERED = "never delivered"
    #: visible more often than in the transcript
    COPY = "seen again"
    #: posted by a person, but never passed to the agent
    UNHEARD = "not given to the agent"
    #: in the transcript more often than visible
    TWICE = "held twice"
    #: on both sides, with different texts
    TEXT = "other words"


class AlignedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the alignment. A side without the row is none."""

    line: TranscriptEntry | None = None
    seen: VisibleMessage | None = None
    difference: TranscriptDifference = TranscriptDifference.NONE
    #: details of the difference
    note: str = ""

    @property
    def seq(self) -> int:
        """The event of this row: the earlier of its sides."""
        return min(side.seq for side in (self.line, self.seen) if side is not None)

    @property
    def at(self) -> float:
        return min(side.at for side in (self.line, self.seen) if side is not None)

    @property
    def delivery(self) -> int:
        """The event to explain: the visible message, else the transcript entry."""
        side = self.seen or self.line
        return side.seq if side is not None else 0

    @property
    def wrong(self) -> bool:
        """Whether the sides differ."""
        return self.difference is not TranscriptDifference.NONE


class AlignmentIndex:
    """Counts over rows in order of events, each by bisection."""

    def __init__(self, rows: Sequence[AlignedPair], marks: Evidence) -> None:
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


def _is_copy(row: AlignedPair, marks: Evidence) -> bool:
    copy = marks.copies.get(row.seen.seq) if row.seen is not None else None
    return copy is not None and copy.number > 1
