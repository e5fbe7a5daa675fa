"""The target of changes and queries: a room of the account, and the transaction id of the change."""

from __future__ import annotations

import msgspec

from trunkline.core.adapters.json_values import Json, as_object, as_objects, as_text, as_texts
from trunkline.core.adapters.matrix.api import V1, V3, MatrixApi, nothing_sent
from trunkline.core.errors import Refused

#: events of a page, and pages of a query
_PAGE, _MOST_PAGES = "100", 50


class RoomTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A room, for a single change or query."""

    api: MatrixApi
    #: the account's user
    me: str
    room: str
    txn: str

    async def find_message(self, message_id: str | None) -> Json:
        """An event of the room. Raises `Refused` for an unknown event, and `PlatformError`."""
        found = None
        if message_id is not None:
            with nothing_sent():
                found = await self.api.find(V3.rooms[self.room].event[message_id])
        if found is None:
            raise Refused("no such message")
        return found

    async def find_related(self, message_id: str, *kinds: str) -> list[Json]:
        """The events with a kind of relation to an event, and a type: oldest first."""
        path = V1.rooms[self.room].relations[message_id]
        for kind in kinds:
            path = path[kind]
        found: list[Json] = []
        query = {"limit": _PAGE, "dir": "b"}
        for _ in range(_MOST_PAGES):
            page = await self.api.get(path, query)
            found += as_objects(page.get("chunk"))
            token = page.get("next_batch")
            if not isinstance(token, str) or token == query.get("from"):
                break
            query["from"] = token
        return found[::-1]

    async def find_pinned(self) -> list[str]:
        """The ids of the pinned messages."""
        path = V3.rooms[self.room].state["m.room.pinned_events"]
        return as_texts((await self.api.find(path) or {}).get("pinned"))

    async def send(self, kind: str, content: Json, txn: str = "") -> None:
        """Send an event under the change's transaction id. Raises `PlatformError`."""
        await self.api.put(V3.rooms[self.room].send[kind][txn or self.txn], content)

    async def redact(self, event_id: str, number: int = 0) -> None:
        """Delete an event. Raises `PlatformError`."""
        await self.api.put(V3.rooms[self.room].redact[event_id][f"{self.txn}/{number}" if number else self.txn], {})


def content_of(event: Json) -> Json:
    """The content of an event; empty for an event without."""
    return as_object(event.get("content"))


def is_deleted(event: Json) -> bool:
    """Whether an event was redacted."""
    return "redacted_because" in as_object(event.get("unsigned"))


def text_at(event: Json, name: str) -> str:
    """A field of an event as text; empty for an event without."""
    return as_text(event.get(name))
