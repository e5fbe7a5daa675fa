"""Messages of webhooks on the way to the gateway: a webhook is answered when all of its messages are durable."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from trunkline.core.errors import NotSent
from trunkline.core.values import Envelope


class WebhookInbox:
    """Hands messages to the open stream, and waits for their acknowledgements."""

    def __init__(self) -> None:
        self._stream: MemoryObjectSendStream[Envelope] | None = None
        #: message id -> those who wait for it: a webhook may come again while it is still being waited for
        self._waiting: dict[str, list[asyncio.Future[bool]]] = {}

    @asynccontextmanager
    async def stream(self) -> AsyncGenerator[AsyncIterator[Envelope]]:
        """The messages of webhooks from now on. An earlier stream ends with an error for the reader."""
        await self._end()
        send, receive = anyio.create_memory_object_stream[Envelope](math.inf)
        self._stream = send
        try:
            yield _until_replaced(receive)
        finally:
            receive.close()
            if self._stream is send:
                await self._end()

    async def _end(self) -> None:
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
        """A message is durable."""
        for future in self._waiting.pop(envelope.message_id, ()):
            if not future.done():
                future.set_result(True)

    async def hand_over(self, envelopes: Iterable[Envelope], seconds: float) -> bool:
        """Hand messages to the stream; returns whether all became durable in time.

        False: nobody listens, or stopped listening. Whatever was handed over may be durable nevertheless.
        """
        stream = self._stream
        if stream is None:
            return False
        waits: list[tuple[str, asyncio.Future[bool]]] = []
        try:
            for envelope in envelopes:
                waits.append((envelope.message_id, asyncio.get_running_loop().create_future()))
                self._waiting.setdefault(envelope.message_id, []).append(waits[-1][1])
                try:
                    stream.send_nowait(envelope)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return False
            with anyio.move_on_after(seconds):
                return all([await future for _, future in waits])
            return False
        finally:
            for id, future in waits:  # noqa: A001 -- the word
                future.cancel()
                with suppress(KeyError, ValueError):
                    self._waiting[id].remove(future)
                    if not self._waiting[id]:
                        del self._waiting[id]


async def _until_replaced(stream: MemoryObjectReceiveStream[Envelope]) -> AsyncGenerator[Envelope]:
    async for envelope in stream:
        yield envelope
    raise NotSent("another connection of this account took its place")
