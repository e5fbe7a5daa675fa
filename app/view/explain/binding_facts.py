"""Explanations of session bindings: a record with its history, a decision of the router, and denied fallbacks.

As in `app.view.explain.event_facts`, nothing is reconstructed: the router recorded the candidates and reasons.
"""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.text.cells import count, seconds
from trunkline.app.text.fact import Fact, Tone, because, clean_fact, reason_text
from trunkline.app.view.explain.resolver import answer, resolve
from trunkline.app.view.index.bindings import BindingRow, Standing
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.app.view.kinds.bindings import command
from trunkline.app.view.labels.place_title import title
from trunkline.core.bindings.bind_request import OPERATOR
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
from trunkline.core.reasons import Reason

_TONES = {Standing.ACTIVE: Tone.GOOD, Standing.EXPIRED: Tone.WARN, Standing.ENDING: Tone.WARN}


def record_facts(view: RunView, row: BindingRow, seq: int) -> Iterator[Fact]:
    """A binding after event `seq`: its fields, what its conversation resolves to, and its history."""
    standing = view.bindings.standing(row, seq)
    yield clean_fact("status", _status(view, row, standing), row.last, _TONES.get(standing, Tone.DIM))
    for point in view.bindings.misused(row.id, seq):
        yield clean_fact("broken", f"✗ used at {seconds(point.at)}, when it no longer routed", point.seq, Tone.BAD)
    place = f"{row.conversation.channel} {title(view.places, row.conversation)}  ({row.conversation})"
    yield clean_fact("place", place, row.since)
    kind = f"  ({row.target_kind})" if row.target_kind else ""
    yield clean_fact("session", f"{row.session_key}{kind}", row.since)
    yield clean_fact("by", f"{row.by or 'not recorded'}{f', label {row.label}' if row.label else ''}", row.since)
    yield clean_fact("identity", _identity(row), row.since, Tone.WARN if row.degraded or row.as_bot else Tone.PLAIN)
    instead = f", instead of {view.bindings.name(row.instead_of)}" if row.instead_of else ""
    yield clean_fact(
        "bound", f"at {seconds(row.bound_at)}, {row.placement or 'found in the store'}{instead}", row.since
    )
    touches = f"{count(row.touches, 'time')}, last at {seconds(row.active_at)}" if row.touches else "not yet"
    yield clean_fact("touched", touches, row.last)
    yield clean_fact("ends", _ends(row), row.last)
    if row.reason is not None:
        yield because(row.reason, row.last)
    if view.bindings.name(row.id) != row.id:
        yield clean_fact("id", row.id, row.since)
    if standing is not Standing.LATER:
        yield clean_fact("resolves", answer(view, resolve(view, row.conversation, seq)), row.last)
    yield from story_facts(view, row.id)


def happened_facts(view: RunView, event: Event) -> Iterator[Fact]:
    """An event of a binding, its state after the event, and its history."""
    yield clean_fact("what", describe(view, event), event.seq)
    reason = getattr(event.body, "reason", None)
    if isinstance(reason, Reason):
        yield because(reason, event.seq)
    row = view.bindings.row(event.binding, event.seq)
    if row is None:
        return
    yield clean_fact("status", _status(view, row, view.bindings.standing(row, event.seq)), event.seq)
    yield clean_fact("ends", _ends(row), event.seq)
    if row.identity is not None:
        yield clean_fact("identity", _identity(row), row.since, Tone.WARN if row.degraded or row.as_bot else Tone.PLAIN)
    yield clean_fact("resolves", answer(view, resolve(view, row.conversation, event.seq)), event.seq)
    yield from story_facts(view, row.id)


def _status(view: RunView, row: BindingRow, standing: Standing) -> str:
    name = view.bindings.name(row.id)
    if standing is Standing.LATER:
        return f"{name} is bound later, at #{row.since}"
    if standing is Standing.EXPIRED:
        return f"{name} expired: its deadline has passed, it does not route"
    return f"{name} {standing}"


def _identity(row: BindingRow) -> str:
    if row.identity is None:
        return "the bot"
    lost = f", the bot since the identity was lost: {row.degraded}" if row.degraded else ""
    times = f", {count(row.as_bot, 'chunk')} as the bot" if row.as_bot else ""
    return f"{row.identity}{lost}{times}"


def _ends(row: BindingRow) -> str:
    if row.ended_at is not None:
        who = f", by {row.ended_by}" if row.ended_by else ""
        return f"ended at {seconds(row.ended_at)}{who}{f' ({row.detail})' if row.detail else ''}"
    if row.ending_at is not None:
        return f"ending since {seconds(row.ending_at)}, {count(row.under_way, 'turn or send', 'turns and sends')} left"
    if row.expires_at is None:
        return "never on its own"
    limits = [f"idle {row.idle_timeout:g} s"] if row.idle_timeout else []
    limits += [f"age {row.max_age:g} s"] if row.max_age else []
    return f"at {seconds(row.expires_at)} unless touched  ({', '.join(limits)})".replace("  ()", "")


def story_facts(view: RunView, binding: str) -> Iterator[Fact]:
    """The history of a binding. Touches by messages, which have their own line, are left out."""
    story = view.bindings.story(binding)
    shown = (event for event in story if not isinstance(event.body, BindingTouched) or event.body.by == OPERATOR)
    for number, event in enumerate(shown):
        text = f"#{event.seq} {seconds(event.at)} {describe(view, event)}"
        yield clean_fact("" if number else "story", text, event.seq)


def router_facts(view: RunView, event: Event) -> Iterator[Fact]:
    """A decision of the router: the question, the candidates, and the outcome."""
    body, seq = event.body, event.seq
    assert isinstance(body, RouterDecided)
    yield clean_fact("router", f"#{seq} {body.event_kind} of session {body.target_session_key}", seq)
    asked = view.places.label(body.requester) if body.requester else "an unknown requester"
    closed = "fail closed: no guess" if body.fail_closed else "fail open: a guess is allowed"
    yield clean_fact("asked by", f"{asked}  ({closed})", seq)
    for number, one in enumerate(body.candidates):
        which = f"{'✓' if one.chosen else '✗'} {view.bindings.name(one.binding)} {one.status}"
        text = f"{which} {view.places.label(one.conversation)}  {reason_text(one.reason)}"
        yield clean_fact("" if number else "tried", text, seq, Tone.GOOD if one.chosen else Tone.DIM)
    if not body.candidates:
        yield clean_fact("tried", "that session had no binding", seq, Tone.DIM)
    where = view.places.label(body.conversation) if body.conversation else "no bound conversation"
    tone = Tone.GOOD if body.conversation else Tone.WARN
    yield clean_fact(
        "chosen" if body.conversation else "fallback", f"{body.mode} → {where}  {reason_text(body.reason)}", seq, tone
    )


def routed_facts(view: RunView, event: Event) -> Iterator[Fact]:
    """The router decisions about the completion of an event, and the fallbacks denied after them."""
    near = view.nearest(event.seq, RouterDecided)
    decided = view.of_delegation(event.delegation, RouterDecided) or ([near] if near else [])
    for one in decided:
        yield from router_facts(view, one)
    denied = view.of_delegation(event.delegation, FallbackDenied)
    denied += [one for one in view.of_intent(event.intent, FallbackDenied) if one not in denied]
    for one in denied:
        yield from denied_facts(view, one)


def denied_facts(view: RunView, event: Event) -> Iterator[Fact]:
    """A denied fallback: nothing was posted elsewhere instead."""
    assert isinstance(event.body, FallbackDenied)
    yield clean_fact("denied", f"#{event.seq} {describe(view, event)}", event.seq, Tone.WARN)
    yield because(event.body.reason, event.seq)


def spoken_facts(view: RunView, intent: str | None) -> Iterator[Fact]:
    """Whether an intent was posted under another identity, and whether its place was reopened for it."""
    for event in view.of_intent(intent, IdentityFallback):
        assert isinstance(event.body, IdentityFallback)
        yield clean_fact("identity", f"#{event.seq} {describe(view, event)}", event.seq, Tone.WARN)
        yield because(event.body.reason, event.seq)
    for event in view.of_intent(intent, PlaceReopened):
        yield clean_fact("reopened", f"#{event.seq} {describe(view, event)}", event.seq)


def own_bound_facts(view: RunView, event: Event) -> Iterator[Fact]:
    """The explanation of an event of bindings; nothing for any other event."""
    match event.body:
        case RouterDecided():
            yield from router_facts(view, event)
            for one in view.of_delegation(event.delegation, FallbackDenied):
                yield from denied_facts(view, one)
        case FallbackDenied():
            yield from denied_facts(view, event)
            near = view.nearest(event.seq, RouterDecided)
            for one in [near] if near else view.of_delegation(event.delegation, RouterDecided):
                yield from router_facts(view, one)
        case BindingRefused(verb=verb, conversation=place, session_key=key, reason=reason, detail=detail, by=by):
            yield clean_fact("refused", f"{verb} of {view.places.target(place)}", event.seq, Tone.WARN)
            yield clean_fact("session", key or "none was named", event.seq)
            yield because(reason, event.seq)
            yield clean_fact("detail", detail, event.seq)
            yield clean_fact("by", by or "not recorded", event.seq)
        case ControlCalled(argument=argument, by=by):
            yield clean_fact("command", f"{command(event.body)} {argument}".rstrip(), event.seq)
            yield clean_fact("by", by, event.seq)
        case ControlEnded(outcome=outcome, reason=reason, detail=detail):
            yield clean_fact("command", f"{command(event.body)}: {outcome}", event.seq)
            if reason is not None:
                yield because(reason, event.seq)
            if detail:
                yield clean_fact("detail", detail, event.seq)
        case BindingBound() | BindingTouched() | BindingEnding() | BindingEnded() | BindingDegraded():
            yield from happened_facts(view, event)
        case _:
            pass
