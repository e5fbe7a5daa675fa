"""Messages of people on their way in: posted, delivered, received, routed, admitted or dropped; and their turns."""

from __future__ import annotations

from trunkline.app.text.cells import clean, quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, row
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.gateway import (
    InboundAckFailed,
    InboundAdmitted,
    InboundDropped,
    InboundReceived,
    RouteDecided,
    SenderEscaped,
    ToolCalled,
    ToolRefused,
    TurnEnded,
    TurnStarted,
)
from trunkline.sim.events.world import PeerSaid, PlatformPushed


@label(PeerSaid)
def _said(view: RunView, _event: Event, body: PeerSaid) -> str:
    who = view.places.person(body.address.channel, body.peer.id, body.peer.name)
    bot = "bot " if body.bot else ""
    origin = f", replacing {body.stands_for}" if body.stands_for else ""
    origin += f", an echo of the gateway's {body.echo_of}" if body.echo_of else ""
    does = "says" if body.pressed is None else f"presses a button of message {body.pressed},"
    return f"{bot}{who} {does} {quoted(body.text)} in {view.places.label(body.address)}{origin}"


@row(PeerSaid, arrow=True)
def _said_row(draw: RowBuilder, event: Event, body: PeerSaid) -> TimelineRow:
    lane = draw.lanes.of(body.address)
    who = draw.view.places.person(body.address.channel, body.peer.id, body.peer.name)
    look, tags = draw.inbound_look(event, Look.INBOUND)
    return draw.arrow(event, look, lane, draw.lanes.gateway, quoted(body.text), who=who, tags=tags)


@label(PlatformPushed)
def _pushed(_view: RunView, _event: Event, body: PlatformPushed) -> str:
    again = " again" if body.replay else ""
    renamed = f" under a new id (was {body.original_id})" if body.message_id != body.original_id else ""
    return f"{body.address.channel} delivers {body.message_id}{again}{renamed}"


@row(PlatformPushed, sometimes=True, arrow=True)
def _pushed_row(draw: RowBuilder, event: Event, body: PlatformPushed) -> TimelineRow | None:
    if not body.replay:
        return None
    lane = draw.lanes.of(body.address)
    said = draw.view.said(body.address.channel, body.original_id)
    text = f"again {quoted(said.text) if said else body.message_id}"
    look, tags = draw.inbound_look(event, Look.RETRY)
    return draw.arrow(event, look, lane, draw.lanes.gateway, text, tags=tags or ("RP",))


label_text(InboundReceived, "the gateway receives {text:quoted}{reply_chain: (reply chain … is no thread)}")


@row(InboundReceived, sometimes=True, arrow=True)
def _received_row(draw: RowBuilder, event: Event, body: InboundReceived) -> TimelineRow | None:
    if draw.view.visible.witnessed:
        return None
    look, tags = draw.inbound_look(event, Look.INBOUND)
    who = draw.view.places.person(body.address.channel, body.peer.id, body.peer.name)
    lane = draw.lanes.of(body.address)
    return draw.arrow(event, look, lane, draw.lanes.gateway, quoted(body.text), who=who, tags=tags)


@label(SenderEscaped)
def _escaped(_view: RunView, _event: Event, body: SenderEscaped) -> str:
    names = f" ({quoted(body.peer.name)}, shown as {quoted(body.shown.name)})" if body.peer.name else ""
    return f"sender {quoted(body.peer.id)} is shown to agents as {quoted(body.shown.id)}{names}: {body.reason}"


@row(SenderEscaped)
def _escaped_row(draw: RowBuilder, event: Event, body: SenderEscaped) -> TimelineRow:
    return draw.note(event, Look.NOTE, f"sender shown as {quoted(body.shown.id)}: {body.reason}")


label_text(InboundAckFailed, "the message could not be acknowledged to the platform: {detail}", row=alarm)


@label(RouteDecided)
def _route(view: RunView, _event: Event, body: RouteDecided) -> str:
    answers = f", answers → {view.places.label(body.reply_to)}" if body.reply_to else ", no answers"
    return f"route to agent {body.agent} ({body.matched_by}){answers}, session {body.session_key}"


label_text(InboundAdmitted, "{work} admitted to session {session_key}")
label_text(InboundDropped, "dropped: {reason}{first:, it repeats …}{detail: (…)}")


@row(InboundDropped, arrow=True)
def _dropped_row(draw: RowBuilder, event: Event, body: InboundDropped) -> TimelineRow:
    received = draw.view.of_inbound(event.inbound, InboundReceived)
    origin = received[0].body if received else None
    lane = draw.lanes.of(origin.address) if isinstance(origin, InboundReceived) else draw.lanes.gateway
    return draw.arrow(event, Look.SUPPRESSED, lane, draw.lanes.gateway, f"dropped: {body.reason}", tags=("✗",))


label_text(TurnStarted, "agent {agent} starts a turn for a {work}")
label_text(TurnEnded, "turn {outcome}{reason:: …}{detail: (…)}")


@row(TurnEnded, sometimes=True)
def _turn_ended_row(draw: RowBuilder, event: Event, body: TurnEnded) -> TimelineRow | None:
    if body.outcome != "failed":
        return None
    return draw.note(event, Look.ALARM, f"turn failed: {body.reason or clean(body.detail)}", tags=("✗",))


label_text(ToolCalled, "tool {tool}{detail: …}")
label_text(ToolRefused, "tool {tool} refused: {reason}{detail: …}", row=alarm)
