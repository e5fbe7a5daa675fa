"""Sessions: created, reset, moved, left, shared; and what their transcripts hold."""

from __future__ import annotations

from trunkline.app.text.cells import quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, row, row_text
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.delivery import MirrorAppended, MirrorRefused
from trunkline.core.events.gateway import (
    SessionCreated,
    SessionLeft,
    SessionMoved,
    SessionReset,
    SessionShared,
    TranscriptAppended,
)
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import WorldSession

label_text(SessionCreated, "session {session_key} created for {address:place}, by {by}")
label_text(WorldSession, "session {session_key} is in the store{address:, of …|place}")
label_text(SessionReset, "session {session_key} is reset, generation {generation}")
row_text(SessionReset, "session reset, generation {generation}")
label_text(SessionMoved, "session {old_key} moves to {session_key}: {reason}")
row_text(SessionMoved, "session moved: {reason}")
label_text(SessionLeft, "session {old_key} is left{session_key:, for …}: {reason}")
row_text(SessionLeft, "session left: {reason}")


@label(SessionShared)
def _shared(_view: RunView, _event: Event, body: SessionShared) -> str:
    newest = body.peer.name or body.peer.id
    return f"{body.people} people share session {body.session_key}, {newest} is the newest: {body.reason}"


row_text(SessionShared, "{people} people in one session: {reason}", look=Look.ALARM)
label_text(TranscriptAppended, "transcript of {session_key}: {role} {text:quoted}")


@label(MirrorAppended)
def _mirrored(_view: RunView, _event: Event, body: MirrorAppended) -> str:
    part = " (in part)" if body.partial else ""
    return f"mirrored into {body.session_key}{part}"


@row(MirrorAppended, sometimes=True, arrow=True)
def _mirrored_row(draw: RowBuilder, event: Event, body: MirrorAppended) -> TimelineRow | None:
    if draw.view.of_intent(event.intent, WireAccepted):
        return None
    if not draw.view.visible.witnessed:
        target = draw.target(event)
        text = quoted(body.text)
        return (
            draw.note(event, Look.NOTE, text) if target is None else draw.outbound(event, Look.DELIVERED, target, text)
        )
    tag = "m" + draw.view.marks.mirrors.get(event.seq, "!")
    return draw.note(event, Look.MISPLACED, f"mirrored, never accepted: {quoted(body.text)}", None, (tag,))


label_text(MirrorRefused, "mirroring into {session_key} failed and will be retried: {reason} ({detail})", row=alarm)
