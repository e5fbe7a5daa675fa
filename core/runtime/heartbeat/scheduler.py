"""The clock of heartbeats and of the schedule: one task that starts what is due, and never waits for it.

Each agent has its own queue of wake requests, so a busy agent delays no other. A run is started by storing it; the turn
takes place in the lane of its session, so a hanging agent does not stop the clock.
"""

from __future__ import annotations

import anyio
import anyio.abc
import msgspec

from trunkline.core.config.gateway import GatewayConfig, heartbeat_agents
from trunkline.core.errors import InvalidCall, UnknownName
from trunkline.core.events.heartbeat import HeartbeatScheduled, SystemEventAdded
from trunkline.core.heartbeat.schedule import Plan, next_due, plan_at_start
from trunkline.core.heartbeat.settings import heartbeat_of
from trunkline.core.heartbeat.wake import WakeKind, WakeQueue, WakeRequest, finished, request, take
from trunkline.core.runtime.client_sends.target_resolution import TargetResolver
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.deadlines import wait_at_most
from trunkline.core.runtime.heartbeat.admissions import Admissions
from trunkline.core.runtime.heartbeat.facts import Destinations
from trunkline.core.runtime.heartbeat.passes import Passes
from trunkline.core.runtime.heartbeat.schedule_entries import ScheduleEntries
from trunkline.core.runtime.heartbeat.timers import CRON, HEARTBEAT, Timers
from trunkline.core.runtime.turn_queue import TurnQueue
from trunkline.core.store.schedule import AddSystemEvent, ListWaitingAgents, NewSystemEvent, Timer
from trunkline.core.untrusted import check_texts

#: seconds after which the wall clock is looked at again: it may have been set
_LOOK = 300.0
#: seconds by which the wall clock may drift without having been set
_DRIFT = 5.0
#: kinds of wake requests that only the gateway makes
_INTERNAL = (WakeKind.RETRY, WakeKind.INTERVAL)


class Scheduler:
    """Starts heartbeats and entries of the schedule when they are due."""

    def __init__(self, context: Context, timers: Timers, passes: Passes, entries: ScheduleEntries) -> None:
        self._ctx = context
        self._timers = timers
        self._passes = passes
        self._entries = entries
        self._changed = anyio.Event()
        self._queues: dict[str, WakeQueue] = {}
        #: entries of the schedule that are being started
        self._firing: set[str] = set()
        #: the configuration that the timers are planned for
        self._planned: GatewayConfig | None = None
        #: by how much the wall clock is ahead of the steady clock
        self._clock: float | None = None

    @classmethod
    def with_parts(cls, context: Context, targets: TargetResolver, turns: TurnQueue) -> Scheduler:
        """A scheduler with its parts."""
        timers, destinations = Timers(context), Destinations(context, targets)
        admissions = Admissions(context, timers, turns)
        passes = Passes(context, timers=timers, destinations=destinations, admissions=admissions, turns=turns)
        entries = ScheduleEntries(context, timers=timers, destinations=destinations, admissions=admissions)
        return cls(context, timers, passes, entries)

    # ------------------------------------------------------------ requests

    def wake(self, agent: str, reason: str) -> None:
        """Ask for a heartbeat; `reason` is ``manual``, ``cron:<id>``, ... or any word. Raises `UnknownName`."""
        wrong = check_texts((("agent", agent), ("reason", reason)))
        if wrong or not agent or not reason:
            raise InvalidCall(f"wake_heartbeat: {wrong or 'the agent or the reason is missing'}")
        self._check_agent(agent)
        self._request(_request_of(agent, reason, self._ctx.env.steady()))

    async def system_event(self, agent: str, text: str, source: str, *, wake: bool) -> None:
        """Store an event for an agent's heartbeat, and wake it. Raises `UnknownName` and `InvalidCall`."""
        ctx = self._ctx
        wrong = check_texts((("agent", agent), ("text", text), ("source", source)))
        if wrong or not text or not text.strip():
            raise InvalidCall(f"system_event: {wrong or 'text is missing'}")
        self._check_agent(agent)
        identity = ctx.env.ids.new("event", agent, text)
        event = NewSystemEvent(identity=identity, agent=agent, text=text, source=source, wakes=wake)

        def story(_: bool) -> None:
            ctx.events.record(SystemEventAdded(agent=agent, text=text, source=source))

        await ctx.store.write(AddSystemEvent(event=event, now=ctx.env.now()), story)
        if wake:
            self._request(_request_of(agent, source or WakeKind.WAKE.value, ctx.env.steady()))

    def _check_agent(self, agent: str) -> None:
        agents = heartbeat_agents(self._ctx.config)
        if agent not in agents:
            raise UnknownName(f"agent {agent!r} has no heartbeat; those with one: {', '.join(agents) or 'none'}")

    def _request(self, wake: WakeRequest, delay: float | None = None) -> None:
        queue = self._queues.get(wake.agent, WakeQueue())
        self._queues[wake.agent] = request(queue, wake) if delay is None else request(queue, wake, delay=delay)
        self._changed.set()

    def replan(self) -> None:
        """The configuration has changed."""
        self._changed.set()

    # ------------------------------------------------------------ the clock

    async def run(self, started: int) -> None:
        """Start what is due, for as long as the gateway runs. Without heartbeats and entries it does nothing."""
        loaded = False
        async with anyio.create_task_group() as group:
            while True:
                self._changed = anyio.Event()
                config = self._ctx.config
                if not loaded and (config.cron or heartbeat_agents(config)):
                    loaded = True
                    await self._timers.load()
                    await self._plan(started)
                    for agent, source in await self._ctx.store.read(ListWaitingAgents()):
                        # The wake-up that came with the event may have ended with its process.
                        self._request(_request_of(agent, source or WakeKind.WAKE.value, self._ctx.env.steady()))
                elif loaded and (config is not self._planned or self._clock_was_set()):
                    await self._plan(None)
                if loaded:
                    self._start_due(group)
                await self._wait()

    def _clock_was_set(self) -> bool:
        """Whether the wall clock was set since this was asked last."""
        env, before = self._ctx.env, self._clock
        self._clock = env.now() - env.steady()
        return before is not None and abs(self._clock - before) > _DRIFT

    async def _wait(self) -> None:
        """Wait until something may be due, or has changed."""
        env, times = self._ctx.env, [queue.due_at for queue in self._queues.values() if not queue.running]
        waits = [at - env.steady() for at in times if at is not None]
        pending = {_timer(agent) for agent, queue in self._queues.items() if queue.running or queue.pending}
        at = self._timers.next_at({*pending, *self._firing})
        if at is not None:
            waits += [at - env.now(), _LOOK]
        if waits:
            await wait_at_most(self._changed, max(0.0, min(waits)))
        else:
            await self._changed.wait()

    async def _plan(self, cause: int | None) -> None:
        """Plan the timers of the configuration. A time that has passed is due now, once."""
        ctx = self._ctx
        config = self._planned = ctx.config
        agents = heartbeat_agents(config)
        self._timers.want([*map(_timer, agents), *(f"{CRON}{entry.id}" for entry in config.cron)])
        for agent in agents:
            heartbeat, stored = heartbeat_of(config, agent), self._timers.find(_timer(agent))
            assert heartbeat is not None
            planned = self._passes.first_in_hours(agent, _plan_of(stored, heartbeat.every, ctx.env.now()))
            if stored is None or (stored.next_at, float(stored.spec)) != (planned, heartbeat.every):
                timer = Timer(
                    name=_timer(agent),
                    spec=str(heartbeat.every),
                    next_at=planned,
                    last_at=None if stored is None else stored.last_at,
                )
                await self._timers.store(timer, HeartbeatScheduled(agent=agent, next_at=planned), cause)
        await self._entries.plan(cause)

    def _start_due(self, group: anyio.abc.TaskGroup) -> None:
        """Start the entries and the heartbeats that are due."""
        env = self._ctx.env
        for timer in self._timers.due(env.now()):
            if timer.name.startswith(CRON):
                if timer.name not in self._firing:
                    self._firing.add(timer.name)
                    group.start_soon(self._fire, timer, name=f"fire {timer.name}")
                continue
            agent = timer.name.removeprefix(HEARTBEAT)
            queue = self._queues.get(agent, WakeQueue())
            if not queue.running and not queue.pending:
                wake = WakeRequest(agent=agent, kind=WakeKind.INTERVAL, at=env.steady())
                self._queues[agent] = request(queue, wake, delay=0.0)
        for agent, queue in sorted(self._queues.items()):
            self._queues[agent], wakes = take(queue, env.steady())
            for wake in wakes:
                group.start_soon(self._pass, wake, name=f"heartbeat {agent}")

    async def _fire(self, timer: Timer) -> None:
        try:
            woken = await self._entries.fire(timer)
        finally:
            self._firing.discard(timer.name)
            self._changed.set()
        if woken is not None:
            self._request(_request_of(woken, timer.name.replace("/", ":"), self._ctx.env.steady()))

    async def _pass(self, wake: WakeRequest) -> None:
        """Try to run a heartbeat; it may have to wait."""
        later = await self._passes.run(wake)
        env, queue = self._ctx.env, self._queues[wake.agent]
        self._queues[wake.agent] = finished(queue, env.steady(), (wake,) if later.busy else ())
        if later.delay is not None:
            self._request(msgspec.structs.replace(wake, at=env.steady()), later.delay)
        if later.more:
            self._request(WakeRequest(agent=wake.agent, kind=WakeKind.WAKE, detail="more events", at=env.steady()))
        self._changed.set()


def _plan_of(stored: Timer | None, every: float, now: float) -> Plan:
    """The next time of a heartbeat. One that is stored keeps its phase, also after the clock was set back."""
    at, before = (None, None) if stored is None else (stored.next_at, float(stored.spec))
    if at is None or before != every or every <= 0 or at <= now:
        return plan_at_start(every, now, stored=at, stored_every=before)
    return Plan(next_at=next_due(now - (now - at) % every, every, now))


def _timer(agent: str) -> str:
    return f"{HEARTBEAT}{agent}"


def _request_of(agent: str, reason: str, at: float) -> WakeRequest:
    """A request by its reason as text; a word that is none of ours is a detail."""
    head, _, detail = reason.strip().partition(":")
    kinds = {kind.value: kind for kind in WakeKind if kind not in _INTERNAL}
    kind = kinds.get(head)
    if kind is None:
        return WakeRequest(agent=agent, kind=WakeKind.WAKE, detail=reason.strip(), at=at)
    return WakeRequest(agent=agent, kind=kind, detail=detail, at=at)
