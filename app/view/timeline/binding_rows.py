"""Timeline rows of session-binding events. The rest of the table is in `app.view.timeline.event_rows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from trunkline.app.view.labels.bindings import command
from trunkline.app.view.labels.events import describe
from trunkline.app.view.text.cells import clean
from trunkline.app.view.timeline.row import Look, Row
from trunkline.app.view.timeline.row_builder import Drawing
from trunkline.core.events import Body, Event
from trunkline.core.events.bindings import (
    BindingBound,
    BindingDegraded,
    BindingEnded,
    BindingEnding,
    BindingRefused,
    ControlEnded,
    FallbackDenied,
    IdentityFallback,
    PlaceReopened,
    RouterDecided,
)
from trunkline.sim.events.world import CredentialRotated, ThreadReopened, WebhookGone


def _bound(draw: Drawing, event: Event, body: BindingBound) -> Row:
    text = f"{draw.view.bindings.name(event.binding)} → {clean(body.label or body.session_key)}"
    return draw.note(event, Look.NOTE, text, draw.lanes.of(body.conversation))


def _ending(draw: Drawing, event: Event, body: BindingEnding) -> Row:
    text = f"{draw.view.bindings.name(event.binding)} ending: {body.reason}"
    return draw.note(event, Look.NOTE, text, draw.lanes.of(body.conversation))


def _ended(draw: Drawing, event: Event, body: BindingEnded) -> Row:
    text = f"{draw.view.bindings.name(event.binding)} ended: {body.reason}"
    return draw.note(event, Look.NOTE, text, draw.lanes.of(body.conversation))


def _degraded(draw: Drawing, event: Event, body: BindingDegraded) -> Row:
    row = draw.view.bindings.row(event.binding, event.seq)
    lane = draw.lanes.of(row.conversation) if row else None
    return draw.note(
        event, Look.ALARM, f"{draw.view.bindings.name(event.binding)}: only the bot now, {body.reason}", lane
    )


def _decided(draw: Drawing, event: Event, body: RouterDecided) -> Row:
    if body.conversation is None:
        return draw.note(event, Look.ALARM, f"router: nowhere bound, {body.reason}")
    place = draw.view.places.of(body.conversation)
    return draw.note(event, Look.NOTE, f"router → {draw.view.places.short(place)}: {body.reason}")


def _denied(draw: Drawing, event: Event, body: FallbackDenied) -> Row:
    text = f"denied: {body.reason}"
    if body.refused is None:
        return draw.note(event, Look.SUPPRESSED, text, draw.lanes.of(body.asked), ("sup",))
    return draw.outbound(event, Look.SUPPRESSED, body.refused, text, "sup")


def _as_bot(draw: Drawing, event: Event, body: IdentityFallback) -> Row:
    lane = draw.lanes.of(draw.target(event))
    return draw.note(event, Look.NOTE, f"as {clean(body.used)}: {body.reason}", lane, ("FB",))


def _at_place(draw: Drawing, event: Event, body: PlaceReopened | ThreadReopened) -> Row:
    place = draw.view.places.of(body.address).name
    how = "unarchived by the gateway" if isinstance(body, PlaceReopened) else "open again"
    return draw.note(event, Look.NOTE, f"{place} {how}", draw.lanes.of(body.address))


def _control_ended(draw: Drawing, event: Event, body: ControlEnded) -> Row:
    reason = f": {body.reason}" if body.reason else ""
    return draw.note(event, Look.NOTE, f"{clean(command(body))} {clean(body.outcome)}{reason}")


def _told(draw: Drawing, event: Event, _body: Body) -> Row:
    return draw.note(event, Look.NOTE, describe(draw.view, event))


def _alarm(draw: Drawing, event: Event, _body: Body) -> Row:
    return draw.note(event, Look.ALARM, describe(draw.view, event))


#: by the type of the body; touches and the call of a command, whose message has a row, are internal
BOUND_ROWS = cast(
    "dict[type[Body], Callable[[Drawing, Event, Body], Row | None]]",
    {
        BindingBound: _bound,
        BindingEnding: _ending,
        BindingEnded: _ended,
        BindingRefused: _alarm,
        BindingDegraded: _degraded,
        RouterDecided: _decided,
        FallbackDenied: _denied,
        IdentityFallback: _as_bot,
        PlaceReopened: _at_place,
        ThreadReopened: _at_place,
        ControlEnded: _control_ended,
        CredentialRotated: _told,
        WebhookGone: _alarm,
    },
)
