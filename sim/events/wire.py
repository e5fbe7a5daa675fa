"""The wire truth: what a platform accepted, refused, or accepted without the gateway seeing its response.

Recorded by the fake platforms, never by the gateway: invariants compare the two accounts.
"""

from __future__ import annotations

from typing import ClassVar

from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Transport
from trunkline.sim.events.base import PlatformBody


class WireAccepted(PlatformBody, frozen=True, kw_only=True):
    """The platform accepted a chunk: it is visible to people at `address` from now on."""

    kind: ClassVar[str] = "wire.accepted"
    #: where it really is
    address: Address
    #: where the request asked it to be
    requested: Address
    text: str
    provider_id: str
    key: str
    chunk: int
    attempt: int
    reply_to: str | None = None
    media: tuple[str, ...] = ()
    #: by which way it came
    transport: Transport = Transport.DIRECT
    #: who has said it, as people see it; none: the bot
    identity: str | None = None
    #: number of the token that the request had, where the platform counts them
    credential: int = 0
    #: the question of a poll and its options, one a line
    poll: tuple[str, ...] = ()
    #: JSON that only this platform knows
    payload: str | None = None


class WireDeduplicated(PlatformBody, frozen=True, kw_only=True):
    """The platform recognised an idempotency key and gave the first receipt again; nothing new is visible."""

    kind: ClassVar[str] = "wire.deduplicated"
    address: Address
    provider_id: str
    key: str
    chunk: int
    attempt: int


class WireRefused(PlatformBody, frozen=True, kw_only=True):
    """The platform refused a request; nothing is visible."""

    kind: ClassVar[str] = "wire.refused"
    address: Address
    reason: Reason
    chunk: int
    attempt: int
    detail: str = ""
    #: seconds that the platform asks to wait
    retry_after: float | None = None
    #: number of the token that the request had, where the platform counts them
    credential: int = 0


class WireResponseLost(PlatformBody, frozen=True, kw_only=True):
    """The platform's answer to a request never reached the gateway."""

    kind: ClassVar[str] = "wire.response_lost"
    address: Address
    chunk: int
    attempt: int


class WireLookedUp(PlatformBody, frozen=True, kw_only=True):
    """The platform was asked whether it has a send with this key."""

    kind: ClassVar[str] = "wire.looked_up"
    address: Address
    key: str
    found: bool
