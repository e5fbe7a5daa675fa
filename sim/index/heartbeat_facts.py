"""What is known of heartbeats: their configuration, and the wall clock of the gateway's machine."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from trunkline.core.events import Event
from trunkline.core.events.heartbeat import HeartbeatStarted
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.world import WorldHeartbeat
from trunkline.sim.index.projection import Projection, on


class RunHeartbeats(Projection):
    """The configured heartbeats of a run."""

    def __init__(self) -> None:
        #: agent -> its heartbeat as configured now
        self.configured: dict[str, WorldHeartbeat] = {}
        #: work of a heartbeat -> its agent
        self.agents: dict[str, str] = {}
        #: seconds by which the script has set the wall clock
        self.clock_set_by = 0.0

    def wall(self, event: Event) -> float:
        """The time of an event on the wall clock of the gateway's machine."""
        return event.at + self.clock_set_by

    def active(self, agent: str, wall: float) -> bool:
        """Whether a time is within the active hours of an agent; true if it has none."""
        found = self.configured.get(agent)
        if found is None or not found.start:
            return True
        local = datetime.fromtimestamp(wall, ZoneInfo(found.timezone))
        # As texts: HH:MM is in the order of time.
        now = f"{local.hour:02}:{local.minute:02}"
        if found.start < found.end:
            return found.start <= now < found.end
        return now >= found.start or now < found.end

    @on(WorldHeartbeat)
    def _configured(self, _event: Event, body: WorldHeartbeat) -> None:
        self.configured[body.agent] = body

    @on(HeartbeatStarted)
    def _started(self, event: Event, body: HeartbeatStarted) -> None:
        self.agents[event.inbound or ""] = body.agent

    @on(FaultFired)
    def _clock_set(self, _event: Event, body: FaultFired) -> None:
        if body.fault == "clock":
            self.clock_set_by += float(body.detail.removesuffix(" s"))
