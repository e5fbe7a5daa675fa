"""Where messages are delivered and mirrored: R1, R2, M1."""

from trunkline.core.channels import rules_for
from trunkline.core.errors import KeyFormatError
from trunkline.core.events import Event, delivery, gateway, hands
from trunkline.core.keys import parse_v1
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, IntentKind, IntentState, WorkKind
from trunkline.sim.events.wire import NO_PLACE, WireAccepted, WireRefused
from trunkline.sim.index.binding_facts import BindingFacts
from trunkline.sim.index.run_facts import IntentFacts, Lane, RunFacts, is_one_place
from trunkline.sim.invariants.base import Checker, EvidenceKind, cited

#: how an intent ends that a platform put elsewhere
_MISPLACED = "an end as misplaced, not as delivered"


class ReplyReferences(Checker):
    """The part of R1 about reply references (``reply_reference`` of a channel)."""

    #: process -> channels whose answers quote their message
    _quoting: dict[int, frozenset[str]] = {}
    #: the same at the start of each turn: a reload may come while it runs
    _at_turn: dict[str, frozenset[str]] = {}
    #: intent -> the message that it must quote
    _quotes: dict[str, str] = {}

    def on_configured(self, event: Event, body: gateway.ProcessStarted | gateway.ConfigReloaded) -> None:
        self._quoting[event.generation] = frozenset(body.quoting)

    def on_turn_started(self, event: Event, body: gateway.TurnStarted) -> None:
        """Only turns of messages quote; the answer to a chat command does not."""
        quoting = self._quoting.get(event.generation)
        if quoting and body.work is WorkKind.MESSAGE:
            self._at_turn[event.turn or ""] = quoting

    def on_answer_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        """Only the answer of the turn quotes, and only in the message's own place."""
        channel = body.address.channel
        if channel not in self._at_turn.get(event.turn or "", ()) or channel not in self._quoting[event.generation]:
            return
        received = self.run.received.get(event.inbound or "")
        if body.intent_kind is not IntentKind.REPLY or body.targeted or received is None:
            return
        assert isinstance(received.body, gateway.InboundReceived)
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
        summary = f"the answer to {prepared.inbound} does not quote it"
        expected = f"a reply reference to {message}"
        self.accuse(event, summary, expected, prepared, shown=f"reply reference: {body.reply_to or 'none'}")


class ExactReturnAddress(ReplyReferences, symptoms=("wrong place",)):
    """R1: Exact return address.

    A reply has the channel, account, conversation, thread and reply reference of its causing inbound.
    """

    evidence = EvidenceKind.MISPLACED

    #: turn -> places that took nothing of it
    _no_place: dict[str, list[Address]] = {}

    def on_refused(self, event: Event, body: WireRefused, facts: IntentFacts) -> None:
        if body.reason in NO_PLACE:
            self._no_place.setdefault(facts.prepared.turn or "", []).append(body.address)

    def on_accepted(self, event: Event, body: WireAccepted, facts: IntentFacts) -> None:
        origin = None if facts.body.targeted else self.run.origin(facts.prepared.inbound)
        if origin is None:
            return
        self.exercised += 1
        place, message = origin
        quoted = self._quotes.get(event.intent or "", body.reply_to)
        plain = body.address == place and body.reply_to == quoted and body.reply_to in (None, message)
        if plain and facts.prepared.delegation is None:
            return
        if self.run.hooks.may_go(event.intent, body.address) or self.run.calls.goes_second(event.intent, body.address):
            return
        self.check_quote(event, body)
        opened = self.run.opened_on(place, message)
        bound = self.run.bindings.of_delegation.get(facts.prepared.delegation or "")
        # A callback turn answers where its result is bound, and so does what it delegates itself.
        right = {place.lane, (opened or place).lane} | self.run.bound_above(facts.prepared.delegation)
        if bound is not None:
            self._of_bound_work(event, facts, bound, right)
            return
        quotable = (None, message, *self.meant(facts.prepared))
        if body.requested.lane in right and body.address.lane not in right:
            return  # requested correctly, misplaced by the platform: R2 and L3 judge the record of it
        if body.address.lane in right and body.reply_to in quotable:
            return
        if self.run.answered.in_thread(facts.prepared.turn, place, body.address) or self._notice_in_room(facts, body):
            return
        summary = f"the answer to {facts.prepared.inbound} went to {self.run.name(body.address)}"
        expected = f"at {self.run.name(opened or place)}, the place of {facts.prepared.inbound}"
        seen = f"“{body.text}” at {self.run.name(body.address)}"
        self.accuse(
            event, summary, expected, facts.prepared, shown=seen, first_wrong=self._first_wrong(facts, right, event)
        )

    def _notice_in_room(self, notice: IntentFacts, body: WireAccepted) -> bool:
        """Whether an intent is a notice about an answer that the platform refused, since its thread was gone or closed.

        It may be read in the room of that thread.
        """
        above = rules_for(body.address.channel).room_above
        refused = self._no_place.get(notice.prepared.turn or "", ())
        is_notice = notice.body.intent_kind is IntentKind.NOTICE
        return is_notice and any(above(place).lane == body.address.lane for place in refused)

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
        where, wrong = self.run.name(body.address), self._leaving(facts, {right.lane}, event)
        summary = f"the completion of {facts.prepared.delegation} went to {where}"
        expected = f"at {self.run.name(right)}, which is bound to its session by {bound.id}"
        causes, shown = (bound.bound, facts.prepared), f"“{body.text}” at {where}"
        self.accuse(event, summary, expected, *causes, shown=shown, first_wrong=wrong)

    def _first_wrong(self, facts: IntentFacts, right: set[Lane], accepted: Event) -> int:
        """The first event on the way that had the wrong place: route, completion plan, intent, or the accept itself."""
        route = self.run.routed.get(facts.prepared.inbound or "")
        if route is not None and isinstance(route.body, gateway.RouteDecided) and _astray(route.body.reply_to, right):
            return route.seq
        return self._leaving(facts, right, accepted)

    def _leaving(self, facts: IntentFacts, right: set[Lane], accepted: Event) -> int:
        """The first of those events after the route, which says nothing of where bound work is announced."""
        plan, _ = self.run.planned.get(facts.prepared.delegation or "", (None, 0))
        steps = plan.body.steps if plan is not None and isinstance(plan.body, hands.CompletionPlanned) else ()
        if plan is not None and any(_astray(step.address, right) for step in steps):
            return plan.seq
        return facts.prepared.seq if facts.body.address.lane not in right else accepted.seq


def _astray(address: Address | None, right: set[Lane]) -> bool:
    return address is not None and address.lane not in right


class NoHiddenRedirect(Checker, symptoms=("wrong place",)):
    """R2: No hidden redirect.

    An accept at another place than the intent's, or by another identity, needs a fallback event before it, or the
    platform did it and the gateway says that it is misplaced.
    """

    evidence = EvidenceKind.MISPLACED

    #: fallbacks by configuration, recorded before the send
    _allowed: set[tuple[str, Lane]] = set()
    #: requested correctly and misplaced by the platform; the gateway must record it as misplaced
    _put_elsewhere: dict[str, Event] = {}

    def on_settled(self, event: Event, body: delivery.IntentSettled) -> None:
        accepted = self._put_elsewhere.pop(event.intent or "", None)
        if accepted is not None and body.state is IntentState.DELIVERED:
            self._report_place(accepted, _MISPLACED, wrong=event)

    def finish(self, last: Event) -> None:
        """Report misplaced deliveries that the gateway never recorded as such; it cannot if it got no answer."""
        for intent, accepted in self._put_elsewhere.items():
            if not _in_doubt(self.run.intents[intent]):
                self._report_place(accepted, _MISPLACED, missing=accepted)

    def on_fallback(self, event: Event, body: delivery.Fallback) -> None:
        self._allowed.add((event.intent or "", body.used.lane))

    def on_accepted(self, event: Event, body: WireAccepted, facts: IntentFacts) -> None:
        self.exercised += 1
        self._compare_identity(event)
        if body.address == facts.body.address:
            return
        wanted, found = facts.lane, body.address.lane
        if is_one_place(body.address, facts.body.address) or (event.intent or "", found) in self._allowed:
            return
        if body.requested.lane == wanted:
            self._put_elsewhere[event.intent or ""] = event
            return
        expected = f"at {self.run.name(facts.body.address)}, or a fallback event before it"
        self._report_place(event, expected, wrong=event)

    def on_identity_meant(self, event: Event, body: delivery.IntentPrepared) -> None:
        """The bot may post for a binding that lost its identity, after that was recorded once."""
        facts = self.run.bindings.by_id.get(event.binding or "")
        if facts is None or facts.body.identity is None or body.identity is not None or facts.degraded is not None:
            return
        summary = f"{event.intent} was prepared for the bot in a conversation of {facts.body.identity}"
        expected = f"{facts.body.identity}, or binding.degraded before"
        self.accuse(event, summary, expected, facts.bound, shown="intent.prepared without an identity")

    def _compare_identity(self, event: Event) -> None:
        """Compare the visible identity with the intended one."""
        body, facts = event.body, self.run.intents.get(event.intent or "")
        assert isinstance(body, WireAccepted)
        if facts is None or (facts.body.identity is None and body.identity is None):
            return
        self.exercised += 1
        since = self.run.bindings.by_bot.get(event.intent or "")
        recorded = since is not None and since <= body.chunk
        if body.identity == facts.body.identity or (body.identity is None and recorded):
            return
        summary = f"{event.intent} was posted by {body.identity or 'the bot'} without a recorded fallback"
        expected = f"{facts.body.identity or 'the bot'}, or a fallback.identity before"
        self.accuse(event, summary, expected, facts.prepared, shown=f"“{body.text}” by {body.identity or 'the bot'}")

    def _report_place(
        self, event: Event, expected: str, *, wrong: Event | None = None, missing: Event | None = None
    ) -> None:
        body, facts = event.body, self.run.intents[event.intent or ""]
        assert isinstance(body, WireAccepted)
        summary = f"{event.intent} was meant for {self.run.name(facts.body.address)}, and arrived elsewhere"
        shown, first = f"“{body.text}” at {self.run.name(body.address)}", None if wrong is None else wrong.seq
        self.accuse(event, summary, expected, facts.prepared, shown=shown, missing=missing, first_wrong=first)


class MirrorOnce(Checker, symptoms=("twice", "forgot")):
    """M1: Mirror once, in the right session.

    Each delivered intent has exactly one transcript entry, in the session of the wire conversation.
    """

    evidence = EvidenceKind.MIRRORS
    our_keys_part = "the session of an entry"

    #: expected entries: the store refused them at first, or an operator confirmed the delivery later
    _due: dict[str, Event] = {}
    #: sessions that a place has left, and by agent and place the session that it spoke in last
    _left: set[str] = set()
    _spoke: dict[tuple[str, Lane], str] = {}
    #: intents whose session was that of their place by the scopes of their preparation, which a reload may change
    _fitted: set[str] = set()

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        # Scopes and links decide only whether these keys fit.
        if (
            body.mirror_key is not None
            and _is_shared(body.mirror_key)
            and key_is_of(body.mirror_key, body.address, self.run)
        ):
            self._fitted.add(event.intent or "")

    def on_leaves(self, _event: Event, body: gateway.SessionLeft) -> None:
        self._left.add(body.old_session_id)

    def on_admitted(self, event: Event, body: gateway.InboundAdmitted) -> None:
        home = self.run.home(event.inbound)
        if home is not None and body.work is WorkKind.MESSAGE and not self._is_bound(event.inbound):
            self._spoke[_agent(body.session_key), home.lane] = body.session_id

    def on_refused(self, event: Event, _body: delivery.MirrorRefused) -> None:
        self.exercised += 1
        self._due[event.intent or ""] = event

    def finish(self, last: Event) -> None:
        """Report expected entries that were never written."""
        for intent in self._due:
            facts = self.run.intents.get(intent)
            # An uncertain delivery need not be mirrored.
            if facts is not None and facts.accepts and not facts.mirrors and not _in_doubt(facts):
                self._missing(facts, last, self._due[intent].seq)

    def on_mirrored(self, event: Event, body: delivery.MirrorAppended, facts: IntentFacts) -> None:
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

    def _report_misfiled(self, facts: IntentFacts, event: Event, body: delivery.MirrorAppended, summary: str) -> None:
        """Mirrored into the wrong session: as it was prepared, unless people see it elsewhere than prepared."""
        planned = facts.body.mirror_key == body.session_key and facts.lane == _seen_at(facts).lane
        self._report_mirror(facts, event, summary, (event,), facts.prepared.seq if planned else event.seq)

    def _at_home(self, facts: IntentFacts, body: delivery.MirrorAppended, place: Address) -> bool:
        """Whether this is an answer at the place of its message, mirrored into the session of that message."""
        inbound, session = facts.prepared.inbound, body.session_id
        home = self.run.home(inbound)
        if home is None or self.run.admitted.get(inbound or "") != session:
            return False
        if home != place and home.lane != place.lane:
            return False
        return self._is_bound(inbound) or not self._has_left(place, body)

    def _is_bound(self, inbound: str | None) -> bool:
        routed = self.run.routed.get(inbound or "")
        return routed is not None and routed.binding is not None

    def _has_left(self, place: Address, body: delivery.MirrorAppended) -> bool:
        """Whether a place goes on in another session: people who see a text there are no more in this one."""
        if body.session_id not in self._left:
            return False
        return self._spoke.get((_agent(body.session_key), place.lane), body.session_id) != body.session_id

    def on_settled(self, event: Event, body: delivery.IntentSettled, facts: IntentFacts) -> None:
        if body.state not in (IntentState.DELIVERED, IntentState.PARTIAL, IntentState.MISPLACED):
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
    return isinstance(last, delivery.IntentSettled) and last.state is IntentState.UNKNOWN


def _grows(before: Event, body: delivery.MirrorAppended) -> bool:
    """Whether an entry replaces one that held only a part."""
    assert isinstance(before.body, delivery.MirrorAppended)
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
