"""Updates by webhook: Telegram repeats each until an answer with success, given when the message is durable."""

from __future__ import annotations

import hmac
import re
from collections.abc import AsyncGenerator
from typing import Any, cast

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from cachetools import LRUCache

from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.port import WebhookAnswer, WebhookCall
from trunkline.core.adapters.telegram.open_updates import MessageKey, key_of
from trunkline.core.adapters.telegram.requests import BotApi, BotCall
from trunkline.core.adapters.telegram.update_types import ALLOWED_UPDATES
from trunkline.core.adapters.telegram.updates import BadUpdate, read_body
from trunkline.core.errors import ConfigError, Refused
from trunkline.core.reasons import Reason
from trunkline.core.values import Envelope

_HEADER = "x-telegram-bot-api-secret-token"
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
#: seconds for which Telegram waits for an answer at least, with a margin
_PATIENCE = 50.0
#: seconds between looks at whether Telegram still has the webhook
_LOOK = 60.0
#: messages that wait for the gateway
_MOST = 1000
#: acknowledged messages whose repeats are answered at once
_REMEMBERED = 10_000


def check_secret(secret: str) -> str:
    """The secret, checked for Telegram's characters. Raises `ConfigError`."""
    if not _SECRET.fullmatch(secret):
        raise ConfigError("the secret of a Telegram webhook has 1 to 256 letters, digits, `_` and `-`")
    return secret


class BotWebhook:
    """The updates of a bot, brought to the gateway's server."""

    def __init__(self, api: BotApi, events: AccountEvents, account: str, bot: int, url: str, secret: str) -> None:
        self._api = api
        self._events = events
        self._account = account
        self._bot = bot
        self._url = url
        self._secret = secret
        self._sender: MemoryObjectSendStream[Envelope] | None = None
        #: message -> the event that ends the wait for its acknowledgement
        self._open: dict[MessageKey, anyio.Event] = {}
        self._done: LRUCache[MessageKey, bool] = LRUCache(_REMEMBERED)

    def ack(self, envelope: Envelope) -> None:
        """A message is durable."""
        key = key_of(envelope)
        self._done[key] = True
        waiting = self._open.pop(key, None)
        if waiting is not None:
            waiting.set()

    async def open(self) -> None:
        """Give Telegram the address to bring updates to."""
        more = {"allowed_updates": list(ALLOWED_UPDATES), "secret_token": self._secret, "drop_pending_updates": False}
        await self._api.call(BotCall(method="set_webhook", arguments={"url": self._url}, more=more))
        self._events.record_connection("webhook")

    async def envelopes(self) -> AsyncGenerator[Envelope]:
        """The messages, until Telegram has lost the webhook. Raises `PlatformError`."""
        sender, receiver = anyio.create_memory_object_stream[Envelope](_MOST)
        self._sender = sender
        try:
            with sender, receiver:
                while True:
                    envelope = None
                    with anyio.move_on_after(_LOOK):
                        envelope = await receiver.receive()
                    if envelope is None:
                        await self._check_webhook()
                    else:
                        yield envelope
        finally:
            if self._sender is sender:
                self._sender = None
            # Telegram brings again what was not acknowledged.
            for waiting in self._open.values():
                waiting.set()
            self._open.clear()

    async def _check_webhook(self) -> None:
        """Raise `Refused` if somebody else has set another webhook, or none."""
        info = await self._api.call(BotCall(method="get_webhook_info", arguments={}))
        if not isinstance(info, dict) or cast("dict[str, Any]", info).get("url") != self._url:
            raise Refused("another program has changed the webhook of this bot; it is set again")

    async def answer_call(self, call: WebhookCall) -> WebhookAnswer:
        """Answer a call: with success once the message, if there is one, is durable."""
        if call.tail or call.method != "POST":
            return WebhookAnswer(status=404 if call.tail else 405)
        given = call.headers.get(_HEADER, "")
        if not hmac.compare_digest(given.encode("utf-8", "backslashreplace"), self._secret.encode()):
            self._events.record_refusal(Reason.BAD_SIGNATURE, "no secret" if not given else "another secret")
            return WebhookAnswer(status=401)
        update = read_body(call.body, self._account, self._bot)
        content = update.content
        if isinstance(content, BadUpdate):
            # It would be as bad the next time.
            self._events.record_drop("" if update.number is None else str(update.number), content.detail)
            return WebhookAnswer()
        return WebhookAnswer() if content is None else await self._hand_over(content)

    async def _hand_over(self, envelope: Envelope) -> WebhookAnswer:
        key = key_of(envelope)
        if key in self._done:
            return WebhookAnswer()
        waiting = self._open.get(key)
        if waiting is None:
            sender = self._sender
            if sender is None:
                return WebhookAnswer(status=503)
            waiting = self._open[key] = anyio.Event()
            try:
                sender.send_nowait(envelope)
            except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
                del self._open[key]
                return WebhookAnswer(status=503)
        with anyio.move_on_after(_PATIENCE):
            await waiting.wait()
        return WebhookAnswer(status=200 if key in self._done else 503)
