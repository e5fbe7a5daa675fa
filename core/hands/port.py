"""The port through which the gateway runs hands."""

from __future__ import annotations

from typing import Protocol

import msgspec

from trunkline.core.values import DelegationId


class DelegationRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An agent's request to delegate. `thread`: see `trunkline.core.agent.Turn.delegate`."""

    hand: str
    task: str
    thread: bool | None = None


class HandTask(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The task of a hand."""

    delegation: DelegationId
    hand: str
    task: str


class HandRunner(Protocol):
    """Runs hands. A run may take any time: the gateway enforces the deadline."""

    def has(self, hand: str) -> bool:
        """Whether the hand exists."""
        ...

    async def run(self, task: HandTask) -> str:
        """Work on a task and return the result's text. Raises `trunkline.core.errors.HandError` when the hand fails."""
        ...
