"""Bindings and sessions: bound, ended, made, moved; transcripts, the completion router, identities, chat commands."""

from __future__ import annotations

from trunkline.app.text.cells import quoted
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, row, row_text
from trunkline.app.view.labels.templates import FORMATS
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.app.view.rows.row_builder import RowBuilder
from trunkline.core.events import Event
from trunkline.core.events.bindings import (
    BindingBound,
    BindingDegraded,
    BindingEnded,
    BindingEnding,
    BindingRefused,
    BindingTouched,
    ControlCalled,
    ControlEnded,
    FallbackDenied,
    IdentityFallback,
    PlaceReopened,
    RouterDecided,
)
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


def command(name: str) -> str:
    """A chat command as people type it."""
    return f"/{name.removeprefix('/')}"


FORMATS["command"] = lambda _view, name: command(name)

label_text(
    BindingBound,
    "{event.binding:binding} binds {conversation:place} to session {session_key}{label: (…)}, by {by}"
    "{instead_of:, instead of …|binding}",
)
row_text(BindingBound, "{event.binding:binding} → {label|session_key}", at="conversation")
label_text(BindingTouched, "{event.binding:binding} touched by an {by} message{expires_at:, expires at …|seconds}")
label_text(BindingEnding, "{event.binding:binding} is ending, with {under_way:count item} in flight: {reason}")
row_text(BindingEnding, "{event.binding:binding} ending: {reason}", at="conversation")
label_text(
    BindingEnded, "{event.binding:binding} has ended{by:, by …}: {reason}{detail: (…)}, {conversation:place} is free"
)
row_text(BindingEnded, "{event.binding:binding} ended: {reason}", at="conversation")
label_text(
    BindingRefused,
    "{verb}{conversation: of …|target}{session_key: with session …} refused: {reason}{detail: (…)}",
    row=alarm,
)
label_text(
    BindingDegraded, "{event.binding:binding} has lost {identity} after {fallbacks:count send} as the bot: {reason}"
)


@row(BindingDegraded)
def _degraded_row(draw: RowBuilder, event: Event, body: BindingDegraded) -> TimelineRow:
    binding = draw.view.bindings.row(event.binding, event.seq)
    lane = draw.lanes.of(binding.conversation) if binding else None
    text = f"{draw.view.bindings.name(event.binding)}: only the bot now, {body.reason}"
    return draw.note(event, Look.ALARM, text, lane)


@label(RouterDecided)
def _decided(view: RunView, _event: Event, body: RouterDecided) -> str:
    completion = f"{body.event_kind.replace('_', ' ')} of session {body.target_session_key}"
    if body.conversation is None:
        return f"router: no bound conversation for the {completion}: {body.reason}"
    return f"router: the {completion} goes to {view.places.label(body.conversation)}: {body.reason}"


@row(RouterDecided)
def _decided_row(draw: RowBuilder, event: Event, body: RouterDecided) -> TimelineRow:
    if body.conversation is None:
        return draw.note(event, Look.ALARM, f"router: nowhere bound, {body.reason}")
    place = draw.view.places.of(body.conversation)
    return draw.note(event, Look.NOTE, f"router → {draw.view.places.short(place)}: {body.reason}")


@label(FallbackDenied)
def _denied(view: RunView, _event: Event, body: FallbackDenied) -> str:
    asked = view.places.label(body.asked) if body.asked else "its place, which is gone"
    notice = "only a notice goes there" if body.notice else "nothing goes there"
    return f"fallback denied: not to {view.places.label(body.refused)} instead of {asked} ({body.reason}), {notice}"


@row(FallbackDenied, arrow=True)
def _denied_row(draw: RowBuilder, event: Event, body: FallbackDenied) -> TimelineRow:
    text = f"denied: {body.reason}"
    if body.refused is None:
        return draw.note(event, Look.SUPPRESSED, text, draw.lanes.of(body.asked), ("sup",))
    return draw.outbound(event, Look.SUPPRESSED, body.refused, text, "sup")


label_text(IdentityFallback, "chunk {chunk:number} goes out as {used} instead of {instead_of}: {reason}")
row_text(IdentityFallback, "as {used}: {reason}", at="intent", tags=("FB",))
label_text(PlaceReopened, "the gateway unarchives {address:place} to post there")
row_text(PlaceReopened, "{address:place_name} unarchived by the gateway", at="address")
label_text(ControlCalled, "{command:command}{argument: …}, sent by {by}")
label_text(ControlEnded, "{command:command} {outcome}{reason:: …}{detail: (…)}")
row_text(ControlEnded, "{command:command} {outcome}{reason:: …}")

# ---------------------------------------------------------------- sessions

label_text(SessionCreated, "session {session_key} created for {address:place}, by {by}")
label_text(WorldSession, "session {session_key} is in the store{address:, of …|place}")
label_text(SessionReset, "session {session_key} is reset, generation {generation}")
row_text(SessionReset, "session reset, generation {generation}")
label_text(SessionMoved, "session {old_key} moves to {session_key}: {reason}")
row_text(SessionMoved, "session moved: {reason}")
label_text(SessionLeft, "session {old_key} is left{session_key:, for …}: {reason}")
row_text(SessionLeft, "session left: {reason}")
label_text(SessionShared, "{people} people share session {session_key}, {peer.name|peer.id} is the newest: {reason}")
row_text(SessionShared, "{people} people in one session: {reason}", look=Look.ALARM)
label_text(TranscriptAppended, "transcript of {session_key}: {role} {text:quoted}")
label_text(MirrorAppended, "mirrored into {session_key}{partial:? (in part)}")


@row(MirrorAppended, sometimes=True, arrow=True)
def _mirrored_row(draw: RowBuilder, event: Event, body: MirrorAppended) -> TimelineRow | None:
    """Only a mirror of what no platform accepted; and where none says so, the text that was sent."""
    text = quoted(body.text)
    if draw.view.of_intent(event.intent, WireAccepted):
        return None
    if draw.view.visible.witnessed:
        tag = "m" + draw.view.marks.mirrors.get(event.seq, "!")
        return draw.note(event, Look.MISPLACED, f"mirrored, never accepted: {text}", None, (tag,))
    target = draw.target(event)
    return draw.outbound(event, Look.DELIVERED, target, text) if target else draw.note(event, Look.NOTE, text)


label_text(MirrorRefused, "mirroring into {session_key} failed and will be retried: {reason} ({detail})", row=alarm)
