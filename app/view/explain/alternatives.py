"""Why not there? For another place than the one that was taken: the first condition that excluded it.

Only what was recorded is told: the candidates of a route, those of the bound-delivery router, the steps of a completion
plan, and denied fallbacks. A place that no decision looked at is told as that, never reconstructed.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.app.view.text.cells import clean
from trunkline.app.view.text.fact import Tone
from trunkline.core.events import Event
from trunkline.core.events.bindings import FallbackDenied, RouterDecided
from trunkline.core.events.gateway import CompletionPlanned, InboundReceived, RouteDecided
from trunkline.core.values import Address
from trunkline.sim.events.world import PeerSaid

#: what was recorded about where things go
DECISIONS = (RouteDecided, RouterDecided, CompletionPlanned, FallbackDenied)


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """What the decisions of an event say of one alternative."""

    name: str
    #: the first condition that excluded it, or why it was taken
    text: str
    taken: bool = False
    #: a decision looked at it
    considered: bool = True
    #: the decision
    seq: int = 0

    @property
    def tone(self) -> Tone:
        """How it is shown."""
        return Tone.GOOD if self.taken else Tone.PLAIN if self.considered else Tone.DIM

    @property
    def mark(self) -> str:
        """``✓`` taken, ``✗`` excluded, ``–`` nothing was recorded of it."""
        return "✓" if self.taken else "✗" if self.considered else "–"


def decisions_of(view: RunView, seq: int) -> list[Event]:
    """The decisions that an event goes back to, the nearest first; those of its delegation and its intent too."""
    if not 0 < seq <= view.last:
        return []
    event = view.event(seq)
    path = [view.event(step) for step in reversed(view.causes.path(seq))]
    near = [
        *path,
        *view.of_delegation(event.delegation),
        *view.of_intent(event.intent),
        *view.of_inbound(event.inbound),
    ]
    found = {one.seq: one for one in near if isinstance(one.body, DECISIONS) and one.seq <= seq}
    return list(found.values())


def why_not(view: RunView, seq: int) -> list[Alternative]:
    """Every alternative to where an event went: those that were looked at, then the other places of the run."""
    told: dict[str, Alternative] = {}
    for decision in decisions_of(view, seq):
        for answer in _answers(view, decision):
            told.setdefault(answer.name, answer)
    taken = _destination(view, seq)
    if taken is not None:
        name = view.places.label(taken)
        known = told.get(name)
        text = known.text if known is not None and known.taken else "the event went there"
        told[name] = Alternative(name=name, text=text, taken=True, seq=known.seq if known else seq)
    rest = (view.places.label(place.address) for place in view.places.in_order())
    which = "no decision of this event looked at it" if told else "no decision was recorded for this event"
    others = [Alternative(name=name, text=which, considered=False) for name in dict.fromkeys(rest) if name not in told]
    here = view.places.label(taken) if taken is not None else ""
    return [*sorted(told.values(), key=lambda one: (one.name != here, not one.taken)), *others]


def _destination(view: RunView, seq: int) -> Address | None:
    body = view.event(seq).body if 0 < seq <= view.last else None
    if isinstance(body, RouteDecided):
        return body.reply_to
    if isinstance(body, PeerSaid | InboundReceived | RouterDecided | FallbackDenied | CompletionPlanned):
        return None
    address = getattr(body, "address", None)
    return address if isinstance(address, Address) else None


def _answers(view: RunView, event: Event) -> Iterator[Alternative]:
    match event.body:
        case RouterDecided():
            yield from _router(view, event, event.body)
        case CompletionPlanned():
            yield from _plan(view, event, event.body)
        case RouteDecided():
            yield from _route(view, event, event.body)
        case FallbackDenied(refused=Address() as refused, reason=reason):
            text = f"fallback denied, {reason}: {reason.sentence}"
            yield Alternative(name=view.places.label(refused), text=clean(text), seq=event.seq)
        case _:
            pass


def _router(view: RunView, event: Event, body: RouterDecided) -> Iterator[Alternative]:
    for one in body.candidates:
        name = view.bindings.name(one.binding)
        text = f"{name} {one.status}, {one.reason}: {one.reason.sentence}"
        yield Alternative(name=view.places.label(one.conversation), text=clean(text), taken=one.chosen, seq=event.seq)
    looked_at = {one.conversation.lane for one in body.candidates}
    if body.conversation is not None and body.conversation.lane not in looked_at:
        text = f"{body.mode}, {body.reason}: {body.reason.sentence}"
        yield Alternative(name=view.places.label(body.conversation), text=clean(text), taken=True, seq=event.seq)
    if body.requester is not None and body.requester.lane not in looked_at and body.mode == "bound":
        text = f"only asked from there; the router chose {body.mode}, {body.reason}: {body.reason.sentence}"
        yield Alternative(name=view.places.label(body.requester), text=clean(text), seq=event.seq)


def _plan(view: RunView, event: Event, body: CompletionPlanned) -> Iterator[Alternative]:
    for step in body.steps:
        if step.address is not None:
            text = f"a step of the plan ({step.mode}), {step.reason}: {step.reason.sentence}"
            yield Alternative(name=view.places.label(step.address), text=clean(text), taken=True, seq=event.seq)


def _route(view: RunView, event: Event, body: RouteDecided) -> Iterator[Alternative]:
    if body.reply_to is not None:
        text = f"answers go there, {body.reply_reason}: {body.reply_reason.sentence}"
        yield Alternative(name=view.places.label(body.reply_to), text=clean(text), taken=True, seq=event.seq)
    for one in body.candidates:
        text = f"{one.tier}, {one.reason}: {one.reason.sentence}"
        yield Alternative(
            name=f"route {view.bindings.name(one.binding)}", text=clean(text), taken=one.chosen, seq=event.seq
        )
    if body.others:
        text = f"{body.others} more have nothing to do with this message: {describe(view, event)}"
        yield Alternative(name="other routes", text=clean(text), seq=event.seq)
