"""Deliveries and turns happen once: D1, D2, D7."""

from trunkline.core.events import Event, delivery, gateway, leases
from trunkline.core.store.queue_admin import QueueVerdict
from trunkline.core.values import IntentKind, WorkKind
from trunkline.sim.events import wire, world
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.index.run_facts import Lane
from trunkline.sim.invariants.base import Checker, EvidenceKind, cited
from trunkline.sim.invariants.delivery.resends import IN_DOUBT

#: seconds between the messages of what somebody did at once
_AT_ONCE = 1.0


class OncePerIntent(Checker, symptoms=("twice",)):
    """D1: Once per intent.

    Each chunk of an intent is accepted at most once in the whole run, under an idempotency key of its own; a notice
    once more if its answer was lost.

    A notice of the gateway itself is accepted again only if the attempt before it may have been lost.
    """

    evidence = EvidenceKind.COPIES

    #: channel, account and key -> the first send under it
    _keys: dict[tuple[str, str, str], Event] = {}
    #: intent -> the operator who said that the platform does not have its chunk
    _denied: dict[str, Event] = {}
    #: intent -> the last time that the answer to an attempt was lost; and the last end of a process
    _unanswered: dict[str, int] = {}
    _process_gone = -1

    def on_operator_acted(self, event: Event, body: delivery.OperatorActed) -> None:
        if body.verb == QueueVerdict.UNSENT:
            self._denied[event.intent or ""] = event

    def on_ended(self, event: Event, body: delivery.AttemptEnded) -> None:
        if body.reason in IN_DOUBT:
            self._unanswered[event.intent or ""] = event.seq

    def on_response_lost(self, event: Event, _body: wire.WireResponseLost) -> None:
        self._unanswered[event.intent or ""] = event.seq

    def on_gone(self, event: Event, _body: ProcessCrashed | ProcessStopped | leases.LeaseTaken) -> None:
        self._process_gone = event.seq

    def on_accepted(self, event: Event, body: wire.WireAccepted) -> None:
        facts = self.run.intents.get(event.intent or "")
        self.exercised += 1
        place = body.address
        first = self._keys.setdefault((place.channel, place.account, body.key), event)
        if first is not event:
            self._same_key(first, event, body.chunk)
        if facts is not None and len(facts.accepts) > 1:
            copies = [e for e in facts.accepts if _chunk(e) == body.chunk]
            if not self._is_notice_again(facts, copies):
                self._report_copies(event, body, copies)

    def _is_notice_again(self, facts: IntentFacts, copies: list[Event]) -> bool:
        """Whether an attempt repeats a chunk of a notice once, whose response was lost, so there is no receipt."""
        if facts.body.intent_kind is not IntentKind.NOTICE or len(copies) != 2:
            return False
        tried = [copy.cause or copy.seq for copy in copies]
        # A request that is slow arrives after the attempt that repeats it, and perhaps after its receipt.
        if tried[0] < tried[1] and _chunk(copies[1]) < facts.acked:
            return False
        lost = max(self._unanswered.get(facts.prepared.intent or "", -1), self._process_gone)
        return lost > min(tried)

    def on_deduplicated(self, event: Event, body: wire.WireDeduplicated) -> None:
        self.exercised += 1
        first = self._keys.get((body.address.channel, body.address.account, body.key))
        if first is not None:
            self._same_key(first, event, body.chunk)

    def _same_key(self, first: Event, event: Event, chunk: int) -> None:
        """Report a key that two chunks share: the platform would drop the second as a repeat."""
        if first.intent == event.intent and _chunk(first) == chunk:
            return
        this, other = f"{event.intent} chunk {chunk + 1}", f"{first.intent} chunk {_chunk(first) + 1}"
        shown = [cited(e, f"{e.intent} under {getattr(e.body, 'key', '')}") for e in (first, event)]
        summary = f"{this} was sent under the key of {other}"
        self.accuse(event, summary, "a key of its own for each chunk of each intent", first, shown=shown)

    def _report_copies(self, event: Event, body: wire.WireAccepted, accepts: list[Event]) -> None:
        denied = self._denied.get(event.intent or "")
        if denied is not None:
            # The operator answers for a copy from before, the gateway for those after.
            accepts = [accept for accept in accepts if accept.seq > denied.seq]
        marked = sum(self.run.is_marked(e.body.text) for e in accepts if isinstance(e.body, wire.WireAccepted))
        if len(accepts) < 2 or (len(accepts) == 2 and marked == 1):
            return  # once more, by policy and visibly: D4 judges whether it may be
        shown = [cited(e, f"accepted at {self.run.name(body.address)}") for e in accepts]
        summary = f"“{body.text}” was accepted {len(accepts)} times"
        expected, decided = f"{event.intent} chunk {body.chunk + 1} accepted once", self._decided(event, accepts[-2])
        self.accuse(event, summary, expected, *accepts, shown=shown, first_wrong=decided.seq)

    def _decided(self, event: Event, before: Event) -> Event:
        """The step that sent a chunk again: a decision at a start since the accept before, else the send itself.

        A process that decided on the work of another one, which still does it, is wrong even if it sent first.
        """
        recovered = self.run.recovered.get(event.intent or "")
        facts = self.run.intents[event.intent or ""]
        claim = None if facts.started is None else self.run.processes.robbed(facts.started.generation)
        if claim is not None:
            return claim if recovered is None or recovered.generation != claim.generation else recovered
        return event if recovered is None or recovered.seq < before.seq else recovered


def _chunk(event: Event) -> int:
    return event.body.chunk if isinstance(event.body, wire.WireAccepted) else -1


#: what the agent asked for by its tool, and notices, which have no content
_NO_RESULT = (IntentKind.TOOL, IntentKind.NOTICE)


class OneAnnouncement(Checker, symptoms=("twice",)):
    """D2: One announcement per hand run.

    The completion of a hand leads to at most one visible delivery, over all channels, threads and DMs.
    """

    evidence = EvidenceKind.COPIES

    _delivered: dict[str, dict[str, Event]] = {}

    def on_accepted(self, event: Event, _body: wire.WireAccepted, facts: IntentFacts) -> None:
        # What could not be said any more is in writing what it was as speech.
        spoken = self.run.intents.get((event.intent or "").removesuffix(".second"))
        if facts.prepared.delegation is None or (spoken or facts).body.intent_kind in _NO_RESULT:
            return
        self.exercised += 1
        delivered = self._delivered.setdefault(facts.prepared.delegation, {})
        known = (event.intent or "") in delivered
        delivered.setdefault(event.intent or "", event)
        if known or len(delivered) < 2:
            return
        plan, steps = self.run.planned.get(facts.prepared.delegation, (facts.prepared, 1))
        times = "twice" if len(delivered) == 2 else f"{len(delivered)} times"
        summary, every = f"the result of {facts.prepared.delegation} was delivered {times}", delivered.values()
        wrong, shown = plan if steps > 1 else facts.prepared, [self._line(e) for e in every]
        self.accuse(event, summary, "one delivery for one completion", *every, shown=shown, first_wrong=wrong.seq)

    def _line(self, event: Event) -> str:
        body = event.body
        facts = self.run.intents[event.intent or ""]
        assert isinstance(body, wire.WireAccepted)
        return cited(event, f"“{body.text}” at {self.run.name(body.address)} ({facts.body.reason.value})")


class InboundOnce(Checker, symptoms=("twice",)):
    """D7: Inbound exactly once.

    Each logical inbound message, such as an album, starts at most one turn; a replay starts none, and nothing else is
    one.

    An album is one message, if the platform hands its files over at once and to one process.
    """

    evidence = EvidenceKind.TAKEN_TWICE

    _turns: dict[tuple[Lane, str], tuple[Event, ...]] = {}
    _admitted: dict[str, Event] = {}
    #: by act: the last push; and the acts whose messages did not come at once
    _pushes: dict[tuple[Lane, str], float] = {}
    _torn = set[tuple[Lane, str]]()

    def _logical(self, inbound: str | None) -> tuple[Lane, str] | None:
        """The message as the person meant it: an album is a single one."""
        lane, message = self.run.messages.get(inbound or "", (None, ""))
        return None if lane is None else (lane, self.run.act_of(lane, message) or message)

    def on_pushed(self, event: Event, body: world.PlatformPushed) -> None:
        lane = body.address.lane
        act = self.run.act_of(lane, body.original_id)
        if act is None:
            return
        if event.at - self._pushes.get((lane, act), event.at) > _AT_ONCE:
            self._torn.add((lane, act))
        self._pushes[lane, act] = event.at

    def on_admission(self, event: Event, _body: gateway.InboundAdmitted) -> None:
        self._admitted[event.inbound or ""] = event

    def on_dropped(self, event: Event, body: gateway.InboundDropped) -> None:
        """Equal ids in another account, conversation or thread are other messages."""
        this, first = self.run.received.get(event.inbound or ""), self.run.received.get(body.first or "")
        if this is None or first is None or body.first is None:
            return
        self.exercised += 1
        if self._logical(event.inbound) == self._logical(body.first):
            return
        here, there = (self.run.name(getattr(e.body, "address", None)) for e in (this, first))
        summary = f"{event.inbound} was dropped as a repeat of {body.first}, which is another message"
        expected = f"a turn for {event.inbound}, received at {here} by another account or in another place"
        self.accuse(event, summary, expected, first, this, shown=f"dropped; {body.first} was received at {there}")

    def on_started(self, event: Event, body: gateway.TurnStarted) -> None:
        logical = self._logical(event.inbound)
        if body.work is not WorkKind.MESSAGE or logical is None:
            return
        self.exercised += 1
        turns = self._turns.get(logical, ())
        if not turns:
            self._turns[logical] = (event,)
        elif any(before.turn == event.turn for before in turns):
            self._run_again(event)
        elif not self._is_torn(logical, turns[0], event):
            self._turns[logical] = turns = (*turns, event)
            summary = f"message {logical[1]} at {self.run.name(body.origin)} started {len(turns)} turns"
            expected = "one turn for one message; the replay is dropped with a reason"
            shown = [cited(e, f"turn {e.turn}") for e in turns]
            # To receive a replay is right, to admit it is not.
            wrong = self._admitted.get(event.inbound or "", event)
            self.accuse(event, summary, expected, *turns, shown=shown, first_wrong=wrong.seq)

    def _is_torn(self, logical: tuple[Lane, str], first: Event, event: Event) -> bool:
        """Whether the messages of an act did not come at once, or not to one process."""
        return logical in self._torn or (logical in self._pushes and first.generation != event.generation)

    def _run_again(self, event: Event) -> None:
        """A later process runs an interrupted turn again, but not one whose answer people have seen."""
        seen = [
            accept
            for facts in self.run.intents.values()
            if facts.prepared.turn == event.turn and facts.prepared.generation <= event.generation
            if facts.body.intent_kind is IntentKind.REPLY
            for accept in facts.accepts
            if accept.seq < event.seq
        ]
        if seen:
            summary = f"{event.turn} ran again although its answer had been accepted"
            self.accuse(event, summary, "no second turn for an answered message", *seen, shown=f"{event.turn} again")
