"""Compares two runs: which events both have, which only one has, and where they first diverge.

Events are paired by subject (the id of their message, intent or delegation), kind and occurrence. Ids are the same in
every run of a scenario, so a message keeps its pair however late it comes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate

import msgspec

from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Body, Event
from trunkline.sim.events.attach import GatewayLaunched, GatewayReady
from trunkline.sim.events.script import BugEnabled
from trunkline.sim.events.world import ThreadOpened, WorldPlace

#: subject of an event without ids: the first of these fields that its body has
_NAMES = ("original_id", "key", "session_key", "name", "fault", "phase", "bug", "hand", "webhook", "channel", "why")
#: fields whose differences mean nothing: times, and numbers assigned by platforms and stores
_NUMBERS = frozenset(
    ("provider_id", "message_id", "original_id", "retry_at", "until", "at", "token", "owner", "retry_in", "before")
)
#: starts of a gateway that is not ours: where it is installed and how long it took are no differences
_STARTS = (GatewayLaunched, GatewayReady)
_fields: dict[type[Body], tuple[str, ...]] = {}


class DiffMark(StrEnum):
    """How an event of run A compares with run B."""

    SAME = "="
    #: the same event at another time
    MOVED = "~"
    ONLY_A = "-"
    ONLY_B = "+"
    #: in both, but with another outcome, another place, or other violated invariants
    VERDICT = "!"


#: marks of rows that differ in more than their time
REAL_DIFFERENCES = frozenset({DiffMark.ONLY_A, DiffMark.ONLY_B, DiffMark.VERDICT})


class DiffRow(msgspec.Struct, frozen=True, gc=False):
    """A row: the event of A, the event of B (0: none), and how they compare."""

    mark: DiffMark
    a: int
    b: int


class Diff:
    """The rows of two runs, in order of events."""

    def __init__(self, one: RunView, other: RunView) -> None:
        self.a = one
        self.b = other
        self.rows: tuple[DiffRow, ...] = tuple(_rows(one, other))
        marks = [row.mark for row in self.rows]
        self.counts: dict[DiffMark, int] = {mark: marks.count(mark) for mark in DiffMark}
        #: index of the first row that differs; none: the runs are the same
        self.first: int | None = self._first()
        #: indexes of the rows where a stretch of differences begins
        self.stops: tuple[int, ...] = tuple(index for index in _stops(marks) if not self._is_premise(index))
        #: indexes of the rows that differ in more than their time
        self.different: tuple[int, ...] = tuple(index for index, mark in enumerate(marks) if mark in REAL_DIFFERENCES)
        #: for each row the last event of B up to it, for looking up rows by cursor
        self._reached = list(accumulate((row.b for row in self.rows), max))

    def _first(self) -> int | None:
        """The first difference; an event that switches a bug on is the cause of the others and comes last."""
        found = [index for index, row in enumerate(self.rows) if row.mark is not DiffMark.SAME]
        return next((index for index in found if not self._is_premise(index)), found[0] if found else None)

    def _is_premise(self, index: int) -> bool:
        return isinstance(self.event(self.rows[index])[1].body, BugEnabled)

    @property
    def same(self) -> bool:
        """Whether the runs have the same events at the same times."""
        return self.first is None

    def row_of(self, seq: int) -> int:
        """Index of the last row up to event `seq` of B; -1 before the first."""
        return bisect_right(self._reached, seq) - 1

    def seq_at(self, index: int) -> int:
        """The event of B at a row: its own, else the last one before it."""
        return self._reached[index]

    def next_stop(self, index: int, step: int) -> int | None:
        """The next (`step` 1) or previous (-1) stretch of differences; wraps around."""
        if not self.stops:
            return None
        at = bisect_right(self.stops, index) if step > 0 else bisect_left(self.stops, index) - 1
        return self.stops[at % len(self.stops)]

    def event(self, row: DiffRow) -> tuple[RunView, Event]:
        """The event that a row shows, with its run: B's if B has it, else A's."""
        return (self.b, self.b.event(row.b)) if row.b else (self.a, self.a.event(row.a))


def _rows(ours: RunView, theirs: RunView) -> list[DiffRow]:
    """Pair the events and merge both runs, in the order of A; events of B alone keep their place in B."""
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
    """For each event of A the seq of its pair in B; 0: none."""
    waiting: dict[tuple[str, type[Body]], list[int]] = {}
    for event in reversed(theirs):
        waiting.setdefault(_subject(event), []).append(event.seq)
    found: list[int] = []
    for event in ours:
        left = waiting.get(_subject(event))
        found.append(left.pop() if left else 0)
    return found


def _subject(event: Event) -> tuple[str, type[Body]]:
    """The subject of an event, and its kind."""
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
    """Whether two events differ, apart from times and assigned numbers."""
    return ours != theirs and bool(differences(ours, theirs))


def differences(ours: Body, theirs: Body) -> list[tuple[str, object, object]]:
    """The fields that differ, with their values in A and in B."""
    kind = type(ours)
    if kind not in _fields:
        _fields[kind] = _compared(kind)
    pairs = ((name, getattr(ours, name), getattr(theirs, name)) for name in _fields[kind])
    return [pair for pair in pairs if pair[1] != pair[2]]


def _broken(view: RunView) -> dict[int, frozenset[str]]:
    """For each event the invariants whose violation it proves."""
    found: dict[int, set[str]] = {}
    for violation in view.marks.violations:
        for seq in (*violation.evidence, violation.at):
            found.setdefault(seq, set()).add(violation.invariant)
    return {seq: frozenset(names) for seq, names in found.items()}


def _stops(marks: Sequence[DiffMark]) -> list[int]:
    """Rows where a stretch of differences begins; rows that are only later or earlier form one stretch."""
    found: list[int] = []
    before = DiffMark.SAME
    for index, mark in enumerate(marks):
        begins = mark in REAL_DIFFERENCES and before not in REAL_DIFFERENCES
        if begins or (mark is DiffMark.MOVED and before is DiffMark.SAME):
            found.append(index)
        before = mark
    return found


def _compared(kind: type[Body]) -> tuple[str, ...]:
    """The fields of a kind that are compared."""
    if issubclass(kind, _STARTS):
        return ("number",)
    return tuple(name for name in kind.__struct_fields__ if name not in _NUMBERS)
