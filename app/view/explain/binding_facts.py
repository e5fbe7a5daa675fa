"""Explanations of session bindings: a record with its history, a decision of the router, and denied fallbacks.

As in `app.view.explain.explanation`, nothing is reconstructed: the router recorded the candidates and reasons.
"""

from collections.abc import Iterable, Iterator

from trunkline.app.text.cells import count, seconds
from trunkline.app.text.fact import Fact, Tone, because, facts, reason_text, under
from trunkline.app.view.explain.resolver import answer, resolve
from trunkline.app.view.index.bindings import BindingRow, Standing
from trunkline.app.view.index.places import title
from trunkline.app.view.index.run_index import RunView, typed
from trunkline.app.view.kinds.gateway import command
from trunkline.app.view.kinds.registry import describe, event_fact
from trunkline.core.bindings.bind_request import OPERATOR
from trunkline.core.events import Event, bindings

_TONES = {Standing.ACTIVE: Tone.GOOD, Standing.EXPIRED: Tone.WARN, Standing.ENDING: Tone.WARN}


def record_facts(view: RunView, row: BindingRow, seq: int) -> Iterator[Fact]:
    """A binding after event `seq`: its fields, what its conversation resolves to, and its history."""
    standing, name = view.bindings.standing(row, seq), view.bindings.name
    yield Fact("status", _status(view, row, standing), row.last, _TONES.get(standing, Tone.DIM))
    for point in view.bindings.misused(row.id, seq):
        yield Fact("broken", f"✗ used at {seconds(point.at)}, when it no longer routed", point.seq, Tone.BAD)
    place = f"{row.conversation.channel} {title(view.places, row.conversation)}  ({row.conversation})"
    yield Fact("place", place, row.since)
    kind = f"  ({row.target_kind})" if row.target_kind else ""
    yield Fact("session", f"{row.session_key}{kind}", row.since)
    yield Fact("by", f"{row.by or 'not recorded'}{f', label {row.label}' if row.label else ''}", row.since)
    yield _identity(row)
    instead = f", instead of {name(row.instead_of)}" if row.instead_of else ""
    yield Fact("bound", f"at {seconds(row.bound_at)}, {row.placement or 'found in the store'}{instead}", row.since)
    touches = f"{count(row.touches, 'time')}, last at {seconds(row.active_at)}" if row.touches else "not yet"
    yield Fact("touched", touches, row.last)
    yield Fact("ends", _ends(row), row.last)
    yield from facts(row.last, ("because", row.reason))
    yield from facts(row.since, ("id", row.id if name(row.id) != row.id else ""))
    if standing is not Standing.LATER:
        yield Fact("resolves", answer(view, resolve(view, row.conversation, seq)), row.last)
    yield from _story(view, row.id)


def _happened(view: RunView, event: Event) -> Iterator[Fact]:
    """An event of a binding, its state after the event, and its history."""
    seq, row = event.seq, view.bindings.row(event.binding, event.seq)
    yield from facts(seq, ("what", describe(view, event)), ("because", getattr(event.body, "reason", None)))
    if row is not None:
        yield Fact("status", _status(view, row, view.bindings.standing(row, seq)), seq)
        yield Fact("ends", _ends(row), seq)
        if row.identity is not None:
            yield _identity(row)
        yield Fact("resolves", answer(view, resolve(view, row.conversation, seq)), seq)
        yield from _story(view, row.id)


def _status(view: RunView, row: BindingRow, standing: Standing) -> str:
    name = view.bindings.name(row.id)
    if standing is Standing.LATER:
        return f"{name} is bound later, at #{row.since}"
    if standing is Standing.EXPIRED:
        return f"{name} expired: its deadline has passed, it does not route"
    return f"{name} {standing}"


def _identity(row: BindingRow) -> Fact:
    lost = f", the bot since the identity was lost: {row.degraded}" if row.degraded else ""
    times = f", {count(row.as_bot, 'chunk')} as the bot" if row.as_bot else ""
    text = "the bot" if row.identity is None else f"{row.identity}{lost}{times}"
    return Fact("identity", text, row.since, Tone.WARN if row.degraded or row.as_bot else Tone.PLAIN)


def _ends(row: BindingRow) -> str:
    if row.ended_at is not None:
        who = f", by {row.ended_by}" if row.ended_by else ""
        return f"ended at {seconds(row.ended_at)}{who}{f' ({row.detail})' if row.detail else ''}"
    if row.ending_at is not None:
        return f"ending since {seconds(row.ending_at)}, {count(row.under_way, 'turn or send', 'turns and sends')} left"
    if row.expires_at is None:
        return "never on its own"
    found = ("idle", row.idle_timeout), ("age", row.max_age)
    limits = ", ".join(f"{name} {limit:g} s" for name, limit in found if limit)
    return f"at {seconds(row.expires_at)} unless touched{f'  ({limits})' if limits else ''}"


def _story(view: RunView, binding: str) -> Iterator[Fact]:
    """The history of a binding. Touches by messages, which have their own line, are left out."""
    story = view.bindings.story(binding)
    shown = (
        event for event in story if not isinstance(event.body, bindings.BindingTouched) or event.body.by == OPERATOR
    )
    return under("story", (event_fact(view, event, timed=True) for event in shown))


def _decided(view: RunView, events: Iterable[Event | None]) -> Iterator[Fact]:
    """Decisions of the router: the question, the candidates, and the outcome."""
    name, label = view.bindings.name, view.places.label
    for event, body in typed(events, bindings.RouterDecided):
        seq = event.seq
        yield Fact("router", f"#{seq} {body.event_kind} of session {body.target_session_key}", seq)
        asked = label(body.requester) if body.requester else "an unknown requester"
        closed = "fail closed: no guess" if body.fail_closed else "fail open: a guess is allowed"
        yield Fact("asked by", f"{asked}  ({closed})", seq)
        for number, candidate in enumerate(body.candidates):
            which = f"{'✓' if candidate.chosen else '✗'} {name(candidate.binding)} {candidate.status}"
            text = f"{which} {label(candidate.conversation)}  {reason_text(candidate.reason)}"
            yield Fact("" if number else "tried", text, seq, Tone.GOOD if candidate.chosen else Tone.DIM)
        if not body.candidates:
            yield Fact("tried", "that session had no binding", seq, Tone.DIM)
        found, where, tone = "fallback", "no bound conversation", Tone.WARN
        if body.conversation:
            found, where, tone = "chosen", label(body.conversation), Tone.GOOD
        yield Fact(found, f"{body.mode} → {where}  {reason_text(body.reason)}", seq, tone)


def routed_facts(view: RunView, event: Event) -> Iterator[Fact]:
    """The router decisions about the completion of an event, and the fallbacks denied after them."""
    decided = view.of_delegation(event.delegation, bindings.RouterDecided)
    yield from _decided(view, decided or [view.nearest(event.seq, bindings.RouterDecided)])
    denied = view.of_delegation(event.delegation, bindings.FallbackDenied)
    denied += [refused for refused in view.of_intent(event.intent, bindings.FallbackDenied) if refused not in denied]
    yield from _warned(view, "denied", denied)


def _warned(view: RunView, label: str, events: Iterable[Event]) -> Iterator[Fact]:
    """Denied fallbacks, or lost identities, with their reasons."""
    for event in events:
        yield event_fact(view, event, label, Tone.WARN)
        yield because(getattr(event.body, "reason", None), event.seq)


def spoken_facts(view: RunView, intent: str | None) -> Iterator[Fact]:
    """Whether an intent was posted under another identity, and whether its place was reopened for it."""
    yield from _warned(view, "identity", view.of_intent(intent, bindings.IdentityFallback))
    yield from (event_fact(view, event, "reopened") for event in view.of_intent(intent, bindings.PlaceReopened))


def own_bound_facts(view: RunView, event: Event) -> Iterator[Fact]:
    """The explanation of an event of bindings; nothing for any other event."""
    seq = event.seq
    match event.body:
        case bindings.RouterDecided():
            yield from _decided(view, [event])
            yield from _warned(view, "denied", view.of_delegation(event.delegation, bindings.FallbackDenied))
        case bindings.FallbackDenied():
            yield from _warned(view, "denied", [event])
            near = view.nearest(seq, bindings.RouterDecided)
            yield from _decided(view, [near] if near else view.of_delegation(event.delegation))
        case bindings.BindingRefused(
            verb=verb, conversation=place, session_key=key, reason=reason, detail=detail, by=by
        ):
            yield Fact("refused", f"{verb} of {view.places.target(place)}", seq, Tone.WARN)
            yield Fact("session", key or "none was named", seq)
            yield because(reason, seq)
            yield Fact("detail", detail, seq)
            yield Fact("by", by or "not recorded", seq)
        case bindings.ControlCalled(argument=argument, by=by):
            yield Fact("command", f"{command(event.body.command)} {argument}".rstrip(), seq)
            yield Fact("by", by, seq)
        case bindings.ControlEnded(outcome=outcome, reason=reason, detail=detail):
            yield Fact("command", f"{command(event.body.command)}: {outcome}", seq)
            yield from facts(seq, ("because", reason), ("detail", detail))
        case (
            bindings.BindingBound()
            | bindings.BindingTouched()
            | bindings.BindingEnding()
            | bindings.BindingEnded()
            | bindings.BindingDegraded()
        ):
            yield from _happened(view, event)
        case _:
            pass
