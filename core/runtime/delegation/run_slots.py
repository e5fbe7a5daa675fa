"""How many hands run at the same time: the others wait, and sessions take turns."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.core.hands.fair_queue import FairQueue
from trunkline.core.runtime.delegation.open_delegations import OpenDelegation
from trunkline.core.values import SessionId


class RunSlots:
    """Begins runs as long as there are fewer than allowed. A task of an agent counts while its first turn is due.

    Later turns of that task do not count: an agent that waits for a hand of its own would keep that one waiting.
    """

    def __init__(self, most: Callable[[], int], begin: Callable[[OpenDelegation], None]) -> None:
        self._most = most
        self._begin = begin
        self._waiting: FairQueue[SessionId | None, OpenDelegation] = FairQueue()
        self._running = 0

    def put(self, one: OpenDelegation) -> None:
        """Begin a run, or have it wait for its turn."""
        self._waiting.put(one.row.session, one)
        self.fill()

    def occupy(self, one: OpenDelegation) -> None:
        """Count a run that begins in any case."""
        if not one.runs:
            one.runs = True
            self._running += 1

    def release(self, one: OpenDelegation) -> None:
        """A run has ended, or will not begin; the next one may."""
        self._waiting.discard(one.row.session, one)
        if one.runs:
            one.runs = False
            self._running -= 1
            self.fill()

    def fill(self) -> None:
        """Begin what waits, as far as there is room: also after the limit has changed."""
        while self._running < self._most():
            one = self._waiting.take()
            if one is None:
                return
            self.occupy(one)
            self._begin(one)
