"""The adapter of a bot on Telegram: `trunkline.core.channels.ChannelAdapter` over the Bot API.

Telegram has neither idempotency keys nor a look-up: a send whose response is lost stays in doubt.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote

import anyio
import msgspec
from telegram import InputFile

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.account_adapter import AccountAdapter
from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.media_files import MediaFiles, is_address
from trunkline.core.adapters.port import AdapterHost, WebhookAnswer, WebhookCall
from trunkline.core.adapters.telegram.changes import CHANGES, after_refusal, change_of, receipt_of, topic_in
from trunkline.core.adapters.telegram.config import TelegramConfig
from trunkline.core.adapters.telegram.polling import LongPolling
from trunkline.core.adapters.telegram.requests import BotApi, BotCall, CallRefused
from trunkline.core.adapters.telegram.sends import call_of, file_id
from trunkline.core.adapters.telegram.update_types import SentMessage
from trunkline.core.adapters.telegram.updates import FILE_PREFIX
from trunkline.core.adapters.telegram.webhook import BotWebhook, check_secret
from trunkline.core.channels import rules_for
from trunkline.core.channels.bindings.telegram_topics import TelegramTopics
from trunkline.core.errors import Ambiguous, ConfigError, NotSent, PlatformError
from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.core.values import Address, Capability, Envelope, Identity, Receipt, SendRequest


class BotTopics:
    """The requests of a bot about topics."""

    def __init__(self, api: BotApi) -> None:
        self._api = api

    async def create_forum_topic(self, chat: int, name: str) -> int:
        """Create a topic; returns the number."""
        found = await self._api.call(BotCall(method="create_forum_topic", arguments={"chat_id": chat, "name": name}))
        return int(topic_in(found))

    async def reopen_forum_topic(self, chat: int, topic: int) -> None:
        """Reopen a closed topic; an open topic stays open."""
        arguments = {"chat_id": chat, "message_thread_id": topic}
        try:
            await self._api.attempt(BotCall(method="reopen_forum_topic", arguments=arguments))
        except CallRefused as refused:
            if not refused.answer.no_change:
                raise refused.answer.error() from None

    async def send_typing(self, chat: int, topic: int | None) -> None:
        """Show the bot as typing; refused wherever a message would be."""
        more = {} if topic is None else {"message_thread_id": topic}
        await self._api.call(
            BotCall(method="send_chat_action", arguments={"chat_id": chat, "action": "typing"}, more=more)
        )


T = TypeVar("T")

_CHANNEL = "telegram"
_CAN = frozenset(
    {
        Capability.TEXT,
        Capability.MEDIA,
        Capability.POLL,
        Capability.PAYLOAD,
        Capability.THREADS,
        Capability.SILENT,
        Capability.BUTTONS,
        Capability.MESSAGE_IDS,
    }
)
#: messages in other forms
_MESSAGES = frozenset(
    {
        Action.REPLY,
        Action.THREAD_REPLY,
        Action.SEND_ATTACHMENT,
        Action.UPLOAD_FILE,
        Action.POLL,
        Action.STICKER,
    }
)
_POLL_OPTIONS = 12
#: bytes; the Bot API takes no larger uploads
_LARGEST_FILE = 50 * 1024 * 1024


class TelegramAdapter(AccountAdapter):
    """A bot, by long polling or by webhook."""

    def __init__(self, config: TelegramConfig, host: AdapterHost) -> None:
        capabilities = msgspec.structs.replace(
            rules_for(_CHANNEL).capabilities,
            can=_CAN,
            actions=_MESSAGES | CHANGES,
            poll_options=_POLL_OPTIONS,
            in_flight_seconds=30.0,
        )
        super().__init__(_CHANNEL, host.account, capabilities)
        self._config = config
        self._host = host
        self._events = AccountEvents(host, _CHANNEL)
        self._token = host.secret(config.token)
        number = self._token.partition(":")[0]
        if not number.isdecimal():
            raise ConfigError("the token of a Telegram bot is its number, a colon and letters, as @BotFather gave it")
        self._bot = int(number)
        self._secret = None if config.webhook is None else check_secret(host.secret(config.webhook.secret))
        self._files = MediaFiles(host, config.files, config.request_timeout, limit=_LARGEST_FILE)
        self._api: BotApi | None = None
        self._source: LongPolling | BotWebhook | None = None
        self._topics: TelegramTopics | None = None
        #: answers to presses that are on their way
        self._answering: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Hold the adapter's resources while the block runs. Opens no connection."""
        self._api = api = BotApi(self._config, self._token)
        self._topics = TelegramTopics(BotTopics(api))
        if self._config.webhook is None or self._secret is None:
            self._source = LongPolling(api, self._host, self._events, self._bot)
        else:
            url = f"{self._config.webhook.url.rstrip('/')}/v1/platforms/{_CHANNEL}/{quote(self.account, safe='')}"
            self._source = BotWebhook(api, self._events, self.account, self._bot, url, self._secret)
        thrown_away = False
        try:
            yield
        except GeneratorExit:
            # Nothing can be awaited any more, and nobody uses the connections.
            thrown_away = True
            raise
        finally:
            for task in tuple(self._answering):
                task.cancel()
            self._api = self._source = self._topics = None
            if not thrown_away:
                with anyio.CancelScope(shield=True):
                    await api.close()

    # ------------------------------------------------------------ inbound

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope]]:
        """Receive updates, by polls or by webhooks."""
        source = self._running(self._source)
        await source.open()
        envelopes = source.envelopes()
        try:
            yield envelopes
        finally:
            await envelopes.aclose()

    async def ack(self, envelope: Envelope) -> None:
        """Note a durable message: Telegram learns of it by the next poll, or by the response to the webhook."""
        self._running(self._source).ack(envelope)
        if envelope.pressed is not None:
            task = asyncio.create_task(self._answer_press(envelope.message_id))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def _answer_press(self, press: str) -> None:
        """End the progress display of the pressed button, which is independent of the press."""
        with suppress(PlatformError):
            await self._running(self._api).call(
                BotCall(method="answer_callback_query", arguments={"callback_query_id": press})
            )

    async def webhook(self, call: WebhookCall) -> WebhookAnswer:
        """Take a request to the account's address; without a webhook there is none."""
        if not isinstance(self._source, BotWebhook):
            return WebhookAnswer(status=404)
        return await self._source.answer_call(call)

    # ------------------------------------------------------------ outbound

    async def send(self, request: SendRequest) -> Receipt:
        api = self._running(self._api)
        self.check_sendable(request)
        files = {source: await self._load(source, request) for source in request.media}
        found = await api.call(call_of(request, files))
        return _receipt(request.address, found)

    async def _load(self, source: str, request: SendRequest) -> str | InputFile:
        """Load a file of this machine; an address of the web is read by Telegram itself."""
        if is_address(source):
            return source
        if source.startswith(FILE_PREFIX):
            return file_id(source)
        file = await self._files.read(source)
        shown = request.parts.file_name if request.parts is not None and len(request.media) == 1 else None
        return InputFile(file.content, filename=shown or file.name, attach=True)

    async def act(self, request: ActionRequest) -> Receipt:
        """Carry out a change. A change already in force succeeds."""
        api = self._running(self._api)
        try:
            found = await api.attempt(change_of(request))
        except CallRefused as refused:
            instead = after_refusal(request, refused.answer)
            if instead is None:
                return receipt_of(request, None)
            found = await api.call(instead)
        return receipt_of(request, found)

    # ------------------------------------------------------------ trunkline.core.bindings.port.BindsConversations

    @property
    def placements(self) -> tuple[Placement, ...]:
        return TelegramTopics.placements

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        return await self._running(self._topics).open_child(parent, title, key)

    async def inspect(self, place: Address) -> PlaceState:
        return await self._running(self._topics).inspect(place)

    async def reopen(self, place: Address) -> None:
        await self._running(self._topics).reopen(place)

    async def identity(self, place: Address, name: str) -> Identity | None:
        return await self._running(self._topics).identity(place, name)

    def _running(self, part: T | None) -> T:
        if part is None:
            raise NotSent("the adapter does not run")
        return part


def _receipt(asked: Address, found: Any) -> Receipt:
    """The receipt of a sent message, or of the first of an album, with Telegram's place."""
    try:
        message = msgspec.convert(found[0] if isinstance(found, list) else found, SentMessage)
    except (msgspec.ValidationError, IndexError):
        raise Ambiguous("the answer names no message") from None
    topic = message.message_thread_id if message.is_topic_message else None
    address = msgspec.structs.replace(
        asked, conversation=str(message.chat.id), thread=None if topic is None else str(topic), parent=None
    )
    poll = None if message.poll is None else message.poll.id
    return Receipt(provider_id=str(message.message_id), address=address, poll_id=poll)
