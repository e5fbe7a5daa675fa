"""The contract between the gateway and a platform: one small protocol, easy to fake and to wrap.

Every adapter implements `ChannelAdapter`. Optional abilities are separate protocols, recognised by their methods:
`Readiness`, `PlaceReadiness`, `Reopenings`, `LateOutcomes`, `Directory`, `Recipients`, `Actions`, `Queries`.
`core.testing.adapter_kit` checks an adapter against the whole contract.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

import msgspec

from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Capabilities, ChatKind, Envelope, Receipt, SendRequest

InboundStream = AbstractAsyncContextManager[AsyncIterator[Envelope]]


class ChannelAdapter(Protocol):
    """An account on a platform.

    Every failure of `send`, `find`, `open_thread` and `ack` is a `core.errors.PlatformError` whose class says whether
    the message may have been accepted. An adapter never sends to another place than requested (invariant R2), never
    splits a text, never retries and never changes the transport: these are decisions of the gateway.
    """

    @property
    def channel(self) -> str:
        """Platform name, lower case."""
        ...

    @property
    def account(self) -> str:
        """The gateway's account on the platform."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of this account on the platform; constant while the gateway runs.

        ``can``: what may be requested; anything else is refused before it is stored (`capabilities.require`).
        ``mode``: the transports. ``direct`` and ``gateway`` adapters have one, which every request names. A ``hybrid``
        adapter has both: the gateway requests the direct one first, and the gateway path only after `NotSent`. So an
        adapter must raise `NotSent` only if the request provably never reached the platform.
        `trunkline.core.channels.check_capabilities` reports inconsistencies.
        """
        ...

    def connect(self) -> InboundStream:
        """Open the connection; inside the context, iterate over inbound messages. Unacknowledged ones are redelivered.

        An error means that the connection broke: the gateway reconnects after a while. If the iteration ends, the
        gateway stops listening.
        """
        ...

    async def ack(self, envelope: Envelope) -> None:
        """Acknowledge a message, which is durable now and needs no redelivery by the platform."""
        ...

    async def send(self, request: SendRequest) -> Receipt:
        """Send a chunk by the transport in the request. Returns only when the platform has accepted the chunk.

        With `Capability.MESSAGE_IDS`, a receipt without a message id is invalid and the send counts as ambiguous.
        """
        ...

    async def find(self, address: Address, key: str) -> Receipt | None:
        """Look up a recent send by key; None means surely not accepted. Only with ``Idempotency.LOOKUP``."""
        ...

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        """Open the thread on a message, or return the open thread."""
        ...


class Ready(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Whether an account can send now; `reason` says why it cannot, e.g. ``not-linked``."""

    ok: bool
    reason: str = ""


@runtime_checkable
class Readiness(Protocol):
    """An adapter that reports whether it can send. Other adapters count as always ready."""

    async def ready(self) -> Ready:
        """Called at start and before a waiting send; must return at once. Waiting for readiness uses no attempt."""
        ...


@runtime_checkable
class PlaceReadiness(Protocol):
    """An adapter with places that cannot take a message for a while, such as a call on hold."""

    async def ready_at(self, place: Address) -> Ready:
        """Whether a place takes a message now; called before each send. Must return at once.

        A place that takes no message ever again is ready: `ChannelAdapter.send` says so. Waiting uses no attempt.
        """
        ...


@runtime_checkable
class Reopenings(Protocol):
    """An adapter whose platform says when a closed place is open again."""

    def connect_reopened(self, call: Callable[[Address], None]) -> None:
        """Call `call` with each such place from now on. A place without a thread stands for all its threads."""
        ...


class LateOutcome(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The loss of an accepted message: a failed delivery, or a deletion by other people."""

    place: Address
    #: the platform's id of the message
    message_id: str
    #: ``deleted-by-others``: whose message it was need not be known, nor whether the gateway deleted it itself
    reason: Reason
    recipient: str = ""
    code: str = ""
    detail: str = ""
    #: seq of the event that it follows from, if there is one
    cause: int | None = None


@runtime_checkable
class LateOutcomes(Protocol):
    """An adapter with reports of losses after a receipt."""

    def connect_late(self, call: Callable[[LateOutcome], None]) -> None:
        """Call `call` with each loss from now on; repetitions do no harm."""
        ...


@runtime_checkable
class Actions(Protocol):
    """An adapter that carries out actions that are no messages (`Capabilities.actions`)."""

    async def act(self, request: ActionRequest) -> Receipt:
        """Carry out a change, and return the message or place that it concerns, or that it created.

        Failures are those of `ChannelAdapter.send`. A change that is in force already is no failure.
        """
        ...


@runtime_checkable
class Queries(Protocol):
    """An adapter that answers questions about its platform (`Capabilities.actions`)."""

    async def ask(self, query: ActionQuery) -> object:
        """Answer a question with a value that JSON has. A failure is a `trunkline.core.errors.PlatformError`."""
        ...


@runtime_checkable
class Recipients(Protocol):
    """An adapter that knows the people whom its account may write to first."""

    async def resolve_recipients(self) -> tuple[str, ...]:
        """Their targets, the most important one first. A failure is a `trunkline.core.errors.PlatformError`."""
        ...


class Resolved(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A directory's answer for a target: a replacement text, and the kind of conversation."""

    target: str
    kind: ChatKind | None = None


@runtime_checkable
class Directory(Protocol):
    """An adapter that can look names and aliases up on its platform."""

    async def resolve_target(self, text: str) -> Resolved | None:
        """Resolve a target; None if the directory does not know it. A failure is a `core.errors.PlatformError`.

        `find_in_directory` finds a name among entries, and raises `AmbiguousTarget` if several have it.
        """
        ...
