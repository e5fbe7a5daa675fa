"""Runs as bars over time: a delegation as a line of cells, from its acceptance to what became of its report.

``┄┄━━━━━●┄┄~~▸▸▸✓``: it waited, worked, and ended; its callback waited, had its turn, was queued, and was delivered.
Cells after the cursor are marked, not left out.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from trunkline.app.text.fact import Tone
from trunkline.app.view.bindings.lifetime_bar import column
from trunkline.app.view.hands.columns import WORK_LOOKS, WorkPhase
from trunkline.app.view.hands.history import DelegationHistory
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.run_index import RunView
from trunkline.core.states.delegation import CallbackState


class SpanPart(StrEnum):
    """Meaning of a cell of a bar."""

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


class SpanCell(msgspec.Struct, frozen=True):
    """One cell. `later`: after the cursor. `tone` is that of an end."""

    char: str
    part: SpanPart
    later: bool = False
    tone: Tone = Tone.PLAIN


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
_RANK = {part: rank for rank, part in enumerate(SpanPart)}


def span_of(view: RunView, hands: HandRuns) -> tuple[float, float]:
    """The time that the bars show: from the first acceptance to the last event of any delegation."""
    histories = hands.histories
    if not histories:
        return 0.0, 0.0
    start = min(run.accepted.at for run in histories)
    return start, max(view.time(run.last) for run in histories)


def run_bar(
    view: RunView, hands: HandRuns, run: DelegationHistory, span: tuple[float, float], now: float, width: int
) -> list[SpanCell]:
    """The whole life of a delegation in `width` cells; `now` is the time of the cursor."""
    bar = _Bar(span, now, width)
    end = span[1]
    finished = run.finished
    bar.line(run.accepted.at, run.started[0].at if run.started else finished.at if finished else end, SpanPart.WAITS)
    if run.started:
        bar.line(run.started[0].at, finished.at if finished else end, SpanPart.WORKS)
        _orphaned(view, hands, run, bar, end)
    if finished is not None:
        _callback(run, bar, finished.at, end)
        shape, tone = WORK_LOOKS[run.work(view.last, {})]
        bar.put(finished.at, shape, tone)
    return bar.cells


def _orphaned(view: RunView, hands: HandRuns, run: DelegationHistory, bar: _Bar, end: float) -> None:
    """The time without a process: from the death of one to the next start, or to the end."""
    deaths = hands.messages.deaths
    for number, started in enumerate(run.started):
        died = deaths.get(started.generation)
        if died is None or died < started.seq or run.work(died, deaths) is not WorkPhase.ORPHANED:
            continue
        until = run.finished.at if run.finished is not None else end
        after = run.started[number + 1].at if number + 1 < len(run.started) else until
        bar.line(view.time(died), after, SpanPart.ORPHANED)


def _callback(run: DelegationHistory, bar: _Bar, finished: float, end: float) -> None:
    """The report: each state as long as it lasted, and its last one."""
    at, part = finished, SpanPart.WAITS
    for step in run.steps:
        if step.at < finished:
            continue
        bar.line(at, step.at, part)
        at, part = step.at, _PARTS.get(step.state, SpanPart.NONE)
    last = run.steps[-1] if run.steps else None
    if last is None or last.state not in _ENDS:
        bar.line(at, end, part)
    if last is not None and last.state in _ENDS:
        shape, tone = _ENDS[last.state]
        bar.put(last.at, shape, tone, last=True)


class _Bar:
    def __init__(self, span: tuple[float, float], now: float, width: int) -> None:
        self.cells = [SpanCell(" ", SpanPart.NONE)] * width
        self._span, self._now, self._width = span, now, width
        self._here = column(now, span, width)

    def line(self, start: float, end: float, part: SpanPart) -> None:
        if part is SpanPart.NONE:
            return
        for x in range(self._x(start), self._x(end) + 1):
            if _RANK[part] >= _RANK[self.cells[x].part]:
                self.cells[x] = SpanCell(CHARS[part], part, x > self._here or start > self._now)

    def put(self, at: float, char: str, tone: Tone, *, last: bool = False) -> None:
        """An end. Where two fall into one cell, the report wins, and the end of the work moves to its left."""
        x = self._x(at)
        cell = SpanCell(char, SpanPart.END, at > self._now, tone)
        if not last and self.cells[x].part is SpanPart.END and x:
            x -= 1
        self.cells[x] = cell

    def _x(self, at: float) -> int:
        return column(at, self._span, self._width)
