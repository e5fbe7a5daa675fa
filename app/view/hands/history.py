"""One delegation over the whole run: its events, and its two columns after any of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import msgspec

from trunkline.app.view.hands.columns import ENDED_AS, WorkPhase
from trunkline.app.view.hands.row import Announcement
from trunkline.core.events import Event
from trunkline.core.events.hands import DelegationAccepted, DelegationFinished
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import IntentState, Peer


class CallbackStep(msgspec.Struct, frozen=True):
    """A change of the callback: the state from this event on."""

    seq: int
    at: float
    state: CallbackState
    reason: Reason | None = None


#: states of intents by which the report is over, the strongest first
_OUTCOMES = (
    (CallbackState.PARKED, frozenset({IntentState.PARTIAL, IntentState.UNKNOWN})),
    (CallbackState.DELIVERED, frozenset({IntentState.DELIVERED})),
    (CallbackState.UNDELIVERABLE, frozenset(IntentState) - {IntentState.CANCELLED}),
)


class DelegationHistory:
    """One delegation with its events."""

    def __init__(self, accepted: Event, body: DelegationAccepted, name: str) -> None:
        self.accepted = accepted
        self.body = body
        #: its name on screens: ``h1`` for the first
        self.name = name
        self.agent = ""
        self.asked_by: Peer | None = body.asked_by
        self.message_id = body.message_id
        self.session = ""
        #: the delegation that its caller works on, and those that its hand made
        self.above: DelegationHistory | None = None
        self.children: list[DelegationHistory] = []
        self.started: list[Event] = []
        self.progress: list[Event] = []
        self.finished: Event | None = None
        self.ignored: list[Event] = []
        self.refused: list[Event] = []
        #: starts of its callback turns
        self.callbacks: list[Event] = []
        #: its requester was busy when it ended, for an unknown time
        self.busy = False
        self.said: list[Announcement] = []
        #: the messages that report it, with their states
        self.intents: dict[str, IntentState] = {}
        self.steps: list[CallbackStep] = []
        #: whether the trace records how the callback changes; older ones leave it to be derived
        self.recorded = False
        self.broken: list[tuple[int, str]] = []
        #: the last event that concerns it
        self.last = accepted.seq

    @property
    def id(self) -> str:
        return self.accepted.delegation or ""

    @property
    def line(self) -> Iterator[DelegationHistory]:
        """The delegations above it, the nearest first."""
        above = self.above
        while above is not None:
            yield above
            above = above.above

    # ------------------------------------------------------------ the callback

    def change(self, event: Event, state: CallbackState, reason: Reason | None) -> None:
        """Take a recorded change; what was derived before gives way."""
        if not self.recorded:
            self.recorded = True
            self.steps.clear()
        self._append(event, state, reason)

    def derive(self, event: Event, state: CallbackState, reason: Reason | None = None) -> None:
        """A change that an older trace does not record."""
        if not self.recorded and (self.steps[-1].state if self.steps else CallbackState.WAITING) is not state:
            self._append(event, state, reason)

    def settle(self, event: Event, intent: str, state: IntentState, reason: Reason) -> None:
        """A message of it has ended; with the last one the report is over."""
        self.intents[intent] = state
        ends = self.intents.values()
        if IntentState.PREPARED in ends:
            return
        found = next((end for end, states in _OUTCOMES if any(one in states for one in ends)), CallbackState.SUPPRESSED)
        self.derive(event, found, None if found is CallbackState.DELIVERED else reason)

    def _append(self, event: Event, state: CallbackState, reason: Reason | None) -> None:
        self.steps.append(CallbackStep(event.seq, event.at, state, reason))

    def callback(self, seq: int) -> CallbackStep:
        """The callback after event `seq`."""
        at = bisect_right(self.steps, seq, key=lambda step: step.seq)
        return self.steps[at - 1] if at else CallbackStep(self.accepted.seq, self.accepted.at, CallbackState.WAITING)

    # ------------------------------------------------------------ the work

    def ended(self, seq: int) -> Event | None:
        """The end of the work, if it has ended by event `seq`."""
        return self.finished if self.finished is not None and self.finished.seq <= seq else None

    def work(self, seq: int, deaths: dict[int, int]) -> WorkPhase:
        """The work after event `seq`. `deaths`: process -> the event that ended it."""
        if self.accepted.seq > seq:
            return WorkPhase.LATER
        ended = self.ended(seq)
        if ended is not None and isinstance(ended.body, DelegationFinished):
            return ENDED_AS[ended.body.outcome]
        last = last_of(self.started, seq) or self.accepted
        died = deaths.get(last.generation)
        if self.body.hand_kind != "worker" and died is not None and last.seq < died <= seq:
            return WorkPhase.ORPHANED
        return WorkPhase.RUNNING if last is not self.accepted else WorkPhase.ACCEPTED

    def deadline(self, started: Event | None) -> float | None:
        """Its deadline: the time allowed at acceptance, counted from its last start unless a worker has it."""
        if self.body.deadline is None:
            return None
        began = self.accepted.at if started is None or self.body.hand_kind == "worker" else started.at
        return self.body.deadline + began - self.accepted.at


def last_of(events: Sequence[Event], seq: int) -> Event | None:
    """The last of some events that is not after event `seq`."""
    at = bisect_right(events, seq, key=lambda event: event.seq)
    return events[at - 1] if at else None


def number_of(events: Sequence[Event], seq: int) -> int:
    """How many of some events are not after event `seq`."""
    return bisect_right(events, seq, key=lambda event: event.seq)
