"""What the platforms did with requests: accepted, recognised, refused, answered into the void, looked up."""

from __future__ import annotations

from trunkline.app.text.cells import quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import label, label_text, row, row_text
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.reasons import Reason
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireLookedUp, WireRefused, WireResponseLost

#: refusals that a later attempt may survive
_MAY_PASS = frozenset({Reason.RATE_LIMITED, Reason.PLATFORM_ERROR, Reason.NOT_SENT, Reason.IDENTITY_GONE})


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
row_text(WireDeduplicated, "same key, kept one", look=Look.SUPPRESSED, at="address", tags=("sup",), arrow=True)
label_text(WireRefused, "{address.channel} refuses{action: …}: {reason}{detail: (…)}")


@row(WireRefused, arrow=True)
def _refused_row(draw: RowBuilder, event: Event, body: WireRefused) -> TimelineRow:
    look = Look.RETRY if body.reason in _MAY_PASS else Look.DEAD
    return draw.outbound(event, look, body.address, f"refused: {body.reason}", "✗")


label_text(WireResponseLost, "the response of {address.channel}{action: to …} is lost")


@row(WireResponseLost, arrow=True)
def _lost_row(draw: RowBuilder, event: Event, body: WireResponseLost) -> TimelineRow:
    lane = draw.lanes.of(body.address)
    return draw.arrow(event, Look.UNKNOWN, lane, draw.lanes.gateway, "response lost", tags=("??",))


@label(WireLookedUp)
def _looked_up(_view: RunView, _event: Event, body: WireLookedUp) -> str:
    return f"look-up on {body.address.channel}: {'found' if body.found else 'not found'}"


@row(WireLookedUp)
def _looked_up_row(draw: RowBuilder, event: Event, body: WireLookedUp) -> TimelineRow:
    text = "look-up: found" if body.found else "look-up: not found"
    return draw.note(event, Look.NOTE, text, draw.lanes.of(body.address))
