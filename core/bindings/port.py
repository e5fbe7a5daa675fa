"""What an adapter offers whose conversations can be bound: one protocol, found by its methods.

It is all that the core knows of threads that it makes, of webhooks and of archives; Discord and Telegram differ behind
it. Every failure is a `trunkline.core.errors.PlatformError`.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from trunkline.core.bindings.records import Placement, PlaceState
from trunkline.core.values import Address, Identity


@runtime_checkable
class BindsConversations(Protocol):
    """An adapter whose conversations can be bound to sessions."""

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Which conversations can be bound; none: it cannot bind after all."""
        ...

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        """Open a thread or topic under a conversation, or under its parent when it is a thread itself.

        Asked again with a `key`, it gives the one that it opened for that key, as far as the platform can tell.
        """
        ...

    async def inspect(self, place: Address) -> PlaceState:
        """Whether a bound conversation takes messages. What the platform does not tell is an error, not a state."""
        ...

    async def reopen(self, place: Address) -> None:
        """Unarchive a thread. Raises `PlaceGone` where that is not allowed or there is none."""
        ...

    async def identity(self, place: Address, name: str) -> Identity | None:
        """Somebody else than the bot to speak there, made or found again; none: the platform has no such thing."""
        ...
