"""The entries of the schedule: when each fires, and the turn or the event for the heartbeat that it starts."""

from __future__ import annotations

from trunkline.core.calendar.cron import next_fire
from trunkline.core.config.schedule import CronConfig
from trunkline.core.errors import StoreError
from trunkline.core.events.heartbeat import CronDue, CronScheduled
from trunkline.core.heartbeat.prompts import cron_prompt
from trunkline.core.heartbeat.settings import agent_of, zones_of
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.records.heartbeat import HeartbeatRun
from trunkline.core.records.rows import Work
from trunkline.core.routing.key_text import config_key
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.heartbeat.admissions import Admissions
from trunkline.core.runtime.heartbeat.facts import Destination, Destinations
from trunkline.core.runtime.heartbeat.timers import CRON, Timers, moved, stamp
from trunkline.core.store.schedule import Fire, NewSystemEvent, Timer
from trunkline.core.values import InboundId, Peer, WorkKind


class ScheduleEntries:
    """Plans and fires the entries of the schedule."""

    def __init__(self, context: Context, *, timers: Timers, destinations: Destinations, admissions: Admissions) -> None:
        self._ctx = context
        self._timers = timers
        self._destinations = destinations
        self._admissions = admissions
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
        return next_fire(entry.timing, after, zones, since=since)

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
        """Start the turn of an entry."""
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
        await self._admissions.start(work, body, body, None, timer=timer)

    async def _tell(self, entry: CronConfig, timer: Timer, body: CronDue) -> None:
        """Store the text of an entry as an event for the heartbeat."""
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
    """The schedule of an entry as text."""
    return f"{entry.at or ''}|{entry.every or ''}|{entry.cron or ''}|{entry.timezone}"
