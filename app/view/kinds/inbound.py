"""What people do: messages posted, delivered, received, routed, admitted or dropped, and their turns; and what else.

They react, vote, edit and delete, and they call and hear what is said to them.
"""

from __future__ import annotations

from trunkline.app.text.cells import quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, row, row_text
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
from trunkline.sim.events.calls import CallChanged, CallStarted, SpeechHeard
from trunkline.sim.events.people import PeerDeleted, PeerEdited, PeerReacted, PeerVoted
from trunkline.sim.events.world import PeerSaid, PlatformPushed

label_text(
    PeerSaid,
    "{bot:?bot |}{body:author} {pressed:?|says}{pressed:presses a button of message …,} {text:quoted} "
    "in {address:place}{stands_for:, replacing …}{echo_of:, an echo of the gateway's …}",
)


def _post_row(draw: RowBuilder, event: Event, body: PeerSaid | InboundReceived) -> TimelineRow:
    who = draw.view.places.person(body.address.channel, body.peer.id, body.peer.name)
    look, tags = draw.inbound_look(event, Look.INBOUND)
    lane = draw.lanes.of(body.address)
    return draw.arrow(event, look, lane, draw.lanes.gateway, quoted(body.text), who=who, tags=tags)


row(PeerSaid, arrow=True)(_post_row)


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
    """Only where nobody but the gateway says what people posted."""
    return None if draw.view.visible.witnessed else _post_row(draw, event, body)


@label(SenderEscaped)
def _escaped(_view: RunView, _event: Event, body: SenderEscaped) -> str:
    names = f" ({quoted(body.peer.name)}, shown as {quoted(body.shown.name)})" if body.peer.name else ""
    return f"sender {quoted(body.peer.id)} is shown to agents as {quoted(body.shown.id)}{names}: {body.reason}"


row_text(SenderEscaped, "sender shown as {shown.id:quoted}: {reason}")
label_text(InboundAckFailed, "the message could not be acknowledged to the platform: {detail}", row=alarm)
label_text(
    RouteDecided,
    "route to agent {agent} ({matched_by}), {reply_to:answers → …|place}{reply_to:?|no answers}, session {session_key}",
)
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
row_text(
    TurnEnded,
    "turn failed: {reason|detail}",
    look=Look.ALARM,
    tags=("✗",),
    when=lambda body: body.outcome == "failed",
)
label_text(ToolCalled, "tool {tool}{detail: …}")
label_text(ToolRefused, "tool {tool} refused: {reason}{detail: …}", row=alarm)

# ---------------------------------------------------------------- beside messages

_Acted = PeerDeleted | PeerEdited | PeerReacted | PeerVoted


def _what(body: _Acted) -> str:
    match body:
        case PeerReacted():
            return f"takes back {body.emoji}" if body.removed else f"reacts with {body.emoji}"
        case PeerVoted():
            return f"votes for {', '.join(body.options)}" if body.options else "withdraws a vote"
        case PeerEdited():
            return f"edits to {quoted(body.text)}"
        case PeerDeleted():
            return f"deletes {quoted(body.before)}"


def _acted(view: RunView, _event: Event, body: _Acted) -> str:
    who = view.places.person(body.address.channel, body.peer.id, body.peer.name)
    return f"{who} {_what(body)}, message {body.message_id} in {view.places.label(body.address)}"


def _acted_row(draw: RowBuilder, event: Event, body: _Acted) -> TimelineRow:
    who = draw.view.places.person(body.address.channel, body.peer.id, body.peer.name)
    return draw.note(event, Look.NOTE, f"{who} {_what(body)}", draw.lanes.of(body.address))


for _kind in (PeerReacted, PeerVoted, PeerEdited, PeerDeleted):
    label(_kind)(_acted)
    row(_kind)(_acted_row)

label_text(CallStarted, "{peer.name} calls: {address:place} rings")
row_text(CallStarted, "{peer.name} calls: {address:place_name} rings", at="address")
label_text(CallChanged, "the call {address:place} is {state}{why: (…)}")
row_text(CallChanged, "{address:place_name} {state}{why: (…)}", at="address")
label_text(SpeechHeard, "{text:quoted}{whole:?|, and no more,} is heard in {address:place} for {seconds:g} s")
row_text(
    SpeechHeard,
    "{whole:?heard|cut off} after {seconds:g} s: {text:quoted}",
    look=lambda _draw, body: Look.NOTE if body.whole else Look.ALARM,
    at="address",
)
