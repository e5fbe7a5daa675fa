"""What people do beside writing: reactions, votes, edits, deletions; and calls, with what they hear in them."""

from __future__ import annotations

from trunkline.app.text.cells import quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import label, label_text, row, row_text
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.sim.events.calls import CallChanged, CallStarted, SpeechHeard
from trunkline.sim.events.people import PeerDeleted, PeerEdited, PeerReacted, PeerVoted

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


@label(SpeechHeard)
def _heard(view: RunView, _event: Event, body: SpeechHeard) -> str:
    part = "" if body.whole else ", and no more,"
    return f"{quoted(body.text)}{part} is heard in {view.places.label(body.address)} for {body.seconds:g} s"


@row(SpeechHeard)
def _heard_row(draw: RowBuilder, event: Event, body: SpeechHeard) -> TimelineRow:
    said = "heard" if body.whole else "cut off"
    look = Look.NOTE if body.whole else Look.ALARM
    return draw.note(event, look, f"{said} after {body.seconds:g} s: {quoted(body.text)}", draw.lanes.of(body.address))
