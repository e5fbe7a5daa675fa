"""Promises about every run: of our gateway, and of gateways of which only the wire is known."""

from trunkline.core.events import Event
from trunkline.core.events.heartbeat import HeartbeatDue
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import WorldHeartbeat
from trunkline.sim.plugins import Checker, RunFacts, cited, on

#: a text with fewer letters says nothing about shouting
_FEW = 8


class NoShouting(Checker):
    """Judges what platforms accept, which is what people see."""

    id = "acme.Q1"
    title = "No shouting"
    sentence = "Of the letters of a message at least one in ten is small."

    @on(WireAccepted)
    def _accepted(self, event: Event, body: WireAccepted) -> None:
        letters = [letter for letter in body.text if letter.isalpha()]
        if len(letters) < _FEW:
            return
        self.exercised += 1
        small = sum(letter.islower() for letter in letters)
        if small * 10 < len(letters):
            self.violate(
                at=event.seq,
                summary=f"people see “{body.text}”",
                expected=["a text with small letters"],
                actual=[cited(event, f"{small} of {len(letters)} letters are small")],
            )


class QuietOutside(NoShouting):
    """Judges the runs of `trunkline attach` in the same way."""

    id = "acme.Q2"
    title = "No shouting outside"
    wire_side = True


class InTime(Checker):
    """Judges the times of heartbeats by what the scenario configures."""

    id = "acme.Q3"
    title = "Heartbeats in time"
    sentence = "Between two times at which the schedule wants a heartbeat lies at least its interval."

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: agent -> the configured interval; and the last time, with the number of its event
        self._every: dict[str, float] = {}
        self._last: dict[str, tuple[float, int]] = {}

    @on(WorldHeartbeat)
    def _configured(self, _event: Event, body: WorldHeartbeat) -> None:
        self._every[body.agent] = body.every
        # Another interval counts from now on.
        self._last.pop(body.agent, None)

    @on(HeartbeatDue)
    def _due(self, event: Event, body: HeartbeatDue) -> None:
        if body.due is None:
            return
        last = self._last.get(body.agent)
        self._last[body.agent] = (body.due, event.seq)
        if last is None:
            return
        self.exercised += 1
        if body.due - last[0] < self._every[body.agent]:
            self.violate(
                at=event.seq,
                summary=f"{body.agent} has a heartbeat after {body.due - last[0]:g} s",
                expected=[f"one after {self._every[body.agent]:g} s"],
                actual=[cited(event)],
                evidence=[last[1], event.seq],
            )
