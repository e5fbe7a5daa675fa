"""Facts about an event of a foreign gateway: its question with all that came of it, or the request that it follows."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.text.cells import clean, quoted, seconds
from trunkline.app.text.fact import Fact, Tone, listed
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.wire_side.questions import QuestionRows, SeenAnswer, notices, seen_answers
from trunkline.app.view.wire_side.sent import WireSends, outcome
from trunkline.app.view.wire_side.unknown import not_known
from trunkline.core.events import Event
from trunkline.sim.events.attach import GatewayAttached, GatewayExited, GatewayLaunched
from trunkline.sim.events.model import ModelAsked
from trunkline.sim.index.marks import without_marks
from trunkline.sim.index.wire_side import MarkedQuestion, RunWireSide


def question_rows(view: RunView) -> QuestionRows:
    """The questions of a run: computed once, and growing with it."""
    return view.known(QuestionRows) or view.register(QuestionRows(view, view.register(WireSends(view))))


def wire_facts(view: RunView, event: Event) -> Iterator[Fact]:
    """The facts about an event, where only the wire is known."""
    body = event.body
    if isinstance(body, GatewayAttached):
        yield from _attached(event, body)
    elif isinstance(body, GatewayLaunched):
        yield Fact("command", clean(" ".join(body.command)), event.seq)
    elif isinstance(body, GatewayExited):
        yield from listed("log", body.log, event.seq)
    elif view.wire is not None:
        yield from _of_question(view, event)


def _attached(event: Event, body: GatewayAttached) -> Iterator[Fact]:
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
    if isinstance(event.body, ModelAsked):
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
    for number, one in enumerate(found, 1):
        yield _seen(view, rows.wire, question, one, number, len(found))
    if not found:
        yield Fact("seen", "no answer was seen", question.event.seq, Tone.WARN)
        for one in notices(rows.wire, question, seq):
            yield Fact("notice", f"#{one.accepted.seq} {quoted(one.text)}", one.accepted.seq)


def _seen(view: RunView, wire: RunWireSide, question: MarkedQuestion, one: SeenAnswer, number: int, of: int) -> Fact:
    message = one.message
    misplaced = not wire.in_place(question, message.address)
    where = view.places.label(message.address)
    many = f"{number} of {of}, " if of > 1 else ""
    states = [word for word, holds in (("edited", one.edited), ("gone at the end", one.gone)) if holds]
    state = f", {', '.join(states)}" if states else ""
    mark = "✗ wrong place" if misplaced else "✗ again" if number > 1 and not one.gone else ""
    after = seconds(max(view.time(one.seq) - question.event.at, 0))
    text = f"#{one.seq} {many}in {where} after {after} s: {quoted(one.text)}{state}"
    return Fact("seen", text, one.seq, Tone.BAD if mark else Tone.GOOD, mark=mark)
