"""Binding support of the fake adapters: the core's own managers over the APIs of the fake Discord and Telegram."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from trunkline.core.bindings.port import BindsConversations
from trunkline.core.channels.bindings.discord_threads import DiscordChannel, DiscordThreads, ThreadManagers, Webhook
from trunkline.core.channels.bindings.telegram_topics import TelegramTopics
from trunkline.core.errors import IdentityGone, PlaceArchived, PlaceGone, Refused
from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.core.values import Address, ChatKind, Identity, SendRequest
from trunkline.sim.platforms.api.api_calls import ApiHost, asked_key, number_of, token_text
from trunkline.sim.platforms.rooms import Room


class FakeTelegramBot:
    """The Bot API for one bot: `core.channels.bindings.telegram_topics.TelegramBot`.

    `token` is called for each request: the real API has it in the URL.
    """

    def __init__(self, platform: ApiHost, account: str, token: Callable[[], int]) -> None:
        self._platform = platform
        self._account = account
        self._token = token

    async def create_forum_topic(self, chat: int, name: str) -> int:
        """Open a topic, named after the key; returns the number."""
        key, place = asked_key(name), self._at(chat, None)

        def create() -> int:
            return int(self._platform.threads.child(place, name, key).thread or 0)

        return await self._call(("child", key), place, create, opens=True)

    async def reopen_forum_topic(self, chat: int, topic: int) -> None:
        """Reopen a topic; an open topic stays open."""
        place = self._at(chat, topic)
        await self._call(("reopen", str(topic)), place, partial(self._platform.threads.unarchive, place))

    async def send_typing(self, chat: int, topic: int | None) -> None:
        """Show that the bot is typing; refused wherever a message would be."""
        place = self._at(chat, topic)

        def show() -> None:
            state = self._platform.threads.state(place)
            if state is PlaceState.GONE:
                raise PlaceGone("message thread not found")
            if state is PlaceState.ARCHIVED:
                raise PlaceArchived("TOPIC_CLOSED")

        await self._call(("typing", str(topic)), place, show)

    def _at(self, chat: int, topic: int | None) -> Address:
        kind = ChatKind.GROUP if chat < 0 else ChatKind.DIRECT
        thread = None if topic is None else str(topic)
        return Address(
            channel=self._platform.channel, account=self._account, kind=kind, conversation=str(chat), thread=thread
        )

    async def _call(self, what: tuple[str, ...], place: Address, do: Callable[[], Any], *, opens: bool = False) -> Any:
        if self._platform.room_above(place) is None and opens:
            raise Refused("chat not found")
        return await self._platform.calls.call(what, place, self._token(), do, opens=opens)


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

        def look() -> list[Webhook]:
            self._room(channel)
            return [self._shown(*known) for known in self._platform.webhooks.listed(self._at(channel))]

        return await self._call(("webhooks", channel), channel, token, look)

    def _shown(self, owner: str, webhook: str, name: str) -> Webhook:
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


class Binding:
    """The part of an adapter that serves bindings; by default it refuses everything."""

    placements: tuple[Placement, ...] = ()

    def __init__(self, token: int) -> None:
        self._token = token

    @property
    def port(self) -> BindsConversations:
        return self

    @property
    def token(self) -> int:
        return self._token

    def renew(self, token: int) -> None:
        self._token = token

    async def speak(self, request: SendRequest) -> None:
        """Find the webhook of a request with an identity. Raises `IdentityGone` before anything is sent."""
        if request.identity is not None:
            raise IdentityGone("there are no webhooks here")

    def forget_identity(self, identity: Identity) -> None:
        """Forget an identity refused by the platform."""

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        raise Refused("threads cannot be opened here")

    async def inspect(self, place: Address) -> PlaceState:
        raise Refused("conversations cannot be inspected here")

    async def reopen(self, place: Address) -> None:
        raise PlaceGone("nothing can be reopened here")

    async def identity(self, place: Address, name: str) -> Identity | None:
        return None


class DiscordBinding(Binding):
    """Threads and webhooks: `trunkline.core.channels.bindings.discord_threads` over the fake's REST API."""

    def __init__(self, platform: ApiHost, account: str, token: int) -> None:
        super().__init__(token)
        self._account = account
        self._managers = ThreadManagers(FakeDiscordRest(platform, account))
        self._manager = self._managers.create(account, token_text(token))
        self._threads = DiscordThreads(self._manager)

    @property
    def port(self) -> BindsConversations:
        return self._threads

    @property
    def token(self) -> int:
        return number_of(self._manager.token)

    def renew(self, token: int) -> None:
        """Create the manager again, as an application does when it reloads its settings."""
        self._managers.create(self._account, token_text(token))

    async def speak(self, request: SendRequest) -> None:
        # A real adapter must look up the webhook, because sending needs its secret.
        if request.identity is None:
            return
        try:
            await self._threads.webhook_in(request.address, request.identity)
        except (IdentityGone, PlaceGone):
            raise
        except Refused as error:
            raise IdentityGone(error.facts) from error

    def forget_identity(self, identity: Identity) -> None:
        """Forget an identity, so that the next use looks up or creates a webhook."""
        self._manager.forget_webhook(identity.id)


class TelegramBinding(Binding):
    """Topics: `trunkline.core.channels.bindings.telegram_topics` over the fake's Bot API."""

    def __init__(self, platform: ApiHost, account: str, token: int) -> None:
        super().__init__(token)
        self._topics = TelegramTopics(FakeTelegramBot(platform, account, lambda: self.token))

    @property
    def port(self) -> BindsConversations:
        return self._topics


class PlainBinding(Binding):
    """A platform whose conversations can be bound and inspected, but that opens no threads for the gateway."""

    placements = (Placement.CURRENT,)

    def __init__(self, platform: ApiHost, token: int) -> None:
        super().__init__(token)
        self._platform = platform

    async def inspect(self, place: Address) -> PlaceState:
        threads = self._platform.threads
        return await self._platform.calls.call(("info", *place.lane), place, self.token, lambda: threads.state(place))


def binding_of(platform: ApiHost, account: str, token: int) -> Binding:
    if platform.channel == "discord":
        return DiscordBinding(platform, account, token)
    if platform.channel == "telegram":
        return TelegramBinding(platform, account, token)
    return PlainBinding(platform, token) if platform.channel == "slack" else Binding(token)
