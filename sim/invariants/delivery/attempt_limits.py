"""Attempts and their bounds: L4, L5."""

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
from trunkline.sim.index.projection import Handlers
from trunkline.sim.index.run_facts import IntentFacts, RunFacts
from trunkline.sim.invariants.base import Checker

#: seconds by which a time may be missed: it is rounded in events, and a write lies between looking and sending
_SLACK = 1.0
_ABSENT = (Reason.NOT_READY, Reason.NO_ADAPTER)
#: nothing local says so, only a platform does
_VERDICTS = (IntentState.FAILED, IntentState.DEAD)

_Account = tuple[str, str]


class ReadyFirst(Checker):
    """L4: nothing is attempted on a channel that is not ready; waiting costs no attempt, and is never a verdict."""

    id = "L4"
    title = "Readiness before recovery"
    sentence = (
        "No attempt is made before the channel is ready, an attempt is counted for each one that is made, and only a "
        "platform can refuse for good."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: accounts that are not ready: since this event
        self._absent: dict[_Account, Event] = {}
        #: attempts beyond those that began: a process that died may have made one, and failed look-ups count
        self._more: dict[str, int] = {}
        #: what platforms have refused; and accounts that a process is or was connected for
        self._refused: set[str | None] = set()
        self._connected: set[_Account] = set()
        #: processes that died: each may have counted one in its last write, and told nobody
        self._deaths = 0

    def handlers(self) -> Handlers:
        """Waiting, attempts, and what counts as one."""
        return {
            ProcessStarted: self._process_started,
            PlatformConnected: self._platform_connected,
            LaneWaiting: self._waiting,
            AdapterInstalled: self._installed,
            ProcessCrashed: self._process_gone,
            ProcessStopped: self._process_gone,
            RecoveryDecided: self._recovered,
            AttemptStarted: self._started,
            AttemptEnded: self._ended,
            WireRefused: self._wire_refused,
            IntentSettled: self._settled,
        }

    def _process_started(self, _event: Event) -> None:
        self._connected.clear()

    def _platform_connected(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, PlatformConnected)
        self._connected.add((body.channel, body.account))

    def _wire_refused(self, event: Event) -> None:
        self._refused.add(event.intent)

    def _waiting(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, LaneWaiting)
        if body.reason not in _ABSENT:
            return
        self.exercised += 1
        account = (body.address.channel, body.address.account)
        before = self._absent.get(account)
        # Each conversation is told of once. The first one that looks again may find it ready, for all of them.
        if before is None or not isinstance(before.body, LaneWaiting) or before.body.until <= event.at:
            self._absent[account] = event

    def _installed(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, AdapterInstalled)
        self._absent.pop((body.channel, body.account), None)

    def _process_gone(self, _event: Event) -> None:
        self._absent.clear()
        self._deaths += 1

    def _recovered(self, event: Event) -> None:
        self._more[event.intent or ""] = self._more.get(event.intent or "", 0) + 1

    def _ended(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, AttemptEnded)
        if body.reason is Reason.LOOKUP_FAILED:
            self._recovered(event)

    def _started(self, event: Event) -> None:
        facts = self.run.intents.get(event.intent or "")
        body = event.body
        assert isinstance(body, AttemptStarted)
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
            summary=f"{event.intent} chunk {body.chunk + 1} counts {body.attempt} attempts; it has had {facts.tries}",
            expected=[f"attempt {facts.tries}" if most == facts.tries else f"attempt {facts.tries} to {most}"],
            actual=[f"#{event.seq} {event.at:.3f}s attempt {body.attempt}"],
            evidence=[facts.prepared.seq, event.seq],
            first_wrong=event.seq,
        )

    def _too_early(self, event: Event, body: AttemptStarted) -> None:
        """After the gateway was told that an account cannot send, it looks again when it said that it would."""
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
            first_wrong=event.seq,
        )

    def _settled(self, event: Event) -> None:
        body, facts = event.body, self.run.intents.get(event.intent or "")
        assert isinstance(body, IntentSettled)
        if facts is None or body.state not in _VERDICTS or facts.closed:
            return
        self.exercised += 1
        account = (facts.body.address.channel, facts.body.address.account)
        asked = event.intent in self._refused or account in self._connected
        if body.reason is Reason.BROKEN_ROW or (facts.started is not None and asked and body.reason not in _ABSENT):
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was given up for good ({body.reason.value}), and no platform has refused it",
            expected=["it waits until its channel is there, or until it is too old"],
            actual=[f"#{event.seq} {event.at:.3f}s {body.state.value} after {body.attempts} attempts"],
            evidence=[facts.prepared.seq, event.seq],
            first_wrong=event.seq,
        )


class BoundedAttempts(Checker):
    """L5: attempts, age and pace are bounded; what a platform refused for good is not tried again."""

    id = "L5"
    title = "Bounded retries, age and rate"
    sentence = (
        "Attempts end after so many or after so long, as configured; a platform that asks to wait is left alone for "
        "that time; what it refused for good is over; and what a restart finds is sent at the configured rate."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: what a platform asked to wait, by intent: attempt and time
        self._wait: dict[str, tuple[int, float, Event]] = {}
        #: account -> recovered messages that this process has sent, each by the event of its first attempt
        self._paced: dict[_Account, dict[str, Event]] = {}
        #: process -> when it ended
        self._died: dict[int | None, float] = {}

    def handlers(self) -> Handlers:
        """Attempts, and what bounds them."""
        return {
            ProcessStarted: self._process_started,
            ProcessCrashed: self._process_died,
            ProcessStopped: self._process_died,
            WireRefused: self._refused,
            AttemptStarted: self._started,
        }

    def _process_died(self, event: Event) -> None:
        self._died[event.generation] = event.at

    def _process_started(self, _event: Event) -> None:
        self._paced.clear()

    def _refused(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, WireRefused)
        if body.retry_after is not None:
            self._wait[event.intent or ""] = (body.attempt, event.at + body.retry_after, event)

    def _started(self, event: Event) -> None:
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
        """What was said of the attempt before."""
        said = before.body
        assert isinstance(said, AttemptEnded)
        # What a process had no time to store before it died, the next one does not know.
        known = facts.settled or before.at < self._died.get(before.generation, inf) - _SLACK
        if said.decision == "fail" and known:
            self._beyond(event, f"{event.intent} was tried again after a refusal for good", "it is over", before)
        attempt, until, refused = self._wait.get(event.intent or "", (0, 0.0, before))
        if attempt == said.attempt and event.at < until - _SLACK:
            self._beyond(event, f"{event.intent} did not wait as it was asked to", f"not before {until:.3f}s", refused)
        if event.generation != before.generation or said.retry_at is None or event.at >= said.retry_at - _SLACK:
            return
        self._beyond(event, f"{event.intent} was tried again too early", f"not before {said.retry_at:.3f}s", before)

    def _at_rate(self, event: Event, rate: float) -> None:
        """Messages that a process found at its start, one after another on each account."""
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
            first_wrong=event.seq,
        )
