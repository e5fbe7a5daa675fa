"""Readiness before attempts: L4."""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.core.events.delivery import (
    AttemptEnded,
    AttemptStarted,
    ChunkAcked,
    IntentSettled,
    LaneWaiting,
    OperatorActed,
    RecoveryDecided,
)
from trunkline.core.events.gateway import ProcessStarted
from trunkline.core.events.leases import AdapterInstalled, LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.wire import WireRefused
from trunkline.sim.events.world import PlatformConnected
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import IntentFacts, Lane, RunFacts
from trunkline.sim.invariants.base import Checker, cited
from trunkline.sim.invariants.delivery.unmade_attempts import UnmadeAttempts

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
        #: account -> what waits for it: a conversation if it is not ready, None without an adapter -> the event
        self._absent: dict[_Account, dict[Lane | None, Event]] = {}
        #: counted attempts without an attempt.started: of a process that died, and failed look-ups
        self._more: dict[str, int] = {}
        #: intents that a platform refused; and the accounts that the holder of the store has connected
        self._refused: set[str | None] = set()
        self._connected: set[_Account] = set()
        #: processes that died: each may have counted an attempt in its last write without recording the event
        self._deaths = 0
        self._unmade = UnmadeAttempts(run)

    @on(ProcessStarted, LeaseTaken)
    def _process_up(self, event: Event, _body: ProcessStarted | LeaseTaken) -> None:
        if self.run.processes.holds(event.generation):
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
        self._unmade.waits(event)
        place = body.address
        # Without an adapter no conversation can send. Whether one is ready, each conversation asks for itself.
        lane = None if body.reason is Reason.NO_ADAPTER else place.lane
        absent = self._absent.setdefault((place.channel, place.account), {})
        before = absent.get(lane)
        if before is None or not isinstance(before.body, LaneWaiting) or before.body.until <= event.at:
            absent[lane] = event

    @on(AdapterInstalled)
    def _installed(self, event: Event, body: AdapterInstalled) -> None:
        self._absent.pop((body.channel, body.account), None)

    @on(ProcessCrashed, ProcessStopped)
    def _process_gone(self, event: Event, _body: ProcessCrashed | ProcessStopped) -> None:
        gone = event.generation
        for account, absent in self._absent.items():
            self._absent[account] = {lane: tried for lane, tried in absent.items() if tried.generation != gone}
        self._deaths += 1
        self._unmade.note_end(event)

    @on(RecoveryDecided)
    def _recovered(self, event: Event, body: RecoveryDecided) -> None:
        self._one_more(event)
        self._unmade.note_recovery(event, body)

    def _one_more(self, event: Event) -> None:
        self._more[event.intent or ""] = self._more.get(event.intent or "", 0) + 1

    @on(AttemptEnded)
    def _ended(self, event: Event, body: AttemptEnded) -> None:
        self._unmade.note_outcome(event, body)
        if body.reason is Reason.LOOKUP_FAILED:
            self._one_more(event)

    @on(ChunkAcked, OperatorActed)
    def _counts_anew(self, event: Event, _body: ChunkAcked | OperatorActed) -> None:
        """The next chunk, or an operator's order, has attempts of its own."""
        self._unmade.forget(event)

    @on(AttemptStarted)
    def _started(self, event: Event, body: AttemptStarted) -> None:
        facts = self.run.intents.get(event.intent or "")
        self._unmade.note_attempt(event)
        if self._absent:
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
            actual=[cited(event, f"attempt {body.attempt}")],
            evidence=[facts.prepared.seq, event.seq],
        )

    def _too_early(self, event: Event, body: AttemptStarted) -> None:
        """An account that was not ready is tried again no earlier than the announced time."""
        account = (body.address.channel, body.address.account)
        absent = self._absent.get(account, {})
        since = absent.get(None) or absent.get(body.address.lane)
        if since is None or not isinstance(since.body, LaneWaiting) or event.at + _SLACK >= since.body.until:
            # It is ready: for all its conversations, whenever they look again.
            self._absent.pop(account, None)
            return
        if body.chunk:
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was attempted while {account[0]}:{account[1]} was not ready",
            expected=[f"no attempt before {since.body.until:.3f}s: {since.body.reason.value}"],
            actual=[cited(event, f"attempt {body.attempt}")],
            evidence=[since.seq, event.seq],
        )

    @on(IntentSettled)
    def _settled(self, event: Event, body: IntentSettled) -> None:
        facts = self.run.intents.get(event.intent or "")
        if facts is None or facts.closed:
            return
        if self._unmade.gave_up(event, body):
            self._used_up(event, body, facts)
        elif body.state in _VERDICTS:
            self._refused_for_good(event, body, facts)

    def _used_up(self, event: Event, body: IntentSettled, facts: IntentFacts) -> None:
        """All allowed attempts were used only if so many were made."""
        self.exercised += 1
        allowed = self._unmade.allowed(facts)
        made = facts.tries + self._unmade.possible(event.intent or "")
        if allowed is None or made >= allowed:
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was given up: {body.attempts} attempts are counted, {facts.tries} were made",
            expected=[f"{allowed} attempts of chunk {facts.acked + 1} before it is given up"],
            actual=[cited(event, f"{body.state.value} after {facts.tries} attempts")],
            evidence=[facts.prepared.seq, event.seq],
            first_wrong=self._unmade.miscounted(event, body),
        )

    def _has_no_message(self, body: IntentSettled, facts: IntentFacts) -> bool:
        """Whether a change has ended because its message is not there, and it is so."""
        if body.reason not in (Reason.NOTHING_TO_CHANGE, Reason.OTHER_CONVERSATION):
            return False
        message = self.run.intents.get(facts.body.of or "")
        account = self.run.accounts.get((facts.body.address.channel, facts.body.address.account))
        nameless = account is not None and account.nameless
        return message is None or nameless or message.vouched or message.acked <= facts.acked or _is_astray(message)

    def _refused_for_good(self, event: Event, body: IntentSettled, facts: IntentFacts) -> None:
        self.exercised += 1
        account = (facts.body.address.channel, facts.body.address.account)
        asked = not self.run.witnessed or event.intent in self._refused or account in self._connected
        if self._has_no_message(body, facts):
            return
        if body.reason is Reason.BROKEN_ROW or (facts.started is not None and asked and body.reason not in _ABSENT):
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was given up for good ({body.reason.value}), though no platform refused it",
            expected=["it waits until its channel is ready or it expires"],
            actual=[cited(event, f"{body.state.value} after {body.attempts} attempts")],
            evidence=[facts.prepared.seq, event.seq],
        )


def _is_astray(message: IntentFacts) -> bool:
    """Whether a message arrived at another place than it was sent to."""
    return any(isinstance(e.body, IntentSettled) and e.body.state is IntentState.MISPLACED for e in message.settled)
