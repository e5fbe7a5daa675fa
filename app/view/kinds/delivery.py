"""Intents on their way out: prepared, attempted, retried, recovered, settled; and where they wait or fall back."""

from __future__ import annotations

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, row
from trunkline.app.view.text.cells import count, seconds
from trunkline.app.view.timeline.row import Look, TimelineRow
from trunkline.app.view.timeline.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.delivery import (
    AttemptEnded,
    AttemptStarted,
    BacklogWaiting,
    ChunkAcked,
    Fallback,
    IntentPrepared,
    IntentReopened,
    IntentSettled,
    IntentSuppressed,
    LaneWaiting,
    RecoveryDecided,
    TransportFallback,
)
from trunkline.core.events.gateway import TurnStarted
from trunkline.core.values import IntentState

#: tag and look of each state that is not a plain success
_SETTLED = {
    IntentState.PARTIAL: ("½", Look.DEAD),
    IntentState.FAILED: ("✗!", Look.DEAD),
    IntentState.DEAD: ("✗!", Look.DEAD),
    IntentState.EXPIRED: ("✗!", Look.DEAD),
    IntentState.CANCELLED: ("sup", Look.SUPPRESSED),
    IntentState.UNKNOWN: ("??", Look.UNKNOWN),
    IntentState.MISPLACED: ("!!", Look.DEAD),
}


@label(IntentPrepared)
def _prepared(view: RunView, _event: Event, body: IntentPrepared) -> str:
    return f"{body.intent_kind} prepared for {view.places.label(body.address)}: {body.reason}"


@label(IntentSuppressed)
def _suppressed(_view: RunView, _event: Event, body: IntentSuppressed) -> str:
    return f"suppressed: {body.reason}"


@row(IntentSuppressed, arrow=True)
def _suppressed_row(draw: RowBuilder, event: Event, body: IntentSuppressed) -> TimelineRow:
    turn = draw.view.nearest(event.seq, TurnStarted)
    origin = turn.body.origin if turn and isinstance(turn.body, TurnStarted) else None
    lane = draw.lanes.of(origin)
    return draw.arrow(event, Look.SUPPRESSED, draw.lanes.gateway, lane, f"{body.reason}", tags=("sup",))


@label(AttemptStarted)
def _attempt(view: RunView, _event: Event, body: AttemptStarted) -> str:
    return f"attempt {body.attempt} of chunk {body.chunk + 1} to {view.places.label(body.address)}"


@label(AttemptEnded)
def _attempt_ended(_view: RunView, _event: Event, body: AttemptEnded) -> str:
    detail = f" ({body.detail})" if body.detail else ""
    when = f" at {body.retry_at:.3f}" if body.retry_at is not None else ""
    return f"attempt {body.attempt}: {body.reason}, so {body.decision}{when}{detail}"


@row(AttemptEnded, sometimes=True, arrow=True)
def _attempt_ended_row(draw: RowBuilder, event: Event, body: AttemptEnded) -> TimelineRow | None:
    address = draw.target(event)
    # A settled or misplaced attempt has its accept and its end as rows; one sent as the bot has its fallback.
    if body.decision in ("settle", "misplaced", "as-bot") or address is None:
        return None
    when = f" at {seconds(body.retry_at)}" if body.retry_at is not None else ""
    if body.decision in ("retry", "fallback"):
        return draw.outbound(event, Look.RETRY, address, f"{body.reason}, again{when}", f"RT{body.attempt}")
    if body.decision == "fail":
        return draw.outbound(event, Look.DEAD, address, f"{body.reason}", "✗!")
    return draw.outbound(event, Look.UNKNOWN, address, f"{body.reason}: {body.decision}", "??")


@label(RecoveryDecided)
def _recovery(_view: RunView, _event: Event, body: RecoveryDecided) -> str:
    return f"recovery: {body.decision}, {body.reason}, after {count(body.attempts, 'attempt')}"


@row(RecoveryDecided)
def _recovery_row(draw: RowBuilder, event: Event, body: RecoveryDecided) -> TimelineRow:
    return draw.note(event, Look.NOTE, f"{body.decision}: {body.reason}")


@label(ChunkAcked)
def _acked(_view: RunView, _event: Event, body: ChunkAcked) -> str:
    return f"receipt {body.provider_id} of chunk {body.chunk + 1} stored: {body.reason}"


@label(IntentSettled)
def _settled(_view: RunView, _event: Event, body: IntentSettled) -> str:
    detail = f" ({body.detail})" if body.detail else ""
    return f"intent {body.state}: {body.reason}{detail}"


@row(IntentSettled, sometimes=True)
def _settled_row(draw: RowBuilder, event: Event, body: IntentSettled) -> TimelineRow | None:
    if body.state not in _SETTLED:
        return None
    tag, look = _SETTLED[body.state]
    # A state and its reason may be the same word.
    text = f"ended: {body.state}" if str(body.state) == str(body.reason) else f"{body.state}: {body.reason}"
    return draw.note(event, look, text, draw.lanes.of(draw.target(event)), (tag,))


@label(IntentReopened)
def _reopened(_view: RunView, _event: Event, body: IntentReopened) -> str:
    return f"reopened (was {body.before}), from chunk {body.chunk + 1} on: {body.reason}"


@row(IntentReopened)
def _reopened_row(draw: RowBuilder, event: Event, body: IntentReopened) -> TimelineRow:
    return draw.note(event, Look.RETRY, f"reopened: {body.reason}", draw.lanes.of(draw.target(event)))


@label(Fallback)
def _fallback(view: RunView, _event: Event, body: Fallback) -> str:
    return f"fallback: {view.places.label(body.used)} instead of {view.places.label(body.asked)} ({body.reason})"


@row(Fallback)
def _fallback_row(draw: RowBuilder, event: Event, body: Fallback) -> TimelineRow:
    return draw.note(event, Look.NOTE, f"fallback: {body.reason}", draw.lanes.of(body.used), ("FB",))


@label(TransportFallback)
def _transport(_view: RunView, _event: Event, body: TransportFallback) -> str:
    return f"sent by the {body.used} path instead of the {body.instead_of} path: {body.reason}"


@row(TransportFallback)
def _transport_row(draw: RowBuilder, event: Event, body: TransportFallback) -> TimelineRow:
    text = f"by the {body.used} path, not the {body.instead_of} one"
    return draw.note(event, Look.NOTE, text, draw.lanes.of(draw.target(event)), ("FB",))


@label(LaneWaiting)
def _waiting(view: RunView, _event: Event, body: LaneWaiting) -> str:
    detail = f" ({body.detail})" if body.detail else ""
    return f"{view.places.label(body.address)} waits until {seconds(body.until)}: {body.reason}{detail}"


@row(LaneWaiting)
def _waiting_row(draw: RowBuilder, event: Event, body: LaneWaiting) -> TimelineRow:
    return draw.note(event, Look.RETRY, f"waits: {body.reason}", draw.lanes.of(body.address))


@label(BacklogWaiting, row=alarm)
def _backlog(_view: RunView, _event: Event, body: BacklogWaiting) -> str:
    return f"the queue is full, {body.open} of {body.limit} open: new messages wait"
