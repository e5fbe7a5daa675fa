"""The limits of attempts: L5."""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.core.events.delivery import AttemptEnded, AttemptStarted, ChunkAcked, OperatorActed, RecoveryDecided
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.wire import WireRefused
from trunkline.sim.events.world import WorldLimits
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import IntentFacts, RunFacts
from trunkline.sim.invariants.base import Checker, cited

#: tolerance in seconds: times are rounded in events, and a write happens between the check and the send
_SLACK = 1.0
#: decisions after which an attempt goes on by another way, at once
_GOES_ON = ("fallback", "as-bot")

_Account = tuple[str, str]


class BoundedAttempts(Checker):
    """L5: attempts, age and rate are bounded; a permanent refusal is final."""

    id = "L5"
    from_anywhere = True
    title = "Bounded retries, age and rate"
    sentence = (
        "Attempts stay within the configured number, age and waits; a platform that asks to wait is left alone for "
        "that time; a permanent refusal is final; and recovered messages are sent at the configured rate."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: attempts that the platform asked to delay, until the gateway has heard so -> the refusal
        self._asked: dict[tuple[str, int, int], Event] = {}
        #: intent -> until when its platform asked to leave it alone, and the refusal
        self._wait: dict[str, tuple[float, Event]] = {}
        #: intent -> the limits by which its next attempt was planned: a reload changes what is planned after it
        self._planned: dict[str, WorldLimits] = {}
        #: intent -> attempts on its next chunk that went on by the other transport, or as the bot
        self._went_on: dict[str, int] = {}
        #: intents whose next attempt was announced for too late
        self._overlong: set[str | None] = set()
        #: intent -> attempts at its next chunk that a death may have interrupted
        self._interrupted: dict[str, int] = {}
        #: process -> until when its store refuses, so that it can remember nothing
        self._refusing: dict[int, float] = {}
        #: process and account -> first attempt of each recovered message that it has sent
        self._paced: dict[tuple[int, _Account], dict[str, Event]] = {}

    @on(ProcessCrashed, ProcessStopped)
    def _process_died(self, event: Event, _body: ProcessCrashed | ProcessStopped) -> None:
        """Forget the waits that only the dead process knew."""
        gone = event.generation
        self._asked = {attempt: wait for attempt, wait in self._asked.items() if self._asks(attempt[0]) != gone}

    def _asks(self, intent: str) -> int | None:
        """The process that made the last attempt on an intent."""
        facts = self.run.intents.get(intent)
        return None if facts is None or facts.started is None else facts.started.generation

    @on(StoreFailed)
    def _store_refused(self, event: Event, body: StoreFailed) -> None:
        self._refusing[event.generation] = event.at + body.retry_in

    @on(WireRefused)
    def _refused(self, event: Event, body: WireRefused) -> None:
        asks = self._asks(event.intent or "")
        if body.retry_after is not None and not (asks is not None and self.run.processes.gone(asks)):
            self._asked[event.intent or "", body.chunk, body.attempt] = event

    @on(AttemptEnded)
    def _ended(self, event: Event, body: AttemptEnded) -> None:
        intent = event.intent or ""
        if body.decision in _GOES_ON:
            self._went_on[intent] = self._went_on.get(intent, 0) + 1
        refused = self._asked.pop((intent, body.chunk, body.attempt), None)
        if body.reason is Reason.RESPONSE_LOST:
            refused = None  # it came too late to be heard
        if self.run.limits is not None and body.retry_at is not None:
            self._planned[intent] = self.run.limits
            self._soon_enough(event, body, refused)
        if refused is not None and isinstance(refused.body, WireRefused) and refused.body.retry_after is not None:
            self._wait[intent] = (refused.at + refused.body.retry_after, refused)
        elif self._wait:
            self._wait.pop(intent, None)

    def _soon_enough(self, event: Event, body: AttemptEnded, refused: Event | None) -> None:
        """A retry waits as long as the operator or the platform says, and no longer."""
        longest = None if self.run.limits is None else self.run.limits.backoff
        if longest is None or body.decision != "retry" or body.retry_at is None:
            return
        asked = refused.body.retry_after if refused is not None and isinstance(refused.body, WireRefused) else None
        longest = max(longest, asked or 0.0)
        facts = self.run.intents.get(event.intent or "")
        if body.reason is Reason.RESPONSE_LOST and facts is not None and facts.body.action is not None:
            # A change in doubt is repeated when its first request can no longer arrive.
            longest = max(longest, Capabilities().in_flight_seconds)
        if body.retry_at - event.at <= longest + _SLACK:
            self._overlong.discard(event.intent)
            return
        self._overlong.add(event.intent)
        self.violate(
            at=event.seq,
            summary=f"{event.intent} is to wait {body.retry_at - event.at:.0f} s for its next attempt",
            expected=[f"at most {longest:g} s"],
            actual=[cited(event, f"not before {body.retry_at:.3f}s")],
        )

    @on(RecoveryDecided)
    def _recovered(self, event: Event, body: RecoveryDecided) -> None:
        if body.decision in ("resend", "lookup"):
            intent = event.intent or ""
            self._interrupted[intent] = self._interrupted.get(intent, 0) + 1

    @on(ChunkAcked, OperatorActed)
    def _counts_from_zero(self, event: Event, _body: ChunkAcked | OperatorActed) -> None:
        """The next chunk, or an operator's order, has attempts of its own."""
        self._interrupted.pop(event.intent or "", None)
        self._went_on.pop(event.intent or "", None)

    @on(AttemptStarted)
    def _started(self, event: Event, _body: AttemptStarted) -> None:
        facts, limits = self.run.intents.get(event.intent or ""), self.run.limits
        if facts is None:
            return
        self.exercised += 1
        if limits is not None:
            self._within(event, facts, (limits, self._planned.get(event.intent or "", limits)))
            if limits.recovery_rate is not None:
                self._at_rate(event, limits.recovery_rate)
        if facts.ended is not None:
            self._after(event, facts, facts.ended)

    def _within(self, event: Event, facts: IntentFacts, either: tuple[WorldLimits, WorldLimits]) -> None:
        """Compare an attempt with the limits of now, and with those by which it was planned."""
        begun = facts.prepared if facts.reopened is None else facts.reopened
        attempts, age = max(limits.max_attempts for limits in either), max(limits.max_age for limits in either)
        interrupted = min(
            self._interrupted.get(event.intent or "", 0), max(limits.max_interrupted for limits in either)
        )
        # What goes on by the other transport provably did not reach the platform: it is one attempt with what follows.
        made = facts.tries - self._went_on.get(event.intent or "", 0)
        if made > attempts + interrupted:
            summary = f"{event.intent} was attempted {made} times"
            beside = f" beside {interrupted} that a death interrupted" if interrupted else ""
            self._report(event, summary, f"at most {attempts} attempts{beside}", begun)
        # A message that people have begun to read is finished.
        if facts.acked == 0 and event.at - begun.at > age + _SLACK:
            summary = f"{event.intent} was attempted {event.at - begun.at:.0f} s after it was prepared"
            self._report(event, summary, f"nothing older than {age:.0f} s is sent", begun)

    def _after(self, event: Event, facts: IntentFacts, before: Event) -> None:
        """Compare an attempt with the outcome of the one before it."""
        said = before.body
        assert isinstance(said, AttemptEnded)
        # The next process does not know what the dead one had no time to store.
        since = max(before.at, self._refusing.get(before.generation, 0.0))
        known = bool(facts.settled) or self.run.processes.awake(before.generation, since, event.at) > _SLACK
        known |= event.generation == before.generation
        if said.decision == "fail" and known:
            self._report(
                event, f"{event.intent} was tried again after a permanent refusal", "the refusal is final", before
            )
        until, refused = self._wait.get(event.intent or "", (0.0, before))
        if known and event.at < until - _SLACK:
            self._report(event, f"{event.intent} did not wait as requested", f"not before {until:.3f}s", refused)
        if event.generation != before.generation or said.retry_at is None or event.at >= said.retry_at - _SLACK:
            return
        if event.intent in self._overlong:
            return  # the time that was announced is the fault
        self._report(event, f"{event.intent} was tried again too early", f"not before {said.retry_at:.3f}s", before)

    def _at_rate(self, event: Event, rate: float) -> None:
        """Check the rate at which each account sends recovered messages."""
        recovered = self.run.recovered.get(event.intent or "")
        body = event.body
        if recovered is None or recovered.generation != event.generation or not isinstance(body, AttemptStarted):
            return
        account = (body.address.channel, body.address.account)
        paced = self._paced.setdefault((event.generation, account), {})
        if paced.setdefault(event.intent or "", event) is not event:
            return
        first, sent = next(iter(paced.values())), len(paced)
        if sent - 1 > (event.at - first.at + _SLACK) * rate:
            summary = f"{sent} recovered messages were sent within {event.at - first.at:.1f} s"
            self._report(event, summary, f"{rate:g} a second on {account[0]}:{account[1]}", first)

    def _report(self, event: Event, summary: str, bound: str, since: Event) -> None:
        self.violate(
            at=event.seq,
            summary=summary,
            expected=[bound],
            actual=[cited(event, "an attempt")],
            evidence=[since.seq, event.seq],
        )
