"""Where messages are delivered and mirrored: R1, R2, M1."""

from __future__ import annotations

from trunkline.core.channels import rules_for
from trunkline.core.errors import KeyFormatError
from trunkline.core.events import Event
from trunkline.core.events.delivery import (
    Fallback,
    IntentPrepared,
    IntentSettled,
    MirrorAppended,
    MirrorRefused,
    TransportFallback,
)
from trunkline.core.events.gateway import (
    ConfigReloaded,
    InboundAdmitted,
    InboundReceived,
    ProcessStarted,
    RouteDecided,
    SessionLeft,
    TurnStarted,
)
from trunkline.core.events.hands import CompletionPlanned
from trunkline.core.keys import parse_v1
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, IntentKind, IntentState, WorkKind
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.index.binding_facts import BindingFacts
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import IntentFacts, Lane, RunFacts
from trunkline.sim.invariants.base import Checker, EvidenceKind, cited
from trunkline.sim.invariants.routing.binding_freshness import IdentityFidelity

#: how an intent ends that a platform put elsewhere
_MISPLACED = "an end as misplaced, not as delivered"


class ReplyReferences(Checker):
    """The part of R1 about reply references (``reply_reference`` of a channel)."""

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: process -> channels whose answers quote their message
        self._quoting: dict[int, frozenset[str]] = {}
        #: the same at the start of each turn: a reload may come while it runs
        self._at_turn: dict[str, frozenset[str]] = {}
        #: intent -> the message that it must quote
        self._quotes: dict[str, str] = {}

    @on(ProcessStarted, ConfigReloaded)
    def _configured(self, event: Event, body: ProcessStarted | ConfigReloaded) -> None:
        self._quoting[event.generation] = frozenset(body.quoting)

    @on(TurnStarted)
    def _turn_started(self, event: Event, body: TurnStarted) -> None:
        """Only turns of messages quote; the answer to a chat command does not."""
        quoting = self._quoting.get(event.generation)
        if quoting and body.work is WorkKind.MESSAGE:
            self._at_turn[event.turn or ""] = quoting

    @on(IntentPrepared)
    def _answer_prepared(self, event: Event, body: IntentPrepared) -> None:
        """Only the answer of the turn quotes, and only in the message's own place."""
        channel = body.address.channel
        if channel not in self._at_turn.get(event.turn or "", ()) or channel not in self._quoting[event.generation]:
            return
        received = self.run.received.get(event.inbound or "")
        if body.intent_kind is not IntentKind.REPLY or body.targeted or received is None:
            return
        assert isinstance(received.body, InboundReceived)
        if received.body.address.lane == body.address.lane:
            self._quotes[event.intent or ""] = received.body.subject

    def meant(self, prepared: Event) -> tuple[str | None, ...]:
        """The messages that an intent may quote because a hook or its agent says so."""
        return (*self.run.hooks.quotable(prepared.intent), *self.run.answered.quotable(prepared.turn))

    def check_quote(self, event: Event, body: WireAccepted) -> None:
        """Compare the reference of an accepted answer with the message that it answers."""
        message = self._quotes.get(event.intent or "", body.reply_to)
        prepared = self.run.intents[event.intent or ""].prepared
        if body.reply_to in (message, *self.meant(prepared)):
            return
        self.violate(
            at=event.seq,
            summary=f"the answer to {prepared.inbound} does not quote it",
            expected=[f"a reply reference to {message}"],
            actual=[cited(event, f"reply reference: {body.reply_to or 'none'}")],
            evidence=[prepared.seq, event.seq],
        )


class ExactReturnAddress(ReplyReferences):
    """R1: an answer goes to the exact place of the message that caused it."""

    id = "R1"
    title = "Exact return address"
    evidence = EvidenceKind.MISPLACED
    sentence = "A reply has the channel, account, conversation, thread and reply reference of its causing inbound."

    @on(WireAccepted)
    def _accepted(self, event: Event, body: WireAccepted) -> None:
        facts = self.run.intents.get(event.intent or "")
        origin = None if facts is None or facts.body.targeted else self.run.origin(facts.prepared.inbound)
        if facts is None or origin is None:
            return
        self.exercised += 1
        if self.run.hooks.may_go(event.intent, body.address) or self.run.calls.goes_second(event.intent, body.address):
            return
        self.check_quote(event, body)
        place, message = origin
        opened = self.run.opened_on(place, message)
        bound = self.run.bindings.of_delegation.get(facts.prepared.delegation or "")
        if bound is not None:
            asked = {place.lane} if opened is None else {place.lane, opened.lane}
            self._of_bound_work(event, facts, bound, asked)
            return
        quotable = (None, message, *self.meant(facts.prepared))
        if body.address == place and body.reply_to in quotable:
            return
        right = {place.lane} if opened is None else {place.lane, opened.lane}
        if body.requested.lane in right and body.address.lane not in right:
            return  # requested correctly, misplaced by the platform: R2 and L3 judge the record of it
        if body.address.lane in right and body.reply_to in quotable:
            return
        if self.run.answered.in_thread(facts.prepared.turn, place, body.address) or self._notice_in_room(facts, body):
            return
        self.violate(
            at=event.seq,
            summary=f"the answer to {facts.prepared.inbound} went to {self.run.name(body.address)}",
            expected=[f"at {self.run.name(opened or place)}, the place of {facts.prepared.inbound}"],
            actual=[cited(event, f"“{body.text}” at {self.run.name(body.address)}")],
            evidence=[facts.prepared.seq, event.seq],
            first_wrong=self._first_wrong(facts, right, event),
        )

    def _notice_in_room(self, notice: IntentFacts, body: WireAccepted) -> bool:
        """Whether an intent is the notice of an answer to a deleted thread, in the room of that thread."""
        if notice.body.intent_kind is not IntentKind.NOTICE:
            return False
        rules, cause = rules_for(body.address.channel), notice.prepared.cause
        answers = (
            (intent, end.body) for intent in self.run.intents.values() for end in intent.settled if end.seq == cause
        )
        return any(
            isinstance(end, IntentSettled)
            and end.reason is Reason.PLACE_GONE
            and rules.room_above(answer.body.address).lane == body.address.lane
            for answer, end in answers
        )

    def _of_bound_work(self, event: Event, facts: IntentFacts, bound: BindingFacts, origin: set[Lane]) -> None:
        """Bound work is announced in its conversation only; a notice or a recorded fallback where it was asked for."""
        body = event.body
        assert isinstance(body, WireAccepted)
        right = bound.body.conversation
        allowed = facts.body.intent_kind is IntentKind.NOTICE or self.run.bindings.has_fallen_back(facts.prepared)
        if body.address.lane == right.lane or (allowed and body.address.lane in origin):
            return
        if body.requested.lane == right.lane:
            return  # misplaced by the platform: R2 and L3 judge the record of it
        self.violate(
            at=event.seq,
            summary=f"the completion of {facts.prepared.delegation} went to {self.run.name(body.address)}",
            expected=[f"at {self.run.name(right)}, which is bound to its session by {bound.id}"],
            actual=[cited(event, f"“{body.text}” at {self.run.name(body.address)}")],
            evidence=[bound.bound.seq, facts.prepared.seq, event.seq],
            first_wrong=self._leaving(facts, {right.lane}, event),
        )

    def _first_wrong(self, facts: IntentFacts, right: set[Lane], accepted: Event) -> int:
        """The first event on the way that had the wrong place: route, completion plan, intent, or the accept itself."""
        route = self.run.routed.get(facts.prepared.inbound or "")
        if route is not None and isinstance(route.body, RouteDecided) and _astray(route.body.reply_to, right):
            return route.seq
        return self._leaving(facts, right, accepted)

    def _leaving(self, facts: IntentFacts, right: set[Lane], accepted: Event) -> int:
        """The first of those events after the route, which says nothing of where bound work is announced."""
        plan, _ = self.run.planned.get(facts.prepared.delegation or "", (None, 0))
        steps = plan.body.steps if plan is not None and isinstance(plan.body, CompletionPlanned) else ()
        if plan is not None and any(_astray(step.address, right) for step in steps):
            return plan.seq
        return facts.prepared.seq if facts.body.address.lane not in right else accepted.seq


def _astray(address: Address | None, right: set[Lane]) -> bool:
    return address is not None and address.lane not in right


class NoHiddenRedirect(IdentityFidelity):
    """R2: a message is accepted at its destination, or a fallback was recorded before."""

    id = "R2"
    title = "No hidden redirect"
    evidence = EvidenceKind.MISPLACED
    sentence = (
        "An accept at another place than the intent's, or by another identity, needs a fallback event before it, or "
        "the platform did it and the gateway says that it is misplaced."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: fallbacks by configuration, recorded before the send
        self._allowed: set[tuple[str, Lane]] = set()
        #: requested correctly and misplaced by the platform; the gateway must record it as misplaced
        self._put_elsewhere: dict[str, Event] = {}

    @on(TransportFallback)
    def _transport(self, event: Event, body: TransportFallback) -> None:
        """A chunk that one transport delivered must not be sent again by another."""
        facts = self.run.intents.get(event.intent or "")
        self.exercised += 1
        for accept in () if facts is None else facts.accepts:
            if isinstance(accept.body, WireAccepted) and accept.body.chunk == body.chunk:
                what = f"{event.intent} chunk {body.chunk + 1}"
                self.violate(
                    at=event.seq,
                    summary=f"{what} was accepted, and goes to the {body.used.value} path",
                    expected=["a fallback only for a chunk that provably did not reach the platform"],
                    actual=[cited(e) for e in (accept, event)],
                    evidence=[accept.seq, event.seq],
                )

    @on(IntentSettled)
    def _settled(self, event: Event, body: IntentSettled) -> None:
        accepted = self._put_elsewhere.pop(event.intent or "", None)
        if accepted is not None and body.state is IntentState.DELIVERED:
            self._report_place(accepted, _MISPLACED, first_wrong=event.seq)

    def finish(self, last: Event) -> None:
        """Report misplaced deliveries that the gateway never recorded as such; it cannot if it got no answer."""
        for intent, accepted in self._put_elsewhere.items():
            if not _in_doubt(self.run.intents[intent]):
                self._report_place(accepted, _MISPLACED, missing_after=accepted.seq)

    @on(Fallback)
    def _fallback(self, event: Event, body: Fallback) -> None:
        self._allowed.add((event.intent or "", body.used.lane))

    @on(WireAccepted)
    def _accepted(self, event: Event, body: WireAccepted) -> None:
        facts = self.run.intents.get(event.intent or "")
        if facts is None:
            return
        self.exercised += 1
        self.spoken(event)
        if body.address == facts.body.address:
            return
        wanted, found = facts.lane, body.address.lane
        if wanted == found or (event.intent or "", found) in self._allowed:
            return
        if body.requested.lane == wanted:
            self._put_elsewhere[event.intent or ""] = event
            return
        self._report_redirect(event)

    def _report_redirect(self, event: Event) -> None:
        right = self.run.intents[event.intent or ""].body.address
        self._report_place(event, f"at {self.run.name(right)}, or a fallback event before it", first_wrong=event.seq)

    def _report_place(
        self, event: Event, expected: str, *, first_wrong: int | None = None, missing_after: int | None = None
    ) -> None:
        body, facts = event.body, self.run.intents[event.intent or ""]
        assert isinstance(body, WireAccepted)
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was meant for {self.run.name(facts.body.address)}, and arrived elsewhere",
            expected=[expected],
            actual=[cited(event, f"“{body.text}” at {self.run.name(body.address)}")],
            evidence=[facts.prepared.seq, event.seq],
            first_wrong=first_wrong,
            missing_after=missing_after,
        )


class MirrorOnce(Checker):
    """M1: a delivery is mirrored once, into the session of the conversation where people see it, and no other."""

    id = "M1"
    title = "Mirror once, in the right session"
    evidence = EvidenceKind.MIRRORS
    our_keys_part = "the session of an entry"
    sentence = "Each delivered intent has exactly one transcript entry, in the session of the wire conversation."

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: expected entries: the store refused them at first, or an operator confirmed the delivery later
        self._due: dict[str, Event] = {}
        #: sessions that a place has left, and by agent and place the session that it spoke in last
        self._left: set[str] = set()
        self._spoke: dict[tuple[str, Lane], str] = {}
        #: intents whose session was that of their place by the scopes of their preparation, which a reload may change
        self._fitted: set[str] = set()

    @on(IntentPrepared)
    def _prepared(self, event: Event, body: IntentPrepared) -> None:
        # Scopes and links decide only whether these keys fit.
        if (
            body.mirror_key is not None
            and _is_shared(body.mirror_key)
            and key_is_of(body.mirror_key, body.address, self.run)
        ):
            self._fitted.add(event.intent or "")

    @on(SessionLeft)
    def _leaves(self, _event: Event, body: SessionLeft) -> None:
        self._left.add(body.old_session_id)

    @on(InboundAdmitted)
    def _admitted(self, event: Event, body: InboundAdmitted) -> None:
        home = self.run.home(event.inbound)
        if home is not None and body.work is WorkKind.MESSAGE and not self._is_bound(event.inbound):
            self._spoke[_agent(body.session_key), home.lane] = body.session_id

    @on(MirrorRefused)
    def _refused(self, event: Event, _body: MirrorRefused) -> None:
        self.exercised += 1
        self._due[event.intent or ""] = event

    def finish(self, last: Event) -> None:
        """Report expected entries that were never written."""
        for intent in self._due:
            facts = self.run.intents.get(intent)
            # An uncertain delivery need not be mirrored.
            if facts is not None and facts.accepts and not facts.mirrors and not _in_doubt(facts):
                self._missing(facts, last, self._due[intent].seq)

    @on(MirrorAppended)
    def _mirrored(self, event: Event, body: MirrorAppended) -> None:
        facts = self.run.intents.get(event.intent or "")
        if facts is None:
            return
        mirrors = facts.mirrors
        if len(mirrors) > 1 and not _grows(mirrors[-2], body):
            # The entry that nobody had accepted yet is the wrong one, else the later one.
            early = next(
                (mirror for mirror in mirrors if not any(seen.seq < mirror.seq for seen in facts.accepts)), event
            )
            self._report_mirror(
                facts, event, f"{event.intent} is in transcripts {len(mirrors)} times", mirrors, early.seq
            )
        place = _seen_at(facts)
        if self.run.scopes.upstream or facts.body.named_session or self._at_home(facts, body, place):
            return
        bound = self.run.bindings.holding(place, facts.prepared.seq)
        if bound is not None and bound.body.session_key == body.session_key:
            return
        if bound is not None and bound.routes(facts.prepared.at):
            summary = f"{event.intent}, seen at {self.run.name(place)}, is not in the bound session"
            self._report_misfiled(facts, event, body, summary)
            return
        if self._has_left(place, body):
            summary = f"{event.intent}, seen at {self.run.name(place)}, was mirrored into a session that it has left"
            self._report_mirror(facts, event, summary, (event,), event.seq)
            return
        fitted = event.intent in self._fitted and facts.lane == place.lane and body.session_key == facts.body.mirror_key
        if not fitted and not key_is_of(body.session_key, place, self.run):
            summary = f"{event.intent}, seen at {self.run.name(place)}, was mirrored into another session"
            self._report_misfiled(facts, event, body, summary)

    def _report_misfiled(self, facts: IntentFacts, event: Event, body: MirrorAppended, summary: str) -> None:
        """Mirrored into the wrong session: as it was prepared, unless people see it elsewhere than prepared."""
        planned = facts.body.mirror_key == body.session_key and facts.lane == _seen_at(facts).lane
        self._report_mirror(facts, event, summary, (event,), facts.prepared.seq if planned else event.seq)

    def _at_home(self, facts: IntentFacts, body: MirrorAppended, place: Address) -> bool:
        """Whether this is an answer at the place of its message, mirrored into the session of that message."""
        inbound, session = facts.prepared.inbound, body.session_id
        home = self.run.home(inbound)
        if home is None or home.lane != place.lane or self.run.admitted.get(inbound or "") != session:
            return False
        return self._is_bound(inbound) or not self._has_left(place, body)

    def _is_bound(self, inbound: str | None) -> bool:
        routed = self.run.routed.get(inbound or "")
        return routed is not None and routed.binding is not None

    def _has_left(self, place: Address, body: MirrorAppended) -> bool:
        """Whether a place goes on in another session: people who see a text there are no more in this one."""
        if body.session_id not in self._left:
            return False
        return self._spoke.get((_agent(body.session_key), place.lane), body.session_id) != body.session_id

    @on(IntentSettled)
    def _settled(self, event: Event, body: IntentSettled) -> None:
        facts = self.run.intents.get(event.intent or "")
        if facts is None or body.state not in (IntentState.DELIVERED, IntentState.PARTIAL, IntentState.MISPLACED):
            return
        self.exercised += 1
        if body.reason is Reason.OPERATOR_SENT:
            self._due[event.intent or ""] = event
        if facts.accepts and not facts.mirrors and event.intent not in self._due:
            self._missing(facts, event, facts.accepts[-1].seq)

    def _missing(self, facts: IntentFacts, event: Event, after: int) -> None:
        summary = f"{facts.prepared.intent} was delivered to {self.run.name(_seen_at(facts))} and is in no transcript"
        self._report_mirror(facts, event, summary, (), None, after)

    def _report_mirror(
        self,
        facts: IntentFacts,
        event: Event,
        summary: str,
        mirrors: tuple[Event, ...],
        first_wrong: int | None,
        missing_after: int | None = None,
    ) -> None:
        place = _seen_at(facts)
        found = [cited(e, f"in session {getattr(e.body, 'session_key', '')}") for e in mirrors]
        self.violate(
            at=event.seq,
            summary=summary,
            expected=[f"one entry, in the session of {self.run.name(place)}"],
            actual=found or ["no entry in any session"],
            evidence=[*(e.seq for e in facts.accepts), *(e.seq for e in mirrors)] or [event.seq],
            first_wrong=first_wrong,
            missing_after=missing_after,
        )


def _agent(key: str) -> str:
    return key.partition(":")[0]


def _is_shared(key: str) -> bool:
    """Whether a session key may be one of several places: a main session, or one of a person."""
    return ":*:" in key or key.endswith(":main")


def _in_doubt(facts: IntentFacts) -> bool:
    last = facts.settled[-1].body if facts.settled else None
    return isinstance(last, IntentSettled) and last.state is IntentState.UNKNOWN


def _grows(before: Event, body: MirrorAppended) -> bool:
    """Whether an entry replaces one that held only a part."""
    assert isinstance(before.body, MirrorAppended)
    return before.body.partial and before.body.session_id == body.session_id


def _seen_at(facts: IntentFacts) -> Address:
    """The place where people see an intent: where it was accepted, else its destination."""
    body = facts.accepts[-1].body if facts.accepts else None
    return body.address if isinstance(body, WireAccepted) else facts.body.address


def key_is_of(text: str, place: Address, run: RunFacts) -> bool:
    """Whether a session key can be that of a place. A key that the DM scope shares fits every direct conversation."""
    try:
        key = parse_v1(text)
    except KeyFormatError:
        return False
    if key.is_main:
        return run.scopes.may_be_main(place)
    if key.linked:
        return place.kind is ChatKind.DIRECT and run.scopes.person(place) == f"*{key.peer}"
    rules = rules_for(place.channel)
    return (
        key.kind is place.kind
        and key.channel in (None, place.channel)
        and key.account in (None, place.account)
        and key.peer == rules.fold(place.kind, place.conversation)
        and key.thread == rules.key_thread(place)
    )
