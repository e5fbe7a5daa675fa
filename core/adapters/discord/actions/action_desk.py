"""Carries out changes, answers queries, and looks names up, for an account."""

import base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.adapters.discord.actions.questions import AskedQuestion, DiscordAction, answer_to
from trunkline.core.adapters.discord.bodies import edit_body
from trunkline.core.adapters.discord.calls import RestCall, UploadFile, at, delete, get, patch, post, put
from trunkline.core.adapters.discord.client import OneRequestClient
from trunkline.core.adapters.discord.errors import THREAD_EXISTS, DiscordRefused
from trunkline.core.adapters.discord.payloads import ChannelData, MemberData
from trunkline.core.adapters.discord.receiving.stream import DiscordStream
from trunkline.core.adapters.discord.rest import load_files, read
from trunkline.core.adapters.json_values import as_object, as_objects, parameters_of
from trunkline.core.adapters.media_files import MediaFiles
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.channels.adapter import Resolved
from trunkline.core.channels.bindings.discord_threads import DiscordThreads
from trunkline.core.channels.directory import DirectoryEntry, find_in_directory
from trunkline.core.errors import NotSent, PlaceGone, Refused
from trunkline.core.values import Address, ChatKind, Receipt

# Changes of the message tool as requests to Discord. Pure, but for the file of an upload, which is loaded before.

#: types of channels, of the visibility of events, and of their places
_CATEGORY, _PUBLIC_THREAD, _GUILD_ONLY = 4, 11, 2
_EVENT_TYPES = {"stage": 1, "voice": 2, "external": 3}
_LONGEST_NAME = 100
_DIGITS = 5
_STATUSES = frozenset({"online", "idle", "dnd", "invisible"})
_ACTIVITIES = {"playing": 0, "streaming": 1, "listening": 2, "watching": 3, "custom": 4, "competing": 5}
#: parameter of the tool -> name of a channel's setting
_SETTINGS = {
    "name": "name",
    "type": "type",
    "topic": "topic",
    "position": "position",
    "nsfw": "nsfw",
    "rateLimitPerUser": "rate_limit_per_user",
    "parentId": "parent_id",
}


class WantedChange(DiscordAction, frozen=True, kw_only=True):
    request: ActionRequest
    #: wall clock, seconds
    now: float
    #: kinds of mentions in a text that notify people
    mentions: tuple[str, ...] = ()
    file: UploadFile | None = None

    @property
    def message(self) -> str:
        """The id of the meant message. Raises `Refused`."""
        if not self.request.message_id:
            raise Refused("messageId is missing")
        return self.request.message_id

    @property
    def reason(self) -> str:
        """Why, for the server's log."""
        return str(self.fields.get("reason") or "")


Builder = Callable[[WantedChange], RestCall]


def call_of(change: WantedChange) -> RestCall:
    """The request of a change. Raises `Refused` for a change unknown to Discord, and for missing parameters."""
    build = CHANGES.get(change.request.action)
    if build is None:
        raise Refused(f"there is no {change.request.action.value} on Discord")
    return build(change)


def presence_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The payload with which an account shows another presence. Raises `Refused`."""
    status = str(fields.get("status") or "online")
    if status not in _STATUSES:
        raise Refused(f"status is one of {', '.join(sorted(_STATUSES))}")
    kind = str(fields.get("activityType") or ("playing" if fields.get("activityName") else "custom"))
    if kind not in _ACTIVITIES:
        raise Refused(f"activityType is one of {', '.join(_ACTIVITIES)}")
    activities: list[dict[str, Any]] = []
    name, state, url = (fields.get(field) for field in ("activityName", "activityState", "activityUrl"))
    if name or state:
        activity = {"name": name or "Custom Status", "type": _ACTIVITIES[kind], "state": state, "url": url}
        activities.append({key: value for key, value in activity.items() if value is not None})
    return {"op": 3, "d": {"since": None, "activities": activities, "status": status, "afk": False}}


def _edit(change: WantedChange) -> RestCall:
    body = edit_body(change.request.text, change.mentions)
    return patch("channels", change.channel, "messages", change.message, json=body)


def _react(change: WantedChange) -> RestCall:
    emoji = change.request.text.strip()
    if not emoji:
        raise Refused("there is no emoji")
    path = at("channels", change.channel, "messages", change.message, "reactions", emoji_name(emoji), "@me")
    return RestCall(method="DELETE" if change.request.remove else "PUT", path=path)


def emoji_name(emoji: str) -> str:
    """An emoji as a part of a path: the character, or ``name:id`` of an emoji of a server.

    >>> emoji_name("<:lamp:12>"), emoji_name("<a:lamp:12>")
    ('lamp:12', 'lamp:12')
    """
    if emoji.startswith("<") and emoji.endswith(">"):
        return emoji[1:-1].removeprefix("a:").removeprefix(":")
    return emoji


def _thread(change: WantedChange) -> RestCall:
    body: dict[str, Any] = {"name": change.word("threadName", change.request.text.strip())[:_LONGEST_NAME]}
    if minutes := change.fields.get("autoArchiveMin"):
        body["auto_archive_duration"] = minutes
    if change.request.message_id:
        return post("channels", change.channel, "messages", change.message, "threads", json=body)
    return post("channels", change.channel, "threads", json={**body, "type": _PUBLIC_THREAD})


def _timeout(change: WantedChange) -> RestCall:
    """Until a time, or for some minutes; 0 minutes end a timeout."""
    minutes, until = change.fields.get("durationMin"), change.fields.get("until")
    if minutes is None and not until:
        raise Refused("durationMin is missing")
    end = until or None
    if isinstance(minutes, int | float) and minutes:
        try:
            end = (datetime.fromtimestamp(change.now, UTC) + timedelta(minutes=minutes)).isoformat()
        except (OverflowError, ValueError):
            raise Refused("durationMin is no time that Discord has") from None
    body = {"communication_disabled_until": end}
    return patch("guilds", change.guild, "members", change.word("userId"), json=body, reason=change.reason)


def _ban(change: WantedChange) -> RestCall:
    days = change.fields.get("deleteDays") or 0
    if isinstance(days, str) and days.isascii() and days.isdecimal() and len(days) < _DIGITS:
        days = int(days)
    if not isinstance(days, int | float):
        raise Refused("deleteDays is no number")
    body = {"delete_message_seconds": int(days) * 86400}
    return put("guilds", change.guild, "bans", change.word("userId"), json=body, reason=change.reason)


def _role(method: str, change: WantedChange) -> RestCall:
    path = at("guilds", change.guild, "members", change.word("userId"), "roles", change.word("roleId"))
    return RestCall(method=method, path=path, reason=change.reason)


def _settings(change: WantedChange) -> dict[str, Any]:
    fields = {**change.fields}
    if change.fields.get("clearParent"):
        fields["parentId"] = None
    return {name: fields[key] for key, name in _SETTINGS.items() if key in fields}


def _channel_create(change: WantedChange, **kind: int) -> RestCall:
    name = change.word("name", change.request.text.strip())
    return post("guilds", change.guild, "channels", json={**_settings(change), "name": name, **kind})


def _channel_edit(change: WantedChange) -> RestCall:
    return patch("channels", _channel(change), json=_settings(change))


def _channel(change: WantedChange) -> str:
    return change.word("channelId", change.channel)


def _event(change: WantedChange) -> RestCall:
    location, channel = change.fields.get("location"), change.fields.get("channelId")
    kind = str(change.fields.get("eventType") or ("external" if location or not channel else "voice"))
    if kind not in _EVENT_TYPES:
        raise Refused(f"eventType is one of {', '.join(_EVENT_TYPES)}")
    body = {
        "name": change.word("eventName", change.request.text.strip()),
        "privacy_level": _GUILD_ONLY,
        "scheduled_start_time": change.word("startTime"),
        "scheduled_end_time": change.fields.get("endTime"),
        "description": change.fields.get("desc"),
        "entity_type": _EVENT_TYPES[kind],
        "channel_id": channel,
        "entity_metadata": {"location": location} if location else None,
    }
    given = {name: value for name, value in body.items() if value is not None}
    return post("guilds", change.guild, "scheduled-events", json=given)


def _file(change: WantedChange) -> UploadFile:
    if change.file is None:
        raise Refused("media is missing")
    return change.file


def _emoji(change: WantedChange) -> RestCall:
    file = _file(change)
    image = f"data:{file.type};base64,{base64.b64encode(file.content).decode()}"
    body: dict[str, Any] = {"name": change.word("emojiName", change.request.text.strip()), "image": image}
    if roles := change.fields.get("roleIds"):
        body["roles"] = roles
    return post("guilds", change.guild, "emojis", json=body)


def _sticker(change: WantedChange) -> RestCall:
    form = {
        "name": change.word("stickerName", change.request.text.strip()),
        "description": change.word("stickerDesc"),
        "tags": change.word("stickerTags"),
    }
    call = post("guilds", change.guild, "stickers")
    return msgspec.structs.replace(call, form=form, files=(_file(change),))


#: what Discord has; SET_PRESENCE goes by the gateway
CHANGES: dict[Action, Builder] = {
    Action.EDIT: _edit,
    Action.DELETE: lambda change: delete("channels", change.channel, "messages", change.message, reason=change.reason),
    Action.REACT: _react,
    Action.PIN: lambda change: put("channels", change.channel, "messages", "pins", change.message),
    Action.UNPIN: lambda change: delete("channels", change.channel, "messages", "pins", change.message),
    Action.THREAD_CREATE: _thread,
    Action.TIMEOUT: _timeout,
    Action.KICK: lambda change: delete("guilds", change.guild, "members", change.word("userId"), reason=change.reason),
    Action.BAN: _ban,
    Action.ROLE_ADD: partial(_role, "PUT"),
    Action.ROLE_REMOVE: partial(_role, "DELETE"),
    Action.CHANNEL_CREATE: _channel_create,
    Action.CHANNEL_EDIT: _channel_edit,
    Action.CHANNEL_MOVE: _channel_edit,
    Action.CHANNEL_DELETE: lambda change: delete("channels", _channel(change), reason=change.reason),
    Action.CATEGORY_CREATE: partial(_channel_create, type=_CATEGORY),
    Action.CATEGORY_EDIT: lambda change: patch("channels", change.word("categoryId"), json=_settings(change)),
    Action.CATEGORY_DELETE: lambda change: delete("channels", change.word("categoryId"), reason=change.reason),
    Action.EVENT_CREATE: _event,
    Action.EMOJI_UPLOAD: _emoji,
    Action.STICKER_UPLOAD: _sticker,
}


#: changes that take something away, and the codes that say that it is gone
_TAKES_AWAY = {
    Action.DELETE: frozenset({10008}),
    Action.KICK: frozenset({10007}),
    Action.CATEGORY_DELETE: frozenset({10003}),
    Action.CHANNEL_DELETE: frozenset({10003}),
}
_UPLOADS = frozenset({Action.EMOJI_UPLOAD, Action.STICKER_UPLOAD})
_FILE_PARAMS = ("media", "path", "filePath")
#: types of channels that texts can be sent to
_WRITABLE = frozenset({0, 2, 5, 13})
#: members that a search by name returns
_FOUND = 20


class ActionDesk:
    def __init__(
        self,
        host: AdapterHost,
        client: OneRequestClient,
        stream: DiscordStream,
        threads: DiscordThreads,
        mentions: tuple[str, ...],
        files: MediaFiles,
    ) -> None:
        self._host = host
        self._client = client
        self._stream = stream
        self._threads = threads
        self._mentions = mentions
        self._files = files

    async def act(self, request: ActionRequest) -> Receipt:
        """Carry out a change. A repeated deletion succeeds when the object is gone already."""
        fields = parameters_of(request.fields)
        if request.action is Action.SET_PRESENCE:
            return await self._show_presence(request, fields)
        change = WantedChange(
            request=request,
            fields=fields,
            channel=await self._stream.channels.id_of(request.address),
            now=self._host.env.now(),
            mentions=self._mentions,
            file=await self._file(request.action, fields),
        )
        call = await self._as_author(request, call_of(change))
        try:
            answer = await self._client.call(call)
        except (DiscordRefused, PlaceGone) as error:
            return self._after(request, error)
        return self._receipt(request, answer)

    def _after(self, request: ActionRequest, error: DiscordRefused | PlaceGone) -> Receipt:
        """The receipt of a change made by an earlier attempt; raises the error for any other change."""
        code = error.code if isinstance(error, DiscordRefused) else 10003
        if request.attempt > 1 and code in _TAKES_AWAY.get(request.action, frozenset()):
            return Receipt(provider_id=request.message_id or request.address.conversation, address=request.address)
        if request.action is Action.THREAD_CREATE and code == THREAD_EXISTS and request.message_id is not None:
            return self._thread(request, request.message_id)
        raise error

    async def _as_author(self, request: ActionRequest, call: RestCall) -> RestCall:
        if request.identity is None or request.action not in (Action.EDIT, Action.DELETE):
            return call
        place = request.address
        webhook, thread = await self._threads.webhook_in(place, request.identity)
        path = at("webhooks", webhook.id, webhook.secret or "", "messages", request.message_id or "")
        params = {} if thread is None else {"thread_id": thread}
        return msgspec.structs.replace(call, path=path, params=params, token="")

    async def _show_presence(self, request: ActionRequest, fields: Mapping[str, Any]) -> Receipt:
        payload = presence_of(fields)
        socket = self._stream.socket
        if socket is None:
            raise NotSent("there is no gateway connection")
        await socket.say(payload)
        own = await self._stream.own_ids()
        return Receipt(provider_id=own.user, address=request.address)

    async def _file(self, action: Action, fields: Mapping[str, Any]) -> Any:
        if action not in _UPLOADS:
            return None
        buffer, kind = str(fields.get("buffer") or ""), str(fields.get("contentType") or fields.get("mimeType") or "")
        source = next((str(fields[name]) for name in _FILE_PARAMS if fields.get(name)), "")
        if buffer:
            source = buffer if buffer.startswith("data:") else f"data:{kind};base64,{buffer}"
        if not source:
            raise Refused("media is missing")
        [file] = await load_files(self._files, (source,))
        return file

    def _receipt(self, request: ActionRequest, answer: Any) -> Receipt:
        """The receipt of what was changed or created: a message, a thread, or an object with an id."""
        made = as_object(answer).get("id")
        if request.action is Action.THREAD_CREATE:
            return self._thread(request, read(answer, ChannelData).id)
        if request.action is Action.CHANNEL_CREATE:
            created = read(answer, ChannelData).id
            place = Address(channel="discord", account=self._host.account, kind=ChatKind.CHANNEL, conversation=created)
            return Receipt(provider_id=created, address=place)
        fields = parameters_of(request.fields)
        otherwise = request.message_id or fields.get("userId") or fields.get("categoryId")
        found = made if isinstance(made, str) else str(otherwise or request.address.conversation)
        return Receipt(provider_id=found, address=request.address)

    def _thread(self, request: ActionRequest, thread: str) -> Receipt:
        room = request.address.parent or request.address.conversation
        place = Address(
            channel="discord", account=self._host.account, kind=ChatKind.CHANNEL, conversation=thread, parent=room
        )
        return Receipt(provider_id=thread, address=place)

    async def ask(self, query: ActionQuery) -> object:
        async def bot() -> str:
            return (await self._stream.own_ids()).user

        channel = await self._stream.channels.id_of(query.address)
        fields = parameters_of(query.fields)
        question = AskedQuestion(request=query, fields=fields, channel=channel, call=self._client.call, bot=bot)
        return await answer_to(query.action, question)

    async def resolve(self, text: str) -> Resolved | None:
        """Look a name up among channels for messages, and members whose name begins so."""
        name = text.strip().lstrip("#@")
        entries: list[DirectoryEntry] = []
        for guild in as_objects(await self._client.call(get("users", "@me", "guilds"))):
            number = str(guild.get("id"))
            entries += _channels(await self._client.call(get("guilds", number, "channels")))
            if name and not text.strip().startswith("#"):
                wanted = name.partition(":")[2] or name
                search = get("guilds", number, "members", "search", query=wanted[:100], limit=_FOUND)
                entries += _members(await self._client.call(search))
        return find_in_directory(text, entries, "discord")


def _channels(answer: object) -> list[DirectoryEntry]:
    found = [read(channel, ChannelData) for channel in as_objects(answer)]
    return [
        DirectoryEntry(target=f"channel:{channel.id}", kind=ChatKind.CHANNEL, name=channel.name or "")
        for channel in found
        if channel.type in _WRITABLE
    ]


def _members(answer: object) -> list[DirectoryEntry]:
    found = [(member, member.user) for member in (read(member, MemberData) for member in as_objects(answer))]
    return [
        DirectoryEntry(
            target=f"user:{user.id}",
            kind=ChatKind.DIRECT,
            name=member.nick or user.global_name or user.username,
            handle=user.username,
        )
        for member, user in found
        if user is not None and not user.bot
    ]
