"""Report sections about a gateway of which only the wire is known, from the models of the screens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trunkline.app.text.cells import clean, count, quoted, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.sessions.alignment_index import AlignedPair
from trunkline.app.view.sessions.transcripts import SessionListRow
from trunkline.app.view.wire_side.facts import question_facts, question_rows
from trunkline.app.view.wire_side.places import WirePlaces
from trunkline.app.view.wire_side.requests import RequestRows
from trunkline.app.view.wire_side.unknown import gateway_name, not_known
from trunkline.sim.index.marks import without_marks
from trunkline.sim.invariants import INVARIANTS


def wire_run_facts(view: RunView) -> Iterator[Fact]:
    """The gateway whose wire it is, instead of a seed and defects."""
    yield Fact("gateway", gateway_name(view.header))
    yield Fact("recorded", "its wire only: the platforms and the model were servers on loopback")


def question_sections(view: RunView) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Every question with its way to the model and back."""
    rows = question_rows(view)
    for question in rows:
        body = question.body
        where = view.places.label(body.address)
        broken = rows.broken(question, view.last)
        facts = [Fact("broken", broken, tone=Tone.BAD)] if broken else []
        yield (
            f"Question {question.mark} in {where}: {quoted(without_marks(body.text))}",
            (
                *facts,
                *question_facts(view, rows, question),
            ),
        )


def place_sections(view: RunView) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Every place: what the model was asked and said, beside what people saw."""
    places = WirePlaces(view)
    for row in places.rows(view.last):
        yield row.place, (*_counts(row), *(_pair(pair) for pair in places.pairs(row.owner)))


def _counts(row: SessionListRow) -> Iterator[Fact]:
    yield Fact("counts", f"{row.heard} heard, {row.said} shown by the gateway; {row.name}")
    if row.copies:
        yield Fact("copies", f"{count(row.copies, 'message')} seen more than once", tone=Tone.BAD)


def _pair(pair: AlignedPair) -> Fact:
    """A line of the model and the visible message beside it, in one line."""
    held, seen = pair.line, pair.seen
    words: list[str] = []
    if seen is not None:
        words.append(f"{clean(seen.who) or 'the gateway'} {quoted(seen.text)}")
    if held is not None:
        said = "" if seen is not None and seen.text == held.text else f" {quoted(held.text)}"
        words.append("the model is asked" if held.role == "asked" else f"the model answers{said}")
    note = clean(pair.note or pair.difference.value)
    mark = f"{'✗ ' if pair.wrong else ''}{note}" if note else ""
    text = f"#{pair.seq} {seconds(pair.at)} {', '.join(words)}"
    return Fact("line", text, pair.seq, Tone.BAD if pair.wrong else Tone.PLAIN, mark=mark)


def request_facts(view: RunView) -> Iterator[Fact]:
    """Every request to send or to change a message, and the starts and ends of the gateway between them."""
    rows = RequestRows(view, question_rows(view).sends)
    yield Fact("counts", rows.counts(view.last) or "the gateway sent nothing in this run")
    for index in range(len(rows)):
        line = rows.line(index, view.last)
        if line.mark:
            tone = Tone.BAD if line.tone is Tone.BAD else Tone.PLAIN
            yield Fact("mark", line.mark, line.seq, tone)
            continue
        cells = line.cells
        again = f", request {cells['try'].text} with this text" if cells["try"].text != "1" else ""
        response = cells["response"].more or cells["response"].text
        state = cells["state"].text.partition(" ")[2].lower()
        text = f"{cells['arrived'].text} {cells['what'].text} to {cells['place'].more}: {state}{again}"
        broken = cells["broken"].text
        tone = Tone.BAD if broken or cells["state"].tone is Tone.BAD else Tone.PLAIN
        mark = f"✗ {broken}" if broken else ""
        yield Fact("request", f"{text}; response {response}", line.seq, tone, mark=mark)


def inside_fact(view: RunView) -> Fact:
    """The contents that a report of the inside would have."""
    return Fact("", f"sessions, transcripts, queue, bindings and delegations: {not_known(view.header)}")


def unjudged_fact(view: RunView) -> Fact:
    """The invariants that nobody can judge from outside."""
    judged = {one.id for one in view.verdicts}
    ids = " ".join(name for name in INVARIANTS if name not in judged)
    return Fact("verdict", f"not judged: {ids}; {not_known(view.header)}", tone=Tone.DIM)
