"""Alerts of heartbeats, when they run, and where they go: H1 to H5. H1 to H3 are judged by what platforms accepted."""

import re

from trunkline.core.events import Event, delivery, gateway, heartbeat, leases
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, IntentState, WorkKind
from trunkline.sim.events import processes, script, wire, world
from trunkline.sim.index.marks import shown_words
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import IntentFacts, Lane, RunFacts
from trunkline.sim.invariants.base import Checker
from trunkline.sim.invariants.heartbeat.as_configured import heartbeat_of

_DAY = 86_400.0
#: without one of these there are no heartbeats
_BEATS = (world.WorldHeartbeat, heartbeat.HeartbeatStarted)
#: seconds for which a request that left in time may be on its way
_ON_ITS_WAY = 30.0
_OK = "HEARTBEAT_OK"
#: the token at the start and at the end of a message, surely as a word of its own; elsewhere it is one of the text
_OK_FIRST, _OK_LAST = re.compile(rf"\A{_OK}(?=[ \n]|\Z)"), re.compile(rf"(?:\A|(?<=[ \n])){_OK}\Z")


def _heartbeat(run: RunFacts, event: Event) -> IntentFacts | None:
    """The intent of a heartbeat that an event is about."""
    facts = run.intents.get(event.intent or "")
    return facts if facts is not None and facts.body.intent_kind is IntentKind.HEARTBEAT else None


def _of_heartbeat(run: RunFacts, intent: str | None) -> IntentFacts | None:
    """An intent of a heartbeat: the returned text, or a send with the message tool."""
    facts = run.intents.get(intent or "")
    if facts is None or facts.body.intent_kind not in (IntentKind.HEARTBEAT, IntentKind.TOOL):
        return None
    return facts if facts.prepared.inbound in run.heartbeats.agents and facts.body.action is None else None


def _agent(run: RunFacts, event: Event) -> str:
    """The agent whose heartbeat an intent belongs to."""
    facts = run.intents.get(event.intent or "")
    return "" if facts is None else run.heartbeats.agents.get(facts.prepared.inbound or "", "")


def _is_shown_ok(run: RunFacts, event: Event, body: wire.WireAccepted) -> bool:
    """Whether a message is an acknowledgement that the configuration shows."""
    settings = run.heartbeats.configured.get(_agent(run, event))
    if settings is None or f"{body.address.channel}:{body.address.account}" not in settings.ok_shown:
        return False
    # Where texts are short, it is in several parts, each of which may be a line of the intent.
    facts, whole = run.intents.get(event.intent or ""), [*settings.prefix.split(), _OK]
    return whole in (body.text.split(), [] if facts is None else facts.body.text.split())


class OkUnseen(Checker, symptoms=("unasked",)):
    """H1: An OK is not shown.

    No message begins or ends with a heartbeat's token, unless acknowledgements are shown in that place.
    """

    @on(wire.WireAccepted, after=_BEATS)
    def _accepted(self, event: Event, body: wire.WireAccepted) -> None:
        facts = _heartbeat(self.run, event)
        if facts is None or event.intent in self.run.speech.rewritten:
            return
        self.exercised += 1
        settings = self.run.heartbeats.configured.get(_agent(self.run, event))
        text = body.text if settings is None else body.text.removeprefix(settings.prefix.strip()).lstrip(" ")
        begins = body.chunk == 0 and _OK_FIRST.search(text) is not None
        ends = body.chunk == facts.body.chunks - 1 and _OK_LAST.search(text) is not None
        if (begins or ends) and not _is_shown_ok(self.run, event, body):
            summary = f"{event.intent} shows the token of the heartbeat in {self.run.name(body.address)}"
            self.accuse(event, summary, "nothing, or what was said beside the token", shown=f"{body.text!r}")


class OncePerDay(Checker, symptoms=("twice",)):
    """H2: The same alert once a day.

    A heartbeat says the same text in a place at most once in 24 hours, over restarts too; and what is left out as a
    repetition was said in that place, or waits there.
    """

    #: agent, place and text -> the last accept, and its time on the wall clock
    _said: dict[tuple[str, Lane, str], tuple[Event, float]] = {}
    #: the same -> the accept that the 24 hours count from; what came too early begins no new ones
    _due: dict[tuple[str, Lane, str], tuple[Event, float]] = {}
    #: places with a heartbeat in doubt, which somebody may have read -> since when
    _doubted: dict[Lane, float] = {}

    @on(wire.WireAccepted, after=_BEATS)
    def _accepted(self, event: Event, body: wire.WireAccepted) -> None:
        facts = _of_heartbeat(self.run, event.intent)
        if facts is None or body.chunk or body.media or _is_shown_ok(self.run, event, body):
            return
        self.exercised += 1
        now = self.run.heartbeats.wall(event)
        key = (_agent(self.run, event), body.address.lane, self.run.said_words(facts.body.text))
        before = self._said.get(key)
        self._said[key] = (event, now)
        # The same intent twice is the business of D1.
        if before is not None and before[0].intent == event.intent:
            return
        due = self._due.get(key)
        if due is None or not 0 <= now - due[1] < _DAY:
            self._due[key] = (event, now)
            return
        if _OK_LAST.search(body.text):
            return  # an acknowledgement that is not to be seen: H1 judges that
        summary = f"the heartbeat says {body.text!r} again in {self.run.name(body.address)}"
        expected = f"not before 24 h after #{due[0].seq} {due[0].at:.3f}s"
        shown = [f"#{event.seq} {event.at:.3f}s, {now - due[1]:.3f} s later"]
        self.accuse(event, summary, expected, due[0], shown=shown)

    @on(delivery.IntentSettled, after=_BEATS)
    def _settled(self, event: Event, body: delivery.IntentSettled) -> None:
        facts = _of_heartbeat(self.run, event.intent)
        if facts is not None and body.state is IntentState.UNKNOWN:
            self._doubted[facts.lane] = self.run.heartbeats.wall(event)

    def on_ended(self, event: Event, body: heartbeat.HeartbeatEnded) -> None:
        if body.reason is not Reason.DUPLICATE or body.to is None:
            return
        self.exercised += 1
        agent, now = body.agent, self.run.heartbeats.wall(event)
        begins = shown_words(body.preview)
        said = [
            at
            for (who, lane, text), (accept, at) in self._said.items()
            if who == agent and lane == body.to.lane
            if any(begins[:50] in words for words in (text, *self._before_hooks(accept)))
        ]
        queue = self.run.lanes.get(body.to.lane)
        waits = queue is not None and any(_of_heartbeat(self.run, intent) is not None for intent in queue.open)
        doubted = self._doubted.get(body.to.lane)
        if waits or any(now - at < _DAY for at in (*said, *([] if doubted is None else [doubted]))):
            return
        summary = f"the heartbeat of {agent} was left out as a repetition, and it was not said there"
        self.accuse(event, summary, f"{body.preview!r} in {self.run.name(body.to)}", shown=f"{Reason.DUPLICATE.value}")

    def _before_hooks(self, accept: Event) -> list[str]:
        """What the agent wanted said there, if a hook has made other words of it."""
        rewritten = (event.body for event in self.run.speech.rewritten.get(accept.intent or "", ()))
        return [self.run.said_words(body.original) for body in rewritten if isinstance(body, script.HookRewrote)]


class QuietAtNight(Checker, symptoms=("unasked",)):
    """H3: Active hours.

    No heartbeat begins, and no message of one is accepted, outside the active hours of its agent.
    """

    def on_started(self, event: Event, body: heartbeat.HeartbeatStarted) -> None:
        self._judge(event, body.agent, f"the heartbeat of {body.agent} begins", 0.0)

    @on(wire.WireAccepted, after=_BEATS)
    def _accepted(self, event: Event, body: wire.WireAccepted) -> None:
        if _heartbeat(self.run, event) is not None and not body.chunk:
            self._judge(event, _agent(self.run, event), f"{event.intent} is accepted", _ON_ITS_WAY)

    def _judge(self, event: Event, agent: str, what: str, slack: float) -> None:
        heartbeats = self.run.heartbeats
        settings = heartbeats.configured.get(agent)
        if settings is None or not settings.start:
            return
        self.exercised += 1
        wall = heartbeats.wall(event)
        if heartbeats.active(agent, wall) or heartbeats.active(agent, wall - slack):
            return
        expected = f"between {settings.start} and {settings.end} {settings.timezone}"
        shown = f"#{event.seq} {event.at:.3f}s, {wall % _DAY / 3600:.2f} h after midnight UTC"
        self.accuse(event, f"{what} outside the active hours", expected, shown=[shown])


#: seconds within which a process that can act starts what is due, or says why not
_LATE = 90.0
#: seconds from the choice of a target to the record of the start
_AT_ONCE = 0.1


class DueOnce(Checker, symptoms=("late",)):
    """H4: A due run is kept, once.

    What a heartbeat or an entry of the schedule is due for takes place once, or an event says why not; a restart
    neither repeats nor forgets it, nor moves its time.
    """

    #: schedule -> the promised time on the wall clock, and the event that promised it
    _next: dict[str, tuple[float, Event]] = {}
    #: schedule and time -> the event with which it took place
    _kept: dict[tuple[str, float], Event] = {}
    #: schedules that are due, as the running process knows
    _noticed: set[str] = set()
    #: since when a process can act; none: none runs
    _up: float | None = None
    #: by how much the wall clock was set, until the event in hand
    _offset = 0.0

    def on_process_up(self, event: Event, _body: leases.LeaseTaken) -> None:
        self._up = event.at

    def on_process_gone(self, event: Event, _body: processes.ProcessCrashed | processes.ProcessStopped) -> None:
        if self.run.processes.holds(event.generation):
            self._look(event)
            self._up = None
            self._noticed.clear()

    def on_planned(self, event: Event, body: gateway.ConfigReloaded | world.WorldHeartbeat | script.FaultFired) -> None:
        """Another configuration, also between two processes, or a clock that was set, may move times."""
        if not isinstance(body, script.FaultFired) or body.fault == "clock":
            self._look(event)
            self._next.clear()
            if isinstance(body, script.FaultFired):
                # The same times may come once more.
                self._kept.clear()
            self._offset = self.run.heartbeats.clock_set_by

    def on_scheduled(self, event: Event, body: heartbeat.HeartbeatScheduled) -> None:
        self._promise(f"heartbeat of {body.agent}", body.next_at, event)

    def on_entry_scheduled(self, event: Event, body: heartbeat.CronScheduled) -> None:
        self._promise(f"entry {body.entry}", body.next_at, event)

    def _promise(self, name: str, at: float | None, event: Event) -> None:
        """A new promise must not replace one that is not kept."""
        before = self._next.pop(name, None)
        if before is not None and at != before[0]:
            self._broken(name, before, event, "moved")
        if at is not None:
            self._next[name] = (at, event)

    def on_due(self, _event: Event, body: heartbeat.HeartbeatDue) -> None:
        self._noticed.add(f"heartbeat of {body.agent}")

    def on_skipped(self, event: Event, body: heartbeat.HeartbeatSkipped) -> None:
        if body.due is not None and body.next_at is not None:
            self._keep(f"heartbeat of {body.agent}", body.due, body.next_at, event)

    def on_started(self, event: Event, body: heartbeat.HeartbeatStarted) -> None:
        if body.due is not None:
            self._keep(f"heartbeat of {body.agent}", body.due, body.next_at, event)

    def on_fired(self, event: Event, body: heartbeat.CronDue) -> None:
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
            expected = f"once, as #{before.seq} {before.at:.3f}s"
            shown = [f"#{event.seq} {event.at:.3f}s, due at {due:.3f}"]
            self.accuse(event, f"the {name} takes place again for the same time", expected, before, shown=shown)

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
        expected = f"it takes place, as #{promised.seq} {promised.at:.3f}s promised"
        missing = promised if how == "forgotten" else None
        summary = f"the {name} is {how}: it was due at {due:.3f}"
        self.accuse(event, summary, expected, promised, shown=event.kind, missing=missing)

    def finish(self, last: Event) -> None:
        """Report the promises that were due, and still stand at the end."""
        self._look(last)


class RouteStays(Checker, symptoms=("wrong place",)):
    """H5: A heartbeat moves no route.

    With the target `last` a heartbeat goes to the conversation in which a person wrote to its agent last.
    """

    #: inbound -> agent and the place of its answers, until it is admitted
    _decided: dict[str, tuple[str, Address]] = {}
    #: agent -> the place in which a person wrote last, and the event; and the one before
    _last: dict[str, tuple[Address, Event]] = {}
    _before: dict[str, Address] = {}

    def on_routed(self, event: Event, body: gateway.RouteDecided) -> None:
        if body.reply_to is not None:
            self._decided[event.inbound or ""] = (body.agent, body.reply_to)

    def on_admitted(self, event: Event, body: gateway.InboundAdmitted) -> None:
        decided = self._decided.pop(event.inbound or "", None)
        if decided is not None and body.work is WorkKind.MESSAGE:
            self._before[decided[0]] = self._last.get(decided[0], (decided[1], event))[0]
            self._last[decided[0]] = (decided[1], event)

    def on_started(self, event: Event, body: heartbeat.HeartbeatStarted) -> None:
        settings, last = self.run.heartbeats.configured.get(body.agent), self._last.get(body.agent)
        if settings is None or settings.target != "last" or body.to is None or last is None:
            return
        config = self.run.config
        found = None if config is None else heartbeat_of(config, body.agent)
        if found is not None and found.session is not None:
            return  # `last` is of that session, which may be one conversation
        self.exercised += 1
        place, wrote = last
        if body.to.lane[:3] == place.lane[:3]:
            return
        before = self._before.get(body.agent)
        if before is not None and body.to.lane[:3] == before.lane[:3] and event.at - wrote.at <= _AT_ONCE:
            return  # its target was chosen while the message was being stored
        summary = f"the heartbeat of {body.agent} goes to {self.run.name(body.to)}, where nobody wrote to it last"
        expected = f"{self.run.name(place)}, by #{wrote.seq} {wrote.at:.3f}s"
        self.accuse(event, summary, expected, wrote, shown=f"{self.run.name(body.to)}")
