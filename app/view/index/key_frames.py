"""A dictionary that changes over the events of a run, as it was after any of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
C = TypeVar("C")

#: changes between two key frames, at least
FRAME_EVERY = 256
#: and at least this part of the size of a frame, or the frames of a long run would grow with its square
FRAME_PART = 4


class KeyFrames(Generic[K, V, C]):
    """Changes in order, with a copy of the dictionary every so often, so that any moment is near one."""

    def __init__(self, apply: Callable[[dict[K, V], C], None]) -> None:
        """`apply` makes one change to the dictionary that it is given."""
        self._apply = apply
        self._seqs: list[int] = []
        self._changes: list[C] = []
        #: changes that a frame includes, and the frame
        self._frames: list[tuple[int, dict[K, V]]] = [(0, {})]
        self._next = FRAME_EVERY
        self._last: tuple[int, dict[K, V]] = (0, {})

    def add(self, seq: int, change: C) -> None:
        """Record the next change, made by event `seq`."""
        self._seqs.append(seq)
        self._changes.append(change)

    def at(self, seq: int) -> dict[K, V]:
        """The dictionary after event `seq`. It is shared: treat it as read-only."""
        wanted = bisect_right(self._seqs, seq)
        if self._last[0] != wanted:
            while self._next <= wanted:
                self._frames.append((self._next, self._forward(self._frames[-1], self._next)))
                self._next += max(FRAME_EVERY, len(self._frames[-1][1]) // FRAME_PART)
            start = self._frames[bisect_right(self._frames, wanted, key=itemgetter(0)) - 1]
            near = self._last if start[0] <= self._last[0] <= wanted else start
            self._last = wanted, self._forward(near, wanted)
        return self._last[1]

    def _forward(self, start: tuple[int, dict[K, V]], end: int) -> dict[K, V]:
        now = dict(start[1])
        for change in self._changes[start[0] : end]:
            self._apply(now, change)
        return now
