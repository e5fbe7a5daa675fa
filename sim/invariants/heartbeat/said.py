"""Alerts of heartbeats, and their times: H1, H2 and H3. Judged by what platforms accepted."""

from __future__ import annotations

import re

from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.heartbeat import HeartbeatEnded, HeartbeatStarted
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import IntentFacts, Lane, RunFacts
from trunkline.sim.invariants.base import Checker, cited

_DAY = 86_400.0
#: seconds for which a request that left in time may be on its way
_ON_ITS_WAY = 30.0
#: the token at the start or the end of a message; elsewhere it is a word of the text
_TOKEN = re.compile(r"\A[\W_]*HEARTBEAT_OK\b|\bHEARTBEAT_OK\W{0,4}\Z")
#: the whole of an acknowledgement that is shown
_SHOWN = re.compile(r"(?:.*\s)?HEARTBEAT_OK")


def _heartbeat(run: RunFacts, event: Event) -> IntentFacts | None:
    """The intent of a heartbeat that an event is about."""
    facts = run.intents.get(event.intent or "")
    return facts if facts is not None and facts.body.intent_kind is IntentKind.HEARTBEAT else None


def _agent(run: RunFacts, event: Event) -> str:
    """The agent whose heartbeat an intent belongs to."""
    facts = run.intents.get(event.intent or "")
    return "" if facts is None else run.heartbeats.agents.get(facts.prepared.inbound or "", "")


class OkUnseen(Checker):
    """H1: nobody sees the acknowledgement of a heartbeat, unless the configuration shows it there."""

    id = "H1"
    title = "An OK is not shown"
    sentence = "No message begins or ends with a heartbeat's token, unless acknowledgements are shown in that place."

    @on(WireAccepted)
    def _accepted(self, event: Event, body: WireAccepted) -> None:
        if _heartbeat(self.run, event) is None:
            return
        self.exercised += 1
        settings = self.run.heartbeats.configured.get(_agent(self.run, event))
        text = body.text if settings is None else body.text.lstrip().removeprefix(settings.prefix)
        if _TOKEN.search(text) is None:
            return
        account = f"{body.address.channel}:{body.address.account}"
        if settings is not None and account in settings.ok_shown and _SHOWN.fullmatch(body.text):
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} shows the token of the heartbeat in {self.run.name(body.address)}",
            expected=["nothing, or what was said beside the token"],
            actual=[cited(event, f"{body.text!r}")],
        )


class OncePerDay(Checker):
    """H2: a heartbeat says the same text in one place at most once in 24 hours, and only such a repetition is one."""

    id = "H2"
    title = "The same alert once a day"
    sentence = (
        "A heartbeat says the same text in a place at most once in 24 hours, over restarts too; and what is left out "
        "as a repetition was said in that place, or waits there."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: agent, place and text -> the last accept, and its time on the wall clock
        self._said: dict[tuple[str, Lane, str], tuple[Event, float]] = {}
        #: places with a heartbeat in doubt, which somebody may have read -> since when
        self._doubted: dict[Lane, float] = {}

    @on(WireAccepted)
    def _accepted(self, event: Event, body: WireAccepted) -> None:
        facts = _heartbeat(self.run, event)
        if facts is None or body.chunk or _SHOWN.fullmatch(body.text):
            return
        self.exercised += 1
        now = self.run.heartbeats.wall(event)
        key = (_agent(self.run, event), body.address.lane, " ".join(facts.body.text.split()))
        before = self._said.get(key)
        self._said[key] = (event, now)
        # The same intent twice is the business of D1.
        if before is None or before[0].intent == event.intent or not 0 <= now - before[1] < _DAY:
            return
        self.violate(
            at=event.seq,
            summary=f"the heartbeat says {body.text!r} again in {self.run.name(body.address)}",
            expected=[f"not before 24 h after #{before[0].seq} {before[0].at:.3f}s"],
            actual=[f"#{event.seq} {event.at:.3f}s, {now - before[1]:.3f} s later"],
            evidence=[before[0].seq, event.seq],
        )

    @on(IntentSettled)
    def _settled(self, event: Event, body: IntentSettled) -> None:
        facts = _heartbeat(self.run, event)
        if facts is not None and body.state is IntentState.UNKNOWN:
            self._doubted[facts.lane] = self.run.heartbeats.wall(event)

    @on(HeartbeatEnded)
    def _ended(self, event: Event, body: HeartbeatEnded) -> None:
        if body.reason is not Reason.DUPLICATE or body.to is None:
            return
        self.exercised += 1
        agent, now = body.agent, self.run.heartbeats.wall(event)
        begins = " ".join(body.preview.split())
        said = [
            at
            for (who, lane, text), (_, at) in self._said.items()
            if who == agent and lane == body.to.lane and text.endswith(begins[:50])
        ]
        queue = self.run.lanes.get(body.to.lane)
        waits = queue is not None and any(
            facts is not None and facts.body.intent_kind is IntentKind.HEARTBEAT
            for facts in (self.run.intents.get(intent) for intent in queue.open)
        )
        doubted = self._doubted.get(body.to.lane)
        if waits or any(now - at < _DAY for at in (*said, *([] if doubted is None else [doubted]))):
            return
        self.violate(
            at=event.seq,
            summary=f"the heartbeat of {agent} was left out as a repetition, and it was not said there",
            expected=[f"{body.preview!r} in {self.run.name(body.to)}"],
            actual=[cited(event, f"{Reason.DUPLICATE.value}")],
        )


class QuietAtNight(Checker):
    """H3: outside its active hours a heartbeat neither runs nor says anything."""

    id = "H3"
    title = "Active hours"
    sentence = "No heartbeat begins, and no message of one is accepted, outside the active hours of its agent."

    @on(HeartbeatStarted)
    def _started(self, event: Event, body: HeartbeatStarted) -> None:
        self._judge(event, body.agent, f"the heartbeat of {body.agent} begins", 0.0)

    @on(WireAccepted)
    def _accepted(self, event: Event, body: WireAccepted) -> None:
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
        self.violate(
            at=event.seq,
            summary=f"{what} outside the active hours",
            expected=[f"between {settings.start} and {settings.end} {settings.timezone}"],
            actual=[f"#{event.seq} {event.at:.3f}s, {wall % _DAY / 3600:.2f} h after midnight UTC"],
        )
