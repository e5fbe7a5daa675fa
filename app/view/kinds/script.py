"""The run itself: phases, bug switches, faults, skipped steps and the end."""

from __future__ import annotations

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, row
from trunkline.app.view.text.cells import clean
from trunkline.app.view.timeline.row import Look, TimelineRow
from trunkline.app.view.timeline.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.base import RunEnded
from trunkline.sim.events.script import BugEnabled, FaultFired, RunPhase, ScriptSkipped


@label(RunPhase)
def _phase(_view: RunView, _event: Event, body: RunPhase) -> str:
    return f"phase: {body.phase}"


@label(BugEnabled)
def _bug(_view: RunView, _event: Event, body: BugEnabled) -> str:
    return f"defect on: {body.bug}. {body.sentence}"


@row(BugEnabled)
def _bug_row(draw: RowBuilder, event: Event, body: BugEnabled) -> TimelineRow:
    return draw.note(event, Look.ALARM, f"defect on: {body.bug}")


@label(FaultFired)
def _fault(_view: RunView, _event: Event, body: FaultFired) -> str:
    return f"fault: {body.fault} {body.detail}".rstrip()


@row(FaultFired)
def _fault_row(draw: RowBuilder, event: Event, body: FaultFired) -> TimelineRow:
    return draw.note(event, Look.ALARM, f"fault: {clean(body.fault)} {clean(body.detail)}".rstrip())


@label(ScriptSkipped, row=alarm)
def _skipped(_view: RunView, _event: Event, body: ScriptSkipped) -> str:
    return f"step skipped: {body.step}: {body.why}"


@label(RunEnded)
def _ended(_view: RunView, _event: Event, body: RunEnded) -> str:
    return "at rest" if body.at_rest else f"never came to rest: {', '.join(body.open)}"


@row(RunEnded)
def _ended_row(draw: RowBuilder, event: Event, body: RunEnded) -> TimelineRow:
    return draw.note(event, Look.NOTE if body.at_rest else Look.ALARM, clean(_ended(draw.view, event, body)))
