"""How long all workers of the delivery loop were busy, for L6."""

from __future__ import annotations

from bisect import bisect_right


class BusyTime:
    """The times in which as many conversations were being sent to as the operator allows at once."""

    def __init__(self) -> None:
        self._sending: set[object] = set()
        #: when such a time began and ended, in order, and the seconds of those before it
        self._starts: list[float] = []
        self._ends: list[float] = []
        self._before: list[float] = []
        self._full = False

    def begins(self, lane: object, at: float, workers: int | None) -> None:
        """A conversation is being sent to. `workers`: how many may be at once; none: any number."""
        self._sending.add(lane)
        if not self._full and workers is not None and len(self._sending) >= workers:
            seconds = self._before[-1] + self._ends[-1] - self._starts[-1] if self._starts else 0.0
            self._before.append(seconds)
            self._starts.append(at)
            self._full = True

    def ends(self, lane: object, at: float) -> None:
        """A conversation is not being sent to any more."""
        self._sending.discard(lane)
        self._free(at)

    def clear(self, at: float) -> None:
        """The process has ended."""
        self._sending.clear()
        self._free(at)

    def _free(self, at: float) -> None:
        if self._full:
            self._ends.append(at)
            self._full = False

    def between(self, since: float, now: float) -> float:
        """Seconds of a period in which every worker was busy."""
        return self._until(now) - self._until(since)

    def _until(self, at: float) -> float:
        index = bisect_right(self._starts, at) - 1
        if index < 0:
            return 0.0
        end = self._ends[index] if index < len(self._ends) else at
        return self._before[index] + min(at, end) - self._starts[index]
