"""The balance of the queue: at any moment, prepared messages equal ended plus open ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import itemgetter

import msgspec

from trunkline.app.view.index.growing import GrowingRows, Tally
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
#: counted beside the terms: messages that were prepared in this run, and those of an earlier one
PREPARED, FOUND = "prepared", "found"


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
    """Counts of messages by term after any event, and the messages that ended or were claimed twice."""

    def __init__(self) -> None:
        self._tally = Tally()
        #: repeated endings without a reopening, and claims by two processes, each with its message
        self._ended_twice = GrowingRows[tuple[int, str]](itemgetter(0))
        self._claimed_twice = GrowingRows[tuple[int, str]](itemgetter(0))
        #: message -> counted changes of state, its current term, and whether it has ended
        self._counted: dict[str, tuple[int, str, bool]] = {}
        #: messages found in the store -> the event that they are counted at
        self._found: dict[str, int] = {}

    def count(self, histories: Iterable[MessageHistory]) -> None:
        """Count the new changes of these histories."""
        counts: list[tuple[int, tuple[str, int]]] = []
        for history in histories:
            if history.prepared is None and history.id not in self._found:
                self._found[history.id] = history.seq
                counts.append((history.seq, (FOUND, 1)))
            self._count(history, counts)
            if history.prepared is not None and history.id in self._found:
                counts.append((self._found.pop(history.id), (FOUND, -1)))
        self._tally.add(*counts)

    def _count(self, history: MessageHistory, counts: list[tuple[int, tuple[str, int]]]) -> None:
        """An ended message leaves its count only if an operator reopens it; other changes are repeats."""
        done, name, over = self._counted.get(history.id, (0, "", False))
        for step in history.steps[done:]:
            if step.entered or step.reopened or not over:
                if name and (step.reopened or not over):
                    counts.append((step.seq, (name, -1)))
                name, over = TERMS[step.state], step.ends
                counts.append((step.seq, (name, 1)))
            elif step.ends:
                self._ended_twice.add((step.seq, history.id))
                counts.append((step.seq, (TERMS[step.state], 1)))
            if step.entered:
                counts.append((step.seq, (PREPARED, 1)))
            if len(step.owners) > 1:
                self._claimed_twice.add((step.seq, history.id))
        self._counted[history.id] = len(history.steps), name, over

    def at(self, seq: int) -> Counter[str]:
        """The numbers of the terms, and of messages prepared and found, after event `seq`."""
        return Counter(self._tally.at(seq))

    def ended_twice(self, seq: int) -> tuple[str, ...]:
        """The messages with more than one ending."""
        return _names(self._ended_twice, seq)

    def claimed_twice(self, seq: int) -> tuple[str, ...]:
        """The messages that two processes worked on at the same time."""
        return _names(self._claimed_twice, seq)


def _names(rows: GrowingRows[tuple[int, str]], seq: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, name in rows[: rows.upto(seq)]))
