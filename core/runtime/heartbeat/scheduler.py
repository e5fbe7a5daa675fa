"""The clock of heartbeats and of the schedule: one task that starts what is due, and never waits for it.

Each agent has its own queue of wake requests, so a busy agent delays no other. A run is started by storing it; the turn
takes place in the lane of its session, so a hanging agent does not stop the clock.
"""

import anyio
import anyio.abc
import msgspec

from trunkline.core.config.gateway import GatewayConfig, heartbeat_agents
from trunkline.core.config.schedule import CronConfig
from trunkline.core.decisions import Decisions
from trunkline.core.errors import InvalidCall, StoreError, UnknownName
from trunkline.core.events.heartbeat import CronDue, CronScheduled, HeartbeatScheduled, SystemEventAdded
from trunkline.core.heartbeat.prompts import cron_prompt
from trunkline.core.heartbeat.settings import agent_of, heartbeat_of, zones_of
from trunkline.core.heartbeat.wake import WakeKind, WakeQueue, WakeRequest, finished, request, take_due
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.records.heartbeat import HeartbeatRun
from trunkline.core.records.rows import Work
from trunkline.core.routing.key_text import config_key
from trunkline.core.runtime.client_sends.target_resolution import TargetResolver
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.deadlines import wait_at_most
from trunkline.core.runtime.heartbeat.facts import Destination, Destinations
from trunkline.core.runtime.heartbeat.passes import Passes
from trunkline.core.runtime.heartbeat.timers import CRON, HEARTBEAT, Timers, moved, stamp
from trunkline.core.runtime.turn_queue import TurnQueue
from trunkline.core.store.schedule import AddSystemEvent, Fire, ListWaitingAgents, NewSystemEvent, Timer
from trunkline.core.untrusted import check_texts
from trunkline.core.values import InboundId, Peer, WorkKind


class ScheduleEntries:
    def __init__(self, context: Context, timers: Timers, destinations: Destinations) -> None:
        self._ctx = context
        self._timers = timers
        self._destinations = destinations
        #: what fires later than this was missed, on the wall clock; set when the process begins
        self._began: float | None = None

    async def plan(self, cause: int | None) -> None:
        """Plan entries that are new or have another schedule. One that has fired for good stays so."""
        ctx = self._ctx
        now = ctx.env.now()
        if self._began is None:
            self._began = now
        for entry in ctx.config.cron:
            name, spec = f"{CRON}{entry.id}", _spec(entry)
            stored = self._timers.find(name)
            if stored is not None and stored.spec == spec:
                continue
            at = self._next(entry, now, now)
            timer = Timer(name=name, spec=spec, next_at=at)
            reason = None if at is not None else Reason.CRON_PAST
            await self._timers.store(timer, CronScheduled(entry=entry.id, next_at=at, reason=reason), cause)

    def _next(self, entry: CronConfig, after: float, since: float) -> float | None:
        zones = zones_of(self._ctx.config, agent_of(entry, self._ctx.config), self._ctx.env.timezone)
        return self._ctx.decisions.next_fire(entry.timing, after, zones, since=since)

    async def fire(self, timer: Timer) -> str | None:
        """Fire an entry once, however often it was due. Returns the agent whose heartbeat it wakes, if any."""
        ctx = self._ctx
        entry = next((configured for configured in ctx.config.cron if f"{CRON}{configured.id}" == timer.name), None)
        now, due = ctx.env.now(), timer.next_at
        if entry is None or due is None or due > now:
            return None
        # The planned time keeps the phase of an interval.
        after = moved(timer, self._next(entry, now, due), due)
        missed = self._began is not None and due < self._began
        body = CronDue(
            entry=entry.id,
            agent=agent_of(entry, ctx.config),
            reason=Reason.CRON_MISSED if missed else Reason.CRON_DUE,
            due=due,
            next_at=after.next_at,
            starts="turn" if entry.wake is None else "heartbeat",
        )
        if entry.wake is None:
            await self._start(entry, after, body)
            return None
        await self._tell(entry, after, body)
        return body.agent if entry.wake == "now" else None

    async def _start(self, entry: CronConfig, timer: Timer, body: CronDue) -> None:
        ctx = self._ctx
        try:
            place = await self._destinations.for_agent(body.agent, None, None, entry=entry)
        except StoreError:
            raise
        except Exception:  # noqa: BLE001 -- adapters and decisions may be user code; the turn takes place anyway
            place = Destination(reason=Reason.NO_TARGET)
        name = f"cron-{entry.id}-{stamp(body.due)}"
        work = Work(
            id=InboundId(name),
            kind=WorkKind.CRON,
            agent=body.agent,
            session_key=config_key(SessionKey(agent=body.agent), ctx.config),
            peer=Peer(id=f"cron:{entry.id}", name=entry.id),
            text=cron_prompt(entry.text, None if place.address is None else str(place.address)),
            heartbeat=HeartbeatRun(wake=f"cron:{entry.id}", due=body.due, target=place.address, why=place.reason),
        )
        await self._timers.start(work, body, body, None, timer=timer)

    async def _tell(self, entry: CronConfig, timer: Timer, body: CronDue) -> None:
        ctx = self._ctx
        event = NewSystemEvent(
            identity=f"{timer.name}/{body.due!r}",
            agent=body.agent,
            text=entry.text,
            source=f"cron:{entry.id}",
            wakes=entry.wake == "now",
        )

        def story(_: object) -> None:
            self._timers.keep(timer)
            ctx.events.record(body)

        await ctx.store.write(Fire(timer=timer, event=event, now=ctx.env.now()), story)


def _spec(entry: CronConfig) -> str:
    return f"{entry.at or ''}|{entry.every or ''}|{entry.cron or ''}|{entry.timezone}"


#: seconds after which the wall clock is looked at again: it may have been set
_LOOK = 300.0
#: seconds by which the wall clock may drift without having been set
_DRIFT = 5.0
#: kinds of wake requests that only the gateway makes
_INTERNAL = (WakeKind.RETRY, WakeKind.INTERVAL)


class Scheduler:
    """Starts heartbeats and entries of the schedule when they are due."""

    def __init__(self, context: Context, targets: TargetResolver, turns: TurnQueue) -> None:
        self._ctx = context
        self._timers, destinations = Timers(context, turns), Destinations(context, targets)
        self._passes = Passes(context, self._timers, destinations, turns)
        self._entries = ScheduleEntries(context, self._timers, destinations)
        self._changed = anyio.Event()
        self._queues: dict[str, WakeQueue] = {}
        #: entries of the schedule that are being started
        self._firing: set[str] = set()
        #: the configuration that the timers are planned for
        self._planned: GatewayConfig | None = None
        #: by how much the wall clock is ahead of the steady clock
        self._clock: float | None = None

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
            soon = min(waits)
            # Two clocks differ in their last digits: a wait that neither of them can show would be one for ever.
            await wait_at_most(self._changed, max(soon, 0.001) if soon > 0 else 0.0)
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
            next_at = _next_of(stored, heartbeat.every, ctx.env.now(), ctx.decisions)
            planned = self._passes.first_in_hours(agent, next_at)
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
            self._queues[agent], wakes = take_due(queue, env.steady())
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
        later = await self._passes.run(wake)
        env, queue = self._ctx.env, self._queues[wake.agent]
        self._queues[wake.agent] = finished(queue, env.steady(), (wake,) if later.busy else ())
        if later.delay is not None:
            self._request(msgspec.structs.replace(wake, at=env.steady()), later.delay)
        if later.more:
            self._request(WakeRequest(agent=wake.agent, kind=WakeKind.WAKE, detail="more events", at=env.steady()))
        self._changed.set()


def _next_of(stored: Timer | None, every: float, now: float, by: Decisions) -> float | None:
    """The next time of a heartbeat. One that is stored keeps its phase, also after the clock was set back."""
    at, before = (None, None) if stored is None else (stored.next_at, float(stored.spec))
    if at is None or before != every or every <= 0 or at <= now:
        return by.plan_heartbeat(every, now, stored=at, stored_every=before)
    return by.next_heartbeat(now - (now - at) % every, every, now)


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
