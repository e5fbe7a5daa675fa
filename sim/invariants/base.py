"""Base of the invariant checkers, and the judge that runs them.

A checker sees each event of a trace once, in order, and reports violations with their evidence as it finds them.
`finish` is called at the end of the trace, for promises that only the end can break. Checkers read nothing but the
trace, so live runs, recorded files and replays are judged alike. Catalogue and numbering: docs/invariants.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar

import msgspec

from trunkline.core.events import Event, EventLog
from trunkline.core.events.base import RunEnded
from trunkline.core.events.gateway import RunJoined
from trunkline.sim.events.attach import GatewayAttached
from trunkline.sim.index.projection import EventFeed, Handlers, Projection
from trunkline.sim.index.run_facts import RunFacts


class Status(StrEnum):
    """The verdict of a checker on a whole run."""

    OK = "ok"
    VIOLATED = "violated"
    #: nothing happened that the invariant is about, so it proves nothing
    NOT_EXERCISED = "not exercised"


class EvidenceKind(StrEnum):
    """The kind of evidence that an invariant's violations have, for views that mark events by it."""

    STEPS = "steps"
    #: every copy of one delivery
    COPIES = "copies"
    #: a delivery at the wrong place
    MISPLACED = "misplaced"
    #: a wrong mirror, or a delivery without one
    MIRRORS = "mirrors"
    #: a message that was taken more than once
    TAKEN_TWICE = "taken twice"


class Violation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A violation of an invariant, with its evidence."""

    #: id of the invariant, e.g. ``D2``
    invariant: str
    #: seq of the event at which it was detected
    at: int
    #: one sentence with the facts of this case
    summary: str
    expected: tuple[str, ...]
    actual: tuple[str, ...]
    #: seqs of the events that prove it, in order; D1 and D2 list every copy
    evidence: tuple[int, ...]
    #: seq of the first event that went wrong, if known; none if the promise was broken by an absence
    first_wrong: int | None = None
    #: seq of the right event that nothing followed, although something should have; `expected` says what
    missing_after: int | None = None

    @property
    def blamed(self) -> int | None:
        """The event where it went wrong: the first wrong one, or the one that nothing followed."""
        return self.missing_after if self.first_wrong is None else self.first_wrong

    @property
    def seqs(self) -> tuple[int, ...]:
        """The events that it is about, in order: its evidence, where it went wrong, and where it was detected."""
        blamed = self.blamed
        return tuple(sorted({*self.evidence, self.at, *([] if blamed is None else [blamed])}))


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict of one invariant on a run."""

    id: str
    title: str
    sentence: str
    status: Status
    #: how many times the invariant had something to judge
    exercised: int
    violations: tuple[Violation, ...]
    #: why it could not be judged, or not all of it; empty if it could
    note: str = ""


def cited(event: Event, what: str | None = None) -> str:
    """An event in a sentence: its number, its time, and the given words, by default its kind."""
    return f"#{event.seq} {event.at:.3f}s {event.kind if what is None else what}"


#: why the gateway's own promises are not judged of a run of which only the wire is known
_INSIDE = "not judged: it needs the inside of the gateway, and only the wire is known here"

#: why an upstream profile leaves invariants unjudged
_THEIR_KEYS = "not judged in profile {}: its keys and scopes follow rules of their own"


class Checker(Projection):
    """Base of all checkers: a subclass names the events that it takes and reports through `violate`."""

    id: ClassVar[str]
    #: a few words, e.g. ``Once per intent``
    title: ClassVar[str]
    #: the promise in one sentence
    sentence: ClassVar[str]
    #: what its evidence is
    evidence: ClassVar[EvidenceKind] = EvidenceKind.STEPS
    #: it is about our keys, scopes and links; in an upstream profile there is nothing that it could judge
    our_keys_only: ClassVar[bool] = False
    #: it can be judged of a trace that begins in the middle: it needs nothing from before
    from_anywhere: ClassVar[bool] = False
    #: the part of it that is about them; empty if there is none
    our_keys_part: ClassVar[str] = ""
    #: it judges runs of which only the wire is known, and no others
    wire_side: ClassVar[bool] = False

    def __init__(self, run: RunFacts) -> None:
        #: the facts of the run, up to and including the event that a handler gets
        self.run = run
        self.exercised: int = 0
        self.violations: list[Violation] = []
        #: why the end of the run is not judged
        self._note = ""
        #: why nothing of the run is judged
        self._off = ""

    def handlers(self) -> Handlers:
        """The bodies that it takes. Raises `TypeError` for a checker that takes none: it could never fail."""
        found = super().handlers()
        if not found:
            raise TypeError(f"{type(self).__name__} names no events")
        return found

    def finish(self, last: Event) -> None:
        """The trace has ended; `last` is its last event."""

    def cut(self, when: str) -> None:
        """The run was cut while it went on. `when`: e.g. ``after 9,000 events``."""
        if type(self).finish is not Checker.finish:
            self._note = f"not judged: the run was cut {when}"

    def join(self) -> None:
        """The trace begins in the middle of the run."""
        if not self.from_anywhere:
            self._off = "not judged: it needs the whole run, and this trace begins in the middle"

    def needs_the_inside(self) -> None:
        """Only the wire is known of the gateway."""
        self._off = _INSIDE

    def violate(
        self,
        *,
        at: int,
        summary: str,
        expected: Sequence[str],
        actual: Sequence[str],
        evidence: Sequence[int] = (),
        first_wrong: int | None = None,
        missing_after: int | None = None,
    ) -> None:
        """Report a violation. By default, the event that revealed it is the evidence and the first wrong one.

        With `missing_after`, no event is wrong: something should have followed that one, and nothing did.
        """
        if self._unjudged:
            return
        self.violations.append(
            Violation(
                invariant=self.id,
                at=at,
                summary=summary,
                expected=tuple(expected),
                actual=tuple(actual),
                evidence=tuple(evidence) or (at,),
                first_wrong=at if first_wrong is None and missing_after is None else first_wrong,
                missing_after=missing_after,
            )
        )

    @property
    def _unjudged(self) -> bool:
        return bool(self._off) or (self.our_keys_only and self.run.scopes.upstream)

    def verdict(self) -> Verdict:
        exercised = 0 if self._unjudged or (self._note and not self.violations) else self.exercised
        if self.violations:
            status = Status.VIOLATED
        else:
            status = Status.OK if exercised else Status.NOT_EXERCISED
        note = self._off or self._note
        if self.run.scopes.upstream and (self.our_keys_only or self.our_keys_part):
            part = f"{self.our_keys_part}: " if self.our_keys_part else ""
            note = note or f"{part}{_THEIR_KEYS.format(self.run.scopes.profile)}"
        return Verdict(
            id=self.id,
            title=self.title,
            sentence=self.sentence,
            status=status,
            exercised=exercised,
            violations=tuple(self.violations),
            note=note,
        )


class Judge:
    """Runs all checkers over one run; verdicts are available at any time.

    A run whose first event is `gateway.attached` is judged by the checkers of the wire side, any other run by the rest.
    """

    def __init__(self, checkers: Sequence[type[Checker]]) -> None:
        self.run = RunFacts()
        self._of_wire = tuple(checker for checker in checkers if checker.wire_side)
        self._checkers = tuple(checker(self.run) for checker in checkers if not checker.wire_side)
        # The facts come first: they include an event before any checker sees it.
        self._feed = EventFeed(self.run, *self._checkers)
        self._ended: Event | None = None

    def watch(self, log: EventLog) -> None:
        """Follow a log, event by event."""

        def begin_wire_side(event: Event) -> None:
            self._attach()
            self._feed.deliver(event)
            log.subscribe(self._feed.deliver, *self._feed.handlers)

        log.subscribe(begin_wire_side, GatewayAttached)
        log.subscribe(self._feed.deliver, *self._feed.handlers)
        log.subscribe(self._end, RunEnded)

    def see(self, event: Event) -> None:
        """Deliver one event to the facts and checkers that take it."""
        if type(event.body) is RunEnded:
            self._end(event)
        elif type(event.body) is RunJoined:
            for checker in self._checkers:
                checker.join()
        elif type(event.body) is GatewayAttached:
            self._attach()
        self._feed.deliver(event)

    def _attach(self) -> None:
        """Only the wire is known of this run."""
        for checker in self._checkers:
            checker.needs_the_inside()
        found = tuple(checker(self.run) for checker in self._of_wire)
        # What follows the old feed gets nothing more from it.
        self._feed.handlers.clear()
        self._feed = EventFeed(self.run, self.run.wire_side, *found)
        self._checkers = (*self._checkers, *found)

    def _end(self, event: Event) -> None:
        self._ended = event

    def finish(self) -> None:
        """End the trace. Of one that was cut, promises that only the end can break are not judged."""
        ended = self._ended
        if ended is None or not isinstance(ended.body, RunEnded):
            return
        for checker in self._checkers:
            if ended.body.cut:
                checker.cut(ended.body.cut)
            else:
                checker.finish(ended)

    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict of each checker, in the order of the catalogue."""
        return tuple(checker.verdict() for checker in self._checkers)

    def violations(self) -> list[Violation]:
        """All violations so far, in order of the event at which they were detected."""
        found = [violation for checker in self._checkers for violation in checker.violations]
        return sorted(found, key=lambda violation: (violation.at, violation.invariant))
