"""When a run has come to rest: everything is answered, and nothing happens any more."""

from __future__ import annotations

from trunkline.core.events import Event, EventLog
from trunkline.sim.attach.marks import answers_in, questions_in
from trunkline.sim.events.attach import GatewayReady
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted, WireCalled
from trunkline.sim.events.world import PeerSaid, PlatformConnected


class QuietWire:
    """Follows a run, and knows since when it is quiet and what waits for an answer."""

    def __init__(self, log: EventLog) -> None:
        self._open: set[str] = set()
        #: when something happened that concerns people, and when the wait for answers began
        self._last = self._since = 0.0
        log.subscribe(self._see)

    def _see(self, event: Event) -> None:
        body = event.body
        if isinstance(body, PlatformConnected) or (isinstance(body, WireCalled) and not body.what):
            return
        self._last = event.at
        if isinstance(body, PeerSaid):
            self._open |= set(questions_in(body.text))
            self._since = event.at
        elif isinstance(body, GatewayReady | FaultFired):
            self._since = event.at
        elif isinstance(body, WireAccepted):
            self._open -= {one.question for one in answers_in(body.text)}

    def reached(self, now: float, settle: float, patience: float) -> bool:
        """Whether nothing is expected: everything is answered and it is quiet, or the patience is at its end."""
        quiet = now - self._last >= settle
        return quiet and (not self._open or now - self._since >= patience)
