"""Facts about a foreign gateway: the questions of people, the requests on the wire, and single events."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from trunkline.app.text.cells import clean, quoted, seconds
from trunkline.app.text.fact import Fact, Tone, listed
from trunkline.app.view.index.evidence import BrokenThings
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.app.view.kinds.registry import describe
from trunkline.app.view.kinds.world import OUTCOMES
from trunkline.app.view.labels.messages import EMPTY, LATER, LabelCell, ListLine, place_cell, wire_word, with_ahead
from trunkline.core.events import Body, Event, TraceHeader
from trunkline.sim.events import attach, model, processes, wire, world
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.wire import WireAccepted, WireCalled, WireDeleted, WireEdited, WireResponded, WireResponseLost
from trunkline.sim.index.answer_parts import ModelTurn
from trunkline.sim.index.bot_messages import BotMessage
from trunkline.sim.index.marks import AnswerMark, answers_in, without_marks
from trunkline.sim.index.projection import on
from trunkline.sim.index.wire_side import MarkedQuestion, RunWireSide
from trunkline.sim.invariants.base import Violation

# The requests of a foreign gateway as rows: what is known instead of its queue.

# The requests by which a foreign gateway sends or changes a message, each with what became of it.

#: what is drawn as a mark between requests: starts, ends and freezes of the gateway
MARKERS = (attach.GatewayLaunched, attach.GatewayExited, ProcessCrashed, ProcessStopped, ProcessFrozen, ProcessThawed)


class SentOnWire:
    __slots__ = ("body", "called", "marks", "number", "outcomes", "responded")

    def __init__(self, called: Event, body: WireCalled, number: int) -> None:
        self.called = called
        self.body = body
        #: the same text to the same place before it, and itself
        self.number = number
        self.marks: tuple[AnswerMark, ...] = answers_in(body.text)
        #: what the platform did with it, in order
        self.outcomes: list[Event] = []
        self.responded: Event | None = None

    @property
    def seq(self) -> int:
        """The event of its arrival."""
        return self.called.seq

    def visible(self, seq: int) -> Event | None:
        """The event up to `seq` by which people see it."""
        shown = (outcome for outcome in self.outcomes if isinstance(outcome.body, WireAccepted | WireEdited))
        return next((message for message in shown if message.seq <= seq), None)

    def lost(self, seq: int) -> bool:
        """Whether the gateway never got the response, up to event `seq`."""
        return any(isinstance(outcome.body, WireResponseLost) and outcome.seq <= seq for outcome in self.outcomes)


class WireSends(GrowingView):
    """Every such request of a run, and the marks between them, in order."""

    def __init__(self, view: RunView) -> None:
        super().__init__(view)
        self._by_seq: dict[int, SentOnWire] = {}
        self._again = Counter[tuple[object, ...]]()
        self._of_question: dict[str, list[SentOnWire]] = {}
        #: requests, and marks between them
        self.rows: list[SentOnWire | Event] = []
        self.grow()

    @on(*MARKERS)
    def _marked(self, event: Event, body: Body) -> None:
        if not (isinstance(body, attach.GatewayLaunched) and body.number == 1):
            self.rows.append(event)

    @on(*OUTCOMES, WireResponded)
    def _came_of(self, event: Event, body: Body) -> None:
        sent = self._by_seq.get(event.cause or 0)
        if sent is not None and isinstance(body, WireResponded):
            sent.responded = event
        elif sent is not None:
            sent.outcomes.append(event)
            self._by_seq[event.seq] = sent

    def on_called(self, event: Event, body: WireCalled) -> None:
        if body.what not in ("send", "act") or body.address is None:
            return
        what = (body.method, body.address, body.text, body.message_id, body.action)
        self._again[what] += 1
        sent = self._by_seq[event.seq] = SentOnWire(event, body, self._again[what])
        self.rows.append(sent)
        for name in dict.fromkeys(mark.question for mark in sent.marks):
            self._of_question.setdefault(name, []).append(sent)

    def of_question(self, mark: str) -> Sequence[SentOnWire]:
        """The requests that carry an answer to a question."""
        return self._of_question.get(mark, ())

    def of_event(self, event: Event) -> SentOnWire | None:
        """The request that an event is, or that it follows."""
        return self._by_seq.get(event.seq) or self._by_seq.get(event.cause or 0)


def outcome(view: RunView, sent: SentOnWire, seq: int) -> tuple[str, str, Tone, int]:
    """The outcome of a request up to event `seq`: a sign, words, their tone, and the event that shows it."""
    done = [
        outcome for outcome in sent.outcomes if outcome.seq <= seq and not isinstance(outcome.body, WireResponseLost)
    ]
    if not done:
        if sent.responded is not None and sent.responded.seq <= seq and isinstance(sent.responded.body, WireResponded):
            return "–", f"answered {sent.responded.body.status}", Tone.WARN, sent.responded.seq
        if _under_way(view, sent, seq):
            return "○", "on its way", Tone.PLAIN, sent.seq
        return "╳", "not taken", Tone.WARN, sent.seq
    event = done[-1]
    lost = ", response lost" if sent.lost(seq) else ""
    tone = Tone.WARN if lost else Tone.GOOD
    match event.body:
        case WireEdited():
            return "✓", f"edited{lost}", tone, event.seq
        case WireDeleted():
            return "✓", f"deleted{lost}", tone, event.seq
        case WireAccepted():
            if event.seq in view.marks.misplaced or copy_number(view, event.seq) > 1:
                tone = Tone.BAD
            return "✓", f"accepted{lost}", tone, event.seq
        case _:
            sign, words, shown = wire_word(view, event)
            return sign, f"{place_cell(words).text or 'done'}{lost}", shown, event.seq


def _under_way(view: RunView, sent: SentOnWire, seq: int) -> bool:
    """Whether something comes of a request after event `seq`, or, while the run goes on, still may."""
    if any(event.seq > seq for event in (*sent.outcomes, sent.responded) if event is not None):
        return True
    struck = view.wire is not None and any(interruption.seq > sent.seq for interruption in view.wire.interruptions)
    return view.growing and view.over > seq and not struck


def copy_number(view: RunView, seq: int) -> int:
    """The number of a copy among its copies; 0 for a message that was sent once."""
    copy = view.marks.copies.get(seq)
    return 0 if copy is None else copy.number


class RequestRows:
    """Every request to send or to change a message, with the starts and ends of the gateway between them."""

    def __init__(self, view: RunView, sends: WireSends) -> None:
        self._view = view
        self.sends = sends

    def __len__(self) -> int:
        return len(self.sends.rows)

    def place(self, event: Event) -> int | None:
        """The number of the row that an event belongs to."""
        sent = self.sends.of_event(event)
        wanted = event if sent is None else sent
        return next((at for at, row in enumerate(self.sends.rows) if row is wanted), None)

    def seqs(self, index: int) -> frozenset[int]:
        """A request with its outcomes."""
        row = self.sends.rows[index]
        outcomes = row.outcomes if isinstance(row, SentOnWire) else ()
        return frozenset((row.seq, *(outcome.seq for outcome in outcomes)))

    def wrong(self, seq: int) -> tuple[int, ...]:
        """Numbers of the requests that are evidence of a violation by event `seq`."""
        return tuple(
            at for at, row in enumerate(self.sends.rows) if isinstance(row, SentOnWire) and self._broken(row, seq)
        )

    def _broken(self, row: SentOnWire, seq: int) -> str:
        own = (row.seq, *(outcome.seq for outcome in row.outcomes))
        found = (violation for outcome in own for violation in self._view.marks.of(outcome))
        return " ".join(dict.fromkeys(outcome.invariant for outcome in found if outcome.at <= seq))

    def arrived(self, seq: int) -> list[int]:
        """Numbers of the requests up to event `seq`, without the marks."""
        return [at for at, row in enumerate(self.sends.rows) if isinstance(row, SentOnWire) and row.seq <= seq]

    def counts(self, seq: int) -> str:
        """How many requests there were, and what became of them, in a line."""
        words: dict[str, int] = {}
        for at in self.arrived(seq):
            row = self.sends.rows[at]
            if isinstance(row, SentOnWire):
                word = outcome(self._view, row, seq)[1].partition(",")[0]
                words[word] = words.get(word, 0) + 1
        total = sum(words.values())
        return f"{total} arrived: {', '.join(f'{number} {word}' for word, number in words.items())}" if total else ""

    def line(self, index: int, seq: int) -> ListLine:
        """A request after event `seq`, or the mark of a start or an end."""
        row = self.sends.rows[index]
        if isinstance(row, Event):
            alarm = isinstance(row.body, processes.ProcessCrashed | attach.GatewayExited | processes.ProcessFrozen)
            text = f"{seconds(row.at)}  {describe(self._view, row)}"
            return ListLine(seq=row.seq, mark=text, tone=Tone.BAD if alarm else Tone.DIM, later=row.seq > seq)
        later = row.seq > seq
        at = self._view.last if later else seq
        sign, words, tone, shown = outcome(self._view, row, at)
        body = row.body
        broken = "" if later else self._broken(row, seq)
        what = f"{body.action.value} " if body.action is not None else ""
        marks = " ".join(f"{mark.question} g{mark.generation}" for mark in row.marks)
        cells = {
            "state": LATER if later else LabelCell(f"{sign} {words.upper()}", tone=tone, seq=shown),
            "what": LabelCell(f"{what}{quoted(body.text)}"),
            "place": place_cell(self._view.places.label(body.address)),
            "try": LabelCell(str(row.number), tone=Tone.WARN if row.number > 1 else Tone.PLAIN),
            "answers": LabelCell(marks) if marks else EMPTY,
            "arrived": LabelCell(seconds(row.called.at)),
            "response": EMPTY if later else self._response(row, seq),
            "broken": LabelCell(broken, tone=Tone.BAD),
        }
        number = max((copy_number(self._view, outcome.seq) for outcome in row.outcomes), default=0)
        return ListLine(seq=shown, cells=cells, tag=f"{number}×" if number else "", later=later)

    def _response(self, row: SentOnWire, seq: int) -> LabelCell:
        """The response that the gateway got to know."""
        if row.lost(seq):
            return LabelCell("lost", "lost on its way", Tone.WARN)
        done = row.responded
        if done is None or done.seq > seq or not isinstance(done.body, wire.WireResponded):
            return LabelCell("none", tone=Tone.WARN)
        after = done.at - row.called.at
        return LabelCell(str(done.body.status), f"{done.body.status} after {seconds(after)} s")


# The questions of people to a foreign gateway, each with its way: given, asked, answered, sent, seen.


class SeenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    message: BotMessage
    #: the event since which it shows this answer
    seq: int
    text: str
    generation: int
    #: it was changed so that it does not show the answer any more, or taken away
    gone: bool = False
    edited: bool = False


def seen_answers(wire: RunWireSide, question: MarkedQuestion, seq: int) -> list[SeenAnswer]:
    """The messages that showed an answer up to event `seq`, in the order in which they began to."""
    found: list[SeenAnswer] = []
    for message in wire.answers(question):
        spans = [text for text in message.shown(question.mark) if text[0] <= seq]
        if not spans:
            continue
        texts = [text for text in message.texts if text.event.seq <= seq]
        gone = message.deleted is not None and message.deleted.seq <= seq
        gone = gone or all(mark.question != question.mark for mark in texts[-1].marks)
        found.append(
            SeenAnswer(
                message=message,
                seq=spans[0][0],
                text=texts[-1].text,
                generation=spans[-1][2].generation,
                gone=gone,
                edited=len(texts) > 1,
            )
        )
    return sorted(found, key=lambda message: message.seq)


def notices(wire: RunWireSide, question: MarkedQuestion, seq: int) -> list[BotMessage]:
    """The known notices in the place of a question after it, up to event `seq`."""
    since, lane = question.event.seq, question.place.lane
    own = (
        message for message in wire.messages.all if since < message.accepted.seq <= seq and message.address.lane == lane
    )
    return [message for message in own if wire.notified(message.text)]


class QuestionRows(GrowingView):
    def __init__(self, view: RunView, sends: WireSends) -> None:
        super().__init__(view)
        self.wire = view.wire if view.wire is not None else RunWireSide()
        self.sends = sends
        self._all: list[MarkedQuestion] = []
        self._index: dict[str, int] = {}
        self._by_said: dict[int, MarkedQuestion] = {}
        self._broken = BrokenThings()
        self.grow()

    def on_asked(self, _event: Event, _body: world.PeerSaid) -> None:
        if len(self._all) < len(self.wire.questions):
            for question in islice(self.wire.questions.values(), len(self._all), None):
                self._index[question.mark] = len(self._all)
                self._all.append(question)
                self._by_said[question.event.seq] = question

    def judge(self, violation: Violation, event: Event) -> None:
        question = self.of(event.seq)
        if question is not None:
            self._broken.add(question.mark, violation, event.seq)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[MarkedQuestion]:
        return iter(self._all)

    def of(self, seq: int) -> MarkedQuestion | None:
        """The question that an event comes from."""
        if not 0 < seq <= self.view.last:
            return None
        said = self.view.nearest(seq, world.PeerSaid)
        return self._by_said.get(said.seq) if said is not None else None

    def place(self, event: Event) -> int | None:
        """The number of the question that an event comes from."""
        question = self.of(event.seq)
        return None if question is None else self._index[question.mark]

    def seqs(self, index: int) -> frozenset[int]:
        """A question with all its effects."""
        seq = self._all[index].event.seq
        return frozenset((seq, *self.view.causes.effects(seq)))

    def wrong(self, seq: int) -> tuple[int, ...]:
        """Numbers of the questions that had broken something after event `seq`."""
        return tuple(sorted(self._index[mark] for mark in self._broken.upto(seq)))

    def broken(self, question: MarkedQuestion, seq: int) -> str:
        """The invariants that a question had broken after event `seq`."""
        return " ".join(self._broken.names(question.mark, seq))

    def turns(self, question: MarkedQuestion, seq: int) -> list[ModelTurn]:
        """The requests to the model that ask it, up to event `seq`."""
        return [turn for turn in self.wire.said.turns if question.mark in turn.body.marks and turn.event.seq <= seq]

    def line(self, index: int, seq: int) -> ListLine:
        """A question after event `seq`; what comes later is shown as later."""
        question = self._all[index]
        later = question.event.seq > seq
        cells = self._cells(question, self.view.last if later else seq)
        if later:
            cells["end"] = LATER
        else:
            cells = with_ahead(cells, self._cells(question, self.view.last))
        broken = self.broken(question, seq)
        copies = [copy_number(self.view, message.message.accepted.seq) for message in self._seen(question, seq)]
        tag = f"{max(copies)}×" if any(copies) else "✗" if broken else ""
        cells["broken"] = LabelCell(broken, tone=Tone.BAD)
        return ListLine(seq=question.event.seq, cells=cells, tag=tag, later=later)

    def _seen(self, question: MarkedQuestion, seq: int) -> list[SeenAnswer]:
        return seen_answers(self.wire, question, seq)

    def _cells(self, question: MarkedQuestion, seq: int) -> dict[str, LabelCell]:
        view, body = self.view, question.body
        who = view.places.person(body.address.channel, body.peer.id, body.peer.name)
        turns = self.turns(question, seq)
        answered = [turn.answered for turn in turns if turn.answered is not None and turn.answered.seq <= seq]
        sent = [send for send in self.sends.of_question(question.mark) if send.seq <= seq]
        return {
            "question": LabelCell(quoted(without_marks(body.text)), seq=question.event.seq),
            "who": LabelCell(who),
            "place": place_cell(view.places.label(body.address)),
            "given": self._given(question, seq),
            "asked": _numbered([turn.event for turn in turns], warn=len(turns) > 1),
            "answered": _numbered(answered),
            "sent": _numbered([send.called for send in sent], warn=len(sent) > len(turns)),
            "seen": self._seen_cell(question, seq),
            "end": self._end(question, seq),
        }

    def _given(self, question: MarkedQuestion, seq: int) -> LabelCell:
        """When the platform handed it out, or the gateway confirmed it."""
        children = (self.view.event(child) for child in self.view.causes.children(question.event.seq))
        handed = [child for child in children if child.kind.startswith("platform.") and child.seq <= seq]
        if question.lost and not handed:
            return LabelCell("lost", "lost by a fault", Tone.WARN)
        return _numbered(handed[:1])

    def _seen_cell(self, question: MarkedQuestion, seq: int) -> LabelCell:
        found = self._seen(question, seq)
        if not found:
            return EMPTY
        shown = [answer for answer in found if not answer.gone]
        elsewhere = [answer for answer in found if not self.wire.hangs_on(question.body, answer.message.address)]
        number = f"{len(found)}× " if len(found) > 1 else ""
        where = f" {self.view.places.label(elsewhere[0].message.address)}" if elsewhere else ""
        gone = "" if shown else " gone"
        sign = "!!" if elsewhere else "✓" if shown else "–"
        tone = Tone.BAD if elsewhere or len(found) > 1 else Tone.GOOD if shown else Tone.WARN
        last = found[-1].seq
        text = f"{sign} {number}#{last}{gone}"
        return LabelCell(text, f"{sign} {number}#{last}{where}{gone}", tone, last)

    def _end(self, question: MarkedQuestion, seq: int) -> LabelCell:
        """Answered, or open; whether it was lost is the judge's to say."""
        found = self._seen(question, seq)
        if any(not answer.gone for answer in found):
            first = found[0]
            after = first.message.accepted.at - question.event.at
            return LabelCell("✓ ANSWERED", f"✓ ANSWERED after {seconds(max(after, 0))} s", Tone.GOOD)
        if found:
            return LabelCell("– TAKEN BACK", tone=Tone.WARN)
        if notices(self.wire, question, seq):
            return LabelCell("– NOTIFIED", "– NOTIFIED, not answered", Tone.WARN)
        broken = self.broken(question, seq)
        over = self.view.over <= seq
        text = "✗ NO ANSWER" if over else "○ OPEN"
        return LabelCell(text, tone=Tone.BAD if over and broken else Tone.WARN if over else Tone.PLAIN)


def _numbered(events: Sequence[Event], *, warn: bool = False) -> LabelCell:
    """The first of some events, and how many there are."""
    if not events:
        return EMPTY
    many = f"{len(events)}× " if len(events) > 1 else ""
    text = f"{many}#{events[0].seq}"
    tone = Tone.WARN if warn else Tone.PLAIN
    return LabelCell(text, f"{text} {seconds(events[0].at)}", tone, events[0].seq)


def question_rows(view: RunView) -> QuestionRows:
    """The questions of a run: computed once, and growing with it."""
    return view.known(QuestionRows) or view.register(QuestionRows(view, view.register(WireSends(view))))


def wire_facts(view: RunView, event: Event) -> Iterator[Fact]:
    """The facts about an event, where only the wire is known."""
    body = event.body
    if isinstance(body, attach.GatewayAttached):
        yield from _attached(event, body)
    elif isinstance(body, attach.GatewayLaunched):
        yield Fact("command", clean(" ".join(body.command)), event.seq)
    elif isinstance(body, attach.GatewayExited):
        yield from listed("log", body.log, event.seq)
    elif view.wire is not None:
        yield from _of_question(view, event)


def _attached(event: Event, body: attach.GatewayAttached) -> Iterator[Fact]:
    name = f"{body.gateway} {body.version}".strip()
    yield Fact("gateway", clean(name), event.seq)
    yield Fact("patience", f"a question that nothing followed within {body.patience:g} s counts as lost")
    yield from listed("notices", map(quoted, body.notices), event.seq)


def _of_question(view: RunView, event: Event) -> Iterator[Fact]:
    rows = question_rows(view)
    sends, question = rows.sends, rows.of(event.seq)
    if question is not None:
        yield from question_facts(view, rows, question)
    sent = sends.of_event(event)
    if sent is not None and question is None:
        sign, words, tone, seq = outcome(view, sent, view.last)
        where = view.places.label(sent.body.address)
        yield Fact("sends", f"{quoted(sent.body.text)} to {where}", sent.seq)
        yield Fact("outcome", f"{sign} {words}", seq, tone)
        yield Fact("question", "none: no mark says what it answers", sent.seq, Tone.DIM)
    if isinstance(event.body, model.ModelAsked):
        yield from listed("said", map(quoted, event.body.said), event.seq)
        yield Fact("prompt", f"…{clean(event.body.tail)}", event.seq, Tone.DIM)
    if question is not None or sent is not None:
        yield Fact("inside", not_known(view.header), tone=Tone.DIM)


def question_facts(view: RunView, rows: QuestionRows, question: MarkedQuestion) -> Iterator[Fact]:
    """A question, each request to the model, each request of the gateway, and what people saw."""
    body, seq = question.body, view.last
    who = view.places.person(body.address.channel, body.peer.id, body.peer.name)
    where = view.places.label(body.address)
    said = f"#{question.event.seq} {who} in {where}: {quoted(without_marks(body.text))}"
    yield Fact("question", said, question.event.seq)
    for turn in rows.turns(question, seq):
        answered = "not answered"
        if turn.answered is not None:
            answered = f"answered at #{turn.answered.seq} after {seconds(turn.answered.at - turn.event.at)} s"
        tone = Tone.PLAIN if turn.answered is not None else Tone.WARN
        text = f"#{turn.event.seq} the model is asked, {answered}"
        yield Fact("asked", text, turn.event.seq, tone)
    for sent in rows.sends.of_question(question.mark):
        sign, words, tone, shown = outcome(view, sent, seq)
        marks = [mark for mark in sent.marks if mark.question == question.mark]
        again = f", request {sent.number} with this text" if sent.number > 1 else ""
        generation = f"answer {marks[0].generation}" if marks else "an answer"
        place = view.places.label(sent.body.address)
        text = f"#{sent.seq} {generation} to {place}: {sign} {words}{again}"
        yield Fact("sent", text, shown, tone)
    found = seen_answers(rows.wire, question, seq)
    for number, answer in enumerate(found, 1):
        yield _seen(view, rows.wire, question, answer, number, len(found))
    if not found:
        yield Fact("seen", "no answer was seen", question.event.seq, Tone.WARN)
        for notice in notices(rows.wire, question, seq):
            yield Fact("notice", f"#{notice.accepted.seq} {quoted(notice.text)}", notice.accepted.seq)


def _seen(view: RunView, wire: RunWireSide, question: MarkedQuestion, answer: SeenAnswer, number: int, of: int) -> Fact:
    message = answer.message
    misplaced = not wire.hangs_on(question.body, message.address)
    where = view.places.label(message.address)
    many = f"{number} of {of}, " if of > 1 else ""
    states = [word for word, holds in (("edited", answer.edited), ("gone at the end", answer.gone)) if holds]
    state = f", {', '.join(states)}" if states else ""
    mark = "✗ wrong place" if misplaced else "✗ again" if number > 1 and not answer.gone else ""
    after = seconds(max(view.time(answer.seq) - question.event.at, 0))
    text = f"#{answer.seq} {many}in {where} after {after} s: {quoted(answer.text)}{state}"
    return Fact("seen", text, answer.seq, Tone.BAD if mark else Tone.GOOD, mark=mark)


def gateway_name(header: TraceHeader) -> str:
    """The gateway with its version, as the trace names it."""
    return clean(header.gateway) or "a gateway that is not ours"


def not_known(header: TraceHeader) -> str:
    """Why there is nothing to show of the gateway's inside."""
    return f"not known: only the wire of {gateway_name(header)} was recorded"


def shown_instead(what: str) -> list[Fact]:
    """The text of a screen in place of things that are inside of the gateway."""
    return [
        Fact("what", f"{what} are inside of the gateway: neither its requests nor what people see show them"),
        Fact("3", "shows each question of a person, what the model was asked, and what people saw of it"),
        Fact("4", "shows each place: what the model was asked and said, beside what people saw"),
        Fact("6", "shows each request of the gateway to send or to change a message, and what came of it"),
    ]
