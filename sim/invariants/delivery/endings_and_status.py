"""Every intent and message ends, and the recorded status is true: L1, L3, L7."""

from trunkline.core.events import Event, delivery, gateway
from trunkline.core.events.actions import TranscriptChanged
from trunkline.core.events.adapters import DeliveryFailed
from trunkline.core.events.leases import LeaseTaken, PersonErased, StorePruned
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentState
from trunkline.sim.events import script, wire, world
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import is_one_place
from trunkline.sim.invariants.base import Checker

_Message = tuple[str, str, str, str]


class EverythingEnds(Checker, symptoms=("lost",)):
    """L1: Everything ends.

    Each intent and each accepted inbound reaches exactly one ending in bounded time.
    """

    _said: dict[_Message, Event] = {}
    #: messages that are not accounted for -> their last push or receipt
    _heard: dict[_Message, Event] = {}
    #: work whose turn has not ended -> its last event
    _works: dict[str, Event] = {}
    _intents: dict[str, Event] = {}
    #: ended by an operator, whose ending may be recorded once more
    _closed: set[str | None] = set()

    def on_peer_said(self, event: Event, body: world.PeerSaid) -> None:
        self.exercised += 1
        place = body.address
        self._said[place.channel, place.conversation, place.thread or "", body.message_id] = event

    def _settle_message(self, inbound: str | None) -> None:
        """The gateway has accounted for a message."""
        message = self.run.messages.get(inbound or "")
        if message is not None:
            (channel, _account, conversation, thread), message_id = message
            self._said.pop((channel, conversation, thread, message_id), None)
            # A proxy deletes a message and posts a copy; both must end.
            received = self.run.received[inbound or ""].body
            if isinstance(received, gateway.InboundReceived):
                self._said.pop((channel, conversation, thread, received.message_id), None)

    def on_admitted(self, event: Event, _body: gateway.InboundAdmitted) -> None:
        self.exercised += 1
        self._settle_message(event.inbound)
        self._works[event.inbound or ""] = event

    def on_dropped(self, event: Event, _body: gateway.InboundDropped) -> None:
        self._settle_message(event.inbound)

    def on_pushed(self, event: Event, body: world.PlatformPushed) -> None:
        place = body.address
        message = place.channel, place.conversation, place.thread or "", body.original_id
        if message in self._said:
            self._heard[message] = event

    def on_received(self, event: Event, body: gateway.InboundReceived) -> None:
        channel, _account, conversation, thread = body.address.lane
        for name in dict.fromkeys((self.run.messages[event.inbound or ""][1], body.message_id)):
            message = channel, conversation, thread, name
            if message in self._said:
                self._heard[message] = event

    def on_turn_started(self, event: Event, _body: gateway.TurnStarted) -> None:
        if event.inbound in self._works:
            self._works[event.inbound] = event

    def on_turn_ended(self, event: Event, _body: gateway.TurnEnded) -> None:
        self._works.pop(event.inbound or "", None)

    def on_begun(self, event: Event, _body: delivery.IntentPrepared) -> None:
        self.exercised += 1
        self._intents[event.intent or ""] = event

    def on_operator_acted(self, event: Event, _body: delivery.OperatorActed, facts: IntentFacts) -> None:
        """An intent that an operator changes has another ending to come, unless the operator ended it."""
        if facts.closed:
            self._intents.pop(event.intent or "", None)
            self._closed.add(event.intent)
        else:
            self._intents[event.intent or ""] = event

    def on_settled(self, event: Event, _body: delivery.IntentSettled) -> None:
        if self._intents.pop(event.intent or "", None) is not None:
            return
        if event.intent in self._closed:
            self._closed.discard(event.intent)
            return
        facts = self.run.intents.get(event.intent or "")
        if facts is None and self.run.cancelled.get(event.intent or "") is event:
            return  # a hook cancelled it before it was prepared
        settled = (event,) if facts is None else facts.settled
        shown = [f"#{e.seq} {getattr(e.body, 'state', '')}" for e in settled]
        self.accuse(event, f"{event.intent} ended {len(settled)} times", "one ending", *settled, shown=shown)

    def finish(self, last: Event) -> None:
        """Report everything that is still open."""
        for message, said in self._said.items():
            # The gateway cannot know of what was lost on its way to it, unless the platform handed it out later.
            if said.seq in self.run.lost and message not in self._heard:
                continue
            self._open(last, said, self._heard.get(message, said), f"message {said.inbound} was never accounted for")
        for begun in self._works.values():
            self._open(last, begun, begun, f"{begun.inbound} was admitted, and its turn never ended")
        for intent, prepared in self._intents.items():
            facts = self.run.intents.get(intent)
            known = prepared if facts is None else facts.last
            self._open(last, prepared, known, f"{intent} was prepared, and never ended")

    def _open(self, last: Event, begun: Event, known: Event, summary: str) -> None:
        """Report a message, turn or intent without an end. `known` is its last event."""
        expected = "an ending: answered, dropped with a reason, delivered, failed, or parked"
        self.miss(last, known, summary, expected, begun, shown=f"{known.kind}, and nothing after it")


#: answers to clients that promise no delivery
_ERRORS = ("refused", "failed")
_DELIVERED = IntentState.DELIVERED
_NOTHING_SEEN = (IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED, IntentState.CANCELLED)


class StatusIsTruth(Checker, symptoms=("lost",)):
    """L3: Status equals wire truth.

    Delivered means that every chunk was accepted at its destination; failed means that none was. A receipt names the
    message that the platform created, and clients are promised no more than that.
    """

    #: intents that the configuration sends elsewhere
    _fallbacks: set[str | None] = set()
    #: seqs of the dry runs that clients requested
    _dry_runs: set[int | None] = set()

    def on_fallback(self, event: Event, _body: delivery.Fallback) -> None:
        self._fallbacks.add(event.intent)

    def on_acked(self, event: Event, body: delivery.ChunkAcked, facts: IntentFacts) -> None:
        """A receipt must name a message that the platform created for this chunk."""
        if body.reason is Reason.OPERATOR_SENT or not self.run.witnessed:
            return
        if facts.acts and any(_names_what_was_changed(act, body) for act in facts.acts):
            return
        for accept in reversed(facts.accepts):
            made = accept.body
            if not isinstance(made, wire.WireAccepted) or made.chunk != body.chunk:
                continue
            if self._is_named(body.provider_id, made):
                return
        what = f"{event.intent} chunk {body.chunk + 1}"
        summary = f"the receipt of {what} names a message that the platform never created"
        expected = "a receipt that names the accepted message"
        self.accuse(event, summary, expected, *facts.accepts, shown=f"“{body.provider_id}” ({body.reason.value})")

    def _is_named(self, provider_id: str | None, made: wire.WireAccepted) -> bool:
        """Whether an id is that of a message. Some platforms return none, which is no fault of the gateway."""
        if provider_id == made.provider_id:
            return True
        account = self.run.accounts.get((made.address.channel, made.address.account))
        return not provider_id and account is not None and account.nameless

    def on_client_requested(self, event: Event, body: script.ClientRequested) -> None:
        if body.dry_run:
            self._dry_runs.add(event.seq)

    def on_client_answered(self, event: Event, body: script.ClientAnswered) -> None:
        """A dry run is not a delivery, and a reported success has its message on the platform."""
        if not self.run.witnessed:
            return
        self.exercised += 1
        dry_run = event.cause in self._dry_runs
        tries = [self.run.intents[intent] for intent in self.run.sends.get(body.key, ())]
        made = [e.body for facts in tries for e in facts.accepts if isinstance(e.body, wire.WireAccepted)]
        if dry_run:
            right = body.provider_id is None and body.status in ("dry-run", *_ERRORS)
        elif body.status == "delivered":
            right = any(self._is_named(body.provider_id, accept) for accept in made)
        else:
            right = body.provider_id is None and body.status != "dry-run"
        if not right:
            asked = "a dry run" if dry_run else "a send"
            summary = f"{asked} was reported as {body.status}; accepted under its key: {len(made)} chunks"
            expected = "delivered only with the id of a message that the platform created; a dry run as a dry run"
            shown = f"{body.key}: {body.status}, message {body.provider_id}"
            self.accuse(event, summary, expected, *(e for facts in tries for e in facts.accepts), shown=shown)

    def on_settled(self, event: Event, _body: delivery.IntentSettled) -> None:
        if not self.run.witnessed:
            return
        self.exercised += 1
        facts = self.run.intents.get(event.intent or "")
        if facts is not None and not _plainly_delivered(event, facts):
            self._compare(facts, event, event)

    def on_accepted(self, event: Event, _body: wire.WireAccepted, facts: IntentFacts) -> None:
        if facts.over:
            self._compare(facts, facts.settled[-1], event)

    def on_acted(self, event: Event, _body: WireActed, facts: IntentFacts) -> None:
        if facts.over:
            self._compare(facts, facts.settled[-1], event)

    def _compare(self, facts: IntentFacts, settled: Event, at: Event) -> None:
        body = settled.body
        assert isinstance(body, delivery.IntentSettled)
        if facts.vouched:
            return  # an operator vouched for it, not the gateway
        wanted, seen = facts.body.chunks, len(facts.accepted_chunks)
        made = (*facts.accepts, *facts.acts)
        # A change may take effect in the place that it creates.
        counted = made if body.state is IntentState.MISPLACED else facts.accepts
        astray = [e for e in counted if (place := _place(e)) and not is_one_place(place, facts.body.address)]
        wrong = (
            (body.state is IntentState.DELIVERED and seen != wanted)
            or (body.state is IntentState.DELIVERED and any(e.intent not in self._fallbacks for e in astray))
            or (body.state is IntentState.MISPLACED and not astray)
            or (body.state in _NOTHING_SEEN and seen > 0)
            or (body.state is IntentState.PARTIAL and not 0 < seen < wanted)
        )
        if wrong:
            where = f", {len(astray)} of them at {self.run.name(_place(astray[0]))}" if astray else ""
            accepted = f"{seen} of {wanted} chunks{where}"
            summary = f"{settled.intent} is recorded as {body.state.value}; accepted: {accepted}"
            expected = f"{body.state.value}: {_promise(body.state, wanted)}"
            shown = [f"#{settled.seq} {body.state.value} ({body.reason.value})", f"{seen} accepted on the platform"]
            self.accuse(at, summary, expected, *made, settled, shown=shown, first_wrong=settled.seq)


def _plainly_delivered(settled: Event, facts: IntentFacts) -> bool:
    """The common case, checked fast: one chunk, accepted and delivered at its destination."""
    if facts.body.chunks != 1 or len(facts.accepts) != 1:
        return False
    body, accept = settled.body, facts.accepts[0].body
    delivered = isinstance(body, delivery.IntentSettled) and body.state is IntentState.DELIVERED
    return delivered and isinstance(accept, wire.WireAccepted) and accept.address == facts.body.address


def _names_what_was_changed(act: Event, receipt: delivery.ChunkAcked) -> bool:
    """Whether a receipt is that of a request that was carried out: it names the message, or what was created."""
    made = act.body
    return isinstance(made, WireActed) and (made.chunk, made.provider_id) == (receipt.chunk, receipt.provider_id)


def _place(event: Event) -> Address | None:
    return event.body.address if isinstance(event.body, wire.WireAccepted | WireActed) else None


def _promise(state: IntentState, chunks: int) -> str:
    if state is IntentState.DELIVERED:
        return f"all {chunks} chunks accepted at the destination"
    if state is IntentState.MISPLACED:
        return "accepted at another place than requested"
    return "no chunk accepted" if state in _NOTHING_SEEN else "some chunks accepted, not all"


class LostIsNotDelivered(Checker, symptoms=("lost",)):
    """L7: What is lost is not delivered.

    A message that its platform takes back, with a notification, is failed in the queue, or partial where more of it is
    still there, and its transcript line says so.
    """

    #: intent and id of a message -> the platform's word, until the gateway has acted on it
    _owed: dict[tuple[str | None, str], Event] = {}
    #: intent -> the event of its loss, until its line says so
    _unmarked: dict[str | None, Event] = {}
    #: the last event that may have removed what had ended
    _removed = 0

    def on_lost(self, event: Event, body: wire.WireLost, facts: IntentFacts) -> None:
        if body.notified and (not facts.settled or facts.settled[-1].seq > self._removed):
            self.exercised += 1
            self._owed[event.intent, body.provider_id] = event

    def on_failed(self, event: Event, body: DeliveryFailed, facts: IntentFacts) -> None:
        if body.state in (None, _DELIVERED):
            # The gateway records the loss, and has changed nothing.
            return
        word = self._owed.pop((event.intent, body.message_id), None)
        if word is not None and facts.mirrors:
            self._unmarked[event.intent] = event

    def on_line_changed(self, _event: Event, body: TranscriptChanged) -> None:
        self._unmarked.pop(body.line, None)

    @on(ProcessCrashed, ProcessStopped, LeaseTaken, StorePruned, PersonErased, delivery.OperatorActed)
    def _excuse(self, event: Event, body: object) -> None:
        """Only the process that was notified knows it; and what was removed has no state and no line."""
        self._owed.clear()
        self._unmarked.clear()
        if not isinstance(body, ProcessCrashed | ProcessStopped | LeaseTaken):
            self._removed = event.seq

    def finish(self, last: Event) -> None:
        # What the gateway itself is to delete may be gone by that.
        changed = {facts.body.of for facts in self.run.intents.values()}
        for (intent, _), word in self._owed.items():
            facts = self.run.intents.get(intent or "")
            end = facts.settled[-1].body if facts is not None and facts.over and facts.settled else None
            if intent not in changed and isinstance(end, delivery.IntentSettled) and end.state is _DELIVERED:
                summary = f"{intent} was taken back by its platform, and is delivered"
                self.miss(last, word, summary, "it is failed, or partial", shown=f"{word.kind}, and nothing after it")
        for intent, lost in self._unmarked.items():
            summary = f"{intent} was taken back by its platform, and its line does not say so"
            self.miss(last, lost, summary, "its line is marked", shown=f"{lost.kind}, and no transcript.changed")
