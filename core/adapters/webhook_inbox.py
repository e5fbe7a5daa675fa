"""The messages of webhooks on their way to the gateway; a platform is answered when all of a webhook are durable."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from trunkline.core.errors import NotSent
from trunkline.core.values import Envelope

#: what identifies the message of an update: conversation, id, and whether it is a press
MessageKey = tuple[str, str, bool]
#: messages that wait for the gateway
_MOST = 1000


def key_of(envelope: Envelope) -> MessageKey:
    return envelope.address.conversation, envelope.message_id, envelope.pressed is not None


class WebhookInbox:
    """Hands messages to the open stream, and waits for their acknowledgements."""

    def __init__(self) -> None:
        self._stream: MemoryObjectSendStream[Envelope] | None = None
        #: message -> those who wait for it: a webhook may come again while it is still being waited for
        self._waiting: dict[MessageKey, list[asyncio.Future[bool]]] = {}

    @asynccontextmanager
    async def stream(self) -> AsyncGenerator[MemoryObjectReceiveStream[Envelope]]:
        """The messages of webhooks from now on, for `next_message`. An earlier stream ends."""
        self._end()
        send, receive = anyio.create_memory_object_stream[Envelope](_MOST)
        self._stream = send
        try:
            yield receive
        finally:
            receive.close()
            if self._stream is send:
                self._end()

    def _end(self) -> None:
        """End the open stream. Waiting webhooks are answered with a failure, and come again."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
        for waiting in self._waiting.values():
            for future in waiting:
                if not future.done():
                    future.set_result(False)
        self._waiting.clear()

    def ack(self, envelope: Envelope) -> None:
        for future in self._waiting.pop(key_of(envelope), ()):
            if not future.done():
                future.set_result(True)

    async def hand_over(self, envelopes: Iterable[Envelope], seconds: float) -> bool:
        """Hand messages to the stream; returns whether all became durable in time.

        False: nobody listens, or stopped listening, or too many wait. Whatever was handed over may be durable
        nevertheless. A message that is waited for already is not handed over again.
        """
        stream = self._stream
        if stream is None:
            return False
        waits: list[tuple[MessageKey, asyncio.Future[bool]]] = []
        try:
            for envelope in envelopes:
                waits.append((key_of(envelope), asyncio.get_running_loop().create_future()))
                others = self._waiting.setdefault(waits[-1][0], [])
                others.append(waits[-1][1])
                try:
                    if len(others) == 1:
                        stream.send_nowait(envelope)
                except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return False
            with anyio.move_on_after(seconds):
                return all([await future for _, future in waits])
            return False
        finally:
            for key, future in waits:
                future.cancel()
                with suppress(KeyError, ValueError):
                    self._waiting[key].remove(future)
                    if not self._waiting[key]:
                        del self._waiting[key]


async def next_message(stream: MemoryObjectReceiveStream[Envelope]) -> Envelope:
    """Wait for the next message of a stream. Raises `NotSent` after a replacement of the stream."""
    try:
        return await stream.receive()
    except anyio.EndOfStream:
        raise NotSent("another connection of this account took its place") from None


async def messages_of(stream: MemoryObjectReceiveStream[Envelope]) -> AsyncGenerator[Envelope]:
    while True:
        yield await next_message(stream)
