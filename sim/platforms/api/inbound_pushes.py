"""Pushes to the gateway: its connections, and the messages that wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from trunkline.core.errors import PlatformError
from trunkline.core.values import Address, Envelope
from trunkline.sim.loop import Node


@dataclass(slots=True, kw_only=True)
class Connection:
    """A live connection of one gateway process for one account."""

    node: Node
    queue: asyncio.Queue[Envelope | PlatformError]

    async def envelopes(self) -> AsyncIterator[Envelope]:
        """Envelopes in order of arrival, until the connection breaks."""
        while True:
            found = await self.queue.get()
            if isinstance(found, PlatformError):
                # A new error: the traceback of the queued one would keep this frame and its callers alive.
                raise type(found)(found.facts)
            yield found


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """What a platform reports about a sender beside the name. The default is a person."""

    bot: bool = False
    #: id of the posting webhook
    webhook: str | None = None
    #: the webhook is the gateway's own, and its message comes back
    echo: bool = False
    #: id of the message that a proxy replaced by this one
    stands_for: str | None = None


PERSON = Speaker()


@dataclass(slots=True, kw_only=True)
class Posted:
    """A message of a person on its way to the gateway, until acknowledged."""

    envelope: Envelope
    #: its actual place; the envelope may also name a reply chain
    place: Address
    #: id under which it was first posted
    original: str
    #: seq of the causing event
    cause: int | None
    #: its latency is over: it is delivered to the current or next connection
    due: bool = False
    #: number of deliveries
    times: int = 0
