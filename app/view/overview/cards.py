"""The cards of the Overview: what is violated, and the essence of each other screen.

A row is a set of named cells; which of them are drawn is decided by the room that there is.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from trunkline.app.text.cells import clean, quoted, seconds
from trunkline.app.text.fact import Fact, Tone, listed
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.bindings import STANDINGS, BindingRow, Standing
from trunkline.app.view.index.messages import MessageHistory
from trunkline.app.view.index.places import PlaceKey, title
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.invariants.results import NOT_JUDGED, SIGNS, FamilyRow, InvariantStatus, Verdicts, blame_facts
from trunkline.app.view.labels.heartbeat_facts import standing_facts
from trunkline.app.view.labels.messages import ListLine
from trunkline.app.view.queue.rows import QueueBalance
from trunkline.app.view.rows.lanes import LINES, PLAIN_LINE, STOPS, LaneKind, Look, TimelineLanes, TimelineRow
from trunkline.app.view.sessions.transcripts import SessionListRow
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.core.events.delivery import AttemptStarted, ChunkAcked, IntentPrepared, IntentReopened, IntentSettled
from trunkline.core.values import IntentState
from trunkline.sim.events import wire, world
from trunkline.sim.invariants.base import Violation

NONE = "·"
_STATES = {
    IntentState.PREPARED: ("○", Tone.PLAIN),
    IntentState.SENDING: ("◐", Tone.WARN),
    IntentState.DELIVERED: ("✓", Tone.GOOD),
    IntentState.UNKNOWN: ("?", Tone.WARN),
    IntentState.CANCELLED: ("–", Tone.DIM),
}


class CardCell(msgspec.Struct, frozen=True):
    """A piece of a row. `look` is how the timeline draws it, and wins over the tone."""

    text: str
    tone: Tone = Tone.PLAIN
    look: Look | None = None


class CardRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a card. `thing` is what its screen knows it by; `seq` the event that it stands for, 0 for none."""

    cells: Mapping[str, CardCell]
    thing: str | PlaceKey = ""
    seq: int = 0
    #: it begins after the cursor
    later: bool = False


def family_rows(verdicts: Verdicts, seq: int) -> list[CardRow]:
    return [_family_row(family) for family in verdicts.families(seq)]


def _family_row(family: FamilyRow) -> CardRow:
    sign, tone = SIGNS[family.judged]
    broken = family.judged is InvariantStatus.VIOLATED
    words = {InvariantStatus.LATER: "later", InvariantStatus.OK: "ok", InvariantStatus.IDLE: str(InvariantStatus.IDLE)}
    ids = words.get(family.judged, " ".join(family.ids))
    brief = {InvariantStatus.VIOLATED: f"{family.broken} #{family.latest}", InvariantStatus.IDLE: "idle"}
    strong = CardCell(
        family.name, tone if broken else Tone.DIM if family.judged is InvariantStatus.IDLE else Tone.PLAIN
    )
    return CardRow(
        cells={
            "sign": CardCell(sign, tone),
            "letter": CardCell(family.letter, strong.tone),
            "name": strong,
            "ids": CardCell(ids, tone),
            "count": CardCell(str(family.broken), tone) if broken else CardCell(""),
            "at": CardCell(f"#{family.latest}", tone) if broken else CardCell(""),
            "brief": CardCell(brief.get(family.judged) or words[family.judged], tone),
        },
        thing=family.worst,
        seq=family.latest,
    )


def latest_title(view: RunView, verdicts: Verdicts, seq: int) -> str:
    """The title of the card of the latest violation."""
    found = verdicts.latest(seq)
    if not found:
        return "No violation so far" if view.marks.violations else "No violation"
    titles = {verdict.id: verdict.name for verdict in verdicts.all}
    return f"Violation: {titles[found[0].invariant]}"


def latest_facts(
    view: RunView, verdicts: Verdicts, seq: int, story: str = "", *, brief: bool = False, hands: HandRuns | None = None
) -> list[Fact]:
    """The latest violation up to the cursor: the copies beside each other, expected against actual; else the story.

    `brief` leaves out what the timeline also shows.
    """
    found = verdicts.latest(seq)
    delegated = hands_fact(hands, seq) if hands is not None else None
    facts = [*(_violated(view, found, brief=brief) if found else _calm(view, verdicts, seq))]
    facts += [delegated] if delegated is not None else []
    if story and not found:
        facts.append(Fact("story", clean(" ".join(story.split())), tone=Tone.DIM))
    return facts


def _violated(view: RunView, found: Sequence[Violation], *, brief: bool) -> Iterator[Fact]:
    main, *others = found
    at = main.at
    yield Fact(f"✗ {main.invariant}", f"#{at} {clean(main.summary)}", at, Tone.BAD)
    yield from _copies(view, main, brief=brief)
    for label, texts, tone in (("expected", main.expected, Tone.GOOD), ("actual", main.actual, Tone.BAD)):
        yield from listed(label, texts, at, tone)
    for other in others:
        yield Fact(f"✗ {other.invariant}", clean(other.summary), at, Tone.BAD)
    yield from blame_facts(view, main)
    yield from standing_facts(view, at)


def _copies(view: RunView, violation: Violation, *, brief: bool) -> Iterator[Fact]:
    for seq in sorted(set(violation.evidence)):
        copy = view.marks.copies.get(seq)
        if copy is None:
            continue
        at = "" if brief else f" {seconds(view.time(seq))}"
        wrong = "wrong place" if seq in view.marks.misplaced else "copy" if copy.number > 1 else ""
        yield Fact(
            f"{copy.number}×",
            f"#{seq}{at} {_copied(view, seq, brief=brief)}",
            seq,
            Tone.BAD if wrong else Tone.PLAIN,
            mark=f"✗ {wrong}" if wrong else "",
        )


def _copied(view: RunView, seq: int, *, brief: bool) -> str:
    """The destination of a copy and its reason; the author of an inbound one."""
    event = view.event(seq)
    match event.body:
        case wire.WireAccepted(address=address):
            prepared = view.prepared(event)
            why = f"  by {prepared.reason}" if prepared is not None and not brief else ""
            return f"→ {title(view.places, address)}{why}"
        case world.PeerSaid(address=address, words=words):
            return f"{quoted(words)} in {title(view.places, address)}"
        case _:
            return event.kind


def _calm(view: RunView, verdicts: Verdicts, seq: int) -> Iterator[Fact]:
    """The facts of a run without a violation so far."""
    ahead = [row.id for row in verdicts.rows(seq) if row.judged is InvariantStatus.LATER]
    if ahead:
        yield Fact("ahead", f"{' '.join(ahead)} will break: n goes there", tone=Tone.WARN)
    elif not view.exercised:
        yield Fact("verdict", "nothing happened that an invariant judges", tone=Tone.DIM)
    else:
        total = len(view.verdicts)
        text = f"✓ all hold{view.so_far or ' in the whole run'}, {view.exercised} of {total} exercised"
        yield Fact("verdict", text, tone=Tone.GOOD)
    if view.cut:
        yield Fact("cut", f"the trace is truncated: {NOT_JUDGED}", tone=Tone.WARN)
    for unmet in view.unmet if not view.marks.violations else ():
        yield Fact("unmet", clean(unmet.summary), tone=Tone.BAD)
    yield Fact("run", clean(view.header.title))
    yield from standing_facts(view, seq)
    for bug in view.header.bugs:
        yield Fact("defect", clean(bug), tone=Tone.WARN)


def hands_fact(hands: HandRuns, seq: int) -> Fact | None:
    """How many delegations are in which state; none before the first."""
    counts = hands.counts(seq)
    if not counts.accepted:
        return None
    tone = Tone.WARN if counts.by_state["parked"] or counts.by_state["undeliverable"] else Tone.PLAIN
    return Fact("hands", f"{counts.accepted} delegated: {counts.states}", tone=tone)


#: cells of the balance in a narrow card
_BRIEF_LINE = 33


def queue_line(ledger: QueueBalance, *, brief: bool = False) -> str:
    """The balance of the queue in a line: ``✓ prepared 5 = delivered 4 + open 1``.

    Terms of nothing are left out here; the queue itself shows them. The sign comes first: the end may be cut.
    """
    if not ledger.total:
        return "no message was prepared yet"
    terms = " + ".join(f"{name} {number}" for name, number in ledger.terms if number) or "0"
    sign, equal = ("✓", "=") if ledger.holds else ("✗", "≠")
    text = f"{sign} prepared {ledger.total} {equal} {terms}"
    return text.replace("prepared ", "", 1) if brief and len(text) > _BRIEF_LINE else text


def queue_row(view: RunView, history: MessageHistory, seq: int) -> CardRow:
    """An intent after event `seq`, as the store holds it."""
    text, address, state, tries, last = "", None, IntentState.PREPARED, 0, history.seq
    accepted: list[int] = []
    for event in history.events:
        if event.seq > seq:
            break
        match event.body:
            case IntentPrepared() as body:
                text, address, state, tries = body.text, body.address, IntentState.PREPARED, 0
                accepted.clear()
            case AttemptStarted(attempt=attempt):
                # A process unaware of the end may send it again; the store keeps the end.
                state = IntentState.SENDING if state is IntentState.PREPARED else state
                tries = max(tries, attempt)
            case wire.WireAccepted():
                accepted.append(event.seq)
            case IntentSettled(state=end):
                state = end
            case IntentReopened():
                state = IntentState.PREPARED
            case ChunkAcked():
                pass
            case _:
                continue
        last = event.seq
    sign, tone = _STATES.get(state, ("✗", Tone.BAD))
    copies = max((copy.number for event in accepted if (copy := view.marks.copies.get(event))), default=1)
    if copies > 1:
        sign, tone = "✗", Tone.BAD
    return CardRow(
        cells={
            "sign": CardCell(sign, tone),
            "id": CardCell(history.id, Tone.DIM),
            "text": CardCell(quoted(text)),
            "place": CardCell(title(view.places, address) if address else NONE),
            "state": CardCell(str(state), tone),
            "tries": CardCell(_tries(tries), Tone.DIM),
            "copy": CardCell(f"{copies}×" if copies > 1 else "", Tone.BAD),
        },
        thing=history.id,
        seq=last,
    )


def request_row(line: ListLine) -> CardRow:
    """A request of a gateway of which only the wire is known."""
    cells = line.cells
    sign, _, state = cells["state"].text.partition(" ")
    tries = cells["try"].text
    return CardRow(
        cells={
            "sign": CardCell(sign, cells["state"].tone),
            "id": CardCell(cells["answers"].text, Tone.DIM),
            "text": CardCell(cells["what"].text),
            "place": CardCell(cells["place"].more),
            "state": CardCell(state.lower(), cells["state"].tone),
            "tries": CardCell(_tries(int(tries)) if tries.isdigit() else NONE, Tone.DIM),
            "copy": CardCell(line.tag, Tone.BAD),
        },
        seq=line.seq,
    )


def _tries(number: int) -> str:
    return NONE if not number else "1 try" if number == 1 else f"{number} tries"


def session_row(row: SessionListRow, seq: int) -> CardRow:

    def number(value: int, tone: Tone = Tone.PLAIN) -> CardCell:
        return CardCell(str(value), tone) if value else CardCell(NONE, Tone.DIM)

    return CardRow(
        cells={
            "conversation": CardCell(row.place),
            "in": number(row.heard),
            "out": number(row.said),
            "2×": number(row.copies, Tone.BAD),
            "≠": number(row.differences, Tone.BAD),
            "last": CardCell(seconds(row.last)) if row.last else CardCell(NONE, Tone.DIM),
        },
        thing=row.owner,
        # A place may have a copy before it has a session, which must stay visible.
        later=row.since > seq and not (row.copies or row.differences),
    )


def binding_row(view: RunView, row: BindingRow, seq: int) -> CardRow:
    """A binding: its state, conversation and session, and when it ends."""
    standing = view.bindings.standing(row, seq)
    sign, tone = STANDINGS[standing]
    later = standing is Standing.LATER
    ends = row.ended_at if row.ended_at is not None else row.expires_at
    return CardRow(
        cells={
            "sign": CardCell(sign, tone),
            "id": CardCell(view.bindings.name(row.id)),
            "status": CardCell(str(standing), tone),
            "conversation": CardCell(title(view.places, row.conversation)),
            "session": CardCell(f"→ {row.session_key}", Tone.DIM),
            "ends": CardCell(NONE if ends is None or later else f"{ends:.0f} s", Tone.DIM),
        },
        thing=row.id,
        seq=row.last,
        later=later,
    )


def recent_row(timeline: Timeline, lanes: TimelineLanes, index: int) -> CardRow:
    row = timeline.rows[index]
    return CardRow(
        cells={
            "#": CardCell(f"#{row.seq}", Tone.DIM),
            "at": CardCell(seconds(row.at), Tone.DIM),
            "tag": CardCell(row.tags[0] if row.tags else "", look=row.look),
            "way": CardCell(_way(row, lanes), look=row.look),
            "text": CardCell(f"{row.who} {row.text}".strip(), look=row.look if row.is_note else None),
        },
        seq=row.seq,
    )


def _way(row: TimelineRow, lanes: TimelineLanes) -> str:
    ends = (lanes.all[index] for index in (row.start, row.end))
    start, end = ("gw" if lane.kind is LaneKind.GATEWAY else lane.label for lane in ends)
    arrow = LINES.get(row.look, PLAIN_LINE)[0] + STOPS.get(row.look, "▶")
    return f"● {start}" if row.is_note else f"{start} {arrow} {end}"
