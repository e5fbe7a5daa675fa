"""Where the stream of events has been read to: the id of the last event before which every message is durable."""

from __future__ import annotations

from collections import deque


class EventCursor:
    """The events in their order, until they and all before them are done.

    signal-cli has an id for each event since it keeps the newest thousand; without ids there is nothing to go back to.
    """

    def __init__(self) -> None:
        #: id of the event, and the conversation and id of its message; None: nothing to wait for
        self._open: deque[tuple[str, tuple[str, str] | None]] = deque()
        #: ids of events whose messages are durable, behind one that is not
        self._done: set[str] = set()

    def begin(self) -> None:
        """A new connection: what was not done comes again."""
        self._open.clear()

    def came(self, event_id: str, message: tuple[str, str] | None) -> bool:
        """An event came. Returns whether its message is to be handed on: not if it is durable already."""
        known = event_id in self._done
        if event_id:
            self._open.append((event_id, None if known else message))
        return message is not None and not known

    def done(self, message: tuple[str, str]) -> str | None:
        """A message is durable. Returns the id to go on after, if it has moved."""
        for place, (event_id, one) in enumerate(self._open):
            if one == message:
                self._open[place] = (event_id, None)
                self._done.add(event_id)
        reached = None
        while self._open and self._open[0][1] is None:
            reached = self._open.popleft()[0]
            self._done.discard(reached)
        return reached
