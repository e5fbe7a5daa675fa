"""The recorded fate of a message is its fate on the wire, and follows from it: T5 and W2."""

from trunkline.core.events import Event, delivery
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Idempotency, IntentState
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireRefused, WireResponseLost
from trunkline.sim.events.world import CredentialRotated
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.invariants.base import Checker

_R, _S = Reason, IntentState
#: refusals after which nothing more is sent
_FINAL = (_R.REFUSED, _R.PLACE_GONE, _R.CALL_ENDED)
#: what follows each outcome of an attempt
_NEXT: dict[Reason, tuple[str, ...]] = {
    _R.ACCEPTED: ("settle", "misplaced"),
    _R.FOUND_BY_LOOKUP: ("settle", "misplaced"),
    _R.REFUSED: ("fail",),
    _R.PLACE_GONE: ("fail",),
    _R.CALL_ENDED: ("fail",),
    _R.PLACE_CLOSED: ("retry", "fail"),
    _R.IDENTITY_GONE: ("as-bot", "fail"),
    _R.NOT_SENT: ("retry", "fallback", "fail"),
    _R.RATE_LIMITED: ("retry", "fail"),
    _R.PLATFORM_ERROR: ("retry", "fail"),
    _R.UNAUTHORIZED: ("retry", "fail"),
    _R.NOT_FOUND_BY_LOOKUP: ("retry", "fail"),
    _R.LOOKUP_FAILED: ("lookup", "park"),
    _R.RESPONSE_LOST: ("retry", "lookup", "park"),
    _R.NO_RECEIPT: ("retry", "lookup", "park"),
}
#: what an outcome in doubt leads to, by what the platform can do: without keys a retry is a notice's, or marked
_IN_DOUBT = {
    Idempotency.NONE: ("park", "retry"),
    Idempotency.LOOKUP: ("lookup", "park"),
    Idempotency.KEY: ("retry", "park"),
}
#: failures after which the same request may succeed
_PASSES = (_R.PLACE_CLOSED, _R.NOT_SENT, _R.RATE_LIMITED, _R.PLATFORM_ERROR, _R.UNAUTHORIZED)
#: seconds after which a closed place is tried again at the latest
_CLOSED = 600.0
#: seconds by which a planned time may differ from the configured one
_SLACK = 0.1
#: why a message may end as it does
_ENDS: dict[IntentState, tuple[Reason, ...]] = {
    _S.DELIVERED: (_R.ACCEPTED, _R.FOUND_BY_LOOKUP, _R.OPERATOR_SENT),
    _S.FAILED: (*_FINAL, _R.IDENTITY_GONE, _R.NO_SECOND_CHANNEL, _R.SECOND_CHANNEL, _R.PLACE_CLOSED, _R.BROKEN_ROW),
    _S.DEAD: (_R.ATTEMPTS_EXHAUSTED, _R.SECOND_CHANNEL, _R.NO_SECOND_CHANNEL, _R.BROKEN_ROW),
    _S.EXPIRED: (_R.TOO_OLD, _R.QUIET_HOURS, _R.PLACE_CLOSED, _R.SECOND_CHANNEL, _R.NO_SECOND_CHANNEL),
    _S.MISPLACED: (_R.MISPLACED,),
}
#: what hooks decided, and the reason of it
_VERDICTS = {"kept": _R.KEPT_BY_HOOKS, "modified": _R.MODIFIED_BY_HOOK}
#: ends for which hooks of the cast are to blame
_BY_HOOKS = (_R.CANCELLED_BY_HOOK, _R.HOOK_RAISED, _R.BAD_HOOK_ANSWER)


class StoriesAreTrue(Checker, symptoms=("lost",)):
    """W2: Stories are true.

    The recorded outcome of an attempt is that of the wire, the step after it fits the outcome and the platform, and the
    recorded end and reason of a message follow from them, from its age, from hooks or from a person.
    """

    #: intent -> what the wire did with its last request, and whether the response was lost
    _wire: dict[str, Event] = {}
    _lost: dict[str, Event] = {}
    #: intents of which an attempt may have been accepted
    _doubted: set[str] = set()

    def on_arrived(self, event: Event, body: WireAccepted | WireDeduplicated | WireRefused) -> None:
        intent = event.intent or ""
        before, facts, self._wire[intent] = self._wire.get(intent), self.run.intents.get(intent), event
        if not isinstance(body, WireRefused) or body.reason is not _R.REFUSED or before is None or facts is None:
            return
        if before.body == body and facts.started is not None and facts.started.seq < before.seq:
            # Of the same attempt, place and words: what the gateway records of it may well look right.
            summary = f"{intent} was asked for again within attempt {body.attempt}"
            self.accuse(event, summary, "nothing more: it was refused for good", before, shown=event.kind)

    def on_response_lost(self, event: Event, _body: WireResponseLost) -> None:
        self._lost[event.intent or ""] = event

    def on_attempt_ended(self, event: Event, body: delivery.AttemptEnded) -> None:
        intent, limits = event.intent or "", self.run.limits
        if body.reason in (_R.RESPONSE_LOST, _R.NO_RECEIPT):
            self._doubted.add(intent)
        facts, did, lost = self.run.intents.get(intent), self._wire.get(intent), self._lost.pop(intent, None)
        if facts is None or limits is None or facts.started is None or not self.run.witnessed:
            return
        self.exercised += 1
        since = facts.started
        taken = did is not None and did.seq > since.seq and isinstance(did.body, WireAccepted)
        if taken and body.reason is _R.ACCEPTED and body.decision in _NEXT[body.reason] and body.retry_at is None:
            return
        if did is not None and did.seq > since.seq and event.at - since.at < limits.timeout - _SLACK and lost is None:
            said = did.body
            # A real adapter cannot know what became of a request that the platform failed on.
            doubtful = (
                body.reason is _R.RESPONSE_LOST and isinstance(said, WireRefused) and said.reason is _R.PLATFORM_ERROR
            )
            if isinstance(said, WireRefused) and body.reason is not said.reason and not doubtful:
                self._report(event, did, f"{intent} was refused ({said.reason.value})", said.reason.value)
            elif not isinstance(said, WireRefused) and body.reason not in _NEXT_OF_ACCEPT:
                self._report(event, did, f"{intent} was accepted", Reason.ACCEPTED.value)
        expected = _NEXT.get(body.reason, (body.decision,))
        if intent in self._doubted or intent in self.run.recovered:
            # What was in doubt before is not cleared by a refusal.
            expected = (*expected, "park")
        account = self.run.accounts.get((facts.body.address.channel, facts.body.address.account))
        if body.reason in (_R.RESPONSE_LOST, _R.NO_RECEIPT) and account is not None and account.idempotency is not None:
            expected = _IN_DOUBT.get(account.idempotency, expected)
            # What has an effect only once may be repeated, and a notice is, on every platform.
            expected = (*expected, "retry", "park") if facts.body.action is not None else expected
        if body.decision not in expected:
            self._report(event, since, f"{intent} had the outcome {body.reason.value}", " or ".join(expected))
        elif facts.body.action is None and body.reason in _PASSES:
            asked = did.body.retry_after if did is not None and isinstance(did.body, WireRefused) else None
            self._after_a_failure(event, body, facts, asked or 0.0)
        elif body.retry_at is not None and limits.waits:
            longest, shortest = max(*limits.waits, Capabilities().in_flight_seconds), 0.0
            if body.decision == "retry" and facts.body.action is None and intent not in self.run.recovered:
                shortest = limits.waits[min(body.attempt, len(limits.waits)) - 1]
            if not shortest - _SLACK <= (planned := body.retry_at - event.at) <= longest + _SLACK:
                claimed = f"{intent} waits {planned:.1f} s in doubt"
                self._report(event, since, claimed, f"{shortest:g} to {longest:g} s")

    def _after_a_failure(self, event: Event, body: delivery.AttemptEnded, facts: IntentFacts, asked: float) -> None:
        """A passing failure is followed by another try after its wait, as long as attempts and age allow."""
        limits = self.run.limits
        if limits is None or not limits.waits or event.intent in self.run.recovered:
            return  # attempts that a death interrupted do not count
        wait = max(limits.waits[min(body.attempt, len(limits.waits)) - 1], asked)
        begun = facts.prepared if facts.reopened is None else facts.reopened
        if body.reason is _R.PLACE_CLOSED:
            # The longer it is closed, the more seldom it is tried, and for the last time when the message is too old.
            age = max(event.at - begun.at, 1.0)
            wait = min(max(min(age, _CLOSED), limits.waits[0], asked), limits.max_age - event.at + begun.at)
        too_old = not facts.acked and event.at + wait > begun.at + limits.max_age - _SLACK
        last = facts.body.best_effort or body.attempt >= limits.max_attempts
        if body.decision == "fail" and not (last or too_old or body.reason is _R.PLACE_CLOSED):
            self._report(event, begun, f"{event.intent} has had {body.attempt} attempts", "another one")
        planned = None if body.retry_at is None or body.decision != "retry" else body.retry_at - event.at
        if planned is not None and abs(planned - wait) > _SLACK:
            claimed = f"{event.intent} waits {planned:.1f} s after attempt {body.attempt}"
            self._report(event, begun, claimed, f"a wait of {wait:g} s, as configured")

    def on_settled(self, event: Event, body: delivery.IntentSettled) -> None:
        intent = event.intent or ""
        facts = self.run.intents.get(intent)
        if body.state is IntentState.CANCELLED and body.reason in _BY_HOOKS and self.run.speech.known:
            self.exercised += 1
            if intent not in self.run.speech.withdrawn:
                self._report(event, event, f"no hook withdrew {intent}", "a message that goes out")
        if facts is None or facts.body.action is not None or not self.run.witnessed:
            return
        self.exercised += 1
        begun, limits = facts.prepared if facts.reopened is None else facts.reopened, self.run.limits
        if body.state is _S.UNKNOWN and body.reason is _R.PARKED and self._is_sure(intent, facts):
            self._report(event, begun, f"no attempt of {intent} was in doubt", "another state")
        if (
            body.reason is _R.TOO_OLD
            and limits is not None
            and limits.waits
            and not facts.vouched
            and self._is_sure(intent, facts)
        ):
            asked = None if facts.refused is None else getattr(facts.refused.body, "retry_after", None)
            if event.at - begun.at + max(*limits.waits, asked or 0.0) < limits.max_age - _SLACK:
                self._report(event, begun, f"{intent} is {event.at - begun.at:.1f} s old", f"{limits.max_age:g} s")
        allowed = _ENDS.get(body.state)
        if allowed is not None and body.reason not in allowed:
            reasons = " or ".join(reason.value for reason in allowed)
            self._report(event, facts.prepared, f"{intent} is {body.state.value} ({body.reason.value})", reasons)
        refused = facts.refused
        if body.reason in _FINAL and body.state in (_S.FAILED, _S.PARTIAL) and refused is not None:
            assert isinstance(refused.body, WireRefused)
            if refused.body.reason is not body.reason and not self._is_opening(facts):
                self._report(event, refused, f"{intent} was refused last", refused.body.reason.value)
        self._wire.pop(intent, None)

    def _is_sure(self, intent: str, facts: IntentFacts) -> bool:
        """Whether it is known what became of each attempt."""
        return intent not in self._doubted and intent not in self.run.recovered and facts.reopened is None

    def _is_opening(self, facts: IntentFacts) -> bool:
        """Whether its thread was to be opened first, which a platform refuses without a request of the message."""
        return facts.body.address.thread is not None or facts.body.address.parent is not None

    def on_hooked(self, event: Event, body: delivery.HookSending) -> None:
        self.exercised += 1
        if body.verdict in _VERDICTS and body.reason is not _VERDICTS[body.verdict]:
            self._report(event, event, f"hooks decided on {event.intent}", _VERDICTS[body.verdict].value)
        if body.to is not None and self.run.speech.known:
            self.exercised += 1
            if not self.run.hooks.may_go(event.intent, body.to):
                self._report(event, event, f"no hook sends {event.intent} elsewhere", "the place that it had")

    def _report(self, event: Event, since: Event, summary: str, expected: str) -> None:
        said = event.body
        claimed = getattr(said, "decision", "") or getattr(said, "state", "") or getattr(said, "verdict", "")
        reason = getattr(said, "reason", None)
        summary = f"{summary}, and the gateway says {claimed} ({'' if reason is None else reason.value})"
        self.accuse(event, summary, expected, since, shown=event.kind)


_NEXT_OF_ACCEPT = (_R.ACCEPTED, _R.NO_RECEIPT, _R.FOUND_BY_LOOKUP, _R.NOT_FOUND_BY_LOOKUP, _R.LOOKUP_FAILED)


#: ends of which people have nothing
_BAD = (IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED, IntentState.UNKNOWN)
#: a request and its answer take at most so many times the usual latency
_ROUND_TRIP = 3
#: channels where a person may keep a message waiting
_VOICE = "voice"

_Account = tuple[str, str]


class NothingIsGivenUp(Checker, symptoms=("lost",)):
    """T5: Given up for a reason.

    A message ends undelivered, or in doubt, only if the world gave a reason during its life: a refusal or a lost
    response on its account, a fault, an account that was away, the end of a process, a new token, or a person.

    Costs a note for each trouble, and for each message that ends badly one pass over the troubles of the run.
    """

    #: troubles of everything: since when, and until when
    _any: list[tuple[float, float]] = []
    #: those of an account
    _of: dict[_Account, list[tuple[float, float]]] = {}
    #: when an account took something last
    _took: dict[_Account, float] = {}

    def on_accepted(self, event: Event, body: WireAccepted) -> None:
        self._took[body.address.channel, body.address.account] = event.at

    def on_trouble(
        self, event: Event, body: FaultFired | ProcessCrashed | ProcessStopped | ProcessFrozen | CredentialRotated
    ) -> None:
        lasts = 0.0
        if isinstance(body, FaultFired):
            lasts = body.lasts or 0.0
        elif isinstance(body, CredentialRotated):
            lasts = body.tell
        self._any.append((event.at, event.at + lasts + self._wait))

    def on_refused(self, event: Event, body: WireRefused | WireResponseLost) -> None:
        asked = body.retry_after if isinstance(body, WireRefused) else None
        account = (body.address.channel, body.address.account)
        self._of.setdefault(account, []).append((event.at, event.at + (asked or 0.0) + self._wait))

    @property
    def _wait(self) -> float:
        """The longest wait that may follow a trouble."""
        limits = self.run.limits
        return Capabilities().in_flight_seconds + (0.0 if limits is None else limits.backoff or 0.0)

    def on_settled(self, event: Event, body: delivery.IntentSettled, facts: IntentFacts) -> None:
        if body.state not in _BAD or not self.run.witnessed:
            return
        place = facts.body.address
        if facts.body.action is not None or place.channel == _VOICE or facts.closed or facts.reopened is not None:
            return
        account, limits = self.run.accounts.get((place.channel, place.account)), self.run.limits
        if account is None or limits is None or account.latency * _ROUND_TRIP >= limits.timeout:
            # Its platform answers later than the gateway waits.
            return
        self.exercised += 1
        since, took = facts.prepared.at, self._took.get((place.channel, place.account), 0.0)
        if body.reason is Reason.TOO_OLD and since < took and event.at - since >= limits.max_age:
            # It grew old behind others, which a slow platform took meanwhile.
            return
        troubles = (*self._any, *self._of.get((place.channel, place.account), ()))
        if not any(until >= since for _, until in troubles):
            self._report(event, body, facts)

    def _report(self, event: Event, body: delivery.IntentSettled, facts: IntentFacts) -> None:
        summary = f"{event.intent} is {body.state.value} ({body.reason.value}), and nothing had happened to it"
        expected = f"{facts.body.address.channel} gets it: it refused nothing, and was there"
        seen = f"{body.state.value} after {body.attempts} attempts"
        self.accuse(event, summary, expected, facts.prepared, shown=seen)
