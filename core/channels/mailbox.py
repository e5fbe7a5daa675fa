"""The adapter of a mailbox account: an account whose people are reached through the API.

What the gateway sends is stored in the mailbox, which their clients read; that it is stored is its acceptance. What
people write comes by `Gateway.receive`. Any channel can have such an account: then a bridge of one's own speaks to the
platform.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager

import anyio

from trunkline.core.channels.adapter import InboundStream
from trunkline.core.env import Env
from trunkline.core.errors import Ambiguous, IdentityGone, Refused, StoreError
from trunkline.core.store.mailbox import MailboxMessage, MailboxPage, PostToMailbox, ReadMailbox
from trunkline.core.store.port import Store
from trunkline.core.values import (
    Address,
    Capabilities,
    Capability,
    Envelope,
    Idempotency,
    Receipt,
    SendRequest,
)

#: characters of one message
_TEXT_LIMIT = 32_000
CAPABILITIES = Capabilities(
    can=frozenset(Capability),
    # A message is found under its key for as long as anything of its intent is kept.
    idempotency=Idempotency.KEY,
    in_flight_seconds=0.0,
    text_limit=_TEXT_LIMIT,
)


class MailboxAdapter:
    """A mailbox account over the gateway's own store."""

    def __init__(self, channel: str, account: str, store: Store, env: Env) -> None:
        self.channel = channel
        self.account = account
        self.capabilities = CAPABILITIES
        self._store = store
        self._env = env
        #: those who wait for a message, by conversation; none: for any
        self._waiting: dict[str | None, set[anyio.Event]] = {}

    def connect(self) -> InboundStream:
        return _nothing()

    async def ack(self, envelope: Envelope) -> None:
        """Nothing is acknowledged: who hands a message over waits until it is durable."""

    async def send(self, request: SendRequest) -> Receipt:
        if request.identity is not None:
            raise IdentityGone("a mailbox has no webhooks")
        if len(request.text) > _TEXT_LIMIT:
            raise Refused(f"a text of {len(request.text)} characters; a mailbox takes {_TEXT_LIMIT}")
        message = MailboxMessage(
            key=request.key,
            intent=request.intent,
            chunk=request.chunk,
            address=request.address,
            text=request.text,
            media=request.media,
            reply_to=request.reply_to,
            poll=request.poll,
            payload=request.payload,
            parts=request.parts,
            recipient=request.recipient,
        )
        try:
            n = await self._store.write(
                PostToMailbox(message=message, now=self._env.now()),
                lambda n: n,
                then=lambda _: self._posted(request.address.conversation),
            )
        except StoreError as error:
            raise Ambiguous(error.facts) from error
        return Receipt(provider_id=str(n), address=request.address)

    async def find(self, address: Address, key: str) -> Receipt | None:
        raise Refused("a mailbox is not looked up: a repeated key is stored once")

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        raise Refused("threads of a mailbox are opened by its clients")

    # ------------------------------------------------------------ clients

    async def read(self, *, after: int = 0, conversation: str | None = None, limit: int = 100) -> MailboxPage:
        """The messages behind number `after`, of all conversations or of one."""
        return await self._store.read(
            ReadMailbox(channel=self.channel, account=self.account, conversation=conversation, after=after, limit=limit)
        )

    async def next(self, *, after: int = 0, conversation: str | None = None, limit: int = 100) -> MailboxPage:
        """As `read`, but waits until there is a message."""
        while True:
            with self._watching(conversation) as posted:
                page = await self.read(after=after, conversation=conversation, limit=limit)
                if page.messages:
                    return page
                await posted.wait()

    @contextmanager
    def _watching(self, conversation: str | None) -> Generator[anyio.Event]:
        """An event that is set by the next message."""
        waiting = self._waiting.setdefault(conversation, set())
        posted = anyio.Event()
        waiting.add(posted)
        try:
            yield posted
        finally:
            waiting.discard(posted)
            if not waiting and self._waiting.get(conversation) is waiting:
                del self._waiting[conversation]

    def _posted(self, conversation: str) -> None:
        for place in (conversation, None):
            for posted in self._waiting.get(place, ()):
                posted.set()


@asynccontextmanager
async def _nothing() -> AsyncGenerator[AsyncIterator[Envelope]]:
    yield _no_messages()


async def _no_messages() -> AsyncIterator[Envelope]:
    """The stream of inbound messages, which has none."""
    await anyio.sleep_forever()
    for envelope in ():
        yield envelope
