"""Changes on a homeserver: edits, deletions, reactions, pins, votes, the profile.

Each has the transaction id of its key, so a repeat is the same change. What is in force already is no failure.
"""

from collections.abc import Awaitable, Callable
from typing import cast

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.json_values import Json, as_object, as_objects, as_text, as_texts, parameters_of
from trunkline.core.adapters.matrix.api import V1, V3, MatrixApi, MatrixRefused, nothing_sent
from trunkline.core.adapters.matrix.content import MESSAGE, REACTION, check_text, edit_content, reaction_content
from trunkline.core.adapters.matrix.polls import POLL_RESPONSE, chosen_answers, response_content
from trunkline.core.errors import Refused
from trunkline.core.values import Receipt

# The target of changes and queries: a room of the account, and the transaction id of the change.

#: events of a page, and pages of a query
_PAGE, _MOST_PAGES = "100", 50


class RoomTarget(msgspec.Struct, frozen=True, kw_only=True):
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

    async def find_living(self, message_id: str | None) -> Json:
        """As `find_message`, but a deleted message is refused too."""
        event = await self.find_message(message_id)
        if is_deleted(event):
            raise Refused("the message was deleted")
        return event

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
    return "redacted_because" in as_object(event.get("unsigned"))


def text_at(event: Json, name: str) -> str:
    """A field of an event as text; empty for an event without."""
    return as_text(event.get(name))


#: carries a change out; returns the id of the changed object
_Change = Callable[[RoomTarget, ActionRequest], Awaitable[str]]


async def change(target: RoomTarget, request: ActionRequest) -> Receipt:
    """Carry out a change. Raises `PlatformError`."""
    found = await _CHANGES[request.action](target, request)
    return Receipt(provider_id=found, address=request.address)


async def _edit(target: RoomTarget, request: ActionRequest) -> str:
    check_text(request.text)
    if not request.text.strip():
        raise Refused("the new text is empty")
    event = await target.find_living(request.message_id)
    if text_at(event, "sender") != target.me:
        raise Refused("only its author can edit a message")
    event_id = text_at(event, "event_id")
    await target.send(MESSAGE, edit_content(event_id, request.text, request.html))
    return event_id


async def _delete(target: RoomTarget, request: ActionRequest) -> str:
    event = await target.find_message(request.message_id)
    event_id = text_at(event, "event_id")
    if not is_deleted(event):
        await target.redact(event_id)
    return event_id


async def _react(target: RoomTarget, request: ActionRequest) -> str:
    event_id, emoji = text_at(await target.find_living(request.message_id), "event_id"), request.text.strip()
    if request.remove:
        await _unreact(target, event_id, emoji)
        return event_id
    if not emoji:
        raise Refused("there is no emoji")
    try:
        await target.send(REACTION, reaction_content(event_id, emoji))
    except MatrixRefused as error:
        if error.code != "M_DUPLICATE_ANNOTATION":
            raise
    return event_id


async def _unreact(target: RoomTarget, event_id: str, emoji: str) -> None:
    """Take an own reaction away; without an emoji, all own reactions."""
    with nothing_sent():
        there = await target.find_related(event_id, "m.annotation", REACTION)
    mine = [event for event in there if text_at(event, "sender") == target.me and not is_deleted(event)]
    for number, event in enumerate(mine):
        if emoji in ("", as_object(content_of(event).get("m.relates_to")).get("key")):
            await target.redact(text_at(event, "event_id"), number)


async def _pin(target: RoomTarget, request: ActionRequest) -> str:
    """Pin or unpin: the list of pinned messages is a single value, so a concurrent change is lost."""
    event_id = text_at(await target.find_living(request.message_id), "event_id")
    with nothing_sent():
        there = await target.find_pinned()
    wanted = [pinned for pinned in there if pinned != event_id]
    if request.action is Action.PIN:
        wanted = there if event_id in there else [*there, event_id]
    if wanted != there:
        await target.api.put(V3.rooms[target.room].state["m.room.pinned_events"], {"pinned": wanted})
    return event_id


async def _vote(target: RoomTarget, request: ActionRequest) -> str:
    event, fields = await target.find_living(request.message_id), parameters_of(request.fields)
    given = fields.get("pollOptionIndexes") or fields.get("pollOptionIndex") or fields.get("pollOption") or request.text
    wanted = cast("list[object]", given) if isinstance(given, list) else [given]
    event_id = text_at(event, "event_id")
    await target.send(POLL_RESPONSE, response_content(event_id, chosen_answers(content_of(event), wanted)))
    return event_id


async def _profile(target: RoomTarget, request: ActionRequest) -> str:
    fields = parameters_of(request.fields)
    name = next((str(fields[key]) for key in ("displayName", "name") if fields.get(key)), request.text)
    await target.api.put(V3.profile[target.me].displayname, {"displayname": name})
    return target.me


_CHANGES: dict[Action, _Change] = {
    Action.EDIT: _edit,
    Action.DELETE: _delete,
    Action.REACT: _react,
    Action.PIN: _pin,
    Action.UNPIN: _pin,
    Action.POLL_VOTE: _vote,
    Action.SET_PROFILE: _profile,
}
