"""Words for session bindings: their life, the router, who speaks, and what the world does to their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.text.cells import count, seconds
from trunkline.core.events import Body, Event
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
from trunkline.sim.events.world import CredentialRotated, ThreadReopened, WebhookGone


def _bound(view: RunView, event: Event, body: BindingBound) -> str:
    name = view.bindings.name(event.binding)
    label = f" ({body.label})" if body.label else ""
    instead = f", instead of {view.bindings.name(body.instead_of)}" if body.instead_of else ""
    place = view.places.label(body.conversation)
    return f"{name} binds {place} to session {body.session_key}{label}, by {body.by}{instead}"


def _touched(view: RunView, event: Event, body: BindingTouched) -> str:
    ends = "" if body.expires_at is None else f", it would end at {seconds(body.expires_at)}"
    return f"{view.bindings.name(event.binding)} touched by something {body.by}{ends}"


def _ending(view: RunView, event: Event, body: BindingEnding) -> str:
    name = view.bindings.name(event.binding)
    return f"{name} is ending, with {count(body.under_way, 'thing')} under way: {body.reason}"


def _ended(view: RunView, event: Event, body: BindingEnded) -> str:
    who = f", by {body.by}" if body.by else ""
    detail = f" ({body.detail})" if body.detail else ""
    name = view.bindings.name(event.binding)
    return f"{name} has ended{who}: {body.reason}{detail}, {view.places.label(body.conversation)} is free"


def _refused(view: RunView, _event: Event, body: BindingRefused) -> str:
    what = f"{body.verb} of {view.places.target(body.conversation)}" if body.conversation else body.verb
    session = f" with session {body.session_key}" if body.session_key else ""
    detail = f" ({body.detail})" if body.detail else ""
    return f"{what}{session} refused: {body.reason}{detail}"


def _degraded(view: RunView, event: Event, body: BindingDegraded) -> str:
    times = count(body.fallbacks, "send")
    return f"{view.bindings.name(event.binding)} has lost {body.identity} after {times} as the bot: {body.reason}"


def _decided(view: RunView, _event: Event, body: RouterDecided) -> str:
    what = body.event_kind.replace("_", " ")
    if body.conversation is None:
        return f"router: no bound conversation for the {what} of session {body.target_session_key}: {body.reason}"
    place = view.places.label(body.conversation)
    return f"router: the {what} of session {body.target_session_key} goes to {place}: {body.reason}"


def _denied(view: RunView, _event: Event, body: FallbackDenied) -> str:
    asked = view.places.label(body.asked) if body.asked else "its place, which is gone"
    notice = "only a notice goes there" if body.notice else "nothing goes there"
    return f"fallback denied: not to {view.places.label(body.refused)} instead of {asked} ({body.reason}), {notice}"


def _as_bot(_view: RunView, _event: Event, body: IdentityFallback) -> str:
    return f"chunk {body.chunk + 1} goes out as {body.used} instead of {body.instead_of}: {body.reason}"


def _place_reopened(view: RunView, _event: Event, body: PlaceReopened) -> str:
    return f"the gateway unarchives {view.places.label(body.address)}, to say something there"


def command(body: ControlCalled | ControlEnded) -> str:
    """A command as people type it."""
    return f"/{body.command.removeprefix('/')}"


def _called(_view: RunView, _event: Event, body: ControlCalled) -> str:
    return f"{command(body)} {body.argument}".rstrip() + f", given by {body.by}"


def _control_ended(_view: RunView, _event: Event, body: ControlEnded) -> str:
    reason = f": {body.reason}" if body.reason else ""
    detail = f" ({body.detail})" if body.detail else ""
    return f"{command(body)} {body.outcome}{reason}{detail}"


def _reopened(view: RunView, _event: Event, body: ThreadReopened) -> str:
    return f"{view.places.label(body.address)} takes messages again"


def _rotated(_view: RunView, _event: Event, body: CredentialRotated) -> str:
    return f"account {body.account} on {body.channel} has a new token, number {body.number}: older ones are refused"


def _webhook_gone(_view: RunView, _event: Event, body: WebhookGone) -> str:
    return f"webhook {body.webhook} on {body.channel} is {body.how}"


#: by the type of the body; see `trunkline.app.view.labels.events`
BOUND_LABELS = cast(
    "dict[type[Body], Callable[[RunView, Event, Body], str]]",
    {
        BindingBound: _bound,
        BindingTouched: _touched,
        BindingEnding: _ending,
        BindingEnded: _ended,
        BindingRefused: _refused,
        BindingDegraded: _degraded,
        RouterDecided: _decided,
        FallbackDenied: _denied,
        IdentityFallback: _as_bot,
        PlaceReopened: _place_reopened,
        ControlCalled: _called,
        ControlEnded: _control_ended,
        ThreadReopened: _reopened,
        CredentialRotated: _rotated,
        WebhookGone: _webhook_gone,
    },
)
