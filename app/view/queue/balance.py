"""The balance of the queue: at any moment, prepared messages equal ended plus open ones."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable
from operator import itemgetter

import msgspec

from trunkline.app.view.index.message import MessageHistory, QueueState

#: the term of each state; the terms that are always shown come first
TERMS = {
    QueueState.DELIVERED: "delivered",
    QueueState.PENDING: "open",
    QueueState.LEASED: "open",
    QueueState.ORPHANED: "open",
    QueueState.RETRY: "retry",
    QueueState.DEAD: "dead",
    QueueState.FAILED: "failed",
    QueueState.EXPIRED: "expired",
    QueueState.UNKNOWN: "unknown",
    QueueState.PARTIAL: "partial",
    QueueState.MISPLACED: "misplaced",
    QueueState.CANCELLED: "cancelled",
}
ALWAYS = ("delivered", "open", "retry", "dead")
#: changes between two stored counts
_EVERY = 64


class QueueBalance(msgspec.Struct, frozen=True, kw_only=True):
    """The balance after an event."""

    prepared: int
    #: found in the store, prepared by an earlier run
    found: int
    terms: tuple[tuple[str, int], ...]
    #: without an ending although the run is over
    missing: tuple[str, ...] = ()
    #: ended more than once
    twice: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """The number of messages that must be accounted for."""
        return self.prepared + self.found

    @property
    def holds(self) -> bool:
        """Whether nothing is missing and nothing ended twice."""
        return not self.missing and not self.twice and self.total == sum(number for _, number in self.terms)

    @property
    def text(self) -> str:
        """``✓ prepared 11 = delivered 7 + open 1 + retry 1 + dead 2, adds up``."""
        left = f"prepared {self.prepared}" + (f" + found {self.found}" if self.found else "")
        right = " + ".join(f"{name} {number}" for name, number in self.terms)
        return f"✓ {left} = {right}, adds up" if self.holds else f"✗ {left} ≠ {right}, does not add up"

    @property
    def names(self) -> str:
        """The messages that break the balance."""
        words: list[str] = []
        if self.missing:
            words.append(f"{len(self.missing)} without an ending: {' '.join(self.missing)}")
        if self.twice:
            words.append(f"{len(self.twice)} ended twice: {' '.join(self.twice)}")
        return "; ".join(words)


class BalanceCounter:
    """Counts of messages by state after any event: all changes, with stored counts at intervals."""

    def __init__(self, histories: Iterable[MessageHistory]) -> None:
        self._prepared: list[int] = []
        #: messages found in the store -> their first event; and these events in order
        self._unprepared: dict[str, int] = {}
        self._found: list[int] = []
        #: seqs of repeated endings without a reopening, with the message
        self._twice: list[tuple[int, str]] = []
        self._double: list[tuple[int, str]] = []
        #: message -> counted changes, its current term, and whether it has ended
        self._counted: dict[str, tuple[int, str, bool]] = {}
        self._changes: list[tuple[int, str, int]] = []
        self._seqs: list[int] = []
        self._now: Counter[str] = Counter()
        self._frames: list[Counter[str]] = [Counter()]
        self.grow(histories)

    def grow(self, histories: Iterable[MessageHistory]) -> None:
        """Count the new changes of these histories."""
        changes: list[tuple[int, str, int]] = []
        for history in histories:
            self._find(history)
            self._count(history, changes)
        changes.sort(key=itemgetter(0))
        if changes and self._seqs and changes[0][0] < self._seqs[-1]:
            # A message turned out to have been queued earlier: count everything again.
            changes = sorted([*self._changes, *changes], key=itemgetter(0))
            self._changes, self._seqs, self._now, self._frames = [], [], Counter(), [Counter()]
        for change in changes:
            self._changes.append(change)
            self._seqs.append(change[0])
            self._now[change[1]] += change[2]
            if not len(self._changes) % _EVERY:
                self._frames.append(self._now.copy())
        # Nearly in order, since new changes come last.
        self._prepared.sort()
        self._twice.sort()
        self._double.sort()

    def _find(self, history: MessageHistory) -> None:
        if history.prepared is None and history.id not in self._unprepared:
            self._unprepared[history.id] = history.seq
            insort(self._found, history.seq)
        elif history.prepared is not None and history.id in self._unprepared:
            self._found.remove(self._unprepared.pop(history.id))

    def _count(self, history: MessageHistory, changes: list[tuple[int, str, int]]) -> None:
        """An ended message leaves its count only if an operator reopens it; other changes are repeats."""
        done, name, over = self._counted.get(history.id, (0, "", False))
        for step in history.steps[done:]:
            ends = step.ends
            if step.entered or step.reopened or not over:
                if name and (step.reopened or not over):
                    changes.append((step.seq, name, -1))
                name, over = TERMS[step.state], ends
                changes.append((step.seq, name, 1))
            elif ends:
                self._twice.append((step.seq, history.id))
                changes.append((step.seq, TERMS[step.state], 1))
            if step.entered:
                self._prepared.append(step.seq)
            if len(step.owners) > 1:
                self._double.append((step.seq, history.id))
        self._counted[history.id] = len(history.steps), name, over

    def at(self, seq: int) -> tuple[Counter[str], int, int]:
        """Counts of the states, and how many were prepared and found, after event `seq`."""
        index = bisect_right(self._seqs, seq)
        frame = index // _EVERY
        counts = self._frames[frame].copy()
        for _, name, by in self._changes[frame * _EVERY : index]:
            counts[name] += by
        return counts, bisect_right(self._prepared, seq), bisect_right(self._found, seq)

    def twice(self, seq: int) -> list[str]:
        """The messages with more than one ending."""
        return list(dict.fromkeys(name for at, name in self._twice if at <= seq))

    def claimed_twice(self, seq: int) -> list[str]:
        """The messages that two processes worked on at the same time."""
        return list(dict.fromkeys(name for at, name in self._double if at <= seq))
