"""Rooms: the sockets of each conversation, which see its turns and what the person says on another socket."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol

from trunkline.core.events import Event, EventLog
from trunkline.core.events.gateway import TurnEnded, TurnStarted
from trunkline.core.http.chat.frames import FailedFrame, OwnFrame
from trunkline.core.values import Address, ChatKind

#: channel, account, conversation and its kind; threads of a conversation are heard with it
Place = tuple[str, str, str, ChatKind]
#: turns under way whose places are remembered; more than a gateway runs at once
_MOST_TURNS = 10_000


def place_of(address: Address) -> Place:
    """The place of an address."""
    return (address.channel, address.account, address.conversation, address.kind)


class RoomMember(Protocol):
    """A socket of a room. Called on the event loop; must return at once."""

    def show_typing(self, *, on: bool) -> None:
        """Show that a turn of the conversation has begun, or that the last one has ended."""
        ...

    def show_failure(self, frame: FailedFrame) -> None:
        """Show that a turn of the conversation has failed."""
        ...

    def show_own(self, frame: OwnFrame) -> None:
        """Show a message that the person sent on another socket."""
        ...


class Rooms:
    """The sockets of each conversation. Made on the event loop; hears the log from whichever thread records."""

    def __init__(self, log: EventLog) -> None:
        self._loop = asyncio.get_running_loop()
        self._rooms: dict[Place, set[RoomMember]] = {}
        #: place of each turn under way, by its id, and how many there are in each place; changed only in `_see`, which
        #: the log calls one event at a time
        self._turns: dict[str, Place] = {}
        self._busy: dict[Place, int] = {}
        log.subscribe(self._see, TurnStarted, TurnEnded)

    def __len__(self) -> int:
        """The number of sockets in rooms."""
        return sum(map(len, self._rooms.values()))

    def enter(self, place: Place, member: RoomMember) -> None:
        """Listen to a conversation. A turn that is under way is reported at once."""
        self._rooms.setdefault(place, set()).add(member)
        if place in self._busy:
            member.show_typing(on=True)

    def leave(self, place: Place, member: RoomMember) -> None:
        """Stop listening to a conversation."""
        room = self._rooms.get(place)
        if room is not None:
            room.discard(member)
            if not room:
                del self._rooms[place]

    def share_own(self, place: Place, frame: OwnFrame, but: RoomMember) -> None:
        """Show what a person said to the other sockets of the conversation."""
        for member in self._in(place):
            if member is not but:
                member.show_own(frame)

    def _see(self, event: Event) -> None:
        # Called in the thread that committed, for every turn of the gateway: most have nobody in their room.
        body = event.body
        if isinstance(body, TurnStarted):
            if body.origin is not None and event.turn is not None:
                self._begin(event.turn, place_of(body.origin))
        elif isinstance(body, TurnEnded) and event.turn is not None:
            self._end(event.turn, body)

    def _begin(self, turn: str, place: Place) -> None:
        if len(self._turns) < _MOST_TURNS and turn not in self._turns:
            self._turns[turn] = place
            self._busy[place] = self._busy.get(place, 0) + 1
            if place in self._rooms:
                self._call(place)

    def _end(self, turn: str, ended: TurnEnded) -> None:
        place = self._turns.pop(turn, None)
        if place is None:
            return
        left = self._busy.pop(place, 1) - 1
        if left:
            self._busy[place] = left
        elif place in self._rooms:
            self._call(place)
        if ended.outcome == "failed" and place in self._rooms:
            self._call(place, FailedFrame(reason=ended.reason))

    def _call(self, place: Place, failed: FailedFrame | None = None) -> None:
        try:
            if failed is None:
                self._loop.call_soon_threadsafe(self._show_typing, place)
            else:
                self._loop.call_soon_threadsafe(self._show_failure, place, failed)
        except RuntimeError:
            # The loop is closed: nobody listens any more.
            self._rooms.clear()

    def _in(self, place: Place) -> Iterable[RoomMember]:
        return tuple(self._rooms.get(place, ()))

    def _show_typing(self, place: Place) -> None:
        on = place in self._busy
        for member in self._in(place):
            member.show_typing(on=on)

    def _show_failure(self, place: Place, frame: FailedFrame) -> None:
        for member in self._in(place):
            member.show_failure(frame)
