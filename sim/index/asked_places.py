"""Questions by the places that they concern: which were open at a time, and which are answered. Each has a number."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby

import msgspec

_NEVER = float("inf")
Lane = tuple[str, str, str, str]
#: channel, account, and an id of a conversation or person; or a lane
Near = tuple[str, ...]


class Peaks:
    """A row of numbers that grows, and finds those above a limit without a look at the others."""

    def __init__(self) -> None:
        self._size: int = 1
        self._count: int = 0
        #: a tree: each number is the larger one of the two below it
        self._tree: list[float] = [-_NEVER, -_NEVER]

    def append(self, value: float) -> None:
        """Add a number at the end."""
        if self._count == self._size:
            leaves = [*self._tree[self._size :], *[-_NEVER] * self._size]
            self._size *= 2
            self._tree = [-_NEVER] * self._size + leaves
            for at in range(self._size - 1, 0, -1):
                self._tree[at] = max(self._tree[2 * at], self._tree[2 * at + 1])
        self._count += 1
        self[self._count - 1] = value

    def __setitem__(self, index: int, value: float) -> None:
        at = self._size + index
        self._tree[at] = value
        while at := at // 2:
            larger = max(self._tree[2 * at], self._tree[2 * at + 1])
            if self._tree[at] == larger:
                break
            self._tree[at] = larger

    def above(self, limit: float, end: int) -> Iterator[int]:
        """Where the numbers above a limit stand, in order, of so many at the beginning."""
        nodes = [(1, 0, self._size)]
        while nodes:
            at, first, width = nodes.pop()
            if first < end and self._tree[at] > limit:
                if width == 1:
                    yield first
                else:
                    half = width // 2
                    nodes += [(2 * at + 1, first + half, half), (2 * at, first, half)]


class _Row(msgspec.Struct):
    """Questions in the order of their numbers: when each was asked, and a figure of each."""

    numbers: list[int] = []
    asked: list[int] = []
    figures: Peaks = msgspec.field(default_factory=Peaks)

    def append(self, number: int, asked: int, figure: float) -> None:
        """Add a question."""
        self.numbers.append(number)
        self.asked.append(asked)
        self.figures.append(figure)

    def change(self, number: int, figure: float) -> None:
        """Change the figure of a question."""
        self.figures[bisect_left(self.numbers, number)] = figure

    def above(self, limit: float, before: float) -> Iterator[int]:
        """The questions that were asked before an event, and whose figure is above a limit, in order."""
        found = self.figures.above(limit, bisect_left(self.asked, before))
        return (self.numbers[at] for at in found)


class AskedPlaces:
    """Finds questions without a look at those that are over or that concern other places."""

    def __init__(self) -> None:
        #: the figure: the event by which an answer was shown first
        self._near: dict[Near, _Row] = {}
        #: the figure: when a question reached the gateway, of those of which an answer was shown
        self._lanes: dict[Lane, _Row] = {}

    def ask(self, number: int, asked: int, near: Iterable[Near], lane: Lane, shown: int | None) -> None:
        """A question is asked; an answer may have been shown before."""
        for key in near:
            self._near.setdefault(key, _Row()).append(number, asked, _NEVER if shown is None else shown)
        self._lanes.setdefault(lane, _Row()).append(number, asked, -_NEVER if shown is None else asked)

    def show(self, number: int, near: Iterable[Near], shown: int) -> None:
        """An answer to a question is shown for the first time."""
        for key in near:
            self._near[key].change(number, shown)

    def reach(self, number: int, lane: Lane, reached: int) -> None:
        """A question of which an answer was shown has reached the gateway by an event."""
        self._lanes[lane].change(number, reached)

    def open_near(self, near: Iterable[Near], seq: int) -> Iterator[int]:
        """The questions near a place that were asked before an event, and of which nothing was shown before it."""
        rows = (self._near[key].above(seq - 1, seq) for key in near if key in self._near)
        return (number for number, _ in groupby(merge(*rows)))

    def asked_near(self, near: Iterable[Near], seq: int) -> Iterator[int]:
        """The questions near a place that were asked before an event, in order."""
        rows = (self._near[key].above(-_NEVER, seq) for key in near if key in self._near)
        return (number for number, _ in groupby(merge(*rows)))

    def shown_and_reached_after(self, lane: Lane, reached: int) -> Iterator[int]:
        """The questions of a place of which an answer was shown, and that reached the gateway after an event."""
        return self._lanes[lane].above(reached, _NEVER)
