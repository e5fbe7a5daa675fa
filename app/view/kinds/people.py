"""What people do beside writing: reactions, votes, edits, deletions."""

from __future__ import annotations

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import label, row
from trunkline.app.view.text.cells import quoted
from trunkline.app.view.timeline.row import Look, TimelineRow
from trunkline.app.view.timeline.row_builder import RowBuilder
from trunkline.core.events import Event
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
