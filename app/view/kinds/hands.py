"""Work that the gateway delegates to hands, and how its completion is announced."""

from __future__ import annotations

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import label, label_text, row
from trunkline.app.view.text.cells import clean, quoted
from trunkline.app.view.timeline.row import Look, TimelineRow
from trunkline.app.view.timeline.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.hands import (
    CompletionPlanned,
    CompletionStep,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationStarted,
)
from trunkline.core.hands.results import HandOutcome


@label(DelegationAccepted)
def _accepted(view: RunView, _event: Event, body: DelegationAccepted) -> str:
    origin = f", origin {view.places.label(body.origin)}" if body.origin else ", no origin"
    return f"{quoted(body.task)} for hand {body.hand}{origin}"


label_text(DelegationStarted, "hand {hand} starts")


@row(DelegationStarted, arrow=True)
def _started_row(draw: RowBuilder, event: Event, body: DelegationStarted) -> TimelineRow:
    accepted = draw.view.of_delegation(event.delegation, DelegationAccepted)
    task = accepted[0].body if accepted else None
    text = quoted(task.task) if isinstance(task, DelegationAccepted) else "starts"
    return draw.arrow(event, Look.HAND, draw.lanes.gateway, draw.lanes.hand(body.hand), text)


label_text(DelegationFinished, "hand {hand} {outcome}{reason: (…)} {text:quoted}")


@row(DelegationFinished, arrow=True)
def _finished_row(draw: RowBuilder, event: Event, body: DelegationFinished) -> TimelineRow:
    good = body.outcome is HandOutcome.OK
    text = quoted(body.text) if good else f"{body.outcome}: {body.reason or clean(body.text)}"
    look, tags = (Look.HAND, ()) if good else (Look.DEAD, ("✗",))
    return draw.arrow(event, look, draw.lanes.hand(body.hand), draw.lanes.gateway, text, tags=tags)


label_text(DelegationIgnored, "later result of hand {hand} ignored: {reason}")


@row(DelegationIgnored, arrow=True)
def _ignored_row(draw: RowBuilder, event: Event, body: DelegationIgnored) -> TimelineRow:
    hand = draw.lanes.hand(body.hand)
    return draw.arrow(event, Look.SUPPRESSED, hand, draw.lanes.gateway, f"ignored: {body.reason}", tags=("sup",))


def step_label(view: RunView, step: CompletionStep) -> str:
    """One step of a completion plan."""
    return f"{step.mode} → {view.places.label(step.address)} ({step.reason})"


@label(CompletionPlanned)
def _planned(view: RunView, _event: Event, body: CompletionPlanned) -> str:
    steps = "; ".join(step_label(view, step) for step in body.steps)
    return f"completion plan: {steps or 'no announcement'}"
