"""Facts about the processes of a gateway, the clock of their machine, and the heartbeats that they run."""

from __future__ import annotations

from datetime import datetime
from math import inf
from zoneinfo import ZoneInfo

from trunkline.core.events import Event
from trunkline.core.events.heartbeat import HeartbeatStarted
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.world import WorldHeartbeat
from trunkline.sim.index.projection import Projection, on


class RunProcesses(Projection):
    """The processes of a run, by their generation."""

    def __init__(self) -> None:
        #: the process that took the store last; others stand by
        self.holder: int | None = None
        self.claim: Event | None = None
        #: process -> when it ended
        self._ended: dict[int, float] = {}
        #: process -> since when it is frozen; and when it resumed
        self._frozen: dict[int, float] = {}
        self._thawed: dict[int, float] = {}

    # ------------------------------------------------------------ questions

    def holds(self, process: int) -> bool:
        """Whether a process holds the store, as far as is known; others stand by and attempt nothing."""
        return self.holder in (process, None)

    def gone(self, process: int) -> bool:
        """Whether a process has ended."""
        return process in self._ended

    def awake(self, process: int, since: float, now: float) -> float:
        """Seconds in which a process could act, without a break, between two times. A frozen one stores nothing."""
        until = min(now, self._ended.get(process, inf), self._frozen.get(process, inf))
        return until - max(since, self._thawed.get(process, 0.0))

    def robbed(self, process: int) -> Event | None:
        """The claim of another process that took the store as free, although this one still acts on it."""
        claim = self.claim
        if claim is None or claim.generation == process or not isinstance(claim.body, LeaseTaken):
            return None
        return claim if claim.body.reason is Reason.LEASE_FREE else None

    # ------------------------------------------------------------ folding

    def note_start(self, event: Event) -> None:
        """A process has started. In a trace without leases it holds the store."""
        if self.claim is None:
            self.holder = event.generation

    @on(LeaseTaken)
    def _leased_by(self, event: Event, _body: LeaseTaken) -> None:
        self.holder, self.claim = event.generation, event

    @on(ProcessFrozen)
    def _process_frozen(self, event: Event, _body: ProcessFrozen) -> None:
        self._frozen.setdefault(event.generation, event.at)

    @on(ProcessThawed)
    def _process_thawed(self, event: Event, _body: ProcessThawed) -> None:
        self._frozen.pop(event.generation, None)
        self._thawed[event.generation] = event.at

    @on(ProcessCrashed, ProcessStopped)
    def _process_gone(self, event: Event, _body: ProcessCrashed | ProcessStopped) -> None:
        self._ended.setdefault(event.generation, event.at)


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
