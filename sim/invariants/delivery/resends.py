"""Which text and which chunk may be sent again, and which is next: D3, D4."""

from trunkline.core.action_catalogue import Action
from trunkline.core.events import Event, delivery, gateway, leases
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Idempotency, IntentKind, IntentState
from trunkline.sim.events import script, wire
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.index.run_facts import IntentFacts, Lane
from trunkline.sim.invariants.base import Checker, EvidenceKind, cited

#: suppressed without any text to deliver
_UNSAID = (Reason.NO_REPLY, Reason.NO_ORIGIN)
#: faults that strike a request before the platform has it, and whose sender gets no clear answer
_ON_THE_WAY = ("send/drop", "send/reset-before", "send/html")
#: why an answer is cancelled that an equal send of its turn has made superfluous, or as doubtful as itself
_SAID_BEFORE = (Reason.ALREADY_SENT, Reason.PARKED)


class SentOnce(Checker, symptoms=("twice",)):
    """D3: Tool send versus final reply.

    A turn has one final reply, and the same text reaches one place once in it, unless its agent asked for two sends of
    it, or hooks made them equal; the reply is suppressed only if the turn has posted it in that place.
    """

    evidence = EvidenceKind.COPIES

    #: turn -> place and text -> the first intent that was accepted with them
    _said: dict[str, dict[tuple[Lane, str], Event]] = {}
    #: intent -> the words of its agent, which a hook of the cast replaced
    _originals: dict[str, str] = {}
    #: turn -> its final reply
    _replies: dict[str, Event] = {}
    #: turn or intent -> how often its agent asked for a send once more, or a hook made two equal
    _repeated: dict[str, int] = {}
    #: what was suppressed, with its words, and its place where that is known
    _suppressed_replies: list[tuple[Event, Lane | None, str]] = []
    #: turn -> place and text of the requests of its tool whose response was lost, or whose words a hook replaced
    _doubted: dict[str, set[tuple[Lane, str]]] = {}

    def on_accepted(self, event: Event, _body: wire.WireAccepted, facts: IntentFacts) -> None:
        turn = facts.prepared.turn
        if turn is None or len(facts.accepts) > 1:
            return
        if facts.body.intent_kind is IntentKind.NOTICE:
            # Notices of one turn's messages have the same words.
            return
        if facts.body.intent_kind is not IntentKind.TOOL and turn not in self._said:
            return
        self.exercised += 1
        if event.intent in self._originals:
            # The answer would be changed in the same way, so people have read it.
            self._doubted.setdefault(turn, set()).add((facts.lane, self._originals[event.intent]))
        said = self._said.setdefault(turn, {})
        first = said.setdefault((facts.lane, self.run.said_words(facts.body.text)), event)
        if first.intent == event.intent or self._by_the_cast(event.intent):
            return
        before = self.run.intents[first.intent or ""]
        if before.body.intent_kind is facts.body.intent_kind is IntentKind.TOOL and self._by_the_cast(turn):
            return
        if any(self.run.hooks.may_go(sent.intent, facts.body.address) for sent in (first, event)):
            # A hook brought messages for two places to one.
            return
        # What was queued before the first copy was out is wrong only when it is sent all the same.
        wrong = facts.prepared if facts.prepared.seq > first.seq else facts.started or event
        summary = f"{turn} posted “{facts.body.text}” twice at {self.run.name(facts.body.address)}"
        expected = "the text once in one place, by the tool or as the final reply"
        shown = [cited(e, f"{e.intent}") for e in (first, event)]
        self.accuse(event, summary, expected, first, shown=shown, first_wrong=wrong.seq)

    def on_rewrote(self, event: Event, body: script.HookRewrote) -> None:
        self._originals[event.intent or ""] = self.run.said_words(body.original)

    def on_lost(self, _event: Event, _body: wire.WireResponseLost, facts: IntentFacts) -> None:
        self._doubt(facts)

    def on_struck(self, _event: Event, body: script.FaultFired) -> None:
        """A request that is lost on its way: who sent it does not know that."""
        for facts in self.run.intents.values() if body.fault in _ON_THE_WAY else ():
            if facts.started is not None and not facts.over and body.detail in facts.body.text:
                self._doubt(facts)

    def on_gone(self, event: Event, _body: ProcessCrashed | ProcessStopped | leases.LeaseTaken) -> None:
        for facts in self.run.intents.values():
            if not facts.over:
                # The next process cannot know whether it was sent.
                self._doubt(facts)

    def _doubt(self, facts: IntentFacts) -> None:
        """Note a request in doubt: people may have read the message or not."""
        if facts.body.intent_kind is IntentKind.TOOL and facts.prepared.turn is not None:
            words = self.run.said_words(facts.body.text)
            self._doubted.setdefault(facts.prepared.turn, set()).add((facts.lane, words))

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        """A turn has one final reply, whatever it says."""
        if body.intent_kind is not IntentKind.REPLY or event.turn is None:
            return
        first = self._replies.setdefault(event.turn, event)
        if first.intent == event.intent:
            return
        summary = f"{event.turn} has two final replies, {first.intent} and {event.intent}"
        shown = [cited(e, f"{e.intent}") for e in (first, event)]
        self.accuse(event, summary, "one final reply for one turn", first, shown=shown)

    def on_said_twice(self, event: Event, _body: script.SaidTwice) -> None:
        name = event.turn or event.intent or ""
        self._repeated[name] = self._repeated.get(name, 0) + 1

    def _by_the_cast(self, name: str | None) -> bool:
        """Whether a repeat is not the gateway's: each one that the cast made explains one."""
        left = self._repeated.get(name or "", 0)
        if left:
            self._repeated[name or ""] = left - 1
        return left > 0

    def on_suppressed(self, event: Event, body: delivery.IntentSuppressed) -> None:
        if body.reason in _UNSAID or not body.text.strip():
            return
        if event.intent in self.run.intents or event.intent in self.run.cancelled:
            return  # the same intent again, of a repeated turn
        routed, lane = self.run.routed.get(event.inbound or ""), None
        if routed is not None:
            assert isinstance(routed.body, gateway.RouteDecided)
            if routed.body.reply_to is None:
                return
            lane = routed.body.reply_to.lane
        elif body.reason is not Reason.ALREADY_SENT:
            # Heartbeats and the schedule have reasons of their own.
            return
        self.exercised += 1
        self._suppressed_replies.append((event, lane, self.run.said_words(body.text)))

    def on_settled(self, event: Event, body: delivery.IntentSettled, facts: IntentFacts) -> None:
        """An answer that was queued behind an equal send of its turn, and is cancelled for it, is suppressed too."""
        if body.state is IntentState.CANCELLED and body.reason in _SAID_BEFORE:
            self._suppressed_replies.append((event, facts.lane, self.run.said_words(facts.body.text)))

    def finish(self, last: Event) -> None:
        """A suppressed reply must have been posted in its place in the same turn."""
        for event, lane, words in self._suppressed_replies:
            turn = event.turn or ""
            posted = [*self._said.get(turn, ()), *self._doubted.get(turn, ())]
            if any(said == words and place == (lane or place) for place, said in posted):
                continue
            elsewhere = self._said.get(event.turn or "", {}).values()
            self.violate(
                at=last.seq,
                summary=f"the final reply of {event.turn} was suppressed, and its place never got the text",
                expected=["an accept of the text in the same place, in the same turn"],
                actual=[cited(event, f"suppressed: {getattr(event.body, 'reason', '')}")],
                evidence=[*(e.seq for e in elsewhere), event.seq],
                first_wrong=event.seq,
            )


#: the gateway does not know whether the platform accepted the chunk
IN_DOUBT = (Reason.RESPONSE_LOST, Reason.NO_RECEIPT, Reason.LOOKUP_FAILED)


class NoBlindReplay(Checker, symptoms=("twice",)):
    """D4: Ambiguity is never replayed blindly.

    An attempt takes the first chunk without a receipt. One that may have been accepted is sent again only if the
    platform deduplicates it or denies having it, or by policy, with a mark, or as a notice of the gateway itself; never
    by another transport. A change is requested again only if that has no further effect.
    """

    from_anywhere = True

    #: intents whose next chunk may have been accepted -> the event of the doubt
    _doubts: dict[str, Event] = {}
    #: keys that a look-up did not find -> the look-up
    _unknown: dict[str, Event] = {}
    #: attempts whose response was lost on the wire
    _lost: dict[tuple[str, int, int], Event] = {}
    #: chunks that policy sent again -> the attempt
    _marked: dict[tuple[str, int], Event] = {}

    def on_ended(self, event: Event, body: delivery.AttemptEnded) -> None:
        intent = event.intent or ""
        if self._lost:
            self._lost.pop((intent, body.chunk, body.attempt), None)
        if body.reason in IN_DOUBT:
            self.exercised += 1
            self._doubts.setdefault(intent, event)
        elif intent in self._doubts and (body.decision == "settle" or self._disproved(intent, body)):
            del self._doubts[intent]
        if self._marked and body.reason not in IN_DOUBT:
            self._not_used_up(event, body)

    def _not_used_up(self, event: Event, body: delivery.AttemptEnded) -> None:
        """A marked resend that surely was not accepted leaves the one that policy allows."""
        chunk = event.intent or "", body.chunk
        facts, sent = self.run.intents.get(chunk[0]), self._marked.get(chunk)
        if facts is None or sent is None or any(accept.seq > sent.seq for accept in facts.accepts):
            return
        if isinstance(sent.body, delivery.AttemptStarted) and sent.body.attempt == body.attempt:
            del self._marked[chunk]

    def _disproved(self, intent: str, body: delivery.AttemptEnded) -> bool:
        """Whether a look-up proved that the platform does not have the chunk."""
        asked = self._unknown.get(f"{intent}/{body.chunk}")
        return body.reason is Reason.NOT_FOUND_BY_LOOKUP and asked is not None and asked.seq > self._doubts[intent].seq

    def on_process_gone(self, event: Event, _body: ProcessCrashed | ProcessStopped | leases.LeaseTaken) -> None:
        """Requests that a process had on the wire when it died or was replaced may have been accepted."""
        replaced = isinstance(event.body, leases.LeaseTaken)
        for intent, facts in self.run.intents.items():
            started = facts.started
            if started is None or not facts.may_be_out or (started.generation == event.generation) is replaced:
                continue
            self.exercised += 1
            self._doubts.setdefault(intent, event)
            if isinstance(started.body, delivery.AttemptStarted):
                self._lost.pop((intent, started.body.chunk, started.body.attempt), None)

    def on_operator_acted(self, event: Event, _body: delivery.OperatorActed) -> None:
        """An operator has checked; a later doubt is a new one."""
        self._doubts.pop(event.intent or "", None)
        self._marked = {chunk: sent for chunk, sent in self._marked.items() if chunk[0] != event.intent}

    def on_looked_up(self, event: Event, body: wire.WireLookedUp) -> None:
        if not body.found:
            self._unknown[body.key] = event

    def on_started(self, event: Event, body: delivery.AttemptStarted, facts: IntentFacts) -> None:
        if facts.body.chunks > 1:
            self.exercised += 1
            if body.chunk != facts.acked:
                self._out_of_turn(event, body, facts)
        intent = event.intent or ""
        since = self._doubts.get(intent)
        if since is None:
            return
        if facts.body.action is not None:
            self._changed_again(event, since, facts.body.action)
            return
        if facts.body.intent_kind is IntentKind.NOTICE or self._deduplicates(body.address) is not False:
            return
        limits = self.run.limits
        by_policy = limits is not None and limits.mark is not None
        if by_policy and self._marked.setdefault((intent, body.chunk), event) is event:
            return  # the wire shows whether it is marked
        self._blind(event, since, f"{intent} chunk {body.chunk + 1} was sent again although it may have been accepted")

    def _out_of_turn(self, event: Event, body: delivery.AttemptStarted, facts: IntentFacts) -> None:
        what = "again" if body.chunk < facts.acked else "before its turn"
        summary = f"{event.intent} chunk {body.chunk + 1} was sent {what}: {facts.acked} chunks have a receipt"
        expected = f"chunk {facts.acked + 1} next"
        self.accuse(event, summary, expected, *facts.accepts, shown=f"chunk {body.chunk + 1}, attempt {body.attempt}")

    def _changed_again(self, event: Event, since: Event, action: Action) -> None:
        """Keys are of messages: a change is made again only where that has no further effect."""
        if not action.spec.repeatable:
            self._blind(event, since, f"{event.intent}: {action} was requested again although it may have been done")

    def _deduplicates(self, place: Address) -> bool | None:
        """Whether the platform recognises a repeat by its key; none if unknown."""
        account = self.run.accounts.get((place.channel, place.account))
        if account is None or account.idempotency is None:
            return None
        return account.idempotency is Idempotency.KEY

    def on_fallback(self, event: Event, body: delivery.TransportFallback) -> None:
        """Another transport does not know the keys of the first one."""
        intent = event.intent or ""
        self.exercised += 1
        facts = self.run.intents.get(intent)
        since = self._doubts.get(intent)
        if since is None and facts is not None:
            since = next((e for e in facts.accepts if getattr(e.body, "chunk", -1) == body.chunk), None)
        if since is not None:
            path = body.used.value
            summary = f"{intent} chunk {body.chunk + 1} went to the {path} path although it may have been accepted"
            self._blind(event, since, summary)

    def on_response_lost(self, event: Event, body: wire.WireResponseLost) -> None:
        self.exercised += 1
        self._lost[event.intent or "", body.chunk, body.attempt] = event

    def on_requested_again(self, event: Event, body: wire.WireAccepted | wire.WireRefused) -> None:
        """Detect several requests within one attempt, made by retries below the gateway."""
        if self._marked:
            self._seen_marked(event)
        if not self._lost:
            return
        since = self._lost.get((event.intent or "", body.chunk, body.attempt))
        if since is not None and self._deduplicates(body.address) is False:
            again = "was requested again within one attempt after its response was lost"
            self._blind(event, since, f"{event.intent} chunk {body.chunk + 1} {again}")

    def _seen_marked(self, event: Event) -> None:
        body = event.body
        if not isinstance(body, wire.WireAccepted):
            return
        sent = self._marked.get((event.intent or "", body.chunk))
        if sent is None or sent.seq > event.seq or getattr(sent.body, "attempt", 0) != body.attempt:
            return
        if not self.run.is_marked(body.text):
            self._blind(event, sent, f"{event.intent} chunk {body.chunk + 1} was sent again without a mark")

    def _blind(self, event: Event, since: Event, summary: str) -> None:
        recovered = self.run.recovered.get(event.intent or "")
        decided = recovered is not None and recovered.seq > since.seq
        wrong = recovered if recovered is not None and decided else event
        expected = "proof that it was not accepted, or an operator's confirmation"
        self.accuse(event, summary, expected, since, first_wrong=wrong.seq)
