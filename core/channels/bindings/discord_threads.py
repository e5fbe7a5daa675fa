"""Discord's side of session bindings: threads, webhooks and tokens of one account, over a small REST protocol.

An adapter for Discord brings a `DiscordRest`, makes its manager by `ThreadManagers.create`, and offers `DiscordThreads`
as its `trunkline.core.bindings.port.BindsConversations`. The gateway itself knows none of this.

- A token is read when a request is made, never kept: a manager that is reused uses the newest one (seed 002).
- A child thread hangs under a channel: asked from a thread, under the channel of that thread. Its name ends in a short
  digest of the key that it was asked for with, so that asking again finds it, after a restart too: threads are listed
  before one is made.
- There is one webhook for each account and parent channel, and it serves all threads there. Discord shows the secret of
  a webhook to whoever made it, so that one is found again after a restart. No secret is in an `Identity`.
- Direct conversations have neither threads nor webhooks.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Sequence
from typing import Protocol

import anyio
import msgspec

from trunkline.core.bindings.records import Placement, PlaceState
from trunkline.core.delivery.chunking.utf16 import reach, units
from trunkline.core.errors import IdentityGone, PlaceArchived, PlaceGone, Refused
from trunkline.core.values import Address, ChatKind, Identity

#: longest name of a thread and of a webhook's persona, UTF-16 code units
NAME_LIMIT, PERSONA_LIMIT = 100, 80
#: how our webhooks are called, so that they are found again
WEBHOOK_NAME = "Trunkline"

_PERSONA = "\N{ROBOT FACE} "
_MARK = " \N{MIDDLE DOT} "
_REASON = "delegated work"
_LOCKS = 16
_PREFIXES = re.compile(r"\A(?:discord:)?(?:(?:channel|thread|conversation|group|room):)?\s*", re.IGNORECASE)
_MENTION = re.compile(r"<#([0-9]+)>")


class DiscordChannel(msgspec.Struct, frozen=True, kw_only=True):
    """What Discord says of a channel; a thread is one."""

    id: str
    name: str = ""
    thread: bool = False
    #: the channel that a thread hangs under
    parent: str | None = None
    archived: bool = False
    #: only moderators may unarchive it
    locked: bool = False


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook; `secret` is missing for one that somebody else made."""

    id: str
    name: str = ""
    secret: str | None = None

    def __repr__(self) -> str:
        """Without the secret: reprs end up in logs."""
        return f"Webhook(id={self.id!r}, name={self.name!r})"


class DiscordRest(Protocol):
    """Requests to Discord. Every failure is a `trunkline.core.errors.PlatformError`.

    What is not there or may not be seen (HTTP 403 and 404, code 10003) is `PlaceGone`, a token that is not accepted is
    `Unauthorized`, and what may have been done all the same is `Ambiguous`.
    """

    async def create_thread(self, token: str, parent: str, name: str, reason: str) -> str:
        """Open a thread under a channel; its id."""
        ...

    async def list_threads(self, token: str, parent: str) -> Sequence[DiscordChannel]:
        """The threads under a channel, archived ones too."""
        ...

    async def channel(self, token: str, channel: str) -> DiscordChannel:
        """What is known of a channel or thread."""
        ...

    async def unarchive(self, token: str, thread: str) -> None:
        """Let a thread take messages again."""
        ...

    async def create_webhook(self, token: str, channel: str, name: str) -> Webhook:
        """Make a webhook in a channel."""
        ...

    async def list_webhooks(self, token: str, channel: str) -> Sequence[Webhook]:
        """The webhooks of a channel."""
        ...


class ThreadSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a manager was made with, and keeps. Seconds; 0: never for that."""

    idle_timeout: float = 86400.0
    max_age: float = 0.0


class TokenHolder:
    """The newest token of an account. Whoever makes a request asks for it then."""

    def __init__(self, token: str = "") -> None:
        self._token = token.strip()

    @property
    def current(self) -> str:
        """The token to use now."""
        return self._token

    def renew(self, token: str | None) -> None:
        """A newer token; a blank one changes nothing."""
        self._token = (token or "").strip() or self._token

    def clear(self) -> None:
        """Forget it."""
        self._token = ""


class ThreadManager:
    """Threads and webhooks of one account. Ids are Discord's own, without prefixes."""

    def __init__(self, account: str, rest: DiscordRest, tokens: TokenHolder, settings: ThreadSettings) -> None:
        self.account = account
        self.tokens = tokens
        self.settings = settings
        self._rest = rest
        self._webhooks: dict[str, Webhook] = {}
        self._locks = tuple(anyio.Lock() for _ in range(_LOCKS))

    async def channel(self, channel: str) -> DiscordChannel:
        """What is known of a channel or thread. Raises `PlaceGone` for none."""
        return await self._rest.channel(self.tokens.current, channel)

    async def room_of(self, channel: str) -> str:
        """The channel that threads and webhooks belong to: that of a thread, else itself."""
        known = await self.channel(channel)
        if not known.thread:
            return known.id
        if known.parent is None:
            raise PlaceGone(f"thread {channel} hangs under no channel")
        return known.parent

    async def new_thread(self, room: str, name: str) -> str:
        """Open a thread under a channel; its id."""
        return await self._rest.create_thread(self.tokens.current, room, name, _REASON)

    async def thread_for(self, room: str, title: str, key: str) -> str:
        """The thread that was opened under a channel for a key, or a new one. Two calls at once get the same."""
        mark = _MARK + hashlib.blake2s(key.encode(), digest_size=5).hexdigest()
        async with self._alone("thread", f"{room} {mark}"):
            for thread in await self._rest.list_threads(self.tokens.current, room):
                if thread.name.endswith(mark):
                    return thread.id
            return await self.new_thread(room, cut(title.strip() or "work", NAME_LIMIT - units(mark)) + mark)

    async def unarchive(self, thread: str) -> None:
        """Let a thread take messages again. Raises `PlaceArchived` where that is not allowed."""
        known = await self.channel(thread)
        if not known.archived:
            return
        if known.locked:
            raise PlaceArchived(f"thread {thread} is archived and locked")
        try:
            await self._rest.unarchive(self.tokens.current, thread)
        except PlaceGone:
            raise
        except Refused as error:
            raise PlaceArchived(f"thread {thread} is archived: {error.facts or error}") from error

    # ------------------------------------------------------------ webhooks

    async def webhook(self, room: str) -> Webhook:
        """The one webhook of this account in a channel: known, found there, or made."""
        async with self._alone("webhook", room):
            known = self._webhooks.get(room) or await self._own_webhook(room)
            if known is None:
                known = await self._rest.create_webhook(self.tokens.current, room, self.webhook_name)
            self._webhooks[room] = known
            return known

    async def webhook_by_id(self, room: str, webhook: str) -> Webhook:
        """The webhook that somebody speaks through, with its secret. Raises `IdentityGone` for one that is not there.

        It is never replaced by another one here: that would be another identity (museum B134).
        """
        known = self._webhooks.get(room)
        if known is None or known.id != webhook:
            known = await self._own_webhook(room, webhook)
        if known is None:
            raise IdentityGone(f"webhook {webhook} is not in channel {room}")
        self._webhooks[room] = known
        return known

    def forget_webhook(self, webhook: str) -> None:
        """A webhook turned out to be gone: the next one that is asked for is looked up, or made."""
        self._webhooks = {room: known for room, known in self._webhooks.items() if known.id != webhook}

    @property
    def webhook_name(self) -> str:
        """How this account's webhooks are called: accounts may share a channel."""
        return cut(f"{WEBHOOK_NAME} {self.account}", PERSONA_LIMIT)

    async def _own_webhook(self, room: str, webhook: str | None = None) -> Webhook | None:
        """A webhook of this account in a channel: one with this id, else one with our name."""
        for known in await self._rest.list_webhooks(self.tokens.current, room):
            wanted = known.name == self.webhook_name if webhook is None else known.id == webhook
            if wanted and known.secret:
                return known
        return None

    def _alone(self, *what: str) -> anyio.Lock:
        """A lock for requests that make something once. Few locks serve all: sharing one only costs waiting."""
        return self._locks[zlib.crc32("/".join(what).encode()) % len(self._locks)]


class ThreadManagers:
    """The managers of a process: one for each account, however often one is created."""

    def __init__(self, rest: DiscordRest) -> None:
        self._rest = rest
        self._managers: dict[str, ThreadManager] = {}

    def create(self, account: str, token: str | None, settings: ThreadSettings | None = None) -> ThreadManager:
        """The manager of an account. One that is there gets the newer token, unless it is blank, and stays as it is."""
        manager = self._managers.get(account)
        if manager is not None:
            manager.tokens.renew(token)
            return manager
        tokens = TokenHolder(token or "")
        manager = self._managers[account] = ThreadManager(account, self._rest, tokens, settings or ThreadSettings())
        return manager

    def get(self, account: str) -> ThreadManager | None:
        """The manager of an account, if there is one."""
        return self._managers.get(account)

    def stop(self, account: str) -> None:
        """Let the manager of an account go; whoever still has it has no token any more."""
        manager = self._managers.pop(account, None)
        if manager is not None:
            manager.tokens.clear()


class DiscordThreads:
    """`trunkline.core.bindings.port.BindsConversations` of one account."""

    placements: tuple[Placement, ...] = (Placement.CURRENT, Placement.CHILD)

    def __init__(self, manager: ThreadManager) -> None:
        self.manager = manager

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        """A thread under a channel, also when asked from a thread of it. Raises `Refused` in direct conversations."""
        if parent.kind is not ChatKind.CHANNEL:
            raise Refused(f"{parent}: only channels of a server have threads")
        room = await self._room(parent)
        thread = await self.manager.thread_for(room, title, key)
        return Address(
            channel=parent.channel, account=parent.account, kind=ChatKind.CHANNEL, conversation=thread, parent=room
        )

    async def inspect(self, place: Address) -> PlaceState:
        """Whether a conversation takes messages. What Discord does not tell is an error, not a state."""
        if place.kind is not ChatKind.CHANNEL:
            # There is nothing that could be archived or deleted, and its id is no channel's.
            return PlaceState.OPEN
        try:
            known = await self.manager.channel(raw_id(place.conversation))
        except PlaceArchived:
            return PlaceState.ARCHIVED
        except PlaceGone:
            return PlaceState.GONE
        return PlaceState.ARCHIVED if known.archived else PlaceState.OPEN

    async def reopen(self, place: Address) -> None:
        """Unarchive a thread. Raises `PlaceGone` where that is not allowed or there is none."""
        await self.manager.unarchive(raw_id(place.conversation))

    async def identity(self, place: Address, name: str) -> Identity | None:
        """The webhook of the channel under a name; none in direct conversations, where the bot speaks."""
        if place.kind is not ChatKind.CHANNEL:
            return None
        webhook = await self.manager.webhook(await self._room(place))
        return Identity(id=webhook.id, name=persona(name))

    async def webhook(self, place: Address, identity: Identity) -> Webhook:
        """What an adapter sends through when a request carries an identity. Raises `IdentityGone`."""
        return await self.manager.webhook_by_id(await self._room(place), identity.id)

    async def _room(self, place: Address) -> str:
        if place.parent is not None:
            return raw_id(place.parent)
        return await self.manager.room_of(raw_id(place.conversation))


# -------------------------------------------------------------------- texts


def persona(name: str) -> str:
    """How a webhook is called that speaks for a session."""
    return cut(f"{_PERSONA}{name.strip() or 'agent'}", PERSONA_LIMIT)


def cut(text: str, limit: int) -> str:
    """The beginning of a text, as long as Discord allows."""
    return text[: reach(text, 0, len(text), limit)].rstrip()


def raw_id(text: str) -> str:
    """An id as Discord has it, of any text that the gateway names a channel by (museum B130)."""
    trimmed = text.strip()
    mention = _MENTION.fullmatch(trimmed)
    return mention[1] if mention else _PREFIXES.sub("", trimmed, count=1)
