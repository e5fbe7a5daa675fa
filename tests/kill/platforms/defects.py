"""Defects that can be planted into the adapters of the server: each finding of the verdict is to be seen."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from zlib import crc32

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectSendStream

from trunkline.app.serve import parts
from trunkline.core.errors import Ambiguous
from trunkline.core.values import Capabilities, Envelope, Idempotency, Receipt, SendRequest

#: the environment variable that names the defect
DEFECT = "TRUNKLINE_PLANTED_DEFECT"


class ClaimsAKey:
    """It says that its platform recognises a repeat, which Telegram and Slack do not: what is in doubt goes again."""

    @property
    def capabilities(self) -> Capabilities:
        own: Capabilities = vars(self).get("capabilities") or super().capabilities  # type: ignore[misc]
        return msgspec.structs.replace(own, idempotency=Idempotency.KEY, key_seconds=None)

    @capabilities.setter
    def capabilities(self, given: Capabilities) -> None:
        vars(self)["capabilities"] = given


class AcksEarly:
    """It moves its cursor a while before the message is safe."""

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        give, take = anyio.create_memory_object_stream[Envelope](1000)
        async with super().connect() as stream, anyio.create_task_group() as group, give, take:  # type: ignore[misc]
            group.start_soon(self._ack_all, stream, give)
            yield _late(take)
            group.cancel_scope.cancel()

    async def _ack_all(self, stream: AsyncIterator[Envelope], give: MemoryObjectSendStream[Envelope]) -> None:
        async for envelope in stream:
            await self.ack(envelope)  # type: ignore[attr-defined]
            await give.send(envelope)


async def _late(envelopes: AsyncIterator[Envelope]) -> AsyncIterator[Envelope]:
    async for envelope in envelopes:
        await anyio.sleep(0.5)
        yield envelope


class PostsToTheParent:
    """What belongs into a thread or topic, it posts into the room above."""

    async def send(self, request: SendRequest) -> Receipt:
        place = request.address
        above = msgspec.structs.replace(
            place, conversation=place.parent or place.conversation, thread=None, parent=None
        )
        receipt: Receipt = await super().send(msgspec.structs.replace(request, address=above))  # type: ignore[misc]
        return msgspec.structs.replace(receipt, address=place)


class ResendsAfterAReset:
    """It sends again what may have been accepted."""

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await super().send(request)  # type: ignore[misc]
        except Ambiguous:
            return await super().send(request)  # type: ignore[misc]


class DoubtsWhatItKnows:
    """It reports some of what was accepted as in doubt."""

    async def send(self, request: SendRequest) -> Receipt:
        receipt: Receipt = await super().send(request)  # type: ignore[misc]
        if crc32(request.text.encode()) % 4 == 0:
            raise Ambiguous("it does not look")
        return receipt


_DEFECTS: dict[str, type] = {
    one.__name__: one for one in (ClaimsAKey, AcksEarly, PostsToTheParent, ResendsAfterAReset, DoubtsWhatItKnows)
}


def plant(name: str) -> None:
    """Give every adapter that this process makes a defect."""
    make, defect = parts.make_adapter, _DEFECTS[name]

    def made(*args: Any) -> Any:
        adapter = make(*args)
        adapter.__class__ = type(f"Planted{type(adapter).__name__}", (defect, type(adapter)), {})
        return adapter

    parts.make_adapter = made
