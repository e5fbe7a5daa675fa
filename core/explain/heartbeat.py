"""The decision of an agent's heartbeat at a time, by the functions of `core.heartbeat`; nothing runs."""

from datetime import datetime
from functools import partial

import msgspec

from trunkline.core.calendar.cron import next_fire
from trunkline.core.calendar.hours import is_active
from trunkline.core.calendar.zones import Zones
from trunkline.core.config import CronConfig, GatewayConfig, HeartbeatConfig
from trunkline.core.decisions import Decisions
from trunkline.core.errors import TargetError, UsageError
from trunkline.core.events.heartbeat import GuardResult
from trunkline.core.heartbeat.guards import GuardFacts, RunDecision
from trunkline.core.heartbeat.schedule import first_active, next_due
from trunkline.core.heartbeat.settings import agent_of, heartbeat_of, target_question, zones_of
from trunkline.core.heartbeat.targets import HeartbeatTarget, Route, resolve_heartbeat_target
from trunkline.core.heartbeat.visibility import Visibility, resolve_visibility
from trunkline.core.heartbeat.wake import WakeKind
from trunkline.core.keys import SessionKey
from trunkline.core.profile_rules import Profile
from trunkline.core.routing.key_text import config_key

#: how many of the next times are shown
_TIMES = 3
#: guards that only a running gateway can ask
_RUNNING = frozenset({"cool-down", "session-idle", "schedule-idle", "agent-idle"})


class EntryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the schedule, and when it is due next, in seconds since the epoch."""

    entry: CronConfig
    times: tuple[float, ...]
    zone: str


class HeartbeatAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of an agent's heartbeat. Times are seconds since the epoch."""

    profile: Profile
    agent: str
    at: float
    #: zone in which times are shown
    zone: str
    #: None: the agent has no heartbeat
    heartbeat: HeartbeatConfig | None
    session_key: str
    #: whether a run would take place at `at`, as far as the configuration decides it
    decision: RunDecision
    #: what the guards said that need no running gateway
    guards: tuple[GuardResult, ...]
    #: of a gateway that starts at `at`
    times: tuple[float, ...]
    target: HeartbeatTarget
    visibility: Visibility
    entries: tuple[EntryAnswer, ...]
    notes: tuple[str, ...]


def decide_heartbeat(
    config: GatewayConfig, *, agent: str | None, at: float, local: str, last: str | None = None
) -> HeartbeatAnswer:
    """Ask the guards, the target and the schedule.

    `at`: seconds since the epoch. `local`: the machine's time zone. `last`: where the session was last used, as
    ``<channel>:<target>``. Raises `UsageError`.
    """
    if agent is not None and not config.accepts_agent(agent):
        raise UsageError(f"no agent {agent!r}; there are: {', '.join(agent.id for agent in config.agents)}")
    name = agent or config.default_agent
    heartbeat = heartbeat_of(config, name)
    zones = zones_of(config, name, local)
    target = resolve_heartbeat_target(target_question(config, name, last=_route(last), accounts={}))
    visibility = resolve_visibility(config, target.channel, target.account)
    hours = None if heartbeat is None or heartbeat.active_hours is None else heartbeat.active_hours.hours
    active = partial(is_active, hours, zones=zones)
    every = 0.0 if heartbeat is None else heartbeat.every
    facts = GuardFacts(
        kind=WakeKind.INTERVAL,
        now=at,
        enabled=heartbeat is not None,
        every=every,
        active=active(at),
        instructions=None if heartbeat is None else heartbeat.text,
        visibility=visibility,
        undeliverable=None if target.deliverable else target.reason,
    )
    times: list[float] = []
    while every > 0 and len(times) < _TIMES:
        times.append(first_active(next_due(0.0, every, times[-1] if times else at), every, active))
    key = None if heartbeat is None else heartbeat.session
    decision = config.rules[Decisions].decide_run(facts)
    return HeartbeatAnswer(
        profile=config.profile,
        agent=name,
        at=at,
        zone=zones.of("user").key,
        heartbeat=heartbeat,
        session_key=key or config_key(SessionKey(agent=name), config),
        decision=decision,
        guards=tuple(guard for guard in decision.guards if guard.guard not in _RUNNING),
        times=tuple(times),
        target=target,
        visibility=visibility,
        entries=tuple(_entry(entry, at, zones) for entry in config.cron if agent_of(entry, config) == name),
        notes=tuple(_notes(heartbeat)),
    )


def time_of(text: str, zone: str) -> float:
    """Seconds since the epoch of an ISO 8601 time; without an offset, in a zone. Raises `UsageError`."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"--at {text!r} is no time: write 2026-11-23T09:00, or 2026-11-23T09:00+01:00") from None
    return (found if found.tzinfo is not None else found.replace(tzinfo=Zones(local=zone).of(zone))).timestamp()


def _route(last: str | None) -> Route:
    if last is None:
        return Route()
    channel, _, to = last.partition(":")
    if not channel.strip() or not to.strip():
        raise TargetError(f"--last {last!r}: write <channel>:<target>, e.g. telegram:-1001")
    return Route(channel=channel.strip().lower(), to=to.strip())


def _entry(entry: CronConfig, at: float, zones: Zones) -> EntryAnswer:
    times: list[float] = []
    while len(times) < _TIMES:
        due = next_fire(entry.timing, times[-1] if times else at, zones, since=at)
        if due is None:
            break
        times.append(due)
    return EntryAnswer(entry=entry, times=tuple(times), zone=zones.of(entry.timezone).key)


def _notes(heartbeat: HeartbeatConfig | None) -> list[str]:
    if heartbeat is None or heartbeat.file is None:
        return []
    return [f"{heartbeat.file} is read before each run, and not here; if it holds nothing to do, the run is skipped"]
