"""Which text and which chunk may be sent again, and which is next: D3, D4, D6."""

from __future__ import annotations

from trunkline.core.action_names import Action
from trunkline.core.actions.catalogue import SPECS
from trunkline.core.events import Event
from trunkline.core.events.delivery import (
    AttemptEnded,
    AttemptStarted,
    IntentPrepared,
    IntentSuppressed,
    OperatorActed,
    TransportFallback,
)
from trunkline.core.events.gateway import RouteDecided
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Idempotency, IntentKind
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.script import SaidTwice
from trunkline.sim.events.wire import WireAccepted, WireLookedUp, WireRefused, WireResponseLost
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import Lane, RunFacts
from trunkline.sim.invariants.base import Checker, EvidenceKind, cited

#: suppressed without any text to deliver
_UNSAID = (Reason.NO_REPLY, Reason.NO_ORIGIN)


class SentOnce(Checker):
    """D3: a turn posts a text once in one place, and a tool send elsewhere does not suppress the reply."""

    id = "D3"
    title = "Tool send versus final reply"
    evidence = EvidenceKind.COPIES
    sentence = (
        "A turn has one final reply, and the same text reaches one place once in it; the reply is suppressed only if "
        "the turn has already posted it in that place."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: turn -> place and text -> the first intent that was accepted with them
        self._said: dict[str, dict[tuple[Lane, str], Event]] = {}
        #: turn -> its final reply
        self._replies: dict[str, Event] = {}
        #: turn or intent -> how often its agent, or a hook, repeated a text: not the gateway's doing
        self._repeated: dict[str, int] = {}
        self._suppressed_replies: list[tuple[Event, Lane, str]] = []

    @on(WireAccepted)
    def _accepted(self, event: Event, _body: WireAccepted) -> None:
        facts = self.run.intents.get(event.intent or "")
        turn = None if facts is None else facts.prepared.turn
        if facts is None or turn is None or len(facts.accepts) > 1:
            return
        if facts.body.intent_kind is IntentKind.NOTICE:
            # Notices of one turn's messages have the same words.
            return
        if facts.body.intent_kind is not IntentKind.TOOL and turn not in self._said:
            return
        self.exercised += 1
        said = self._said.setdefault(turn, {})
        first = said.setdefault((facts.lane, _words(facts.body.text)), event)
        if first.intent == event.intent or self._by_the_cast(turn) or self._by_the_cast(event.intent):
            return
        if any(self.run.hooks.may_go(sent.intent, facts.body.address) for sent in (first, event)):
            # A hook brought messages for two places to one.
            return
        self.violate(
            at=event.seq,
            summary=f"{turn} posted “{facts.body.text}” twice at {self.run.name(facts.body.address)}",
            expected=["the text once in one place, by the tool or as the final reply"],
            actual=[cited(e, f"{e.intent}") for e in (first, event)],
            evidence=[first.seq, event.seq],
            first_wrong=facts.prepared.seq,
        )

    @on(IntentPrepared)
    def _prepared(self, event: Event, body: IntentPrepared) -> None:
        """A turn has one final reply, whatever it says."""
        if body.intent_kind is not IntentKind.REPLY or event.turn is None:
            return
        first = self._replies.setdefault(event.turn, event)
        if first.intent == event.intent:
            return
        self.violate(
            at=event.seq,
            summary=f"{event.turn} has two final replies, {first.intent} and {event.intent}",
            expected=["one final reply for one turn"],
            actual=[cited(e, f"{e.intent}") for e in (first, event)],
            evidence=[first.seq, event.seq],
        )

    @on(SaidTwice)
    def _said_twice(self, event: Event, _body: SaidTwice) -> None:
        name = event.turn or event.intent or ""
        self._repeated[name] = self._repeated.get(name, 0) + 1

    def _by_the_cast(self, name: str | None) -> bool:
        """Whether a repeat is not the gateway's: each one that the cast made explains one."""
        left = self._repeated.get(name or "", 0)
        if left:
            self._repeated[name or ""] = left - 1
        return left > 0

    @on(IntentSuppressed)
    def _suppressed(self, event: Event, body: IntentSuppressed) -> None:
        routed = self.run.routed.get(event.inbound or "")
        if body.reason in _UNSAID or routed is None or not body.text.strip():
            return
        if event.intent in self.run.intents or event.intent in self.run.cancelled:
            return  # the same intent again, of a repeated turn
        assert isinstance(routed.body, RouteDecided)
        if routed.body.reply_to is not None:
            self.exercised += 1
            self._suppressed_replies.append((event, routed.body.reply_to.lane, _words(body.text)))

    def finish(self, last: Event) -> None:
        """A suppressed reply must have been posted in its place in the same turn."""
        for event, lane, words in self._suppressed_replies:
            if (lane, words) in self._said.get(event.turn or "", {}):
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


def _words(text: str) -> str:
    return " ".join(text.split())


#: the gateway does not know whether the platform accepted the chunk
IN_DOUBT = (Reason.RESPONSE_LOST, Reason.NO_RECEIPT, Reason.LOOKUP_FAILED)


class NoBlindReplay(Checker):
    """D4: a chunk that may have been accepted is sent again only if the platform deduplicates or denies it."""

    id = "D4"
    from_anywhere = True
    title = "Ambiguity is never replayed blindly"
    sentence = (
        "A chunk that may have been accepted is sent again only if the platform deduplicates it or denies having it, "
        "or by policy, with a mark, or as a notice of the gateway itself; never by another transport. A change is "
        "requested again only if that has no further effect."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: intents whose next chunk may have been accepted -> the event of the doubt
        self._doubts: dict[str, Event] = {}
        #: keys that a look-up did not find -> the look-up
        self._unknown: dict[str, Event] = {}
        #: attempts whose response was lost on the wire
        self._lost: dict[tuple[str, int, int], Event] = {}
        #: chunks that policy sent again -> the attempt
        self._marked: dict[tuple[str, int], Event] = {}

    @on(AttemptEnded)
    def _ended(self, event: Event, body: AttemptEnded) -> None:
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

    def _not_used_up(self, event: Event, body: AttemptEnded) -> None:
        """A marked resend that surely was not accepted leaves the one that policy allows."""
        chunk = event.intent or "", body.chunk
        facts, sent = self.run.intents.get(chunk[0]), self._marked.get(chunk)
        if facts is None or sent is None or any(accept.seq > sent.seq for accept in facts.accepts):
            return
        if isinstance(sent.body, AttemptStarted) and sent.body.attempt == body.attempt:
            del self._marked[chunk]

    def _disproved(self, intent: str, body: AttemptEnded) -> bool:
        """Whether a look-up proved that the platform does not have the chunk."""
        asked = self._unknown.get(f"{intent}/{body.chunk}")
        return body.reason is Reason.NOT_FOUND_BY_LOOKUP and asked is not None and asked.seq > self._doubts[intent].seq

    @on(ProcessCrashed, ProcessStopped, LeaseTaken)
    def _process_gone(self, event: Event, _body: ProcessCrashed | ProcessStopped | LeaseTaken) -> None:
        """Requests that a process had on the wire when it died or was replaced may have been accepted."""
        replaced = isinstance(event.body, LeaseTaken)
        for intent, facts in self.run.intents.items():
            started = facts.started
            if started is None or not facts.may_be_out or (started.generation == event.generation) is replaced:
                continue
            self.exercised += 1
            self._doubts.setdefault(intent, event)
            if isinstance(started.body, AttemptStarted):
                self._lost.pop((intent, started.body.chunk, started.body.attempt), None)

    @on(OperatorActed)
    def _operator_acted(self, event: Event, _body: OperatorActed) -> None:
        """An operator has checked; a later doubt is a new one."""
        self._doubts.pop(event.intent or "", None)
        self._marked = {chunk: sent for chunk, sent in self._marked.items() if chunk[0] != event.intent}

    @on(WireLookedUp)
    def _looked_up(self, event: Event, body: WireLookedUp) -> None:
        if not body.found:
            self._unknown[body.key] = event

    @on(AttemptStarted)
    def _started(self, event: Event, body: AttemptStarted) -> None:
        if not self._doubts:
            return
        intent = event.intent or ""
        since, facts = self._doubts.get(intent), self.run.intents.get(intent)
        if since is None or facts is None:
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

    def _changed_again(self, event: Event, since: Event, action: Action) -> None:
        """Keys are of messages: a change is made again only where that has no further effect."""
        if not SPECS[action].repeatable:
            self._blind(event, since, f"{event.intent}: {action} was requested again although it may have been done")

    def _deduplicates(self, place: Address) -> bool | None:
        """Whether the platform recognises a repeat by its key; none if unknown."""
        account = self.run.accounts.get((place.channel, place.account))
        if account is None or account.idempotency is None:
            return None
        return account.idempotency is Idempotency.KEY

    @on(TransportFallback)
    def _fallback(self, event: Event, body: TransportFallback) -> None:
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

    # ------------------------------------------------------------ on the wire

    @on(WireResponseLost)
    def _response_lost(self, event: Event, body: WireResponseLost) -> None:
        self.exercised += 1
        self._lost[event.intent or "", body.chunk, body.attempt] = event

    @on(WireAccepted, WireRefused)
    def _requested_again(self, event: Event, body: WireAccepted | WireRefused) -> None:
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
        if not isinstance(body, WireAccepted):
            return
        sent = self._marked.get((event.intent or "", body.chunk))
        if sent is None or sent.seq > event.seq or getattr(sent.body, "attempt", 0) != body.attempt:
            return
        if not self.run.is_marked(body.text):
            self._blind(event, sent, f"{event.intent} chunk {body.chunk + 1} was sent again without a mark")

    def _blind(self, event: Event, since: Event, summary: str) -> None:
        recovered = self.run.recovered.get(event.intent or "")
        decided = recovered is not None and recovered.seq > since.seq
        self.violate(
            at=event.seq,
            summary=summary,
            expected=["proof that it was not accepted, or an operator's confirmation"],
            actual=[cited(since), cited(event)],
            evidence=[since.seq, event.seq],
            first_wrong=recovered.seq if recovered is not None and decided else event.seq,
        )


class ResumeAtFirst(Checker):
    """D6: the next chunk of an intent is the first one without a receipt."""

    id = "D6"
    title = "Resume at the first unsent chunk"
    sentence = (
        "An attempt takes the first chunk without a receipt: none is repeated, none is skipped; and the intent's "
        "recorded end accounts for chunks that are never sent."
    )

    @on(AttemptStarted)
    def _started(self, event: Event, body: AttemptStarted) -> None:
        facts = self.run.intents.get(event.intent or "")
        if facts is None or facts.body.chunks < 2:
            return
        self.exercised += 1
        if body.chunk == facts.acked:
            return
        what = "again" if body.chunk < facts.acked else "before its turn"
        self.violate(
            at=event.seq,
            summary=f"{event.intent} chunk {body.chunk + 1} was sent {what}: {facts.acked} chunks have a receipt",
            expected=[f"chunk {facts.acked + 1} next"],
            actual=[cited(event, f"chunk {body.chunk + 1}, attempt {body.attempt}")],
            evidence=[*(e.seq for e in facts.accepts), event.seq],
        )

    def finish(self, last: Event) -> None:
        """Report intents that stop between two chunks and never end."""
        for intent, facts in self.run.intents.items():
            stopped = facts.ended or facts.started
            if facts.over or facts.body.chunks < 2 or not (facts.acked or stopped):
                continue
            unsent = ", ".join(map(str, range(facts.acked + 1, facts.body.chunks + 1)))
            seqs = [facts.prepared.seq, *(e.seq for e in facts.accepts)] + ([stopped.seq] if stopped else [])
            where = f"chunk {facts.acked + 1} of {facts.body.chunks}"
            self.violate(
                at=last.seq,
                summary=f"{intent} stops before {where}, and no event records it",
                expected=["the remaining chunks, or an ending that accounts for them"],
                actual=[f"chunks {unsent} without a receipt, and no ending"],
                evidence=sorted(seqs),
                missing_after=facts.last.seq,
            )
