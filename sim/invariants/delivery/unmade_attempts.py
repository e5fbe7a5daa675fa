"""Counts the attempts of an intent that may have been made although no event records them, for L4."""

from __future__ import annotations

from math import inf

from trunkline.core.events import Event
from trunkline.core.events.delivery import AttemptEnded, IntentSettled, RecoveryDecided
from trunkline.core.reasons import Reason
from trunkline.sim.index.run_facts import IntentFacts, RunFacts


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

    # ------------------------------------------------------------ folding

    def waits(self, event: Event) -> None:
        """The adapter of an intent is missing or not ready."""
        self._since[event.intent or ""] = inf

    def note_attempt(self, event: Event) -> None:
        """An attempt that is recorded."""
        self._since[event.intent or ""] = inf

    def note_outcome(self, event: Event, body: AttemptEnded) -> None:
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

    def note_recovery(self, event: Event, body: RecoveryDecided) -> None:
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

    # ------------------------------------------------------------ questions

    def gave_up(self, event: Event, body: IntentSettled) -> bool:
        """Whether an intent ended because its attempts were used up."""
        return body.reason is Reason.ATTEMPTS_EXHAUSTED or self._by_recovery(event) is not None

    def _by_recovery(self, event: Event) -> Event | None:
        recovered = self._run.recovered.get(event.intent or "")
        if recovered is None or recovered.seq != event.cause or not isinstance(recovered.body, RecoveryDecided):
            return None
        return recovered if recovered.body.reason is Reason.ATTEMPTS_EXHAUSTED else None

    def miscounted(self, event: Event, _body: IntentSettled) -> int:
        """The step that decided to give up: a recovery, else the end itself."""
        recovered = self._by_recovery(event)
        return event.seq if recovered is None else recovered.seq

    def possible(self, intent: str) -> int:
        return self._possible.get(intent, 0)

    def allowed(self, facts: IntentFacts) -> int | None:
        """The attempts that the next chunk of an intent has; none if unknown. Best effort has one."""
        limits = self._run.limits
        if limits is None or facts.body.best_effort:
            return None if limits is None else 1
        return min(limits.max_attempts, self._limits.get(facts.prepared.intent or "", limits.max_attempts))
