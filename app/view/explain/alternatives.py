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


#: what a decision says of a place, or of something with a name: the condition, and whether it was taken
_Answer = tuple[Address | str | None, str, bool]


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
    same = (view.of_delegation(event.delegation), view.of_intent(event.intent), view.of_inbound(event.inbound))
    near = (one for events in (path, *same) for one in events)
    return list({one.seq: one for one in near if isinstance(one.body, DECISIONS) and one.seq <= seq}.values())


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
            found = _router(view, event.body)
        case CompletionPlanned(steps=steps):
            found = (
                (one.address, f"a step of the plan ({one.mode}), {reason_text(one.reason)}", True) for one in steps
            )
        case RouteDecided():
            found = _route(view, event, event.body)
        case FallbackDenied(refused=refused, reason=reason):
            found = [(refused, f"fallback denied, {reason_text(reason)}", False)]
        case _:
            found = ()
    for place, text, taken in found:
        if place is not None:
            name = place if isinstance(place, str) else view.places.label(place)
            yield Alternative(name=name, text=clean(text), taken=taken, seq=event.seq)


def _router(view: RunView, body: RouterDecided) -> Iterator[_Answer]:
    for one in body.candidates:
        text = f"{view.bindings.name(one.binding)} {one.status}, {reason_text(one.reason)}"
        yield one.conversation, text, one.chosen
    looked_at = {one.conversation.lane for one in body.candidates}
    decided = f"{body.mode}, {reason_text(body.reason)}"
    if body.conversation is not None and body.conversation.lane not in looked_at:
        yield body.conversation, decided, True
    if body.requester is not None and body.requester.lane not in looked_at and body.mode == "bound":
        yield body.requester, f"requested from there, but the router chose {decided}", False


def _route(view: RunView, event: Event, body: RouteDecided) -> Iterator[_Answer]:
    yield body.reply_to, f"replies go there, {reason_text(body.reply_reason)}", True
    for one in body.candidates:
        yield f"route {view.bindings.name(one.binding)}", f"{one.tier}, {reason_text(one.reason)}", one.chosen
    if body.others:
        text = f"{body.others} more are unrelated to this message: {describe(view, event)}"
        yield "other routes", text, False
