"""Two runs side by side: which events are in both, which in one, and where they part for the first time.

Events are paired by what they are about (the plain id of a message, intent or delegation), their kind, and which one
of these they are. Ids are the same in every run of a scenario, so a message keeps its pair however late it comes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Body, Event
from trunkline.sim.events.script import BugEnabled
from trunkline.sim.events.world import ThreadOpened, WorldPlace

#: what pairs events that belong to no message: the first of these that their body has
_NAMES = ("original_id", "key", "session_key", "name", "fault", "phase", "bug", "hand", "webhook", "channel", "why")
#: fields that differ between runs without meaning anything: times, and numbers that platforms and stores give
_NUMBERS = frozenset(
    ("provider_id", "message_id", "original_id", "retry_at", "until", "at", "token", "owner", "retry_in", "before")
)
_fields: dict[type[Body], tuple[str, ...]] = {}


class DiffMark(StrEnum):
    """What became of an event from run A to run B."""

    SAME = "="
    #: the same at another time
    MOVED = "~"
    ONLY_A = "-"
    ONLY_B = "+"
    #: in both, and something else is said of it: another outcome, another place, other invariants broken
    VERDICT = "!"


#: marks of rows that are really different, and not only later or earlier
REAL_DIFFERENCES = frozenset({DiffMark.ONLY_A, DiffMark.ONLY_B, DiffMark.VERDICT})


class DiffRow(msgspec.Struct, frozen=True, gc=False):
    """One row: the event of A, that of B (0: not there), and how they compare."""

    mark: DiffMark
    a: int
    b: int


class Diff:
    """The rows of two runs, in the order in which things happened."""

    def __init__(self, one: RunView, other: RunView) -> None:
        self.a = one
        self.b = other
        self.rows: tuple[DiffRow, ...] = tuple(_rows(one, other))
        marks = [row.mark for row in self.rows]
        self.counts: dict[DiffMark, int] = {mark: marks.count(mark) for mark in DiffMark}
        #: index of the first row that is not the same; none: the runs are the same
        self.first: int | None = self._first()
        #: indexes of the rows at which a stretch of differences begins
        self.stops: tuple[int, ...] = tuple(index for index in _stops(marks) if not self._is_premise(index))
        #: indexes of the rows that are really different
        self.parted: tuple[int, ...] = tuple(index for index, mark in enumerate(marks) if mark in REAL_DIFFERENCES)
        self._reached = _reached(self.rows)

    def _first(self) -> int | None:
        """That a defect is on is why the runs part, and not yet a difference in what they do."""
        parted = [index for index, row in enumerate(self.rows) if row.mark is not DiffMark.SAME]
        told = (index for index in parted if not self._is_premise(index))
        return next(told, parted[0] if parted else None)

    def _is_premise(self, index: int) -> bool:
        return isinstance(self.event(self.rows[index])[1].body, BugEnabled)

    @property
    def same(self) -> bool:
        """Whether the runs tell the same."""
        return self.first is None

    def row_of(self, seq: int) -> int:
        """Index of the last row that has happened by event `seq` of B; -1 before all."""
        return bisect_right(self._reached, seq) - 1

    def seq_at(self, index: int) -> int:
        """The event of B that a row stands at: its own, else the last one before it."""
        return self._reached[index]

    def next_stop(self, index: int, step: int) -> int | None:
        """The next (`step` 1) or previous (-1) stretch of differences, round and round."""
        if not self.stops:
            return None
        at = bisect_right(self.stops, index) if step > 0 else bisect_left(self.stops, index) - 1
        return self.stops[at % len(self.stops)]

    def event(self, row: DiffRow) -> tuple[RunView, Event]:
        """The event that a row shows, with its run: B's, where B has it."""
        return (self.b, self.b.event(row.b)) if row.b else (self.a, self.a.event(row.a))


def _rows(ours: RunView, theirs: RunView) -> list[DiffRow]:
    """Pair the events, and merge both runs: in the order of A, what only B has where B has it."""
    pairs = _pairs(ours.events, theirs.events)
    paired = set(pairs)
    broken_a, broken_b = _broken(ours), _broken(theirs)
    rows: list[DiffRow] = []
    others = [event for event in theirs.events if event.seq not in paired]
    left, count = 0, len(others)
    for event, seq in zip(ours.events, pairs, strict=True):
        while left < count and (others[left].seq < seq if seq else others[left].at < event.at):
            rows.append(DiffRow(DiffMark.ONLY_B, 0, others[left].seq))
            left += 1
        if not seq:
            rows.append(DiffRow(DiffMark.ONLY_A, event.seq, 0))
            continue
        other = theirs.events[seq - 1]
        if broken_a.get(event.seq) != broken_b.get(seq) or differs(event.body, other.body):
            mark = DiffMark.VERDICT
        else:
            mark = DiffMark.SAME if event.at == other.at else DiffMark.MOVED
        rows.append(DiffRow(mark, event.seq, seq))
    rows += [DiffRow(DiffMark.ONLY_B, 0, event.seq) for event in others[left:]]
    return rows


def _pairs(ours: Sequence[Event], theirs: Sequence[Event]) -> list[int]:
    """For each event of A the seq of its pair in B; 0 where there is none."""
    waiting: dict[tuple[str, type[Body]], list[int]] = {}
    for event in reversed(theirs):
        waiting.setdefault(_about(event), []).append(event.seq)
    found: list[int] = []
    for event in ours:
        left = waiting.get(_about(event))
        found.append(left.pop() if left else 0)
    return found


def _about(event: Event) -> tuple[str, type[Body]]:
    """What an event is about, and its kind."""
    body = event.body
    name = event.intent or event.delegation or event.turn or event.inbound or event.binding
    if name is None:
        name = f"{event.node}/{_name(body)}"
    return name, type(body)


def _name(body: Body) -> str:
    if isinstance(body, WorldPlace | ThreadOpened):
        return "/".join(body.address.lane)
    return next((str(value) for name in _NAMES if (value := getattr(body, name, None)) is not None), "")


def differs(ours: Body, theirs: Body) -> bool:
    """Whether two events tell different things, apart from times and numbers."""
    return ours != theirs and bool(differences(ours, theirs))


def differences(ours: Body, theirs: Body) -> list[tuple[str, object, object]]:
    """The fields that tell different things, with what they tell in A and in B."""
    kind = type(ours)
    if kind not in _fields:
        _fields[kind] = tuple(name for name in kind.__struct_fields__ if name not in _NUMBERS)
    pairs = ((name, getattr(ours, name), getattr(theirs, name)) for name in _fields[kind])
    return [pair for pair in pairs if pair[1] != pair[2]]


def _broken(view: RunView) -> dict[int, frozenset[str]]:
    """The invariants whose breach an event is evidence of."""
    found: dict[int, set[str]] = {}
    for violation in view.violations():
        for seq in (*violation.evidence, violation.at):
            found.setdefault(seq, set()).add(violation.invariant)
    return {seq: frozenset(names) for seq, names in found.items()}


def _stops(marks: Sequence[DiffMark]) -> list[int]:
    """Where differences begin; where everything is only later from here on, that is one stretch."""
    found: list[int] = []
    before = DiffMark.SAME
    for index, mark in enumerate(marks):
        begins = mark in REAL_DIFFERENCES and before not in REAL_DIFFERENCES
        if begins or (mark is DiffMark.MOVED and before is DiffMark.SAME):
            found.append(index)
        before = mark
    return found


def _reached(rows: Sequence[DiffRow]) -> list[int]:
    """For each row the furthest event of B by then, so that rows can be found by the cursor."""
    found: list[int] = []
    last = 0
    for row in rows:
        last = max(last, row.b)
        found.append(last)
    return found
