"""Is the run at rest? Counts what has begun and not ended, from the events."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.core.events import Body, Event, EventLog
from trunkline.core.events.delivery import (
    HookSending,
    HookSent,
    IntentPrepared,
    IntentReopened,
    IntentSettled,
    MirrorAppended,
    MirrorRefused,
)
from trunkline.core.events.gateway import DelegationAccepted, DelegationFinished, InboundAdmitted, TurnEnded
from trunkline.core.values import IntentState
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped

_HOOKS, _MIRROR = "hooks of", "mirror of"
#: ends after which a transcript holds something of an intent
_REMEMBERED = (IntentState.DELIVERED, IntentState.PARTIAL, IntentState.MISPLACED)


class Quiescence:
    """What is open: admitted work without an ended turn, intents without an ending, hands without a result.

    And what is to be done after the end: telling the hooks, and transcript lines that were refused.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], None] = {}
        #: called whenever something may have come to rest
        self.on_look: Callable[[], None] | None = None
        #: intents whose hooks have been told: asked again, they are not told again
        self._told: set[str | None] = set()
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
        """Names of what is open, e.g. ``intent t-m1.reply``."""
        return tuple(f"{kind} {name}" for kind, name in self._open)

    @property
    def empty(self) -> bool:
        """Whether nothing is open."""
        return not self._open

    def watch(self, log: EventLog) -> None:
        """Follow a log."""
        log.subscribe(self.see, *self._begins, *self._ends)
        log.subscribe(self._asked, HookSending)
        log.subscribe(self._answered, HookSent)
        log.subscribe(self._mirror_refused, MirrorRefused)
        log.subscribe(self._mirrored, MirrorAppended)
        log.subscribe(self._process_gone, ProcessCrashed, ProcessStopped)

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
            if isinstance(event.body, IntentSettled) and event.body.state not in _REMEMBERED:
                self._close(_MIRROR, event.intent)
            self.look()

    def _asked(self, event: Event) -> None:
        if event.intent not in self._told:
            self._open[_HOOKS, event.intent or ""] = None

    def _answered(self, event: Event) -> None:
        self._told.add(event.intent)
        self._close(_HOOKS, event.intent)

    def _mirror_refused(self, event: Event) -> None:
        self._open[_MIRROR, event.intent or ""] = None

    def _mirrored(self, event: Event) -> None:
        self._close(_MIRROR, event.intent)

    def _close(self, what: str, intent: str | None) -> None:
        if (what, intent or "") in self._open:
            del self._open[what, intent or ""]
            self.look()

    def _process_gone(self, _event: Event) -> None:
        """What was stored is told at the next start; of what only hooks had seen, there is nothing to tell."""
        for one in [one for one in self._open if one[0] == _HOOKS]:
            del self._open[one]

    def look(self) -> None:
        """Have whoever waits for rest look now."""
        if self.on_look is not None:
            self.on_look()
