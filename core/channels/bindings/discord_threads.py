"""Session bindings on Discord: threads, webhooks and tokens of one account, over a small REST protocol.

A Discord adapter provides a `DiscordRest`, creates its manager by `ThreadManagers.create`, and uses `DiscordThreads`
as its `trunkline.core.bindings.port.BindsConversations`.

- The token is read for each request, never stored, so a reused manager always uses the newest one.
- A child thread belongs to a channel; requested from a thread, to the channel of that thread. Its name ends in a short
  digest of the request's key. Threads are listed before one is created, so a repeated request finds the thread, even
  after a restart.
- Each account has one webhook per parent channel, used for all threads there. Discord shows the secret of a webhook to
  its creator, so the webhook is found again after a restart. An `Identity` contains no secret.
- Direct conversations have neither threads nor webhooks.
"""

import hashlib
import re
import zlib
from collections.abc import Sequence
from typing import Protocol

import anyio
import msgspec

from trunkline.core.errors import IdentityGone, PlaceArchived, PlaceGone, Refused
from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.core.text.chunking.utf16 import reach, units
from trunkline.core.values import Address, ChatKind, Identity

#: maximum length of a thread's name and of a webhook's display name, in UTF-16 code units
NAME_LIMIT, PERSONA_LIMIT = 100, 80
#: name of our webhooks, by which they are found again
WEBHOOK_NAME = "Trunkline"

_PERSONA = "\N{ROBOT FACE} "
_MARK = " \N{MIDDLE DOT} "
_REASON = "delegated work"
_LOCKS = 16
_PREFIXES = re.compile(r"\A(?:discord:)?(?:(?:channel|thread|conversation|group|room):)?\s*", re.IGNORECASE)
_MENTION = re.compile(r"<#([0-9]+)>")


class DiscordChannel(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str = ""
    thread: bool = False
    parent: str | None = None
    archived: bool = False
    #: only moderators may unarchive it
    locked: bool = False


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook; `secret` is None if another user created it."""

    id: str
    name: str = ""
    secret: str | None = None

    def __repr__(self) -> str:
        """Omits the secret, because reprs end up in logs."""
        return f"Webhook(id={self.id!r}, name={self.name!r})"


class DiscordRest(Protocol):
    """Requests to Discord. Every failure is a `trunkline.core.errors.PlatformError`.

    A missing or invisible channel (HTTP 403 and 404, code 10003) is `PlaceGone`, a rejected token is `Unauthorized`,
    and a request that may have succeeded nevertheless is `Ambiguous`.
    """

    async def create_thread(self, token: str, parent: str, name: str, reason: str) -> str:
        """Create a thread under a channel and return the id."""
        ...

    async def list_threads(self, token: str, parent: str) -> Sequence[DiscordChannel]:
        """The threads of a channel, including archived ones."""
        ...

    async def channel(self, token: str, channel: str) -> DiscordChannel: ...

    async def unarchive(self, token: str, thread: str) -> None: ...

    async def create_webhook(self, token: str, channel: str, name: str) -> Webhook: ...

    async def list_webhooks(self, token: str, channel: str) -> Sequence[Webhook]: ...


class ThreadSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that a manager was created with. Seconds; 0: never."""

    idle_timeout: float = 86400.0
    max_age: float = 0.0


class ThreadManager:
    """The threads and webhooks of one account. Ids are Discord's own, without prefixes."""

    def __init__(self, account: str, rest: DiscordRest, token: str, settings: ThreadSettings) -> None:
        self.account = account
        self.token = token
        self.settings = settings
        self._rest = rest
        self._webhooks: dict[str, Webhook] = {}
        self._locks = tuple(anyio.Lock() for _ in range(_LOCKS))

    def renew(self, token: str | None) -> None:
        """Set a newer token; a blank one is ignored."""
        self.token = (token or "").strip() or self.token

    async def channel(self, channel: str) -> DiscordChannel:
        """Get a channel or thread. Raises `PlaceGone`."""
        return await self._rest.channel(self.token, channel)

    async def room_of(self, channel: str) -> str:
        """The channel that owns threads and webhooks: that of a thread, else the channel itself."""
        known = await self.channel(channel)
        if not known.thread:
            return known.id
        if known.parent is None:
            raise PlaceGone(f"thread {channel} has no parent channel")
        return known.parent

    async def new_thread(self, room: str, name: str) -> str:
        return await self._rest.create_thread(self.token, room, name, _REASON)

    async def thread_for(self, room: str, title: str, key: str) -> str:
        """The thread of a channel that was created for a key, or a new one. Concurrent calls get the same."""
        mark = _MARK + hashlib.blake2s(key.encode(), digest_size=5).hexdigest()
        async with self._alone("thread", f"{room} {mark}"):
            for thread in await self._rest.list_threads(self.token, room):
                if thread.name.endswith(mark):
                    return thread.id
            return await self.new_thread(room, cut(title.strip() or "work", NAME_LIMIT - units(mark)) + mark)

    async def unarchive(self, thread: str) -> None:
        """Unarchive a thread. Raises `PlaceArchived` if that is not allowed."""
        known = await self.channel(thread)
        if not known.archived:
            return
        if known.locked:
            raise PlaceArchived(f"thread {thread} is archived and locked")
        try:
            await self._rest.unarchive(self.token, thread)
        except PlaceGone:
            raise
        except Refused as error:
            raise PlaceArchived(f"thread {thread} is archived: {error.facts or error}") from error

    async def webhook(self, room: str) -> Webhook:
        """The webhook of this account in a channel: cached, found on Discord, or created."""
        async with self._alone("webhook", room):
            known = self._webhooks.get(room) or await self._own_webhook(room)
            if known is None:
                known = await self._rest.create_webhook(self.token, room, self.webhook_name)
            self._webhooks[room] = known
            return known

    async def webhook_by_id(self, room: str, webhook: str) -> Webhook:
        """The webhook with an id, with its secret. Raises `IdentityGone`.

        It is never replaced by another webhook here: that would be another identity.
        """
        known = self._webhooks.get(room)
        if known is None or known.id != webhook:
            known = await self._own_webhook(room, webhook)
        if known is None:
            raise IdentityGone(f"webhook {webhook} is not in channel {room}")
        self._webhooks[room] = known
        return known

    def forget_webhook(self, webhook: str) -> None:
        """Drop a missing webhook from the cache: the next request looks it up or creates one."""
        self._webhooks = {room: known for room, known in self._webhooks.items() if known.id != webhook}

    @property
    def webhook_name(self) -> str:
        """The name of this account's webhooks. It includes the account because accounts may share a channel."""
        return cut(f"{WEBHOOK_NAME} {self.account}", PERSONA_LIMIT)

    async def _own_webhook(self, room: str, webhook: str | None = None) -> Webhook | None:
        """A webhook of this account in a channel: the one with the given id, else one with our name."""
        for known in await self._rest.list_webhooks(self.token, room):
            wanted = known.name == self.webhook_name if webhook is None else known.id == webhook
            if wanted and known.secret:
                return known
        return None

    def _alone(self, *what: str) -> anyio.Lock:
        """A lock for a create-once request, from a small pool: sharing a lock only costs waiting."""
        return self._locks[zlib.crc32("/".join(what).encode()) % len(self._locks)]


class ThreadManagers:
    def __init__(self, rest: DiscordRest) -> None:
        self._rest = rest
        self._managers: dict[str, ThreadManager] = {}

    def create(self, account: str, token: str | None, settings: ThreadSettings | None = None) -> ThreadManager:
        """The manager of an account. An existing one only gets the newer token, unless that is blank."""
        manager = self._managers.get(account)
        if manager is not None:
            manager.renew(token)
            return manager
        given = (token or "").strip()
        manager = self._managers[account] = ThreadManager(account, self._rest, given, settings or ThreadSettings())
        return manager

    def get(self, account: str) -> ThreadManager | None:
        return self._managers.get(account)

    def stop(self, account: str) -> None:
        """Remove the manager of an account and clear the token."""
        manager = self._managers.pop(account, None)
        if manager is not None:
            manager.token = ""


class DiscordThreads:
    """`trunkline.core.bindings.port.BindsConversations` of one account."""

    placements: tuple[Placement, ...] = (Placement.CURRENT, Placement.CHILD)

    def __init__(self, manager: ThreadManager) -> None:
        self.manager = manager

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        """A thread under a channel, even if `parent` is a thread. Raises `Refused` in direct conversations."""
        if parent.kind is not ChatKind.CHANNEL:
            raise Refused(f"{parent}: only channels of a server have threads")
        room = await self._room(parent)
        thread = await self.manager.thread_for(room, title, key)
        return Address(
            channel=parent.channel, account=parent.account, kind=ChatKind.CHANNEL, conversation=thread, parent=room
        )

    async def inspect(self, place: Address) -> PlaceState:
        """Whether a conversation accepts messages. If Discord does not say, raises an error."""
        if place.kind is not ChatKind.CHANNEL:
            # It cannot be archived or deleted, and its id is not that of a channel.
            return PlaceState.OPEN
        try:
            known = await self.manager.channel(raw_id(place.conversation))
        except PlaceArchived:
            return PlaceState.ARCHIVED
        except PlaceGone:
            return PlaceState.GONE
        return PlaceState.ARCHIVED if known.archived else PlaceState.OPEN

    async def reopen(self, place: Address) -> None:
        """Unarchive a thread. Raises `PlaceGone` for a missing thread, or without permission."""
        await self.manager.unarchive(raw_id(place.conversation))

    async def identity(self, place: Address, name: str) -> Identity | None:
        """The webhook of the channel with a display name; None in direct conversations, where the bot posts."""
        if place.kind is not ChatKind.CHANNEL:
            return None
        webhook = await self.manager.webhook(await self._room(place))
        return Identity(id=webhook.id, name=persona(name))

    async def webhook_in(self, place: Address, identity: Identity) -> tuple[Webhook, str | None]:
        """The binding's webhook, and the thread to name in its request; None if the place is its channel itself.

        Raises `IdentityGone`.

        A place may be a thread without saying so, as one that somebody wrote by its id. Without its name, the webhook
        would post in the channel.
        """
        room, here = await self._room(place), raw_id(place.conversation)
        return await self.manager.webhook_by_id(room, identity.id), None if room == here else here

    async def _room(self, place: Address) -> str:
        if place.parent is not None:
            return raw_id(place.parent)
        return await self.manager.room_of(raw_id(place.conversation))


def persona(name: str) -> str:
    return cut(f"{_PERSONA}{name.strip() or 'agent'}", PERSONA_LIMIT)


def cut(text: str, limit: int) -> str:
    """A text truncated to a limit in UTF-16 code units."""
    return text[: reach(text, 0, len(text), limit)].rstrip()


def raw_id(text: str) -> str:
    """Discord's id in any text that names a channel, such as a mention or an id with a prefix."""
    trimmed = text.strip()
    mention = _MENTION.fullmatch(trimmed)
    return mention[1] if mention else _PREFIXES.sub("", trimmed, count=1)
