"""Endings and truth: L1, L3, V1."""

from __future__ import annotations

from collections.abc import Callable

from core.events import Body, Event
from core.events.bodies import (
    Fallback,
    InboundAdmitted,
    InboundDropped,
    InboundReceived,
    IntentPrepared,
    IntentSettled,
    IntentSuppressed,
    PeerSaid,
    PlatformPushed,
    ProcessCrashed,
    ProcessStopped,
    TurnEnded,
    WireAccepted,
)
from core.values import Address, IntentState
from sim.invariants.base import Checker
from sim.invariants.story import Story

_Message = tuple[str, str, str, str]


class EverythingEnds(Checker):
    """L1: each intent ends in exactly one way, and each message of a person is answered, or dropped with a reason."""

    id = "L1"
    title = "Everything ends"
    sentence = "Each intent and each accepted inbound reaches exactly one ending within a bound."

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self._said: dict[_Message, Event] = {}
        self._works: dict[str, Event] = {}
        self._intents: dict[str, Event] = {}

    def handlers(self) -> dict[type[Body], Callable[[Event], None]]:
        """Beginnings and endings."""
        return {
            PeerSaid: self._peer_said,
            InboundAdmitted: self._admitted,
            InboundDropped: self._dropped,
            TurnEnded: self._turn_ended,
            IntentPrepared: self._prepared,
            IntentSettled: self._settled,
        }

    def _peer_said(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, PeerSaid)
        self.exercised += 1
        place = body.address
        self._said[place.channel, place.conversation, place.thread or "", body.message_id] = event

    def _taken(self, inbound: str | None) -> None:
        """The gateway has a message: the person's waits no more."""
        received = self.story.received.get(inbound or "")
        logical = None if received is None else self.story.logical(received)
        if logical is not None:
            (channel, _account, conversation, thread), message = logical
            self._said.pop((channel, conversation, thread, message), None)

    def _admitted(self, event: Event) -> None:
        self.exercised += 1
        self._taken(event.inbound)
        self._works[event.inbound or ""] = event

    def _dropped(self, event: Event) -> None:
        self._taken(event.inbound)

    def _turn_ended(self, event: Event) -> None:
        self._works.pop(event.inbound or "", None)

    def _prepared(self, event: Event) -> None:
        self.exercised += 1
        self._intents[event.intent or ""] = event

    def _settled(self, event: Event) -> None:
        if self._intents.pop(event.intent or "", None) is not None:
            return
        facts = self.story.intents.get(event.intent or "")
        settled = [event] if facts is None else facts.settled
        self.violate(
            at=event.seq,
            summary=f"{event.intent} ended {len(settled)} times",
            expected=["one ending"],
            actual=[f"#{e.seq} {getattr(e.body, 'state', '')}" for e in settled],
            evidence=[e.seq for e in settled],
            first_wrong=event.seq,
        )

    def finish(self, last: Event) -> None:
        """What is still open never ended."""
        for what, left in (
            ("message {0.inbound} was never taken", self._said),
            ("{0.inbound} was admitted and its turn never ended", self._works),
            ("{0.intent} was prepared and never ended", self._intents),
        ):
            for event in left.values():
                self.violate(
                    at=last.seq,
                    summary=what.format(event),
                    expected=["an ending: answered, dropped with a reason, delivered, failed, or parked"],
                    actual=[f"#{event.seq} {event.at:.3f}s {event.kind}, and nothing after it"],
                    evidence=[event.seq],
                    first_wrong=event.seq,
                )


_NOTHING_SEEN = (IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED, IntentState.CANCELLED)


class StatusIsTruth(Checker):
    """L3: what the gateway says of an intent is what the platform did."""

    id = "L3"
    title = "Status equals wire truth"
    sentence = "Delivered means: every chunk was accepted, where it was meant to be. Failed means: none was."

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        #: intents that go elsewhere by configuration
        self._fallbacks: set[str | None] = set()

    def handlers(self) -> dict[type[Body], Callable[[Event], None]]:
        """Endings, and accepts that come after one."""
        return {IntentSettled: self._settled, WireAccepted: self._accepted, Fallback: self._fallback}

    def _fallback(self, event: Event) -> None:
        self._fallbacks.add(event.intent)

    def _settled(self, event: Event) -> None:
        self.exercised += 1
        self._compare(event, event)

    def _accepted(self, event: Event) -> None:
        facts = self.story.intents.get(event.intent or "")
        if facts is not None and facts.settled:
            self._compare(facts.settled[-1], event)

    def _compare(self, settled: Event, at: Event) -> None:
        facts = self.story.intents.get(settled.intent or "")
        body = settled.body
        assert isinstance(body, IntentSettled)
        if facts is None:
            return
        wanted, seen = facts.body.chunks, len(facts.accepted_chunks)
        asked = facts.body.address.lane
        astray = [e for e in facts.accepts if isinstance(e.body, WireAccepted) and e.body.address.lane != asked]
        wrong = (
            (body.state is IntentState.DELIVERED and seen != wanted)
            or (body.state is IntentState.DELIVERED and any(e.intent not in self._fallbacks for e in astray))
            or (body.state is IntentState.MISPLACED and not astray)
            or (body.state in _NOTHING_SEEN and seen > 0)
            or (body.state is IntentState.PARTIAL and not 0 < seen < wanted)
        )
        if wrong:
            where = f", {len(astray)} of them at {self.story.name(_place(astray[0]))}" if astray else ""
            self.violate(
                at=at.seq,
                summary=f"{settled.intent} is called {body.state.value}; accepted: {seen} of {wanted} chunks{where}",
                expected=[f"{body.state.value}: {_promise(body.state, wanted)}"],
                actual=[f"#{settled.seq} {body.state.value} ({body.reason.value})", f"{seen} accepted on the platform"],
                evidence=[*(e.seq for e in facts.accepts), settled.seq],
                first_wrong=settled.seq,
            )


def _place(event: Event) -> Address | None:
    return event.body.address if isinstance(event.body, WireAccepted) else None


def _promise(state: IntentState, chunks: int) -> str:
    if state is IntentState.DELIVERED:
        return f"all {chunks} chunks accepted, where they were meant to be"
    if state is IntentState.MISPLACED:
        return "accepted at another place than asked for"
    return "no chunk accepted" if state in _NOTHING_SEEN else "some chunks accepted, not all"


class NothingSilent(Checker):
    """V1: nothing disappears, and nothing is said, without an event that tells why."""

    id = "V1"
    title = "Nothing silent"
    sentence = "Each drop, suppression and failure is an event with a reason; each accept has an intent behind it."

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self._pushed: list[tuple[Event, int]] = []
        self._open: dict[str, tuple[Event, int]] = {}
        self._silent: dict[str, Event] = {}

    def handlers(self) -> dict[type[Body], Callable[[Event], None]]:
        """Everything that could get lost, and everything that accounts for it."""
        return {
            PlatformPushed: self._platform_pushed,
            InboundReceived: self._received,
            InboundAdmitted: self._accounted,
            InboundDropped: self._accounted,
            ProcessCrashed: self._process_gone,
            ProcessStopped: self._process_gone,
            TurnEnded: self._turn_ended,
            IntentSuppressed: self._suppressed,
            WireAccepted: self._accepted,
        }

    def _platform_pushed(self, event: Event) -> None:
        self._pushed.append((event, event.generation))

    def _received(self, event: Event) -> None:
        self.exercised += 1
        body = event.body
        assert isinstance(body, InboundReceived)
        for entry in self._pushed:
            pushed = entry[0].body
            assert isinstance(pushed, PlatformPushed)
            if pushed.address == body.address and pushed.message_id == body.message_id:
                self._pushed.remove(entry)
                break
        self._open[event.inbound or ""] = (event, event.generation)

    def _accounted(self, event: Event) -> None:
        self._open.pop(event.inbound or "", None)

    def _process_gone(self, _event: Event) -> None:
        """What a dead process held comes again; that is L1's business."""
        self._pushed.clear()
        self._open.clear()

    def _turn_ended(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, TurnEnded)
        if body.outcome == "silent":
            self._silent[event.turn or ""] = event

    def _suppressed(self, event: Event) -> None:
        self.exercised += 1
        self._silent.pop(event.turn or "", None)

    def _accepted(self, event: Event) -> None:
        if (event.intent or "") not in self.story.intents:
            self.violate(
                at=event.seq,
                summary="a message was accepted that no intent asked for",
                expected=["an intent.prepared before the accept"],
                actual=[f"#{event.seq} {event.at:.3f}s wire.accepted of {event.intent}"],
                evidence=[event.seq],
                first_wrong=event.seq,
            )

    def finish(self, last: Event) -> None:
        """Whatever nobody accounted for."""
        lost = [
            *((event, "was pushed to a live process, which says nothing of it") for event, _ in self._pushed),
            *((event, "was received, and neither admitted nor dropped") for event, _ in self._open.values()),
            *((event, "ended without an answer, and nothing tells why") for event in self._silent.values()),
        ]
        for event, what in lost:
            name = event.inbound or event.turn or f"#{event.seq}"
            self.violate(
                at=last.seq,
                summary=f"{name} {what}",
                expected=["an event with a reason code"],
                actual=[f"#{event.seq} {event.at:.3f}s {event.kind}, and nothing that explains what became of it"],
                evidence=[event.seq],
                first_wrong=event.seq,
            )
