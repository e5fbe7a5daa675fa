"""A digest of a run's messages and their context, independent of timing, so that two runs can be compared.

Ids are derived from content (`sim.run.env.SimIds`), so an intent has the same id in every run of a scenario, except for
the number that is added when a message is admitted again. That number is removed here.
"""

import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec

from trunkline.core.bindings.bind_request import OPERATOR
from trunkline.core.delivery.recovery import RecoveryAction
from trunkline.core.errors import CallEnded, PlaceArchived, PlaceGone, Refused, UnknownName
from trunkline.core.events import Event, bindings, delivery, gateway, hands
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import IntentState, WorkKind
from trunkline.sim.events import actions, script, wire, world
from trunkline.sim.events.hands import AgentChecked
from trunkline.sim.index.projection import EventFeed, Projection

_Progress = delivery.IntentSettled | wire.WireAccepted | actions.WireActed | wire.WireRefused | delivery.ChunkAcked
Lane = tuple[str, str, str, str]
#: a visible chunk: intent, chunk number, place, text; of a change its action and the new text
Seen = tuple[str, int, Lane, str]
#: the state of a session: number of turns, checksum of its lines
Heard = tuple[int, int]

#: refusals that are not retried, or only until the place is opened
_FOR_GOOD = frozenset({Refused.reason, PlaceGone.reason, PlaceArchived.reason, CallEnded.reason})
#: chat commands whose answer depends on how far hands have come
_OF_HANDS = frozenset({"tasks", "cancel"})
_AGAIN = re.compile(r"\+\d+")


def plain(name: str | None) -> str:
    """An id without the numbers of repeats."""
    return _AGAIN.sub("", name or "")


def _place(lane: Lane) -> tuple[str, str, str]:
    """A conversation of a platform, without the account that sees it."""
    channel, _, conversation, thread = lane
    return channel, conversation, thread


def seen_of(events: Sequence[Event]) -> Counter[Seen]:
    """Every accepted chunk and every effect of a change, by intent."""
    found: Counter[Seen] = Counter()
    for event in events:
        body = event.body
        if type(body) is wire.WireAccepted:
            found[plain(event.intent), body.chunk, body.address.lane, body.text] += 1
        elif type(body) is actions.WireActed and not body.repeated:
            found[plain(event.intent), body.chunk, body.address.lane, f"{body.action.value} {body.text}".strip()] += 1
    return found


class IntentDigest(msgspec.Struct, kw_only=True):
    """An intent: its preparation, what people saw of it, and how it ended."""

    body: delivery.IntentPrepared
    #: its id without the last part
    origin: str
    #: number of configuration reloads when its work was routed, and when it was prepared
    configured: tuple[int, int]
    #: plain id of the work it comes from
    work: str
    #: state of its session when its turn began, and when it was prepared
    heard: tuple[Heard, Heard] | None
    #: chunk -> number of times it was accepted, or carried out
    accepted: Counter[int]
    #: a platform refused a chunk permanently
    refused: bool = False
    #: an operator resolved a chunk as sent
    vouched: bool = False
    #: faults of the script that struck its sends, by kind
    struck: Counter[str]
    prepared_at: float
    #: chunk -> number of sends and of failed look-ups; recoveries may count as attempts too
    attempts: Counter[int]
    recovered: int = 0
    #: attempts that had started before the last recovery, and recoveries from an attempt that may have died unrecorded
    attempts_before: int = 0
    unrecorded: int = 0
    state: IntentState | None = None
    ended_at: float = 0.0
    #: why it ended
    why: Reason | None = None

    @property
    def missing(self) -> int:
        """The number of chunks that were never accepted."""
        return self.body.chunks - len(self.accepted)

    @property
    def requests(self) -> int:
        """The largest number of times that a chunk may have been on the wire."""
        return max(self.attempts.values(), default=0) + self.unrecorded


class RunDigest(Projection):
    """A run's intents, and everything that may explain a difference in another run.

    `reloads`: times at which the script replaces the configuration.
    """

    #: plain id -> its intents
    intents: defaultdict[str, list[IntentDigest]] = defaultdict(list)
    #: plain ids of delegations lost with their process
    lost: set[str] = set()
    #: plain ids of delegations whose session was reset before they ended
    replaced: set[str] = set()
    #: plain id of work started by a schedule -> how often it was admitted
    wakes: Counter[str] = Counter()
    #: plain id of work -> its runs when it was given up, because the process died during each of them
    runs_out: dict[str, int] = {}
    #: lanes that an operator bound, and lanes that were unbound, each with the session
    bound: set[tuple[Lane, str]] = set()
    unbound: set[tuple[Lane, str]] = set()
    #: plain ids of work whose agent used a place that did not exist, and of messages that were said
    placeless: set[str] = set()
    said: set[str] = set()
    #: plain id of work or delegation -> numbers of configuration reloads when it was routed, run and reported
    configurations: defaultdict[str, set[int]] = defaultdict(set)
    #: plain id of a delegation -> how it ended
    outcomes: defaultdict[str, set[HandOutcome]] = defaultdict(set)
    #: plain id of work -> what its agent was answered when it asked how far its hands are
    checked: defaultdict[str, set[str]] = defaultdict(set)
    #: plain id of an intent or delegation, and what operators did to it -> how often
    operated: Counter[tuple[str, str]] = Counter()
    #: plain ids of chat commands about delegated work
    commands: set[str] = set()
    _by_id: dict[str, IntentDigest] = {}
    #: session -> turns so far, checksum of its lines
    _turns: defaultdict[str, set[str]] = defaultdict(set)
    _sums: defaultdict[str, int] = defaultdict(int)
    #: turn -> its session, and the session's state
    _running: dict[str, tuple[str, Heard]] = {}
    #: turn -> plain id of its work
    _work: dict[str, str] = {}
    #: work -> when it was routed
    _routed: dict[str, float] = {}
    #: the last attempt that started
    _attempt: Event | None = None

    def __init__(self, events: Sequence[Event], reloads: Sequence[float] = ()) -> None:
        self._reloads = reloads
        self.seen = seen_of(events)
        feed = EventFeed(self)
        for event in events:
            feed.deliver(event)

    def _heard(self, session: str) -> Heard:
        return len(self._turns[session]), self._sums[session]

    def on_turn(self, event: Event, body: gateway.TurnStarted) -> None:
        self._turns[body.session_id].add(plain(event.turn))
        self._work[event.turn or ""] = plain(event.inbound)
        self.configurations[plain(event.inbound)].add(self._configuration(event.at))
        self._running[event.turn or ""] = body.session_id, self._heard(body.session_id)

    def on_turn_ended(self, event: Event, body: gateway.TurnEnded) -> None:
        if body.reason is Reason.AGENT_RAISED and body.detail.startswith(UnknownName.__name__):
            self.placeless.add(plain(event.inbound))
        if body.reason is Reason.RUNS_EXHAUSTED:
            self.runs_out[plain(event.inbound)] = body.attempts

    def on_check(self, event: Event, body: AgentChecked) -> None:
        self.checked[self._work.get(event.turn or "", "")].add(body.answer)

    def on_command(self, event: Event, body: bindings.ControlCalled) -> None:
        if body.command in _OF_HANDS:
            self.commands.add(plain(event.inbound))

    def on_bound(self, _event: Event, body: bindings.BindingBound) -> None:
        if body.by == OPERATOR:
            self.bound.add((body.conversation.lane, body.session_key))

    def on_unbound(self, _event: Event, body: bindings.BindingEnded) -> None:
        if body.reason is Reason.UNBOUND:
            self.unbound.add((body.conversation.lane, body.session_key))

    def bound_otherwise(self, other: "RunDigest", name: str) -> bool:
        """Whether a conversation of an intent was bound by an operator, or unbound, in one run only."""
        places = {lane for lane, _ in (self.bound ^ other.bound) | (self.unbound ^ other.unbound)}
        now = [*self.intents.get(name, ()), *other.intents.get(name, ())]
        # All accounts of a platform see a conversation, and any of them may own it.
        return bool({_place(lane) for lane in places} & {_place(intent.body.address.lane) for intent in now})

    def on_line(self, _event: Event, body: gateway.TranscriptAppended | delivery.MirrorAppended) -> None:
        role = body.role if isinstance(body, gateway.TranscriptAppended) else "assistant"
        self._sums[body.session_id] = zlib.crc32(f"{role}: {body.text}".encode(), self._sums[body.session_id])

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        running = self._running.get(event.turn or "")
        heard = None if running is None else (running[1], self._heard(running[0]))
        routed = self._routed.get(event.inbound or "", event.at)
        intent = IntentDigest(
            body=body,
            origin=(event.intent or "").rpartition(".")[0],
            configured=(self._configuration(routed), self._configuration(event.at)),
            work=plain(event.inbound),
            heard=heard,
            accepted=Counter(),
            struck=Counter(),
            prepared_at=event.at,
            attempts=Counter(),
        )
        self._by_id[event.intent or ""] = intent
        self.intents[plain(event.intent)].append(intent)

    def _configuration(self, at: float) -> int:
        return sum(reload <= at for reload in self._reloads)

    def on_route(self, event: Event, _body: gateway.RouteDecided) -> None:
        self._routed[event.inbound or ""] = event.at
        self.configurations[plain(event.inbound)].add(self._configuration(event.at))

    def on_said(self, event: Event, _body: world.PeerSaid) -> None:
        self.said.add(plain(event.inbound))

    def on_attempt(self, event: Event, body: delivery.AttemptStarted) -> None:
        self._attempt = event
        if intent := self._by_id.get(event.intent or ""):
            intent.attempts[body.chunk] += 1

    def on_end(self, event: Event, body: delivery.AttemptEnded) -> None:
        intent = self._by_id.get(event.intent or "")
        if intent is not None and body.reason is Reason.LOOKUP_FAILED:
            intent.attempts[body.chunk] += 1

    def on_recovery(self, event: Event, body: delivery.RecoveryDecided) -> None:
        if intent := self._by_id.get(event.intent or ""):
            intent.recovered += 1
            started = intent.attempts.total()
            intent.unrecorded += started == intent.attempts_before and body.decision != RecoveryAction.SEND
            intent.attempts_before = started

    def on_fault(self, event: Event, body: script.FaultFired) -> None:
        # The fault fires at the same moment as the start of the attempt is recorded.
        attempt = self._attempt
        intent = None if attempt is None or attempt.at != event.at else self._by_id.get(attempt.intent or "")
        if intent is not None and body.fault.startswith(("send/", "act/")):
            intent.struck[body.fault] += 1

    def on_progress(self, event: Event, body: _Progress) -> None:
        intent = self._by_id.get(event.intent or "")
        if intent is None:
            return
        match body:
            case delivery.IntentSettled():
                intent.state, intent.why, intent.ended_at = body.state, body.reason, event.at
            case wire.WireAccepted() | actions.WireActed():
                intent.accepted[body.chunk] += 1
            case wire.WireRefused():
                intent.refused |= body.reason in _FOR_GOOD
            case delivery.ChunkAcked():
                intent.vouched |= body.reason is Reason.OPERATOR_SENT

    def on_finished(self, event: Event, body: hands.DelegationFinished) -> None:
        self.outcomes[plain(event.delegation)].add(body.outcome)
        if body.outcome is HandOutcome.LOST:
            self.lost.add(plain(event.delegation))

    def on_operator(self, event: Event, body: delivery.OperatorActed) -> None:
        self.operated[plain(event.delegation or event.intent), body.verb] += 1

    def on_plan(self, event: Event, body: hands.CompletionPlanned) -> None:
        self.configurations[plain(event.delegation)].add(self._configuration(event.at))
        if any(step.reason is Reason.REQUESTER_REPLACED for step in body.steps):
            self.replaced.add(plain(event.delegation))

    def on_admitted(self, event: Event, body: gateway.InboundAdmitted) -> None:
        if body.work in (WorkKind.WAKE, WorkKind.HEARTBEAT, WorkKind.CRON):
            self.wakes[plain(event.inbound)] += 1
