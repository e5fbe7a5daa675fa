"""Causes of events, followed back to the root and forward to all effects."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.core.events import Event


class Causes:
    """Parents and children of every event.

    A parent is the recorded `cause`; an event without one hangs on the event that a mark proves, else on the first
    event that carries the same intent, delegation, turn or inbound.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._parents: list[int] = [0]
        self._children: dict[int, list[int]] = {}
        #: the first event that carries an id: of each kind, from the narrowest to the widest
        self._firsts: tuple[dict[str, int], ...] = ({}, {}, {}, {})
        for event in events:
            self.learn(event)

    def learn(self, event: Event, proved: int | None = None) -> None:
        """Add the next event under its parent. `proved`: the cause that its marks prove."""
        related = self._related(event)
        parent = event.cause or proved or related or 0
        parent = parent if 0 < parent < event.seq else 0
        self._parents.append(parent)
        if parent:
            self._children.setdefault(parent, []).append(event.seq)

    def _related(self, event: Event) -> int | None:
        found: int | None = None
        ids = (event.intent, event.delegation, event.turn, event.inbound)
        for firsts, value in zip(self._firsts, ids, strict=True):
            # Only the wire of a foreign gateway is known: its requests belong to an intent without a name.
            if value:
                first = firsts.setdefault(value, event.seq)
                if found is None and first != event.seq:
                    found = first
        return found

    def parent(self, seq: int) -> int | None:
        """The event that caused this one."""
        return self._parents[seq] or None

    def children(self, seq: int) -> Sequence[int]:
        """The events that this one caused directly, in order."""
        return self._children.get(seq, ())

    def path(self, seq: int) -> list[int]:
        """From the root to `seq`, both included."""
        path: list[int] = []
        step: int | None = seq or None
        while step:
            path.append(step)
            step = self.parent(step)
        return path[::-1]

    def effects(self, seq: int) -> list[int]:
        """All direct and indirect effects of `seq`, in order."""
        found: list[int] = []
        open_ = list(self.children(seq))
        while open_:
            step = open_.pop()
            found.append(step)
            open_.extend(self.children(step))
        return sorted(found)

    def family(self, seq: int) -> frozenset[int]:
        """The causal chain of an event: its causes, itself, and its effects."""
        return frozenset((*self.path(seq), *self.effects(seq)))
