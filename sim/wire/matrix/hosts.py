"""The fake Matrix homeserver as its parts use it: rooms as their members see them, and events as they are now."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from trunkline.core.values import Address, ChatKind
from trunkline.sim.platforms.actions.message_board import PostedMessage
from trunkline.sim.platforms.channels.matrix import FakeMatrix
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.wire.json_values import Json
from trunkline.sim.wire.matrix.account_log import AccountLog
from trunkline.sim.wire.matrix.bodies import event, now_of, state_of
from trunkline.sim.wire.server import WireServer


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


class MatrixHost(WireServer[FakeMatrix]):
    """The server as its parts use it."""

    channel = "matrix"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.names = RoomNames(self.platform)
        #: account and key of a send -> type, content and transaction of its event
        self.contents: dict[tuple[str, str], tuple[str, Json, str]] = {}

    @abstractmethod
    def log(self, account: str) -> AccountLog:
        """The log of an account, with everything that it has done itself."""

    def sent_event(self, room_id: str, message: PostedMessage) -> Json:
        """A message of the gateway, with the content that the client sent."""
        usual = ("m.room.message", {"msgtype": "m.text", "body": message.text}, "")
        assert message.account is not None
        kind, content, txn = self.contents.get((message.account, message.request.key), usual)
        found = event(room_id, kind, message.id, message.author, self.date(message.at), content)
        return {**found, "unsigned": {**found["unsigned"], "transaction_id": txn}}

    def as_now(self, account: str, found: Json | None) -> Json:
        """An event of the log as it is now."""
        assert found is not None
        room = self.names.joined(account).get(found["room_id"])
        message = None if room is None else self.platform.board.get(room, found["event_id"])
        return found if message is None else now_of(found, message)

    def members(self, account: str, room_id: str) -> dict[str, str]:
        """The members of a room and their names: in a room everybody is one, in a direct conversation both are."""
        room = self.names.joined(account)[room_id]
        bots = {self.platform.bot_id(member): member for member in room.accounts if member not in room.left}
        people = {
            person.peer.id: person.peer.name for person in self.platform.server.members.values() if person.out is None
        }
        if room.owner:
            people = {room.conversation: people.get(room.conversation, "")}
        return {**people, **bots}

    def state(self, account: str, room_id: str) -> list[Json]:
        """The state of a room."""
        room, me = self.names.joined(account)[room_id], self.platform.bot_id(account)
        pinned = self.pinned(account, room_id)
        return state_of(room_id, room, self.members(account, room_id), me, pinned, self.date(0.0))

    def pinned(self, account: str, room_id: str) -> list[str]:
        """The ids of the pinned messages of a room and its threads."""
        room = self.names.joined(account).get(room_id)
        if room is None:
            return []
        here = (room.owner, room.conversation)
        return [
            message.id
            for message in self.platform.board.all
            if message.pinned and (message.room.owner, message.room.conversation) == here
        ]

    def name_of(self, user: str) -> str | None:
        """The name of a user; None: nobody has the id."""
        for account in self.platform.spec.accounts:
            if self.platform.bot_id(account) == user:
                return str(self.platform.server.profiles.get(account, {}).get("displayName", account))
        member = self.platform.server.members.get(user)
        return None if member is None else member.peer.name
