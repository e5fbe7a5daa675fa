"""The limits of attempts, and readiness before them: L4 and L5."""

from math import inf

from trunkline.core.events import Event, delivery, gateway, leases
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState
from trunkline.sim.events import processes, wire, world
from trunkline.sim.index.run_facts import IntentFacts, Lane, RunFacts
from trunkline.sim.invariants.base import Checker

#: tolerance in seconds: times are rounded in events, and a write happens between the check and the send
_SLACK = 1.0
#: seconds within which a gateway hears that a place was opened
_HEARD = 5.0
#: decisions after which an attempt goes on by another way, at once
_GOES_ON = ("fallback", "as-bot")

#: ends without a receipt that nobody but the gateway decides
_GIVEN_UP = (IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED, IntentState.PARTIAL)
_Account = tuple[str, str]


class BoundedAttempts(Checker, symptoms=("late",)):
    """L5: Bounded retries, age and rate.

    Attempts stay within the configured number, age and waits; a platform that asks to wait is left alone for that time;
    a permanent refusal is final, and a closed place is none: what waits for it goes when it is open; and recovered
    messages are sent at the configured rate.
    """

    from_anywhere = True

    #: attempts that the platform asked to delay, until the gateway has heard so -> the refusal
    _asked: dict[tuple[str, int, int], Event] = {}
    #: intent -> until when its platform asked to leave it alone, and the refusal
    _wait: dict[str, tuple[float, Event]] = {}
    #: intent -> the limits by which its next attempt was planned: a reload changes what is planned after it
    _planned: dict[str, world.WorldLimits] = {}
    #: intent -> attempts on its next chunk that went on by the other transport, or as the bot
    _went_on: dict[str, int] = {}
    #: intent -> attempts at its next chunk that a death may have interrupted
    _interrupted: dict[str, int] = {}
    #: intent -> the last refusal of it, by a closed place
    _at_closed: dict[str, Event] = {}
    #: intent -> when its last attempt left
    _left: dict[str, float] = {}
    #: account that has connected, or conversation and thread that are open again -> when
    _opened: dict[tuple[str, ...], float] = {}
    #: process -> until when its store refuses, so that it can remember nothing
    _refusing: dict[int, float] = {}
    #: process and account -> first attempt of each recovered message that it has sent
    _paced: dict[tuple[int, _Account], dict[str, Event]] = {}

    def on_process_died(self, event: Event, _body: processes.ProcessCrashed | processes.ProcessStopped) -> None:
        """Forget the waits that only the dead process knew."""
        gone = event.generation
        self._asked = {attempt: wait for attempt, wait in self._asked.items() if self._asks(attempt[0]) != gone}

    def _asks(self, intent: str) -> int | None:
        """The process that made the last attempt on an intent."""
        facts = self.run.intents.get(intent)
        return None if facts is None or facts.started is None else facts.started.generation

    def on_may_be_open(self, event: Event, body: world.PlatformConnected | world.ThreadReopened) -> None:
        connected = isinstance(body, world.PlatformConnected)
        self._opened[(body.channel, body.account) if connected else body.address.lane[2:]] = event.at

    def on_store_refused(self, event: Event, body: gateway.StoreFailed) -> None:
        self._refusing[event.generation] = event.at + body.retry_in

    def on_refused(self, event: Event, body: wire.WireRefused) -> None:
        asks = self._asks(event.intent or "")
        if body.reason is Reason.PLACE_CLOSED:
            self._at_closed[event.intent or ""] = event
        if body.retry_after is not None and not (asks is not None and self.run.processes.gone(asks)):
            self._asked[event.intent or "", body.chunk, body.attempt] = event

    def on_ended(self, event: Event, body: delivery.AttemptEnded) -> None:
        intent = event.intent or ""
        if body.decision in _GOES_ON:
            self._went_on[intent] = self._went_on.get(intent, 0) + 1
        elif body.reason is Reason.PLACE_CLOSED and intent not in self._at_closed and body.attempt > 1:
            # Only the first attempt at a closed place counts, but this place was not closed.
            self._went_on[intent] = self._went_on.get(intent, 0) - 1
        refused = self._asked.pop((intent, body.chunk, body.attempt), None)
        if body.reason is Reason.RESPONSE_LOST:
            refused = None  # it came too late to be heard
        if self.run.limits is not None and body.retry_at is not None:
            self._planned[intent] = self.run.limits
        if refused is not None and isinstance(refused.body, wire.WireRefused) and refused.body.retry_after is not None:
            self._wait[intent] = (refused.at + refused.body.retry_after, refused)
        elif self._wait:
            self._wait.pop(intent, None)

    def on_settled(self, event: Event, body: delivery.IntentSettled, facts: IntentFacts) -> None:
        """A message that a closed place refused may live as long as any other: the place may be opened again.

        A notice goes to the room, a bound thread is opened or its binding ends, and best effort is one attempt.
        """
        refused = self._at_closed.pop(event.intent or "", None)
        if refused is None or self.run.limits is None or body.state not in _GIVEN_UP:
            return
        intent, begun = facts.body, facts.prepared if facts.reopened is None else facts.reopened
        if facts.prepared.binding is not None or intent.intent_kind is IntentKind.NOTICE or intent.best_effort:
            return
        planned = self._planned.get(event.intent or "", self.run.limits)
        age = min(planned.max_age, self.run.limits.max_age)
        if event.at - begun.at < age - _SLACK:
            summary = f"{event.intent} was given up after {event.at - begun.at:.0f} s, as its place was closed"
            expected = f"it is sent if its place is opened within {age:.0f} s"
            self.accuse(event, summary, expected, refused, shown=body.state.value)

    def on_recovered(self, event: Event, body: delivery.RecoveryDecided) -> None:
        if body.decision in ("resend", "lookup"):
            intent = event.intent or ""
            self._interrupted[intent] = self._interrupted.get(intent, 0) + 1

    def on_counts_from_zero(self, event: Event, _body: delivery.ChunkAcked | delivery.OperatorActed) -> None:
        """The next chunk, or an operator's order, has attempts of its own."""
        self._interrupted.pop(event.intent or "", None)
        self._went_on.pop(event.intent or "", None)

    def on_started(self, event: Event, _body: delivery.AttemptStarted, facts: IntentFacts) -> None:
        closed = self._at_closed.pop(event.intent or "", None) is not None
        limits = self.run.limits
        self.exercised += 1
        if limits is not None:
            planned = self._planned.get(event.intent or "", limits)
            begun = facts.prepared if facts.reopened is None else facts.reopened
            if facts.tries > 1 or event.at - begun.at > limits.max_age or planned is not limits:
                self._within(event, facts, (limits, planned), closed=closed)
            if limits.recovery_rate is not None:
                self._at_rate(event, limits.recovery_rate)
        if facts.ended is not None:
            self._after(event, facts, facts.ended)
        self._left[event.intent or ""] = event.at

    def _within(
        self, event: Event, facts: IntentFacts, either: tuple[world.WorldLimits, world.WorldLimits], *, closed: bool
    ) -> None:
        """Compare an attempt with the limits of now, and with those by which it was planned.

        `closed`: a closed place refused the one before, after which only its age can keep it from another one.
        """
        begun = facts.prepared if facts.reopened is None else facts.reopened
        attempts, age = max(limits.max_attempts for limits in either), max(limits.max_age for limits in either)
        interrupted = min(
            self._interrupted.get(event.intent or "", 0), max(limits.max_interrupted for limits in either)
        )
        # What goes on by the other transport provably did not reach the platform: it is one attempt with what follows.
        made = facts.tries - self._went_on.get(event.intent or "", 0) - closed
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
        assert isinstance(said, delivery.AttemptEnded)
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
        lane = facts.body.address.lane
        opened = max(self._opened.get(lane[:2], 0.0), self._opened.get(lane[2:], 0.0))
        # The gateway hears of it later, perhaps only after the refusal by a place that was closed again.
        if said.reason is Reason.PLACE_CLOSED and opened + _HEARD >= self._left.get(event.intent or "", before.at):
            return
        self._report(event, f"{event.intent} was tried again too early", f"not before {said.retry_at:.3f}s", before)

    def _at_rate(self, event: Event, rate: float) -> None:
        """Check the rate at which each account sends recovered messages."""
        recovered = self.run.recovered.get(event.intent or "")
        body = event.body
        if (
            recovered is None
            or recovered.generation != event.generation
            or not isinstance(body, delivery.AttemptStarted)
        ):
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
        self.accuse(event, summary, bound, since, shown="an attempt")


class UnmadeAttempts:
    """Attempts of the next chunk that no ``attempt.started`` shows: failed look-ups, and deaths.

    The first attempt of a chunk may leave no trace in the store, so the process after a death may count one. After
    that, a process may have been about to make one only if it could: not while its adapter was not ready, before the
    announced time, or while a look-up was due.
    """

    def __init__(self, run: RunFacts) -> None:
        self._run = run
        #: intent -> since when its process could make an attempt that no event records; not in here: since it has it
        self._since: dict[str, float] = {}
        #: intent -> such attempts, and failed look-ups, of its next chunk
        self._possible: dict[str, int] = {}
        #: intent -> the limit when its last attempt ended
        self._limits: dict[str, int] = {}
        #: when the holder of the store died
        self._died = -inf

    def waits(self, event: Event) -> None:
        """The adapter of an intent is missing or not ready."""
        self._since[event.intent or ""] = inf

    def note_attempt(self, event: Event) -> None:
        """An attempt that is recorded."""
        self._since[event.intent or ""] = inf

    def note_outcome(self, event: Event, body: delivery.AttemptEnded) -> None:
        """An attempt or a look-up has its outcome."""
        intent, limits = event.intent or "", self._run.limits
        self._since[intent] = inf if body.decision == "lookup" else body.retry_at or event.at
        if body.reason is Reason.LOOKUP_FAILED:
            self._possible[intent] = self._possible.get(intent, 0) + 1
        if limits is not None:
            self._limits[intent] = limits.max_attempts

    def note_end(self, event: Event) -> None:
        """A process ended."""
        if self._run.processes.holds(event.generation):
            self._died = event.at

    def note_recovery(self, event: Event, body: delivery.RecoveryDecided) -> None:
        """The next process decides. The one before may have made an attempt, unless this one is sure."""
        intent = event.intent or ""
        facts = self._run.intents.get(intent)
        if facts is not None and body.decision != "send":
            first = not facts.tries and intent not in self._possible
            if first or self._since.get(intent, facts.prepared.at) <= self._died:
                self._possible[intent] = self._possible.get(intent, 0) + 1
        self._since[intent] = inf if body.decision == "lookup" else body.at or event.at

    def forget(self, event: Event) -> None:
        """Attempts count from zero."""
        for known in (self._since, self._possible, self._limits):
            known.pop(event.intent or "", None)
        self._since[event.intent or ""] = event.at

    def gave_up(self, event: Event, body: delivery.IntentSettled) -> bool:
        """Whether an intent ended because its attempts were used up."""
        return body.reason is Reason.ATTEMPTS_EXHAUSTED or self.decided_by(event) is not event

    def decided_by(self, event: Event) -> Event:
        """The step that decided to give up: a recovery, else the end itself."""
        recovered = self._run.recovered.get(event.intent or "")
        if recovered is None or recovered.seq != event.cause:
            return event
        return recovered if getattr(recovered.body, "reason", None) is Reason.ATTEMPTS_EXHAUSTED else event

    def possible(self, intent: str) -> int:
        return self._possible.get(intent, 0)

    def allowed(self, facts: IntentFacts) -> int | None:
        """The attempts that the next chunk of an intent has; none if unknown. Best effort has one."""
        limits = self._run.limits
        if limits is None or facts.body.best_effort:
            return None if limits is None else 1
        return min(limits.max_attempts, self._limits.get(facts.prepared.intent or "", limits.max_attempts))


_ABSENT = (Reason.NOT_READY, Reason.NO_ADAPTER)
#: states that only a platform's answer justifies
_VERDICTS = (IntentState.FAILED, IntentState.DEAD)


class ReadyFirst(Checker, symptoms=("lost",)):
    """L4: Readiness before recovery.

    No attempt is made before the channel is ready, an attempt is counted for each one that is made, and only a platform
    can refuse for good.
    """

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: account -> what waits for it: a conversation if it is not ready, None without an adapter -> the event
        self._absent: dict[_Account, dict[Lane | None, Event]] = {}
        #: counted attempts without an attempt.started: of a process that died, and failed look-ups
        self._more: dict[str, int] = {}
        #: the accounts that the holder of the store has connected
        self._connected: set[_Account] = set()
        #: processes that died: each may have counted an attempt in its last write without recording the event
        self._deaths = 0
        self._unmade = UnmadeAttempts(run)

    def on_process_up(self, event: Event, _body: gateway.ProcessStarted | leases.LeaseTaken) -> None:
        if self.run.processes.holds(event.generation):
            self._connected.clear()

    def on_platform_connected(self, event: Event, body: world.PlatformConnected) -> None:
        self._connected.add((body.channel, body.account))

    def on_waiting(self, event: Event, body: delivery.LaneWaiting) -> None:
        if body.reason not in _ABSENT:
            return
        self.exercised += 1
        self._unmade.waits(event)
        place = body.address
        # Without an adapter no conversation can send. Whether one is ready, each conversation asks for itself.
        lane = None if body.reason is Reason.NO_ADAPTER else place.lane
        absent = self._absent.setdefault((place.channel, place.account), {})
        before = absent.get(lane)
        if before is None or not isinstance(before.body, delivery.LaneWaiting) or before.body.until <= event.at:
            absent[lane] = event

    def on_installed(self, event: Event, body: leases.AdapterInstalled) -> None:
        self._absent.pop((body.channel, body.account), None)

    def on_process_gone(self, event: Event, _body: processes.ProcessCrashed | processes.ProcessStopped) -> None:
        gone = event.generation
        for account, absent in self._absent.items():
            self._absent[account] = {lane: tried for lane, tried in absent.items() if tried.generation != gone}
        self._deaths += 1
        self._unmade.note_end(event)

    def on_recovered(self, event: Event, body: delivery.RecoveryDecided) -> None:
        self._one_more(event)
        self._unmade.note_recovery(event, body)

    def _one_more(self, event: Event) -> None:
        self._more[event.intent or ""] = self._more.get(event.intent or "", 0) + 1

    def on_ended(self, event: Event, body: delivery.AttemptEnded) -> None:
        self._unmade.note_outcome(event, body)
        if body.reason is Reason.LOOKUP_FAILED:
            self._one_more(event)

    def on_counts_anew(self, event: Event, _body: delivery.ChunkAcked | delivery.OperatorActed) -> None:
        """The next chunk, or an operator's order, has attempts of its own."""
        self._unmade.forget(event)

    def on_started(self, event: Event, body: delivery.AttemptStarted) -> None:
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
        summary = f"{event.intent} chunk {body.chunk + 1} counts {body.attempt} attempts; it has made {facts.tries}"
        expected = f"attempt {facts.tries}" if most == facts.tries else f"attempt {facts.tries} to {most}"
        self.accuse(event, summary, expected, facts.prepared, shown=f"attempt {body.attempt}")

    def _too_early(self, event: Event, body: delivery.AttemptStarted) -> None:
        """An account that was not ready is tried again no earlier than the announced time."""
        account = (body.address.channel, body.address.account)
        absent = self._absent.get(account, {})
        since = absent.get(None) or absent.get(body.address.lane)
        if since is None or not isinstance(since.body, delivery.LaneWaiting) or event.at + _SLACK >= since.body.until:
            # It is ready: for all its conversations, whenever they look again.
            self._absent.pop(account, None)
            return
        if body.chunk:
            return
        summary = f"{event.intent} was attempted while {account[0]}:{account[1]} was not ready"
        expected = f"no attempt before {since.body.until:.3f}s: {since.body.reason.value}"
        self.accuse(event, summary, expected, since, shown=f"attempt {body.attempt}")

    def on_settled(self, event: Event, body: delivery.IntentSettled, facts: IntentFacts) -> None:
        if facts.closed:
            return
        if self._unmade.gave_up(event, body):
            self._used_up(event, body, facts)
        elif body.state in _VERDICTS:
            self._refused_for_good(event, body, facts)

    def _used_up(self, event: Event, body: delivery.IntentSettled, facts: IntentFacts) -> None:
        """All allowed attempts were used only if so many were made."""
        self.exercised += 1
        allowed = self._unmade.allowed(facts)
        made = facts.tries + self._unmade.possible(event.intent or "")
        if allowed is None or made >= allowed:
            return
        summary = f"{event.intent} was given up: {body.attempts} attempts are counted, {facts.tries} were made"
        expected = f"{allowed} attempts of chunk {facts.acked + 1} before it is given up"
        seen = f"{body.state.value} after {facts.tries} attempts"
        self.accuse(
            event, summary, expected, facts.prepared, shown=seen, first_wrong=self._unmade.decided_by(event).seq
        )

    def _has_no_message(self, body: delivery.IntentSettled, facts: IntentFacts) -> bool:
        """Whether a change has ended because its message is not there, and it is so."""
        if body.reason not in (Reason.NOTHING_TO_CHANGE, Reason.OTHER_CONVERSATION):
            return False
        message = self.run.intents.get(facts.body.of or "")
        account = self.run.accounts.get((facts.body.address.channel, facts.body.address.account))
        nameless = account is not None and account.nameless
        return message is None or nameless or message.vouched or message.acked <= facts.acked or _is_astray(message)

    def _refused_for_good(self, event: Event, body: delivery.IntentSettled, facts: IntentFacts) -> None:
        self.exercised += 1
        account = (facts.body.address.channel, facts.body.address.account)
        asked = not self.run.witnessed or facts.refused is not None or account in self._connected
        if self._has_no_message(body, facts):
            return
        if body.reason is Reason.BROKEN_ROW or (facts.started is not None and asked and body.reason not in _ABSENT):
            return
        summary = f"{event.intent} was given up for good ({body.reason.value}), though no platform refused it"
        seen = f"{body.state.value} after {body.attempts} attempts"
        self.accuse(event, summary, "it waits until its channel is ready or it expires", facts.prepared, shown=seen)


def _is_astray(message: IntentFacts) -> bool:
    """Whether a message arrived at another place than it was sent to."""
    return any(
        isinstance(e.body, delivery.IntentSettled) and e.body.state is IntentState.MISPLACED for e in message.settled
    )
