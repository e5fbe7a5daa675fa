"""A store has one owner at a time: D5."""

from trunkline.core.events import Event, delivery, hands, leases
from trunkline.core.reasons import Reason
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.script import FaultFired
from trunkline.sim.invariants.base import Checker, cited

#: renewals are not recorded; a frozen process had renewed within this part of its lease
_RENEWED_WITHIN = 1 / 3
#: seconds after which an awake process has surely renewed its lease
_AWAKE = 1.0


class SingleClaim(Checker):
    """D5: a process sends only while it holds the store's lease; attempts and runs of hands never overlap."""

    title = "Single claim"
    sentence = (
        "One process at a time holds a store; it alone makes attempts, which never overlap on one intent; and each "
        "process starts, or restarts, a hand's run at most once."
    )

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

    # ------------------------------------------------------------ processes

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

    # ------------------------------------------------------------ claims

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

    # ------------------------------------------------------------ attempts

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
