"""Changes on a homeserver: edits, deletions, reactions, pins, votes, the profile.

Each has the transaction id of its key, so a repeat is the same change. What is in force already is no failure.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.json_values import as_object, parameters_of
from trunkline.core.adapters.matrix.actions.room_target import RoomTarget, content_of, is_deleted, text_at
from trunkline.core.adapters.matrix.api import V3, nothing_sent
from trunkline.core.adapters.matrix.content import MESSAGE, REACTION, check_text, edit_content, reaction_content
from trunkline.core.adapters.matrix.errors import MatrixRefused
from trunkline.core.adapters.matrix.polls import POLL_RESPONSE, chosen_answers, response_content
from trunkline.core.errors import Refused
from trunkline.core.values import Receipt

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
    event = await _living(target, request)
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
    event_id, emoji = text_at(await _living(target, request), "event_id"), request.text.strip()
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
    """Take an own reaction away; without an emoji, all of them."""
    with nothing_sent():
        there = await target.find_related(event_id, "m.annotation", REACTION)
    mine = [event for event in there if text_at(event, "sender") == target.me and not is_deleted(event)]
    for number, event in enumerate(mine):
        if emoji in ("", as_object(content_of(event).get("m.relates_to")).get("key")):
            await target.redact(text_at(event, "event_id"), number)


async def _pin(target: RoomTarget, request: ActionRequest) -> str:
    """Pin or unpin: the list of pinned messages is a single value, so a concurrent change is lost."""
    event_id = text_at(await _living(target, request), "event_id")
    with nothing_sent():
        there = await target.find_pinned()
    wanted = [pinned for pinned in there if pinned != event_id]
    if request.action is Action.PIN:
        wanted = there if event_id in there else [*there, event_id]
    if wanted != there:
        await target.api.put(V3.rooms[target.room].state["m.room.pinned_events"], {"pinned": wanted})
    return event_id


async def _vote(target: RoomTarget, request: ActionRequest) -> str:
    event, fields = await _living(target, request), parameters_of(request.fields)
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


async def _living(target: RoomTarget, request: ActionRequest) -> dict[str, Any]:
    event = await target.find_message(request.message_id)
    if is_deleted(event):
        raise Refused("the message was deleted")
    return event


_CHANGES: dict[Action, _Change] = {
    Action.EDIT: _edit,
    Action.DELETE: _delete,
    Action.REACT: _react,
    Action.PIN: _pin,
    Action.UNPIN: _pin,
    Action.POLL_VOTE: _vote,
    Action.SET_PROFILE: _profile,
}
