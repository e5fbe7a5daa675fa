"""An adapter that listens to a homeserver, as a gateway does."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread

from tests.support.synapse.bench import Town, adapter_of
from tests.support.wire.bench import MemoryCursors
from trunkline.core.adapters.matrix.adapter import MatrixAdapter
from trunkline.core.env import system_env
from trunkline.core.events import EventLog
from trunkline.core.events.adapters import UpdateDropped
from trunkline.core.values import Envelope

_PATIENCE = 20.0


class Ear:
    """What an adapter has delivered."""

    def __init__(self, adapter: MatrixAdapter, dropped: list[UpdateDropped]) -> None:
        self.adapter = adapter
        self.heard: list[Envelope] = []
        #: updates that could not be read
        self.dropped = dropped
        #: why the connection broke
        self.broke: Exception | None = None

    @property
    def texts(self) -> list[str]:
        """The texts so far, in order."""
        return [one.text for one in self.heard]

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds."""
        until = time.monotonic() + _PATIENCE
        while not holds():
            assert time.monotonic() < until, (self.texts, self.dropped, self.broke)
            await anyio.sleep(0.02)

    async def hear(self, text: str) -> Envelope:
        """The message with a text, once it has come."""
        await self.until(lambda: text in self.texts)
        return next(one for one in self.heard if one.text == text)


@asynccontextmanager
async def listening(
    town: Town, cursors: MemoryCursors, *, url: str = "", acks: bool = True, **options: Any
) -> AsyncGenerator[Ear]:
    """An adapter that listens while the block runs, and acknowledges what it hears."""
    log = EventLog(system_env().now)
    dropped: list[UpdateDropped] = []
    log.subscribe(lambda event: dropped.append(event.body) if isinstance(event.body, UpdateDropped) else None)
    settings = {"poll_seconds": 5, "request_timeout": 5, **options}
    adapter = adapter_of(town, url or town.server.url, cursors, log, **settings)
    async with adapter.running():
        ear = Ear(adapter, dropped)
        async with adapter.connect() as stream, anyio.create_task_group() as group:

            async def listen() -> None:
                try:
                    async for envelope in stream:
                        ear.heard.append(envelope)
                        if acks:
                            await adapter.ack(envelope)
                except Exception as error:  # noqa: BLE001 -- the test looks at it
                    ear.broke = error

            group.start_soon(listen)
            yield ear
            group.cancel_scope.cancel()


async def beside(call: Callable[..., Any], *arguments: Any) -> Any:
    """Let a person do something without holding the adapter up."""
    return await anyio.to_thread.run_sync(call, *arguments)
