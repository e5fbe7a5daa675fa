"""Why an event did not go to another place: the first condition that excluded that place.

Everything comes from the trace: the candidates of a route and of the binding router, the steps of a completion plan,
and denied fallbacks. For a place that no decision considered, nothing is reconstructed.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from trunkline.app.text.cells import clean
from trunkline.app.text.fact import Tone, reason_text
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.core.events import Event
from trunkline.core.events.bindings import FallbackDenied, RouterDecided
from trunkline.core.events.gateway import InboundReceived, RouteDecided
from trunkline.core.events.hands import CompletionPlanned
from trunkline.core.values import Address
from trunkline.sim.events.world import PeerSaid

#: bodies that record where something goes
DECISIONS = (RouteDecided, RouterDecided, CompletionPlanned, FallbackDenied)


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """A place, and what the decisions of an event say about it."""

    name: str
    #: the first condition that excluded it, or why it was taken
    text: str
    taken: bool = False
    #: whether a decision considered it
    considered: bool = True
    #: event of the decision
    seq: int = 0

    @property
    def tone(self) -> Tone:
        return Tone.GOOD if self.taken else Tone.PLAIN if self.considered else Tone.DIM

    @property
    def mark(self) -> str:
        return "✓" if self.taken else "✗" if self.considered else "–"


def decisions_of(view: RunView, seq: int) -> list[Event]:
    """The decisions that led to an event, nearest first, including those of its delegation, intent and inbound."""
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
    """Every place where an event could go: those that a decision considered, then the other places of the run."""
    found: dict[str, Alternative] = {}
    for decision in decisions_of(view, seq):
        for answer in _answers(view, decision):
            found.setdefault(answer.name, answer)
    taken = _destination(view, seq)
    if taken is not None:
        name = view.places.label(taken)
        known = found.get(name)
        text = known.text if known is not None and known.taken else "the event went there"
        found[name] = Alternative(name=name, text=text, taken=True, seq=known.seq if known else seq)
    rest = (view.places.label(place.address) for place in view.places.in_order())
    which = "no decision of this event considered it" if found else "no decision was recorded for this event"
    others = [Alternative(name=name, text=which, considered=False) for name in dict.fromkeys(rest) if name not in found]
    here = view.places.label(taken) if taken is not None else ""
    return [*sorted(found.values(), key=lambda one: (one.name != here, not one.taken)), *others]


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
            for step in event.body.steps:
                if step.address is not None:
                    text = clean(f"a step of the plan ({step.mode}), {reason_text(step.reason)}")
                    yield Alternative(name=view.places.label(step.address), text=text, taken=True, seq=event.seq)
        case RouteDecided():
            yield from _route(view, event, event.body)
        case FallbackDenied(refused=Address() as refused, reason=reason):
            text = f"fallback denied, {reason_text(reason)}"
            yield Alternative(name=view.places.label(refused), text=clean(text), seq=event.seq)
        case _:
            pass


def _router(view: RunView, event: Event, body: RouterDecided) -> Iterator[Alternative]:
    for one in body.candidates:
        name = view.bindings.name(one.binding)
        text = f"{name} {one.status}, {reason_text(one.reason)}"
        yield Alternative(name=view.places.label(one.conversation), text=clean(text), taken=one.chosen, seq=event.seq)
    looked_at = {one.conversation.lane for one in body.candidates}
    if body.conversation is not None and body.conversation.lane not in looked_at:
        text = f"{body.mode}, {reason_text(body.reason)}"
        yield Alternative(name=view.places.label(body.conversation), text=clean(text), taken=True, seq=event.seq)
    if body.requester is not None and body.requester.lane not in looked_at and body.mode == "bound":
        text = f"requested from there, but the router chose {body.mode}, {reason_text(body.reason)}"
        yield Alternative(name=view.places.label(body.requester), text=clean(text), seq=event.seq)


def _route(view: RunView, event: Event, body: RouteDecided) -> Iterator[Alternative]:
    if body.reply_to is not None:
        text = f"replies go there, {reason_text(body.reply_reason)}"
        yield Alternative(name=view.places.label(body.reply_to), text=clean(text), taken=True, seq=event.seq)
    for one in body.candidates:
        text = f"{one.tier}, {reason_text(one.reason)}"
        yield Alternative(
            name=f"route {view.bindings.name(one.binding)}", text=clean(text), taken=one.chosen, seq=event.seq
        )
    if body.others:
        text = f"{body.others} more are unrelated to this message: {describe(view, event)}"
        yield Alternative(name="other routes", text=clean(text), seq=event.seq)
