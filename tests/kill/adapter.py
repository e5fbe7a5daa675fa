"""A channel adapter over a socket, as one for a real platform is: a stream of messages, and requests of their own.

Requests go over connections that are kept, one request at a time on each; one that failed in any way is closed.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import anyio

from tests.kill.nonsense import Nonsense, is_odd, misbehave_in, odd_envelopes, odd_receipt
from tests.kill.wire import GONE, Ack, Answer, Find, Hello, Said, Send, Wire
from tests.kill.words import LIMIT
from trunkline import Address, Capabilities, ChatKind, Envelope, Idempotency, Peer, Receipt, SendRequest
from trunkline.core.channels import InboundStream
from trunkline.core.errors import Ambiguous, NotSent, PlatformError, RateLimited, Refused

CHANNEL = "loopback"


def address_of(conversation: str) -> Address:
    """The place of a conversation; its first letter tells what it is."""
    kind = ChatKind.GROUP if conversation.startswith("g") else ChatKind.DIRECT
    return Address(channel=CHANNEL, account="default", kind=kind, conversation=conversation)


class SocketAdapter:
    """`core.ChannelAdapter` for the fake platform in `tests.kill.platform`."""

    channel = CHANNEL
    account = "default"

    def __init__(
        self,
        *,
        people: int,
        requests: int,
        idempotency: Idempotency,
        in_flight: float,
        process: int,
        hasty: bool = False,
        nonsense: Nonsense,
    ) -> None:
        self.capabilities = Capabilities(idempotency=idempotency, text_limit=LIMIT, in_flight_seconds=in_flight)
        self._people = people
        self._requests = requests
        self._process = process
        #: a wrong adapter, that calls messages safe before the gateway does
        self._hasty = hasty
        self._nonsense = nonsense
        self._dice = Random(f"adapter {process}")
        #: odd envelopes of this process that were not acknowledged
        self._odd: list[Envelope] = odd_envelopes(address_of("eve")) if nonsense.envelopes else []
        self._stream: Wire | None = None
        self._idle: list[Wire] = []

    def connect(self) -> InboundStream:
        """See `core.ChannelAdapter.connect`."""
        return self._connected()

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        wire = await open_wire(self._people)
        try:
            await wire.tell(Hello(role="adapter", process=self._process))
            self._stream = wire
            yield self._envelopes(wire)
        except GONE as error:
            raise NotSent(f"the stream of messages broke ({error!r})") from error
        finally:
            self._stream = None
            with anyio.CancelScope(shield=True):
                await wire.close()
                for idle in self._idle:
                    await idle.close()
                self._idle.clear()

    async def _envelopes(self, wire: Wire) -> AsyncGenerator[Envelope, None]:
        for odd in tuple(self._odd):
            yield odd
        while True:
            said = await wire.hear()
            assert isinstance(said, Said)
            envelope = Envelope(
                address=address_of(said.conversation),
                peer=Peer(id=said.conversation, name=said.conversation.title()),
                message_id=said.id,
                text=said.text,
                sent_at=said.at,
            )
            if self._hasty:
                await wire.tell(Ack(id=said.id))
            yield envelope
            if self._chance(self._nonsense.envelopes):
                yield self._dice.choice(odd_envelopes(address_of("eve")))

    async def ack(self, envelope: Envelope) -> None:
        """See `core.ChannelAdapter.ack`."""
        if is_odd(envelope):
            self._odd = [odd for odd in self._odd if odd != envelope]
            return
        if self._stream is None:
            raise NotSent("not connected")
        try:
            await self._stream.tell(Ack(id=envelope.message_id))
        except GONE as error:
            raise Ambiguous(f"the connection broke ({error!r})") from error
        if self._chance(self._nonsense.acks):
            if self._dice.random() < 0.5:
                await anyio.sleep_forever()
            misbehave_in(self._dice)

    async def send(self, request: SendRequest) -> Receipt:
        """See `core.ChannelAdapter.send`."""
        asked = Send(
            key=request.key,
            conversation=request.address.conversation,
            text=request.text,
            intent=request.intent,
            chunk=request.chunk,
            attempt=request.attempt,
            at=time.monotonic(),
        )
        answer = await self._request(asked)
        if answer.error is not None:
            raise _error(answer)
        assert answer.id is not None
        if self._chance(self._nonsense.receipts):
            return odd_receipt(self._dice, request.address)
        return Receipt(provider_id=answer.id, address=request.address)

    async def find(self, address: Address, key: str) -> Receipt | None:
        """See `core.ChannelAdapter.find`."""
        answer = await self._request(Find(conversation=address.conversation, key=key))
        if answer.error is not None:
            raise _error(answer)
        if self._chance(self._nonsense.lookups):
            misbehave_in(self._dice)
        return None if answer.id is None else Receipt(provider_id=answer.id, address=address)

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        """There are no threads here."""
        raise Refused("this platform has no threads")

    def _chance(self, part: float) -> bool:
        return part > 0 and self._dice.random() < part

    async def _request(self, message: Send | Find) -> Answer:
        """Ask, and wait for the answer; once a byte may be out, what goes wrong is ambiguous."""
        wire = self._idle.pop() if self._idle else await open_wire(self._requests)
        done = False
        try:
            await wire.tell(message)
            answer = await wire.hear()
            done = True
        except GONE as error:
            raise Ambiguous(f"the connection broke ({error!r})") from error
        finally:
            if not done:
                with anyio.CancelScope(shield=True):
                    await wire.close()
        assert isinstance(answer, Answer)
        self._idle.append(wire)
        return answer


async def open_wire(port: int) -> Wire:
    """A connection. Raises `NotSent` where there is nobody."""
    try:
        return Wire(await anyio.connect_tcp("127.0.0.1", port))
    except OSError as error:
        raise NotSent(f"no connection ({error})") from error


def _error(answer: Answer) -> PlatformError:
    """What the platform's refusal means: none of these was accepted."""
    if answer.error == "slow down":
        return RateLimited(answer.error, retry_after=answer.retry_after)
    return NotSent(answer.error or "")
