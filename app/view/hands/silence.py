"""Why people see no message with the result of a delegation: one sentence, from what was recorded."""

from __future__ import annotations

from trunkline.app.text.cells import clean, seconds
from trunkline.app.view.hands.columns import OPEN_WORK, TO_PARENT, WorkPhase
from trunkline.app.view.hands.history import DelegationHistory
from trunkline.app.view.hands.row import HandRow
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.message import OPEN, MessageHistory, QueueState
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentSettled, LaneWaiting
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState

_WORKING: dict[WorkPhase, str] = {
    WorkPhase.LATER: "it is delegated later in the run",
    WorkPhase.ACCEPTED: "the hand has not started",
    WorkPhase.RUNNING: "the hand still works on it",
    WorkPhase.ORPHANED: "the process that ran it has died, and the next one decides what becomes of it",
}
_BY_STATE: dict[CallbackState, str] = {
    CallbackState.WAITING: "the work has ended, and nothing reports it yet",
    CallbackState.PENDING_TURN: "the callback waits for its turn in the session of the agent that delegated",
    CallbackState.IN_TURN: "the agent that delegated is reading the result",
    CallbackState.QUEUED: "its message is in the queue",
    CallbackState.PARKED: "its message waits for its adapter, or for an operator who finds out whether it arrived",
    CallbackState.UNDELIVERABLE: "it cannot be delivered",
    CallbackState.SUPPRESSED: "deliberately nothing is sent",
}
#: reasons whose own sentence does not say what became of the result
_OF_REASON: dict[Reason, str] = {
    Reason.NO_REPLY: "the agent read the result and had nothing to say",
    Reason.ALREADY_SENT: "the callback turn had sent the same text to the same place by the message tool",
    Reason.CANCELLED_BY_AGENT: "the agent that delegated it cancelled it itself, and needs no report",
    Reason.DISCARDED: "an operator discarded the report",
    Reason.REQUESTER_REPLACED: "the session that asked has been replaced, and there is no place to post the result",
}


def why_unseen(view: RunView, hands: HandRuns, row: HandRow, seq: int) -> tuple[str, int] | None:
    """Why nothing of it is visible after event `seq`, and the event that says so; none if people have seen it."""
    run = hands.history(row.id)
    if run is None or row.said or row.callback is CallbackState.DELIVERED:
        return None
    if row.work in OPEN_WORK or row.later:
        return _working(row)
    if row.over:
        return "the run is over, and it was never reported", row.finished or row.since
    if row.callback is CallbackState.SUPPRESSED and row.callback_reason in TO_PARENT and row.parent:
        above = hands.history(row.parent)
        name = f"{hands.name(row.parent)} of hand {clean(above.body.hand)}" if above is not None else clean(row.parent)
        return f"its result went to the hand that delegated it, and is part of {name}", row.callback_since
    if row.callback in (CallbackState.QUEUED, CallbackState.PARKED, CallbackState.UNDELIVERABLE):
        found = _of_messages(view, hands, run, row, seq)
        if found is not None:
            return found
    return _reasoned(row, row.callback_reason), row.callback_since


def _working(row: HandRow) -> tuple[str, int]:
    """The work has not ended."""
    if row.work is WorkPhase.ACCEPTED and row.body.hand_kind == "worker":
        return "no worker has taken the task", row.since
    text = _WORKING[row.work]
    if row.work is WorkPhase.RUNNING and row.progress:
        return f"{text}; it reported “{clean(row.progress)}”", row.progressed
    return text, row.started or row.since


def _of_messages(
    view: RunView, hands: HandRuns, run: DelegationHistory, row: HandRow, seq: int
) -> tuple[str, int] | None:
    """The wait of a report's messages, or how the last one ended."""
    histories = [found for intent in run.intents if (found := hands.messages.of(intent)) is not None]
    known = [history for history in histories if history.seq <= seq]
    if not known:
        return None
    if row.callback is CallbackState.UNDELIVERABLE:
        return next(filter(None, (_settled(history, row, seq) for history in reversed(known))), None)
    step = known[-1].step(seq)
    waits = _waiting(view, known[-1], seq)
    if row.callback is CallbackState.PARKED and step.state not in (*OPEN, QueueState.UNKNOWN):
        ended = _settled(known[-1], row, seq)
        return (f"{ended[0]} An operator can retry or discard it.", ended[1]) if ended is not None else None
    if step.state is QueueState.UNKNOWN:
        text = "the platform may have it or not, and only an operator can find out"
        return f"{text}: {step.why}" if step.why else text, step.seq
    if waits is not None:
        return f"its message waits: {describe(view, waits)}", waits.seq
    due = f", tried again at {seconds(step.due)} s" if step.due is not None else ""
    why = f" ({step.why})" if step.why else ""
    return f"its message is in the queue, {step.state}{why}{due}", step.seq


def _settled(history: MessageHistory, row: HandRow, seq: int) -> tuple[str, int] | None:
    """How a message ended that did not arrive."""
    for event in reversed(history.settled):
        body = event.body
        if event.seq <= seq and isinstance(body, IntentSettled):
            detail = f" ({clean(body.detail)})" if body.detail else ""
            reason = row.callback_reason or body.reason
            return f"its message is {body.state}. {reason.sentence}{detail}", event.seq
    return None


def _waiting(view: RunView, history: MessageHistory, seq: int) -> Event | None:
    """Why its lane cannot send, unless it was tried since."""
    waits = (event for event in history.events if event.seq <= seq and isinstance(event.body, LaneWaiting))
    found = max(waits, key=lambda event: event.seq, default=None)
    tried = history.tried(seq)
    return found if found is not None and (not tried or tried[-1].event.seq < found.seq) else None


def _reasoned(row: HandRow, reason: Reason | None) -> str:
    """The sentence of a state with its reason."""
    if reason is None:
        return _BY_STATE[row.callback]
    if row.callback is CallbackState.UNDELIVERABLE and row.turn:
        return f"its callback turn failed. {reason.sentence}"
    return _OF_REASON.get(reason) or f"{_BY_STATE[row.callback]}. {reason.sentence}"
