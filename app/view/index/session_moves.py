"""Sessions under their keys over time: a session that moved has another key from then on, and stays the same session.

What was recorded of a session is found under the last key that it had. Keys are compared with the moment, because a key
that a session moved away from may be given to another one later.
"""

from __future__ import annotations

from collections.abc import Iterable

from trunkline.core.events import Event
from trunkline.core.events.gateway import SessionMoved


class SessionMoves:
    """The keys of the sessions of a run."""

    def __init__(self, events: Iterable[Event]) -> None:
        #: seq, key before, key since
        self._moves: list[tuple[int, str, str]] = []
        for event in events:
            if isinstance(event.body, SessionMoved):
                self.learn(event.seq, event.body)

    def learn(self, seq: int, body: SessionMoved) -> None:
        """A session has another key from this event on. Told in order."""
        self._moves.append((seq, body.old_key, body.session_key))

    def last_key(self, key: str, seq: int) -> str:
        """The key that a session has in the end, which had `key` after event `seq`."""
        for at, old, new in self._moves:
            if at > seq and old == key:
                key = new
        return key

    def key_at(self, last: str, seq: int) -> str:
        """The key that a session had after event `seq`, which has `last` in the end."""
        for at, old, new in reversed(self._moves):
            if at > seq and new == last:
                last = old
        return last
