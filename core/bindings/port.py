"""The protocol of adapters whose conversations can be bound, recognised by its methods.

It hides how Discord and Telegram create threads, unarchive them and post under webhooks. Every failure is a
`trunkline.core.errors.PlatformError`.
"""

from typing import Protocol, runtime_checkable

from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.core.values import Address, Identity


@runtime_checkable
class BindsConversations(Protocol):
    """An adapter whose conversations can be bound to sessions."""

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Which conversations can be bound; empty: none."""
        ...

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        """Open a thread or topic under a conversation, or beside a conversation which is a thread.

        A repeated call with the same `key` returns the thread opened for that key, as far as the platform allows.
        """
        ...

    async def inspect(self, place: Address) -> PlaceState:
        """Whether a bound conversation accepts messages. If the platform does not say, raise an error."""
        ...

    async def reopen(self, place: Address) -> None:
        """Unarchive a thread. Raises `PlaceGone` for a missing thread, or without permission."""
        ...

    async def identity(self, place: Address, name: str) -> Identity | None:
        """Find or create a webhook identity for a place; None if the platform has none."""
        ...
