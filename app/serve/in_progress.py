"""What a gateway is doing right now: turns that run, and chunks that are at an adapter."""

from __future__ import annotations

import threading

import anyio

from trunkline.core.events import Event, EventLog
from trunkline.core.events.delivery import AttemptEnded, AttemptStarted
from trunkline.core.events.gateway import TurnEnded, TurnStarted

#: seconds between two looks
_LOOK = 0.02
#: seconds of rest after which nothing more is expected; between a turn and the sending of its answer lies a commit
_QUIET = 0.1


class InProgress:
    """Follows a log. Events come from several threads."""

    def __init__(self, log: EventLog) -> None:
        self._open = set[str]()
        self._lock = threading.Lock()
        log.subscribe(self._see, TurnStarted, TurnEnded, AttemptStarted, AttemptEnded)

    def _see(self, event: Event) -> None:
        # The log calls its subscribers one after another.
        begins = isinstance(event.body, TurnStarted | AttemptStarted)
        name = event.turn if isinstance(event.body, TurnStarted | TurnEnded) else event.intent
        with self._lock:
            if begins:
                self._open.add(name or "")
            else:
                self._open.discard(name or "")

    def __len__(self) -> int:
        return len(self._open)

    async def rest(self) -> None:
        """Return once nothing has been in progress for a moment."""
        quiet = 0.0
        while quiet < _QUIET:
            await anyio.sleep(_LOOK)
            quiet = 0.0 if self._open else quiet + _LOOK
