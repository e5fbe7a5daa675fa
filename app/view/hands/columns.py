"""The two columns of a delegation on screens: what the hand did, and what people got of it. Shapes, words and tones."""

from enum import StrEnum

import msgspec

from trunkline.app.text.fact import Tone
from trunkline.core.events.hands import DelegationAccepted, DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.values import Address, Peer


class WorkPhase(StrEnum):
    LATER = "later"
    ACCEPTED = "ACCEPTED"
    RUNNING = "RUNNING"
    #: the process that ran it has died, and no other has taken over yet
    ORPHANED = "ORPHAN"
    SUCCEEDED = "DONE"
    FAILED = "FAILED"
    TIMED_OUT = "TIMEOUT"
    CANCELLED = "CANCELLED"
    LOST = "LOST"


#: phases in which the work has not ended
OPEN_WORK = frozenset({WorkPhase.ACCEPTED, WorkPhase.RUNNING, WorkPhase.ORPHANED})
ENDED_AS = {
    HandOutcome.OK: WorkPhase.SUCCEEDED,
    HandOutcome.ERROR: WorkPhase.FAILED,
    HandOutcome.TIMEOUT: WorkPhase.TIMED_OUT,
    HandOutcome.CANCELLED: WorkPhase.CANCELLED,
    HandOutcome.LOST: WorkPhase.LOST,
}
#: shape, tone and meaning of the work
WORK_LOOKS: dict[WorkPhase, tuple[str, Tone, str]] = {
    WorkPhase.LATER: ("·", Tone.DIM, "it is delegated later in the run"),
    WorkPhase.ACCEPTED: ("○", Tone.PLAIN, "the task is stored, and the hand has not started"),
    WorkPhase.RUNNING: ("◐", Tone.WARN, "the hand works on it"),
    WorkPhase.ORPHANED: ("╳", Tone.BAD, "its process has died, and no other has taken over yet"),
    WorkPhase.SUCCEEDED: ("●", Tone.GOOD, "the hand has returned a result"),
    WorkPhase.FAILED: ("✗", Tone.WARN, "the hand has failed"),
    WorkPhase.TIMED_OUT: ("✗", Tone.WARN, "its deadline passed without a result"),
    WorkPhase.CANCELLED: ("–", Tone.DIM, "it was ended before it had a result"),
    WorkPhase.LOST: ("╳", Tone.WARN, "the process that ran it died, and it may not run again"),
}

#: reasons of a suppressed callback by which the result of what a hand delegated goes to that hand
TO_PARENT = (None, Reason.PASSED_ON)


# One delegation after an event, and how many there are, as the Hands screen and the reports show them.


class Announcement(msgspec.Struct, frozen=True):
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
