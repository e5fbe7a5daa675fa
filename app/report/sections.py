"""The sections of a report of a run: the facts of the app's screens, at the end of the run."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from trunkline.app.report.summary import EXPECTATIONS, LINES, VIOLATIONS, shortened_path
from trunkline.app.runs.model import Run
from trunkline.app.text.cells import clean, count, quoted, seconds
from trunkline.app.text.fact import Fact, Tone, because, facts
from trunkline.app.view.explain.binding_facts import record_facts
from trunkline.app.view.explain.explanation import reproduction
from trunkline.app.view.hands.facts import hand_facts
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.messages import AttemptKind, MessageHistories, MessageHistory
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.invariants.results import NOT_JUDGED
from trunkline.app.view.kinds.registry import event_fact
from trunkline.app.view.labels.heartbeat_facts import standing_facts
from trunkline.app.view.labels.messages import LabelCell, ListLine, says
from trunkline.app.view.messages.rows import MessageRows
from trunkline.app.view.overview.cards import hands_fact
from trunkline.app.view.queue.rows import QueueRows
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.sessions.alignment_index import AlignedPair
from trunkline.app.view.sessions.transcripts import SessionListRow, Sessions, SessionViolations
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.app.view.wire_side.facts import RequestRows, gateway_name, not_known, question_facts, question_rows
from trunkline.app.view.wire_side.places import WirePlaces
from trunkline.core.events import base, gateway
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.index.marks import without_marks
from trunkline.sim.invariants import INVARIANTS, Status, Verdict, Violation


def question_sections(view: RunView) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Every question with its way to the model and back."""
    rows = question_rows(view)
    for question in rows:
        body = question.body
        where = view.places.label(body.address)
        title = f"Question {question.mark} in {where}: {quoted(without_marks(body.text))}"
        broken = facts(0, ("broken", rows.broken(question, view.last), Tone.BAD))
        yield title, (*broken, *question_facts(view, rows, question))


def place_sections(view: RunView) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Every place: what the model was asked and said, beside what people saw."""
    places = WirePlaces(view)
    for row in places.rows(view.last):
        counts = Fact("counts", f"{row.heard} heard, {row.said} shown by the gateway; {row.name}")
        copies = facts(0, ("copies", _copied(row), Tone.BAD))
        yield row.place, (counts, *copies, *(_wire_pair(pair) for pair in places.pairs(row.owner)))


def _copied(row: SessionListRow) -> str:
    return f"{count(row.copies, 'message')} seen more than once" if row.copies else ""


def _wire_pair(pair: AlignedPair) -> Fact:
    """A line of the model and the visible message beside it, in one line."""
    held, seen = pair.line, pair.seen
    words: list[str] = []
    if seen is not None:
        words.append(f"{clean(seen.who) or 'the gateway'} {quoted(seen.text)}")
    if held is not None:
        said = "" if seen is not None and seen.text == held.text else f" {quoted(held.text)}"
        words.append("the model is asked" if held.role == "asked" else f"the model answers{said}")
    return _line(pair, f"#{pair.seq} {seconds(pair.at)} {', '.join(words)}")


def _line(pair: AlignedPair, text: str) -> Fact:
    note = clean(pair.note or pair.difference.value)
    mark = f"{'✗ ' if pair.wrong else ''}{note}" if note else ""
    return Fact("line", text, pair.seq, Tone.BAD if pair.wrong else Tone.PLAIN, mark=mark)


def request_facts(view: RunView) -> Iterator[Fact]:
    """Every request to send or to change a message, and the starts and ends of the gateway between them."""
    rows = RequestRows(view, question_rows(view).sends)
    yield Fact("counts", rows.counts(view.last) or "the gateway sent nothing in this run")
    for index in range(len(rows)):
        line = rows.line(index, view.last)
        if line.mark:
            yield _mark(line)
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


def _mark(line: ListLine) -> Fact:
    return Fact("mark", line.mark, line.seq, Tone.BAD if line.tone is Tone.BAD else Tone.PLAIN)


def unjudged_fact(view: RunView) -> Fact:
    """The invariants that nobody can judge from outside."""
    judged = {verdict.id for verdict in view.verdicts}
    ids = " ".join(name for name in INVARIANTS if name not in judged)
    return Fact("verdict", f"not judged: {ids}; {not_known(view.header)}", tone=Tone.DIM)


def _words(cell: LabelCell) -> str:
    """The label of a state without its shape."""
    return (cell.more or cell.text).partition(" ")[2]


def message_sections(view: RunView, messages: MessageRows) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Every message with its history, in order of time: inbound, outbound, and deliberately not sent."""
    heard: dict[str, int] = {}
    for event in view.events:
        if event.intent is None and isinstance(event.body, gateway.InboundReceived | gateway.InboundDropped):
            heard.setdefault(event.inbound or "", event.seq)
    found: list[tuple[int, str | MessageHistory]] = [(seq, name) for name, seq in heard.items() if name]
    found += [(history.first.seq, history) for history in messages.histories]
    for _, spoken in sorted(found, key=lambda item: item[0]):
        yield _said(view, messages, spoken) if isinstance(spoken, MessageHistory) else _heard(view, spoken)


def _heard(view: RunView, name: str) -> tuple[str, Iterable[Fact]]:
    events = view.of_inbound(name)
    said = view.posted(events[0].seq)
    own = [event for event in events if event.intent is None and event.delegation is None]
    steps = sorted({event.seq: event for event in ([said] if said else []) + own}.values(), key=lambda event: event.seq)
    body = said.body if said is not None else None
    who = ""
    if isinstance(body, PeerSaid):
        person = view.places.person(body.address.channel, body.peer.id, body.peer.name)
        who = f" from {person} in {view.places.label(body.address)}: {quoted(body.text)}"
    return f"Message {name}{who}", [event_fact(view, event, "life", timed=True) for event in steps]


def _said(view: RunView, messages: MessageRows, history: MessageHistory) -> tuple[str, Iterable[Fact]]:
    address = history.body.address if history.body else getattr(history.first.body, "address", None)
    where = f" to {view.places.label(address)}" if address is not None else ""
    return f"Message {history.id}{where}: {says(history)}", _life(view, messages, history)


def _life(view: RunView, messages: MessageRows, history: MessageHistory) -> Iterator[Fact]:
    head, body = messages.head(history, view.last), history.body
    state = head.cells["terminal"]
    yield Fact("state", _words(state), state.seq, state.tone)
    if body is not None:
        yield Fact("kind", f"{body.intent_kind}, {count(body.chunks, 'chunk')}")
        yield because(body.reason, history.seq)
        tried = count(sum(attempt.part is AttemptKind.ATTEMPT for attempt in history.tries), "attempt")
        yield Fact("counts", f"{tried}, {len(history.accepted)} accepted on the wire")
        yield Fact("session", clean(body.mirror_key or "not mirrored"))
    yield from facts(head.seq, ("broken", head.cells["broken"].text, Tone.BAD))
    yield from _copies(view, history)
    yield from (event_fact(view, event, "life", timed=True) for event in history.events)


def _copies(view: RunView, history: MessageHistory) -> Iterator[Fact]:
    for seq in (event.seq for event in history.accepted):
        copy = view.marks.copies.get(seq)
        if copy is not None:
            group = view.marks.groups[copy.group]
            others = " ".join(f"#{other}" for other in group if other != seq)
            text = f"#{seq} is number {copy.number} of {len(group)} of the same message, with {others}"
            yield Fact("copy", text, seq, Tone.BAD)
        if seq in view.marks.misplaced:
            yield Fact("place", f"#{seq} is at the wrong place", seq, Tone.BAD)


def queue_facts(view: RunView, queue: QueueRows) -> Iterator[Fact]:
    """The balance, the messages that break it, and every row with its owners over time."""
    if queue.empty:
        yield Fact("", "nothing was queued in this run")
        return
    ledger = queue.ledger(view.last)
    yield Fact("balance", ledger.text, tone=Tone.GOOD if ledger.holds else Tone.BAD)
    yield from facts(0, ("missing", ledger.names, Tone.BAD))
    for row in queue.rows:
        line = queue.line(row, view.last)
        if line.mark:
            yield _mark(line)
            continue
        cells = line.cells
        text = f"{cells['id'].text} {_words(cells['state'])}: {cells['what'].text} to {cells['place'].more}"
        why = cells["why"]
        yield Fact("row", f"{text}, {cells['age'].text} s: {why.text}", line.seq, why.tone)
        yield from queue.facts(row, view.last, drawn=False)


def hand_sections(view: RunView, hands: HandRuns) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Every task of a hand: origin, deadline, outcome and announcements."""
    for row in hands.rows(view.last):
        title = f"Task {row.id} of hand {row.body.hand}: {quoted(row.body.task)}, {row.work} {row.callback}"
        yield title, hand_facts(view, hands, row, view.last)


#: where to read what the report leaves out
ALL_OF_THEM = "trunkline replay has all of them in the app"


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A heading and its facts. `level` 1 is a chapter."""

    title: str
    level: int = 1
    facts: tuple[Fact, ...] = ()


def sections(view: RunView) -> Iterator[Section]:
    if view.wire_side:
        yield from _of_wire(view)
        return
    histories = MessageHistories(view)
    hands = HandRuns(view, histories)
    delegated = hands_fact(hands, view.last)
    yield Section(title="Run", facts=(*run_facts(view), *([delegated] if delegated is not None else ())))
    yield from _verdicts(view)
    yield from _chapter("Messages", message_sections(view, MessageRows(view, histories)), "no messages in this run")
    yield from _chapter("Sessions", _sessions(view), "no sessions in this run")
    bound = ((f"Binding {view.bindings.name(row.id)}", row) for row in view.bindings.rows(view.last))
    records = ((title, record_facts(view, row, view.last)) for title, row in bound)
    yield from _chapter("Bindings", records, "no bindings in this run")
    yield Section(title="Queue", facts=tuple(queue_facts(view, QueueRows(view, histories))))
    yield from _chapter("Hands", hand_sections(view, hands), "no delegations in this run")
    yield _timeline(view)


def _of_wire(view: RunView) -> Iterator[Section]:
    """Every chapter of a run of which only the wire is known."""
    yield Section(title="Run", facts=tuple(run_facts(view)))
    yield from _verdicts(view)
    yield from _chapter("Questions", question_sections(view), "nobody asked anything in this run")
    yield from _chapter("Places", place_sections(view), "nothing was said in this run")
    yield Section(title="Requests on the wire", facts=tuple(request_facts(view)))
    inside = f"sessions, transcripts, queue, bindings and delegations: {not_known(view.header)}"
    yield Section(title="Inside", facts=(Fact("", inside),))
    yield _timeline(view)


def _timeline(view: RunView) -> Section:
    rows = tuple(event_fact(view, view.event(seq), timed=True) for seq in Timeline(view, TimelineLanes(view)).seqs)
    return Section(title="Timeline", facts=rows or (Fact("", "no events"),))


def _chapter(title: str, parts: Iterable[tuple[str, Iterable[Fact]]], empty: str) -> Iterator[Section]:
    """A chapter with its parts, or a line that there are none."""
    found = [Section(title=clean(name), level=2, facts=tuple(facts)) for name, facts in parts]
    yield Section(title=title, facts=() if found else (Fact("", empty),))
    yield from found


def run_facts(view: RunView) -> Iterator[Fact]:
    """The run itself: scenario, seed, defects, end, verdict and how to repeat it."""
    header = view.run.trace.header
    yield Fact("scenario", clean(header.scenario))
    yield from facts(0, ("title", header.title), ("source", header.source), ("file", header.path))
    if view.wire_side:
        yield Fact("gateway", gateway_name(view.header))
        yield Fact("recorded", "its wire only: the platforms and the model were servers on loopback")
    elif not header.of_gateway:
        yield Fact("seed", str(header.seed))
        yield Fact("defects", clean(", ".join(header.bugs)) or "none switched on")
    yield from facts(0, ("crashes", ", ".join(header.crashes)))
    if header.on_wire and not view.wire_side:
        yield Fact("on the wire", "yes: the platforms were servers on loopback, the adapters real ones")
    clock = "" if header.of_gateway else " s of the run's clock" if header.on_wire else " s of virtual time"
    yield Fact("events", f"{view.last}, until {seconds(view.time(view.last))}{clock}")
    end = view.event(view.last).body if view.last else None
    if isinstance(end, base.RunEnded):
        left = f"no: {clean(', '.join(end.open))}" if end.open else "no"
        rests = f"yes, while {clean(', '.join(end.waiting))} waits" if end.waiting else "yes"
        yield Fact("at rest", rests if end.at_rest else left)
    yield from standing_facts(view, view.last)
    if view.run.trace.cut:
        yield Fact("cut", f"{clean(view.run.trace.cut)}; {NOT_JUDGED}", tone=Tone.WARN)
    yield holds_fact(view)
    yield from facts(0, ("repro", reproduction(header, view.events)))


def holds_fact(view: RunView) -> Fact:
    """The verdict on the whole run."""
    run = view.run
    exercised = f"{run.exercised} of {count(len(view.verdicts), 'invariant')} exercised"
    if run.holds:
        return Fact("verdict", f"all hold{view.so_far}, {exercised}", tone=Tone.GOOD, mark="✓")
    texts = [f"violated: {' '.join(run.violated)}"] if run.violated else []
    missed = len(run.unmet) - run.not_exercised
    texts += [f"{count(missed, 'expectation')} missed"] if missed else []
    texts += [f"not exercised: {run.not_exercised}"] if run.not_exercised else []
    return Fact("verdict", f"{', '.join(texts)}, {exercised}", tone=Tone.BAD, mark="✗")


#: the order of verdicts in reports
VERDICT_ORDER = (Status.VIOLATED, Status.OK, Status.NOT_EXERCISED)


def _verdicts(view: RunView) -> Iterator[Section]:
    yield Section(title="Verdicts")
    for verdict in sorted(view.verdicts, key=lambda verdict: VERDICT_ORDER.index(verdict.status)):
        yield Section(title=f"{verdict.id} {verdict.name}", level=2, facts=tuple(_verdict(view, verdict)))
    if view.wire_side:
        yield Section(title="What needs the gateway's inside", level=2, facts=(unjudged_fact(view),))
    for unmet in view.run.unmet[:EXPECTATIONS]:
        where = f", line {unmet.line}" if unmet.line else ""
        missed = Fact("missed", clean(unmet.summary), tone=Tone.BAD)
        lines = (missed, *_some("expected", unmet.expected), *_some("actual", unmet.actual, Tone.BAD))
        yield Section(title=f"Expectation of the scenario{where}", level=2, facts=lines)
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
    yield from (Fact("remark", clean(remark), tone=Tone.WARN) for remark in verdict.remarks)
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
    evidence = [view.event(seq) for seq in violation.evidence if 0 < seq <= view.last]
    yield from (event_fact(view, event, "evidence", timed=True) for event in evidence[:LINES])
    if len(evidence) > LINES:
        yield Fact("evidence", f"and {count(len(evidence) - LINES, 'more event')}", tone=Tone.DIM)
    for step in shortened_path(view, violation, "and"):
        yield msgspec.structs.replace(step, label="path", tone=Tone.PLAIN)


def _some(label: str, texts: Sequence[str], tone: Tone = Tone.PLAIN) -> Iterator[Fact]:
    yield from (Fact(label, clean(text), tone=tone) for text in texts[:LINES])
    if len(texts) > LINES:
        yield Fact(label, f"and {count(len(texts) - LINES, 'more line')}", tone=Tone.DIM)


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
    yield from facts(0, ("broken", broken, Tone.BAD), ("copies", _copied(row), Tone.BAD))
    if row.differences:
        differing = count(row.differences, "line")
        yield Fact("differs", f"{differing} between the transcript and what people saw", tone=Tone.BAD)
    else:
        yield Fact("differs", "nothing: people saw what it contains")


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
    return _line(pair, text)


# A run as linear text: headings, and one fact per line, in the order of the app's screens.
#
# The same sections come in two forms. The normal form aligns labels and uses the signs of the app. The plain form is
# for screen readers, pipes and grep: every line has its label, signs are words, and nothing is drawn.

#: the signs of the app in words
WORDS = str.maketrans(
    {
        "→": "to",
        "←": "from",
        "▸": "goes on",
        "✓": "ok",
        "✗": "wrong",
        "≠": "differs",
        "×": " times",
        "↵": "(line end)",
        "…": "...",
        "–": "-",
        "·": "-",
        "“": '"',
        "”": '"',
        "‘": "'",
        "’": "'",
        "\u00a0": " ",
    }
)
_LABEL = 10
#: a tone in words, unless the label says it
_TONE_WORDS = {Tone.BAD: "wrong", Tone.WARN: "note"}


def report(run: Run, *, plain: bool) -> Iterator[str]:
    yield from (plain_lines if plain else normal_lines)(sections(RunView(run)))


def plain_lines(parts: Iterable[Section]) -> Iterator[str]:
    """Headings begin with ``#``, each fact with its label, which is repeated if necessary."""
    for number, part in enumerate(parts):
        if number and part.level == 1:
            yield ""
        yield f"{'#' * part.level} {_spelled(part.title)}"
        label = ""
        for fact in part.facts:
            label = fact.label or label
            yield _plain(fact, label)


def _plain(fact: Fact, label: str) -> str:
    mark = fact.mark.strip("✗✓ ") or ("" if label in _SELF_EXPLANATORY else _TONE_WORDS.get(fact.tone, ""))
    text = _spelled(f"{fact.text} ({mark})" if mark else fact.text)
    return f"{label}: {text}" if label else text


#: labels that already say whether something is wrong
_SELF_EXPLANATORY = frozenset({"actual", "broken", "differs", "verdict", "missed"})


def _spelled(text: str) -> str:
    return text.translate(WORDS)


def normal_lines(parts: Iterable[Section]) -> Iterator[str]:
    """Headings at the left edge, indented facts below, labels in a column."""
    for number, part in enumerate(parts):
        if number and (part.level == 1 or part.facts):
            yield ""
        yield part.title if part.level == 1 else f"{'  ' * (part.level - 1)}{part.title}"
        column = f"<{_LABEL}" if any(fact.label for fact in part.facts) else ""
        for fact in part.facts:
            mark = f"   {fact.mark}" if fact.mark else ""
            label = f"{fact.label:{column}} " if column else ""
            yield f"{'  ' * part.level}{label}{fact.text}{mark}".rstrip()
