"""What comes to the gateway: its connections, and the messages of people that wait for one."""

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
        """What arrives, until it breaks."""
        while True:
            found = await self.queue.get()
            if isinstance(found, PlatformError):
                # Not the one that is held here: its traceback would keep this frame and those of whoever listens.
                raise type(found)(found.facts)
            yield found


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """What a platform says of who posts, beside their name. Nothing: a person does."""

    bot: bool = False
    #: id of the webhook by which it is posted
    webhook: str | None = None
    #: the webhook is the gateway's own: what it said comes back
    echo: bool = False
    #: id of the message that a proxy took away to post this instead
    stands_for: str | None = None


PERSON = Speaker()


@dataclass(slots=True, kw_only=True)
class Posted:
    """A message of a person that the gateway was or will be given."""

    envelope: Envelope
    #: where it really is: its envelope may name a chain of replies as well
    place: Address
    #: id under which it was first posted
    original: str
    #: seq of what made it come
    cause: int | None
    #: its way to the gateway is over: it is delivered now, or to the next connection
    due: bool = False
    times: int = 0
