"""Intents on their way out: prepared, attempted, retried, recovered, settled; where they wait or fall back.

And what the platforms did with the requests: accepted, recognised, refused, answered into the void, looked up.
"""

from __future__ import annotations

from trunkline.app.text.cells import quoted, seconds
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
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireLookedUp, WireRefused, WireResponseLost

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
#: refusals that a later attempt may survive
_MAY_PASS = frozenset({Reason.RATE_LIMITED, Reason.PLATFORM_ERROR, Reason.NOT_SENT, Reason.IDENTITY_GONE})

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


label_text(RecoveryDecided, "recovery: {decision}, {reason}, after {attempts:count attempt}")
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

# ---------------------------------------------------------------- the wire


@label(WireAccepted)
def _accepted(view: RunView, _event: Event, body: WireAccepted) -> str:
    misplaced = body.requested.lane != body.address.lane
    requested = f", requested for {view.places.label(body.requested)}" if misplaced else ""
    place = view.places.short(view.places.of(body.address))
    who = f", as {body.identity}" if body.identity else ""
    return f"{body.address.channel} accepts {quoted(body.text)} in {place}{requested}{who}"


@row(WireAccepted, arrow=True)
def _accepted_row(draw: RowBuilder, event: Event, body: WireAccepted) -> TimelineRow:
    look, tags = draw.accepted_look(event)
    prepared = draw.view.of_intent(event.intent, IntentPrepared)
    intent = prepared[0].body if prepared else None
    chunks = intent.chunks if isinstance(intent, IntentPrepared) else 1
    part = f"{body.chunk + 1}/{chunks} " if chunks > 1 else ""
    return draw.outbound(event, look, body.address, part + quoted(body.text), *tags)


label_text(
    WireDeduplicated, "{address.channel} recognises the key and repeats the first receipt; nothing new is visible"
)
row_text(WireDeduplicated, "same key, kept one", look=Look.SUPPRESSED, at="address", tags=("sup",), arrow="out")
label_text(WireRefused, "{address.channel} refuses{action: …}: {reason}{detail: (…)}")
row_text(
    WireRefused,
    "refused: {reason}",
    look=lambda _draw, body: Look.RETRY if body.reason in _MAY_PASS else Look.DEAD,
    at="address",
    tags=("✗",),
    arrow="out",
)
label_text(WireResponseLost, "the response of {address.channel}{action: to …} is lost")
row_text(WireResponseLost, "response lost", look=Look.UNKNOWN, at="address", tags=("??",), arrow="in")
label_text(WireLookedUp, "look-up on {address.channel}: {found:?found|not found}")
row_text(WireLookedUp, "look-up: {found:?found|not found}", at="address")
