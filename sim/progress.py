"""Is the run at rest? Counts what has begun and not ended, from the events."""

from __future__ import annotations

from collections.abc import Callable

from core.events import Body, Event, EventLog
from core.events.bodies import (
    DelegationAccepted,
    DelegationFinished,
    HookSending,
    HookSent,
    InboundAdmitted,
    IntentPrepared,
    IntentReopened,
    IntentSettled,
    MirrorAppended,
    MirrorRefused,
    ProcessCrashed,
    ProcessStopped,
    TurnEnded,
)


class Progress:
    """What is open: admitted work without an ended turn, intents without an ending, hands without a result.

    And what is to be done after the end: telling the hooks, and transcript lines that were refused.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], None] = {}
        #: called whenever something may have come to rest
        self.on_look: Callable[[], None] | None = None
        #: what begins, and the id of the event that names it
        self._begins: dict[type[Body], tuple[str, str]] = {
            InboundAdmitted: ("inbound", "inbound"),
            IntentPrepared: ("intent", "intent"),
            IntentReopened: ("intent", "intent"),
            DelegationAccepted: ("delegation", "delegation"),
            HookSending: ("hooks of", "intent"),
            MirrorRefused: ("mirror of", "intent"),
        }
        self._ends: dict[type[Body], tuple[str, str]] = {
            TurnEnded: ("inbound", "inbound"),
            IntentSettled: ("intent", "intent"),
            DelegationFinished: ("delegation", "delegation"),
            HookSent: ("hooks of", "intent"),
            MirrorAppended: ("mirror of", "intent"),
        }

    @property
    def open(self) -> tuple[str, ...]:
        """Names of what is open, e.g. ``intent t-m1.reply``."""
        return tuple(f"{kind} {name}" for kind, name in self._open)

    @property
    def empty(self) -> bool:
        """Whether nothing is open."""
        return not self._open

    def watch(self, log: EventLog) -> None:
        """Follow a log."""
        log.subscribe(self.see, *self._begins, *self._ends)
        log.subscribe(self._process_gone, ProcessCrashed, ProcessStopped)

    def see(self, event: Event) -> None:
        """Take one event in."""
        kind = type(event.body)
        begun = self._begins.get(kind)
        if begun is not None:
            what, by = begun
            self._open[what, getattr(event, by)] = None
            return
        ended = self._ends.get(kind)
        if ended is not None:
            what, by = ended
            self._open.pop((what, getattr(event, by)), None)
            self.look()

    def _process_gone(self, _event: Event) -> None:
        """What was stored is told at the next start; of what only hooks had seen, there is nothing to tell."""
        for one in [one for one in self._open if one[0] == "hooks of"]:
            del self._open[one]

    def look(self) -> None:
        """Have whoever waits for rest look now."""
        if self.on_look is not None:
            self.on_look()
