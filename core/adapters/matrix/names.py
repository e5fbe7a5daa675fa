"""The directory of an account: rooms by alias or name, and people of direct rooms by their names."""

from __future__ import annotations

from trunkline.core.adapters.matrix.api import V3, MatrixApi
from trunkline.core.adapters.matrix.json_values import as_texts
from trunkline.core.adapters.matrix.rooms import RoomBook
from trunkline.core.channels import DirectoryEntry, Resolved, find_in_directory
from trunkline.core.env import Env
from trunkline.core.values import ChatKind

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
        """The room or person that a text means; None: unknown. Raises `PlatformError` and `AmbiguousTarget`."""
        alias = text.strip()
        for word in ("matrix:", "room:", "channel:"):
            alias = alias.removeprefix(word)
        if alias.startswith("#") and ":" in alias:
            found = await self._api.find(V3.directory.room[alias])
            room = None if found is None else found.get("room_id")
            return Resolved(target=f"room:{room}", kind=ChatKind.CHANNEL) if isinstance(room, str) else None
        return find_in_directory(text, await self._all(), "matrix")

    async def _all(self) -> tuple[DirectoryEntry, ...]:
        now = self._env.steady()
        if self._read_at is None or now - self._read_at > _FRESH:
            self._entries, self._read_at = await self._read(), now
        return self._entries

    async def _read(self) -> tuple[DirectoryEntry, ...]:
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
        for room in [one for one in rooms if one not in direct][:_MOST]:
            name = await self._book.name_of(room)
            if name:
                entries.append(DirectoryEntry(target=f"room:{room}", kind=ChatKind.CHANNEL, name=name))
        return tuple(entries)
