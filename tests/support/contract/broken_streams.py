"""Adapters with one defect each in what comes in: the stream, its acknowledgements, its message ids."""

import math
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectSendStream
from msgspec import structs

from trunkline.core.channels import InboundStream
from trunkline.core.errors import PlatformError
from trunkline.core.values import Envelope, Peer, Receipt, SendRequest
from trunkline.sim.bugs.wrappers import AdapterWrapper


class _Stream(AdapterWrapper):
    """Changes what comes in."""

    def connect(self) -> InboundStream:
        return self._connect()

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        async with self.inner.connect() as stream:
            yield self.changed(stream)

    async def changed(self, stream: Any) -> AsyncIterator[Envelope]:
        raise NotImplementedError
        yield


class NamesThePerson(_Stream):
    async def changed(self, stream: Any) -> AsyncIterator[Envelope]:
        async for envelope in stream:
            yield structs.replace(envelope, address=structs.replace(envelope.address, conversation=envelope.peer.id))


class AcksAtOnce(_Stream):
    async def changed(self, stream: Any) -> AsyncIterator[Envelope]:
        async for envelope in stream:
            await self.inner.ack(envelope)
            yield envelope


class NewIds(_Stream):
    """Counts messages from 1 in each connection, and says that its ids are stable."""

    _count = 0

    async def changed(self, stream: Any) -> AsyncIterator[Envelope]:
        async for envelope in stream:
            self._count += 1
            yield structs.replace(envelope, message_id=str(self._count))


class AcksNothing(AdapterWrapper):
    async def ack(self, envelope: Envelope) -> None:
        return


class EndsQuietly(_Stream):
    async def changed(self, stream: Any) -> AsyncIterator[Envelope]:
        try:
            async for envelope in stream:
                yield envelope
        except PlatformError:
            return


class HearsItself(AdapterWrapper):
    """Gives back what it sends as if somebody had said it."""

    _hears: MemoryObjectSendStream[Envelope]

    def connect(self) -> InboundStream:
        return self._connect()

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        self._hears, heard = anyio.create_memory_object_stream[Envelope](math.inf)
        async with self.inner.connect():
            with self._hears, heard:
                yield heard

    async def send(self, request: SendRequest) -> Receipt:
        receipt = await self.inner.send(request)
        self._hears.send_nowait(
            Envelope(
                address=receipt.address,
                peer=Peer(id="bot"),
                message_id=receipt.provider_id,
                text=request.text,
                sent_at=0.0,
            )
        )
        return receipt
