"""The adapter of Discord."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import msgspec

from trunkline.core import values
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.discord.actions.action_desk import ActionDesk
from trunkline.core.adapters.discord.bodies import message_body
from trunkline.core.adapters.discord.calls import RestCall, at, post
from trunkline.core.adapters.discord.client import OneRequestClient
from trunkline.core.adapters.discord.config import DiscordConfig
from trunkline.core.adapters.discord.errors import THREAD_EXISTS, DiscordRefused, is_from_proxy, unsent
from trunkline.core.adapters.discord.payloads import ChannelData, PostedData
from trunkline.core.adapters.discord.receiving.stream import DiscordStream
from trunkline.core.adapters.discord.rest import LiveDiscordRest, load_files, read
from trunkline.core.adapters.media_files import MediaFiles
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.channels import rules_for
from trunkline.core.channels.account_adapter import AccountAdapter
from trunkline.core.channels.adapter import InboundStream, LateOutcome, Resolved
from trunkline.core.channels.bindings.discord_threads import DiscordThreads, ThreadManagers, cut
from trunkline.core.errors import IdentityGone, NotSent, PlaceGone, PlatformError, Refused
from trunkline.core.records.bindings import Placement, PlaceState

#: "It will be checked for uniqueness in the past few minutes", says the documentation of `enforce_nonce`
#: (https://discord.com/developers/docs/resources/message#create-message); a few are more than two
KEY_SECONDS = 120.0
_CHANNEL = "discord"
_POLL_OPTIONS = 10
#: maximum length of a thread name, in characters
_LONGEST_NAME = 100


class _Parts(NamedTuple):
    client: OneRequestClient
    stream: DiscordStream
    threads: DiscordThreads
    desk: ActionDesk


class DiscordAdapter(AccountAdapter):
    """A bot of Discord: `ChannelAdapter`, `Actions`, `Queries`, `Directory` and `BindsConversations`.

    Sends carry a nonce that is a function of their key, so that Discord posts one message however often it is asked.
    Those of webhooks have none. A direct conversation is named by its user; its channel is looked up before the send.
    """

    placements: tuple[Placement, ...] = DiscordThreads.placements

    def __init__(self, config: DiscordConfig, host: AdapterHost) -> None:
        capabilities = values.Capabilities(
            can=frozenset(values.Capability) - {values.Capability.CARDS},
            actions=frozenset(rules_for(_CHANNEL).actions) - {Action.SEND, Action.BROADCAST},
            idempotency=values.Idempotency.KEY,
            key_seconds=KEY_SECONDS,
            in_flight_seconds=min(KEY_SECONDS, config.request_timeout),
            poll_options=_POLL_OPTIONS,
            text_limit=2000,
            opens_threads=True,
            identities=values.Idempotency.NONE,
        )
        super().__init__(_CHANNEL, host.account, capabilities)
        self._config = config
        self._host = host
        self._events = AccountEvents(host, _CHANNEL)
        self._token = host.secret(config.token)
        self._files = MediaFiles(host, config.files, config.request_timeout, hosts=config.file_hosts)
        self._running: _Parts | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[object]:
        """Hold the adapter's resources while the block runs. Opens no connection."""
        client = OneRequestClient(self._config.api_root, self._token, self._config.request_timeout)
        await client.open()
        managers = ThreadManagers(LiveDiscordRest(client.call))
        threads = DiscordThreads(managers.create(self.account, self._token))
        stream = DiscordStream(self._config, self._host, self._events, client)
        desk = ActionDesk(self._host, client, stream, threads, self._config.mentions, self._files)
        self._running = _Parts(client, stream, threads, desk)
        try:
            yield self
        finally:
            self._running = None
            managers.stop(self.account)
            await client.close()

    def connect(self) -> InboundStream:
        return self._parts.stream.connect()

    def connect_reopened(self, call: Callable[[values.Address], None]) -> None:
        self._events.reopened = call

    def connect_late(self, call: Callable[[LateOutcome], None]) -> None:
        self._events.late = call

    async def ack(self, envelope: values.Envelope) -> None:
        """Move the position past a durable message, if everything before is durable too."""
        await self._parts.stream.ack(envelope)

    async def send(self, request: values.SendRequest) -> values.Receipt:
        self.check_sendable(request)
        place = request.address
        files = await load_files(self._files, request.media, request.parts)
        body = message_body(request, self._config.mentions, files)
        if request.identity is not None:
            return await self._send_as(
                request, request.identity, RestCall(method="POST", path="", json=body, files=files)
            )
        channel = await self._parts.stream.channels.id_of(place)
        call = msgspec.structs.replace(post("channels", channel, "messages", json=body), files=files)
        try:
            return self._receipt(request, channel, await self._parts.client.call(call))
        except PlaceGone:
            if place.kind is values.ChatKind.DIRECT:
                self._parts.stream.channels.forget_direct(place.conversation)
            raise

    async def _send_as(self, request: values.SendRequest, identity: values.Identity, call: RestCall) -> values.Receipt:
        place = request.address
        try:
            webhook, thread = await self._parts.threads.webhook_in(place, identity)
        except (IdentityGone, PlaceGone):
            raise
        except Refused as error:
            if is_from_proxy(error):
                raise NotSent(f"before the message: {error.facts}") from error
            raise IdentityGone(error.facts) from error
        except PlatformError as error:
            raise unsent(error) from error
        params = {"wait": "true", "with_components": "true"}
        if thread is not None:
            params["thread_id"] = thread
        path = at("webhooks", webhook.id, webhook.secret or "")
        # The secret in the path is what authorises it.
        whole = msgspec.structs.replace(call, path=path, params=params, token="")
        try:
            return self._receipt(request, place.conversation, await self._parts.client.call(whole))
        except IdentityGone:
            self._parts.threads.manager.forget_webhook(identity.id)
            raise

    def _receipt(self, request: values.SendRequest, channel: str, answer: object) -> values.Receipt:
        """The receipt, with the place in the answer. Raises `Ambiguous` for an answer without a message."""
        posted = read(answer, PostedData)
        place = request.address
        if posted.channel_id != channel:
            place = values.Address(
                channel=self.channel, account=self.account, kind=values.ChatKind.CHANNEL, conversation=posted.channel_id
            )
        return values.Receipt(provider_id=posted.id, address=place, poll_id=None if request.poll is None else posted.id)

    async def act(self, request: ActionRequest) -> values.Receipt:
        return await self._parts.desk.act(request)

    async def ask(self, query: ActionQuery) -> object:
        return await self._parts.desk.ask(query)

    async def resolve_target(self, text: str) -> Resolved | None:
        """Look a name up among the channels and members of the bot's servers."""
        return await self._parts.desk.resolve(text)

    async def open_thread(self, place: values.Address, message_id: str, title: str) -> values.Address:
        """Open the thread on a message, or return the open thread: thread and message have the same id."""
        room = place.parent or place.conversation
        name = cut(title.strip(), _LONGEST_NAME) or "thread"
        thread = message_id
        try:
            answer = await self._parts.client.call(
                post("channels", room, "messages", message_id, "threads", json={"name": name})
            )
            thread = read(answer, ChannelData).id
        except DiscordRefused as error:
            if error.code != THREAD_EXISTS:
                raise
        return values.Address(
            channel=self.channel, account=self.account, kind=values.ChatKind.CHANNEL, conversation=thread, parent=room
        )

    async def open_child(self, parent: values.Address, title: str, key: str) -> values.Address:
        return await self._parts.threads.open_child(parent, title, key)

    async def inspect(self, place: values.Address) -> PlaceState:
        return await self._parts.threads.inspect(place)

    async def reopen(self, place: values.Address) -> None:
        await self._parts.threads.reopen(place)

    async def identity(self, place: values.Address, name: str) -> values.Identity | None:
        return await self._parts.threads.identity(place, name)

    @property
    def _parts(self) -> _Parts:
        if self._running is None:
            raise NotSent("the account is not running")
        return self._running
