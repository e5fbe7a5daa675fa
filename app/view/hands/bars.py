"""Runs as bars over time: a delegation as a line of cells, from its acceptance to what became of its report.

``┄┄━━━━━●┄┄~~▸▸▸✓``: it waited, worked, and ended; its callback waited, had its turn, was queued, and was delivered.
Cells after the cursor are marked, not left out.
"""

from __future__ import annotations

from enum import StrEnum

from trunkline.app.text.fact import Tone
from trunkline.app.view.bindings.lifetime_bar import BarCell, TimeBar
from trunkline.app.view.hands.columns import WORK_LOOKS, WorkPhase
from trunkline.app.view.hands.history import DelegationHistory
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.run_index import RunView
from trunkline.core.states.delegation import CallbackState


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
_ENDS = {
    CallbackState.DELIVERED: ("✓", Tone.GOOD),
    CallbackState.UNDELIVERABLE: ("✗", Tone.BAD),
    CallbackState.SUPPRESSED: ("–", Tone.DIM),
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
        _callback(run, bar, finished.at, span[1])
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


def _callback(run: DelegationHistory, bar: TimeBar[SpanPart], finished: float, end: float) -> None:
    """Draw the report: each state as long as it lasted, and its last one."""
    at, part = finished, SpanPart.WAITS
    for step in run.steps:
        if step.at >= finished:
            _line(bar, at, step.at, part)
            at, part = step.at, _PARTS.get(step.state, SpanPart.NONE)
    last = run.steps[-1] if run.steps else None
    if last is not None and last.state in _ENDS:
        shape, tone = _ENDS[last.state]
        bar.put(last.at, shape, SpanPart.END, tone)
    else:
        _line(bar, at, end, part)
