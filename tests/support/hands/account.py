"""One account on a platform in memory, which outlives the gateway processes that connect to it."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio
import msgspec

from trunkline.core.channels import Ready
from trunkline.core.errors import NotSent, PlaceGone, PlatformError
from trunkline.core.values import Address, Capabilities, Envelope, Idempotency, Peer, Receipt, SendRequest


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One message that people see."""

    place: Address
    text: str
    key: str
    intent: str
    chunk: int
    #: for whom it is, as far as the gateway says
    recipient: Peer | None
    #: virtual seconds
    at: float


class Account:
    """What a platform knows of one account: what was said and not acknowledged, and what people see."""

    def __init__(self, channel: str, account: str, capabilities: Capabilities) -> None:
        self.channel = channel
        self.account = account
        self.capabilities = capabilities
        #: by number, in order
        self.unacked: dict[int, Envelope] = {}
        self._numbers = 0
        self.seen: list[Seen] = []
        self.receipts: dict[str, Receipt] = {}
        #: errors of the next sends, and conversations that are gone
        self.errors: list[PlatformError] = []
        self.gone: set[tuple[str, str | None]] = set()
        #: why it cannot send now
        self.away = ""
        #: of sends, seconds
        self.latency = 0.0
        self._said = anyio.Event()

    def say(self, envelope: Envelope) -> None:
        self._numbers += 1
        self.unacked[self._numbers] = envelope
        self._said.set()
        self._said = anyio.Event()

    def leave(self, reason: str) -> None:
        """It cannot send any more, which ends its connections, too."""
        self.away = reason
        self._said.set()
        self._said = anyio.Event()

    async def messages(self) -> AsyncGenerator[Envelope, None]:
        """What is not acknowledged, and then what comes."""
        last, away = 0, self.away
        while True:
            if self.away != away:
                raise NotSent("the connection broke")
            for last in [number for number in self.unacked if number > last]:
                yield self.unacked[last]
            await self._said.wait()


class AccountAdapter:
    """`core.ChannelAdapter` of a process for an account."""

    def __init__(self, account: Account) -> None:
        self._of = account
        self.channel, self.account, self.capabilities = account.channel, account.account, account.capabilities

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        yield self._of.messages()

    async def ack(self, envelope: Envelope) -> None:
        waiting = self._of.unacked
        del waiting[next(number for number, one in waiting.items() if one is envelope)]

    async def ready(self) -> Ready:
        return Ready(ok=not self._of.away, reason=self._of.away)

    async def send(self, request: SendRequest) -> Receipt:
        account, place = self._of, request.address
        await anyio.sleep(account.latency)
        if account.away:
            raise NotSent(account.away)
        if account.errors:
            raise account.errors.pop(0)
        if (place.conversation, place.thread) in account.gone or (place.conversation, None) in account.gone:
            raise PlaceGone("it is gone")
        keyed = self.capabilities.idempotency is Idempotency.KEY
        if keyed and request.key in account.receipts:
            return account.receipts[request.key]
        receipt = Receipt(provider_id=f"p{len(account.receipts) + 1}", address=place)
        account.receipts[request.key] = receipt
        account.seen.append(
            Seen(
                place=place,
                text=request.text,
                key=request.key,
                intent=request.intent,
                chunk=request.chunk,
                recipient=request.recipient,
                at=anyio.current_time(),
            )
        )
        return receipt

    async def find(self, address: Address, key: str) -> Receipt | None:
        return self._of.receipts.get(key)

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        raise NotSent("there are no threads to open here")
