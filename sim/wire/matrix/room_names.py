"""The rooms of an account by their ids on the wire.

In the world a direct conversation has the id of its user. On the wire it is a room with an id of its own, which the
account data `m.direct` lists for the user.
"""

from __future__ import annotations

from trunkline.core.values import Address, ChatKind
from trunkline.sim.platforms.channels.matrix import FakeMatrix
from trunkline.sim.platforms.rooms import Room


class RoomNames:
    """Finds the rooms of a platform by the ids that clients use."""

    def __init__(self, platform: FakeMatrix) -> None:
        self._platform = platform

    def id_of(self, room: Room) -> str:
        """The id of a room, and of the room that a thread is in."""
        if not room.owner:
            return room.conversation
        return self._platform.new_id("room", "direct", room.owner, room.conversation)

    def joined(self, account: str) -> dict[str, Room]:
        """The rooms that an account is in, without their threads."""
        return {
            self.id_of(room): room
            for room in self._platform.rooms
            if room.thread is None and account in room.accounts and account not in room.left and room.closed is None
        }

    def direct(self, account: str) -> dict[str, list[str]]:
        """The account data `m.direct`."""
        rooms = self.joined(account).items()
        return {room.conversation: [room_id] for room_id, room in rooms if room.kind is ChatKind.DIRECT}

    def address(self, account: str, room_id: str, thread: str | None = None) -> Address:
        """The address of a room, or of a thread in it; the platform says whether it is there."""
        room = self.joined(account).get(room_id)
        return Address(
            channel=self._platform.channel,
            account=account,
            kind=ChatKind.CHANNEL if room is None else room.kind,
            conversation=room_id if room is None else room.conversation,
            thread=thread,
        )
