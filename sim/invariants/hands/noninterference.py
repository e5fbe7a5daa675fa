"""No byte of a result reaches anybody else: C1."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from trunkline.core.events import Event
from trunkline.core.events.delivery import Fallback, MirrorAppended
from trunkline.core.events.gateway import TranscriptAppended
from trunkline.core.values import Address
from trunkline.sim.events.hands import AgentGiven, HandAnswered, WorkerAnswered
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.index.intent_facts import IntentFacts, Lane
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants.base import Checker, EvidenceKind, cited

_WORD = re.compile(r"\w{4,}")


@dataclass(slots=True)
class _Mark:
    """A word that only certain results have, and who else may know it by now."""

    #: delegation -> its answer
    answers: dict[str, Event] = field(default_factory=dict[str, Event])
    #: where a person said it, or an agent sent it on purpose
    places: set[Lane] = field(default_factory=set[Lane])
    #: sessions of such places
    sessions: set[str] = field(default_factory=set[str])
    #: a person said it
    said: bool = False


class Noninterference(Checker):
    """C1: what a hand returned is seen only where it was asked for.

    Texts are compared by their marks: words of an answer that nothing else in the scenario says. The index is asked
    once for each word that people see or agents get after the first answer, so the cost is that of reading the run.
    """

    id = "C1"
    title = "Results reach nobody else"
    evidence = EvidenceKind.MISPLACED
    sentence = (
        "No word that only a hand's result has is seen in another conversation, or gets into another session, than "
        "those for which the hand worked, unless an agent sends it there on purpose."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        self._marks: dict[str, _Mark] = {}
        #: delegation or intent -> where a recorded fallback sends it
        self._fallbacks: dict[str, set[Lane]] = {}
        self._leaked: set[str] = set()

    @on(HandAnswered)
    def _answered(self, event: Event, body: HandAnswered) -> None:
        self._learn(event, event.delegation or "", body.marks)

    @on(WorkerAnswered)
    def _worker(self, event: Event, body: WorkerAnswered) -> None:
        # An answer to a task of others is for nobody; it belongs to the task that the worker had.
        self._learn(event, body.named if body.ticket_right else event.delegation or "", body.marks)

    def _learn(self, event: Event, delegation: str, words: Iterable[str]) -> None:
        for word in words:
            self._marks.setdefault(word, _Mark()).answers.setdefault(delegation, event)

    def _found(self, text: str) -> list[tuple[str, _Mark]]:
        """The marks in a text."""
        marks = self._marks
        if not marks:
            return []
        return [(word, marks[word]) for word in dict.fromkeys(_WORD.findall(text)) if word in marks]

    @on(Fallback)
    def _fallback(self, event: Event, body: Fallback) -> None:
        for owner in (event.delegation, event.intent):
            if owner is not None:
                self._fallbacks.setdefault(owner, set()).add(body.used.lane)

    # ------------------------------------------------------------ what people say and see

    @on(PeerSaid)
    def _said(self, event: Event, body: PeerSaid) -> None:
        for _, mark in self._found(body.text):
            mark.said = True
            mark.places.add(body.address.lane)

    @on(WireAccepted)
    def _accepted(self, event: Event, body: WireAccepted) -> None:
        for word, mark in self._found(body.text):
            self.exercised += 1
            facts = self.run.intents.get(event.intent or "")
            if facts is None:
                continue
            if facts.body.targeted or self.run.hooks.may_go(event.intent, body.address):
                mark.places.add(body.address.lane)
            elif not self._may_be_seen(mark, facts, body):
                self._leaked.add(event.intent or "")
                self._leak(event, word, mark, f"at {self.run.name(body.address)}", self._astray(event, facts, mark))
                return

    def _may_be_seen(self, mark: _Mark, facts: IntentFacts, body: WireAccepted) -> bool:
        right = mark.places | self._fallbacks.get(facts.prepared.intent or "", set())
        for delegation in mark.answers:
            right |= self._places(delegation)
        # What the platform put elsewhere is judged by R2.
        if body.address.lane in right or body.requested.lane in right:
            return True
        if facts.prepared.inbound not in self.run.received:
            return False
        # Conversations may share a session, which then answers in the one that its message came from.
        home = self.run.home(facts.prepared.inbound)
        at_home = home is not None and home.lane == body.address.lane
        return at_home and self.run.running.get(facts.prepared.turn or "", "") in self._sessions(mark)

    def _places(self, delegation: str) -> set[Lane]:
        """Where a result belongs: the place of the message that asked, or what was named or recorded instead."""
        found: set[Lane] = set()
        for run in self.run.hands.chain(delegation):
            bound = self.run.bindings.of_delegation.get(run.id)
            found |= self._fallbacks.get(run.id, set()) | (set() if bound is None else {bound.body.conversation.lane})
            if run.asked is not None and run.asked.reply_to is not None:
                found.add(run.asked.reply_to.lane)
        found |= {place.lane for place in self._asked_at(delegation)}
        return found

    def _asked_at(self, delegation: str) -> list[Address]:
        """The place of the message for which a delegation was made, and the thread that was opened on it."""
        inbound = self.run.hands.work_of.get(self.run.hands.top(delegation).turn, "")
        origin, home = self.run.origin(inbound), self.run.home(inbound)
        if origin is None:
            return []
        opened = self.run.opened_on(*origin)
        return [place for place in (origin[0], home, opened) if place is not None]

    # ------------------------------------------------------------ what sessions get

    def _sessions(self, mark: _Mark) -> set[str]:
        """The sessions that may know a word."""
        found = set(mark.sessions)
        for delegation in mark.answers:
            top = self.run.hands.top(delegation)
            asked = top.asked
            found.add(self.run.running.get(top.turn, "") if asked is None else asked.session_id)
        return found

    @on(MirrorAppended)
    def _mirrored(self, event: Event, body: MirrorAppended) -> None:
        # A delivery that is right is remembered in the session of its place.
        if event.intent not in self._leaked:
            for _, mark in self._found(body.text):
                mark.sessions.add(body.session_id)

    @on(AgentGiven)
    def _given(self, event: Event, body: AgentGiven) -> None:
        self._got(event, body.text, body.session_id, body.session_key)

    @on(TranscriptAppended)
    def _remembered(self, event: Event, body: TranscriptAppended) -> None:
        if body.role not in ("user", "hand"):
            # A note on what did not arrive.
            for _, mark in self._found(body.text):
                mark.sessions.add(body.session_id)
            return
        self._got(event, body.text, body.session_id, body.session_key)

    def _got(self, event: Event, text: str, session: str, key: str) -> None:
        for word, mark in self._found(text):
            self.exercised += 1
            if mark.said:
                mark.sessions.add(session)
            elif self.run.hands.owner(session, key) not in self._sessions(mark) and session not in mark.sessions:
                self._leak(event, word, mark, f"in the session {key}", event.seq)
                return

    # ------------------------------------------------------------ reports

    def _astray(self, event: Event, facts: IntentFacts, mark: _Mark) -> int:
        """The first event on the way to the wrong place: what was recorded at the call, the plan, or the intent."""
        delegation = facts.prepared.delegation or ""
        run, right = self.run.hands.runs.get(delegation), self._places(delegation)
        if run is not None and run.accepted is not None and run.origin is not None and run.origin.lane not in right:
            return run.accepted.seq
        return facts.prepared.seq if facts.lane not in right else event.seq

    def _leak(self, event: Event, word: str, mark: _Mark, where: str, first_wrong: int) -> None:
        answers = list(mark.answers.values())
        places = [place for answer in mark.answers for place in self._asked_at(answer)]
        asked = ", ".join(dict.fromkeys(self.run.name(place) for place in places)) or "where it was asked for"
        self.violate(
            at=event.seq,
            summary=f"“{word}”, which {' and '.join(mark.answers)} returned, got elsewhere",
            expected=[f"only at {asked}"],
            actual=[cited(event, f"{where}")],
            evidence=sorted({*(answer.seq for answer in answers), first_wrong, event.seq}),
            first_wrong=first_wrong,
        )
