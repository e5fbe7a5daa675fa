"""The keys of sessions over time. A session that moves gets another key, and stays the same session.

What was recorded of a session is found under the last key that it had. Keys are resolved for a moment, because the key
that a session left may be given to another one later.
"""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.core.events.gateway import SessionMoved
from trunkline.sim.index.projection import Projection, on


class SessionMoves(Projection):
    """Every move of a session from one key to another."""

    def __init__(self) -> None:
        #: seq, key before, key since
        self._moves: list[tuple[int, str, str]] = []

    @on(SessionMoved)
    def _moved(self, event: Event, body: SessionMoved) -> None:
        self._moves.append((event.seq, body.old_key, body.session_key))

    def last_key(self, key: str, seq: int) -> str:
        """The last key of the session that had `key` after event `seq`."""
        for at, old, new in self._moves:
            if at > seq and old == key:
                key = new
        return key

    def key_at(self, last: str, seq: int) -> str:
        """The key that a session had after event `seq`, by the last key that it has."""
        for at, old, new in reversed(self._moves):
            if at > seq and new == last:
                last = old
        return last
