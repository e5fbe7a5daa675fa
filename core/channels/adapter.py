"""The contract between the gateway and a platform: one small protocol, easy to fake and easy to wrap."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

import msgspec

from core.values import Address, Capabilities, ChatKind, Envelope, Receipt, SendRequest

InboundStream = AbstractAsyncContextManager[AsyncIterator[Envelope]]


class ChannelAdapter(Protocol):
    """One account on one platform.

    Every failure of `send`, `find`, `open_thread` and `ack` is a `core.errors.PlatformError` whose class says whether
    the message may have been accepted. An adapter never sends elsewhere than asked (invariant R2), and never retries.
    """

    @property
    def channel(self) -> str:
        """Platform name, lower case."""
        ...

    @property
    def account(self) -> str:
        """The gateway's account on it."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""
        ...

    def connect(self) -> InboundStream:
        """Open the connection; inside the context, iterate over inbound messages. Unacked ones come again.

        An error means that the connection broke: it is opened again after a while. An end means that it is over.
        """
        ...

    async def ack(self, envelope: Envelope) -> None:
        """The message is durable here: the platform need not deliver it again."""
        ...

    async def send(self, request: SendRequest) -> Receipt:
        """Send one chunk. Returns only when the platform has accepted it."""
        ...

    async def find(self, address: Address, key: str) -> Receipt | None:
        """Look up a recent send by its key; none means: surely not there. Only with ``Idempotency.LOOKUP``."""
        ...

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        """Open the thread on a message, or find it when it is open already."""
        ...


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """What a directory says of a target: another text for it, and what kind of conversation it is."""

    target: str
    kind: ChatKind | None = None


@runtime_checkable
class Directory(Protocol):
    """An adapter that can look names and aliases up on its platform."""

    async def resolve_target(self, text: str) -> Resolved | None:
        """What a target stands for; none: nothing is known of it. A failure is a `core.errors.PlatformError`."""
        ...
