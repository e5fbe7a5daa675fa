"""The rooms of the account, as far as known: members, encryption, and which rooms are direct conversations.

A direct conversation has the id of its user in the gateway. Its room is the first room that the account data `m.direct`
lists for the user, has nobody else in it, and has both. So a user has one direct room at a time; their other rooms are
rooms. `m.direct` is on the homeserver: what counts as direct today does so after a restart.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from trunkline.core.adapters.json_values import as_object, as_text, as_texts
from trunkline.core.adapters.matrix.api import V3, MatrixApi, MatrixRefused
from trunkline.core.adapters.matrix.content import MatrixEvent, read_direct
from trunkline.core.channels import DirectoryEntry, Resolved, find_in_directory
from trunkline.core.env import Env
from trunkline.core.errors import Refused
from trunkline.core.values import Address, ChatKind

_BOTH = 2


class RoomBook:
    """The rooms of an account: follows the syncs, and asks the server for anything unknown."""

    def __init__(self, api: MatrixApi, me: str, account: str) -> None:
        self._api = api
        self._me = me
        self._account = account
        self._direct: dict[str, tuple[str, ...]] | None = None
        #: room -> member -> name
        self._members: dict[str, dict[str, str]] = {}
        self._encrypted: dict[str, bool] = {}

    def forget(self) -> None:
        """Know nothing any more: what has happened without a sync is not known."""
        self._direct = None
        self._members.clear()
        self._encrypted.clear()

    def note_direct(self, direct: Mapping[str, tuple[str, ...]]) -> None:
        """Note the account data `m.direct`."""
        self._direct = dict(direct)

    def note(self, room: str, event: MatrixEvent) -> None:
        if event.type == "m.room.encryption" and event.state_key is not None:
            self._encrypted[room] = True
        members = self._members.get(room)
        if event.type != "m.room.member" or not event.state_key or members is None:
            return
        if event.content.get("membership") == "join":
            members[event.state_key] = as_text(event.content.get("displayname"))
        else:
            members.pop(event.state_key, None)

    def note_left(self, room: str) -> None:
        self._members.pop(room, None)
        self._encrypted.pop(room, None)

    async def members(self, room: str) -> dict[str, str]:
        """The members of a room and their names. Raises `PlatformError`, as for a room without the account."""
        known = self._members.get(room)
        if known is not None:
            return known
        joined = as_object((await self._api.get(V3.rooms[room].joined_members)).get("joined"))
        members = {user: as_text(as_object(member).get("display_name")) for user, member in joined.items()}
        return self._members.setdefault(room, members)

    async def is_encrypted(self, room: str) -> bool:
        """Whether messages of a room have to be encrypted. Raises `PlatformError`."""
        if room not in self._encrypted:
            path = V3.rooms[room].state["m.room.encryption"]
            self._encrypted[room] = await self._api.find(path) is not None
        return self._encrypted[room]

    async def direct(self) -> dict[str, tuple[str, ...]]:
        """The account data `m.direct`. Raises `PlatformError`."""
        if self._direct is None:
            self._direct = read_direct(await self._api.find(self._direct_path) or {})
        return self._direct

    async def direct_room(self, user: str) -> str | None:
        """The room of the direct conversation with a user. Raises `PlatformError`."""
        for room in (await self.direct()).get(user, ()):
            try:
                members = await self.members(room)
            except MatrixRefused:
                continue
            if members.keys() == {self._me, user}:
                return room
        return None

    async def room_of(self, place: Address) -> str:
        """The room of an address. Raises `Refused` if there is none, and `PlatformError`."""
        if place.kind is not ChatKind.DIRECT:
            return place.conversation
        room = await self.direct_room(place.conversation)
        if room is None:
            raise Refused(
                f"there is no direct room with {place.conversation}: they have to invite {self._me} to one first"
            )
        return room

    async def address_of(self, room: str, thread: str | None) -> Address:
        """The address of a room or thread. A room with a single other user and no name becomes direct."""
        user = await self._other(room)
        direct = None if user is None else await self.direct_room(user)
        if user is not None and direct is None and not await self._is_named(room):
            await self.adopt(room, user)
            direct = room
        if user is not None and direct == room:
            return self._address(ChatKind.DIRECT, user, thread)
        return self._address(ChatKind.CHANNEL, room, thread)

    def _address(self, kind: ChatKind, conversation: str, thread: str | None) -> Address:
        return Address(channel="matrix", account=self._account, kind=kind, conversation=conversation, thread=thread)

    async def adopt(self, room: str, user: str) -> None:
        """Make a room the direct room of a user, on the server. Raises `PlatformError`.

        If the server refuses that, the room is direct for this process, and the next process tries again.
        """
        direct = await self.direct()
        if room in direct.get(user, ()):
            return
        changed = {**direct, user: (*direct.get(user, ()), room)}
        with suppress(MatrixRefused):
            await self._api.put(self._direct_path, {name: list(rooms) for name, rooms in changed.items()})
        self._direct = changed

    async def name_of(self, room: str) -> str:
        """The name or the alias of a room; empty for a room without. Raises `PlatformError`."""
        for type_, field in (("m.room.name", "name"), ("m.room.canonical_alias", "alias")):
            found = as_text((await self._api.find(V3.rooms[room].state[type_]) or {}).get(field))
            if found:
                return found
        return ""

    async def _is_named(self, room: str) -> bool:
        return bool(await self.name_of(room))

    async def _other(self, room: str) -> str | None:
        others = [user for user in await self.members(room) if user != self._me]
        return others[0] if len(others) == _BOTH - 1 else None

    @property
    def _direct_path(self) -> Any:
        return V3.user[self._me].account_data["m.direct"]


#: seconds for which the list of names is kept
_FRESH = 300.0
#: rooms whose names are read
_MOST = 500


class NameBook:
    """Looks up aliases on the server, and names among the joined rooms."""

    def __init__(self, api: MatrixApi, book: RoomBook, env: Env) -> None:
        self._api = api
        self._book = book
        self._env = env
        self._entries: tuple[DirectoryEntry, ...] = ()
        self._read_at: float | None = None

    async def resolve(self, text: str) -> Resolved | None:
        """The room or person meant by a text; None if unknown. Raises `PlatformError` and `AmbiguousTarget`."""
        alias = text.strip()
        for word in ("matrix:", "room:", "channel:"):
            alias = alias.removeprefix(word)
        if alias.startswith("#") and ":" in alias:
            found = await self._api.find(V3.directory.room[alias])
            room = None if found is None else found.get("room_id")
            return Resolved(target=f"room:{room}", kind=ChatKind.CHANNEL) if isinstance(room, str) else None
        now = self._env.steady()
        if self._read_at is None or now - self._read_at > _FRESH:
            self._entries, self._read_at = await self._read_entries(), now
        return find_in_directory(text, self._entries, "matrix")

    async def _read_entries(self) -> tuple[DirectoryEntry, ...]:
        rooms = as_texts((await self._api.get(V3.joined_rooms)).get("joined_rooms"))
        entries: list[DirectoryEntry] = []
        direct: set[str] = set()
        for user in await self._book.direct():
            room = await self._book.direct_room(user)
            if room is not None:
                direct.add(room)
                name = (await self._book.members(room)).get(user, "")
                handle = user[1:].partition(":")[0]
                entries.append(DirectoryEntry(target=f"user:{user}", kind=ChatKind.DIRECT, name=name, handle=handle))
        for room in [room for room in rooms if room not in direct][:_MOST]:
            name = await self._book.name_of(room)
            if name:
                entries.append(DirectoryEntry(target=f"room:{room}", kind=ChatKind.CHANNEL, name=name))
        return tuple(entries)
