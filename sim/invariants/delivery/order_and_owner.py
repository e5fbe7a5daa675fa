"""Order within a conversation, and one owner of a store: L6, O1, D5."""

from bisect import bisect_right

from trunkline.core.events import Event, delivery, gateway, hands, leases
from trunkline.core.reasons import Reason
from trunkline.sim.events import script, wire
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.script import FaultFired
from trunkline.sim.index.run_facts import IntentFacts, LaneFacts, RunFacts
from trunkline.sim.invariants.base import Checker, cited

#: seconds within which a due message must be attempted
BOUND = 60.0


class BusyTime:
    """The times in which as many conversations were being sent to as the operator allows at once."""

    def __init__(self) -> None:
        self._sending: set[object] = set()
        #: when such a time began and ended, in order, and the seconds of those before it
        self._starts: list[float] = []
        self._ends: list[float] = []
        self._before: list[float] = []
        self._full = False

    def begins(self, lane: object, at: float, workers: int | None) -> None:
        """A conversation is being sent to. `workers`: how many may be at once; none: any number."""
        self._sending.add(lane)
        if not self._full and workers is not None and len(self._sending) >= workers:
            seconds = self._before[-1] + self._ends[-1] - self._starts[-1] if self._starts else 0.0
            self._before.append(seconds)
            self._starts.append(at)
            self._full = True

    def ends(self, lane: object, at: float) -> None:
        """A conversation is not being sent to any more."""
        self._sending.discard(lane)
        self._free(at)

    def clear(self, at: float) -> None:
        """The process has ended."""
        self._sending.clear()
        self._free(at)

    def _free(self, at: float) -> None:
        if self._full:
            self._ends.append(at)
            self._full = False

    def between(self, since: float, now: float) -> float:
        """Seconds of a period in which every worker was busy."""
        return self._until(now) - self._until(since)

    def _until(self, at: float) -> float:
        index = bisect_right(self._starts, at) - 1
        if index < 0:
            return 0.0
        end = self._ends[index] if index < len(self._ends) else at
        return self._before[index] + min(at, end) - self._starts[index]


class NoHeadOfLine(Checker, symptoms=("late",)):
    """L6: No head-of-line blocking.

    The first open message of a conversation is attempted within a minute of being due, whatever the state of others.
    """

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: no attempt was possible before: no process ran, or its store refused
        self._since = 0.0
        self._up: Event | None = None
        self._healed = 0.0
        #: holders of the store that have ended, and how many had when a message was prepared
        self._ends = 0
        self._ends_before: dict[str, int] = {}
        #: messages recovered at the last start, which are sent at a limited rate
        self._found = 0
        self._busy = BusyTime()
        #: conversations that the running process serves at once, as configured when it started
        self._workers: int | None = None

    def on_phase(self, event: Event, body: script.RunPhase) -> None:
        if body.phase == "healed":
            self._healed = event.at

    def on_process_up(self, event: Event, _body: gateway.ProcessStarted | leases.LeaseTaken | ProcessThawed) -> None:
        """A process that stands by attempts nothing, so its start is no excuse."""
        if self.run.processes.holds(event.generation):
            self._since, self._up = event.at, event
            self._workers = None if self.run.limits is None else self.run.limits.lanes
        if isinstance(event.body, leases.LeaseTaken):
            self._begin_again(event)

    def on_process_found(self, event: Event, body: gateway.ProcessRecovered) -> None:
        self._found = body.intents

    def on_process_gone(self, event: Event, _body: ProcessCrashed | ProcessStopped) -> None:
        if self.run.processes.holds(event.generation):
            for queue in self.run.lanes.values():
                due = self._since if queue.due is None else max(queue.due, self._since)
                idle = queue.open and queue.due is not None and queue.waiting is None
                if idle and self.run.processes.awake(event.generation, due, event.at) > BOUND:
                    self._late(event, queue, due)
            self._ends += 1
            self._begin_again(event)

    def _begin_again(self, event: Event) -> None:
        """The next holder knows of no wait of the one before, and of no attempt."""
        self._found = 0
        self._busy.clear(event.at)
        for queue in self.run.lanes.values():
            queue.waiting = None
            if queue.open and queue.due is None:
                queue.due, queue.due_by = event.at, event

    def on_store_failed(self, event: Event, _body: gateway.StoreFailed) -> None:
        self._since, self._up = event.at, event

    def on_prepared(self, event: Event, _body: delivery.IntentPrepared) -> None:
        self._ends_before[event.intent or ""] = self._ends
        self._enqueue(event)

    def _enqueue(self, event: Event) -> None:
        queue = self.run.intents[event.intent or ""].queue
        if not queue.open:
            queue.due, queue.due_by = event.at, event
        queue.open[event.intent or ""] = None

    def on_operator_acted(self, event: Event, _body: delivery.OperatorActed, facts: IntentFacts) -> None:
        if not facts.closed:
            self._enqueue(event)

    def on_settled(self, event: Event, _body: delivery.IntentSettled, facts: IntentFacts) -> None:
        facts.queue.open.pop(event.intent or "", None)
        facts.queue.due, facts.queue.due_by = event.at, event
        facts.queue.waiting = None

    def on_recovered(self, event: Event, body: delivery.RecoveryDecided, facts: IntentFacts) -> None:
        """A look-up is due when the request can no longer arrive, and a resend that two processes ended in, later."""
        if body.at is None:
            return
        ended = self._ends - self._ends_before.get(event.intent or "", 0)
        if body.decision == "lookup" or (body.decision == "resend" and ended > 1):
            facts.queue.due, facts.queue.due_by = body.at, event

    def on_waiting(self, event: Event, body: delivery.LaneWaiting, facts: IntentFacts) -> None:
        facts.queue.due, facts.queue.due_by, facts.queue.waiting = body.until, event, event

    def on_started(self, event: Event, _body: delivery.AttemptStarted, facts: IntentFacts) -> None:
        self.exercised += 1
        queue = facts.queue
        self._busy.begins(queue.lane, event.at, self._workers)
        due, queue.due = queue.due, None
        if queue.waiting is not None:
            # No event records the end of the wait; this attempt shows that it ended.
            queue.waiting = None
        elif queue.open and due is not None and event.at - due > BOUND and event.at - self._since > BOUND:
            self._late(event, queue, max(due, self._since))

    def on_ended(self, event: Event, body: delivery.AttemptEnded, facts: IntentFacts) -> None:
        self._busy.ends(facts.queue.lane, event.at)
        facts.queue.due, facts.queue.due_by = event.at if body.retry_at is None else body.retry_at, event

    def _late(self, event: Event, queue: LaneFacts, due: float) -> None:
        rate = None if self.run.limits is None else self.run.limits.recovery_rate
        if rate is not None and event.at - due <= BOUND + self._found / rate:
            return
        if event.at - due - self._busy.between(due, event.at) <= BOUND:
            return  # no worker was free: the operator allows no more at once
        head = next(iter(queue.open), event.intent or "")
        facts: IntentFacts = self.run.intents[head]
        made_due = queue.due_by or facts.prepared
        if self._up is not None and self._since >= due and self._up.seq > made_due.seq:
            made_due = self._up
        summary = f"{head} was due at {due:.0f}s, and nothing was attempted in its conversation for a minute"
        expected = f"an attempt at {self.run.name(facts.body.address)} by {due + BOUND:.0f}s"
        self.accuse(event, summary, expected, facts.prepared, shown=event.kind, missing=made_due)

    def finish(self, last: Event) -> None:
        """Report due messages that were never attempted."""
        for queue in self.run.lanes.values():
            if not queue.open or queue.due is None:
                continue
            due = max(queue.due, self._since, self._healed if queue.waiting is not None else 0.0)
            if last.at - due > BOUND:
                self._late(last, queue, due)


class FifoDelivery(Checker, symptoms=("late",)):
    """O1: FIFO per conversation.

    Accepts in one conversation are in the order of preparation, over all paths; a later arrival belongs to an intent
    whose end was already recorded.
    """

    def on_accepted(self, event: Event, body: wire.WireAccepted, facts: IntentFacts) -> None:
        queue, seq = facts.queue, facts.prepared.seq
        newest = queue.newest
        if newest is None or newest[:2] < (seq, body.chunk):
            self.exercised += newest is not None
            queue.newest = (seq, body.chunk, event)
            return
        self.exercised += 1
        # D1 judges repeats. A request that arrives after the end of its intent was recorded as late.
        after = newest[2]
        if newest[:2] == (seq, body.chunk) or any(ended.seq < after.seq for ended in facts.settled):
            return
        if any(known.seq < after.seq and getattr(known.body, "chunk", None) == body.chunk for known in facts.accepts):
            return  # seen in its order before: the late first request of what was sent again
        summary = f"{event.intent} chunk {body.chunk + 1} was seen after {after.intent}, which was prepared later"
        expected = f"in the order of preparation at {self.run.name(facts.body.address)}"
        shown = [cited(e, f"{e.intent}") for e in (after, event)]
        self.accuse(event, summary, expected, facts.prepared, after, shown=shown, first_wrong=after.seq)


#: renewals are not recorded; a frozen process had renewed within this part of its lease
_RENEWED_WITHIN = 1 / 3
#: seconds after which an awake process has surely renewed its lease
_AWAKE = 1.0


class SingleClaim(Checker, symptoms=("twice",)):
    """D5: Single claim.

    One process at a time holds a store; it alone makes attempts, which never overlap on one intent; and each process
    starts, or restarts, a hand's run at most once.
    """

    #: the last claim, that of the holder
    _claim: Event | None = None
    #: process -> its claim
    _claims: dict[int, Event] = {}
    #: process -> when it froze, and when it resumed, if it did
    _still: dict[int, tuple[float, float | None]] = {}
    #: process -> until when its server takes it for dead; 0: all processes
    _cut: dict[int, float] = {}
    #: claims made while another process still held the store
    _wrong: set[int] = set()
    #: attempts in progress by intent
    _running: dict[str, Event] = {}
    #: starts of hands by delegation
    _hands: dict[str, Event] = {}

    def on_process_gone(self, event: Event, _body: ProcessCrashed | ProcessStopped) -> None:
        self._forget(event.generation)

    def on_process_frozen(self, event: Event, _body: ProcessFrozen) -> None:
        since = self._still_since(event.generation, event.at)
        self._still[event.generation] = (event.at if since is None else since, None)

    def on_process_thawed(self, event: Event, _body: ProcessThawed) -> None:
        since, _ = self._still.get(event.generation, (event.at, None))
        self._still[event.generation] = (since, event.at)

    def on_struck(self, event: Event, body: FaultFired) -> None:
        """A process that cannot reach the server of its store has lost its lock there, and does not renew its lease."""
        if body.fault == "server/slow":
            self._still[event.generation] = (event.at, event.at + (body.lasts or 0.0))
        elif body.fault.startswith("server/"):
            self._cut[event.generation] = event.at + (body.lasts or 0.0) + _AWAKE

    def _still_since(self, process: int, now: float) -> float | None:
        """Since when a process cannot have renewed its lease; none if it is awake."""
        since, awake = self._still.get(process, (None, 0.0))
        return since if awake is None or now - awake < _AWAKE else None

    def _forget(self, process: int) -> None:
        """Forget the attempts of a process that ended; D4 judges what is still on the wire."""
        for begun in (self._running, self._hands):
            for name in [name for name, started in begun.items() if started.generation == process]:
                del begun[name]

    def on_taken(self, event: Event, body: leases.LeaseTaken) -> None:
        self.exercised += 1
        before, self._claim = self._claim, event
        self._claims[event.generation] = event
        if before is not None and isinstance(before.body, leases.LeaseTaken) and body.token <= before.body.token:
            expected = f"a token after {before.body.token}, so that the store refuses what {_who(before)} still brings"
            self.accuse(event, f"the token went back to {body.token}", expected, before)
        if before is None or self.run.processes.gone(before.generation):
            return
        # A process that releases the lease is about to stop; any further attempt of it is judged.
        if body.reason is not Reason.LEASE_FREE and not self._had_run_out(before, event):
            self._wrong.add(event.seq)
            summary = f"{_who(event)} took the store while {_who(before)} held it"
            expected = f"it waits until {_who(before)} stops, dies, or does not renew its lease"
            shown = [_line(before), f"{_line(event)}: {body.reason.value}"]
            self.accuse(event, summary, expected, before, shown=shown)
        elif body.reason is not Reason.LEASE_FREE:
            self._forget(before.generation)

    def _had_run_out(self, before: Event, event: Event) -> bool:
        """Whether the lease of a live process can have expired: it must have been frozen for long enough."""
        if event.at <= max(self._cut.get(before.generation, 0.0), self._cut.get(0, 0.0)):
            return True
        since = self._still_since(before.generation, event.at)
        # Each process takes the lease for as long as it was configured then.
        lasts = min(e.body.until - e.at for e in (before, event) if isinstance(e.body, leases.LeaseTaken))
        return since is not None and event.at - since >= lasts * (1 - _RENEWED_WITHIN)

    def on_started(self, event: Event, _body: delivery.AttemptStarted) -> None:
        self.exercised += 1
        intent = event.intent or ""
        other = self._running.get(intent)
        self._running[intent] = event
        claim = self._claim
        if other is not None:
            expected = f"the attempt of #{other.seq} ends before another one begins"
            shown = [cited(e, f"attempt by {_who(e)}") for e in (other, event)]
            self.accuse(event, f"two attempts on {event.intent} overlap", expected, other, shown=shown)
        elif claim is not None and claim.generation != event.generation:
            self._outside(claim, event)

    def on_ended(self, event: Event, _body: delivery.AttemptEnded) -> None:
        started = self._running.get(event.intent or "")
        if started is not None and started.generation == event.generation:
            del self._running[event.intent or ""]

    def on_hand_started(self, event: Event, _body: hands.DelegationStarted) -> None:
        """The process that takes over may restart an unfinished run once."""
        self.exercised += 1
        other = self._hands.setdefault(event.delegation or "", event)
        if other is not event:
            expected = f"the hand that {_who(other)} started at #{other.seq}, and no other"
            shown = [cited(e, f"started by {_who(e)}") for e in (other, event)]
            self.accuse(event, f"{event.delegation} was started twice", expected, other, shown=shown)

    def _outside(self, claim: Event, event: Event) -> None:
        """Report an attempt without the lease. If another process took the lease wrongly, that was the first fault."""
        own = self._claims.get(event.generation)
        # A process that had released the lease would have stopped.
        free = isinstance(claim.body, leases.LeaseTaken) and claim.body.reason is Reason.LEASE_FREE
        robbed = own is not None and (free or claim.seq in self._wrong)
        lost = "does not hold the store" if own is None else "had lost the store"
        summary, expected = f"{_who(event)} tried to send {event.intent}, and {lost}", f"only {_who(claim)} sends"
        shown = [_line(claim), cited(event, f"attempt by {_who(event)}")]
        held, wrong = filter(None, (own, claim)), claim if robbed else event
        self.accuse(event, summary, f"{expected}, which holds the store", *held, shown=shown, first_wrong=wrong.seq)


def _who(event: Event) -> str:
    return f"process {event.generation}"


def _line(event: Event) -> str:
    return cited(event, f"{_who(event)} took the store")
