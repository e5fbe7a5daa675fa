"""Binding support of the fake adapters: the core's own managers over the fakes' APIs."""

from __future__ import annotations

from trunkline.core.bindings.port import BindsConversations
from trunkline.core.channels.bindings.discord_threads import DiscordThreads, ThreadManagers
from trunkline.core.channels.bindings.telegram_topics import TelegramTopics
from trunkline.core.errors import IdentityGone, PlaceGone, Refused
from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.core.values import Address, Identity, SendRequest
from trunkline.sim.platforms.api.api_calls import number_of, token_text
from trunkline.sim.platforms.api.discord_rest import FakeDiscordRest
from trunkline.sim.platforms.api.hosts import ApiHost
from trunkline.sim.platforms.api.telegram_bot import FakeTelegramBot


class Binding:
    """The part of an adapter that serves bindings; by default it refuses everything."""

    placements: tuple[Placement, ...] = ()

    def __init__(self, token: int) -> None:
        self._token = token

    @property
    def port(self) -> BindsConversations:
        """The port that the gateway uses."""
        return self

    @property
    def token(self) -> int:
        """The number of the current token."""
        return self._token

    def renew(self, token: int) -> None:
        """Use the token with this number from the next request on."""
        self._token = token

    async def speak(self, request: SendRequest) -> None:
        """Find the webhook of a request with an identity. Raises `IdentityGone` before anything is sent."""
        if request.identity is not None:
            raise IdentityGone("there are no webhooks here")

    def forget_identity(self, identity: Identity) -> None:
        """Forget an identity that the platform refused."""

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
        return number_of(self._manager.tokens.current)

    def renew(self, token: int) -> None:
        """Create the manager again, as an application does when it reloads its settings."""
        self._managers.create(self._account, token_text(token))

    async def speak(self, request: SendRequest) -> None:
        # A real adapter must look up the webhook, because sending needs its secret.
        if request.identity is None:
            return
        try:
            await self._threads.webhook(request.address, request.identity)
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
    """The binding support of an account on a platform."""
    if platform.channel == "discord":
        return DiscordBinding(platform, account, token)
    if platform.channel == "telegram":
        return TelegramBinding(platform, account, token)
    return PlainBinding(platform, token) if platform.channel == "slack" else Binding(token)
