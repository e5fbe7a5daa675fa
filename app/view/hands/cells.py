"""The cells of a delegation in the list, by column title."""

from enum import StrEnum

from trunkline.app.text.cells import brief_seconds, clean, quoted
from trunkline.app.text.fact import Tone
from trunkline.app.view.bindings.lifetime_bar import BarCell, TimeBar
from trunkline.app.view.hands.columns import OPEN_WORK, TO_PARENT, WORK_LOOKS, HandRow, WorkPhase
from trunkline.app.view.hands.facts import spoken
from trunkline.app.view.hands.runs import DelegationHistory, HandRuns
from trunkline.app.view.index.places import title
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.gateway import CALLBACK_LOOKS
from trunkline.app.view.labels.messages import EMPTY, LabelCell, place_cell
from trunkline.core.states.delegation import CallbackState

_NOT_YET = frozenset({CallbackState.WAITING, CallbackState.PENDING_TURN, CallbackState.IN_TURN})


def hand_cells(view: RunView, row: HandRow, above: str = "") -> dict[str, LabelCell]:
    """Every column; the list takes those that have room. `above` names the delegation above it."""
    body, asked = row.body, row.asked_by
    indent = "  " * (row.depth - 1) + "└ " if row.depth else ""
    again = f" {row.runs}×" if row.runs > 1 else ""
    shape, tone = ("✗", Tone.BAD) if row.overdue else WORK_LOOKS[row.work][:2]
    origin = LabelCell(above or "nowhere", f"below {above}" if above else "", Tone.DIM)
    return {
        "work": LabelCell(f"{shape} {row.work}", tone=tone, seq=0 if row.overdue else row.finished),
        "callback": _callback(row),
        "id": LabelCell(row.name),
        "hand": LabelCell(f"{indent}{clean(body.hand)}{again}"),
        "kind": _or_empty(body.hand_kind),
        "label": _or_empty(clean(body.label)),
        "asked by": LabelCell(clean(asked.name or asked.id)) if asked is not None else EMPTY,
        "origin": place_cell(title(view.places, body.origin)) if body.origin else origin,
        "tries": _or_empty(str(row.runs or "")),
        "age": EMPTY if row.later else LabelCell(brief_seconds(row.age), tone=Tone.WARN if row.overran else Tone.PLAIN),
        "left": _left(row),
        "task": LabelCell(quoted(body.task)),
        "outcome": EMPTY if row.later else _so_far(view, row, above),
    }


def _or_empty(text: str) -> LabelCell:
    return LabelCell(text) if text else EMPTY


def _callback(row: HandRow) -> LabelCell:
    if row.later or (row.callback is CallbackState.WAITING and row.work in OPEN_WORK):
        return EMPTY
    shape, word, tone, _ = CALLBACK_LOOKS[row.callback]
    shape, tone = ("✗", Tone.BAD) if row.wrong else (shape, tone)
    return LabelCell(f"{shape} {word}", tone=tone, seq=row.callback_since)


def _left(row: HandRow) -> LabelCell:
    """The time until its deadline; negative when it has passed."""
    if row.left is None or row.later:
        return EMPTY
    return LabelCell(
        brief_seconds(row.left), tone=Tone.BAD if row.overdue else Tone.WARN if row.left < 0 else Tone.PLAIN
    )


def _so_far(view: RunView, row: HandRow, above: str) -> LabelCell:
    """Violations, where people saw the result, or else why not; while the hand works, its progress."""
    wrong = f"✗ {' '.join(row.broken)} " if row.broken else "✗ L2 " if row.overdue else ""

    def cell(text: str, more: str = "", tone: Tone = Tone.PLAIN) -> LabelCell:
        return LabelCell(f"{wrong}{text}", f"{wrong}{more}" if more else "", Tone.BAD if wrong else tone)

    if row.said:
        several = len({message.address.lane for message in row.said}) > 1
        places = place_cell(f"{len(row.said)}× {spoken(view, row)}" if several else spoken(view, row))
        return cell(places.text, places.more)
    if row.over and row.finished:
        return cell("not delivered", tone=Tone.BAD)
    if row.callback in _NOT_YET and row.waits:
        return cell(f"… {row.waits:.1f} s", f"not yet, for {row.waits:.1f} s", Tone.WARN)
    suppressed = row.callback is CallbackState.SUPPRESSED
    if above and suppressed and row.callback_reason in TO_PARENT:
        return cell(f"→ {above}", f"goes to {above}")
    if row.callback_reason is not None:
        return cell(str(row.callback_reason), tone=Tone.DIM if suppressed else Tone.WARN)
    if row.progress and row.work in OPEN_WORK:
        return cell(quoted(row.progress))
    return LabelCell(wrong.strip(), tone=Tone.BAD) if wrong else EMPTY


# Runs as bars over time: a delegation as a line of cells, from its acceptance to what became of its report.
#
# ``┄┄━━━━━●┄┄~~▸▸▸✓``: it waited, worked, and ended; its callback waited, had its turn, was queued, and was delivered.
# Cells after the cursor are marked, not left out.


class SpanPart(StrEnum):
    """Meaning of a cell of a bar. In one cell, the part that comes last here is drawn."""

    NONE = "none"
    #: accepted, or ended, and nothing works on it yet
    WAITS = "waits"
    WORKS = "works"
    #: the callback turn
    TURN = "turn"
    QUEUED = "queued"
    PARKED = "parked"
    #: the process that ran it has died
    ORPHANED = "orphaned"
    #: an end: of the work, or of the report
    END = "end"


#: the character of each part; every one is another character without Unicode, too
CHARS = {
    SpanPart.WAITS: "┄",
    SpanPart.WORKS: "━",
    SpanPart.TURN: "~",
    SpanPart.QUEUED: "▸",
    SpanPart.PARKED: "?",
    SpanPart.ORPHANED: "×",
}
#: what the characters mean, for the frame
LEGEND = "┄ waits  ━ works  ● done  ~ turn  ▸ queued  ? parked  ✓ delivered"
_PARTS = {
    CallbackState.WAITING: SpanPart.WAITS,
    CallbackState.PENDING_TURN: SpanPart.WAITS,
    CallbackState.IN_TURN: SpanPart.TURN,
    CallbackState.QUEUED: SpanPart.QUEUED,
    CallbackState.PARKED: SpanPart.PARKED,
}


def span_of(view: RunView, hands: HandRuns) -> tuple[float, float]:
    """The time that the bars show: from the first acceptance to the last event of any delegation."""
    histories = hands.histories
    if not histories:
        return 0.0, 0.0
    return min(run.accepted.at for run in histories), max(view.time(run.last) for run in histories)


def run_bar(
    view: RunView, hands: HandRuns, run: DelegationHistory, span: tuple[float, float], now: float, width: int
) -> list[BarCell[SpanPart]]:
    """The whole life of a delegation in `width` cells; `now` is the time of the cursor."""
    bar = TimeBar(SpanPart, span, now, width)
    finished = run.finished
    end = finished.at if finished is not None else span[1]
    _line(bar, run.accepted.at, run.started[0].at if run.started else end, SpanPart.WAITS)
    if run.started:
        _line(bar, run.started[0].at, end, SpanPart.WORKS)
    _orphaned(view, hands, run, bar, end)
    if finished is not None:
        _draw_callback(run, bar, finished.at, span[1])
        # Where both ends fall into one cell, the report wins, and the end of the work moves to its left.
        x = bar.column(finished.at)
        x -= bar.cells[x].part is SpanPart.END and x > 0
        shape, tone, _ = WORK_LOOKS[run.work(view.last, {})]
        bar.put(finished.at, shape, SpanPart.END, tone, x=x)
    return bar.cells


def _line(bar: TimeBar[SpanPart], start: float, end: float, part: SpanPart) -> None:
    if part is not SpanPart.NONE:
        bar.line(start, end, CHARS[part], part)


def _orphaned(view: RunView, hands: HandRuns, run: DelegationHistory, bar: TimeBar[SpanPart], end: float) -> None:
    """Draw the time without a process: from the death of one to the next start, or to the end."""
    deaths = hands.messages.deaths
    for number, started in enumerate(run.started):
        died = deaths.get(started.generation)
        if died is not None and died >= started.seq and run.work(died, deaths) is WorkPhase.ORPHANED:
            after = run.started[number + 1].at if number + 1 < len(run.started) else end
            _line(bar, view.time(died), after, SpanPart.ORPHANED)


def _draw_callback(run: DelegationHistory, bar: TimeBar[SpanPart], finished: float, end: float) -> None:
    """Draw the report: each state as long as it lasted, and its last one."""
    at, part = finished, SpanPart.WAITS
    for step in run.steps:
        if step.at >= finished:
            _line(bar, at, step.at, part)
            at, part = step.at, _PARTS.get(step.state, SpanPart.NONE)
    last = run.steps[-1] if run.steps else None
    if last is not None and last.state not in _PARTS:
        shape, _, tone, _ = CALLBACK_LOOKS[last.state]
        bar.put(last.at, shape, SpanPart.END, tone)
    else:
        _line(bar, at, end, part)
