"""Where things are said and remembered: R1, R2, M1, S1."""

from __future__ import annotations

from collections.abc import Callable

from core.config import DmScope
from core.errors import KeyFormatError
from core.events import Body, Event
from core.events.bodies import (
    CompletionPlanned,
    Fallback,
    InboundAdmitted,
    IntentPrepared,
    IntentSettled,
    MirrorAppended,
    RouteDecided,
    WireAccepted,
)
from core.keys import parse_v1
from core.values import Address, ChatKind, IntentState, WorkKind
from sim.invariants.base import Checker
from sim.invariants.story import IntentFacts, Lane, Story


class ExactReturnAddress(Checker):
    """R1: an answer goes to the exact place of the message that caused it, on every path."""

    id = "R1"
    title = "Exact return address"
    sentence = "A reply has the channel, account, conversation, thread and reply reference of its causing inbound."

    def handlers(self) -> dict[type[Body], Callable[[Event], None]]:
        """Accepts."""
        return {WireAccepted: self._accepted}

    def _accepted(self, event: Event) -> None:
        body, facts = event.body, self.story.intents.get(event.intent or "")
        assert isinstance(body, WireAccepted)
        origin = None if facts is None or facts.body.targeted else self.story.origin(facts.prepared.inbound)
        if facts is None or origin is None:
            return
        self.exercised += 1
        place, message = origin
        opened = self.story.opened_on.get((place.channel, message))
        right = {place.lane} if opened is None else {place.lane, opened.lane}
        if body.address.lane in right and body.reply_to in (None, message):
            return
        self.violate(
            at=event.seq,
            summary=f"the answer to {facts.prepared.inbound} went to {self.story.name(body.address)}",
            expected=[f"at {self.story.name(opened or place)}, where {facts.prepared.inbound} was said"],
            actual=[f"#{event.seq} {event.at:.3f}s “{body.text}” at {self.story.name(body.address)}"],
            evidence=[facts.prepared.seq, event.seq],
            first_wrong=self._first_wrong(facts, right, event),
        )

    def _first_wrong(self, facts: IntentFacts, right: set[Lane], accepted: Event) -> int:
        """The first event on the way that had the wrong place: route, completion plan, intent, or the accept itself."""
        route = self.story.routed.get(facts.prepared.inbound or "")
        if route is not None and isinstance(route.body, RouteDecided) and _astray(route.body.reply_to, right):
            return route.seq
        plan, _ = self.story.planned.get(facts.prepared.delegation or "", (None, 0))
        steps = plan.body.steps if plan is not None and isinstance(plan.body, CompletionPlanned) else ()
        if plan is not None and any(_astray(step.address, right) for step in steps):
            return plan.seq
        return facts.prepared.seq if facts.body.address.lane not in right else accepted.seq


def _astray(address: Address | None, right: set[Lane]) -> bool:
    return address is not None and address.lane not in right


class NoHiddenRedirect(Checker):
    """R2: what is accepted is where the intent wanted it, or a fallback was recorded before."""

    id = "R2"
    title = "No hidden redirect"
    sentence = "An accept at another place than the intent's needs a fallback event, with a reason, before it."

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self._allowed: set[tuple[str, Lane]] = set()

    def handlers(self) -> dict[type[Body], Callable[[Event], None]]:
        """Fallbacks and accepts."""
        return {Fallback: self._fallback, WireAccepted: self._accepted}

    def _fallback(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, Fallback)
        self._allowed.add((event.intent or "", body.used.lane))

    def _accepted(self, event: Event) -> None:
        body, facts = event.body, self.story.intents.get(event.intent or "")
        assert isinstance(body, WireAccepted)
        if facts is None:
            return
        self.exercised += 1
        wanted, found = facts.body.address.lane, body.address.lane
        if wanted == found or (event.intent or "", found) in self._allowed:
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was meant for {self.story.name(facts.body.address)} and is elsewhere",
            expected=[f"at {self.story.name(facts.body.address)}, or a fallback event before it"],
            actual=[f"#{event.seq} {event.at:.3f}s “{body.text}” at {self.story.name(body.address)}"],
            evidence=[facts.prepared.seq, event.seq],
            first_wrong=event.seq,
        )


class MirrorOnce(Checker):
    """M1: what was delivered is once in the session of the conversation where people see it, and in no other."""

    id = "M1"
    title = "Mirror once, in the right session"
    sentence = "Each delivered intent has exactly one transcript entry, in the session of the wire conversation."

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self._mirrors: dict[str, list[Event]] = {}

    def handlers(self) -> dict[type[Body], Callable[[Event], None]]:
        """Mirrors and endings."""
        return {MirrorAppended: self._mirrored, IntentSettled: self._settled}

    def _mirrored(self, event: Event) -> None:
        body, facts = event.body, self.story.intents.get(event.intent or "")
        assert isinstance(body, MirrorAppended)
        mirrors = self._mirrors.setdefault(event.intent or "", [])
        mirrors.append(event)
        if facts is None:
            return
        if len(mirrors) > 1:
            self._wrong(facts, event, f"{event.intent} is in transcripts {len(mirrors)} times", mirrors)
        place = _seen_at(facts)
        if not key_is_of(body.session_key, place, self.story.dm_scope):
            summary = f"{event.intent}, seen at {self.story.name(place)}, was mirrored into another session"
            self._wrong(facts, event, summary, [event])

    def _settled(self, event: Event) -> None:
        body, facts = event.body, self.story.intents.get(event.intent or "")
        assert isinstance(body, IntentSettled)
        if facts is None or body.state not in (IntentState.DELIVERED, IntentState.PARTIAL):
            return
        self.exercised += 1
        if facts.accepts and not self._mirrors.get(event.intent or ""):
            summary = f"{event.intent} was delivered to {self.story.name(_seen_at(facts))} and is in no transcript"
            self._wrong(facts, event, summary, [])

    def _wrong(self, facts: IntentFacts, event: Event, summary: str, mirrors: list[Event]) -> None:
        place = _seen_at(facts)
        found = [f"#{e.seq} {e.at:.3f}s in session {getattr(e.body, 'session_key', '')}" for e in mirrors]
        self.violate(
            at=event.seq,
            summary=summary,
            expected=[f"one entry, in the session of {self.story.name(place)}"],
            actual=found or ["no entry in any session"],
            evidence=[*(e.seq for e in facts.accepts), *(e.seq for e in mirrors)] or [event.seq],
            first_wrong=facts.prepared.seq,
        )


def _seen_at(facts: IntentFacts) -> Address:
    """Where people see an intent: where it was accepted, else where it was meant to be."""
    body = facts.accepts[-1].body if facts.accepts else None
    return body.address if isinstance(body, WireAccepted) else facts.body.address


def key_is_of(text: str, place: Address, dm_scope: str) -> bool:
    """Whether a session key can be that of a place. A key that the DM scope shares fits every direct conversation."""
    try:
        key = parse_v1(text)
    except KeyFormatError:
        return False
    if key.is_main:
        return place.kind is ChatKind.DIRECT and dm_scope == DmScope.MAIN
    if key.linked:
        return place.kind is ChatKind.DIRECT
    return (
        key.kind is place.kind
        and key.channel in (None, place.channel)
        and key.account in (None, place.account)
        and key.peer.lower() == place.conversation.lower()
        and (key.thread[1] if key.thread else None) == place.thread
    )


class OneKey(Checker):
    """S1: a conversation has one session key, whichever way a message goes."""

    id = "S1"
    title = "One conversation, one key"
    sentence = "Inbound, outbound and mirror of one conversation use one session key and one session."

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self._keys: dict[tuple[str, Lane], tuple[str, Event]] = {}
        self._ids: dict[str, tuple[str, Event]] = {}

    def handlers(self) -> dict[type[Body], Callable[[Event], None]]:
        """Every event that ties a conversation to a key."""
        return {InboundAdmitted: self._admitted, IntentPrepared: self._prepared, MirrorAppended: self._mirrored}

    def _admitted(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, InboundAdmitted)
        origin = self.story.origin(event.inbound)
        if origin is None or body.work is not WorkKind.MESSAGE:
            return
        self.exercised += 1
        place, _ = origin
        # Auto-thread: the message belongs to the session of the thread that will be opened on it.
        if key_is_of(body.session_key, place, self.story.dm_scope):
            self._one_key(place, body.session_key, event)
        self._one_id(body.session_key, body.session_id, event)

    def _prepared(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, IntentPrepared)
        if body.mirror_key is not None:
            self.exercised += 1
            self._one_key(body.address, body.mirror_key, event)

    def _mirrored(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, MirrorAppended)
        self._one_id(body.session_key, body.session_id, event)

    def _one_key(self, place: Address, key: str, event: Event) -> None:
        agent = key.partition(":")[0]
        first, since = self._keys.setdefault((agent, place.lane), (key, event))
        if first != key:
            self._differ(f"{self.story.name(place)} has two session keys", first, key, since, event)

    def _one_id(self, key: str, session: str, event: Event) -> None:
        first, since = self._ids.setdefault(key, (session, event))
        if first != session:
            self._differ(f"session key {key} has two sessions", first, session, since, event)

    def _differ(self, summary: str, first: str, second: str, since: Event, event: Event) -> None:
        self.violate(
            at=event.seq,
            summary=summary,
            expected=[f"#{since.seq} {first}"],
            actual=[f"#{event.seq} {second}"],
            evidence=[since.seq, event.seq],
            first_wrong=event.seq,
        )
