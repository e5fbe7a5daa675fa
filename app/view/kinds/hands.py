"""Work that the gateway delegates to hands, how its completion is announced, and what the hands did and saw."""

from __future__ import annotations

from trunkline.app.text.cells import quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, note, row, row_text
from trunkline.app.view.labels.templates import FORMATS
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
from trunkline.sim.events.hands import (
    AgentChecked,
    AgentDelegated,
    AgentGiven,
    HandAnswered,
    HandBegan,
    HandProgressed,
    WorkerAnswered,
    WorkerDied,
    WorkerReported,
    WorkerTook,
)

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
FORMATS["callback"] = lambda _view, state: CALLBACK_TEXTS[state]
FORMATS["origin"] = lambda view, body: (
    f"origin {view.places.label(body.origin)}" if body.origin else "for another hand" if body.depth else "no origin"
)
FORMATS["kind_of_hand"] = lambda _view, kind: f"{kind} " if kind in ("agent", "worker") else ""
FORMATS["steps"] = lambda view, steps: "; ".join(step_label(view, step) for step in steps)


def step_label(view: RunView, step: CompletionStep) -> str:
    """A step of a completion plan."""
    return f"{step.mode} → {view.places.label(step.address)} ({step.reason})"


label_text(
    DelegationAccepted,
    "{task:quoted} for {hand_kind:kind_of_hand}hand {hand}{label:, label …|quoted}, {body:origin}",
)
label_text(DelegationStarted, "hand {hand} starts{worker:, taken by worker …}")


@row(DelegationStarted, arrow=True)
def _started_row(draw: RowBuilder, event: Event, body: DelegationStarted) -> TimelineRow:
    accepted = draw.view.of_delegation(event.delegation, DelegationAccepted)
    task = accepted[0].body if accepted else None
    text = quoted(task.task) if isinstance(task, DelegationAccepted) else "starts"
    return draw.arrow(event, Look.HAND, draw.lanes.gateway, draw.lanes.hand(body.hand), text)


label_text(DelegationProgressed, "hand {hand} reports its progress: {text:quoted}")
row_text(DelegationProgressed, "progress: {text:quoted}", at="hand", arrow="in")
label_text(DelegationFinished, "hand {hand} {outcome}{reason: (…)}{by: by …} {text:quoted}")


@row(DelegationFinished, arrow=True)
def _finished_row(draw: RowBuilder, event: Event, body: DelegationFinished) -> TimelineRow:
    good = body.outcome is HandOutcome.OK
    text = quoted(body.text) if good else f"{body.outcome}: {body.reason or body.text}"
    look, tags = (Look.HAND, ()) if good else (Look.DEAD, ("✗",))
    return draw.arrow(event, look, draw.lanes.hand(body.hand), draw.lanes.gateway, text, tags=tags)


label_text(DelegationIgnored, "later result of hand {hand} ignored{by:, from …}: {reason}")
row_text(DelegationIgnored, "ignored: {reason}", look=Look.SUPPRESSED, at="hand", arrow="in", tags=("sup",))
label_text(AnswerTurnedAway, "{verb}{by: by …} refused: {reason}{detail: (…)}", row=alarm)
label_text(CallbackChanged, "callback {before} → {state}{reason: (…)}: {state:callback}")


@row(CallbackChanged, sometimes=True)
def _callback_row(draw: RowBuilder, event: Event, body: CallbackChanged) -> TimelineRow | None:
    """Only what people do not get: the turn and the message have rows of their own."""
    if body.state not in _CALLBACK_LOOKS:
        return None
    look, tags = _CALLBACK_LOOKS[body.state]
    text = f"callback {body.state}" + (f": {body.reason}" if body.reason else "")
    return draw.note(event, look, text, tags=tags)


label_text(CompletionPlanned, "completion plan: {steps:steps}{steps:?|no announcement}")

# ---------------------------------------------------------------- the cast

label_text(HandBegan, "hand {hand} begins {task:quoted}")
label_text(HandProgressed, "hand {hand} reports {text:quoted}")
label_text(AgentDelegated, "agent {agent} gives {task:quoted} to hand {hand}{refused:, refused: …}")
label_text(AgentChecked, "agent {agent} asks for its hands ({call}): {answer:quoted}")
label_text(
    AgentGiven,
    "agent {agent} is given {text:quoted} by {peer.id}{asked_by:, for …|person}{prompts:, with …|count prompt}",
)
label_text(WorkerTook, "worker {worker} takes {task:quoted} for hand {hand}", row=note)
label_text(WorkerDied, "worker {worker} dies with a task of hand {hand}", row=note)


@label(HandAnswered)
def _answered(_view: RunView, _event: Event, body: HandAnswered) -> str:
    return f"hand {body.hand} returns {'nothing' if body.silent else quoted(body.text)} ({body.outcome})"


@label(WorkerReported, row=note)
def _reported(_view: RunView, _event: Event, body: WorkerReported) -> str:
    refused = "" if body.accepted else f", refused: {body.reason}"
    return f"worker {body.worker} reports {quoted(body.text)} of {body.named}{refused}"


@label(WorkerAnswered, row=note)
def _worker_answered(_view: RunView, _event: Event, body: WorkerAnswered) -> str:
    refused = "" if body.accepted else f", refused: {body.reason or body.detail}"
    ticket = "" if body.ticket_right else " with a wrong ticket"
    return f"worker {body.worker} answers {body.named}{ticket}: {body.outcome} {quoted(body.text)}{refused}"
