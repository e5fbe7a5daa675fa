"""What hands, workers and agents of the cast did and saw."""

from __future__ import annotations

from trunkline.app.text.cells import count, quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import label, label_text, note
from trunkline.core.events import Event
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

label_text(HandBegan, "hand {hand} begins {task:quoted}")
label_text(HandProgressed, "hand {hand} reports {text:quoted}")
label_text(AgentDelegated, "agent {agent} gives {task:quoted} to hand {hand}{refused:, refused: …}")
label_text(AgentChecked, "agent {agent} asks for its hands ({call}): {answer:quoted}")
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


@label(AgentGiven)
def _given(_view: RunView, _event: Event, body: AgentGiven) -> str:
    asked = "" if body.asked_by is None else f", for {body.asked_by.name or body.asked_by.id}"
    prompts = f", with {count(len(body.prompts), 'prompt')}" if body.prompts else ""
    return f"agent {body.agent} is given {quoted(body.text)} by {body.peer.id}{asked}{prompts}"
