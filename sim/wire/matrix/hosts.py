"""The fake Matrix homeserver as its parts use it: rooms as their members see them, and events as they are now."""

import asyncio
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.values import Address, ChatKind, Envelope
from trunkline.sim.platforms.actions.message_board import PostedMessage
from trunkline.sim.platforms.channels.matrix import FakeMatrix
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.wire.json_values import Json
from trunkline.sim.wire.matrix.bodies import MatrixSays, event, now_of, state_of
from trunkline.sim.wire.server import WireServer

# The log of an account: all that it sees of its rooms, in one order. Positions in it are the tokens of syncs.


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
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
        self.events: dict[str, Json] = {}
        #: messages that no sync has confirmed
        self._open: dict[str, LogEntry] = {}
        #: the account's connection broke, and no sync has shown it
        self._broken = False
        self._changed = asyncio.Event()

    @property
    def end(self) -> int:
        return self._first + len(self.entries)

    def join(self, room: str) -> None:
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
        done = [key for key, entry in self._open.items() if entry.position <= position]
        return [envelope for key in done if (envelope := self._open.pop(key).envelope) is not None]

    def after(self, position: int) -> Iterator[LogEntry]:
        return iter(self.entries[max(0, position - self._first) :])

    def between(self, low: int, high: int) -> list[LogEntry]:
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
        waiting = self._changed
        try:
            async with asyncio.timeout(timeout):
                await waiting.wait()
        except TimeoutError:
            pass


class RoomNames:
    """Finds the rooms of a platform by the ids of clients."""

    def __init__(self, platform: FakeMatrix) -> None:
        self._platform = platform

    def id_of(self, room: Room) -> str:
        """The id of a room, and of the room of a thread."""
        if not room.owner:
            return room.conversation
        return self._platform.new_id("room", "direct", room.owner, room.conversation)

    def joined(self, account: str) -> dict[str, Room]:
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
    channel = "matrix"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.names = RoomNames(self.platform)
        #: account and key of a send -> type, content and transaction of its event
        self.contents: dict[tuple[str, str], tuple[str, Json, str]] = {}
        #: reactions by account, path and transaction
        self.reacted: set[tuple[str, str]] = set()

    @abstractmethod
    def log(self, account: str) -> AccountLog:
        """The log of an account, with the account's own events."""

    def sent_event(self, room_id: str, message: PostedMessage) -> Json:
        usual = ("m.room.message", {"msgtype": "m.text", "body": message.text}, "")
        assert message.account is not None
        kind, content, txn = self.contents.get((message.account, message.request.key), usual)
        found = event(room_id, kind, message.id, message.author, self.date(message.at), content)
        return {**found, "unsigned": {**found["unsigned"], "transaction_id": txn}}

    def as_now(self, account: str, found: Json | None) -> Json:
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
        room, me = self.names.joined(account)[room_id], self.platform.bot_id(account)
        pinned = self.pinned(account, room_id)
        return state_of(room_id, room, self.members(account, room_id), me, pinned, self.date(0.0))

    def pinned(self, account: str, room_id: str) -> list[str]:
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
        for account in self.platform.spec.accounts:
            if self.platform.bot_id(account) == user:
                return str(self.platform.server.profiles.get(account, {}).get("displayName", account))
        member = self.platform.server.members.get(user)
        return None if member is None else member.peer.name


class MatrixCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a client, once its token is known."""

    server: MatrixHost
    request: web.Request
    account: str
    token: int
    me: str

    def part(self, name: str) -> str:
        """A part of the path; empty if it has none of this name."""
        return self.request.match_info.get(name, "")

    @property
    def room(self) -> Room | None:
        """The room of the path, if the account is in it."""
        return self.server.names.joined(self.account).get(self.part("room"))

    def check_member(self) -> None:
        """Raise `MatrixSays` unless the account is in the room of the path."""
        if self.room is None:
            raise MatrixSays(403, "M_FORBIDDEN", f"User {self.me} not in room {self.part('room')}")
