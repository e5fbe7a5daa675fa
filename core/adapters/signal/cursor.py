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
        #: events whose messages are durable, behind one that is not; with the message, because a daemon that starts
        #: again may count from the beginning
        self._done: dict[str, tuple[str, str]] = {}

    def begin(self) -> None:
        """A new connection: what was not done comes again."""
        self._open.clear()

    def came(self, event_id: str, message: tuple[str, str] | None) -> bool:
        """An event came. Returns whether its message is to be handed on: not if it is durable already."""
        known = message is not None and self._done.get(event_id) == message
        if event_id:
            self._open.append((event_id, None if known else message))
        return message is not None and not known

    def done(self, message: tuple[str, str]) -> str | None:
        """A message is durable. Returns the id to go on after, if it has moved."""
        for place, (event_id, one) in enumerate(self._open):
            if one == message:
                self._open[place] = (event_id, None)
                self._done[event_id] = message
        reached = None
        while self._open and self._open[0][1] is None:
            reached = self._open.popleft()[0]
            self._done.pop(reached, None)
        return reached
