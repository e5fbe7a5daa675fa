"""Webhooks of the Cloud API: one address for each number, signed, and delivered again until it answers with success."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import aiohttp
import msgspec

from trunkline.core.errors import PlatformError
from trunkline.core.values import ChatKind, Envelope
from trunkline.sim.loop import Node
from trunkline.sim.platforms.api.inbound_pushes import Connection
from trunkline.sim.platforms.channels.whatsapp import FakeWhatsApp
from trunkline.sim.platforms.rooms import WorldPort, digits

#: seconds until a webhook is delivered again; doubles up to the last
_AGAIN_FIRST, _AGAIN_LAST = 0.3, 60.0
#: seconds that the address has to answer
_PATIENCE = 30.0
#: seconds for which a message waits for the delivery of the one before it
_BEHIND = 1.0
#: seconds until the messages of an account are asked for again
_RECONNECT = 0.3
_SUCCESS = range(200, 300)


class WebhookNumber(msgspec.Struct, frozen=True, kw_only=True):
    """The number of an account: what every webhook says of it, and what signs them."""

    account: str
    #: id of the business account
    waba: str
    id: str
    display: str
    secret: str

    def body(self, **parts: Any) -> bytes:
        """A webhook about messages."""
        metadata = {"display_phone_number": self.display.removeprefix("+"), "phone_number_id": self.id}
        value = {"messaging_product": "whatsapp", "metadata": metadata, **parts}
        entry = {"id": self.waba, "changes": [{"value": value, "field": "messages"}]}
        return json.dumps({"object": "whatsapp_business_account", "entry": [entry]}).encode()


def scoped_id(number: str) -> str:
    """The business-scoped id of the person with a number."""
    return f"US.{digits('whatsapp', 'scoped', number, length=16)}"


def status_parts(
    message_id: str, recipient: str, status: str, at: float, errors: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """A report about a message of the account as a webhook has it."""
    number = recipient.removeprefix("+")
    found: dict[str, Any] = {"id": message_id, "status": status, "timestamp": str(int(at)), "recipient_id": number}
    found["recipient_user_id"] = scoped_id(number)
    if errors:
        found["errors"] = list(errors)
    return {"contacts": [{"wa_id": number, "user_id": scoped_id(number)}], "statuses": [found]}


def message_parts(envelope: Envelope, sent_at: float) -> dict[str, Any]:
    """A person's message as a webhook has it."""
    number = envelope.peer.id.removeprefix("+")
    scoped = scoped_id(number)
    message: dict[str, Any] = {"from": number, "from_user_id": scoped, "id": envelope.message_id}
    message["timestamp"] = str(int(sent_at))
    if envelope.address.kind is ChatKind.GROUP:
        message["group_id"] = envelope.address.conversation
    quoted = envelope.reply_to if envelope.pressed is None else envelope.pressed
    if quoted is not None:
        message["context"] = {"id": quoted}
    if envelope.pressed is None:
        message |= {"type": "text", "text": {"body": envelope.text}}
    else:
        reply = {"id": envelope.text, "title": envelope.text}
        message |= {"type": "interactive", "interactive": {"type": "button_reply", "button_reply": reply}}
    contact = {"profile": {"name": envelope.peer.name}, "wa_id": number, "user_id": scoped}
    return {"contacts": [contact], "messages": [message]}


def signed(secret: str, body: bytes) -> dict[str, str]:
    """The headers of a webhook."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={digest}", "Content-Type": "application/json"}


class WebhookPusher:
    """Delivers what happens on one account to its address, while it runs."""

    def __init__(
        self, platform: FakeWhatsApp, world: WorldPort, number: WebhookNumber, url: str, *, epoch: float
    ) -> None:
        self._platform, self._world, self._number = platform, world, number
        self._account, self._url, self._epoch = number.account, url, epoch
        #: the newest delivery of each conversation
        self._newest: dict[str, asyncio.Event] = {}
        #: ids of messages that are being delivered
        self._going: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None
        self._connection: Connection | None = None
        #: number of deliveries so far
        self.deliveries = 0

    def start(self) -> None:
        """Begin to deliver."""
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_PATIENCE))
            self._run(self._read_connections())

    async def stop(self) -> None:
        """Stop; what was not delivered waits for the next start."""
        session, self._session = self._session, None
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._going.clear()
        if self._connection is not None:
            self._platform.pushes.disconnect(self._account, self._connection)
            self._connection = None
        if session is not None:
            await session.close()

    def _run(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read_connections(self) -> None:
        while True:
            if not self._world.account_fault("connect", self._platform.channel, self._account):
                await self._read_connection()
            await asyncio.sleep(_RECONNECT)

    async def _read_connection(self) -> None:
        connection = self._connection = self._platform.pushes.connect(self._account, Node("meta"))
        while not isinstance(found := await connection.queue.get(), PlatformError):
            if found.message_id not in self._going:
                self._going.add(found.message_id)
                self._run(self._message(found))

    async def _message(self, envelope: Envelope) -> None:
        body = self._number.body(**message_parts(envelope, self._epoch + envelope.sent_at))
        conversation, done = envelope.address.conversation, asyncio.Event()
        earlier, self._newest[conversation] = self._newest.get(conversation), done
        try:
            if earlier is not None:
                # Meta promises no order, but does not turn around what it delivers without trouble.
                with suppress(TimeoutError):
                    await asyncio.wait_for(earlier.wait(), _BEHIND)
            await self._deliver(body)
        finally:
            done.set()
            self._going.discard(envelope.message_id)
        self._platform.pushes.ack(envelope)

    def report(self, message_id: str, recipient: str, *statuses: str, errors: Sequence[dict[str, Any]] = ()) -> None:
        """Deliver reports about a message of the account: ``sent``, ``delivered``, ``read`` or ``failed``."""
        self._run(self._reports(message_id, recipient, statuses, errors))

    async def _reports(
        self, message_id: str, recipient: str, statuses: Sequence[str], errors: Sequence[dict[str, Any]]
    ) -> None:
        for status in statuses:
            at = self._epoch + self._world.now()
            await self._deliver(self._number.body(**status_parts(message_id, recipient, status, at, errors)))

    async def _deliver(self, body: bytes) -> None:
        """Deliver a webhook until it is answered with success."""
        wait = _AGAIN_FIRST
        while not await self._post(body):
            await asyncio.sleep(wait)
            wait = min(2 * wait, _AGAIN_LAST)

    async def _post(self, body: bytes) -> bool:
        assert self._session is not None
        self.deliveries += 1
        try:
            async with self._session.post(self._url, data=body, headers=signed(self._number.secret, body)) as response:
                return response.status in _SUCCESS
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False


async def answers_challenge(url: str, word: str) -> bool:
    """Whether an address answers the question of a subscription with its challenge."""
    challenge = str(1_158_201_444)
    query = {"hub.mode": "subscribe", "hub.verify_token": word, "hub.challenge": challenge}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_PATIENCE)) as session,
            session.get(url, params=query) as response,
        ):
            return response.status in _SUCCESS and (await response.text()).strip() == challenge
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False
