"""Sessions: created, reset, moved, left, shared; and what their transcripts hold."""

from __future__ import annotations

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, row
from trunkline.app.view.text.cells import quoted
from trunkline.app.view.timeline.row import Look, TimelineRow
from trunkline.app.view.timeline.row_builder import RowBuilder
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


@label(SessionCreated)
def _created(view: RunView, _event: Event, body: SessionCreated) -> str:
    return f"session {body.session_key} created for {view.places.label(body.address)}, by {body.by}"


@label(WorldSession)
def _stored(view: RunView, _event: Event, body: WorldSession) -> str:
    place = f", of {view.places.label(body.address)}" if body.address else ""
    return f"session {body.session_key} is in the store{place}"


@label(SessionReset)
def _reset(_view: RunView, _event: Event, body: SessionReset) -> str:
    return f"session {body.session_key} is reset, generation {body.generation}"


@row(SessionReset)
def _reset_row(draw: RowBuilder, event: Event, body: SessionReset) -> TimelineRow:
    return draw.note(event, Look.NOTE, f"session reset, generation {body.generation}")


@label(SessionMoved)
def _moved(_view: RunView, _event: Event, body: SessionMoved) -> str:
    return f"session {body.old_key} moves to {body.session_key}: {body.reason}"


@row(SessionMoved)
def _moved_row(draw: RowBuilder, event: Event, body: SessionMoved) -> TimelineRow:
    return draw.note(event, Look.NOTE, f"session moved: {body.reason}")


@label(SessionLeft)
def _left(_view: RunView, _event: Event, body: SessionLeft) -> str:
    now = f", for {body.session_key}" if body.session_key else ""
    return f"session {body.old_key} is left{now}: {body.reason}"


@row(SessionLeft)
def _left_row(draw: RowBuilder, event: Event, body: SessionLeft) -> TimelineRow:
    return draw.note(event, Look.NOTE, f"session left: {body.reason}")


@label(SessionShared)
def _shared(_view: RunView, _event: Event, body: SessionShared) -> str:
    newest = body.peer.name or body.peer.id
    return f"{body.people} people share session {body.session_key}, {newest} is the newest: {body.reason}"


@row(SessionShared)
def _shared_row(draw: RowBuilder, event: Event, body: SessionShared) -> TimelineRow:
    return draw.note(event, Look.ALARM, f"{body.people} people in one session: {body.reason}")


@label(TranscriptAppended)
def _transcript(_view: RunView, _event: Event, body: TranscriptAppended) -> str:
    return f"transcript of {body.session_key}: {body.role} {quoted(body.text)}"


@label(MirrorAppended)
def _mirrored(_view: RunView, _event: Event, body: MirrorAppended) -> str:
    part = " (in part)" if body.partial else ""
    return f"mirrored into {body.session_key}{part}"


@row(MirrorAppended, sometimes=True)
def _mirrored_row(draw: RowBuilder, event: Event, body: MirrorAppended) -> TimelineRow | None:
    if draw.view.of_intent(event.intent, WireAccepted):
        return None
    tag = "m" + draw.view.marks.mirrors.get(event.seq, "!")
    return draw.note(event, Look.MISPLACED, f"mirrored, never accepted: {quoted(body.text)}", None, (tag,))


@label(MirrorRefused, row=alarm)
def _mirror_refused(_view: RunView, _event: Event, body: MirrorRefused) -> str:
    return f"mirroring into {body.session_key} failed and will be retried: {body.reason} ({body.detail})"
