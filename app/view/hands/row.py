"""One delegation after an event, and how many there are, as the Hands screen and the reports show them."""

from __future__ import annotations

import msgspec

from trunkline.app.view.hands.columns import WorkPhase
from trunkline.core.events.hands import DelegationAccepted, DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.values import Address, Peer


class Announcement(msgspec.Struct, frozen=True):
    """A message with the result of a delegation, as people saw it."""

    seq: int
    address: Address


class HandRow(msgspec.Struct, frozen=True, kw_only=True):
    """A delegation after an event. Numbers are seqs; 0 if it has not happened."""

    id: str
    name: str
    #: its task and its hand, where the person asked, and the session of the requester, as accepted
    body: DelegationAccepted
    #: the agent that delegated
    agent: str
    #: who asked, and by which message
    asked_by: Peer | None = None
    message_id: str = ""
    #: its own session
    session: str
    work: WorkPhase
    callback: CallbackState
    #: why the callback is in this state, and since which event
    callback_reason: Reason | None = None
    callback_since: int = 0
    since: int
    started: int = 0
    #: how often it was started
    runs: int = 0
    #: the worker that took it
    worker: str = ""
    finished: int = 0
    #: its result, who gave it, and why it ended
    result: DelegationFinished | None = None
    #: the last progress that it reported, and its event
    progress: str = ""
    progressed: int = 0
    #: the callback turn
    turn: int = 0
    said: tuple[Announcement, ...] = ()
    #: answers that were refused
    refused: int = 0
    #: the delegation above it, and how many stand above
    parent: str = ""
    depth: int = 0
    #: how long it ran, or has run so far
    age: float = 0.0
    #: how long its result has waited for its turn
    waits: float | None = None
    #: ids of the invariants that it broke
    broken: tuple[str, ...] = ()
    #: the scenario run is over, and this was not reported
    over: bool = False
    #: its deadline; none in traces without the field; and the time left while it is open
    deadline: float | None = None
    left: float | None = None
    #: past its deadline without a result
    overdue: bool = False

    @property
    def later(self) -> bool:
        """Whether it is delegated after the cursor."""
        return self.work is WorkPhase.LATER

    @property
    def wrong(self) -> bool:
        """Whether it violated an invariant, or is overdue or unreported."""
        return bool(self.broken) or self.over or self.overdue

    @property
    def overran(self) -> bool:
        """Whether it was ended by its deadline."""
        done = self.result
        return done is not None and (done.reason is Reason.HAND_DEADLINE or done.outcome is HandOutcome.TIMEOUT)


class HandCounts(msgspec.Struct, frozen=True):
    """The delegations after an event: how many were accepted, and how many are in which state."""

    accepted: int
    by_state: dict[str, int]

    @property
    def states(self) -> str:
        """The states with their numbers: ``2 open, 1 delivered, 1 parked``."""
        return ", ".join(f"{number} {name}" for name, number in self.by_state.items() if number)
