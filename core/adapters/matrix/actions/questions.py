"""Questions to a homeserver: reactions, messages, pins, votes, members, rooms. Answers have the tool's field names."""

from collections.abc import Awaitable, Callable

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.adapters.json_values import Json, as_object, as_objects, as_text, list_limit, parameters_of
from trunkline.core.adapters.matrix.actions.changes import RoomTarget, content_of, is_deleted, text_at
from trunkline.core.adapters.matrix.api import V3
from trunkline.core.adapters.matrix.content import REACTION
from trunkline.core.adapters.matrix.inbound.updates import thread_of
from trunkline.core.adapters.matrix.polls import POLL_ENDS, count_votes, poll_text, read_poll
from trunkline.core.errors import Refused

_Answer = Callable[[RoomTarget, ActionQuery, Json], Awaitable[object]]
#: events of a page, some of which are no messages
_PAGE = 100
_SHOWN = ("m.room.message", "m.sticker", "m.poll.start", "org.matrix.msc3381.poll.start")
_MS = 1000.0


async def answer_to(target: RoomTarget, query: ActionQuery) -> object:
    """The answer to a question. Raises `PlatformError`."""
    return await _ANSWERS[query.action](target, query, parameters_of(query.fields))


async def _reactions(target: RoomTarget, query: ActionQuery, fields: Json) -> list[Json]:
    event = await target.find_living(query.message_id)
    found: dict[str, list[str]] = {}
    for reaction in await target.find_related(text_at(event, "event_id"), "m.annotation", REACTION):
        key = as_object(content_of(reaction).get("m.relates_to")).get("key")
        if isinstance(key, str):
            users = found.setdefault(key, [])
            if text_at(reaction, "sender") not in users:
                users.append(text_at(reaction, "sender"))
    return [{"emoji": emoji, "count": len(users), "users": users} for emoji, users in found.items()]


async def _read(target: RoomTarget, query: ActionQuery, fields: Json) -> list[Json]:
    thread, limit = query.address.thread, list_limit(fields)
    if thread is not None:
        events = [await target.find_message(thread), *await target.find_related(thread, "m.thread")][::-1]
    else:
        page = await target.api.get(V3.rooms[target.room].messages, {"dir": "b", "limit": str(_PAGE)})
        events = [event for event in as_objects(page.get("chunk")) if thread_of(content_of(event)) is None]
    pinned = frozenset(await target.find_pinned())
    return [shown for event in events if (shown := _shown(event, pinned)) is not None][:limit]


async def _pins(target: RoomTarget, query: ActionQuery, fields: Json) -> list[Json]:
    pinned = (await target.find_pinned())[::-1][: list_limit(fields)]
    found: list[Json] = []
    for event_id in pinned:
        event = await target.api.find(V3.rooms[target.room].event[event_id])
        shown = None if event is None else _shown(event, frozenset(pinned))
        if shown is not None:
            found.append(shown)
    return found


async def _results(target: RoomTarget, query: ActionQuery, fields: Json) -> Json:
    event = await target.find_living(query.message_id or as_text(fields.get("pollId")) or None)
    event_id, content = text_at(event, "event_id"), content_of(event)
    if not read_poll(content)[1]:
        raise Refused("the message has no poll")
    responses = await target.find_related(event_id, "m.reference")
    before_end: list[Json] = []
    for response in responses:
        if text_at(response, "type") in POLL_ENDS and text_at(response, "sender") == text_at(event, "sender"):
            break
        before_end.append(response)
    results, votes = count_votes(
        content, ((text_at(response, "sender"), content_of(response)) for response in before_end)
    )
    shown = {voter: list(chosen) for voter, chosen in votes.items()}
    return {"messageId": event_id, "pollId": event_id, **results, "votes": shown}


async def _permissions(target: RoomTarget, query: ActionQuery, fields: Json) -> Json:
    levels = await target.api.find(V3.rooms[target.room].state["m.room.power_levels"]) or {}
    level = as_object(levels.get("users")).get(target.me, levels.get("users_default", 0))
    return {"channelId": query.address.conversation, "powerLevel": level}


async def _member(target: RoomTarget, query: ActionQuery, fields: Json) -> Json:
    user = str(fields.get("userId", ""))
    found = await target.api.find(V3.profile[user]) if user.startswith("@") else None
    if found is None:
        raise Refused("unknown member")
    return {"userId": user, "name": text_at(found, "displayname")}


async def _room(target: RoomTarget, query: ActionQuery, fields: Json) -> Json:
    found: Json = {"channelId": query.address.conversation}
    for name, kind, field in (
        ("name", "m.room.name", "name"),
        ("topic", "m.room.topic", "topic"),
        ("alias", "m.room.canonical_alias", "alias"),
    ):
        value = text_at(await target.api.find(V3.rooms[target.room].state[kind]) or {}, field)
        if value:
            found[name] = value
    return found


def _shown(event: Json, pinned: frozenset[str]) -> Json | None:
    """A message in a list; None for an edit, a deleted message, and any other event."""
    content, at = content_of(event), event.get("origin_server_ts")
    replaced = as_object(content.get("m.relates_to")).get("rel_type") == "m.replace"
    text = content.get("body")
    if not isinstance(text, str):
        text = poll_text(content)
    if is_deleted(event) or replaced or text_at(event, "type") not in _SHOWN or text is None:
        return None
    event_id = text_at(event, "event_id")
    return {
        "messageId": event_id,
        "authorId": text_at(event, "sender"),
        "text": _edited(event) or text,
        "at": at / _MS if isinstance(at, int | float) else 0.0,
        "pinned": event_id in pinned,
    }


def _edited(event: Json) -> str:
    """The text after the last edit, which the server bundles with the event; empty without an edit."""
    found = event
    for name in ("unsigned", "m.relations", "m.replace", "content", "m.new_content"):
        found = as_object(found.get(name))
    return as_text(found.get("body"))


_ANSWERS: dict[Action, _Answer] = {
    Action.REACTIONS: _reactions,
    Action.READ: _read,
    Action.LIST_PINS: _pins,
    Action.POLL_RESULTS: _results,
    Action.PERMISSIONS: _permissions,
    Action.MEMBER_INFO: _member,
    Action.CHANNEL_INFO: _room,
}
