"""When heartbeats run and where they go: H4 and H5."""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.core.events.gateway import ConfigReloaded, InboundAdmitted, RouteDecided
from trunkline.core.events.heartbeat import (
    CronDue,
    CronScheduled,
    HeartbeatDue,
    HeartbeatScheduled,
    HeartbeatSkipped,
    HeartbeatStarted,
)
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.values import Address, WorkKind
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.world import WorldHeartbeat
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants.base import Checker, cited

#: seconds within which a process that can act starts what is due, or says why not
_LATE = 90.0


class DueOnce(Checker):
    """H4: each time of a schedule that a process has promised is kept once: not twice, and not never."""

    id = "H4"
    title = "A due run is kept, once"
    sentence = (
        "What a heartbeat or an entry of the schedule is due for takes place once, or an event says why not; a restart "
        "neither repeats nor forgets it, nor moves its time."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: schedule -> the promised time on the wall clock, and the event that promised it
        self._next: dict[str, tuple[float, Event]] = {}
        #: schedule and time -> the event with which it took place
        self._kept: dict[tuple[str, float], Event] = {}
        #: schedules that are due, as the running process knows
        self._noticed: set[str] = set()
        #: since when a process can act; none: none runs
        self._up: float | None = None
        #: by how much the wall clock was set, until the event in hand
        self._offset = 0.0

    @on(LeaseTaken)
    def _process_up(self, event: Event, _body: LeaseTaken) -> None:
        self._up = event.at

    @on(ProcessCrashed, ProcessStopped)
    def _process_gone(self, event: Event, _body: ProcessCrashed | ProcessStopped) -> None:
        if self.run.processes.holds(event.generation):
            self._look(event)
            self._up = None
            self._noticed.clear()

    @on(ConfigReloaded, WorldHeartbeat, FaultFired)
    def _planned(self, event: Event, body: ConfigReloaded | WorldHeartbeat | FaultFired) -> None:
        """Another configuration, also between two processes, or a clock that was set, may move times."""
        if not isinstance(body, FaultFired) or body.fault == "clock":
            self._look(event)
            self._next.clear()
            if isinstance(body, FaultFired):
                # The same times may come once more.
                self._kept.clear()
            self._offset = self.run.heartbeats.clock_set_by

    @on(HeartbeatScheduled)
    def _scheduled(self, event: Event, body: HeartbeatScheduled) -> None:
        self._promise(f"heartbeat of {body.agent}", body.next_at, event)

    @on(CronScheduled)
    def _entry_scheduled(self, event: Event, body: CronScheduled) -> None:
        self._promise(f"entry {body.entry}", body.next_at, event)

    def _promise(self, name: str, at: float | None, event: Event) -> None:
        """A new promise must not replace one that is not kept."""
        before = self._next.pop(name, None)
        if before is not None and at != before[0]:
            self._broken(name, before, event, "moved")
        if at is not None:
            self._next[name] = (at, event)

    @on(HeartbeatDue)
    def _due(self, _event: Event, body: HeartbeatDue) -> None:
        self._noticed.add(f"heartbeat of {body.agent}")

    @on(HeartbeatSkipped)
    def _skipped(self, event: Event, body: HeartbeatSkipped) -> None:
        if body.due is not None and body.next_at is not None:
            self._keep(f"heartbeat of {body.agent}", body.due, body.next_at, event)

    @on(HeartbeatStarted)
    def _started(self, event: Event, body: HeartbeatStarted) -> None:
        if body.due is not None:
            self._keep(f"heartbeat of {body.agent}", body.due, body.next_at, event)

    @on(CronDue)
    def _fired(self, event: Event, body: CronDue) -> None:
        self._keep(f"entry {body.entry}", body.due, body.next_at, event)

    def _keep(self, name: str, due: float, next_at: float | None, event: Event) -> None:
        self.exercised += 1
        self._noticed.discard(name)
        before = self._kept.get((name, due))
        self._kept[name, due] = event
        self._next.pop(name, None)
        if next_at is not None:
            self._next[name] = (next_at, event)
        if before is not None:
            self.violate(
                at=event.seq,
                summary=f"the {name} takes place again for the same time",
                expected=[f"once, as #{before.seq} {before.at:.3f}s"],
                actual=[f"#{event.seq} {event.at:.3f}s, due at {due:.3f}"],
                evidence=[before.seq, event.seq],
            )

    def _look(self, event: Event) -> None:
        """Report promises that a running process had the time to keep."""
        if self._up is None:
            return
        for name, promise in list(self._next.items()):
            due = promise[0] - self._offset
            process = event.generation if event.generation else 0
            since = max(due, self._up)
            awake = self.run.processes.awake(process, since, event.at)
            if awake > _LATE and name not in self._noticed:
                del self._next[name]
                self._broken(name, promise, event, "forgotten")

    def _broken(self, name: str, promise: tuple[float, Event], event: Event, how: str) -> None:
        due, promised = promise
        self.violate(
            at=event.seq,
            summary=f"the {name} is {how}: it was due at {due:.3f}",
            expected=[f"it takes place, as #{promised.seq} {promised.at:.3f}s promised"],
            actual=[cited(event)],
            evidence=[promised.seq, event.seq],
            missing_after=promised.seq if how == "forgotten" else None,
        )

    def finish(self, last: Event) -> None:
        """Report the promises that were due, and still stand at the end."""
        self._look(last)


class RouteStays(Checker):
    """H5: what a heartbeat says moves no route: `last` is the place in which a person wrote to the agent last."""

    id = "H5"
    title = "A heartbeat moves no route"
    sentence = "With the target `last` a heartbeat goes to the conversation in which a person wrote to its agent last."

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: inbound -> agent and the place of its answers, until it is admitted
        self._decided: dict[str, tuple[str, Address]] = {}
        #: agent -> the place in which a person wrote last, and the event
        self._last: dict[str, tuple[Address, Event]] = {}

    @on(RouteDecided)
    def _routed(self, event: Event, body: RouteDecided) -> None:
        if body.reply_to is not None:
            self._decided[event.inbound or ""] = (body.agent, body.reply_to)

    @on(InboundAdmitted)
    def _admitted(self, event: Event, body: InboundAdmitted) -> None:
        decided = self._decided.pop(event.inbound or "", None)
        if decided is not None and body.work is WorkKind.MESSAGE:
            self._last[decided[0]] = (decided[1], event)

    @on(HeartbeatStarted)
    def _started(self, event: Event, body: HeartbeatStarted) -> None:
        settings, last = self.run.heartbeats.configured.get(body.agent), self._last.get(body.agent)
        if settings is None or settings.target != "last" or body.to is None or last is None:
            return
        self.exercised += 1
        place, wrote = last
        if body.to.lane[:3] == place.lane[:3]:
            return
        self.violate(
            at=event.seq,
            summary=f"the heartbeat of {body.agent} goes to {self.run.name(body.to)}, where nobody wrote to it last",
            expected=[f"{self.run.name(place)}, by #{wrote.seq} {wrote.at:.3f}s"],
            actual=[cited(event, f"{self.run.name(body.to)}")],
            evidence=[wrote.seq, event.seq],
        )
