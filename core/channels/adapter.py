"""The contract between the gateway and a platform: one small protocol, easy to fake and easy to wrap.

What every adapter has is `ChannelAdapter`. What only some have are protocols of their own, found by their methods:
`Readiness`, `Directory`, `Edits`, `Reactions`. `core.testing.adapter_kit` tries an adapter
against all of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

import msgspec

from trunkline.core.values import Address, Capabilities, ChatKind, Envelope, Receipt, SendRequest

InboundStream = AbstractAsyncContextManager[AsyncIterator[Envelope]]


class ChannelAdapter(Protocol):
    """One account on one platform.

    Every failure of `send`, `find`, `open_thread` and `ack` is a `core.errors.PlatformError` whose class says whether
    the message may have been accepted. An adapter never sends elsewhere than asked (invariant R2), never cuts a text,
    never retries, and never takes another transport than asked: all of these are decisions of the gateway.
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
        """What this account can do on its platform; it does not change while the gateway runs.

        ``can`` says what may be asked for: what is not in it is refused before it is stored (`core.channels.require`).
        ``mode`` says which transports there are. ``direct`` and ``gateway`` adapters have one, and get it in every
        request. A ``hybrid`` adapter has both: the gateway asks for the direct one first, and for the gateway path only
        after `NotSent`, which is a proof. So it must never raise `NotSent` for what may have reached the platform.
        `trunkline.core.channels.check_capabilities` tells what does not fit together.
        """
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
        """Send one chunk by the transport that the request names. Returns only when the platform has accepted it.

        With `Capability.MESSAGE_IDS`, a receipt without a message id is no receipt: the send counts as ambiguous.
        """
        ...

    async def find(self, address: Address, key: str) -> Receipt | None:
        """Look up a recent send by its key; none means: surely not there. Only with ``Idempotency.LOOKUP``."""
        ...

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        """Open the thread on a message, or find it when it is open already."""
        ...


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an account can send now; `reason` says why not, e.g. ``not-linked``."""

    ok: bool
    reason: str = ""


@runtime_checkable
class Readiness(Protocol):
    """An adapter that knows whether it can send. One that is no such adapter is always ready."""

    async def ready(self) -> Ready:
        """Asked before a send that waits, and at start. Waiting for it costs no attempt. It answers at once."""
        ...


@runtime_checkable
class Edits(Protocol):
    """An adapter that can change a message that it sent (`Capability.EDIT`)."""

    async def edit(self, address: Address, provider_id: str, text: str) -> None:
        """Give a message another text. A failure is a `trunkline.core.errors.PlatformError`."""
        ...


@runtime_checkable
class Reactions(Protocol):
    """An adapter that can put a sign on a message (`Capability.REACTIONS`)."""

    async def react(self, address: Address, provider_id: str, emoji: str) -> None:
        """Put a sign on a message. A failure is a `trunkline.core.errors.PlatformError`."""
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
