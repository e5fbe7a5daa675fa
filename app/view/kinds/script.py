"""The run itself: phases, bug switches, faults, skipped steps and the end."""

from __future__ import annotations

from trunkline.app.text.cells import clean
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, note, row, row_text
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.base import RunEnded
from trunkline.sim.events.script import (
    BugEnabled,
    FaultFired,
    HookRedirected,
    RunPhase,
    SaidTwice,
    ScriptSkipped,
    TextDenied,
)

label_text(RunPhase, "phase: {phase}")
label_text(BugEnabled, "defect on: {bug}. {sentence}")
row_text(BugEnabled, "defect on: {bug}", look=Look.ALARM)
label_text(FaultFired, "fault: {fault}{detail: …}")
row_text(FaultFired, "fault: {fault}{detail: …}", look=Look.ALARM)
label_text(SaidTwice, "{by} says {text:quoted} again, by itself", row=note)
label_text(TextDenied, "{by} may not say {text:quoted}, and says it nowhere", row=note)
label_text(HookRedirected, "{by} reroutes it{to:, to …}{target:, to …}{quotes:, quotes …}", row=note)
label_text(ScriptSkipped, "step skipped: {step}: {why}", row=alarm)


@label(RunEnded)
def _ended(_view: RunView, _event: Event, body: RunEnded) -> str:
    if body.cut:
        return f"cut {body.cut}: what the end shows is not judged"
    rests = f"at rest; {', '.join(body.waiting)} waits" if body.waiting else "at rest"
    return rests if body.at_rest else f"never came to rest: {', '.join(body.open)}"


@row(RunEnded)
def _ended_row(draw: RowBuilder, event: Event, body: RunEnded) -> TimelineRow:
    return draw.note(event, Look.NOTE if body.at_rest else Look.ALARM, clean(_ended(draw.view, event, body)))
