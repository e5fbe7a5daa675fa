"""The adapter of a bot on Telegram: `trunkline.core.channels.ChannelAdapter` over the Bot API.

Telegram has neither idempotency keys nor a look-up: a send whose response is lost stays in doubt.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote

import anyio
import msgspec
from telegram import InputFile

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.json_values import parameters_of
from trunkline.core.adapters.media_files import MediaFiles, is_address
from trunkline.core.adapters.port import AdapterHost, WebhookAnswer, WebhookCall
from trunkline.core.adapters.telegram.config import TelegramConfig
from trunkline.core.adapters.telegram.sends import (
    BotApi,
    BotApiAnswer,
    BotCall,
    CallRefused,
    call_of,
    chat_of,
    file_id,
    number_of,
)
from trunkline.core.adapters.telegram.update_types import ALLOWED_UPDATES, CreatedTopic, SentMessage, post_name
from trunkline.core.adapters.telegram.updates import FILE_PREFIX, BadUpdate, ReadUpdate, number_in, read_batch
from trunkline.core.adapters.telegram.webhook import BotWebhook, OpenUpdates, check_secret
from trunkline.core.channels import rules_for
from trunkline.core.channels.account_adapter import AccountAdapter
from trunkline.core.channels.bindings.telegram_topics import TelegramTopics
from trunkline.core.errors import Ambiguous, ConfigError, NotSent, PlatformError, Refused
from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.core.values import Address, Capability, Envelope, Identity, Receipt, SendRequest

# Changes of the gateway as calls of the Bot API, and their answers. Pure.


def change_of(request: ActionRequest) -> BotCall:
    """The call to carry out a change. Raises `Refused` for a change unknown to Telegram."""
    make = _CHANGES.get(request.action)
    if make is None or request.identity is not None:
        raise Refused(f"there is no {request.action.value} on Telegram")
    return make(request)


def after_refusal(request: ActionRequest, answer: BotApiAnswer) -> BotCall | None:
    """The call after a refused change; None for a change already in force. Raises `PlatformError`.

    A repeated deletion finds nothing to delete; the first attempt is refused.
    """
    if answer.no_change or (answer.already_deleted and request.attempt > 1):
        return None
    if request.action is Action.EDIT and answer.has_no_text:
        return _edit_caption(request)
    raise answer.error()


def receipt_of(request: ActionRequest, result: Any) -> Receipt:
    """The receipt of a change: the message, or the created topic."""
    if request.action is Action.TOPIC_CREATE:
        topic = topic_in(result)
        return Receipt(provider_id=topic, address=msgspec.structs.replace(request.address, thread=topic))
    if request.action is Action.TOPIC_EDIT:
        topic = _topic(request)
        return Receipt(provider_id=topic, address=msgspec.structs.replace(request.address, thread=topic))
    return Receipt(provider_id=request.message_id or "", address=request.address)


def topic_in(result: Any) -> str:
    """The number of a created topic. Raises `Ambiguous` for an answer without a number."""
    try:
        return str(msgspec.convert(result, CreatedTopic).message_thread_id)
    except msgspec.ValidationError:
        raise Ambiguous("the answer names no topic") from None


def _of_message(request: ActionRequest) -> dict[str, Any]:
    return {"chat_id": chat_of(request.address), "message_id": number_of(request.message_id, "a message")}


def _formed(request: ActionRequest, name: str) -> dict[str, Any]:
    return {name: request.text} if request.html is None else {name: request.html, "parse_mode": "HTML"}


def _edit(request: ActionRequest) -> BotCall:
    if not request.text.strip():
        raise Refused("the new text is empty")
    more = _formed(request, "text")
    return BotCall(
        method="edit_message_text", arguments={"text": more.pop("text")}, more={**_of_message(request), **more}
    )


def _edit_caption(request: ActionRequest) -> BotCall:
    return BotCall(
        method="edit_message_caption", arguments={}, more={**_of_message(request), **_formed(request, "caption")}
    )


def _react(request: ActionRequest) -> BotCall:
    """Set the reaction: a bot has only one on a message, so to take any away takes all away."""
    emoji = request.text.strip()
    if not emoji and not request.remove:
        raise Refused("there is no emoji")
    reaction = [] if request.remove else [{"type": "emoji", "emoji": emoji}]
    return BotCall(method="set_message_reaction", arguments=_of_message(request), more={"reaction": reaction})


def _pin(request: ActionRequest) -> BotCall:
    return BotCall(method="pin_chat_message", arguments=_of_message(request), more={"disable_notification": True})


def _create_topic(request: ActionRequest) -> BotCall:
    fields = parameters_of(request.fields)
    more = _given(fields, {"iconColor": "icon_color", "iconCustomEmojiId": "icon_custom_emoji_id"})
    name = _word(request, fields, "name", "threadName")
    return BotCall(
        method="create_forum_topic", arguments={"chat_id": chat_of(request.address), "name": name}, more=more
    )


def _edit_topic(request: ActionRequest) -> BotCall:
    fields = parameters_of(request.fields)
    more = _given(fields, {"iconCustomEmojiId": "icon_custom_emoji_id"})
    more["name"] = _word(request, fields, "name", "topicName")
    arguments = {"chat_id": chat_of(request.address), "message_thread_id": number_of(_topic(request), "a topic")}
    return BotCall(method="edit_forum_topic", arguments=arguments, more=more)


def _topic(request: ActionRequest) -> str:
    fields = parameters_of(request.fields)
    named = fields.get("threadId") or fields.get("messageThreadId")
    topic = request.address.thread if request.address.thread is not None else named
    if topic is None:
        raise Refused("no such topic")
    return str(topic)


def _given(fields: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {theirs: fields[ours] for ours, theirs in names.items() if fields.get(ours) is not None}


def _word(request: ActionRequest, fields: dict[str, Any], *names: str) -> str:
    found = next((str(fields[name]).strip() for name in names if fields.get(name)), "") or request.text.strip()
    if not found:
        raise Refused(f"{names[0]} is missing")
    return found


_CHANGES: dict[Action, Callable[[ActionRequest], BotCall]] = {
    Action.EDIT: _edit,
    Action.DELETE: lambda request: BotCall(method="delete_message", arguments=_of_message(request)),
    Action.REACT: _react,
    Action.PIN: _pin,
    Action.UNPIN: lambda request: BotCall(method="unpin_chat_message", arguments=_of_message(request)),
    Action.TOPIC_CREATE: _create_topic,
    Action.TOPIC_EDIT: _edit_topic,
}
CHANGES = frozenset(_CHANGES)


# Updates by long polling.
#
# The connection is a sequence of polls. One that gets no answer in time is dead, whatever the socket says, and ends the
# stream with an error, as any other failure does; the gateway connects again. Nothing is lost by that: Telegram keeps
# what is not confirmed.

#: updates of one answer
_LIMIT = 100
#: seconds for which the first messages may keep Telegram from showing any other
_STALLED = 60.0
#: seconds between polls while messages are not acknowledged, at first and at most: Telegram answers each at once
_PAUSE, _LONGEST_PAUSE = 0.5, 5.0
#: name of the cursor, and seconds for which it is good: after a week without updates their numbers begin again
_CURSOR, _LONGEST = "offset", 5 * 86_400.0


class LongPolling:
    def __init__(self, api: BotApi, host: AdapterHost, events: AccountEvents) -> None:
        self._api = api
        self._host = host
        self._events = events
        self._updates = OpenUpdates()
        self._saved: int | None = None
        #: the answer to the poll with which the connection began
        self._first = b""

    def ack(self, envelope: Envelope) -> None:
        self._updates.ack(envelope)

    async def open(self) -> None:
        """End a webhook, which would keep polls from being answered, but keep the pending updates; then poll once.

        So a token that is not accepted, or another program that asks for the same updates, fails the connection.
        """
        await self._api.call(BotCall(method="delete_webhook", arguments={"drop_pending_updates": False}))
        self._updates.reconnect()
        self._first = await self._poll(_LIMIT, await self._load(), hold=False)
        self._events.record_connection("polling")

    async def envelopes(self) -> AsyncGenerator[Envelope]:
        """The messages, until a poll fails. Raises `PlatformError`."""
        limit, body, pause, began = _LIMIT, self._first, _PAUSE, -_PAUSE
        moved = anyio.current_time()
        while True:
            batch = read_batch(body, self._host.account, self._events.own)
            if batch is None:
                batch, limit = self._unreadable(body, limit)
            else:
                limit = _LIMIT
            fresh = self._fresh(batch)
            if fresh or len(batch) < _LIMIT:
                moved = anyio.current_time()
            elif self._updates.waiting == _LIMIT or anyio.current_time() - moved > _STALLED:
                raise NotSent(f"{self._updates.waiting} messages wait to be acknowledged; they are asked for again")
            for envelope in fresh:
                yield envelope
            if all(update.number is None for update in batch):
                # Not every server waits as long as it was asked to, and nothing confirms an update without a number.
                await anyio.sleep(max(0.0, _PAUSE - (anyio.current_time() - began)))
            pause = _PAUSE if fresh else min(2 * pause, _LONGEST_PAUSE)
            await self._updates.settle(pause)
            began = anyio.current_time()
            body = await self._poll(limit)

    async def _poll(self, limit: int, known: int | None = None, *, hold: bool = True) -> bytes:
        """The answer to a poll, which confirms what is durable. `known`: how far an earlier process was."""
        offset = self._updates.offset
        if offset is not None:
            await self._save(offset)
        offset = known if offset is None else offset
        body = await self._api.updates(offset, ALLOWED_UPDATES, limit, hold=hold)
        self._updates.confirm(offset)
        return body

    def _fresh(self, batch: list[ReadUpdate]) -> list[Envelope]:
        """The messages new to the gateway. Unreadable updates are recorded, and passed over."""
        found: list[Envelope] = []
        for update in batch:
            content = update.content
            if isinstance(content, BadUpdate):
                if update.number is None or not self._updates.is_done(update.number):
                    number = "" if update.number is None else str(update.number)
                    self._events.record_drop(number, content.detail, content.reason, content.opened)
                content = None
            if update.number is not None and self._updates.note_update(update.number, content) and content is not None:
                found.append(content)
        return found

    def _unreadable(self, body: bytes, limit: int) -> tuple[list[ReadUpdate], int]:
        """The batch and limit after an answer without JSON: ask for single updates, and pass over the bad one."""
        if limit > 1:
            return [], 1
        number = number_in(body)
        if number is None:
            raise Ambiguous("the answer to a poll cannot be read")
        return [ReadUpdate(number=number, content=BadUpdate(detail="no JSON"))], limit

    async def _load(self) -> int | None:
        """The offset of an earlier process; None if unknown, or too old, as numbers may have begun again."""
        found = await self._host.cursors.load(_CURSOR)
        try:
            offset, at = json.loads(found or "null")
        except (ValueError, TypeError, RecursionError):
            return None
        if not isinstance(offset, int) or not isinstance(at, int | float):
            return None
        return offset if 0 <= self._host.env.now() - at < _LONGEST else None

    async def _save(self, offset: int) -> None:
        if offset != self._saved:
            await self._host.cursors.save(_CURSOR, json.dumps([offset, self._host.env.now()]))
            self._saved = offset


class BotTopics:
    def __init__(self, api: BotApi) -> None:
        self._api = api

    async def create_forum_topic(self, chat: int, name: str) -> int:
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
    {Action.REPLY, Action.THREAD_REPLY, Action.SEND_ATTACHMENT, Action.UPLOAD_FILE, Action.POLL, Action.STICKER}
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
        self._events.own.learn(number)
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
            self._source = LongPolling(api, self._host, self._events)
        else:
            url = f"{self._config.webhook.url.rstrip('/')}/v1/platforms/{_CHANNEL}/{quote(self.account, safe='')}"
            self._source = BotWebhook(api, self._events, self.account, url, self._secret)
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

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope]]:
        source = self._running(self._source)
        await source.open()
        envelopes = source.envelopes()
        try:
            yield envelopes
        finally:
            await envelopes.aclose()

    def connect_reopened(self, call: Callable[[Address], None]) -> None:
        self._events.reopened = call

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

    async def send(self, request: SendRequest) -> Receipt:
        api = self._running(self._api)
        self.check_sendable(request)
        files = {source: await self._load(source, request) for source in request.media}
        found = await api.call(call_of(request, files))
        receipt, kind = _receipt(request.address, found)
        if kind == "channel":
            # It comes back in the group for the discussion of the channel.
            self._events.own.learn(post_name(receipt.address.conversation, receipt.provider_id))
        return receipt

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


def _receipt(asked: Address, found: Any) -> tuple[Receipt, str]:
    """The receipt of a sent message, or of the first of an album, with Telegram's place; and the type of the chat."""
    try:
        message = msgspec.convert(found[0] if isinstance(found, list) else found, SentMessage)
    except (msgspec.ValidationError, IndexError):
        raise Ambiguous("the answer names no message") from None
    topic = message.message_thread_id if message.is_topic_message else None
    thread = None if topic is None else str(topic)
    if message.direct_messages_topic is not None:
        thread = f"dm{message.direct_messages_topic.topic_id}"
    address = msgspec.structs.replace(asked, conversation=str(message.chat.id), thread=thread, parent=None)
    poll = None if message.poll is None else message.poll.id
    return Receipt(provider_id=str(message.message_id), address=address, poll_id=poll), message.chat.type
