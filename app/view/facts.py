"""Decision facts of an event: what was recorded about the message, route or delegation that it belongs to.

Nothing is reconstructed. Each fact names the event that recorded it, so that a screen can dim what lies in the future.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from app.view.labels import describe, step_words
from app.view.story import RunView
from app.view.text import count, quoted
from core.events import Event
from core.events import bodies as b
from core.reasons import Reason


class Tone(StrEnum):
    """What a line means to the reader."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    DIM = "dim"


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One line: a label, the text, and the event that recorded it. `mark` stands at the right edge."""

    label: str
    text: str
    tone: Tone = Tone.PLAIN
    mark: str = ""
    seq: int = 0


def facts_of(view: RunView, event: Event) -> Iterator[Fact]:
    """What is recorded about the thing that an event is part of: its intent, else its delegation, else its inbound."""
    intent = view.of_intent(event.intent, b.IntentPrepared)
    delegation = view.of_delegation(event.delegation, b.DelegationAccepted)
    inbound = event.inbound or _inbound_after(view, event)
    if intent:
        yield from _intent(view, intent[0])
        yield from _completion(view, event)
        yield from _routes(view, intent[0], inbound)
    elif delegation:
        yield from _delegation(view, delegation[0])
        yield from _completion(view, event)
    elif inbound:
        yield from _inbound(view, inbound)
        yield from _answers(view, event)
    elif not isinstance(event.body, b.PeerSaid | b.RunEnded):
        yield Fact(label="what", text=describe(view, event), seq=event.seq)


def because(reason: Reason | None, seq: int = 0, label: str = "because") -> Fact:
    """A reason code with its sentence."""
    return Fact(label=label, text=f"{reason}: {reason.sentence}" if reason else "no reason was recorded", seq=seq)


def _inbound_after(view: RunView, event: Event) -> str | None:
    """The inbound that a platform's event became; the platform does not know the gateway's ids."""
    if not isinstance(event.body, b.PeerSaid | b.PlatformPushed):
        return None
    return next((view.event(seq).inbound for seq in view.causes.effects(event.seq) if view.event(seq).inbound), None)


def _intent(view: RunView, prepared: Event) -> Iterator[Fact]:
    body = prepared.body
    assert isinstance(body, b.IntentPrepared)
    yield Fact(label="says", text=quoted(body.text), seq=prepared.seq)
    chunks = f", {count(body.chunks, 'chunk')}" if body.chunks > 1 else ""
    named = ", the agent named the target" if body.targeted else ""
    yield Fact(
        label="to", text=f"{view.places.label(body.address)}  ({body.intent_kind}{chunks}{named})", seq=prepared.seq
    )
    yield because(body.reason, prepared.seq)
    for event in view.of_intent(prepared.intent, b.Fallback):
        yield Fact(label="fallback", text=describe(view, event), tone=Tone.WARN, seq=event.seq)
    for event in view.of_intent(prepared.intent, b.WireAccepted, b.WireRefused, b.WireResponseLost, b.WireDeduplicated):
        good = isinstance(event.body, b.WireAccepted | b.WireDeduplicated)
        yield _numbered("wire", view, event, Tone.PLAIN if good else Tone.WARN)
    for event in view.of_intent(prepared.intent, b.AttemptEnded, b.RecoveryDecided, b.WireLookedUp):
        yield _numbered("decided", view, event)
    for event in view.of_intent(prepared.intent, b.MirrorAppended):
        yield _numbered("mirror", view, event)
    for event in view.of_intent(prepared.intent, b.IntentSettled):
        yield _numbered("ended", view, event)


def _numbered(label: str, view: RunView, event: Event, tone: Tone = Tone.PLAIN) -> Fact:
    return Fact(label=label, text=f"#{event.seq} {describe(view, event)}", tone=tone, seq=event.seq)


def _completion(view: RunView, event: Event) -> Iterator[Fact]:
    planned = view.of_delegation(event.delegation, b.CompletionPlanned)
    near = view.nearest(event.seq, b.CompletionPlanned)
    for plan in planned or ([near] if near else []):
        body = plan.body
        assert isinstance(body, b.CompletionPlanned)
        busy = "requester busy" if body.requester_busy else "requester idle"
        yield Fact(label="plan", text=f"#{plan.seq} {count(len(body.steps), 'step')}, {busy}", seq=plan.seq)
        for number, step in enumerate(body.steps, 1):
            yield Fact(label="", text=f"{number} {step_words(view, step)}: {step.reason.sentence}", seq=plan.seq)


def _routes(view: RunView, event: Event, inbound: str | None) -> Iterator[Fact]:
    near = view.nearest(event.seq, b.RouteDecided)
    routes = [near] if near else view.of_inbound(inbound, b.RouteDecided)
    for route in routes:
        yield from _route(view, route)


def _route(view: RunView, event: Event) -> Iterator[Fact]:
    body = event.body
    assert isinstance(body, b.RouteDecided)
    won = f"binding {body.binding}" if body.binding else body.matched_by
    yield Fact(label="route", text=f"#{event.seq} agent {body.agent}, by {won}", seq=event.seq)
    for candidate in body.candidates:
        sign, tone = ("✓", Tone.GOOD) if candidate.chosen else ("–", Tone.DIM)
        text = f"{sign} {candidate.binding} ({candidate.tier}) {candidate.reason}: {candidate.reason.sentence}"
        yield Fact(label="", text=text, tone=tone, seq=event.seq)
    yield Fact(label="session", text=body.session_key, seq=event.seq)
    yield Fact(label="answer to", text=f"{view.places.label(body.reply_to)}  ({body.reply_reason})", seq=event.seq)


def _inbound(view: RunView, inbound: str) -> Iterator[Fact]:
    for event in view.of_inbound(inbound, b.InboundReceived):
        yield _numbered("said", view, view.posted(event.seq) or event)
    for event in view.of_inbound(inbound, b.InboundDropped):
        assert isinstance(event.body, b.InboundDropped)
        yield Fact(label="dropped", text=f"#{event.seq} {describe(view, event)}", tone=Tone.WARN, seq=event.seq)
        yield because(event.body.reason, event.seq)
    for event in view.of_inbound(inbound, b.RouteDecided):
        yield from _route(view, event)
    for event in view.of_inbound(inbound, b.TurnEnded):
        yield _numbered("turn", view, event)


def _answers(view: RunView, event: Event) -> Iterator[Fact]:
    for seq in view.causes.effects(event.seq):
        found = view.event(seq)
        if isinstance(found.body, b.WireAccepted | b.IntentSuppressed | b.DelegationAccepted):
            label = "hands on" if isinstance(found.body, b.DelegationAccepted) else "answered"
            yield _numbered(label, view, found)


def _delegation(view: RunView, accepted: Event) -> Iterator[Fact]:
    body = accepted.body
    assert isinstance(body, b.DelegationAccepted)
    yield Fact(label="task", text=f"{quoted(body.task)} for hand {body.hand}", seq=accepted.seq)
    yield Fact(label="origin", text=f"{view.places.label(body.origin)}, frozen at #{accepted.seq}", seq=accepted.seq)
    yield Fact(label="session", text=body.session_key, seq=accepted.seq)
    for event in view.of_delegation(accepted.delegation, b.DelegationFinished, b.DelegationIgnored):
        yield _numbered("result", view, event)
