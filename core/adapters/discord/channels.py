"""The channels known to an account. A message names only a channel; kind, parent and server are looked up here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from trunkline.core.adapters.discord.calls import RestCall, get, post
from trunkline.core.adapters.discord.errors import unsent
from trunkline.core.adapters.discord.payloads import DM, ChannelData, UserData
from trunkline.core.adapters.port import Cursors
from trunkline.core.errors import Ambiguous, PlatformError

#: cursor with the direct conversations
_DIRECT = "direct"
#: how many direct conversations are read again after an interruption
_MOST = 1000

Request = Callable[[RestCall], Awaitable[Any]]


class KnownChannels:
    """The channels of an account, from events or from requests."""

    def __init__(self, request: Request, cursors: Cursors) -> None:
        self._request = request
        self._cursors = cursors
        self._known: dict[str, ChannelData] = {}
        #: user -> direct conversation with them; the newest last
        self._direct: dict[str, str] = {}
        self._saved: dict[str, str] = {}

    async def load(self) -> None:
        """Read the stored direct conversations. Anything else than such a list counts as none."""
        text = await self._cursors.load(_DIRECT)
        if text is None:
            return
        try:
            self._direct = msgspec.json.decode(text, type=dict[str, str])
        except msgspec.MsgspecError:
            self._direct = {}
        self._saved = dict(self._direct)

    @property
    def direct(self) -> tuple[ChannelData, ...]:
        """The direct conversations, each with the person."""
        pairs = self._direct.items()
        return tuple(ChannelData(id=channel, type=DM, recipients=(UserData(id=user),)) for user, channel in pairs)

    def note(self, channel: ChannelData, guild: str | None = None) -> ChannelData:
        """Remember the present state of a channel."""
        found = channel if guild is None or channel.guild_id else msgspec.structs.replace(channel, guild_id=guild)
        self._known[channel.id] = found
        if channel.type == DM and channel.recipients:
            self._direct[channel.recipients[0].id] = channel.id
        return found

    def forget(self, channel: str) -> None:
        """A channel was deleted."""
        self._known.pop(channel, None)

    def forget_direct(self, user: str) -> None:
        """Discord does not know a direct conversation any more."""
        self._direct.pop(user, None)

    async def find(self, channel: str) -> ChannelData:
        """A channel, requested from Discord unless known. Raises `PlatformError`."""
        known = self._known.get(channel)
        return known if known is not None else self.note(_channel(await self._request(get("channels", channel))))

    async def with_user(self, user: str) -> str:
        """The direct conversation with a user, opened if necessary. Raises `PlatformError`, but never `Ambiguous`.

        Discord returns the same conversation however often it is opened.
        """
        known = self._direct.get(user)
        if known is not None:
            return known
        try:
            opened = _channel(await self._request(post("users", "@me", "channels", json={"recipient_id": user})))
        except PlatformError as error:
            raise unsent(error) from error
        self._direct[user] = opened.id
        self._known[opened.id] = opened
        await self.save()
        return opened.id

    async def save(self) -> None:
        """Store the direct conversations, if there are new ones."""
        if self._direct == self._saved:
            return
        self._direct = dict(list(self._direct.items())[-_MOST:])
        saved = dict(self._direct)
        await self._cursors.save(_DIRECT, msgspec.json.encode(saved).decode())
        self._saved = saved


def _channel(answer: object) -> ChannelData:
    try:
        return msgspec.convert(answer, ChannelData)
    except msgspec.ValidationError as error:
        raise Ambiguous(f"the answer is no channel: {error}") from None
