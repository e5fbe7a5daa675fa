"""Questions about messages, people and files. The answers have the field names of the tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.adapters.json_values import as_object, as_objects, list_limit, parameters_of
from trunkline.core.adapters.slack.changes import reactions_of
from trunkline.core.adapters.slack.directory import shown_name
from trunkline.core.adapters.slack.emoji import character_of
from trunkline.core.adapters.slack.places import SlackPlaces
from trunkline.core.adapters.slack.web import SlackWeb
from trunkline.core.errors import Refused


class SlackQuestions:
    """Answers questions."""

    def __init__(self, web: SlackWeb, places: SlackPlaces) -> None:
        self._web = web
        self._places = places
        self._answers: dict[Action, Callable[[ActionQuery, dict[str, Any]], Awaitable[object]]] = {
            Action.REACTIONS: self._reactions,
            Action.READ: self._read,
            Action.LIST_PINS: self._pins,
            Action.MEMBER_INFO: self._member,
            Action.EMOJI_LIST: self._emoji,
            Action.DOWNLOAD_FILE: self._file,
        }

    async def ask(self, query: ActionQuery) -> object:
        """Answer a question. Raises `PlatformError`."""
        answer = self._answers.get(query.action)
        if answer is None:
            raise Refused(f"there is no {query.action.value} here")
        return await answer(query, parameters_of(query.fields))

    async def _reactions(self, query: ActionQuery, given: dict[str, Any]) -> object:
        if query.message_id is None:
            raise Refused("no message is named")
        channel = await self._places.channel_of(query.address)
        found = await self._web.call("reactions.get", channel=channel, timestamp=query.message_id, full=True)
        return [{"emoji": character_of(name), "count": len(who), "users": who} for name, who in reactions_of(found)]

    async def _read(self, query: ActionQuery, given: dict[str, Any]) -> object:
        channel, limit = await self._places.channel_of(query.address), list_limit(given)
        if query.address.thread is None:
            found = await self._web.call("conversations.history", channel=channel, limit=limit)
            return [_shown(message) for message in as_objects(found.get("messages"))]
        found = await self._web.call("conversations.replies", channel=channel, ts=query.address.thread, limit=1000)
        # Replies come oldest first, and the root in front of them.
        return [_shown(message) for message in reversed(as_objects(found.get("messages"))[-limit:])]

    async def _pins(self, query: ActionQuery, given: dict[str, Any]) -> object:
        found = await self._web.call("pins.list", channel=await self._places.channel_of(query.address))
        messages = [item.get("message") for item in as_objects(found.get("items"))]
        return [{**_shown(message), "pinned": True} for message in as_objects(messages)]

    async def _member(self, query: ActionQuery, given: dict[str, Any]) -> object:
        user = str(given.get("userId", ""))
        shown = as_object((await self._web.call("users.info", user=user)).get("user"))
        roles = [word for word in ("admin", "owner", "restricted") if shown.get(f"is_{word}") is True]
        status = "left" if shown.get("deleted") is True else "member"
        return {"userId": user, "name": shown_name(shown), "roles": roles, "status": status}

    async def _emoji(self, query: ActionQuery, given: dict[str, Any]) -> object:
        named = as_object((await self._web.call("emoji.list")).get("emoji"))
        return [{"emojiId": name, "name": name, "url": str(url)} for name, url in named.items()]

    async def _file(self, query: ActionQuery, given: dict[str, Any]) -> object:
        number = str(given.get("fileId", ""))
        shown = as_object((await self._web.call("files.info", file=number)).get("file"))
        return {"fileId": number, "name": str(shown.get("name", "")), "url": str(shown.get("url_private", ""))}


def _shown(message: dict[str, Any]) -> dict[str, Any]:
    ts = str(message.get("ts", ""))
    return {
        "messageId": ts,
        "authorId": str(message.get("user") or message.get("bot_id") or ""),
        "text": str(message.get("text", "")),
        "at": _seconds(ts),
        "pinned": bool(message.get("pinned_to")),
    }


def _seconds(ts: str) -> float:
    try:
        return float(ts)
    except ValueError:
        return 0.0
