"""Tracks open work from the events, to decide when a run is at rest."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.core.events import Body, Event, EventLog
from trunkline.core.events.delivery import (
    AttemptEnded,
    HookSending,
    HookSent,
    IntentPrepared,
    IntentReopened,
    IntentSettled,
    LaneWaiting,
    MirrorAppended,
    MirrorRefused,
    RecoveryDecided,
)
from trunkline.core.events.gateway import InboundAdmitted, TurnEnded
from trunkline.core.events.hands import (
    AnswerTurnedAway,
    CallbackChanged,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationStarted,
)
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import IntentState
from trunkline.sim.events.hands import WorkerAnswered
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.world import WorldLimits

#: seconds by which the end of what has become too old may be late
_SLACK = 5.0
_HOOKS, _MIRROR, _ANSWER = "hooks of", "mirror of", "an answer to"
#: final states of an intent that leave something in a transcript
_MIRRORED = (IntentState.DELIVERED, IntentState.PARTIAL, IntentState.MISPLACED)


class Quiescence:
    """Open work: admitted messages without an ended turn, intents without a final state, hands without a result.

    Also work that follows an ending: notifying hooks, mirroring transcript lines that were refused, and answers of
    workers that no gateway has looked at.
    """

    def __init__(self) -> None:
        #: open work -> the process that recorded it
        self._open: dict[tuple[str, str], int] = {}
        #: intents that wait for a time that the gateway has announced -> that time; and when each began
        self._until: dict[str, float] = {}
        self._begun: dict[str, float] = {}
        #: delegation -> when it times out, and how long one run of it may take
        self._deadlines: dict[str, tuple[float, float]] = {}
        #: delegations whose report is parked
        self._parked: dict[str, None] = {}
        #: the longest age of an intent that was configured
        self._max_age = 0.0
        #: called whenever the run may have come to rest
        self.on_look: Callable[[], None] | None = None
        #: intents whose hooks were notified; they are notified once
        self._notified: set[str | None] = set()
        self._begins: dict[type[Body], str] = {
            InboundAdmitted: "inbound",
            IntentPrepared: "intent",
            IntentReopened: "intent",
            DelegationAccepted: "delegation",
        }
        self._ends: dict[type[Body], str] = {
            TurnEnded: "inbound",
            IntentSettled: "intent",
            DelegationFinished: "delegation",
        }

    @property
    def open(self) -> tuple[str, ...]:
        """Names of open work, e.g. ``intent t-m1.reply``."""
        return tuple(f"{kind} {name}" for kind, name in self._open)

    @property
    def empty(self) -> bool:
        return not self._open

    @property
    def announced(self) -> float:
        """The latest time that open work rightly waits for: none waits for longer than it may live."""
        latest = 0.0
        for intent, at in self._until.items():
            if ("intent", intent) in self._open and at <= self._begun.get(intent, 0.0) + self._max_age + _SLACK:
                latest = max(latest, at)
        for delegation, (at, _) in self._deadlines.items():
            if ("delegation", delegation) in self._open:
                latest = max(latest, at + _SLACK)
        return latest

    @property
    def waiting(self) -> tuple[str, ...]:
        """Names of what rests until a person or an operator does something, e.g. ``report of m1.hand1``."""
        return tuple(f"report of {name}" for name in self._parked)

    def watch(self, log: EventLog) -> None:
        log.subscribe(self.see, *self._begins, *self._ends)
        log.subscribe(self._open_hook, HookSending)
        log.subscribe(self._close_hook, HookSent)
        log.subscribe(self._mirror_refused, MirrorRefused)
        log.subscribe(lambda event: self._close(_MIRROR, event.intent), MirrorAppended)
        log.subscribe(self._process_gone, ProcessCrashed, ProcessStopped)
        log.subscribe(self._note_limits, WorldLimits)
        log.subscribe(self._note_deadline, DelegationAccepted, DelegationStarted)
        log.subscribe(self._note_report, CallbackChanged)
        log.subscribe(self._waits, AttemptEnded, RecoveryDecided, LaneWaiting)
        log.subscribe(self._note_answer, WorkerAnswered)
        log.subscribe(
            lambda event: self._close(_ANSWER, event.delegation),
            *(DelegationFinished, DelegationIgnored, AnswerTurnedAway),
        )

    def see(self, event: Event) -> None:
        kind = type(event.body)
        begun = self._begins.get(kind)
        if begun is not None:
            self._open[begun, getattr(event, begun)] = event.generation
            if begun == "intent":
                self._begun[event.intent or ""] = event.at
            return
        ended = self._ends.get(kind)
        if ended is not None:
            self._open.pop((ended, getattr(event, ended)), None)
            if isinstance(event.body, IntentSettled) and event.body.state not in _MIRRORED:
                self._close(_MIRROR, event.intent)
            self.look()

    def _note_deadline(self, event: Event) -> None:
        """A delegation has until its deadline, which a restart may move by the time of a run."""
        name, body = event.delegation or "", event.body
        if isinstance(body, DelegationAccepted) and body.deadline is not None:
            self._deadlines[name] = body.deadline, body.deadline - event.at
        elif isinstance(body, DelegationStarted) and not body.worker and name in self._deadlines:
            at, run = self._deadlines[name]
            self._deadlines[name] = max(at, event.at + run), run

    def _note_report(self, event: Event) -> None:
        assert isinstance(event.body, CallbackChanged)
        if event.body.state is CallbackState.PARKED:
            self._parked[event.delegation or ""] = None
        elif self._parked:
            self._parked.pop(event.delegation or "", None)

    def _note_limits(self, event: Event) -> None:
        assert isinstance(event.body, WorldLimits)
        self._max_age = max(self._max_age, event.body.max_age)

    def _waits(self, event: Event) -> None:
        times = (getattr(event.body, name, None) for name in ("retry_at", "at", "until"))
        at = next((at for at in times if at is not None), None)
        if at is not None:
            self._until[event.intent or ""] = at
        elif self._until:
            self._until.pop(event.intent or "", None)

    def _open_hook(self, event: Event) -> None:
        if event.intent not in self._notified:
            self._open[_HOOKS, event.intent or ""] = event.generation

    def _close_hook(self, event: Event) -> None:
        self._notified.add(event.intent)
        self._close(_HOOKS, event.intent)

    def _mirror_refused(self, event: Event) -> None:
        self._open[_MIRROR, event.intent or ""] = event.generation

    def _note_answer(self, event: Event) -> None:
        """A worker left an answer on the store, also one that comes too late: a gateway has to look at it."""
        if isinstance(event.body, WorkerAnswered) and event.body.accepted:
            self._open[_ANSWER, event.delegation or ""] = event.generation

    def _close(self, what: str, of: str | None) -> None:
        if (what, of or "") in self._open:
            del self._open[what, of or ""]
            self.look()

    def _process_gone(self, event: Event) -> None:
        """Close intents that only the hooks of the process saw: nothing was stored, so no hook will be notified."""
        gone = event.generation
        for key in [key for key, process in self._open.items() if key[0] == _HOOKS and process == gone]:
            del self._open[key]

    def look(self) -> None:
        """Report that the run may have come to rest."""
        if self.on_look is not None:
            self.on_look()
