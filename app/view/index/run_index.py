"""The index of one run: its events, places, sessions, bindings, causes and evidence, for every view and report.

Every part is a projection that takes events one by one, so a run that is still going on grows at a constant cost, and
a run that grew equals the same run opened whole.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import TypeVar

import msgspec

from trunkline.app.runs.model import Run, judgeable, so_far
from trunkline.app.view.index.bindings import BindingHistory
from trunkline.app.view.index.evidence import Causes, Evidence
from trunkline.app.view.index.growing import GrowingRows
from trunkline.app.view.index.places import PlaceKey, Places
from trunkline.app.view.index.transcripts import SessionMoves, SessionStates, Transcripts, VisibleMessages
from trunkline.core.decisions import BOUND_TIER
from trunkline.core.events import Body, Event, RunEnded, Trace, TraceHeader, bindings, delivery, gateway, hands
from trunkline.core.events.heartbeat import HeartbeatEnded, HeartbeatScheduled, HeartbeatSkipped, HeartbeatStarted
from trunkline.core.keys import SessionKey
from trunkline.core.values import Address
from trunkline.sim.events import attach, model, wire, world
from trunkline.sim.index.marks import AnswerMark, answers_in, questions_in
from trunkline.sim.index.projection import EventFeed, Projection
from trunkline.sim.index.wire_side import RunWireSide
from trunkline.sim.invariants.base import Status, Verdict, Violation

# The heartbeats of each agent, in every past state: when the next one is due, and how the last one went.

_PLANS = (HeartbeatScheduled, HeartbeatSkipped, HeartbeatStarted)
_Beat = HeartbeatEnded | HeartbeatScheduled | HeartbeatSkipped | HeartbeatStarted


class HeartbeatStanding(msgspec.Struct, frozen=True, kw_only=True):
    agent: str
    #: the last run that began, was skipped or ended; none: nothing of this has happened
    last: Event | None = None
    #: when the next one is due, on the wall clock; none: it is off
    next_at: float | None = None


class Heartbeats(Projection):
    def __init__(self) -> None:
        #: agent -> its events, in order
        self._beats: dict[str, GrowingRows[Event]] = {}

    def on_beat(self, event: Event, body: _Beat) -> None:
        self._beats.setdefault(body.agent, GrowingRows(attrgetter("seq"))).add(event)

    def at(self, seq: int) -> Iterator[HeartbeatStanding]:
        """The heartbeat of each agent that has one, after event `seq`."""
        for agent, beats in self._beats.items():
            known = beats[: beats.upto(seq)][::-1]
            last = next((event for event in known if not isinstance(event.body, HeartbeatScheduled)), None)
            # One that something woke may leave open when the next is due.
            plans = (event.body for event in known if isinstance(event.body, _PLANS))
            due = (body.next_at for body in plans if isinstance(body, HeartbeatScheduled) or body.next_at is not None)
            if known:
                yield HeartbeatStanding(agent=agent, last=last, next_at=next(due, None))


class RunView(Projection):
    """A computed run with its indexes. Seqs are positions in `events`, from 1."""

    def __init__(self, run: Run) -> None:
        self._run: Run | None = None
        self.header = run.trace.header
        self.unmet = run.unmet
        self.culprits = run.culprits
        self.verdicts: tuple[Verdict, ...] = ()
        #: all events; the list only grows
        self.events: list[Event] = []
        self.last = 0
        #: whether more events may come
        self.growing = False
        #: for a truncated trace: where and why it ends early
        self.cut = run.trace.cut
        #: seq of ``run.ended``; none while the run continues and in a truncated trace
        self.ended: int | None = None
        self.places = Places(())
        self.session_moves = SessionMoves()
        self.bindings = BindingHistory(self.events)
        self.causes = Causes(())
        self._proved: MarkCauses | None = None
        self.marks = Evidence((), self.events, self.causes)
        self.sessions = SessionStates(self.events)
        self._by_intent: dict[str, list[Event]] = {}
        self._by_delegation: dict[str, list[Event]] = {}
        self._by_inbound: dict[str, list[Event]] = {}
        self.transcripts = Transcripts(self.session_moves)
        self.visible = VisibleMessages(self.places)
        self.heartbeats = Heartbeats()
        self.delegations = DelegationNames()
        #: decisions about messages of a place, other than by a session binding
        self._routes: dict[PlaceKey, tuple[Address, list[Event]]] = {}
        #: events by which a conversation got another session
        self.left: list[Event] = []
        #: questions, answers and requests, where only the wire of the gateway is known
        self.wire: RunWireSide | None = None
        own = (self.places, self.session_moves, self.transcripts, self.visible, self.heartbeats, self.delegations)
        self._feed = EventFeed(*own, self)
        #: the views that grow with the run, each after those that it reads
        self._views: list[GrowingView] = []
        #: invariant -> number of violations that were indexed
        self._known: dict[str, int] = {}
        self.begin(self.header)
        self.grow(run.trace.events, run.verdicts)
        self._run = run

    def begin(self, header: TraceHeader) -> None:
        """Take the header of a run whose events come later; of a watched run it is read after this view was made."""
        self.header = header
        if self.wire_side and self.wire is None and not self.events:
            self.wire, self._proved = RunWireSide(), MarkCauses()
            self._feed.connect(self.wire)

    @property
    def wire_side(self) -> bool:
        """Whether only the wire of the gateway is known, and nothing of its inside."""
        return self.header.side == "wire"

    @property
    def takes(self) -> Collection[type[Body]]:
        """The bodies that the projections of the index take."""
        return self._feed.handlers.keys()

    def register(self, view: "G") -> "G":
        """Let a view grow with the run. A view that reads another one is registered after it."""
        self._views.append(view)
        return view

    def known(self, kind: "type[G]") -> "G | None":
        """The registered view of a type, if there is one."""
        return next((view for view in self._views if isinstance(view, kind)), None)

    def grow(self, events: Sequence[Event], verdicts: Sequence[Verdict]) -> None:
        """Take more events of the run and the verdicts so far; then let every registered view follow."""
        self._run = None
        self.events.extend(events)
        self.last = len(self.events)
        for event in events:
            self._take(event)
        self.verdicts = judgeable(self.header, verdicts)
        self.marks.grow(self._new_violations())
        for view in self._views:
            view.grow()

    def _new_violations(self) -> list[Violation]:
        new: list[Violation] = []
        for verdict in self.verdicts:
            known = self._known.get(verdict.id, 0)
            if len(verdict.violations) > known:
                self._known[verdict.id] = len(verdict.violations)
                new += verdict.violations[known:]
        return sorted(new, key=lambda violation: (violation.at, violation.invariant))

    @property
    def run(self) -> Run:
        """The run so far. After growth it is copied when asked for."""
        if self._run is None:
            trace = Trace(header=self.header, events=tuple(self.events), cut=self.cut)
            self._run = Run(trace=trace, verdicts=self.verdicts, unmet=self.unmet)
        return self._run

    def lost(self, cut: str) -> None:
        """Mark the trace as truncated: where and why; empty if it is not."""
        if cut != self.cut:
            self.cut, self._run = cut, None

    @property
    def so_far(self) -> str:
        """A qualifier for verdicts on a run whose end is unknown."""
        return so_far(self.cut, growing=self.growing)

    @property
    def exercised(self) -> int:
        """How many invariants had something to judge."""
        return sum(verdict.status is not Status.NOT_EXERCISED for verdict in self.verdicts)

    @property
    def over(self) -> int:
        """The event that ended the run; one beyond the last while it continues."""
        return self.last + 1 if self.ended is None else self.ended

    def event(self, seq: int) -> Event:
        return self.events[seq - 1]

    def time(self, seq: int) -> float:
        """Virtual time after event `seq`; 0 before the first."""
        return self.events[min(seq, self.last) - 1].at if seq and self.last else 0.0

    def seq_at(self, at: float) -> int:
        """The last event not later than a time."""
        return bisect_right(self.events, at, key=lambda event: event.at)

    def seq_before(self, at: float) -> int:
        """The last event earlier than a time, at the clock's resolution of a microsecond."""
        return bisect_left(self.events, at - 5e-7, key=lambda event: event.at)

    def of_intent(self, intent: str | None, *kinds: type[Body]) -> list[Event]:
        return _of(self._by_intent, intent, kinds)

    def of_delegation(self, delegation: str | None, *kinds: type[Body]) -> list[Event]:
        return _of(self._by_delegation, delegation, kinds)

    def of_inbound(self, inbound: str | None, *kinds: type[Body]) -> list[Event]:
        return _of(self._by_inbound, inbound, kinds)

    def nearest(self, seq: int, *kinds: type[Body]) -> Event | None:
        """The closest event of these kinds on the path to the root, including itself."""
        for step in reversed(self.causes.path(seq)):
            if isinstance(self.event(step).body, kinds):
                return self.event(step)
        return None

    def nearest_body(self, seq: int, kind: "type[B]") -> "B | None":
        """The body of the closest event of this kind on the path to the root."""
        event = self.nearest(seq, kind)
        return event.body if event is not None and isinstance(event.body, kind) else None

    def prepared(self, event: Event) -> delivery.IntentPrepared | None:
        return next((body for _, body in typed(self.of_intent(event.intent), delivery.IntentPrepared)), None)

    def said(self, channel: str, message_id: str) -> world.PeerSaid | None:
        """The message that a person posted under an id."""
        event = self.visible.posted(channel, message_id)
        return event.body if event and isinstance(event.body, world.PeerSaid) else None

    def posted(self, seq: int) -> Event | None:
        """The post of a person that caused an event, also through a replay of the platform."""
        said = self.nearest(seq, world.PeerSaid)
        pushed = None if said else self.nearest_body(seq, world.PlatformPushed)
        return self.visible.posted(pushed.address.channel, pushed.original_id) if pushed else said

    def last_routes(self, seq: int) -> Iterator[tuple[Address, Event]]:
        """For each place, the last decision up to event `seq` about a message of it, other than by a binding."""
        for where, events in self._routes.values():
            index = bisect_right(events, seq, key=lambda event: event.seq)
            if index:
                yield where, events[index - 1]

    def _take(self, event: Event) -> None:
        self.causes.learn(event, None if self._proved is None else self._proved.of(event))
        self._group(event)
        if event.binding is not None or isinstance(event.body, gateway.RouteDecided | bindings.RouterDecided):
            self.bindings.learn(event)
        self._feed.deliver(event)

    def _group(self, event: Event) -> None:
        if event.intent:
            self._by_intent.setdefault(event.intent, []).append(event)
        if event.delegation is not None:
            self._by_delegation.setdefault(event.delegation, []).append(event)
        if event.inbound is not None:
            self._by_inbound.setdefault(event.inbound, []).append(event)

    def on_session_left(self, event: Event, _body: gateway.SessionLeft) -> None:
        self.left.append(event)

    def on_routed(self, event: Event, body: gateway.RouteDecided) -> None:
        if body.matched_by != BOUND_TIER:
            for _, received in islice(typed(self.of_inbound(event.inbound), gateway.InboundReceived), 1):
                self._routes.setdefault(received.address.lane, (received.address, []))[1].append(event)

    def on_ended(self, event: Event, _body: RunEnded) -> None:
        self.ended = event.seq


class GrowingView(Projection):
    """A view that is computed from the index, and takes each event and each violation of the run once.

    Subclasses mark with `on` the methods that take events. Those that list something keep it in `GrowingRows`.
    """

    def __init__(self, view: RunView, *projections: Projection) -> None:
        """`projections` take the same events."""
        self.view = view
        self._feed = EventFeed(self, *projections)
        self._taken = 0
        self._judged = 0

    def grow(self) -> None:
        """Take the events and violations that are new since the last call."""
        for event in self.view.events[self._taken :]:
            self.take_event(event)
        self._taken = self.view.last
        for violation in self.view.marks.found[self._judged :]:
            for seq in violation.evidence:
                if 0 < seq <= self.view.last:
                    self.judge(violation, self.view.event(seq))
        self._judged = self.view.marks.version
        self.settle()

    def take_event(self, event: Event) -> None:
        self._feed.deliver(event)

    def judge(self, violation: Violation, event: Event) -> None:
        """Take a violation that has an event as evidence."""

    def settle(self) -> None:
        """Compute again what depends on several events or violations."""


class DelegationNames(Projection):
    """Short names of delegations on screens: ``h1`` for the first that was accepted."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        #: the session in which a hand that is an agent works -> the delegation
        self._tasks: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def on_accepted(self, event: Event, body: hands.DelegationAccepted) -> None:
        delegation = event.delegation or ""
        self._numbers.setdefault(delegation, len(self._numbers) + 1)
        if body.hand_kind == "agent" and delegation:
            self._tasks[str(SessionKey(agent=body.hand, subagent=delegation))] = delegation

    def of(self, delegation: str | None) -> str:
        """The name of a delegation; its id if the trace does not have its acceptance, and blank for none."""
        number = self._numbers.get(delegation or "")
        return (delegation or "") if number is None else f"h{number}"

    def of_session(self, session_key: str) -> str | None:
        """The name of the delegation whose task a session is; None for any other session."""
        delegation = self._tasks.get(session_key)
        return None if delegation is None else self.of(delegation)


class MarkCauses:
    """Causes that marks prove, in a run of which only the wire is known. It takes every event once, in order.

    The gateway between a question and its answer is a black box: no event of the wire names the one before it. The
    marks of `trunkline.sim.index.marks` do: a prompt with the mark of a question comes from that question, and a
    request with the mark of an answer from the model's answer of that generation.
    """

    def __init__(self) -> None:
        #: mark of a question -> where it was asked
        self._asked: dict[str, int] = {}
        #: mark of an answer -> where the model gave it
        self._answered: dict[AnswerMark, int] = {}
        #: number of a start -> its event
        self._launched: dict[int, int] = {}

    def of(self, event: Event) -> int | None:
        """The event that caused this one, by its marks; none where no mark says so."""
        match event.body:
            case world.PeerSaid(text=text):
                self._asked |= dict.fromkeys(questions_in(text)[-1:], event.seq)
            case model.ModelAsked(marks=marks):
                # What was said last is what the gateway asks for; what came before waited for it.
                return next((self._asked[mark] for mark in reversed(marks) if mark in self._asked), None)
            case model.ModelAnswered(text=text):
                self._answered |= {mark: event.seq for mark in answers_in(text) if mark not in self._answered}
            case wire.WireCalled(text=text):
                found = [self._answered[mark] for mark in answers_in(text) if mark in self._answered]
                return max(found, default=None)
            case attach.GatewayLaunched(number=number):
                self._launched[number] = event.seq
            case attach.GatewayReady(number=number) | attach.GatewayExited(number=number):
                return self._launched.get(number)
            case _:
                pass
        return None


G = TypeVar("G", bound=GrowingView)
B = TypeVar("B", bound=Body)


def typed(events: Iterable[Event | None], kind: type[B]) -> Iterator[tuple[Event, B]]:
    """The events of a kind, with their bodies."""
    return ((event, event.body) for event in events if event is not None and isinstance(event.body, kind))


def _of(groups: dict[str, list[Event]], key: str | None, kinds: tuple[type[Body], ...]) -> list[Event]:
    found = groups.get(key, []) if key is not None else []
    return [event for event in found if isinstance(event.body, kinds)] if kinds else list(found)
