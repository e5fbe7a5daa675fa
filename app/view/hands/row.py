"""One delegation after an event, as the Hands screen and the reports show it."""

from __future__ import annotations

import msgspec

from trunkline.app.view.hands.columns import WorkPhase
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.values import Address, IntentKind, Peer


class Announcement(msgspec.Struct, frozen=True):
    """A message with the result of a delegation, as people saw it."""

    seq: int
    at: float
    address: Address
    intent: str
    kind: IntentKind
    #: the platform's id of the message
    provider_id: str = ""


class HandRow(msgspec.Struct, frozen=True, kw_only=True):
    """One delegation after an event. Numbers are seqs; 0 if it has not happened."""

    id: str
    name: str
    hand: str
    task: str
    #: ``function``, ``agent`` or ``worker``; blank in traces of older versions
    kind: str = ""
    label: str = ""
    #: the agent that delegated
    agent: str
    #: who asked, and by which message
    asked_by: Peer | None = None
    message_id: str = ""
    #: where the person asked
    origin: Address | None
    #: session of the requester, and of the run itself
    requester: str
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
    outcome: HandOutcome | None = None
    reason: Reason | None = None
    #: the worker that answered, or who cancelled it
    by: str = ""
    #: the last progress that it reported, and its event
    progress: str = ""
    progressed: int = 0
    #: the callback turn
    turn: int = 0
    said: tuple[Announcement, ...] = ()
    #: later results that did not count, and answers that were refused
    ignored: int = 0
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
        """It is delegated after the cursor."""
        return self.work is WorkPhase.LATER

    @property
    def wrong(self) -> bool:
        """Whether it violated an invariant, or is overdue or unreported."""
        return bool(self.broken) or self.over or self.overdue

    @property
    def overran(self) -> bool:
        """It was ended by its deadline."""
        return self.reason is Reason.HAND_DEADLINE or self.outcome is HandOutcome.TIMEOUT
