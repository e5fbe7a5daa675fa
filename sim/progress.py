"""Is the run at rest? Counts what has begun and not ended, from the events."""

from __future__ import annotations

from collections.abc import Callable

from core.events import Body, Event, EventLog
from core.events.bodies import (
    DelegationAccepted,
    DelegationFinished,
    InboundAdmitted,
    IntentPrepared,
    IntentSettled,
    TurnEnded,
)


class Progress:
    """What is open: admitted work without an ended turn, intents without an ending, hands without a result."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], None] = {}
        #: called whenever something may have come to rest
        self.on_look: Callable[[], None] | None = None
        self._begins: dict[type[Body], str] = {
            InboundAdmitted: "inbound",
            IntentPrepared: "intent",
            DelegationAccepted: "delegation",
        }
        self._ends: dict[type[Body], str] = {
            TurnEnded: "inbound",
            IntentSettled: "intent",
            DelegationFinished: "delegation",
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

    def see(self, event: Event) -> None:
        """Take one event in."""
        kind = type(event.body)
        begun = self._begins.get(kind)
        if begun is not None:
            self._open[begun, getattr(event, begun)] = None
            return
        ended = self._ends.get(kind)
        if ended is not None:
            self._open.pop((ended, getattr(event, ended)), None)
            self.look()

    def look(self) -> None:
        """Have whoever waits for rest look now."""
        if self.on_look is not None:
            self.on_look()
