"""Which attempt of a gateway a request on the wire belongs to."""

from __future__ import annotations

from typing import Protocol

import msgspec

from trunkline.core.values import Address, IntentId


class WireAttempt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The parts of a send that no platform transports, by which checkers join it with the gateway's own events."""

    key: str
    intent: IntentId
    chunk: int
    attempt: int
    #: seq of the attempt in the gateway's log
    cause: int | None = None


class Attribution(Protocol):
    """Finds the attempt that a request belongs to."""

    def attempt(self, address: Address, key: str | None, text: str) -> WireAttempt | None:
        """The attempt of a send to a place, by the key that its platform transports, if there is one.

        None: nobody knows; then the request counts as a message of its own.
        """
        ...


class NoAttribution:
    """The requests of a gateway that is not ours: each is a message of its own."""

    def attempt(self, address: Address, key: str | None, text: str) -> WireAttempt | None:
        """Always None."""
        return None
