"""No byte of a result reaches anybody else: C1 and T3. No word of reasoning reaches anybody: C9."""

import re
from collections.abc import Iterable

import msgspec

from trunkline.core.events import Event, gateway
from trunkline.core.events.delivery import MirrorAppended
from trunkline.core.values import Address, IntentKind
from trunkline.sim.events import hands, wire, world
from trunkline.sim.index.intent_facts import IntentFacts, Lane
from trunkline.sim.index.projection import on
from trunkline.sim.invariants.base import Checker, EvidenceKind, cited

_WORD = re.compile(r"\w{4,}")
#: nobody knows anything of a result before one of these
_ANSWERS = (hands.HandAnswered, hands.WorkerAnswered)


class _Mark(msgspec.Struct):
    """A word that only certain results have, and who else may know it by now."""

    #: delegation -> its answer
    answers: dict[str, Event] = {}
    #: where a person said it, or an agent sent it on purpose
    places: set[Lane] = set()
    #: sessions of such places
    sessions: set[str] = set()
    #: a person said it
    said: bool = False


class Noninterference(Checker, symptoms=("leaked",)):
    """C1: Results reach nobody else.

    No word that only a hand's result has is seen in another conversation, or gets into another session, than those for
    which the hand worked, unless an agent sends it there on purpose.

    Texts are compared by their marks: words of an answer that nothing else in the scenario says. The index is asked
    once for each word that people see or agents get after the first answer, so the cost is that of reading the run.
    """

    evidence = EvidenceKind.MISPLACED

    _marks: dict[str, _Mark] = {}
    _leaked: set[str] = set()

    def on_answered(self, event: Event, body: hands.HandAnswered) -> None:
        self._learn(event, event.delegation or "", body.marks)

    def on_worker(self, event: Event, body: hands.WorkerAnswered) -> None:
        # An answer to a task of others is for nobody; it belongs to the task that the worker had.
        self._learn(event, body.named if body.ticket_right else event.delegation or "", body.marks)

    def _learn(self, event: Event, delegation: str, words: Iterable[str]) -> None:
        for word in words:
            self._marks.setdefault(word, _Mark()).answers.setdefault(delegation, event)

    def _found(self, text: str) -> list[tuple[str, _Mark]]:
        marks = self._marks
        return [(word, marks[word]) for word in dict.fromkeys(_WORD.findall(text)) if word in marks]

    @on(world.PeerSaid, after=_ANSWERS)
    def _said(self, event: Event, body: world.PeerSaid) -> None:
        for _, mark in self._found(body.text):
            mark.said = True
            mark.places.add(body.address.lane)

    @on(wire.WireAccepted, after=_ANSWERS)
    def _accepted(self, event: Event, body: wire.WireAccepted) -> None:
        for word, mark in self._found(body.text):
            self.exercised += 1
            facts = self.run.intents.get(event.intent or "")
            if facts is None:
                continue
            if facts.body.targeted or self.run.hooks.may_go(event.intent, body.address):
                mark.places.add(body.address.lane)
            elif not self._may_be_seen(mark, facts, body):
                self._leaked.add(event.intent or "")
                self._leak(event, word, mark, f"at {self.run.name(body.address)}", self._astray(event, facts))
                return

    def _may_be_seen(self, mark: _Mark, facts: IntentFacts, body: wire.WireAccepted) -> bool:
        right = mark.places | self.run.bindings.fallbacks.get(facts.prepared.intent, set())
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
            found |= self.run.bindings.fallbacks.get(run.id, set())
            if bound is not None:
                found.add(bound.body.conversation.lane)
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

    def _sessions(self, mark: _Mark) -> set[str]:
        """The sessions that may know a word."""
        found = set(mark.sessions)
        for delegation in mark.answers:
            top = self.run.hands.top(delegation)
            asked = top.asked
            found.add(self.run.running.get(top.turn, "") if asked is None else asked.session_id)
        return found

    @on(MirrorAppended, after=_ANSWERS)
    def _mirrored(self, event: Event, body: MirrorAppended) -> None:
        # A delivery that is right is remembered in the session of its place.
        if event.intent not in self._leaked:
            for _, mark in self._found(body.text):
                mark.sessions.add(body.session_id)

    @on(hands.AgentGiven, after=_ANSWERS)
    def _given(self, event: Event, body: hands.AgentGiven) -> None:
        self._got(event, body.text, body.session_id, body.session_key)

    @on(gateway.TranscriptAppended, after=_ANSWERS)
    def _remembered(self, event: Event, body: gateway.TranscriptAppended) -> None:
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
                self._leak(event, word, mark, f"in the session {key}", event)
                return

    def _astray(self, event: Event, facts: IntentFacts) -> Event:
        """The first event on the way to the wrong place: what was recorded at the call, the plan, or the intent."""
        delegation = facts.prepared.delegation or ""
        run, right = self.run.hands.runs.get(delegation), self._places(delegation)
        if run is not None and run.accepted is not None and run.origin is not None and run.origin.lane not in right:
            return run.accepted
        return facts.prepared if facts.lane not in right else event

    def _leak(self, event: Event, word: str, mark: _Mark, where: str, first_wrong: Event) -> None:
        answers = list(mark.answers.values())
        places = [place for answer in mark.answers for place in self._asked_at(answer)]
        asked = ", ".join(dict.fromkeys(self.run.name(place) for place in places)) or "where it was asked for"
        summary = f"“{word}”, which {' and '.join(mark.answers)} returned, got elsewhere"
        known, wrong = (*answers, first_wrong), first_wrong.seq
        self.accuse(event, summary, f"only at {asked}", *known, shown=where, first_wrong=wrong)


class ReasoningUnseen(Checker, symptoms=("leaked",)):
    """C9: Reasoning is for nobody.

    No word that only stands between the reasoning tags of what agents want said is seen by people, gets into a
    transcript, or to an agent as a result.
    """

    evidence = EvidenceKind.MISPLACED

    #: word -> the event that an agent thought it
    _thought: dict[str, Event] = {}

    def on_reasoned(self, event: Event, body: hands.AgentReasoned) -> None:
        self.exercised += 1
        for word in body.marks:
            self._thought.setdefault(word, event)

    @on(wire.WireAccepted, MirrorAppended, gateway.TranscriptAppended, hands.AgentGiven, after=(hands.AgentReasoned,))
    def _told(
        self, event: Event, body: wire.WireAccepted | MirrorAppended | gateway.TranscriptAppended | hands.AgentGiven
    ) -> None:
        thought = next((word for word in _WORD.findall(body.text) if word in self._thought), None)
        if thought is None:
            return
        source = self._thought[thought]
        where = f"at {self.run.name(body.address)}" if isinstance(body, wire.WireAccepted) else f"in {body.session_key}"
        facts = self.run.intents.get(event.intent or "")
        summary = f"“{thought}”, which an agent only thought, got {where}"
        expected = "nothing of what stands between reasoning tags"
        shown, wrong = [cited(source, "reasoning"), cited(event, where)], event if facts is None else facts.prepared
        self.accuse(event, summary, expected, source, shown=shown, first_wrong=wrong.seq)


class ClosedIsClosed(Checker, symptoms=("leaked",)):
    """T3: Fail closed is closed.

    Where the configuration has no fallback for bound work, no word of its result is seen outside its bound
    conversation, also in notices, unless an agent or a hook sends it there on purpose, or a person says it.

    Costs nothing before bound work has ended on such a channel, and then one look-up for each word that people see.
    """

    evidence = EvidenceKind.MISPLACED

    #: word -> the delegation that returned it, and its answer
    _words: dict[str, tuple[str, Event]] = {}

    def on_answered(self, event: Event, body: hands.HandAnswered) -> None:
        self._learn(event, event.delegation or "", body.marks)

    def on_worker(self, event: Event, body: hands.WorkerAnswered) -> None:
        self._learn(event, body.named, body.marks)

    def _learn(self, event: Event, delegation: str, words: tuple[str, ...]) -> None:
        if words and self._is_closed(delegation):
            self.exercised += 1
            for word in words:
                self._words.setdefault(word, (delegation, event))

    def _is_closed(self, delegation: str) -> bool:
        """Whether a delegation has a bound conversation, on a channel that has no fallback now."""
        bound, limits = self.run.bindings.of_delegation.get(delegation), self.run.limits
        return bound is not None and limits is not None and bound.body.conversation.channel in limits.closed

    @on(world.PeerSaid, after=_ANSWERS)
    def _said(self, _event: Event, body: world.PeerSaid) -> None:
        for word in _WORD.findall(body.text):
            self._words.pop(word, None)

    @on(wire.WireAccepted, after=_ANSWERS)
    def _accepted(self, event: Event, body: wire.WireAccepted) -> None:
        facts = self.run.intents.get(event.intent or "") if self._words else None
        if facts is None or facts.body.targeted or self.run.hooks.may_go(event.intent, body.address):
            return
        for word in _WORD.findall(body.text):
            delegation, answer = self._words.get(word, ("", event))
            if delegation and self._reports(facts, delegation) and self._is_closed(delegation):
                self._seen(event, body, word, delegation, answer)
                return

    def _reports(self, facts: IntentFacts, delegation: str) -> bool:
        """Whether a message says what became of a delegation. What else an agent says of it later is its own words."""
        prepared = facts.prepared
        about = prepared.delegation == delegation or self.run.callbacks.get(prepared.inbound or "") == delegation
        return about or facts.body.intent_kind is IntentKind.NOTICE

    def _seen(self, event: Event, body: wire.WireAccepted, word: str, delegation: str, answer: Event) -> None:
        bound = self.run.bindings.of_delegation[delegation]
        home = bound.body.conversation
        # What the platform put elsewhere is judged by R2.
        if home.lane in (body.address.lane, body.requested.lane):
            return
        summary = f"“{word}”, which {delegation} returned for {self.run.name(home)} alone, is seen elsewhere"
        expected = f"only at {self.run.name(home)}: {home.channel} has no fallback"
        shown, wrong = f"at {self.run.name(body.address)}", self.run.intents[event.intent or ""].prepared
        self.accuse(event, summary, expected, bound.bound, answer, shown=shown, first_wrong=wrong.seq)
