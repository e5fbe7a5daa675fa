"""How often a question is answered, and how often a turn is run for it: X1 and X5."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, combinations

import msgspec

from trunkline.core.events import Body, Event
from trunkline.core.values import Address
from trunkline.sim.events import attach, model, processes, script
from trunkline.sim.index.answer_parts import PART, ModelTurn
from trunkline.sim.index.asked_places import Lane
from trunkline.sim.index.bot_messages import BotMessage, letters
from trunkline.sim.index.marks import AnswerMark
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.index.wire_side import INTERRUPTIONS, MarkedQuestion, RunWireSide, between
from trunkline.sim.invariants.base import EvidenceKind
from trunkline.sim.invariants.wire_side.base import ANYTHING, WholeRunChecker, WireSideChecker, marked, when

#: seconds for which an answer may stand beside the draft that it replaces
_REPLACED = 2.0
#: seconds without an answer of the model after which a request may be given up
_HANGS = 15.0
#: the fault of a model that answers late, and does not fail
_SLOW = "model/slow"
#: the numbers of the events by which two messages were accepted
Pair = tuple[int, int]


class StandingAnswers:
    """Follows the answers to each question that people see at the same time.

    Two of them are no copies while one is the beginning of the other: a draft, and the answer that replaces it. What
    has been two answers for longer than `replaced` seconds stays that, whatever is edited or deleted later.
    """

    def __init__(self, wire: RunWireSide, replaced: float) -> None:
        self._wire = wire
        self._replaced = replaced
        #: question -> pairs of messages that are two answers now, each with when that began
        self._since: dict[str, dict[Pair, float]] = {}
        #: questions that have had two answers for too long
        self._sure: set[str] = set()
        #: questions that have two answers now, and had none for too long, in the order in which that began
        self.doubtful: dict[str, None] = {}

    def pass_to(self, at: float) -> Iterator[tuple[str, Pair, float]]:
        """The questions that have had two answers for too long by then, each once: these answers, and since when."""
        for question in list(self.doubtful):
            pairs = self._since[question].items()
            found = next(((pair, since) for pair, since in pairs if at - since > self._replaced), None)
            if found is not None:
                del self.doubtful[question]
                self._sure.add(question)
                yield question, *found

    def change(self, event: Event, message: BotMessage) -> None:
        """A message was accepted, edited or deleted."""
        marks = dict.fromkeys(mark.question for shown in message.texts for mark in shown.marks)
        for question in (mark for mark in marks if mark not in self._sure):
            standing = [seen for seen in self._wire.messages.answering(question) if _shows(seen, question)]
            before, now = self._since.get(question, {}), dict[Pair, float]()
            for first, second in combinations(standing, 2):
                pair = first.accepted.seq, second.accepted.seq
                if self._are_two(first, second):
                    now[pair] = before.get(pair, event.at)
            self._since[question] = now
            if now:
                self.doubtful.setdefault(question)
            else:
                self.doubtful.pop(question, None)

    def _are_two(self, this: BotMessage, other: BotMessage) -> bool:
        """Whether neither is the beginning of the other. Of own words, which may be many, equal ones are copies."""
        first, second = letters(this.text), letters(other.text)
        if self._wire.messages.own_words:
            return first == second
        return first == second or not (first.startswith(second) or second.startswith(first))


def _shows(message: BotMessage, question: str) -> bool:
    return message.deleted is None and any(mark.question == question for mark in message.marks)


class _Copy(msgspec.Struct, frozen=True):
    """A message that answers a question: since when, and until when; None: it does at the end."""

    message: BotMessage
    mark: AnswerMark
    #: its last text that does
    text: str
    since: int
    until: int | None


class AnsweredOnce(WholeRunChecker):
    """X1: Answered at most once.

    A question has at most one visible answer, at the end and at its worst in between: an answer that is edited, or that
    replaces its draft, is one, and so is one that the platform's limit splits over several messages.

    Two answers that have stood beside each other, neither of them the beginning of the other, for longer than a draft
    may stand beside what replaces it, are sure at once.
    """

    evidence = EvidenceKind.COPIES

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: seq -> time, of events that changed what people see
        self._at: dict[int, float] = {}
        self._standing = StandingAnswers(self.wire, _REPLACED)
        #: question -> the number of its answers when it was sure that they are too many
        self._sure: dict[str, int] = {}

    @on(*ANYTHING)
    def _goes_on(self, event: Event, _body: Body) -> None:
        changed = self.wire.messages.changed_by(event)
        for mark, pair, since in self._standing.pass_to(event.at):
            if mark in self.wire.questions:
                ends = changed is not None and changed.accepted.seq in pair
                how_long = f" for {event.at - since:.1f} s, at its worst" if ends else ""
                self._are_two(self.wire.questions[mark], pair, how_long)
        if changed is not None:
            self._at[event.seq] = event.at
            self._standing.change(event, changed)

    def _are_two(self, question: MarkedQuestion, pair: Pair, how_long: str) -> None:
        every = self._copies(question)
        stand = [copy for copy in every if copy.until is None and not how_long]
        copies = [copy for copy in every if copy in stand or copy.message.accepted.seq in pair]
        self.exercised += 1
        self._sure[question.mark] = len(copies)
        self._report(question, copies, how_long)

    def so_far(self) -> str:
        asked = (self.wire.questions[mark] for mark in self._standing.doubtful if mark in self.wire.questions)
        question = next(asked, None)
        if question is None:
            return ""
        return f"{self.asked(question)} has two answers now, and one of them may still be taken away"

    def finish(self, last: Event) -> None:
        super().finish(last)
        self.exercised = 0
        for question in self.wire.questions.values():
            copies = self._copies(question)
            if copies:
                self.exercised += 1
                self._judge(question, copies)
        self._parts()

    def _copies(self, question: MarkedQuestion) -> list[_Copy]:
        """The messages that answer a question, one entry each, in order."""
        found: list[_Copy] = []
        for message in self.wire.answers(question):
            spans = list(message.shown(question.mark))
            since, _, mark = spans[0]
            text = [shown.text for shown in message.ever(question.mark)][-1]
            found.append(_Copy(message, mark, text, since, spans[-1][1]))
        if self.wire.messages.own_words:
            # It may say several things about a question; the same one twice is a copy, unless it is a notice.
            said = Counter(letters(copy.text) for copy in found if not self.wire.notified(copy.text))
            same = max(said, key=said.__getitem__, default="")
            found = [copy for copy in found if letters(copy.text) == same]
        return sorted(found, key=lambda copy: copy.since)

    def _judge(self, question: MarkedQuestion, copies: list[_Copy]) -> None:
        left = [copy for copy in copies if copy.until is None]
        if len(left) > max(1, self._sure.get(question.mark, 0)):
            self._report(question, left, "")
        if len(left) > 1 or question.mark in self._sure:
            return
        for copy in copies:
            beside = [other for other in copies if other.since <= copy.since and not self._over(other, copy)]
            if len(beside) > 1:
                until = min(other.until for other in beside if other.until is not None)
                seconds = self._at[until] - self._at[copy.since]
                self._report(question, beside, f" for {seconds:.1f} s, at its worst")
                return

    def _over(self, earlier: _Copy, later: _Copy) -> bool:
        """Whether an answer was no copy beside a later one: it was gone by then, or a draft that was replaced by it."""
        if earlier is later or earlier.until is None:
            return False
        beside = self._at[earlier.until] - self._at[later.since]
        draft, whole = letters(earlier.text), letters(later.text)
        return beside <= _REPLACED or (draft != whole and whole.startswith(draft))

    def _report(self, question: MarkedQuestion, copies: list[_Copy], how_long: str) -> None:
        places = {copy.message.address.lane for copy in copies}
        turns = {copy.mark.generation for copy in copies}
        what = "one answer, sent more than once" if len(turns) == 1 else f"the answers of {len(turns)} turns"
        prompts = [turn.last for turn in self.wire.turns_about(question)]
        if len(turns) > 1 and len(set(prompts)) == len(prompts):
            # No message had a second turn: each of these began with another one, while this one was unanswered.
            what = (
                "turns of one place ran at the same time, "
                f"and it was in {len(prompts)} prompts ({', '.join(prompts)}); "
                "that a model answers all that its prompt leaves open is an assumption"
            )
        where = "" if len(places) == 1 else f" in {len(places)} places"
        shown = [f"{marked(copy.mark)} in {self.place(copy.message.address)}, {when(copy.message)}" for copy in copies]
        self.violate(
            at=copies[1].since,
            summary=f"{self.asked(question)} is answered {len(copies)} times{where}{how_long}: {what}",
            expected=["one visible answer"],
            actual=shown,
            evidence=[question.event.seq, *(copy.since for copy in copies)],
        )

    def _parts(self) -> None:
        """Messages without a mark whose words stand in their place more often than the model said them."""
        standing = self.wire.standing()
        judged: set[tuple[Lane, str]] = set()
        for message in standing.all:
            part, lane = letters(message.text), message.address.lane
            if message.marks or len(part) < PART or (lane, part) in judged:
                continue
            first = next((turn for turn in self.wire.parts_of(message) if turn.last), None)
            if first is None:
                continue
            judged.add((lane, part))
            copies = standing.with_part(part, lane)
            said = {place: self._said(part, place) for place in dict.fromkeys(copy.address for copy in copies[1:])}
            for number, copy in enumerate(copies[1:], 2):
                turns, counts = said[copy.address]
                before = bisect_left(turns, copy.accepted.seq, key=lambda turn: turn.event.seq)
                if number > max(1, counts[before]):
                    turn, seen = turns[before - 1] if before else first, copies[number - 2]
                    summary = f"a part of the answer to {turn.last} is visible twice in {self.place(copy.address)}"
                    shown = [f"{when(seen)} and {when(copy)}"]
                    self.accuse(copy.accepted, summary, "each part of an answer once", seen.accepted, shown=shown)

    def _said(self, part: str, place: Address) -> tuple[list[ModelTurn], list[int]]:
        """The turns for questions of a place in which the model said a part, and how often by then."""
        asked = [(turn, self.wire.questions.get(turn.last)) for turn in self.wire.said.with_part(part)]
        turns = [turn for turn, question in asked if question is not None and self.wire.hangs_on(question.body, place)]
        return turns, list(accumulate((letters(turn.answer).count(part) for turn in turns), initial=0))


class OneTurn(WireSideChecker):
    """X5: One turn a message.

    A message starts one turn: the model is asked for it again only after a failure of the model, after a request
    without an answer for 15 s, or after an end of the process before people had an answer.
    """

    #: mark -> the turn of its message
    _turns: dict[str, ModelTurn] = {}
    #: a turn after which the model was asked again, and nothing failed in between -> marks, the turn, and the next
    _again: dict[int | None, list[tuple[str, ModelTurn, ModelTurn]]] = {}
    #: requests that have an answer
    _answered: set[int | None] = set()
    #: no process runs
    _ended = False
    #: turns of which only the request was left when their process had ended
    _orphans: set[int] = set()

    def on_process_ended(self, _event: Event, _body: processes.ProcessCrashed | attach.GatewayExited) -> None:
        self._ended = True

    def on_process_started(self, _event: Event, _body: attach.GatewayLaunched) -> None:
        self._ended = False

    def on_asked(self, event: Event, body: model.ModelAsked) -> None:
        if body.beside or not body.marks:
            return
        turn, mark = ModelTurn(event, body), body.marks[-1]
        before = self._turns.get(mark)
        self._turns[mark] = turn
        if self._ended:
            # What a process has written before its end is read after it.
            self._orphans.add(event.seq)
        if before is None:
            self.exercised += 1
        elif not self._has_to_ask_again(mark, before, event):
            self._again.setdefault(before.event.seq, []).append((mark, before, turn))
            if self._is_another(before, turn):
                self._report(mark, before, turn)

    def on_answers(self, event: Event, _body: model.ModelAnswered) -> None:
        if event.cause in self._answered:
            return
        self._answered.add(event.cause)
        for mark, before, turn in self._again.get(event.cause, ()):
            if turn.event.at - before.event.at >= _HANGS:
                self._report(mark, before, turn)

    def _is_another(self, before: ModelTurn, turn: ModelTurn) -> bool:
        """Whether a request is another turn, and not one that was given up and asked again.

        Such a one had no answer for long, and then or later none.
        """
        return before.event.seq in self._answered or turn.event.at - before.event.at < _HANGS

    def _report(self, mark: str, before: ModelTurn, turn: ModelTurn) -> None:
        first, last = before.event.seq, turn.event.seq
        ends = [event.seq for event in between(self.wire.interruptions, first, last)]
        every = (text.event.seq for message in self.wire.messages.answering(mark) for text in message.ever(mark))
        shown = [seq for seq in sorted(every) if seq < last]
        why = "nothing failed in between"
        if ends and shown:
            why = f"the process ended in between (#{ends[0]}), when people had the answer (#{shown[0]})"
        asked = self.wire.questions.get(mark)
        self.violate(
            at=last,
            summary=f"the model is asked again for {mark}, {turn.event.at - before.event.at:.1f} s later",
            expected=["one turn"],
            actual=[f"turns at #{first} and #{last}; {why}"],
            evidence=[first, last],
            path=sorted({*([] if asked is None else [asked.event.seq]), first, *shown, *ends, last}),
        )

    def _has_to_ask_again(self, mark: str, before: ModelTurn, event: Event) -> bool:
        if before.event.seq in self._orphans and not self._seen_before(mark, event.seq):
            return True
        first, last = before.event.seq, event.seq
        for trouble in between(self.wire.troubles, first, last):
            if trouble.cause == before.event.seq and _is_failure_of_the_model(trouble):
                return True
            if isinstance(trouble.body, INTERRUPTIONS) and not self._seen_before(mark, trouble.seq):
                return True
        return False

    def _seen_before(self, mark: str, seq: int) -> bool:
        """Whether people had an answer before an event."""
        shown = (shown_text for message in self.wire.messages.answering(mark) for shown_text in message.ever(mark))
        return any(shown_text.event.seq < seq for shown_text in shown)


def _is_failure_of_the_model(trouble: Event) -> bool:
    body = trouble.body
    if isinstance(body, script.FaultFired):
        return body.fault.startswith("model") and body.fault != _SLOW
    return isinstance(body, model.ModelAnswered)
