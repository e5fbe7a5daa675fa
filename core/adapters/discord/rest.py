"""Threads and webhooks: `trunkline.core.channels.bindings.discord_threads.DiscordRest` over the real API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from trunkline.core.adapters.discord.calls import RestCall, get, patch, post
from trunkline.core.adapters.discord.channels import Request
from trunkline.core.adapters.discord.payloads import THREADS, ChannelData, WebhookData
from trunkline.core.channels.bindings.discord_threads import DiscordChannel, Webhook
from trunkline.core.errors import Ambiguous, Refused

T = TypeVar("T")
#: type of a thread that everybody in the channel can see
PUBLIC_THREAD = 11
#: archived threads of a page, and pages that are read
_PAGE, _PAGES = 100, 20


class ThreadList(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with threads."""

    threads: tuple[ChannelData, ...] = ()
    has_more: bool = False


class ArchiveTime(msgspec.Struct, frozen=True, kw_only=True):
    """When a thread was archived."""

    archive_timestamp: str = ""


class ArchivedThread(msgspec.Struct, frozen=True, kw_only=True):
    """The position of the next page of archived threads."""

    thread_metadata: ArchiveTime = ArchiveTime()


class LiveDiscordRest:
    """Requests of an account. Each call has a token."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def create_thread(self, token: str, parent: str, name: str, reason: str) -> str:
        """Create a thread under a channel and return the id."""
        call = post("channels", parent, "threads", json={"name": name, "type": PUBLIC_THREAD}, reason=reason)
        return read(await self._ask(token, call), ChannelData).id

    async def list_threads(self, token: str, parent: str) -> Sequence[DiscordChannel]:
        """The threads of a channel: active ones, which Discord lists by server, and archived ones."""
        guild = read(await self._ask(token, get("channels", parent)), ChannelData).guild_id
        if guild is None:
            return []
        active = read(await self._ask(token, get("guilds", guild, "threads", "active")), ThreadList)
        found = [_shown(thread) for thread in active.threads if thread.parent_id == parent]
        before: str | None = None
        for _ in range(_PAGES):
            page = get("channels", parent, "threads", "archived", "public", limit=_PAGE, before=before)
            answer = await self._ask(token, page)
            archived = read(answer, ThreadList)
            found += [_shown(thread) for thread in archived.threads]
            if not archived.has_more or not archived.threads:
                break
            before = read(answer["threads"][-1], ArchivedThread).thread_metadata.archive_timestamp or None
        return found

    async def channel(self, token: str, channel: str) -> DiscordChannel:
        """Get a channel or thread."""
        return _shown(read(await self._ask(token, get("channels", channel)), ChannelData))

    async def unarchive(self, token: str, thread: str) -> None:
        """Unarchive a thread."""
        await self._ask(token, patch("channels", thread, json={"archived": False}))

    async def create_webhook(self, token: str, channel: str, name: str) -> Webhook:
        """Create a webhook in a channel."""
        return _webhook(
            read(await self._ask(token, post("channels", channel, "webhooks", json={"name": name})), WebhookData)
        )

    async def list_webhooks(self, token: str, channel: str) -> Sequence[Webhook]:
        """The webhooks of a channel."""
        answer = await self._ask(token, get("channels", channel, "webhooks"))
        return [_webhook(webhook) for webhook in read(answer, list[WebhookData])]

    async def _ask(self, token: str, call: RestCall) -> Any:
        if not token:
            raise Refused("the account has no token")
        return await self._request(msgspec.structs.replace(call, token=token))


def read(answer: object, kind: type[T]) -> T:
    """An answer as a struct. Raises `Ambiguous` for an answer of another form, which proves nothing."""
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise Ambiguous(f"the answer cannot be read: {error}") from None


def _shown(channel: ChannelData) -> DiscordChannel:
    state = channel.thread_metadata
    return DiscordChannel(
        id=channel.id,
        name=channel.name or "",
        thread=channel.type in THREADS,
        parent=channel.parent_id if channel.type in THREADS else None,
        archived=state is not None and state.archived,
        locked=state is not None and state.locked,
    )


def _webhook(found: WebhookData) -> Webhook:
    return Webhook(id=found.id, name=found.name or "", secret=found.token)
