"""Work that the gateway delegates to hands, and how its completion is announced."""

from __future__ import annotations

from trunkline.app.text.cells import clean, quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, row
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.hands import (
    AnswerTurnedAway,
    CallbackChanged,
    CompletionPlanned,
    CompletionStep,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationProgressed,
    DelegationStarted,
)
from trunkline.core.states.delegation import CallbackState, HandOutcome


@label(DelegationAccepted)
def _accepted(view: RunView, _event: Event, body: DelegationAccepted) -> str:
    origin = f", origin {view.places.label(body.origin)}" if body.origin else ", for another hand" if body.depth else ""
    origin = origin or ", no origin"
    kind = f"{body.hand_kind} " if body.hand_kind in ("agent", "worker") else ""
    label = f", label {quoted(body.label)}" if body.label else ""
    return f"{quoted(body.task)} for {kind}hand {body.hand}{label}{origin}"


label_text(DelegationStarted, "hand {hand} starts{worker:, taken by worker …}")


@row(DelegationStarted, arrow=True)
def _started_row(draw: RowBuilder, event: Event, body: DelegationStarted) -> TimelineRow:
    accepted = draw.view.of_delegation(event.delegation, DelegationAccepted)
    task = accepted[0].body if accepted else None
    text = quoted(task.task) if isinstance(task, DelegationAccepted) else "starts"
    return draw.arrow(event, Look.HAND, draw.lanes.gateway, draw.lanes.hand(body.hand), text)


label_text(DelegationProgressed, "hand {hand} reports its progress: {text:quoted}")


@row(DelegationProgressed, arrow=True)
def _progressed_row(draw: RowBuilder, event: Event, body: DelegationProgressed) -> TimelineRow:
    hand = draw.lanes.hand(body.hand)
    return draw.arrow(event, Look.NOTE, hand, draw.lanes.gateway, f"progress: {quoted(body.text)}")


label_text(DelegationFinished, "hand {hand} {outcome}{reason: (…)}{by: by …} {text:quoted}")


@row(DelegationFinished, arrow=True)
def _finished_row(draw: RowBuilder, event: Event, body: DelegationFinished) -> TimelineRow:
    good = body.outcome is HandOutcome.OK
    text = quoted(body.text) if good else f"{body.outcome}: {body.reason or clean(body.text)}"
    look, tags = (Look.HAND, ()) if good else (Look.DEAD, ("✗",))
    return draw.arrow(event, look, draw.lanes.hand(body.hand), draw.lanes.gateway, text, tags=tags)


label_text(DelegationIgnored, "later result of hand {hand} ignored{by:, from …}: {reason}")


@row(DelegationIgnored, arrow=True)
def _ignored_row(draw: RowBuilder, event: Event, body: DelegationIgnored) -> TimelineRow:
    hand = draw.lanes.hand(body.hand)
    return draw.arrow(event, Look.SUPPRESSED, hand, draw.lanes.gateway, f"ignored: {body.reason}", tags=("sup",))


label_text(AnswerTurnedAway, "{verb}{by: by …} refused: {reason}{detail: (…)}", row=alarm)

#: what the report of a delegation has come to
CALLBACK_TEXTS: dict[CallbackState, str] = {
    CallbackState.WAITING: "the work has not ended",
    CallbackState.PENDING_TURN: "its turn is due",
    CallbackState.IN_TURN: "the agent that delegated works on it",
    CallbackState.QUEUED: "its message is in the queue",
    CallbackState.PARKED: "its message waits",
    CallbackState.DELIVERED: "the platform has accepted it",
    CallbackState.UNDELIVERABLE: "nobody gets it",
    CallbackState.SUPPRESSED: "deliberately nothing is sent",
}
_CALLBACK_LOOKS = {
    CallbackState.PARKED: (Look.UNKNOWN, ("?",)),
    CallbackState.UNDELIVERABLE: (Look.DEAD, ("✗",)),
    CallbackState.SUPPRESSED: (Look.SUPPRESSED, ("sup",)),
}


@label(CallbackChanged)
def _callback(_view: RunView, _event: Event, body: CallbackChanged) -> str:
    reason = f" ({body.reason})" if body.reason else ""
    return f"callback {body.before} → {body.state}{reason}: {CALLBACK_TEXTS[body.state]}"


@row(CallbackChanged, sometimes=True)
def _callback_row(draw: RowBuilder, event: Event, body: CallbackChanged) -> TimelineRow | None:
    """Only what people do not get: the turn and the message have rows of their own."""
    if body.state not in _CALLBACK_LOOKS:
        return None
    look, tags = _CALLBACK_LOOKS[body.state]
    text = f"callback {body.state}" + (f": {body.reason}" if body.reason else "")
    return draw.note(event, look, text, tags=tags)


def step_label(view: RunView, step: CompletionStep) -> str:
    """One step of a completion plan."""
    return f"{step.mode} → {view.places.label(step.address)} ({step.reason})"


@label(CompletionPlanned)
def _planned(view: RunView, _event: Event, body: CompletionPlanned) -> str:
    steps = "; ".join(step_label(view, step) for step in body.steps)
    return f"completion plan: {steps or 'no announcement'}"
