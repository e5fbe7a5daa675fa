"""A transcript aligned with the visible messages: its rows, and counts at any event; and two conversations abreast."""

from bisect import bisect_right
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate

import msgspec

from trunkline.app.view.index.evidence import Evidence
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.index.transcripts import TranscriptEntry, VisibleMessage


class TranscriptDifference(StrEnum):
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
        return self.difference is not TranscriptDifference.NONE


class AlignmentIndex:
    """Counts over rows in order of events, each by bisection."""

    def __init__(self, rows: Sequence[AlignedPair], marks: Evidence) -> None:
        self._seqs = [row.seq for row in rows]
        self._ats = [row.at for row in rows]
        #: indexes of the rows whose sides differ
        self.wrong: tuple[int, ...] = tuple(index for index, row in enumerate(rows) if row.wrong)
        seen = (marks.copies.get(row.seen.seq) if row.seen is not None else None for row in rows)
        copies = (copy is not None and copy.number > 1 for copy in seen)
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


# Two conversations side by side, as people saw them: a message that appeared in both is shown twice.


class ColumnMessage(msgspec.Struct, frozen=True, kw_only=True):
    seen: VisibleMessage
    #: 0 is the left column, 1 the right one
    side: int
    #: ``1×``, ``2×``: its copy number
    tag: str = ""
    #: a copy that should not exist, or a message in the wrong place
    wrong: bool = False


def pair_of(view: RunView, seq: int) -> tuple[PlaceKey, ...]:
    """The conversation with the latest message, and the one with its other copy, else the next latest.

    In the order of the lanes; fewer if fewer have messages.
    """
    latest = {place: _latest(view.visible.of(place), seq) for place in view.visible.places()}
    order = sorted(latest, key=lambda place: latest[place], reverse=True)
    if len(order) < 2:
        return tuple(order)
    first, second = order[:2]
    twin = view.marks.twin(latest[first])
    if twin is not None:
        holder = next((place for place in order if any(seen.seq == twin for seen in view.visible.of(place))), second)
        second = holder if holder != first else second
    lanes = [place.key for place in view.places.in_order()]
    return tuple(sorted((first, second), key=lambda place: lanes.index(place) if place in lanes else len(lanes)))


def beside(view: RunView, places: Sequence[PlaceKey]) -> list[ColumnMessage]:
    """All messages of some conversations, in order of events."""
    found: list[ColumnMessage] = []
    for side, place in enumerate(places):
        for seen in view.visible.of(place):
            copy = view.marks.copies.get(seen.seq)
            wrong = seen.seq in view.marks.misplaced or (copy is not None and copy.number > 1)
            found.append(ColumnMessage(seen=seen, side=side, tag=f"{copy.number}×" if copy else "", wrong=wrong))
    return sorted(found, key=lambda shown: shown.seen.seq)


def _latest(seen: Sequence[VisibleMessage], seq: int) -> int:
    """The last message up to event `seq`; before the first one, its negated event number."""
    at = bisect_right(seen, seq, key=lambda message: message.seq)
    return seen[at - 1].seq if at else -(seen[0].seq if seen else 0)
