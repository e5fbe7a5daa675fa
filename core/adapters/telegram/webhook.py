"""Updates by webhook: Telegram repeats each until an answer with success, given when the message is durable."""

import hmac
import re
from collections.abc import AsyncGenerator
from typing import Any, cast

import anyio
import msgspec
from cachetools import LRUCache

from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.port import WebhookAnswer, WebhookCall
from trunkline.core.adapters.telegram.sends import BotApi, BotCall
from trunkline.core.adapters.telegram.update_types import ALLOWED_UPDATES
from trunkline.core.adapters.telegram.updates import BadUpdate, read_body
from trunkline.core.adapters.webhook_inbox import MessageKey, WebhookInbox, key_of, next_message
from trunkline.core.errors import ConfigError, Refused
from trunkline.core.reasons import Reason
from trunkline.core.values import Envelope

# The updates in the gateway, and which may be confirmed to Telegram.
#
# A poll with an offset makes Telegram forget everything before it, so the offset moves only over updates whose messages
# are durable, and stops at the first that is not. An offset is sent once: without one, Telegram begins with the first
# update that is not confirmed. So it does no harm that Telegram begins with other numbers after a week without updates.


class OpenUpdates:
    """The updates of a bot which Telegram may deliver again."""

    def __init__(self) -> None:
        #: not acknowledged, on this connection or earlier
        self._open: set[int] = set()
        #: handed to the gateway on this connection
        self._handed: set[int] = set()
        #: a message may come in several updates
        self._numbers: dict[MessageKey, set[int]] = {}
        #: needs no acknowledgement any more, and is not confirmed
        self._done: set[int] = set()
        self._changed = anyio.Event()

    def reconnect(self) -> None:
        """A new connection begins: what is not acknowledged is handed out again."""
        self._handed.clear()

    def is_done(self, number: int) -> bool:
        """Whether an update needs no acknowledgement; Telegram shows the update until the confirmation."""
        return number in self._done

    def note_update(self, number: int, envelope: Envelope | None) -> bool:
        """Note an update; returns whether to hand the message out now."""
        if number in self._done or number in self._handed:
            return False
        if envelope is None:
            self._done.add(number)
            return False
        self._handed.add(number)
        self._open.add(number)
        self._numbers.setdefault(key_of(envelope), set()).add(number)
        return True

    def ack(self, envelope: Envelope) -> None:
        numbers = self._numbers.pop(key_of(envelope), set())
        self._open -= numbers
        self._handed -= numbers
        self._done |= numbers
        self._changed.set()

    @property
    def waiting(self) -> int:
        return len(self._open)

    @property
    def offset(self) -> int | None:
        """The number to poll with; None: there is nothing to confirm."""
        last = min(self._open) if self._open else max(self._done, default=-1) + 1
        return last if any(number < last for number in self._done) else None

    def confirm(self, offset: int | None) -> None:
        """Confirm a poll with an offset: both sides forget everything before."""
        if offset is not None:
            self._done = {number for number in self._done if number >= offset}

    async def settle(self, seconds: float) -> None:
        """Wait until every message is acknowledged, for at most `seconds`."""
        with anyio.move_on_after(seconds):
            while self._open:
                self._changed = anyio.Event()
                await self._changed.wait()


_HEADER = "x-telegram-bot-api-secret-token"
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
#: seconds for which Telegram waits for an answer at least, with a margin
_PATIENCE = 50.0
#: seconds between looks at whether Telegram still has the webhook
_LOOK = 60.0
#: acknowledged messages whose repeats are answered at once
_REMEMBERED = 10_000


def check_secret(secret: str) -> str:
    """The secret, checked for Telegram's characters. Raises `ConfigError`."""
    if not _SECRET.fullmatch(secret):
        raise ConfigError("the secret of a Telegram webhook has 1 to 256 letters, digits, `_` and `-`")
    return secret


class BotWebhook:
    """The updates of a bot, brought to the gateway's server."""

    def __init__(self, api: BotApi, events: AccountEvents, account: str, url: str, secret: str) -> None:
        self._api = api
        self._events = events
        self._account = account
        self._url = url
        self._secret = secret
        self._inbox = WebhookInbox()
        self._done: LRUCache[MessageKey, bool] = LRUCache(_REMEMBERED)

    def ack(self, envelope: Envelope) -> None:
        self._done[key_of(envelope)] = True
        self._inbox.ack(envelope)

    async def open(self) -> None:
        more = {"allowed_updates": list(ALLOWED_UPDATES), "secret_token": self._secret, "drop_pending_updates": False}
        await self._api.call(BotCall(method="set_webhook", arguments={"url": self._url}, more=more))
        self._events.record_connection("webhook")

    async def envelopes(self) -> AsyncGenerator[Envelope]:
        """The messages, until Telegram has lost the webhook. Raises `PlatformError`."""
        async with self._inbox.stream() as received:
            while True:
                envelope = None
                with anyio.move_on_after(_LOOK):
                    envelope = await next_message(received)
                if envelope is None:
                    await self._check_webhook()
                else:
                    yield envelope

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
        update = read_body(call.body, self._account, self._events.own)
        content = update.content
        if isinstance(content, BadUpdate):
            # It would be as bad the next time.
            number = "" if update.number is None else str(update.number)
            self._events.record_drop(number, content.detail, content.reason, content.opened)
            return WebhookAnswer()
        if content is None or key_of(content) in self._done:
            return WebhookAnswer()
        # Telegram brings the next message of a chat after this answer: the rest of an act cannot be waited for.
        alone = msgspec.structs.replace(content, act=None)
        return WebhookAnswer(status=200 if await self._inbox.hand_over((alone,), _PATIENCE) else 503)
