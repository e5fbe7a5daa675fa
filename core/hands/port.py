"""How the gateway reaches hands: one method."""

from __future__ import annotations

from typing import Protocol

import msgspec

from trunkline.core.values import DelegationId


class DelegationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent asks for when it delegates. `thread`: see `trunkline.core.agent.Turn.delegate`."""

    hand: str
    task: str
    thread: bool | None = None


class HandTask(msgspec.Struct, frozen=True, kw_only=True):
    """What a hand is asked to do."""

    delegation: DelegationId
    hand: str
    task: str


class HandRunner(Protocol):
    """Runs hands. May take as long as it likes: the gateway keeps the deadline."""

    def has(self, hand: str) -> bool:
        """Whether there is such a hand."""
        ...

    async def run(self, task: HandTask) -> str:
        """Work on a task and return the result's text. Raises `trunkline.core.errors.HandError` when the hand fails."""
        ...
