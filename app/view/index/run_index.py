"""One run, ready to be shown: its events, places, causes, marks, and its state at any moment.

Every index learns event by event, so a run that is still going on grows at a constant cost: one that grew and the same
one opened whole are equal. The screens only ask for slices of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge

import msgspec

from trunkline.app.runs.model import Run, so_far
from trunkline.app.view.index.bindings import BindingHistory
from trunkline.app.view.index.causality import Causes
from trunkline.app.view.index.evidence import Evidence
from trunkline.app.view.index.places import PLACED, PlaceKey, Places
from trunkline.app.view.index.session_moves import SessionMoves
from trunkline.app.view.index.snapshots import RunSnapshot, Snapshots
from trunkline.core.decisions import BOUND_TIER
from trunkline.core.events import Body, Event, Trace
from trunkline.core.events.base import RunEnded
from trunkline.core.events.bindings import RouterDecided
from trunkline.core.events.delivery import MirrorAppended
from trunkline.core.events.gateway import (
    InboundReceived,
    RouteDecided,
    SessionLeft,
    SessionMoved,
    SessionReset,
    TranscriptAppended,
)
from trunkline.core.values import Address
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid, PlatformPushed
from trunkline.sim.invariants.base import Status, Verdict, Violation


class TranscriptEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a transcript. `role` is ``user``, ``hand`` or ``agent``; ``reset``: here the session began anew."""

    seq: int
    at: float
    role: str
    text: str
    #: what ties it to the wire: the inbound that was heard, or the intent that was said
    inbound: str | None = None
    intent: str | None = None
    #: written for a generation that a reset had ended by then: ``gen1<2``
    earlier: str = ""


class VisibleMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message that people can see in a place. `who` is empty when the gateway said it."""

    seq: int
    at: float
    place: PlaceKey
    who: str
    text: str
    message_id: str
    intent: str | None = None
    chunk: int = 0
    #: the files that came with it
    media: tuple[str, ...] = ()


class RunView:
    """A computed run with its indexes. Seqs are positions in `events`, from 1."""

    def __init__(self, run: Run) -> None:
        self._run: Run | None = None
        self.header = run.trace.header
        self.unmet = run.unmet
        self.verdicts: tuple[Verdict, ...] = ()
        #: all of them; the list grows, and what is in it stays
        self.events: list[Event] = []
        self.last = 0
        #: more may come
        self.growing = False
        #: of a trace that lost its end: where and why it ends early
        self.cut = run.trace.cut
        #: seq of ``run.ended``; none while the run goes on, or where it was cut
        self.ended: int | None = None
        self.places = Places(())
        self.homes = SessionMoves(())
        self.bindings = BindingHistory(self.events)
        self.causes = Causes(())
        self.marks = Evidence((), self.events, self.causes)
        self._fold = Snapshots(self.events)
        self._by_intent: dict[str, list[Event]] = {}
        self._by_delegation: dict[str, list[Event]] = {}
        self._by_inbound: dict[str, list[Event]] = {}
        self._transcripts: dict[str, list[TranscriptEntry]] = {}
        self._seen: dict[PlaceKey, list[VisibleMessage]] = {}
        self._said: dict[tuple[str, str], Event] = {}
        #: decisions about messages of a place, other than by a binding
        self._routes: dict[PlaceKey, tuple[Address, list[Event]]] = {}
        #: events by which a conversation got another session
        self.left: list[Event] = []
        #: ids of sessions that were replaced by a reset
        self._ended: dict[str, int] = {}
        #: key -> the generation that it has
        self._generations: dict[str, int] = {}
        #: invariant -> how many of its violations are known
        self._known: dict[str, int] = {}
        self.grow(run.trace.events, run.verdicts)
        self._run = run

    def grow(self, events: Sequence[Event], verdicts: Sequence[Verdict]) -> None:
        """The run goes on: more events, and what the invariants say by now."""
        self._run = None
        self.events.extend(events)
        self.last = len(self.events)
        for event in events:
            self._learn(event)
        self.verdicts = tuple(verdicts)
        self.marks.grow(self._new_violations())

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
        """The run as far as it goes; for those who keep it or write it. It is copied when asked for after it grew."""
        if self._run is None:
            trace = Trace(header=self.header, events=tuple(self.events), cut=self.cut)
            self._run = Run(trace=trace, verdicts=self.verdicts, unmet=self.unmet)
        return self._run

    def lost(self, cut: str) -> None:
        """The trace ends early: where and why; empty: it does not."""
        if cut != self.cut:
            self.cut, self._run = cut, None

    @property
    def so_far(self) -> str:
        """Behind words that say that something holds: of a run whose end is not known, that is no promise."""
        return so_far(self.cut, growing=self.growing)

    @property
    def exercised(self) -> int:
        """How many invariants had something to judge."""
        return sum(verdict.status is not Status.NOT_EXERCISED for verdict in self.verdicts)

    @property
    def over(self) -> int:
        """The event with which the run ended; one beyond the last while it goes on."""
        return self.last + 1 if self.ended is None else self.ended

    def event(self, seq: int) -> Event:
        """The event with this seq, from 1."""
        return self.events[seq - 1]

    def at(self, seq: int) -> RunSnapshot:
        """The state after event `seq`."""
        return self._fold.at(seq)

    def time(self, seq: int) -> float:
        """Virtual time after event `seq`; 0 before the first."""
        return self.events[min(seq, self.last) - 1].at if seq and self.last else 0.0

    def seq_at(self, at: float) -> int:
        """The last event not later than a time."""
        return bisect_right(self.events, at, key=lambda event: event.at)

    def seq_before(self, at: float) -> int:
        """The last event earlier than a time; a microsecond, the clock's grain, is the same time."""
        return bisect_left(self.events, at - 5e-7, key=lambda event: event.at)

    def of_intent(self, intent: str | None, *kinds: type[Body]) -> list[Event]:
        """Events of one intent, of these kinds."""
        return _of(self._by_intent, intent, kinds)

    def of_delegation(self, delegation: str | None, *kinds: type[Body]) -> list[Event]:
        """Events of one delegation, of these kinds."""
        return _of(self._by_delegation, delegation, kinds)

    def of_inbound(self, inbound: str | None, *kinds: type[Body]) -> list[Event]:
        """Events of one inbound, of these kinds."""
        return _of(self._by_inbound, inbound, kinds)

    def nearest(self, seq: int, *kinds: type[Body]) -> Event | None:
        """The closest event of these kinds on the way back to the root, itself included."""
        for step in reversed(self.causes.path(seq)):
            if isinstance(self.event(step).body, kinds):
                return self.event(step)
        return None

    def transcript(self, session_key: str) -> Sequence[TranscriptEntry]:
        """Everything that a session's transcript ever held, in order; asked for by the last key that it had."""
        return self._transcripts.get(session_key, ())

    def seen(self, place: PlaceKey) -> Sequence[VisibleMessage]:
        """Everything that people ever saw in a place, in order."""
        return self._seen.get(place, ())

    def seen_places(self) -> Iterable[PlaceKey]:
        """Places in which people saw anything."""
        return self._seen.keys()

    def said(self, channel: str, message_id: str) -> PeerSaid | None:
        """What a person posted under an id."""
        event = self._said.get((channel, message_id))
        return event.body if event and isinstance(event.body, PeerSaid) else None

    def posted(self, seq: int) -> Event | None:
        """The message of a person that an event goes back to, through a replay of the platform too."""
        said = self.nearest(seq, PeerSaid)
        pushed = None if said else self.nearest(seq, PlatformPushed)
        if pushed is not None and isinstance(pushed.body, PlatformPushed):
            return self._said.get((pushed.body.address.channel, pushed.body.original_id))
        return said

    def last_routes(self, seq: int) -> Iterator[tuple[Address, Event]]:
        """For each place, the last decision up to event `seq` about a message of it, other than by a binding."""
        for where, events in self._routes.values():
            index = bisect_right(events, seq, key=_seq)
            if index:
                yield where, events[index - 1]

    def next_violation(self, seq: int) -> int | None:
        """The next event after `seq` at which a violation was seen."""
        stops = self.marks.stops
        index = bisect_right(stops, seq)
        return stops[index] if index < len(stops) else None

    def previous_violation(self, seq: int) -> int | None:
        """The last event before `seq` at which a violation was seen."""
        stops = self.marks.stops
        index = bisect_left(stops, seq)
        return stops[index - 1] if index else None

    def violations(self) -> Sequence[Violation]:
        """All violations of the run, in order."""
        return self.marks.violations

    def _learn(self, event: Event) -> None:
        kind = type(event.body)
        # Most events are none of these: asking a set is cheaper than trying each case.
        if kind in PLACED:
            self.places.learn(event)
        if event.binding is not None or kind in _ROUTED:
            self.bindings.learn(event)
        self.causes.learn(event)
        self._group(event)
        if kind in _COLLECTED:
            self._collect(event)

    def _group(self, event: Event) -> None:
        if event.intent is not None:
            self._by_intent.setdefault(event.intent, []).append(event)
        if event.delegation is not None:
            self._by_delegation.setdefault(event.delegation, []).append(event)
        if event.inbound is not None:
            self._by_inbound.setdefault(event.inbound, []).append(event)

    def _collect(self, event: Event) -> None:
        match event.body:
            case TranscriptAppended(role=role):
                self._hold(event, event.body, role)
            case MirrorAppended():
                self._hold(event, event.body, "agent")
            case SessionReset():
                self._reset(event, event.body)
            case SessionMoved():
                self._move(event.seq, event.body)
            case SessionLeft():
                self.left.append(event)
            case RouteDecided(matched_by=tier) if tier != BOUND_TIER:
                for received in self.of_inbound(event.inbound, InboundReceived)[:1]:
                    assert isinstance(received.body, InboundReceived)
                    where = received.body.address
                    self._routes.setdefault(where.lane, (where, []))[1].append(event)
            case RunEnded():
                self.ended = event.seq
            case PeerSaid(address=address, peer=peer, message_id=message):
                who = self.places.person(address.channel, peer.id, peer.name)
                self._see(event, event.body, who, message, 0)
                self._said.setdefault((address.channel, message), event)
            case WireAccepted(provider_id=message, chunk=chunk):
                self._see(event, event.body, "", message, chunk)
            case _:
                pass

    def _hold(self, event: Event, body: TranscriptAppended | MirrorAppended, role: str) -> None:
        line = TranscriptEntry(
            seq=event.seq,
            at=event.at,
            role=role,
            text=body.text,
            inbound=event.inbound if isinstance(body, TranscriptAppended) else None,
            intent=event.intent if isinstance(body, MirrorAppended) else None,
            earlier=self._older(body.session_id, body.session_key),
        )
        self._write(body.session_key, line)

    def _reset(self, event: Event, body: SessionReset) -> None:
        self._ended[body.before] = body.generation - 1
        self._generations[body.session_key] = body.generation
        text = f"generation {body.generation}"
        self._write(body.session_key, TranscriptEntry(seq=event.seq, at=event.at, role="reset", text=text))

    def _older(self, session: str, key: str) -> str:
        known = self._ended.get(session)
        return "" if known is None else f"gen{known}<{self._generations.get(key, known + 1)}"

    def _move(self, seq: int, body: SessionMoved) -> None:
        """What was written under the old key so far is found under the new one."""
        self.homes.learn(seq, body)
        if body.old_key != body.session_key and (lines := self._transcripts.pop(body.old_key, None)):
            there = self._transcripts.get(body.session_key, [])
            self._transcripts[body.session_key] = list(merge(there, lines, key=_seq))

    def _write(self, key: str, line: TranscriptEntry) -> None:
        self._transcripts.setdefault(self.homes.last_key(key, line.seq), []).append(line)

    def _see(self, event: Event, body: PeerSaid | WireAccepted, who: str, message: str, chunk: int) -> None:
        seen = VisibleMessage(
            seq=event.seq,
            at=event.at,
            place=body.address.lane,
            who=who,
            text=body.text,
            message_id=message,
            intent=event.intent,
            chunk=chunk,
            media=body.media if isinstance(body, WireAccepted) else (),
        )
        self._seen.setdefault(seen.place, []).append(seen)


def _seq(of: TranscriptEntry | Event) -> int:
    return of.seq


_COLLECTED: frozenset[type[Body]] = frozenset(
    {
        *(TranscriptAppended, MirrorAppended, SessionReset, SessionMoved),
        *(SessionLeft, PeerSaid, WireAccepted, RouteDecided, RunEnded),
    }
)
#: decisions that name a binding without being about one
_ROUTED: frozenset[type[Body]] = frozenset({RouteDecided, RouterDecided})


def _of(groups: dict[str, list[Event]], key: str | None, kinds: tuple[type[Body], ...]) -> list[Event]:
    found = groups.get(key, []) if key is not None else []
    return [event for event in found if isinstance(event.body, kinds)] if kinds else list(found)
