"""What each event changes in the history of a delegation."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from trunkline.app.view.hands.history import DelegationHistory
from trunkline.core.events import Body, Event
from trunkline.core.events.bindings import RouterDecided
from trunkline.core.events.delivery import IntentPrepared, IntentReopened, IntentSettled, IntentSuppressed
from trunkline.core.events.gateway import InboundAdmitted, TurnEnded, TurnStarted
from trunkline.core.events.hands import (
    AnswerTurnedAway,
    CallbackChanged,
    CompletionPlanned,
    CompletionStep,
    DelegationFinished,
    DelegationIgnored,
    DelegationProgressed,
    DelegationStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import IntentState, WorkKind


def learn(run: DelegationHistory, event: Event) -> None:
    """Take one event of a delegation, of its callback turn or of a message that reports it."""
    run.last = event.seq
    fold = _FOLDS.get(type(event.body))
    if fold is not None:
        fold(run, event, event.body)


def _started(run: DelegationHistory, event: Event, _body: DelegationStarted) -> None:
    run.started.append(event)


def _progressed(run: DelegationHistory, event: Event, _body: DelegationProgressed) -> None:
    run.progress.append(event)


def _ignored(run: DelegationHistory, event: Event, _body: DelegationIgnored) -> None:
    run.ignored.append(event)


def _refused(run: DelegationHistory, event: Event, _body: AnswerTurnedAway) -> None:
    run.refused.append(event)


def _finished(run: DelegationHistory, event: Event, _body: DelegationFinished) -> None:
    run.finished = run.finished or event


def _changed(run: DelegationHistory, event: Event, body: CallbackChanged) -> None:
    run.change(event, body.state, body.reason)


def _planned(run: DelegationHistory, event: Event, body: CompletionPlanned) -> None:
    run.busy = body.requester_busy
    if body.steps and all(_announces_nothing(step) for step in body.steps):
        run.derive(event, CallbackState.SUPPRESSED, body.steps[0].reason)


def _announces_nothing(step: CompletionStep) -> bool:
    return step.mode == "kept" or (step.address is None and step.reason is Reason.REQUESTER_REPLACED)


def _admitted(run: DelegationHistory, event: Event, body: InboundAdmitted) -> None:
    if body.work is WorkKind.CALLBACK:
        run.derive(event, CallbackState.PENDING_TURN)


def _turn_started(run: DelegationHistory, event: Event, body: TurnStarted) -> None:
    if body.work is WorkKind.CALLBACK:
        run.callbacks.append(event)
        run.derive(event, CallbackState.IN_TURN)


def _turn_ended(run: DelegationHistory, event: Event, body: TurnEnded) -> None:
    if not run.callbacks or run.callbacks[-1].turn != event.turn or run.intents:
        return
    if body.outcome == "silent":
        run.derive(event, CallbackState.SUPPRESSED, body.reason)
    elif body.outcome == "failed":
        run.derive(event, CallbackState.UNDELIVERABLE, body.reason)


def _unsaid(run: DelegationHistory, event: Event, body: IntentSuppressed) -> None:
    if run.finished is not None and not run.intents:
        run.derive(event, CallbackState.SUPPRESSED, body.reason)


def _prepared(run: DelegationHistory, event: Event, _body: IntentPrepared) -> None:
    if run.finished is not None and event.delegation == run.id:
        run.intents[event.intent or ""] = IntentState.PREPARED
        run.derive(event, CallbackState.QUEUED)


def _settled(run: DelegationHistory, event: Event, body: IntentSettled) -> None:
    if event.intent in run.intents or run.finished is not None:
        run.settle(event, event.intent or "", body.state, body.reason)


def _reopened(run: DelegationHistory, event: Event, _body: IntentReopened) -> None:
    if event.intent in run.intents:
        run.intents[event.intent or ""] = IntentState.PREPARED
        run.derive(event, CallbackState.QUEUED)


def _routed(run: DelegationHistory, _event: Event, body: RouterDecided) -> None:
    key = body.target_session_key
    run.session = run.session or (key if key != run.body.session_key else "")


_FOLDS = cast(
    "dict[type[Body], Callable[[DelegationHistory, Event, Body], None]]",
    {
        DelegationStarted: _started,
        DelegationProgressed: _progressed,
        DelegationFinished: _finished,
        DelegationIgnored: _ignored,
        AnswerTurnedAway: _refused,
        CallbackChanged: _changed,
        CompletionPlanned: _planned,
        InboundAdmitted: _admitted,
        TurnStarted: _turn_started,
        TurnEnded: _turn_ended,
        IntentSuppressed: _unsaid,
        IntentPrepared: _prepared,
        IntentSettled: _settled,
        IntentReopened: _reopened,
        RouterDecided: _routed,
    },
)
