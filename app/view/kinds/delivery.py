"""Intents on their way out: prepared, attempted, retried, recovered, settled; and where they wait or fall back."""

from __future__ import annotations

from trunkline.app.text.cells import count, seconds
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, row, row_text
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
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


label_text(IntentPrepared, "{intent_kind} prepared for {address:place}: {reason}")
label_text(IntentSuppressed, "suppressed: {reason}")


@row(IntentSuppressed, arrow=True)
def _suppressed_row(draw: RowBuilder, event: Event, body: IntentSuppressed) -> TimelineRow:
    turn = draw.view.nearest(event.seq, TurnStarted)
    origin = turn.body.origin if turn and isinstance(turn.body, TurnStarted) else None
    lane = draw.lanes.of(origin)
    return draw.arrow(event, Look.SUPPRESSED, draw.lanes.gateway, lane, f"{body.reason}", tags=("sup",))


label_text(AttemptStarted, "attempt {attempt} of chunk {chunk:number} to {address:place}")
label_text(AttemptEnded, "attempt {attempt}: {reason}, so {decision}{retry_at: at …|seconds}{detail: (…)}")


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


row_text(RecoveryDecided, "{decision}: {reason}")
label_text(ChunkAcked, "receipt {provider_id} of chunk {chunk:number} stored: {reason}")
label_text(IntentSettled, "intent {state}: {reason}{detail: (…)}")


@row(IntentSettled, sometimes=True)
def _settled_row(draw: RowBuilder, event: Event, body: IntentSettled) -> TimelineRow | None:
    if body.state not in _SETTLED:
        return None
    tag, look = _SETTLED[body.state]
    # A state and its reason may be the same word.
    text = f"ended: {body.state}" if str(body.state) == str(body.reason) else f"{body.state}: {body.reason}"
    return draw.note(event, look, text, draw.lanes.of(draw.target(event)), (tag,))


label_text(IntentReopened, "reopened (was {before}), from chunk {chunk:number} on: {reason}")
row_text(IntentReopened, "reopened: {reason}", look=Look.RETRY, at="intent")
label_text(Fallback, "fallback: {used:place} instead of {asked:place} ({reason})")
row_text(Fallback, "fallback: {reason}", at="used", tags=("FB",))
label_text(TransportFallback, "sent by the {used} path instead of the {instead_of} path: {reason}")
row_text(TransportFallback, "by the {used} path, not the {instead_of} one", at="intent", tags=("FB",))
label_text(LaneWaiting, "{address:place} waits until {until:seconds}: {reason}{detail: (…)}")
row_text(LaneWaiting, "waits: {reason}", look=Look.RETRY, at="address")
label_text(BacklogWaiting, "the queue is full, {open} of {limit} open: new messages wait", row=alarm)
