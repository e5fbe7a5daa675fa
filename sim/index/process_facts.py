"""Facts about the processes of a gateway, the clock of their machine, and the heartbeats that they run."""

from datetime import datetime
from math import inf
from zoneinfo import ZoneInfo

from trunkline.core.events import Event, heartbeat, leases
from trunkline.core.reasons import Reason
from trunkline.sim.events import processes, script, world
from trunkline.sim.index.projection import Projection

#: seconds that a process has for what it was given, if nothing stops it
_AT_MOST = 30.0


class RunProcesses(Projection):
    """The processes of a run, by their generation."""

    #: the process that took the store last; others stand by
    holder: int | None = None
    claim: Event | None = None
    #: process -> when it ended
    _ended: dict[int, float] = {}
    #: process -> since when it is frozen; and when it resumed
    _frozen: dict[int, float] = {}
    _thawed: dict[int, float] = {}
    #: when processes started; and when one ended or froze, or a disk failed
    starts: list[float] = []
    _stops: list[float] = []

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
        if claim is None or claim.generation == process or not isinstance(claim.body, leases.LeaseTaken):
            return None
        return claim if claim.body.reason is Reason.LEASE_FREE else None

    def had_time(self, since: float) -> bool:
        """Whether a process was there at a time, and was not stopped afterwards."""
        up = max((at for at in self.starts if at <= since), default=since)
        return not any(up <= at <= since + _AT_MOST for at in self._stops)

    def note_start(self, event: Event) -> None:
        """A process has started. In a trace without leases it holds the store."""
        self.starts.append(event.at)
        if self.claim is None:
            self.holder = event.generation

    def on_leased_by(self, event: Event, _body: leases.LeaseTaken) -> None:
        self.holder, self.claim = event.generation, event

    def on_process_frozen(self, event: Event, _body: processes.ProcessFrozen) -> None:
        self._frozen.setdefault(event.generation, event.at)
        self._stops.append(event.at)

    def on_process_thawed(self, event: Event, _body: processes.ProcessThawed) -> None:
        self._frozen.pop(event.generation, None)
        self._thawed[event.generation] = event.at

    def on_process_gone(self, event: Event, _body: processes.ProcessCrashed | processes.ProcessStopped) -> None:
        self._ended.setdefault(event.generation, event.at)
        self._stops.append(event.at)

    def on_struck(self, event: Event, body: script.FaultFired) -> None:
        if body.fault.startswith(("store", "server", "disk", "clock")):
            self._stops.append(event.at)


class RunHeartbeats(Projection):
    """The configured heartbeats of a run."""

    #: agent -> its heartbeat as configured now
    configured: dict[str, world.WorldHeartbeat] = {}
    #: work of a heartbeat -> its agent
    agents: dict[str, str] = {}
    #: seconds by which the script has set the wall clock
    clock_set_by = 0.0

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

    def on_configured(self, _event: Event, body: world.WorldHeartbeat) -> None:
        self.configured[body.agent] = body

    def on_started(self, event: Event, body: heartbeat.HeartbeatStarted) -> None:
        self.agents[event.inbound or ""] = body.agent

    def on_clock_set(self, _event: Event, body: script.FaultFired) -> None:
        if body.fault == "clock":
            self.clock_set_by += float(body.detail.removesuffix(" s"))
