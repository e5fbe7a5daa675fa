"""Changes of the message tool as requests to Discord. Pure, but for the file of an upload, which is loaded before."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.discord.bodies import edit_body
from trunkline.core.adapters.discord.calls import RestCall, UploadFile, at, delete, patch, post, put
from trunkline.core.errors import Refused

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
#: prefix of the place of an action on a server (`trunkline.core.message_tool.places`)
_SERVER = "@server/"


class WantedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change with everything for the request."""

    request: ActionRequest
    #: the parameters of the tool
    fields: Mapping[str, Any]
    #: id of the channel that it concerns; empty: none
    channel: str
    #: wall clock, seconds
    now: float
    #: kinds of mentions in a text that notify people
    mentions: tuple[str, ...] = ()
    #: the file of an upload
    file: UploadFile | None = None

    @property
    def message(self) -> str:
        """The id of the meant message. Raises `Refused`."""
        if not self.request.message_id:
            raise Refused("messageId is missing")
        return self.request.message_id

    @property
    def guild(self) -> str:
        """The server. Raises `Refused`."""
        place = self.request.address.conversation
        return self.word("guildId", otherwise=place.removeprefix(_SERVER) if place.startswith(_SERVER) else "")

    def word(self, name: str, *, otherwise: str = "") -> str:
        """A parameter as a text. Raises `Refused` for a blank text."""
        found = str(self.fields.get(name) or "").strip() or otherwise
        if not found:
            raise Refused(f"{name} is missing")
        return found

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


# -------------------------------------------------------------------- messages


def _edit(change: WantedChange) -> RestCall:
    body = edit_body(change.request.text, change.mentions)
    return patch("channels", change.channel, "messages", change.message, json=body)


def _delete(change: WantedChange) -> RestCall:
    return delete("channels", change.channel, "messages", change.message, reason=change.reason)


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


def _pin(change: WantedChange) -> RestCall:
    return put("channels", change.channel, "messages", "pins", change.message)


def _unpin(change: WantedChange) -> RestCall:
    return delete("channels", change.channel, "messages", "pins", change.message)


def _thread(change: WantedChange) -> RestCall:
    body: dict[str, Any] = {"name": change.word("threadName", otherwise=change.request.text.strip())[:_LONGEST_NAME]}
    if minutes := change.fields.get("autoArchiveMin"):
        body["auto_archive_duration"] = minutes
    if change.request.message_id:
        return post("channels", change.channel, "messages", change.message, "threads", json=body)
    return post("channels", change.channel, "threads", json={**body, "type": _PUBLIC_THREAD})


# -------------------------------------------------------------------- members


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


def _kick(change: WantedChange) -> RestCall:
    return delete("guilds", change.guild, "members", change.word("userId"), reason=change.reason)


def _ban(change: WantedChange) -> RestCall:
    days = change.fields.get("deleteDays") or 0
    if isinstance(days, str) and days.isascii() and days.isdecimal() and len(days) < _DIGITS:
        days = int(days)
    if not isinstance(days, int | float):
        raise Refused("deleteDays is no number")
    body = {"delete_message_seconds": int(days) * 86400}
    return put("guilds", change.guild, "bans", change.word("userId"), json=body, reason=change.reason)


def _role(method: str) -> Builder:
    def build(change: WantedChange) -> RestCall:
        path = at("guilds", change.guild, "members", change.word("userId"), "roles", change.word("roleId"))
        return RestCall(method=method, path=path, reason=change.reason)

    return build


# -------------------------------------------------------------------- channels and other objects


def _settings(change: WantedChange) -> dict[str, Any]:
    fields = {**change.fields}
    if change.fields.get("clearParent"):
        fields["parentId"] = None
    return {name: fields[key] for key, name in _SETTINGS.items() if key in fields}


def _channel_create(change: WantedChange) -> RestCall:
    name = change.word("name", otherwise=change.request.text.strip())
    return post("guilds", change.guild, "channels", json={**_settings(change), "name": name})


def _channel_edit(change: WantedChange) -> RestCall:
    return patch("channels", _channel(change), json=_settings(change))


def _channel_delete(change: WantedChange) -> RestCall:
    return delete("channels", _channel(change), reason=change.reason)


def _channel(change: WantedChange) -> str:
    return change.word("channelId", otherwise=change.channel)


def _category_create(change: WantedChange) -> RestCall:
    name = change.word("name", otherwise=change.request.text.strip())
    return post("guilds", change.guild, "channels", json={**_settings(change), "name": name, "type": _CATEGORY})


def _category_edit(change: WantedChange) -> RestCall:
    return patch("channels", change.word("categoryId"), json=_settings(change))


def _category_delete(change: WantedChange) -> RestCall:
    return delete("channels", change.word("categoryId"), reason=change.reason)


def _event(change: WantedChange) -> RestCall:
    location, channel = change.fields.get("location"), change.fields.get("channelId")
    kind = str(change.fields.get("eventType") or ("external" if location or not channel else "voice"))
    if kind not in _EVENT_TYPES:
        raise Refused(f"eventType is one of {', '.join(_EVENT_TYPES)}")
    body = {
        "name": change.word("eventName", otherwise=change.request.text.strip()),
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
    body: dict[str, Any] = {"name": change.word("emojiName", otherwise=change.request.text.strip()), "image": image}
    if roles := change.fields.get("roleIds"):
        body["roles"] = roles
    return post("guilds", change.guild, "emojis", json=body)


def _sticker(change: WantedChange) -> RestCall:
    form = {
        "name": change.word("stickerName", otherwise=change.request.text.strip()),
        "description": change.word("stickerDesc"),
        "tags": change.word("stickerTags"),
    }
    call = post("guilds", change.guild, "stickers")
    return msgspec.structs.replace(call, form=form, files=(_file(change),))


#: what Discord has; SET_PRESENCE goes by the gateway
CHANGES: dict[Action, Builder] = {
    Action.EDIT: _edit,
    Action.DELETE: _delete,
    Action.REACT: _react,
    Action.PIN: _pin,
    Action.UNPIN: _unpin,
    Action.THREAD_CREATE: _thread,
    Action.TIMEOUT: _timeout,
    Action.KICK: _kick,
    Action.BAN: _ban,
    Action.ROLE_ADD: _role("PUT"),
    Action.ROLE_REMOVE: _role("DELETE"),
    Action.CHANNEL_CREATE: _channel_create,
    Action.CHANNEL_EDIT: _channel_edit,
    Action.CHANNEL_MOVE: _channel_edit,
    Action.CHANNEL_DELETE: _channel_delete,
    Action.CATEGORY_CREATE: _category_create,
    Action.CATEGORY_EDIT: _category_edit,
    Action.CATEGORY_DELETE: _category_delete,
    Action.EVENT_CREATE: _event,
    Action.EMOJI_UPLOAD: _emoji,
    Action.STICKER_UPLOAD: _sticker,
}
