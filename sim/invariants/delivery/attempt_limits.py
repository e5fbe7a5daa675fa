"""Readiness, and the limits of attempts: L4, L5."""

from __future__ import annotations

from math import inf

from trunkline.core.events import Event
from trunkline.core.events.delivery import AttemptEnded, AttemptStarted, IntentSettled, LaneWaiting, RecoveryDecided
from trunkline.core.events.gateway import ProcessStarted
from trunkline.core.events.leases import AdapterInstalled
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.wire import WireRefused
from trunkline.sim.events.world import PlatformConnected
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import IntentFacts, RunFacts
from trunkline.sim.invariants.base import Checker

#: tolerance in seconds: times are rounded in events, and a write happens between the check and the send
_SLACK = 1.0
_ABSENT = (Reason.NOT_READY, Reason.NO_ADAPTER)
#: states that only a platform's answer justifies
_VERDICTS = (IntentState.FAILED, IntentState.DEAD)

_Account = tuple[str, str]


class ReadyFirst(Checker):
    """L4: no attempt is made on a channel that is not ready; waiting costs no attempt and never ends an intent."""

    id = "L4"
    title = "Readiness before recovery"
    sentence = (
        "No attempt is made before the channel is ready, an attempt is counted for each one that is made, and only a "
        "platform can refuse for good."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: accounts that are not ready -> the event that recorded it
        self._absent: dict[_Account, Event] = {}
        #: counted attempts without an attempt.started: of a process that died, and failed look-ups
        self._more: dict[str, int] = {}
        #: intents that a platform refused; and the accounts that this process has connected
        self._refused: set[str | None] = set()
        self._connected: set[_Account] = set()
        #: processes that died: each may have counted an attempt in its last write without recording the event
        self._deaths = 0

    @on(ProcessStarted)
    def _process_started(self, _event: Event, _body: ProcessStarted) -> None:
        self._connected.clear()

    @on(PlatformConnected)
    def _platform_connected(self, event: Event, body: PlatformConnected) -> None:
        self._connected.add((body.channel, body.account))

    @on(WireRefused)
    def _wire_refused(self, event: Event, _body: WireRefused) -> None:
        self._refused.add(event.intent)

    @on(LaneWaiting)
    def _waiting(self, event: Event, body: LaneWaiting) -> None:
        if body.reason not in _ABSENT:
            return
        self.exercised += 1
        account = (body.address.channel, body.address.account)
        before = self._absent.get(account)
        # Each conversation records its wait once; the first to check again may find the account ready for all.
        if before is None or not isinstance(before.body, LaneWaiting) or before.body.until <= event.at:
            self._absent[account] = event

    @on(AdapterInstalled)
    def _installed(self, event: Event, body: AdapterInstalled) -> None:
        self._absent.pop((body.channel, body.account), None)

    @on(ProcessCrashed, ProcessStopped)
    def _process_gone(self, _event: Event, _body: ProcessCrashed | ProcessStopped) -> None:
        self._absent.clear()
        self._deaths += 1

    @on(RecoveryDecided)
    def _recovered(self, event: Event, _body: RecoveryDecided) -> None:
        self._one_more(event)

    def _one_more(self, event: Event) -> None:
        self._more[event.intent or ""] = self._more.get(event.intent or "", 0) + 1

    @on(AttemptEnded)
    def _ended(self, event: Event, body: AttemptEnded) -> None:
        if body.reason is Reason.LOOKUP_FAILED:
            self._one_more(event)

    @on(AttemptStarted)
    def _started(self, event: Event, body: AttemptStarted) -> None:
        facts = self.run.intents.get(event.intent or "")
        if self._absent and body.chunk == 0:
            self._too_early(event, body)
        if facts is None:
            return
        self.exercised += 1
        if facts.tries == body.attempt:
            return
        more = self._more.get(event.intent or "", 0)
        most = facts.tries + (more + self._deaths if more else 0)
        if facts.tries <= body.attempt <= most:
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} chunk {body.chunk + 1} counts {body.attempt} attempts; it has made {facts.tries}",
            expected=[f"attempt {facts.tries}" if most == facts.tries else f"attempt {facts.tries} to {most}"],
            actual=[f"#{event.seq} {event.at:.3f}s attempt {body.attempt}"],
            evidence=[facts.prepared.seq, event.seq],
        )

    def _too_early(self, event: Event, body: AttemptStarted) -> None:
        """An account that was not ready is tried again no earlier than the announced time."""
        account = (body.address.channel, body.address.account)
        since = self._absent.get(account)
        if since is None or not isinstance(since.body, LaneWaiting):
            return
        if event.at + _SLACK >= since.body.until:
            del self._absent[account]
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was attempted while {account[0]}:{account[1]} was not ready",
            expected=[f"no attempt before {since.body.until:.3f}s: {since.body.reason.value}"],
            actual=[f"#{event.seq} {event.at:.3f}s attempt {body.attempt}"],
            evidence=[since.seq, event.seq],
        )

    @on(IntentSettled)
    def _settled(self, event: Event, body: IntentSettled) -> None:
        facts = self.run.intents.get(event.intent or "")
        if facts is None or body.state not in _VERDICTS or facts.closed:
            return
        self.exercised += 1
        account = (facts.body.address.channel, facts.body.address.account)
        asked = event.intent in self._refused or account in self._connected
        if body.reason is Reason.BROKEN_ROW or (facts.started is not None and asked and body.reason not in _ABSENT):
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was given up for good ({body.reason.value}), though no platform refused it",
            expected=["it waits until its channel is ready or it expires"],
            actual=[f"#{event.seq} {event.at:.3f}s {body.state.value} after {body.attempts} attempts"],
            evidence=[facts.prepared.seq, event.seq],
        )


class BoundedAttempts(Checker):
    """L5: attempts, age and rate are bounded; a permanent refusal is final."""

    id = "L5"
    title = "Bounded retries, age and rate"
    sentence = (
        "Attempts stay within the configured number and age; a platform that asks to wait is left alone for that "
        "time; a permanent refusal is final; and recovered messages are sent at the configured rate."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: intent -> the attempt that the platform asked to delay, and until when
        self._wait: dict[str, tuple[int, float, Event]] = {}
        #: account -> first attempt of each recovered message that this process has sent
        self._paced: dict[_Account, dict[str, Event]] = {}
        #: process -> when it ended
        self._died: dict[int | None, float] = {}

    @on(ProcessCrashed, ProcessStopped)
    def _process_died(self, event: Event, _body: ProcessCrashed | ProcessStopped) -> None:
        self._died[event.generation] = event.at

    @on(ProcessStarted)
    def _process_started(self, _event: Event, _body: ProcessStarted) -> None:
        self._paced.clear()

    @on(WireRefused)
    def _refused(self, event: Event, body: WireRefused) -> None:
        if body.retry_after is not None:
            self._wait[event.intent or ""] = (body.attempt, event.at + body.retry_after, event)

    @on(AttemptStarted)
    def _started(self, event: Event, _body: AttemptStarted) -> None:
        facts, limits = self.run.intents.get(event.intent or ""), self.run.limits
        if facts is None:
            return
        self.exercised += 1
        if limits is not None:
            begun = facts.prepared if facts.reopened is None else facts.reopened
            if facts.tries > limits.max_attempts:
                summary = f"{event.intent} was attempted {facts.tries} times"
                self._beyond(event, summary, f"at most {limits.max_attempts} attempts", begun)
            if event.at - begun.at > limits.max_age + _SLACK:
                summary = f"{event.intent} was attempted {event.at - begun.at:.0f} s after it was prepared"
                self._beyond(event, summary, f"nothing older than {limits.max_age:.0f} s is sent", begun)
            if limits.recovery_rate is not None:
                self._at_rate(event, limits.recovery_rate)
        if facts.ended is not None:
            self._after(event, facts, facts.ended)

    def _after(self, event: Event, facts: IntentFacts, before: Event) -> None:
        """Compare an attempt with the outcome of the one before it."""
        said = before.body
        assert isinstance(said, AttemptEnded)
        # The next process does not know what the dead one had no time to store.
        known = facts.settled or before.at < self._died.get(before.generation, inf) - _SLACK
        if said.decision == "fail" and known:
            self._beyond(
                event, f"{event.intent} was tried again after a permanent refusal", "the refusal is final", before
            )
        attempt, until, refused = self._wait.get(event.intent or "", (0, 0.0, before))
        if attempt == said.attempt and event.at < until - _SLACK:
            self._beyond(event, f"{event.intent} did not wait as requested", f"not before {until:.3f}s", refused)
        if event.generation != before.generation or said.retry_at is None or event.at >= said.retry_at - _SLACK:
            return
        self._beyond(event, f"{event.intent} was tried again too early", f"not before {said.retry_at:.3f}s", before)

    def _at_rate(self, event: Event, rate: float) -> None:
        """Check the rate at which each account sends recovered messages."""
        recovered = self.run.recovered.get(event.intent or "")
        body = event.body
        if recovered is None or recovered.generation != event.generation or not isinstance(body, AttemptStarted):
            return
        account = (body.address.channel, body.address.account)
        paced = self._paced.setdefault(account, {})
        if paced.setdefault(event.intent or "", event) is not event:
            return
        first, sent = next(iter(paced.values())), len(paced)
        if sent - 1 > (event.at - first.at + _SLACK) * rate:
            summary = f"{sent} recovered messages were sent within {event.at - first.at:.1f} s"
            self._beyond(event, summary, f"{rate:g} a second on {account[0]}:{account[1]}", first)

    def _beyond(self, event: Event, summary: str, bound: str, since: Event) -> None:
        self.violate(
            at=event.seq,
            summary=summary,
            expected=[bound],
            actual=[f"#{event.seq} {event.at:.3f}s an attempt"],
            evidence=[since.seq, event.seq],
        )
