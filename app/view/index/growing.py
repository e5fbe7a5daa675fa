"""A growing list for every screen: rows in the order of their events, and counts and states after any event.

A run may go on while it is looked at. What a view says of it must be the same as if the run were opened whole, and a
new event must cost the same in a long run as in a short one. So views keep their rows here. A new row is appended, a
late one is inserted at its event, and one whose cause is gone is removed. Code that computes from the rows asks
for the first one that changed, and computes again only from there on.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast, overload

from trunkline.core.events import Event
from trunkline.sim.index.projection import Projection

Row = TypeVar("Row")
K = TypeVar("K")
V = TypeVar("V")
C = TypeVar("C")

#: changes between two key frames, at least
FRAME_EVERY = 256
#: and at least this part of the size of a frame, or the frames of a long run would grow with its square
FRAME_PART = 4


class GrowingRows(Sequence[Row], Generic[Row]):
    """Rows in the order of their events. The event of a row stays the same while the row is listed."""

    def __init__(self, seq_of: Callable[[Row], int] | None = None) -> None:
        """`seq_of` gives the event of a row; without it, a row is the seq of its event."""
        self._rows: list[Row] = []
        # Seqs are compared without a key, which is several times as fast.
        self._key = cast("Callable[[Row], int]", seq_of)
        self._seq_of = seq_of or cast("Callable[[Row], int]", int)
        #: incremented when earlier rows change place or go, and not when rows are appended
        self.version = 0
        self._changed = 0

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return self._rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __contains__(self, row: object) -> bool:
        return self._index(cast("Any", row)) is not None

    def __eq__(self, other: object) -> bool:
        return self._rows == (cast("GrowingRows[Any]", other)._rows if isinstance(other, GrowingRows) else other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def add(self, *rows: Row) -> None:
        """Insert rows, each behind those of earlier events and of its own."""
        if not rows:
            return
        new = sorted(rows, key=self._key)
        at = len(self._rows)
        if at and self._seq_of(new[0]) < self._seq_of(self._rows[-1]):
            at = self.upto(self._seq_of(new[0]))
            new = sorted([*self._rows[at:], *new], key=self._key)
            self._change(at)
        self._rows[at:] = new

    def remove(self, row: Row) -> None:
        """Remove a row. Raises `ValueError` for one that is not listed."""
        at = self._index(row)
        if at is None:
            raise ValueError(f"not listed: {row!r}")
        del self._rows[at]
        self._change(at)

    def take_change(self) -> int:
        """The index of the first row that is new or at another place since the last call."""
        changed, self._changed = self._changed, len(self._rows)
        return changed

    def _change(self, at: int) -> None:
        self.version += 1
        self._changed = min(self._changed, at)

    def upto(self, seq: int) -> int:
        """The number of rows up to event `seq`."""
        return bisect_right(self._rows, seq, key=self._key)

    def last(self, seq: int) -> Row | None:
        """The last row up to event `seq`."""
        number = self.upto(seq)
        return self._rows[number - 1] if number else None

    def place(self, seq: int) -> int | None:
        """The index of the first row of event `seq`."""
        at = bisect_left(self._rows, seq, key=self._key)
        return at if at < len(self._rows) and self._seq_of(self._rows[at]) == seq else None

    def _index(self, row: Row) -> int | None:
        at = self.place(self._seq_of(row))
        return None if at is None else next((at for at in range(at, len(self._rows)) if self._rows[at] == row), None)


class KeyFrames(Generic[K, V, C]):
    """A dictionary that changes over the events of a run, as it was after any of them.

    The changes are kept, and a copy of the dictionary every so often, so that any moment is near one.
    """

    def __init__(self, apply: Callable[[dict[K, V], C], None]) -> None:
        """`apply` makes one change to the dictionary that it is given."""
        self._apply = apply
        self._changes = GrowingRows[tuple[int, C]](itemgetter(0))
        #: changes that a frame includes, and the frame
        self._frames: list[tuple[int, dict[K, V]]] = [(0, {})]
        self._last = self._frames[0]

    def add(self, *changes: tuple[int, C]) -> None:
        """Record changes, each with the event that made it."""
        self._changes.add(*changes)

    def remove(self, *changes: tuple[int, C]) -> None:
        """Forget recorded changes."""
        for change in changes:
            self._changes.remove(change)

    def at(self, seq: int) -> dict[K, V]:
        """The dictionary after event `seq`. It is shared: treat it as read-only."""
        intact, wanted = self._changes.take_change(), self._changes.upto(seq)
        while self._frames[-1][0] > intact:
            self._frames.pop()
        if self._last[0] > intact:
            self._last = self._frames[-1]
        if self._last[0] != wanted:
            while (following := self._next()) <= wanted:
                self._frames.append((following, self._forward(self._frames[-1], following)))
            start = self._frames[bisect_right(self._frames, wanted, key=itemgetter(0)) - 1]
            near = self._last if start[0] <= self._last[0] <= wanted else start
            self._last = wanted, self._forward(near, wanted)
        return self._last[1]

    def _next(self) -> int:
        """The number of changes that the next frame includes."""
        number, frame = self._frames[-1]
        return number + max(FRAME_EVERY, len(frame) // FRAME_PART)

    def _forward(self, start: tuple[int, dict[K, V]], end: int) -> dict[K, V]:
        now = dict(start[1])
        for _, change in self._changes[start[0] : end]:
            self._apply(now, change)
        return now


class Tally(KeyFrames[str, int, tuple[str, int]]):
    """Numbers by name after any event: how many messages are in which state. A change is a name, and up or down."""

    def __init__(self) -> None:
        super().__init__(_count)


class EventHistory(Projection):
    """The history of one thing of a run. It takes the events of that thing by the methods that `on` marks."""

    def learn(self, event: Event) -> None:
        """Take the next event of the thing."""
        method = self._methods.get(type(event.body))
        if method is not None:
            getattr(self, method)(event, event.body)


def next_around(places: Sequence[int], at: int, step: int) -> int | None:
    """The next (`step` 1) or previous (-1) of sorted places, seen from `at`; wraps around."""
    if not places:
        return None
    index = bisect_right(places, at) if step > 0 else bisect_left(places, at) - 1
    return places[index % len(places)]


def _count(now: dict[str, int], change: tuple[str, int]) -> None:
    name, by = change
    now[name] = now.get(name, 0) + by


# A sequence whose items are computed on access: a screen shows ten of a thousand rows.

Source = TypeVar("Source")
Made = TypeVar("Made")


class LazySequence(Sequence[Made], Generic[Source, Made]):
    """Maps `make` over a sequence, lazily; `keep`: once per item, of a sequence that does not change."""

    def __init__(self, things: Sequence[Source], make: Callable[[Source], Made], *, keep: bool = True) -> None:
        self._things = things
        self._make = make
        self._made: dict[int, Made] | None = {} if keep else None

    def __len__(self) -> int:
        return len(self._things)

    def __iter__(self) -> Iterator[Made]:
        return map(self._make, self._things) if self._made is None else super().__iter__()

    @overload
    def __getitem__(self, index: int) -> Made: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Made]: ...

    def __getitem__(self, index: int | slice) -> Made | Sequence[Made]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if self._made is None:
            return self._make(self._things[index])
        place = range(len(self._things))[index]
        if place not in self._made:
            self._made[place] = self._make(self._things[place])
        return self._made[place]
