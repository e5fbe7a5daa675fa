"""Heartbeats and the schedule, by the times and targets of the configuration alone: H6 and H7."""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from trunkline.core.channels import Hints, rules_for
from trunkline.core.config import CronConfig, GatewayConfig, HeartbeatConfig
from trunkline.core.errors import TargetError
from trunkline.core.events import Event, delivery, heartbeat
from trunkline.core.text.chunking.utf16 import units
from trunkline.core.values import ChatKind, IntentKind, WorkKind
from trunkline.sim.events import hands, script, wire, world
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.index.projection import on, on_intent
from trunkline.sim.invariants.base import Checker
from trunkline.sim.invariants.truth.heard_and_answered import is_at_rest
from trunkline.sim.invariants.truth.said_and_seen import bare

#: seconds within which a run begins: it may wait for others, for their distance, and for the flood of them to end
_LATE = 100.0
#: seconds between the starts of two runs that events ask for; and between requests that are one
_APART, _ONE = 30.0, 0.3
_OK, _AS = "HEARTBEAT_OK", "as the configuration says"
#: what a text of a model may have that is not for people, or not seen as it stands
_READ = ("NO_REPLY", "Reasoning:", "MEDIA:", "[[", "<", "&nbsp;")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
#: without one of these there are no heartbeats
_BEATS = (world.WorldHeartbeat, heartbeat.HeartbeatStarted)


class RunsAsConfigured(Checker, symptoms=("late",)):
    """H6: Runs as configured.

    While nothing stops the gateway, a heartbeat runs at each of its configured times in its active hours, and soon
    after each request, with everything that happened, and an entry of the schedule at each of its times; neither runs
    without such a cause, and events keep their distance.
    """

    #: since when the present configuration holds
    _since = 0.0
    _changed = False
    _configured_by: Event | None = None
    #: agent or entry -> its runs: when each began, with what, in which turn
    _runs: dict[str, list[Event]] = {}
    _asked: list[Event] = []
    _wakes: list[Event] = []
    #: agents to which a person has written, and when first
    _written: dict[str, float] = {}

    def on_configured(self, event: Event, _body: world.WorldLimits) -> None:
        self._changed = self._changed or event.at > 0
        self._since = event.at
        self._configured_by = event

    def on_asked_for(self, event: Event, body: script.OperatorAsked) -> None:
        if body.what != "wake":
            self._asked.append(event)

    def on_entry_due(self, event: Event, body: heartbeat.CronDue) -> None:
        if body.starts == "heartbeat":
            self._wakes.append(event)

    @on(hands.AgentAnswered, after=_BEATS)
    def _answered(self, event: Event, body: hands.AgentAnswered) -> None:
        if body.work is WorkKind.MESSAGE:
            self._written.setdefault(body.agent, event.at)

    def on_given(self, event: Event, body: hands.AgentGiven) -> None:
        if body.work not in (WorkKind.HEARTBEAT, WorkKind.CRON):
            return
        runs = self._runs.setdefault(body.agent if body.work is WorkKind.HEARTBEAT else f"cron:{body.peer.name}", [])
        # A turn that runs again after the end of its process is one run.
        if all(known.turn != event.turn for known in runs):
            runs.append(event)

    def finish(self, last: Event) -> None:
        """Compare the runs with the times and requests."""
        config, beats = self.run.config, self.run.heartbeats
        if config is None or self._changed or beats.clock_set_by or not is_at_rest(last):
            return
        for agent, settings in beats.configured.items():
            if settings.every > 0:
                self._judge_heartbeat(agent, settings, last)
        for entry in config.cron:
            if entry.cron is not None and entry.wake is None:
                self._judge_entry(entry, config, last)

    def _judge_heartbeat(self, agent: str, settings: world.WorldHeartbeat, last: Event) -> None:
        runs, every = self._runs.get(agent, []), settings.every
        due = [every * n for n in range(1, int(last.at // every) + 1)]
        asked = [event for event in self._asked if getattr(event.body, "agent", "") == agent]
        waking = [event for event in asked if getattr(event.body, "at_once", True)]
        causes = sorted([*due, *(event.at for event in waking), *(event.at for event in self._wakes)])
        # What a process finds due that begins takes place once more.
        again = len(self.run.processes.starts) - 1
        groups = sum(not n or at - causes[n - 1] > _ONE for n, at in enumerate(causes)) + again
        self.exercised += len(causes)
        if len(runs) > groups:
            self.accuse(runs[-1], f"the heartbeat of {agent} ran {len(runs)}×, and was wanted {groups}×", _AS)
        for before, event in pairwise(runs):
            manual = [ask.at for ask in waking if getattr(ask.body, "what", "") == "heartbeat"]
            if event.at - before.at < _APART and not any(
                before.at < at <= event.at for at in (*due, *manual, *self._after_starts(event.at))
            ):
                self.accuse(
                    event, f"the heartbeat of {agent} runs {event.at - before.at:.0f} s after the last one", _AS
                )
        # What comes more often may find its agent at work each time.
        for at in [*(due if every > 2 * _LATE else ()), *(ask.at for ask in waking)]:
            # So soon after another run of it, it waits, and the scenario may end first.
            waits = any(run.at <= at and last.at < run.at + _APART + 1 for run in runs)
            if self._must_run(agent, at) and not waits and not any(at <= run.at <= at + _LATE for run in runs):
                what = f"the heartbeat of {agent} did not run within {_LATE:.0f} s after {at:.0f} s"
                self.accuse(last, what, _AS, missing=self._before(at, [*runs, *waking]))
        for ask in asked:
            text = getattr(ask.body, "text", "")
            got = any(text in getattr(run.body, "text", "") for run in runs if run.at >= ask.at)
            later = any(run.at > ask.at + _LATE for run in runs)
            if getattr(ask.body, "what", "") == "event" and later and not got and self.run.processes.had_time(ask.at):
                self.accuse(last, f"the heartbeat of {agent} never heard that “{text}” happened", _AS, missing=ask)

    def _after_starts(self, at: float) -> list[float]:
        """The time, if a process has just started: it takes up what the one before left."""
        return [at] if any(0 < at - start < _APART for start in self.run.processes.starts[1:]) else []

    def _before(self, at: float, events: list[Event]) -> Event | None:
        """The last of the events until a time, else the configuration."""
        known = (event for event in events if event.at <= at)
        return max(known, key=lambda event: event.seq, default=self._configured_by)

    def _must_run(self, agent: str, at: float) -> bool:
        """Whether nothing in the configuration, or around the gateway, keeps a heartbeat from running then."""
        config, beats = self.run.config, self.run.heartbeats
        found = None if config is None else heartbeat_of(config, agent)
        if config is None or found is None or not self.run.processes.had_time(at) or not beats.active(agent, at):
            return False
        if found.session is not None:
            return False  # who wrote to that session is not known here
        text = found.text
        empty = text is not None and ("tasks:" in text or not re.search(r"^(?![#\-*+<]).*\w", text, re.MULTILINE))
        if found.file is not None or empty or any(c.heartbeat.show_alerts is False for c in config.channels.values()):
            return False
        reached = found.target == "none" or self._written.get(agent, at) < at - 1
        if found.target in (None, "owner"):
            reached = any(map(_is_person, config.control.owners))
        return beats.active(agent, at + _LATE) and reached

    def _judge_entry(self, entry: CronConfig, config: GatewayConfig, last: Event) -> None:
        runs = self._runs.get(f"cron:{entry.id}", [])
        due = list(_times(entry, config, last.at))
        self.exercised += len(due)
        for at in filter(self.run.processes.had_time, due):
            if at + _LATE < last.at and not any(at <= run.at <= at + _LATE for run in runs):
                what = f"the entry {entry.id} did not run at {at:.0f} s"
                self.accuse(last, what, _AS, missing=self._before(at, runs))
        for run in runs:
            missed = (at for at in self.run.processes.starts if at > 0)
            if not any(at <= run.at <= at + _LATE for at in (*due, *missed)):
                self.accuse(run, f"the entry {entry.id} ran at {run.at:.0f} s, which is none of its times", _AS)


class AlertsReachTheirTarget(Checker, symptoms=("wrong place",)):
    """H7: Alerts reach their target.

    An answer of a heartbeat that is no acknowledgement is queued for its configured target, an owner, a channel or the
    last place, unless it was said before or the configuration hides it; an acknowledgement is not.
    """

    _answers: dict[str, Event] = {}
    _queued: dict[str, Event] = {}
    _said: set[tuple[str, str]] = set()
    #: results of commands are relayed, however short they are
    _relays = False

    def on_asked(self, _event: Event, body: script.OperatorAsked) -> None:
        self._relays = self._relays or body.text.startswith("exec-event")

    @on(hands.AgentAnswered, after=_BEATS)
    def _answered(self, event: Event, body: hands.AgentAnswered) -> None:
        if body.work is WorkKind.HEARTBEAT:
            self._answers[event.turn or ""] = event

    @on(delivery.IntentPrepared, after=_BEATS)
    def _prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        if body.intent_kind is IntentKind.HEARTBEAT:
            self._queued[event.turn or ""] = event

    @on_intent(wire.WireAccepted, after=_BEATS)
    def _accepted(self, event: Event, body: wire.WireAccepted, facts: IntentFacts) -> None:
        config = self.run.config
        if config is None or facts.body.intent_kind is not IntentKind.HEARTBEAT:
            return
        found = heartbeat_of(config, self.run.heartbeats.agents.get(facts.prepared.inbound or "", ""))
        if found is None or self.run.hooks.may_go(event.intent, body.address):
            return
        self.exercised += 1
        target, place = found.target or "owner", body.address
        who = f"{place.channel}:{place.conversation}"
        owns = not config.control.owners or who in config.control.owners
        owns = owns or place.conversation in config.channel(place.channel).recipients
        wrong = {"none": True, "last": False, "owner": place.kind is not ChatKind.DIRECT or not owns}.get(
            target, place.channel != target.strip().lower()
        )
        if wrong:
            self.accuse(event, f"a heartbeat for {target} is seen at {self.run.name(place)}", _AS, facts.prepared)

    def finish(self, last: Event) -> None:
        """Compare what agents returned with what was queued."""
        config = self.run.config
        for turn, event in self._answers.items() if config is not None and is_at_rest(last) else ():
            body, queued = event.body, self._queued.get(turn)
            assert isinstance(body, hands.AgentAnswered)
            found = None if config is None else heartbeat_of(config, body.agent)
            text = (body.text or "").strip()
            acknowledges = None if found is None or any(sign in text for sign in _READ) else _acknowledges(text, found)
            if config is None or found is None or acknowledges is None:
                continue
            self.exercised += 1
            rest = text.replace(_OK, " ").strip()
            words = (body.agent, bare(rest))
            shown = _OK in getattr(getattr(queued, "body", None), "text", "") or (bool(rest) and self._relays)
            if queued is not None and acknowledges and not shown:
                self.accuse(queued, f"an acknowledgement of {body.agent} is sent as an alert", "nothing is sent", event)
            elif not (queued or acknowledges or words in self._said) and self._must_say(config, found, event):
                self.accuse(last, f"“{rest}”, an alert of {body.agent}, is queued for nobody", _AS, missing=event)
            self._said.add(words)

    def _must_say(self, config: GatewayConfig, found: HeartbeatConfig, event: Event) -> bool:
        """Whether an alert has a target and is not hidden."""
        agent, wall = getattr(event.body, "agent", ""), self.run.heartbeats.wall(event)
        shown = [c.heartbeat.show_alerts for c in config.channels.values()]
        shown += [a.heartbeat.show_alerts for c in config.channels.values() for a in c.accounts.values()]
        if False in shown or not self.run.processes.had_time(event.at):
            return False
        if not self.run.heartbeats.active(agent, wall + 1.0):
            return False
        sent = "".join(bare(getattr(say.body, "text", "")) for say in self.run.speech.sends.get(event.turn or "", ()))
        owned = found.target in (None, "owner") and found.direct_policy == "allow"
        return owned and not sent and bool(config.control.owners)


def _acknowledges(text: str, found: HeartbeatConfig) -> bool | None:
    """Whether an answer has nothing to say; None: that depends on how the signs around its token are read."""
    rest, prefix = text.replace(_OK, " ").strip(), found.response_prefix.strip()
    if prefix and text.startswith(prefix):
        return None
    if sum(map(str.isalnum, rest)) > (found.ack_max_chars if _OK in text else 0):
        return False
    if _OK not in text:
        return None if text else True
    beside = text.removeprefix(f"{_OK} ").removesuffix(f" {_OK}")
    return True if text == _OK or (beside == rest and units(rest) <= found.ack_max_chars) else None


def _is_person(owner: str) -> bool:
    """Whether the text of an owner proves a direct chat: on some platforms a bare number may be a channel."""
    channel, _, named = owner.partition(":")
    try:
        found = rules_for(channel.strip().lower()).read(named, Hints())
    except TargetError:
        return False
    return found.kind is ChatKind.DIRECT and not found.understood.endswith("by default")


def heartbeat_of(config: GatewayConfig, agent: str) -> HeartbeatConfig | None:
    """The heartbeat of an agent: its own settings on top of the shared ones."""
    own = {known.id: known.heartbeat for known in config.agents}
    if agent not in own or (own[agent] is None and (any(own.values()) or agent != config.default_agent)):
        return None
    shared, mine = config.heartbeat or HeartbeatConfig(), own[agent]
    return shared if mine is None else shared.model_copy(update={k: getattr(mine, k) for k in mine.model_fields_set})


def _times(entry: CronConfig, config: GatewayConfig, until: float) -> Iterator[float]:
    """The times of a cron expression of numbers, by looking at each minute; none where a zone changes its clock."""
    fields = (entry.cron or "").split()
    user = (config.heartbeat or HeartbeatConfig()).user_timezone
    name = {"user": user, "local": "UTC"}.get(entry.timezone, entry.timezone)
    zone = ZoneInfo("UTC" if name == "local" else name)
    wanted = [_numbers(field, most) for field, most in zip(fields, (60, 24, 32, 13, 8), strict=True)]
    for minute in range(1, int(until // _MINUTE) + 1):
        local = datetime.fromtimestamp(minute * _MINUTE, zone)
        day, weekday = local.day in wanted[2], local.isoweekday() in wanted[4] or (local.isoweekday() % 7) in wanted[4]
        on_day = day or weekday if "*" not in (fields[2][0], fields[4][0]) else day and weekday
        if local.minute in wanted[0] and local.hour in wanted[1] and local.month in wanted[3] and on_day:
            yield float(minute * _MINUTE)


def _numbers(field: str, most: int) -> set[int]:
    """The numbers that a field of a cron expression means."""
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, end = ("0", "-", str(most - 1)) if span == "*" else span.partition("-")
        found |= set(range(int(first), int(end or (most - 1 if step else first)) + 1, int(step or 1)))
    return found
