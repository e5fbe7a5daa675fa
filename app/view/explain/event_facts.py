"""The recorded facts about an event: about the message, route or delegation that it belongs to.

Nothing is reconstructed. Each fact names the event that recorded it, so that a screen can dim later ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from trunkline.app.text.cells import clean, count, quoted
from trunkline.app.text.fact import Fact, Tone, because
from trunkline.app.view.explain.binding_facts import own_bound_facts, routed_facts, spoken_facts
from trunkline.app.view.explain.hand_facts import delegation_facts, refusal_facts, reported_fact
from trunkline.app.view.explain.policy_facts import recorded_policy
from trunkline.app.view.heartbeat.facts import recorded_heartbeat
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.app.view.kinds.hands import step_label
from trunkline.app.view.labels.route_facts import own_facts, requested_facts, route_facts, target_facts
from trunkline.app.view.wire_side.facts import wire_facts
from trunkline.core.decisions import BOUND_TIER
from trunkline.core.events import Body, Event
from trunkline.core.events.actions import PolicyDecided
from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import (
    AttemptEnded,
    Fallback,
    HookFailed,
    HookSending,
    HookSent,
    IntentPrepared,
    IntentReopened,
    IntentSettled,
    IntentSuppressed,
    LaneWaiting,
    MirrorAppended,
    MirrorRefused,
    OperatorActed,
    RecoveryDecided,
    SendRequested,
    TargetResolved,
    TransportFallback,
)
from trunkline.core.events.gateway import InboundDropped, InboundReceived, RouteDecided, TurnEnded
from trunkline.core.events.hands import CompletionPlanned, DelegationAccepted
from trunkline.core.events.heartbeat import HeartbeatEnded, HeartbeatSkipped, HeartbeatStarted
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireLookedUp, WireRefused, WireResponseLost
from trunkline.sim.events.world import PeerSaid, PlatformPushed

#: the steps of an intent after its hooks, by label
_STEPS: dict[str, tuple[type[Body], ...]] = {
    "waited": (LaneWaiting,),
    "wire": (WireAccepted, WireRefused, WireResponseLost, WireDeduplicated),
    "decided": (AttemptEnded, RecoveryDecided, WireLookedUp),
    "mirror": (MirrorAppended, MirrorRefused),
}
#: events that are shown as a warning
_BAD = (WireRefused, WireResponseLost, MirrorRefused, HookFailed, InboundDropped)


def facts_of(view: RunView, event: Event) -> Iterator[Fact]:
    """The facts about the intent of an event, else its delegation, else its inbound.

    Some decisions, such as a resolved target or a moved session, are explained by their own fields instead.
    """
    if view.wire_side and (found := tuple(wire_facts(view, event))):
        yield from found
        return
    own = (*own_facts(event.body, view.places.label, event.seq), *own_bound_facts(view, event))
    if isinstance(event.body, PolicyDecided):
        own = tuple(recorded_policy(view, event))
    elif isinstance(event.body, HeartbeatSkipped | HeartbeatStarted | HeartbeatEnded):
        own = tuple(recorded_heartbeat(view, event))
    if own:
        yield from own
        return
    intent = view.of_intent(event.intent, IntentPrepared)
    delegation = view.of_delegation(event.delegation, DelegationAccepted)
    inbound = event.inbound or _inbound_after(view, event)
    if intent:
        yield from _intent(view, intent[0])
        yield from _completion(view, event)
        yield from _routes(view, intent[0], inbound)
    elif hooked := view.of_intent(event.intent, HookSending):
        yield from _cancelled(view, hooked[0])
    elif delegation:
        yield from delegation_facts(view, delegation[0], event)
        yield from _completion(view, event)
    elif inbound:
        yield from refusal_facts(event)
        yield from _inbound(view, inbound)
        yield from _answers(view, event)
    elif isinstance(event.body, ProcessCrashed):
        yield from _crashed(event, event.body)
    elif not isinstance(event.body, PeerSaid | RunEnded):
        yield Fact(label="what", text=describe(view, event), seq=event.seq)


def _crashed(event: Event, body: ProcessCrashed) -> Iterator[Fact]:
    """Why a process died; for an exception, where it was raised, and the calls that led there."""
    yield Fact(label="died", text=clean(body.why), tone=Tone.BAD, seq=event.seq)
    # The reverse of a traceback, so that a short pane shows where it was raised.
    for number, frame in enumerate(reversed(body.frames)):
        label = "raised" if not number else "called by" if number == 1 else ""
        yield Fact(label=label, text=clean(frame), tone=Tone.PLAIN if number else Tone.BAD, seq=event.seq)


def _inbound_after(view: RunView, event: Event) -> str | None:
    """The inbound that a platform event led to; the platform does not know the gateway's ids."""
    if not isinstance(event.body, PeerSaid | PlatformPushed):
        return None
    return next((view.event(seq).inbound for seq in view.causes.effects(event.seq) if view.event(seq).inbound), None)


def _intent(view: RunView, prepared: Event) -> Iterator[Fact]:
    body = prepared.body
    assert isinstance(body, IntentPrepared)
    yield Fact(label="says", text=quoted(body.text), seq=prepared.seq)
    chunks = f", {count(body.chunks, 'chunk')}" if body.chunks > 1 else ""
    named = ", the agent named the target" if body.targeted else ""
    yield Fact(
        label="to", text=f"{view.places.label(body.address)}  ({body.intent_kind}{chunks}{named})", seq=prepared.seq
    )
    if body.identity:
        yield Fact(label="as", text=clean(body.identity), seq=prepared.seq)
    if body.media:
        yield Fact(label="files", text=clean(", ".join(body.media)), seq=prepared.seq)
    if body.named_session and body.mirror_key:
        yield Fact(label="session", text=f"{clean(body.mirror_key)}, named by the sender", seq=prepared.seq)
    yield because(body.reason, prepared.seq)
    yield from reported_fact(view, prepared)
    yield from _aimed(view, prepared)
    yield from _hooks(view, prepared.intent)
    for event in view.of_intent(prepared.intent, Fallback, TransportFallback):
        yield Fact(label="fallback", text=describe(view, event), tone=Tone.WARN, seq=event.seq)
    yield from spoken_facts(view, prepared.intent)
    for label, kinds in _STEPS.items():
        yield from (_numbered(label, view, event) for event in view.of_intent(prepared.intent, *kinds))
    yield from _ends(view, prepared.intent)


def _hooks(view: RunView, intent: str | None) -> Iterator[Fact]:
    yield from (_numbered("hooks", view, event) for event in view.of_intent(intent, HookSending, HookFailed))


def _ends(view: RunView, intent: str | None) -> Iterator[Fact]:
    """How the intent ended, what operators did about it, and which hooks were notified."""
    for event in view.of_intent(intent, IntentSettled, OperatorActed, IntentReopened, HookSent):
        ended, notified = isinstance(event.body, IntentSettled), isinstance(event.body, HookSent)
        yield _numbered("ended" if ended else "notified" if notified else "operator", view, event)


def _cancelled(view: RunView, event: Event) -> Iterator[Fact]:
    """An intent that hooks cancelled: it was never prepared, so neither its text nor its files are stored."""
    yield from _hooks(view, event.intent)
    assert isinstance(event.body, HookSending)
    yield because(event.body.reason, event.seq)
    yield from _ends(view, event.intent)


def _aimed(view: RunView, prepared: Event) -> Iterator[Fact]:
    """The client that requested the send, and how its target was resolved."""
    asked = view.nearest(prepared.seq, SendRequested)
    if asked is not None and isinstance(asked.body, SendRequested):
        yield from requested_facts(asked.body, asked.seq)
    steps = [prepared.seq, *(view.causes.children(asked.seq) if asked else ())]
    near = (view.nearest(seq, TargetResolved) for seq in steps)
    resolved = next((event for event in near if event is not None), None)
    if resolved is not None and isinstance(resolved.body, TargetResolved):
        yield from target_facts(resolved.body, view.places.label, resolved.seq)


def _numbered(label: str, view: RunView, event: Event) -> Fact:
    tone = Tone.WARN if isinstance(event.body, _BAD) else Tone.PLAIN
    return Fact(label=label, text=f"#{event.seq} {describe(view, event)}", tone=tone, seq=event.seq)


def _completion(view: RunView, event: Event) -> Iterator[Fact]:
    yield from routed_facts(view, event)
    planned = view.of_delegation(event.delegation, CompletionPlanned)
    near = view.nearest(event.seq, CompletionPlanned)
    for plan in planned or ([near] if near else []):
        body = plan.body
        assert isinstance(body, CompletionPlanned)
        busy = "requester busy" if body.requester_busy else "requester idle"
        yield Fact(label="plan", text=f"#{plan.seq} {count(len(body.steps), 'step')}, {busy}", seq=plan.seq)
        for number, step in enumerate(body.steps, 1):
            yield Fact(label="", text=f"{number} {step_label(view, step)}: {step.reason.sentence}", seq=plan.seq)


def _routes(view: RunView, event: Event, inbound: str | None) -> Iterator[Fact]:
    near = view.nearest(event.seq, RouteDecided)
    for route in [near] if near else view.of_inbound(inbound, RouteDecided):
        yield from _route(view, route)


def _route(view: RunView, event: Event) -> Iterator[Fact]:
    body = event.body
    assert isinstance(body, RouteDecided)
    if body.matched_by == BOUND_TIER:
        # Ids of session bindings are long; screens show short names.
        body = msgspec.structs.replace(body, binding=view.bindings.name(body.binding))
    yield from route_facts(body, view.places.label, event.seq)


def _inbound(view: RunView, inbound: str) -> Iterator[Fact]:
    for event in view.of_inbound(inbound, InboundReceived):
        yield _numbered("said", view, view.posted(event.seq) or event)
        assert isinstance(event.body, InboundReceived)
        if event.body.reply_chain:
            text = f"{clean(event.body.reply_chain)} is a reply chain, not a thread: it is not part of the place"
            yield Fact(label="chain", text=text, seq=event.seq)
    for event in view.of_inbound(inbound, InboundDropped):
        assert isinstance(event.body, InboundDropped)
        yield _numbered("dropped", view, event)
        yield because(event.body.reason, event.seq)
    for event in view.of_inbound(inbound, RouteDecided):
        yield from _route(view, event)
    yield from (_numbered("turn", view, event) for event in view.of_inbound(inbound, TurnEnded))


def _answers(view: RunView, event: Event) -> Iterator[Fact]:
    for seq in view.causes.effects(event.seq):
        found = view.event(seq)
        if isinstance(found.body, WireAccepted | IntentSuppressed | DelegationAccepted):
            label = "hands on" if isinstance(found.body, DelegationAccepted) else "answered"
            yield _numbered(label, view, found)
