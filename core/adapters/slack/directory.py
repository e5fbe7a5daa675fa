"""The people and conversations of a workspace, looked up by name or id, and remembered for some minutes."""

import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio

from trunkline.core.adapters.json_values import as_object, as_objects
from trunkline.core.adapters.slack.web import SlackWeb
from trunkline.core.channels import DirectoryEntry, Resolved, find_in_directory
from trunkline.core.errors import PlatformError
from trunkline.core.values import ChatKind

#: seconds for which names are remembered
_FRESH = 600.0
#: seconds without a look-up of names after a failed look-up, and for a look-up
_PAUSE, _PATIENCE = 60.0, 5.0
#: names that are remembered, pages of a list, and entries of a page
_MOST, _PAGES, _PAGE = 10_000, 100, 200
_SIGNS = re.compile(r"\A(?:slack:)?(?:(?:channel|group|user|dm|conversation|room):)?\s*[<@#]*", re.IGNORECASE)
_USER = re.compile(r"[UW][A-Z0-9]+")
_CONVERSATION = re.compile(r"[CDG][A-Z0-9]+")
_UNKNOWN = frozenset({"channel_not_found", "user_not_found", "users_not_found", "user_not_visible"})


class SlackDirectory:
    """Looks names up with a token. `steady`: a monotonic clock, in seconds."""

    def __init__(self, web: SlackWeb, steady: Callable[[], float]) -> None:
        self._web = web
        self._steady = steady
        self._entries: tuple[DirectoryEntry, ...] = ()
        self._entries_until = 0.0
        #: user -> name and until when it is remembered
        self._names: dict[str, tuple[str, float]] = {}
        self._paused_until = 0.0

    async def name_of(self, user: str) -> str:
        """The name of a user; empty without an answer of Slack. Never raises: a message does not wait for a name."""
        now = self._steady()
        name, until = self._names.get(user, ("", 0.0))
        if now < until or now < self._paused_until:
            return name
        try:
            with anyio.fail_after(_PATIENCE):
                found = await self._web.call("users.info", user=user, fine=_UNKNOWN)
        except (PlatformError, TimeoutError):
            self._paused_until = self._steady() + _PAUSE
            return name
        if len(self._names) >= _MOST:
            self._names.clear()
        name = shown_name(as_object(found.get("user")))
        self._names[user] = name, now + _FRESH
        return name

    async def resolve(self, text: str) -> Resolved | None:
        """The conversation named by a text, by id or by name. Raises `PlatformError`, `AmbiguousTarget`."""
        bare = _SIGNS.sub("", text.strip()).rstrip(">").partition("|")[0].strip()
        return await self._by_id(bare) or find_in_directory(text, await self._all(), "slack")

    async def _by_id(self, text: str) -> Resolved | None:
        """The conversation with an id; None for a text without a known id, which may be a name."""
        if _USER.fullmatch(text):
            found = await self._web.call("users.info", user=text, fine=_UNKNOWN)
            return Resolved(target=f"user:{text}", kind=ChatKind.DIRECT) if found.get("ok") else None
        if not _CONVERSATION.fullmatch(text):
            return None
        found = await self._web.call("conversations.info", channel=text, fine=_UNKNOWN)
        entry = entry_of(as_object(found.get("channel"))) if found.get("ok") else None
        return None if entry is None else Resolved(target=entry.target, kind=entry.kind)

    async def _all(self) -> tuple[DirectoryEntry, ...]:
        if self._steady() >= self._entries_until:
            people = [person async for person in self._pages("users.list", "members")]
            # Direct conversations are named by their people.
            rooms = [
                room
                async for room in self._pages(
                    "conversations.list", "channels", types="public_channel,private_channel,mpim", exclude_archived=True
                )
            ]
            found = [*(person_of(person) for person in people), *(entry_of(room) for room in rooms)]
            self._entries = tuple(entry for entry in found if entry is not None)
            self._entries_until = self._steady() + _FRESH
        return self._entries

    async def _pages(self, method: str, field: str, **given: Any) -> AsyncIterator[dict[str, Any]]:
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await self._web.call(method, limit=_PAGE, cursor=cursor, **given)
            for entry in as_objects(page.get(field)):
                yield entry
            cursor = str(as_object(page.get("response_metadata")).get("next_cursor") or "")
            if not cursor:
                return


def person_of(user: dict[str, Any]) -> DirectoryEntry | None:
    """The entry of a user; None for a former user."""
    number = user.get("id")
    if not isinstance(number, str) or user.get("deleted") is True:
        return None
    handle = user.get("name")
    return DirectoryEntry(
        target=f"user:{number}",
        kind=ChatKind.DIRECT,
        name=shown_name(user),
        handle=handle if isinstance(handle, str) else "",
    )


def entry_of(channel: dict[str, Any]) -> DirectoryEntry | None:
    """The entry of a conversation; None for a conversation closed to messages."""
    number, name = channel.get("id"), channel.get("name")
    if channel.get("is_im") is True:
        user = channel.get("user")
        return DirectoryEntry(target=f"user:{user}", kind=ChatKind.DIRECT) if isinstance(user, str) else None
    if not isinstance(number, str) or channel.get("is_archived") is True:
        return None
    kind = ChatKind.GROUP if channel.get("is_mpim") is True else ChatKind.CHANNEL
    return DirectoryEntry(target=f"{kind.value}:{number}", kind=kind, name=name if isinstance(name, str) else "")


def shown_name(user: dict[str, Any]) -> str:
    profile = as_object(user.get("profile"))
    names = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
    return next((name for name in names if isinstance(name, str) and name.strip()), "")
