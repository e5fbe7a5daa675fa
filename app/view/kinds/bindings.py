"""Session bindings, the completion router, identities, and chat commands."""

from __future__ import annotations

from trunkline.app.text.cells import clean, count
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import alarm, label, label_text, row, row_text
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

label_text(
    BindingBound,
    "{event.binding:binding} binds {conversation:place} to session {session_key}{label: (…)}, by {by}"
    "{instead_of:, instead of …|binding}",
)


@row(BindingBound)
def _bound_row(draw: RowBuilder, event: Event, body: BindingBound) -> TimelineRow:
    text = f"{draw.view.bindings.name(event.binding)} → {clean(body.label or body.session_key)}"
    return draw.note(event, Look.NOTE, text, draw.lanes.of(body.conversation))


label_text(BindingTouched, "{event.binding:binding} touched by an {by} message{expires_at:, expires at …|seconds}")


@label(BindingEnding)
def _ending(view: RunView, event: Event, body: BindingEnding) -> str:
    name = view.bindings.name(event.binding)
    return f"{name} is ending, with {count(body.under_way, 'item')} in flight: {body.reason}"


row_text(BindingEnding, "{event.binding:binding} ending: {reason}", at="conversation")
label_text(
    BindingEnded, "{event.binding:binding} has ended{by:, by …}: {reason}{detail: (…)}, {conversation:place} is free"
)
row_text(BindingEnded, "{event.binding:binding} ended: {reason}", at="conversation")


@label(BindingRefused, row=alarm)
def _refused(view: RunView, _event: Event, body: BindingRefused) -> str:
    request = f"{body.verb} of {view.places.target(body.conversation)}" if body.conversation else body.verb
    session = f" with session {body.session_key}" if body.session_key else ""
    detail = f" ({body.detail})" if body.detail else ""
    return f"{request}{session} refused: {body.reason}{detail}"


@label(BindingDegraded)
def _degraded(view: RunView, event: Event, body: BindingDegraded) -> str:
    times = count(body.fallbacks, "send")
    return f"{view.bindings.name(event.binding)} has lost {body.identity} after {times} as the bot: {body.reason}"


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


def command(body: ControlCalled | ControlEnded) -> str:
    """A chat command as people type it."""
    return f"/{body.command.removeprefix('/')}"


@label(ControlCalled)
def _called(_view: RunView, _event: Event, body: ControlCalled) -> str:
    return f"{command(body)} {body.argument}".rstrip() + f", sent by {body.by}"


@label(ControlEnded)
def _command_ended(_view: RunView, _event: Event, body: ControlEnded) -> str:
    reason = f": {body.reason}" if body.reason else ""
    detail = f" ({body.detail})" if body.detail else ""
    return f"{command(body)} {body.outcome}{reason}{detail}"


@row(ControlEnded)
def _command_ended_row(draw: RowBuilder, event: Event, body: ControlEnded) -> TimelineRow:
    reason = f": {body.reason}" if body.reason else ""
    return draw.note(event, Look.NOTE, f"{clean(command(body))} {clean(body.outcome)}{reason}")
