"""The log of an account: all that it sees of its rooms, in one order. Positions in it are the tokens of syncs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec

from trunkline.core.values import Envelope

#: a JSON object
Json = dict[str, Any]


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the log: a thing that the account gets to see."""

    position: int
    room: str
    #: an event of the room's timeline; None: the account has joined the room
    event: Json | None = None
    #: the message that the world waits for
    envelope: Envelope | None = None


class AccountLog:
    """The log of one account. Nothing is ever removed: an old token stays valid, also one from before `first`."""

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self.entries: list[LogEntry] = []
        #: rooms that the account has joined -> position
        self.rooms: dict[str, int] = {}
        #: events by id
        self.events: dict[str, Json] = {}
        #: messages that no sync has confirmed
        self._open: dict[str, LogEntry] = {}
        #: the account's connection broke, and no sync has shown it
        self._broken = False
        self._changed = asyncio.Event()

    @property
    def end(self) -> int:
        """The position after everything."""
        return self._first + len(self.entries)

    def join(self, room: str) -> None:
        """Note that the account is in a room."""
        if room not in self.rooms:
            self._add(LogEntry(position=self.end + 1, room=room))
            self.rooms[room] = self.end

    def add(self, room: str, event: Json, envelope: Envelope | None = None) -> None:
        """Append an event. One that waits for its confirmation already is not repeated."""
        event_id = event["event_id"]
        if envelope is not None and event_id in self._open:
            return
        entry = LogEntry(position=self.end + 1, room=room, event=event, envelope=envelope)
        self.events.setdefault(event_id, event)
        self._add(entry)
        if envelope is not None:
            self._open[event_id] = entry

    def _add(self, entry: LogEntry) -> None:
        self.entries.append(entry)
        self.wake()

    def confirm(self, position: int) -> list[Envelope]:
        """The messages up to a position that were not confirmed before."""
        done = [key for key, entry in self._open.items() if entry.position <= position]
        return [envelope for key in done if (envelope := self._open.pop(key).envelope) is not None]

    def after(self, position: int) -> Iterator[LogEntry]:
        """The entries after a position."""
        return iter(self.entries[max(0, position - self._first) :])

    def between(self, low: int, high: int) -> list[LogEntry]:
        """The entries after a position, up to another."""
        return self.entries[max(0, low - self._first) : max(0, high - self._first)]

    def broke(self) -> None:
        """The connection of the account broke: the sync that waits is reset, or else the next one."""
        self._broken = True
        self.wake()

    def take_break(self) -> bool:
        """Whether the connection broke since the last question."""
        broken, self._broken = self._broken, False
        return broken

    def wake(self) -> None:
        """Let everybody look again who waits."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_for_change(self, timeout: float) -> None:
        """Wait until something changes, but not for longer."""
        waiting = self._changed
        try:
            async with asyncio.timeout(timeout):
                await waiting.wait()
        except TimeoutError:
            pass
