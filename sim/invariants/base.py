"""Base of the invariant checkers, and the judge that runs them.

A checker sees each event of a trace once, in order, and reports violations with their evidence as it finds them.
`finish` is called at the end of the trace, for promises that only the end can break. Checkers read nothing but the
trace, so live runs, recorded files and replays are judged alike. Catalogue and numbering: docs/invariants.md.

How to write a checker that cannot lie
======================================

A checker lies in one of two ways: it accuses a gateway that is right, or it passes one that is wrong. Both are worse
than no checker. A false accusation costs somebody a day, and us every later finding; a checker that passes all makes a
scenario green that proves nothing. The rules below come from checkers that lied. They are in the order in which you
will need them.

1. *Believe the world, not the gateway.* Who said what, what a platform accepted, refused and showed, what a hook or a
   hand returned, which process was alive: these are facts, recorded by those to whom they happened. What the gateway
   records is its story. A gateway that decides wrongly has a consistent story, so a checker that compares one part of
   it with another part finds nothing. Compare the story with the facts (L3: "delivered" against `wire.accepted`), or
   facts with facts (R1: the place of `peer.said` against the place of `wire.accepted`). Two things of the gateway's own
   may be used: promises (a fallback that it announced, a route that it froze) and names (which intent, which turn).
   A reason code explains a violation; it never excuses one.

2. *Ask the run for facts, and keep the rest.* `RunFacts` and its parts have folded the event before you get it. What
   two checkers need belongs there (`sim.index`), not in a base class of the two. What is left in a checker is the
   promise itself, which should fit on a screen.

3. *Say what you expected before you look.* A good handler has three parts: what does this event promise or owe, from
   the facts before it; is that so; if not, `accuse`. Where the promise is due later, store the debt when it arises,
   pay it when its event comes, and report in `finish` what is left. A debt has an owner: when a process dies, forget
   what it alone could have paid (`ProcessCrashed`, `ProcessStopped`), and nothing else. Most false accusations of this
   project were debts of a dead process.

4. *Time is a fact of its own.* An event is recorded when it happened, which is not when its cause was committed, nor
   when the gateway knew of it. Before you compare two times, ask on which clock each stands (the script may set the
   wall clock: `RunFacts.heartbeats.wall`), and who could know of the first at the second. Between "too late" and "not
   yet" lies whatever the network, a frozen process or a full disk may add; L6, for example, counts only seconds in
   which a process was awake and a worker was free. If the bound cannot be computed from facts, it is no promise.

5. *Excuses are facts too, and as exact as the accusation.* "A platform refused it" excuses this chunk, at this place,
   after that refusal; it does not excuse the run. Write an excuse as a question with a name (`_is_notice_again`), next
   to the sentence of the promise that allows it. If the sentence does not, change the sentence first: `sentence` is
   what people read, and a checker that knows more exceptions than its sentence is not that checker.

6. *Count what was at stake.* `exercised` goes up where the promise could have been broken, whether it was or not, and
   only there. A checker that counts every event claims to have proved what was never in doubt. "Not exercised" is an
   honest verdict, and scenarios name the invariants that they must exercise.

7. *Blame the step, not the victim.* `at` is where it showed, `evidence` what proves it, in order; with these alone a
   reader must come to the same verdict. `first_wrong` is the earliest event that broke this promise, never one that the
   run without the defect has too. Where nothing happened, no event is wrong: give `missing_after`, the last one that
   was right. `expected` and `actual` are sentences of this case, with names of the scenario (`run.name`) and numbers of
   events (`cited`), not of the promise in general.

8. *Know what you do not know.* A trace may lack the beginning (`join`: `from_anywhere` says that a checker needs none
   of it), the end (`cut`: then `finish` is not called, and the verdict has a note), the world (a recorded gateway:
   `RunFacts.witnessed`), or the inside (`wire_side`). A response that was lost is not a refusal. A platform without
   message ids, without keys or without history answers no question about them. In each case the verdict is "not
   exercised", with a note, and never a guess. On the wire side this goes furthest: nothing is claimed while a later
   event could still excuse it (`WholeRunChecker`), because those findings are about programs of other people.

9. *Be deterministic and cheap.* A checker runs after every event of every run, in the app too. Work per event must not
   grow with the run: use dictionaries by lane, intent or mark, and drop what has ended. Order comes from the trace,
   never from a set. No clocks, no files, no randomness; the same trace gives the same verdict, byte for byte.

10. *Prove it twice.* A checker counts only with a bug switch (`sim.bugs`) that breaks the promise and that this checker
    catches, in a scenario that holds without the switch. Then let it see all that it must not accuse: every scenario,
    with a crash at every commit, the random scenarios, the recorded traces of real gateways. When it accuses one
    wrongly, the case becomes a test beside the checker, and usually a fact in `sim.index` that was missing.

The shape of one, shortened from P2 ("a dry run has no effect")::

    def on_previewed(self, event: Event, body: SendPreviewed):    # the promise is at stake from now on
        self.exercised += 1
        self._previews[event.cause] = event

    def on_effect(self, event: Event, body: IntentPrepared | WireAccepted):    # what happened since, also in the world
        preview = self._previews.get(event.cause)
        if preview is not None:
            expected = "no effect except the answer to the caller"
            self.accuse(event, f"a dry run has an effect: {event.kind}", expected, preview)
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar, Literal

import msgspec

from trunkline.core.events import Event, EventLog, base, gateway
from trunkline.sim.events.attach import GatewayAttached
from trunkline.sim.index.projection import EventFeed, Handlers, Projection
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.scenario.names import PluginError


class Status(StrEnum):
    """The verdict of a checker on a whole run."""

    OK = "ok"
    VIOLATED = "violated"
    #: nothing happened that the invariant is about, so it proves nothing
    NOT_EXERCISED = "not exercised"


#: what people notice of a broken promise
Symptom = Literal["twice", "lost", "late", "wrong place", "leaked", "forgot", "unasked"]


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
    #: the steps that led to it, where the causes of its last evidence do not say that; empty: they do
    path: tuple[int, ...] = ()

    @property
    def blamed(self) -> int | None:
        """The event where the run went wrong: the first wrong one, or the one that nothing followed."""
        return self.missing_after if self.first_wrong is None else self.first_wrong

    @property
    def seqs(self) -> tuple[int, ...]:
        """The events of the violation, in order: evidence, where the run went wrong, and where that was detected."""
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
    #: what is kept, and not as people would wish: notified only when they ask again
    remarks: tuple[str, ...] = ()
    #: the plug-in that the invariant comes from, with its version; empty for one of ours
    origin: str = ""
    #: it needs nothing but the wire
    wire_side: bool = False

    @property
    def name(self) -> str:
        """Title and origin."""
        return f"{self.title} (plug-in {self.origin})" if self.origin else self.title


def cited(event: Event, what: str | None = None) -> str:
    """An event in a sentence: its number, its time, and the given words, by default its kind."""
    return f"#{event.seq} {event.at:.3f}s {event.kind if what is None else what}"


_ID = re.compile(r"([A-Z]\d+): ")
#: why the gateway's own promises are not judged of a run of which only the wire is known
_INSIDE = "not judged: it needs the inside of the gateway, and only the wire is known here"

#: why an upstream profile leaves invariants unjudged
_THEIR_KEYS = "not judged in profile {}: its keys and scopes follow rules of their own"


class Checker(Projection):
    """Base of all checkers: a subclass takes events and reports through `violate`.

    Its docstring begins with its id and its title, and goes on with its sentence.

    `symptoms`: what people notice where the promise is broken.
    """

    #: e.g. ``D2``, of a docstring that begins with ``D2:``; one that begins otherwise is a base of others, or says it
    id: ClassVar[str]
    #: a few words, e.g. ``Once per intent``; with the sentence of the docstring, or a value of the class
    title: ClassVar[str]
    #: the promise in one sentence
    sentence: ClassVar[str]
    symptoms: ClassVar[Sequence[Symptom]] = ()
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
    #: the plug-in that it comes from; empty for one of ours
    origin: ClassVar[str] = ""
    #: what it raised itself: its plug-in is to blame, and nothing is judged
    error: PluginError | None = None

    def __init_subclass__(cls, *, symptoms: Sequence[Symptom] = (), **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.symptoms = symptoms or cls.symptoms
        doc = vars(cls).get("__doc__") or ""
        if "id" not in vars(cls) and (named := _ID.match(doc)):
            cls.id = named[1]
            title, _, sentence = doc[named.end() :].partition("\n\n")
            if sentence and "title" not in vars(cls):
                cls.title, cls.sentence = title.rstrip("."), " ".join(sentence.partition("\n\n")[0].split())

    def __init__(self, run: RunFacts) -> None:
        #: the facts of the run, up to and including the event that a handler gets
        self.run = run
        self.exercised: int = 0
        self.violations: list[Violation] = []
        self._remarks: list[str] = []
        #: why the end of the run is not judged
        self._note = ""
        #: why nothing of the run is judged
        self._off = ""

    def handlers(self) -> Handlers:
        """The handlers of the checker. Raises `TypeError` for a checker without any: it could never fail."""
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
        path: Sequence[int] = (),
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
                path=tuple(path),
            )
        )

    def accuse(
        self,
        event: Event,
        summary: str,
        expected: str,
        *causes: Event,
        shown: str | Sequence[str] | None = None,
        missing: Event | None = None,
        first_wrong: int | None = None,
    ) -> None:
        """Report a violation that an event shows. `causes`: what led to it; `missing`: what nothing followed.

        `shown`: what the event shows, in words, or whole lines; by default, causes and event are cited as they are.
        """
        if shown is None:
            shown = [cited(known) for known in (*causes, event)]
        self.violate(
            at=event.seq,
            summary=summary,
            expected=[expected],
            actual=[cited(event, shown)] if isinstance(shown, str) else shown,
            evidence=sorted({event.seq, *(known.seq for known in causes)}),
            first_wrong=first_wrong,
            missing_after=None if missing is None else missing.seq,
        )

    def miss(
        self, last: Event, after: Event, summary: str, expected: str, *causes: Event, shown: str | Sequence[str]
    ) -> None:
        """Report at the end of the run that nothing followed an event. `shown`: what that one shows, or whole lines."""
        self.violate(
            at=last.seq,
            summary=summary,
            expected=[expected],
            actual=[cited(after, shown)] if isinstance(shown, str) else shown,
            evidence=sorted({after.seq, *(known.seq for known in causes)}),
            missing_after=after.seq,
        )

    def remark(self, text: str) -> None:
        """Say of a kept promise what people would not wish."""
        if not self._unjudged:
            self._remarks.append(text)

    @property
    def _unjudged(self) -> bool:
        return bool(self._off) or self.error is not None or (self.our_keys_only and self.run.scopes.upstream)

    def verdict(self) -> Verdict:
        exercised = 0 if self._unjudged or (self._note and not self.violations) else self.exercised
        if self.violations:
            status = Status.VIOLATED
        else:
            status = Status.OK if exercised else Status.NOT_EXERCISED
        note = self._off or self._note or ("" if self.error is None else self.error.facts)
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
            remarks=tuple(self._remarks),
            origin=self.origin,
            wire_side=self.wire_side,
        )


class Judge:
    """Runs all checkers over one run; verdicts are available at any time.

    A run whose first event is `gateway.attached` is judged by the checkers of the wire side, any other run by the rest.
    `own_words`: it is known that its gateway asks no model (`has_own_words`), which only the whole run can show.
    """

    def __init__(self, checkers: Sequence[type[Checker]], *, own_words: bool = False) -> None:
        self.run = RunFacts()
        self.run.wire_side.messages.own_words = own_words
        self._of_wire = tuple(checker for checker in checkers if checker.wire_side)
        self._checkers = tuple(checker(self.run) for checker in checkers if not checker.wire_side)
        # The facts come first: they include an event before any checker sees it.
        self._feed = EventFeed(self.run, *self._checkers, intents=self.run.intents)
        self._ended: Event | None = None

    def watch(self, log: EventLog) -> None:
        """Follow a log, event by event."""

        def begin_wire_side(event: Event) -> None:
            self._attach()
            self._feed.deliver(event)
            log.subscribe(self._feed.deliver, *self._feed.handlers)

        log.subscribe(begin_wire_side, GatewayAttached)
        log.subscribe(self._feed.deliver, *self._feed.handlers)
        log.subscribe(self._end, base.RunEnded)

    def see(self, event: Event) -> None:
        """Deliver one event to the facts and checkers that take it."""
        if type(event.body) is base.RunEnded:
            self._end(event)
        elif type(event.body) is gateway.RunJoined:
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
        self._feed = EventFeed(self.run, self.run.wire_side, *found, intents=self.run.intents)
        self._checkers = (*self._checkers, *found)

    def _end(self, event: Event) -> None:
        self._ended = event

    def finish(self) -> None:
        """End the trace. Of one that was cut, promises that only the end can break are not judged.

        Raises `PluginError` of a checker of a plug-in that raised.
        """
        self._finish()
        for checker in self._checkers:
            if checker.error is not None:
                raise checker.error

    def _finish(self) -> None:
        ended = self._ended
        if ended is None or not isinstance(ended.body, base.RunEnded):
            return
        wire = self.run.wire_side
        cut = ended.body.cut
        if wire.messages.quoted and not (wire.asks_model or wire.messages.own_words):
            cut = cut or "while it was followed: the gateway asked no model, which only the whole trace shows"
        for checker in self._checkers:
            if cut:
                checker.cut(cut)
            else:
                checker.finish(ended)

    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict of each checker, in the order of the catalogue."""
        return tuple(checker.verdict() for checker in self._checkers)

    def violations(self) -> list[Violation]:
        """All violations so far, in order of the event at which they were detected."""
        found = [violation for checker in self._checkers for violation in checker.violations]
        return sorted(found, key=lambda violation: (violation.at, violation.invariant))
