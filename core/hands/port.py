"""The port through which the gateway runs hands."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, runtime_checkable

import msgspec

from trunkline.core.records.delegations import DelegationRow, repr_without_ticket
from trunkline.core.states.delegation import CallbackState, WorkState
from trunkline.core.values import Address, DelegationId, Peer


class DelegationRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An agent's request to delegate. `thread`: see `trunkline.core.agent.Turn.delegate`."""

    hand: str
    task: str
    thread: bool | None = None
    #: seconds that the run may take; none: as the hand is configured
    timeout: float | None = None
    #: the caller's own name for it
    label: str = ""
    #: where the answer goes, for a turn without a place of its own
    reply_to: Address | str | None = None


class ClientTask(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request to delegate for an agent, whose answer to the result goes to `to`, in the session there."""

    #: idempotency key: the same task under the same key is one delegation
    key: str
    hand: str
    task: str
    #: a target as text, or an exact place
    to: Address | str
    #: the channel of a target; none: the only served channel
    channel: str | None = None
    #: none: the default agent
    agent: str | None = None
    #: the caller's own name for it
    label: str = ""
    #: seconds that the run may take; none: as the hand is configured
    timeout: float | None = None
    #: for whom it is done
    asked_by: Peer | None = None


class Delegated(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An accepted delegation: durable, with a result in a later callback turn."""

    delegation: DelegationId
    hand: str
    status: str = "accepted"

    @property
    def for_model(self) -> str:
        """The result of the call for a model."""
        return f"{self.status}: {self.delegation}. {self.hand} works on it; the result arrives in a later message."


class DelegationStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The status of a delegation, for the agent of the session."""

    delegation: DelegationId
    hand: str
    label: str = ""
    state: WorkState
    callback: CallbackState
    progress: str = ""
    accepted_at: float
    deadline: float | None = None


async def _ignore_progress(_text: str) -> None:
    """Ignores progress: used where no gateway runs."""


class HandTask(msgspec.Struct, frozen=True, kw_only=True):
    """The task of a hand.

    `progress` stores and shows a text about how far the work has come; the result is not affected.
    """

    delegation: DelegationId
    hand: str
    task: str
    label: str = ""
    #: the person for whom it is done
    asked_by: Peer | None = None
    #: seconds that this run may take
    timeout: float | None = None
    #: for a worker: the secret that its answer must have
    ticket: str | None = None
    progress: Callable[[str], Awaitable[object]] = _ignore_progress

    def __repr__(self) -> str:
        return repr_without_ticket(self, self.ticket)


def task_of(
    row: DelegationRow, timeout: float | None, progress: Callable[[str], Awaitable[object]], ticket: str | None = None
) -> HandTask:
    return HandTask(
        delegation=row.id,
        hand=row.hand,
        task=row.task,
        label=row.label,
        asked_by=None if row.origin is None else row.origin.asked_by,
        timeout=timeout,
        ticket=ticket,
        progress=progress,
    )


class HandRunner(Protocol):
    """Runs hands. A run may take any time: the gateway enforces the deadline."""

    def has(self, hand: str) -> bool:
        """Whether the hand exists."""
        ...

    async def run(self, task: HandTask) -> str:
        """Work on a task and return the result's text. Raises `trunkline.core.errors.HandError` when the hand fails."""
        ...


@runtime_checkable
class ListsHands(Protocol):
    """A `HandRunner` which names the hands: then agents see the names."""

    def names(self) -> Iterable[str]:
        """The names of the existing hands."""
        ...
