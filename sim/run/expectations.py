"""Compares a trace with the scenario's expectations: messages, transcripts, events, exercised invariants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import config_key
from trunkline.core.events import Event
from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import MirrorAppended
from trunkline.core.events.gateway import SessionCreated, SessionMoved, SessionReset, TranscriptAppended
from trunkline.core.routing.scopes import place_key
from trunkline.core.values import Address, Peer
from trunkline.sim.events.script import ScriptSkipped
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import WorldPlace
from trunkline.sim.invariants import Status, Verdict
from trunkline.sim.run.fault_board import where
from trunkline.sim.run.hand_expectations import (
    delegation_fits,
    delegations_of,
    described,
    given_fits,
    givens_of,
    shown_delegation,
    shown_given,
)
from trunkline.sim.scenario import PlaceRef, ScenarioFile
from trunkline.sim.scenario.config_reloads import agents_of
from trunkline.sim.scenario.model.scenario import ExpectedEvent, ExpectedMessage
from trunkline.sim.scenario.text_pattern import text_matches


class UnmetExpectation(msgspec.Struct, frozen=True, kw_only=True):
    """An expectation that does not hold. `line`: its line in the scenario file."""

    summary: str
    expected: tuple[str, ...] = ()
    actual: tuple[str, ...] = ()
    line: int | None = None


#: the events that `_Outcome` reads
_READ = frozenset(
    {WorldPlace, WireAccepted, TranscriptAppended, MirrorAppended, SessionCreated, SessionReset, SessionMoved}
)


class _Outcome:
    """The outcome of a run, by place and by session."""

    def __init__(self, file: ScenarioFile, events: Sequence[Event]) -> None:
        self.events = events
        self.names: dict[tuple[str, str, str], Address] = {}
        self.labels: dict[tuple[str, str, str, str], str] = {}
        self.accepts: list[WireAccepted] = []
        self._file = file
        #: session id -> its lines
        self.lines: dict[str, list[str]] = {}
        #: (session id, intent) -> index of its partial line, which grows as more chunks are accepted
        self._parts: dict[tuple[str, str | None], int] = {}
        #: session key -> the session that has it
        self.sessions: dict[str, str] = {}
        for stored in file.scenario.stored.sessions:
            self.sessions[stored.key] = stored.id
            self.lines[stored.id] = list(stored.lines)
        for event in events:
            self._see(event)

    def _see(self, event: Event) -> None:
        body = event.body
        if type(body) not in _READ:
            return
        if isinstance(body, WorldPlace):
            place = body.address
            self.names[place.channel, place.account, body.name] = place
            self.labels[place.lane] = f"{place.channel}/{body.name}"
        elif isinstance(body, WireAccepted):
            self.accepts.append(body)
        elif isinstance(body, TranscriptAppended | MirrorAppended):
            self._append(event, body)
            self.sessions.setdefault(body.session_key, body.session_id)
        elif isinstance(body, SessionCreated | SessionReset):
            self.sessions[body.session_key] = body.session_id
        elif isinstance(body, SessionMoved):
            self.sessions.pop(body.old_key, None)
            self.sessions[body.session_key] = body.session_id

    def _append(self, event: Event, body: TranscriptAppended | MirrorAppended) -> None:
        lines = self.lines.setdefault(body.session_id, [])
        if isinstance(body, TranscriptAppended):
            lines.append(f"{body.role}: {body.text}")
            return
        which = (body.session_id, event.intent)
        place = self._parts.pop(which, len(lines))
        lines[place:] = [f"assistant: {body.text}", *lines[place + 1 :]]
        if body.partial:
            self._parts[which] = place

    def address(self, ref: PlaceRef) -> Address | None:
        """The address of a place; None if it never existed."""
        return self.names.get((ref.platform, ref.account, ref.tail))

    def is_person(self, name: str, peer: Peer) -> bool:
        """Whether a peer is this person of the scenario, on any platform."""
        spec = self._file.scenario.world.people.get(name)
        return peer.name == ((spec and spec.name) or name) or (spec is not None and peer.id in spec.ids.values())

    def held(self, agent: str, place: Address, configs: Sequence[GatewayConfig]) -> list[str]:
        """The lines of a place's session, under the last configuration in which it has one."""
        for config in reversed(configs):
            key = config_key(place_key(agent, place, config), config)
            if key in self.sessions:
                return self.lines.get(self.sessions[key], [])
        return []

    def label(self, address: Address) -> str:
        return self.labels.get(address.lane, str(address))


def transcripts_of(file: ScenarioFile, events: Sequence[Event]) -> dict[str, tuple[str, ...]]:
    """The lines of each session at the end of a run, by its key, in the form of `expect.transcripts`."""
    seen = _Outcome(file, events)
    return {key: tuple(seen.lines.get(session, ())) for key, session in seen.sessions.items()}


def check_expectations(
    file: ScenarioFile, events: Sequence[Event], verdicts: Iterable[Verdict]
) -> tuple[UnmetExpectation, ...]:
    """Compare a run with what its scenario expects; every difference is one `UnmetExpectation`."""
    expect = file.scenario.expect
    found = [*_skipped(events), *_cut(events)]
    if expect.accepted is not None or expect.transcripts or expect.events or expect.hands or expect.given:
        seen = _Outcome(file, events)
        found += (*_compare_accepted(file, seen), *_transcripts(file, seen), *_events(file, seen), *_hands(file, seen))
    return (*found, *_exercised(file, verdicts))


def _skipped(events: Sequence[Event]) -> Iterable[UnmetExpectation]:
    """Steps that could not happen: the run differs from the scenario."""
    for event in events:
        if isinstance(event.body, ScriptSkipped):
            yield UnmetExpectation(
                summary=f"the step {event.body.step} could not happen",
                expected=("every step of the script happens",),
                actual=(f"#{event.seq} {event.at:.3f}s {event.body.why}",),
            )


def _cut(events: Sequence[Event]) -> Iterable[UnmetExpectation]:
    """A run that is cut shows neither that its promises hold nor that they do not."""
    last = events[-1] if events else None
    if last is not None and isinstance(last.body, RunEnded) and last.body.cut:
        yield UnmetExpectation(
            summary=f"not judged: the run was cut {last.body.cut}",
            expected=("the run comes to rest",),
            actual=(f"#{last.seq} {last.at:.3f}s still open: {', '.join(last.body.open[:5]) or 'nothing'}",),
        )


def _compare_accepted(file: ScenarioFile, seen: _Outcome) -> Iterable[UnmetExpectation]:
    """Compare the exact multiset of accepted messages."""
    expected = file.scenario.expect.accepted
    if expected is None:
        return
    left = list(seen.accepts)
    for index, wanted in enumerate(expected):
        ref = file.resolve(wanted.place)
        place = seen.address(ref)
        found = [a for a in left if place and a.address.lane == place.lane and _is_wanted(wanted, a)]
        for accept in found[: wanted.times]:
            left.remove(accept)
        if len(found) < wanted.times:
            yield UnmetExpectation(
                summary=f"“{wanted.text}” was not seen at {wanted.place} as often as expected",
                expected=(f"{wanted.times}× “{wanted.text}”{_files(wanted.media)} at {ref.platform}/{ref.tail}",),
                actual=(
                    f"{len(found)}×",
                    *(f"“{a.text}”{_files(a.media)} at {seen.label(a.address)}" for a in left[:5]),
                ),
                line=file.line_of(("expect", "accepted", index)),
            )
    for accept in left:
        yield UnmetExpectation(
            summary=f"“{accept.text}” was seen at {seen.label(accept.address)}, unexpectedly",
            expected=("only the messages under expect.accepted",),
            actual=(f"“{accept.text}” at {seen.label(accept.address)}",),
            line=file.line_of(("expect", "accepted")),
        )


def _files(media: Sequence[str] | None) -> str:
    return f" with {', '.join(media)}" if media else ""


def _is_wanted(wanted: ExpectedMessage, found: WireAccepted) -> bool:
    return text_matches(wanted.text, found.text) and wanted.media in (None, found.media)


def _transcripts(file: ScenarioFile, seen: _Outcome) -> Iterable[UnmetExpectation]:
    configs = (file.scenario.gateway, *file.reloads)
    agents = agents_of(configs)
    for index, wanted in enumerate(file.scenario.expect.transcripts):
        place = None if wanted.place is None else seen.address(file.resolve(wanted.place))
        found = list(seen.lines.get(seen.sessions.get(wanted.session or "", ""), ()))
        for agent in agents:
            if place is not None:
                found += seen.held(agent, place, configs)
        fits = len(found) == len(wanted.lines) and all(
            text_matches(want, have) for want, have in zip(wanted.lines, found, strict=True)
        )
        if not fits:
            yield UnmetExpectation(
                summary=f"the transcript of {wanted.place or wanted.session} differs",
                expected=wanted.lines,
                actual=tuple(found) or ("(empty)",),
                line=file.line_of(("expect", "transcripts", index)),
            )


def _events(file: ScenarioFile, seen: _Outcome) -> Iterable[UnmetExpectation]:
    for index, wanted in enumerate(file.scenario.expect.events):
        count = sum(_event_fits(wanted, event, file, seen) for event in seen.events)
        if count == wanted.times or (wanted.times is None and count > 0):
            continue
        often = "at least once" if wanted.times is None else f"{wanted.times}×"
        yield UnmetExpectation(
            summary=f"{wanted.kind} happened {count}×",
            expected=(f"{often} {_describe(wanted)}",),
            actual=(f"{count}×",),
            line=file.line_of(("expect", "events", index)),
        )


def _describe(wanted: ExpectedEvent) -> str:
    facts = [wanted.kind]
    for name in ("reason", "state", "status", "text", "detail", "place"):
        value = getattr(wanted, name)
        if value is not None:
            facts.append(f"{name} {value}")
    return ", ".join(facts)


def _event_fits(wanted: ExpectedEvent, event: Event, file: ScenarioFile, seen: _Outcome) -> bool:
    body = event.body
    if event.kind != wanted.kind:
        return False
    for name in ("reason", "state", "status"):
        value = getattr(wanted, name)
        if value is not None and getattr(body, name, None) != value:
            return False
    for name in ("text", "detail"):
        pattern = getattr(wanted, name)
        if pattern is not None and not text_matches(pattern, str(getattr(body, name, ""))):
            return False
    if wanted.place is None:
        return True
    address, place = where(body), seen.address(file.resolve(wanted.place))
    return address is not None and place is not None and address.lane == place.lane


def _hands(file: ScenarioFile, seen: _Outcome) -> Iterable[UnmetExpectation]:
    """Compare delegations in both columns, and what agents were given."""
    delegations, given = delegations_of(seen.events), givens_of(seen.events)
    for index, wanted in enumerate(file.scenario.expect.hands):
        address = partial(_address, file, seen)
        count = sum(delegation_fits(wanted, delegation, seen.is_person, address) for delegation in delegations)
        if count != wanted.times:
            yield UnmetExpectation(
                summary="delegations differ",
                expected=(described(wanted),),
                actual=(f"{count}×", *map(shown_delegation, delegations[:10])),
                line=file.line_of(("expect", "hands", index)),
            )
    for index, wanted in enumerate(file.scenario.expect.given):
        count = sum(given_fits(wanted, body, seen.is_person) for body in given)
        if count != wanted.times:
            yield UnmetExpectation(
                summary="what agents were given differs",
                expected=(described(wanted),),
                actual=(f"{count}×", *map(shown_given, given[:10])),
                line=file.line_of(("expect", "given", index)),
            )


def _address(file: ScenarioFile, seen: _Outcome, place: str) -> Address | None:
    return seen.address(file.resolve(place))


def _exercised(file: ScenarioFile, verdicts: Iterable[Verdict]) -> Iterable[UnmetExpectation]:
    idle = {verdict.id for verdict in verdicts if verdict.status is Status.NOT_EXERCISED}
    for index, wanted in enumerate(file.scenario.expect.exercised):
        if wanted in idle:
            yield UnmetExpectation(
                summary=f"{wanted} was not exercised",
                expected=(f"something in the run that {wanted} applies to",),
                actual=("not exercised",),
                line=file.line_of(("expect", "exercised", index)),
            )
