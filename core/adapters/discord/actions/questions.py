"""Answers to the questions of the message tool, from Discord's REST API. They have the field names of the tool."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.adapters.discord.calls import get
from trunkline.core.adapters.discord.errors import DiscordRefused
from trunkline.core.adapters.discord.rest import SERVER, Request
from trunkline.core.adapters.json_values import Json, as_object, list_limit
from trunkline.core.errors import PlatformError, Refused

#: different reactions whose people are listed
_MOST_EMOJI = 20
#: the fields of objects: name in the tool -> name at Discord
_CHANNEL = {
    "channelId": "id",
    "name": "name",
    "type": "type",
    "parentId": "parent_id",
    "topic": "topic",
    "position": "position",
}
_EVENT = {
    "eventId": "id",
    "name": "name",
    "startTime": "scheduled_start_time",
    "endTime": "scheduled_end_time",
    "desc": "description",
}
#: the person is in no voice channel
_NO_VOICE = 10065


class DiscordAction(msgspec.Struct, frozen=True, kw_only=True):
    """A change or a question of the message tool, and what both are read by."""

    request: ActionRequest | ActionQuery
    #: the parameters of the tool
    fields: Json
    #: id of the channel that it concerns; empty: none
    channel: str

    @property
    def guild(self) -> str:
        """The server. Raises `Refused`."""
        place = self.request.address.conversation
        return self.word("guildId", place.removeprefix(SERVER) if place.startswith(SERVER) else "")

    def word(self, name: str, otherwise: str = "") -> str:
        """A parameter as a text. Raises `Refused` for a blank text."""
        found = str(self.fields.get(name) or "").strip() or otherwise
        if not found:
            raise Refused(f"{name} is missing")
        return found


class AskedQuestion(DiscordAction, frozen=True, kw_only=True):
    request: ActionQuery
    call: Request
    bot: Callable[[], Awaitable[str]]

    @property
    def message(self) -> str:
        """The id of the meant message. Raises `Refused`."""
        return self.request.message_id or self.word("pollId")

    async def get_object(self, *parts: str, **params: object) -> Json:
        """Get an object. Raises `PlatformError` for any other answer."""
        return _object(await self.call(get(*parts, **params)))

    async def get_list(self, *parts: str, **params: object) -> list[Json]:
        """Get a list. Raises `PlatformError` for any other answer."""
        return _objects(await self.call(get(*parts, **params)))


Answering = Callable[[AskedQuestion], Awaitable[object]]


async def answer_to(action: Action, question: AskedQuestion) -> object:
    """The answer to a query. Raises `Refused` for queries unknown to Discord, and other `PlatformError`s."""
    answer = QUESTIONS.get(action)
    if answer is None:
        raise Refused(f"there is no {action.value} on Discord")
    return await answer(question)


def _message(message: Json) -> Json:
    author = as_object(message.get("author"))
    return {
        "messageId": message.get("id"),
        "authorId": author.get("id"),
        "author": author.get("global_name") or author.get("username"),
        "text": message.get("content", ""),
        "at": _seconds(message.get("timestamp")),
        "pinned": bool(message.get("pinned")),
    }


async def _reactions(question: AskedQuestion) -> list[Json]:
    """Each reaction with the people who added the emoji, by a further request for each."""
    where = ("channels", question.channel, "messages", question.message)
    message = await question.get_object(*where)
    found: list[Json] = []
    for reaction in _objects(message.get("reactions", []))[:_MOST_EMOJI]:
        emoji = as_object(reaction.get("emoji"))
        name = str(emoji.get("name")) if emoji.get("id") is None else f"{emoji.get('name')}:{emoji.get('id')}"
        users = await question.get_list(*where, "reactions", name, limit=list_limit(question.fields))
        found.append({"emoji": name, "count": reaction.get("count", 0), "users": [user.get("id") for user in users]})
    return found


async def _read(question: AskedQuestion) -> list[Json]:
    places = {name: question.fields[name] for name in ("before", "after", "around") if question.fields.get(name)}
    found = await question.get_list(
        "channels", question.channel, "messages", limit=list_limit(question.fields), **places
    )
    return [_message(message) for message in found]


async def _pins(question: AskedQuestion) -> list[Json]:
    found = await question.get_object(
        "channels", question.channel, "messages", "pins", limit=list_limit(question.fields)
    )
    return [_message(as_object(pin.get("message"))) for pin in _objects(found.get("items", []))]


async def _poll_results(question: AskedQuestion) -> Json:
    message = await question.get_object("channels", question.channel, "messages", question.message)
    poll = as_object(message.get("poll"))
    if not poll:
        raise Refused("the message has no poll")
    results = as_object(poll.get("results"))
    counts = {answer.get("id"): answer.get("count", 0) for answer in _objects(results.get("answer_counts", []))}
    options: list[Json] = [
        {"text": as_object(answer.get("poll_media")).get("text", ""), "votes": counts.get(answer.get("answer_id"), 0)}
        for answer in _objects(poll.get("answers", []))
    ]
    return {
        "messageId": message.get("id"),
        "pollId": message.get("id"),
        "question": as_object(poll.get("question")).get("text", ""),
        "options": options,
        "final": bool(results.get("is_finalized")),
    }


async def _search(question: AskedQuestion) -> list[Json]:
    """Messages with words. While Discord is still indexing the server, there is no answer."""
    fields = question.fields
    authors = fields.get("authorIds") or fields.get("authorId")
    channels = fields.get("channelIds") or fields.get("channelId")
    params = {
        "content": question.word("query"),
        "limit": min(25, list_limit(question.fields)),
        "author_id": _first(authors),
        "channel_id": _first(channels),
        "min_id": fields.get("after"),
        "max_id": fields.get("before"),
    }
    found = await question.get_object("guilds", question.guild, "messages", "search", **params)
    if "messages" not in found:
        raise PlatformError("Discord is still indexing the server")
    groups = cast("list[Any]", found["messages"]) if isinstance(found["messages"], list) else []
    return [_message(message) for group in groups for message in _objects(group)]


def _first(value: object) -> object:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return values[0] if values else None


async def _member(question: AskedQuestion) -> Json:
    member = await question.get_object("guilds", question.guild, "members", question.word("userId"))
    user, until = as_object(member.get("user")), member.get("communication_disabled_until")
    return {
        "userId": user.get("id"),
        "name": member.get("nick") or user.get("global_name") or user.get("username"),
        "roles": member.get("roles", []),
        "status": "timed out" if until else "member",
        "timeoutUntil": until,
        "joinedAt": member.get("joined_at"),
    }


def _all_of_server(objects: str, **fields: str) -> Answering:
    """The objects of a kind on a server. `fields`: name in the tool -> name at Discord."""

    async def answer(question: AskedQuestion) -> list[Json]:
        found = await question.get_list("guilds", question.guild, objects)
        return [{ours: item.get(theirs) for ours, theirs in fields.items()} for item in found]

    return answer


def _channel(channel: Json) -> Json:
    state = as_object(channel.get("thread_metadata"))
    shown = {ours: channel.get(theirs) for ours, theirs in _CHANNEL.items()}
    shown["archived"] = state.get("archived", False)
    return {name: value for name, value in shown.items() if value is not None}


async def _channel_info(question: AskedQuestion) -> Json:
    return _channel(await question.get_object("channels", question.word("channelId", question.channel)))


async def _channels(question: AskedQuestion) -> list[Json]:
    return [_channel(channel) for channel in await question.get_list("guilds", question.guild, "channels")]


async def _threads(question: AskedQuestion) -> list[Json]:
    """The active threads of the server or of a channel; archived threads of the channel on request."""
    above = question.fields.get("channelId")
    active = await question.get_object("guilds", question.guild, "threads", "active")
    found = [thread for thread in _objects(active.get("threads", [])) if above in (None, "", thread.get("parent_id"))]
    if question.fields.get("includeArchived") in (True, "true") and above:
        before = question.fields.get("before")
        more = await question.get_object(
            "channels", str(above), "threads", "archived", "public", limit=list_limit(question.fields), before=before
        )
        found += _objects(more.get("threads", []))
    return [_channel(thread) for thread in found[: list_limit(question.fields)]]


async def _permissions(question: AskedQuestion) -> Json:
    channel = await question.get_object("channels", question.channel)
    guild = channel.get("guild_id")
    if not isinstance(guild, str):
        return {"channelId": question.channel, "permissions": []}
    if channel.get("thread_metadata") is not None:
        # A thread has the permissions of its channel.
        channel = await question.get_object("channels", str(channel.get("parent_id")))
    bot = await question.bot()
    member = await question.get_object("guilds", guild, "members", bot)
    roles = await question.get_list("guilds", guild, "roles")
    overwrites = _objects(channel.get("permission_overwrites", []))
    names = permissions_in(guild, bot, tuple(member.get("roles", [])), roles, overwrites)
    return {"channelId": question.channel, "permissions": list(names)}


async def _voice(question: AskedQuestion) -> Json:
    user = question.word("userId")
    try:
        state = await question.get_object("guilds", question.guild, "voice-states", user)
    except DiscordRefused as error:
        if error.code != _NO_VOICE:
            raise
        return {"userId": user, "connected": False}
    return {"userId": user, "connected": state.get("channel_id") is not None, "channelId": state.get("channel_id")}


def _object(value: object) -> Json:
    if not isinstance(value, dict):
        raise PlatformError("the answer is no object")
    return cast("Json", value)


def _objects(value: object) -> list[Json]:
    if not isinstance(value, list):
        raise PlatformError("the answer is no list")
    return [_object(entry) for entry in cast("list[object]", value)]


def _seconds(timestamp: object) -> float:
    try:
        return datetime.fromisoformat(timestamp).timestamp() if isinstance(timestamp, str) else 0.0
    except (ValueError, OverflowError):
        return 0.0


#: what Discord answers
QUESTIONS: dict[Action, Answering] = {
    Action.REACTIONS: _reactions,
    Action.READ: _read,
    Action.LIST_PINS: _pins,
    Action.POLL_RESULTS: _poll_results,
    Action.SEARCH: _search,
    Action.MEMBER_INFO: _member,
    Action.ROLE_INFO: _all_of_server("roles", roleId="id", name="name"),
    Action.EMOJI_LIST: _all_of_server("emojis", emojiId="id", name="name"),
    Action.CHANNEL_INFO: _channel_info,
    Action.CHANNEL_LIST: _channels,
    Action.THREAD_LIST: _threads,
    Action.PERMISSIONS: _permissions,
    Action.VOICE_STATUS: _voice,
    Action.EVENT_LIST: _all_of_server("scheduled-events", **_EVENT),
}


# In Discord's order: everybody's role, the other roles, then the channel's overwrites for everybody, for the roles
# together, and for the member (https://discord.com/developers/docs/topics/permissions#permission-overwrites).

_ADMINISTRATOR = 1 << 3
#: bit -> name, of the permissions that matter to a bot that writes
_NAMES = {
    1: "kick-members",
    2: "ban-members",
    3: "administrator",
    4: "manage-channels",
    5: "manage-server",
    6: "add-reactions",
    10: "view-channel",
    11: "send-messages",
    13: "manage-messages",
    14: "embed-links",
    15: "attach-files",
    16: "read-message-history",
    17: "mention-everyone",
    28: "manage-roles",
    29: "manage-webhooks",
    30: "manage-emoji",
    33: "manage-events",
    34: "manage-threads",
    35: "create-public-threads",
    36: "create-private-threads",
    37: "use-external-stickers",
    38: "send-messages-in-threads",
    40: "moderate-members",
    49: "send-polls",
    51: "pin-messages",
}


def permissions_in(
    guild: str,
    member: str,
    roles: Sequence[str],
    known: Iterable[Mapping[str, Any]],
    overwrites: Iterable[Mapping[str, Any]],
) -> tuple[str, ...]:
    """The names of the permissions of a member in a channel. `guild` is also the id of everybody's role."""
    own = {guild, *roles}
    allowed = 0
    for role in known:
        if role.get("id") in own:
            allowed |= _bits(role.get("permissions"))
    if not allowed & _ADMINISTRATOR:
        there = {str(overwrite.get("id")): overwrite for overwrite in overwrites}
        allowed = _overwritten(allowed, [there[guild]] if guild in there else [])
        allowed = _overwritten(allowed, [there[role] for role in roles if role in there and role != guild])
        allowed = _overwritten(allowed, [there[member]] if member in there else [])
    return tuple(name for bit, name in _NAMES.items() if allowed & (1 << bit) or allowed & _ADMINISTRATOR)


def _overwritten(allowed: int, overwrites: Sequence[Mapping[str, Any]]) -> int:
    """The permissions after overwrites: first everything denied is taken away, then everything allowed is added."""
    for overwrite in overwrites:
        allowed &= ~_bits(overwrite.get("deny"))
    for overwrite in overwrites:
        allowed |= _bits(overwrite.get("allow"))
    return allowed


def _bits(text: object) -> int:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdecimal() else 0
