"""The sections of a report of a run: the facts of the app's screens, at the end of the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from trunkline.app.report.message_sections import hand_sections, message_sections, queue_facts
from trunkline.app.report.summary import EXPECTATIONS, LINES, VIOLATIONS, shortened_path
from trunkline.app.report.wire_sections import (
    inside_fact,
    place_sections,
    question_sections,
    request_facts,
    unjudged_fact,
    wire_run_facts,
)
from trunkline.app.text.cells import clean, count, quoted, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.explain.binding_facts import record_facts
from trunkline.app.view.explain.explanation import reproduction
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.heartbeat.facts import standing_facts
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.invariants.results import NOT_JUDGED
from trunkline.app.view.kinds import describe
from trunkline.app.view.messages.rows import MessageRows
from trunkline.app.view.overview.cards import hands_fact
from trunkline.app.view.queue.rows import QueueRows
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.sessions.alignment_index import AlignedPair
from trunkline.app.view.sessions.transcripts import SessionListRow, Sessions
from trunkline.app.view.sessions.violations import SessionViolations
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.core.events.base import RunEnded
from trunkline.sim.invariants.base import Status, Verdict, Violation

#: where to read what the report leaves out
ALL_OF_THEM = "trunkline replay has all of them in the app"


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A heading and its facts. `level` 1 is a chapter."""

    title: str
    level: int = 1
    facts: tuple[Fact, ...] = ()


def sections(view: RunView) -> Iterator[Section]:
    """Every chapter of a run."""
    if view.wire_side:
        yield from _of_wire(view)
        return
    histories = MessageHistories(view)
    timeline = tuple(event_fact(view, seq) for seq in Timeline(view, TimelineLanes(view)).seqs)
    hands = HandRuns(view, histories)
    yield Section(title="Run", facts=(*_run(view), *_delegated(view, hands)))
    yield from _verdicts(view)
    yield from _chapter("Messages", message_sections(view, MessageRows(view, histories)), "no messages in this run")
    yield from _chapter("Sessions", _sessions(view), "no sessions in this run")
    yield from _chapter("Bindings", _bindings(view), "no bindings in this run")
    yield Section(title="Queue", facts=tuple(queue_facts(view, QueueRows(view, histories))))
    yield from _chapter("Hands", hand_sections(view, hands), "no delegations in this run")
    yield Section(title="Timeline", facts=timeline or (Fact("", "no events"),))


def _of_wire(view: RunView) -> Iterator[Section]:
    """Every chapter of a run of which only the wire is known."""
    yield Section(title="Run", facts=tuple(_run(view)))
    yield from _verdicts(view)
    yield from _chapter("Questions", question_sections(view), "nobody asked anything in this run")
    yield from _chapter("Places", place_sections(view), "nothing was said in this run")
    yield Section(title="Requests on the wire", facts=tuple(request_facts(view)))
    yield Section(title="Inside", facts=(inside_fact(view),))
    timeline = tuple(event_fact(view, seq) for seq in Timeline(view, TimelineLanes(view)).seqs)
    yield Section(title="Timeline", facts=timeline or (Fact("", "no events"),))


def _delegated(view: RunView, hands: HandRuns) -> Iterator[Fact]:
    """How many delegations there were, and what became of them."""
    fact = hands_fact(hands, view.last)
    if fact is not None:
        yield fact


def _chapter(title: str, parts: Iterable[tuple[str, Iterable[Fact]]], empty: str) -> Iterator[Section]:
    """A chapter with its parts, or a line that there are none."""
    found = [Section(title=clean(name), level=2, facts=tuple(facts)) for name, facts in parts]
    yield Section(title=title, facts=() if found else (Fact("", empty),))
    yield from found


def _run(view: RunView) -> Iterator[Fact]:
    header = view.run.trace.header
    yield Fact("scenario", clean(header.scenario))
    for label, text in (("title", header.title), ("source", header.source), ("file", header.path)):
        if text:
            yield Fact(label, clean(text))
    if view.wire_side:
        yield from wire_run_facts(view)
    elif not header.of_gateway:
        yield Fact("seed", str(header.seed))
        yield Fact("defects", clean(", ".join(header.bugs)) or "none switched on")
    if header.crashes:
        yield Fact("crashes", clean(", ".join(header.crashes)))
    if header.on_wire and not view.wire_side:
        yield Fact("on the wire", "yes: the platforms were servers on loopback, the adapters real ones")
    clock = "" if header.of_gateway else " s of the run's clock" if header.on_wire else " s of virtual time"
    yield Fact("events", f"{view.last}, until {seconds(view.time(view.last))}{clock}")
    end = view.event(view.last).body if view.last else None
    if isinstance(end, RunEnded):
        left = f"no: {clean(', '.join(end.open))}" if end.open else "no"
        rests = f"yes, while {clean(', '.join(end.waiting))} waits" if end.waiting else "yes"
        yield Fact("at rest", rests if end.at_rest else left)
    yield from standing_facts(view, view.last)
    if view.run.trace.cut:
        yield Fact("cut", f"{clean(view.run.trace.cut)}; {NOT_JUDGED}", tone=Tone.WARN)
    yield _holds(view)
    command = reproduction(header, view.events)
    if command:
        yield Fact("repro", command)


def _holds(view: RunView) -> Fact:
    run = view.run
    exercised = f"{run.exercised} of {count(len(view.verdicts), 'invariant')} exercised"
    if run.holds:
        return Fact("verdict", f"all hold{view.so_far}, {exercised}", tone=Tone.GOOD, mark="✓")
    texts = [f"violated: {' '.join(run.violated)}"] if run.violated else []
    texts += [f"{count(len(run.unmet), 'expectation')} missed"] if run.unmet else []
    return Fact("verdict", f"{', '.join(texts)}, {exercised}", tone=Tone.BAD, mark="✗")


_ORDER = (Status.VIOLATED, Status.OK, Status.NOT_EXERCISED)


def _verdicts(view: RunView) -> Iterator[Section]:
    yield Section(title="Verdicts")
    for verdict in sorted(view.verdicts, key=lambda one: _ORDER.index(one.status)):
        yield Section(title=f"{verdict.id} {verdict.title}", level=2, facts=tuple(_verdict(view, verdict)))
    if view.wire_side:
        yield Section(title="What needs the gateway's inside", level=2, facts=(unjudged_fact(view),))
    for unmet in view.run.unmet[:EXPECTATIONS]:
        where = f", line {unmet.line}" if unmet.line else ""
        facts = [Fact("missed", clean(unmet.summary), tone=Tone.BAD)]
        facts += [*_some("expected", unmet.expected), *_some("actual", unmet.actual, Tone.BAD)]
        yield Section(title=f"Expectation of the scenario{where}", level=2, facts=tuple(facts))
    left = len(view.run.unmet) - EXPECTATIONS
    if left > 0:
        yield Section(title=f"{count(left, 'more expectation')} of the scenario missed", level=2)


def _verdict(view: RunView, verdict: Verdict) -> Iterator[Fact]:
    times = f"judged {count(verdict.exercised, 'time')}"
    if verdict.status is Status.NOT_EXERCISED:
        why = verdict.note or "nothing happened that it applies to"
        yield Fact("verdict", f"not exercised: {clean(why)}", tone=Tone.DIM)
    elif verdict.status is Status.OK:
        yield Fact("verdict", f"held{view.so_far}, {times}", tone=Tone.GOOD, mark="✓")
    else:
        text = f"violated, {count(len(verdict.violations), 'breach', 'breaches')}"
        yield Fact("verdict", f"{text}, {times}", tone=Tone.BAD, mark="✗")
    if verdict.note and verdict.status is not Status.NOT_EXERCISED:
        yield Fact("note", clean(verdict.note), tone=Tone.DIM)
    yield Fact("promise", clean(verdict.sentence))
    for violation in verdict.violations[:VIOLATIONS]:
        yield from _violation(view, violation)
    if len(verdict.violations) > VIOLATIONS:
        yield Fact("more", f"and {len(verdict.violations) - VIOLATIONS} more; {ALL_OF_THEM}", tone=Tone.DIM)


def _violation(view: RunView, violation: Violation) -> Iterator[Fact]:
    yield Fact("broken", f"at #{violation.at}: {clean(violation.summary)}", violation.at, Tone.BAD)
    yield from _some("expected", violation.expected)
    yield from _some("actual", violation.actual, Tone.BAD)
    evidence = [seq for seq in violation.evidence if 0 < seq <= view.last]
    yield from (event_fact(view, seq, "evidence") for seq in evidence[:LINES])
    if len(evidence) > LINES:
        yield Fact("evidence", f"and {count(len(evidence) - LINES, 'more event')}", tone=Tone.DIM)
    for step in shortened_path(view, violation, "and"):
        yield msgspec.structs.replace(step, label="path", tone=Tone.PLAIN)


def _some(label: str, texts: Sequence[str], tone: Tone = Tone.PLAIN) -> Iterator[Fact]:
    yield from (Fact(label, clean(text), tone=tone) for text in texts[:LINES])
    if len(texts) > LINES:
        yield Fact(label, f"and {count(len(texts) - LINES, 'more line')}", tone=Tone.DIM)


def event_fact(view: RunView, seq: int, label: str = "") -> Fact:
    """An event in one line."""
    event = view.event(seq)
    return Fact(label, f"#{seq} {seconds(event.at)} {describe(view, event)}", seq)


def _sessions(view: RunView) -> Iterator[tuple[str, Iterable[Fact]]]:
    sessions = Sessions(view)
    blame = SessionViolations(sessions)
    for row in sessions.rows(view.last):
        title = row.title or f"{row.place}, a conversation without a session"
        broken = blame.session(row.owner, view.last)
        yield title, (*_session(row, broken), *(_pair(view, pair) for pair in sessions.pairs(row.owner)))


def _session(row: SessionListRow, broken: str) -> Iterator[Fact]:
    yield Fact("place", clean(row.place))
    yield Fact("counts", f"{row.heard} heard, {row.said} said")
    if broken:
        yield Fact("broken", broken, tone=Tone.BAD)
    if row.copies:
        yield Fact("copies", count(row.copies, "message") + " seen more than once", tone=Tone.BAD)
    differing = count(row.differences, "line")
    text = (
        f"{differing} between the transcript and what people saw"
        if row.differences
        else "nothing: people saw what it contains"
    )
    yield Fact("differs", text, tone=Tone.BAD if row.differences else Tone.PLAIN)


def _pair(view: RunView, pair: AlignedPair) -> Fact:
    """A line of the transcript and the visible message beside it, in one line."""
    held, seen = pair.line, pair.seen
    if held is not None and held.role == "reset":
        return Fact("reset", f"#{pair.seq} {seconds(pair.at)} {clean(held.text)}", pair.seq)
    text = f"#{pair.seq} {seconds(pair.at)} "
    if held is not None:
        text += f"{held.role} {quoted(held.text)}"
        text += f", written for an older generation: {held.earlier}" if held.earlier else ""
    if seen is not None:
        where = view.places.label(view.places.at(seen.place).address)
        words = "" if held is not None and held.text == seen.text else f" {quoted(seen.text)}"
        text += f"{', ' if held is not None else ''}seen in {where} from {clean(seen.who) or 'the gateway'}{words}"
        text += f", files {clean(', '.join(seen.media))}" if seen.media else ""
    note = clean(pair.note or pair.difference.value)
    mark = f"{'✗ ' if pair.wrong else ''}{note}" if note else ""
    return Fact("line", text, pair.seq, Tone.BAD if pair.wrong else Tone.PLAIN, mark=mark)


def _bindings(view: RunView) -> Iterator[tuple[str, Iterable[Fact]]]:
    for row in view.bindings.rows(view.last):
        yield f"Binding {view.bindings.name(row.id)}", record_facts(view, row, view.last)
