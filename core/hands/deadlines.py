"""The deadlines of delegations, and the next of all."""

import heapq
from collections.abc import Hashable
from typing import Generic, TypeVar

import msgspec

K = TypeVar("K", bound=Hashable)
#: entries of a plan that may be outdated before it is rebuilt
_SLACK = 64


class TimeLimits(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The time limits of a delegation."""

    accepted_at: float
    #: seconds that a run may take; none: unbounded
    timeout: float | None
    #: seconds after its acceptance
    max_age: float
    #: the deadline of the delegation that the caller itself works on
    parent: float | None = None

    @property
    def latest(self) -> float:
        """The end of a delegation even without a start."""
        oldest = self.accepted_at + self.max_age
        return oldest if self.parent is None else min(oldest, self.parent)

    def of_run(self, start: float) -> float:
        """The deadline of a run from `start`."""
        return self.latest if self.timeout is None else min(start + self.timeout, self.latest)


class DeadlinePlan(Generic[K]):
    """Deadlines by key, and the next of all. Memory follows the number of keys, not of changes."""

    def __init__(self) -> None:
        self._at: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._at)

    def set(self, key: K, at: float) -> None:
        """Set or move a deadline."""
        self._at[key] = at
        self._count += 1
        heapq.heappush(self._heap, (at, self._count, key))
        self._tidy()

    def remove(self, key: K) -> None:
        """Forget a deadline, if there is any."""
        self._at.pop(key, None)
        self._tidy()

    def _tidy(self) -> None:
        """Drop outdated entries once they are the greater part, at a constant cost per change."""
        if len(self._heap) > 2 * len(self._at) + _SLACK:
            self._heap = [entry for entry in self._heap if self._at.get(entry[2]) == entry[0]]
            heapq.heapify(self._heap)

    def next(self) -> float | None:
        """The earliest deadline; None: there is none."""
        while self._heap and self._at.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> list[K]:
        """Remove and return what has passed, the earliest first."""
        passed: list[K] = []
        while (at := self.next()) is not None and at <= now:
            key = heapq.heappop(self._heap)[2]
            del self._at[key]
            passed.append(key)
        return passed
