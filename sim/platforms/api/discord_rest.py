"""The REST API of the fake Discord for one account: `core.channels.bindings.discord_threads.DiscordRest`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from trunkline.core.channels.bindings.discord_threads import DiscordChannel, Webhook
from trunkline.core.errors import PlaceGone
from trunkline.core.values import Address, ChatKind
from trunkline.sim.platforms.api.api_calls import asked_key, number_of
from trunkline.sim.platforms.api.hosts import ApiHost
from trunkline.sim.platforms.rooms import Room


class FakeDiscordRest:
    """Requests of one account. As in the real API, an id alone names a channel or thread."""

    def __init__(self, platform: ApiHost, account: str) -> None:
        self._platform = platform
        self._account = account

    async def create_thread(self, token: str, parent: str, name: str, reason: str) -> str:
        """Open a thread under a channel, named after its key; returns its id."""
        key = asked_key(reason)

        def create() -> str:
            return self._platform.threads.child(self._at(parent), name, key).conversation

        return await self._call(("child", key), parent, token, create, opens=True)

    async def list_threads(self, token: str, parent: str) -> Sequence[DiscordChannel]:
        """The threads under a channel, including archived ones."""

        def look() -> list[DiscordChannel]:
            return [_channel(room) for room in self._platform.rooms_under(self._room(parent))]

        return await self._call(("threads", parent), parent, token, look)

    async def channel(self, token: str, channel: str) -> DiscordChannel:
        return await self._call(("channel", channel), channel, token, lambda: _channel(self._room(channel)))

    async def unarchive(self, token: str, thread: str) -> None:
        unarchive = partial(self._platform.threads.unarchive, self._at(thread))
        await self._call(("unarchive", thread), thread, token, unarchive)

    async def create_webhook(self, token: str, channel: str, name: str) -> Webhook:

        def make() -> Webhook:
            return self._shown(self._account, self._platform.webhooks.create(self._at(channel), name), name)

        return await self._call(("webhook", channel), channel, token, make)

    async def list_webhooks(self, token: str, channel: str) -> Sequence[Webhook]:
        """The webhooks of a channel, including those of other accounts."""

        def look() -> list[Webhook]:
            self._room(channel)
            return [self._shown(*known) for known in self._platform.webhooks.listed(self._at(channel))]

        return await self._call(("webhooks", channel), channel, token, look)

    def _shown(self, owner: str, webhook: str, name: str) -> Webhook:
        """A webhook; only its owner sees the secret."""
        return Webhook(id=webhook, name=name, secret=f"secret of {webhook}" if owner == self._account else None)

    def _at(self, channel: str) -> Address:
        return Address(
            channel=self._platform.channel, account=self._account, kind=ChatKind.CHANNEL, conversation=channel
        )

    def _room(self, channel: str) -> Room:
        """A channel or thread that the account can see. Raises `PlaceGone`."""
        room = self._platform.room_at(self._at(channel))
        if room is None or self._account not in room.accounts or room.closed == "deleted":
            raise PlaceGone(f"there is no channel {channel}")
        return room

    async def _call(
        self, what: tuple[str, ...], channel: str, token: str, do: Callable[[], Any], *, opens: bool = False
    ) -> Any:
        return await self._platform.calls.call(what, self._at(channel), number_of(token), do, opens=opens)


def _channel(room: Room) -> DiscordChannel:
    return DiscordChannel(
        id=room.conversation,
        name=room.title or room.name,
        thread=room.parent is not None,
        parent=room.parent,
        archived=room.closed == "archived",
        locked=room.locked,
    )
