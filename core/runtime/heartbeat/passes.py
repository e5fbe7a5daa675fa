"""A try to run a heartbeat: ask the guards, find the destination, and store the run with the input."""

from collections import deque
from functools import partial

import msgspec

from trunkline.core.config.heartbeat import HeartbeatConfig
from trunkline.core.decisions import Decisions
from trunkline.core.errors import StoreError
from trunkline.core.events.heartbeat import HeartbeatDue, HeartbeatSkipped, HeartbeatStarted
from trunkline.core.heartbeat.guards import BUSY, GuardFacts, RunDecision
from trunkline.core.heartbeat.prompts import PromptFacts, heartbeat_prompt
from trunkline.core.heartbeat.schedule import first_active, next_due
from trunkline.core.heartbeat.settings import heartbeat_of
from trunkline.core.heartbeat.tasks import Assignment, assignment
from trunkline.core.heartbeat.wake import FLOOD_WINDOW, WakeKind, WakeRequest
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.records.heartbeat import HeartbeatRun, SystemEvent
from trunkline.core.records.rows import Work
from trunkline.core.routing.key_text import config_key
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.heartbeat.facts import Destination, Destinations, Instructions, instructions_of
from trunkline.core.runtime.heartbeat.timers import HEARTBEAT, Timers, moved, stamp
from trunkline.core.runtime.outbound.heartbeat_outcome import in_hours, visibility_of
from trunkline.core.runtime.turn_queue import TurnQueue
from trunkline.core.sends.api import named_session
from trunkline.core.store.queries import FindSession
from trunkline.core.store.schedule import MOST_EVENTS, ListSystemEvents, Timer
from trunkline.core.values import InboundId, Peer, WorkKind
from trunkline.core.well_formed import describe


class Later(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Whether a heartbeat has to be tried again: soon, since its agent is busy, or after a time."""

    busy: bool = False
    delay: float | None = None
    #: the run took place, and more system events wait than it could take
    more: bool = False


class _Pass(msgspec.Struct, frozen=True, kw_only=True):
    wake: WakeRequest
    heartbeat: HeartbeatConfig
    session_key: str
    timer: Timer | None
    #: when the schedule wanted it; none: it does not
    due: float | None
    now: float
    cause: int
    #: the last route of this session counts; none: that of the agent
    routed_by: str | None
    events: tuple[SystemEvent, ...] = ()
    instructions: Instructions = Instructions()
    assignment: Assignment = Assignment(text=None)
    destination: Destination = Destination()

    def next_at(self, by: Decisions) -> float | None:
        """The next time of the schedule, once this try is over."""
        if self.due is None or self.heartbeat.every <= 0:
            return None if self.timer is None else self.timer.next_at
        return by.next_heartbeat(self.due, self.heartbeat.every, self.now)


class Passes:
    def __init__(self, context: Context, timers: Timers, destinations: Destinations, turns: TurnQueue) -> None:
        self._ctx = context
        self._timers = timers
        self._destinations = destinations
        self._turns = turns
        #: when the last runs of each agent began, on the steady clock
        self._starts: dict[str, deque[float]] = {}
        #: agents whose run waits -> the event that says that it is due, and the reasons recorded since
        self._waiting: dict[str, tuple[int, set[Reason]]] = {}

    async def run(self, wake: WakeRequest) -> Later:
        """Run a heartbeat, unless a guard forbids it. An error of one try is recorded, and the schedule goes on."""
        ctx, agent = self._ctx, wake.agent
        heartbeat = heartbeat_of(ctx.config, agent)
        if heartbeat is None:
            self._waiting.pop(agent, None)
            return Later()
        timer, now = self._timers.find(f"{HEARTBEAT}{agent}"), ctx.env.now()
        due = None if timer is None or timer.next_at is None or timer.next_at > now else timer.next_at
        if due is None and wake.kind is WakeKind.INTERVAL:
            # The schedule was changed since the wake-up.
            self._waiting.pop(agent, None)
            return Later()
        cause = self._record_due(wake, due)
        try:
            tried = self._try(wake, heartbeat, timer, due, cause)
            decision = ctx.decisions.decide_run(await self._facts(tried))
            if decision.runs:
                # Adapters and files are asked only for a run that nothing else forbids.
                tried = await self._gather(tried)
                decision = ctx.decisions.decide_run(await self._facts(tried))
            if not decision.runs:
                return await self._skip(tried, decision)
            await self._start(tried, decision)
            return Later(more=len(tried.events) >= MOST_EVENTS)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 -- decisions and adapters may be user code; the next time may be sound
            after = _passed(timer, due, heartbeat, ctx.env.now())
            body = HeartbeatSkipped(
                agent=agent,
                reason=Reason.AGENT_RUNNER_FAILURE,
                wake=wake.reason,
                due=due,
                next_at=None if after is None else after.next_at,
                detail=describe(error),
            )
            self._waiting.pop(agent, None)
            await self._record(after, body, cause)
            return Later()

    def _record_due(self, wake: WakeRequest, due: float | None) -> int:
        """The event that says that a heartbeat is due; recorded once for a run that has to wait."""
        known = self._waiting.get(wake.agent)
        if known is not None:
            return known[0]
        scheduled = wake.kind is WakeKind.INTERVAL
        reason = Reason.HEARTBEAT_DUE if scheduled else Reason.HEARTBEAT_WAKE
        body = HeartbeatDue(agent=wake.agent, reason=reason, wake=wake.reason, due=due)
        seq = self._ctx.events.record(body)
        self._waiting[wake.agent] = (seq, set())
        return seq

    def _try(
        self, wake: WakeRequest, heartbeat: HeartbeatConfig, timer: Timer | None, due: float | None, cause: int
    ) -> _Pass:
        ctx = self._ctx
        own = named_session(heartbeat.session, ctx.config, ctx.default_accounts)
        named = None if own is None else own[0]
        return _Pass(
            wake=wake,
            heartbeat=heartbeat,
            session_key=named or config_key(SessionKey(agent=wake.agent), ctx.config),
            timer=timer,
            due=due,
            now=ctx.env.now(),
            cause=cause,
            routed_by=named,
        )

    async def _gather(self, tried: _Pass) -> _Pass:
        """The try with what the store, files and adapters say."""
        ctx, agent = self._ctx, tried.wake.agent
        found = await instructions_of(tried.heartbeat, ctx.env.files)
        last = None if tried.timer is None else tried.timer.last_at
        return msgspec.structs.replace(
            tried,
            events=await ctx.store.read(ListSystemEvents(agent=agent)),
            instructions=found,
            assignment=assignment(found.text, last, tried.due),
            destination=await self._destinations.for_agent(agent, tried.routed_by, tried.cause),
        )

    async def _facts(self, tried: _Pass) -> GuardFacts:
        ctx, agent, heartbeat = self._ctx, tried.wake.agent, tried.heartbeat
        session = await ctx.store.read(FindSession(key=tried.session_key))
        # A run that is due and was asked for too runs as due: it does not wait for a cool-down.
        asked = tried.wake.kind
        kind = asked if tried.due is None or asked is WakeKind.MANUAL or asked.by_event else WakeKind.INTERVAL
        steady = ctx.env.steady()
        next_at, place = None if tried.timer is None else tried.timer.next_at, tried.destination.address
        return GuardFacts(
            kind=kind,
            now=steady,
            every=heartbeat.every,
            next_due=None if next_at is None else ctx.env.steady_of(next_at),
            starts=() if tried.due is not None else tuple(self._recent(agent)),
            active=self.active(agent, tried.now),
            session_busy=session is not None and self._turns.has_session(session.id),
            schedule_busy=self._turns.has_agent(agent, WorkKind.CRON),
            agent_busy=heartbeat.skip_when_busy and self._turns.has_agent(agent),
            skip_when_busy=heartbeat.skip_when_busy,
            instructions=tried.assignment.text,
            tasks_due=tried.assignment.due,
            events=len(tried.events),
            visibility=visibility_of(ctx.config, place),
            undeliverable=None if place is not None else tried.destination.reason,
        )

    def active(self, agent: str, now: float) -> bool:
        return in_hours(self._ctx, agent, now)

    def first_in_hours(self, agent: str, next_at: float | None) -> float | None:
        """The next time of a heartbeat; if that is in the quiet hours, the first of its times in the active hours."""
        heartbeat = heartbeat_of(self._ctx.config, agent)
        if next_at is None or heartbeat is None or heartbeat.every <= 0:
            return None
        return first_active(next_at, heartbeat.every, partial(self.active, agent))

    def _recent(self, agent: str) -> deque[float]:
        starts, now = self._starts.setdefault(agent, deque()), self._ctx.env.steady()
        while starts and now - starts[0] >= FLOOD_WINDOW:
            starts.popleft()
        return starts

    def _moved(self, tried: _Pass, *, fired: bool) -> Timer | None:
        """The timer after this try; none: the timer stays."""
        if tried.timer is None or tried.due is None:
            return None
        at = self.first_in_hours(tried.wake.agent, tried.next_at(self._ctx.decisions))
        return moved(tried.timer, at, tried.due if fired else None)

    async def _start(self, tried: _Pass, decision: RunDecision) -> None:
        """Store the run, once: a run of the schedule is known by its time."""
        ctx, agent, wake = self._ctx, tried.wake.agent, tried.wake
        self._waiting.pop(agent, None)
        place, timer = tried.destination.address, self._moved(tried, fired=True)
        due = tried.due
        name = _work_id(ctx, wake, tried.timer, due)
        prompt = PromptFacts(
            kind=wake.kind,
            prompt=tried.heartbeat.prompt,
            instructions=tried.assignment.text,
            events=tried.events,
            target=None if place is None else str(place),
        )
        work = Work(
            id=InboundId(name),
            kind=WorkKind.HEARTBEAT,
            agent=agent,
            session_key=tried.session_key,
            peer=Peer(id="heartbeat", name="heartbeat"),
            text=heartbeat_prompt(prompt),
            heartbeat=HeartbeatRun(wake=wake.reason, due=due, target=place, why=tried.destination.reason),
        )
        started = HeartbeatStarted(
            agent=agent,
            guards=decision.guards,
            wake=wake.reason,
            due=due,
            next_at=tried.next_at(ctx.decisions) if timer is None else timer.next_at,
            to=place,
            reason=tried.destination.reason,
            events=len(tried.events),
            detail=tried.instructions.problem,
        )
        self._recent(agent).append(ctx.env.steady())
        ctx.heartbeats[work.id] = ctx.env.now()
        again = HeartbeatSkipped(agent=agent, reason=Reason.NOT_DUE, wake=wake.reason, due=due, next_at=started.next_at)
        taken = tried.events[-1].n if tried.events else 0
        await self._timers.start(work, started, again, tried.cause, timer=timer, taken=taken)

    async def _skip(self, tried: _Pass, decision: RunDecision) -> Later:
        """Record why a run does not take place; what only has to wait is recorded once for a reason."""
        assert decision.reason is not None
        agent, waits = tried.wake.agent, not decision.advances
        timer = None if waits else self._moved(tried, fired=False)
        body = HeartbeatSkipped(
            agent=agent,
            reason=decision.reason,
            guards=decision.guards,
            wake=tried.wake.reason,
            due=tried.due,
            next_at=None if timer is None else timer.next_at,
            detail=tried.instructions.problem or tried.destination.detail,
        )
        seen = self._waiting[agent][1]
        if decision.reason not in seen:
            seen.add(decision.reason)
            await self._record(timer, body, tried.cause)
        if not waits:
            self._waiting.pop(agent, None)
            return Later()
        if decision.reason in BUSY:
            return Later(busy=True)
        assert decision.retry_at is not None
        return Later(delay=max(0.0, decision.retry_at - self._ctx.env.steady()))

    async def _record(self, timer: Timer | None, body: HeartbeatSkipped, cause: int) -> None:
        if timer is None:
            self._ctx.events.record(body, cause)
        else:
            await self._timers.store(timer, body, cause)


def _passed(timer: Timer | None, due: float | None, heartbeat: HeartbeatConfig, now: float) -> Timer | None:
    """The timer behind a time whose try raised, by our rule: a decision may have raised. None: the timer stays."""
    if timer is None or due is None or heartbeat.every <= 0:
        return None
    return moved(timer, next_due(due, heartbeat.every, now))


def _work_id(ctx: Context, wake: WakeRequest, timer: Timer | None, due: float | None) -> str:
    """The id of a run. One of the schedule is known by its time, unless a clock that was set back shows it again."""
    again = timer is not None and timer.last_at is not None and due is not None and due <= timer.last_at
    if due is None or again:
        return ctx.env.ids.new("heartbeat", wake.agent, wake.reason)
    return f"heartbeat-{wake.agent}-{stamp(due)}"
