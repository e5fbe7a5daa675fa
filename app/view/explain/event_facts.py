"""The recorded facts about an event: about the message, route or delegation that it belongs to.

Nothing is reconstructed. Each fact names the event that recorded it, so that a screen can dim later ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from trunkline.app.text.cells import count, quoted
from trunkline.app.text.fact import Fact, Tone, because, facts
from trunkline.app.view.explain.binding_facts import own_bound_facts, routed_facts, spoken_facts
from trunkline.app.view.explain.policy_facts import policy_facts
from trunkline.app.view.heartbeat.facts import heartbeat_facts
from trunkline.app.view.index.run_index import RunView, typed
from trunkline.app.view.kinds import describe, event_fact
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
from trunkline.core.events.gateway import (
    InboundDropped,
    InboundReceived,
    RouteDecided,
    ToolRefused,
    TurnEnded,
    TurnStarted,
)
from trunkline.core.events.hands import (
    AnswerTurnedAway,
    CallbackChanged,
    CompletionPlanned,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
)
from trunkline.core.events.heartbeat import HeartbeatEnded, HeartbeatSkipped, HeartbeatStarted
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireLookedUp, WireRefused, WireResponseLost
from trunkline.sim.events.world import PeerSaid, PlatformPushed

#: the steps of an intent, by label: after its hooks, and at its end
_STEPS: dict[str, tuple[type[Body], ...]] = {
    "waited": (LaneWaiting,),
    "wire": (WireAccepted, WireRefused, WireResponseLost, WireDeduplicated),
    "decided": (AttemptEnded, RecoveryDecided, WireLookedUp),
    "mirror": (MirrorAppended, MirrorRefused),
}
_ENDS: dict[type[Body], str] = {
    IntentSettled: "ended",
    OperatorActed: "operator",
    IntentReopened: "operator",
    HookSent: "notified",
}
#: the events of a delegation that its explanation lists, by label
_LISTED: dict[str, tuple[type[Body], ...]] = {
    "result": (DelegationFinished, DelegationIgnored),
    "refused": (AnswerTurnedAway,),
    "callback": (CallbackChanged,),
}
#: events that are shown as a warning
_BAD = (WireRefused, WireResponseLost, MirrorRefused, HookFailed, InboundDropped, AnswerTurnedAway)


def facts_of(view: RunView, event: Event) -> Iterator[Fact]:
    """The facts about the intent of an event, else its delegation, else its inbound.

    Some decisions, such as a resolved target or a moved session, are explained by their own fields instead.
    """
    for own in (wire_facts(view, event) if view.wire_side else (), _own(view, event)):
        if found := tuple(own):
            yield from found
            return
    intent = view.of_intent(event.intent)
    accepted = next(typed(view.of_delegation(event.delegation), DelegationAccepted), None)
    inbound = event.inbound or _inbound_after(view, event)
    if prepared := next(typed(intent, IntentPrepared), None):
        yield from _intent(view, *prepared)
        yield from _completion(view, event)
        near = view.nearest(prepared[0].seq, RouteDecided)
        yield from _routes(view, [near] if near else view.of_inbound(inbound))
    elif hooked := next(typed(intent, HookSending), None):
        # Hooks cancelled it: it was never prepared, so neither its text nor its files are stored.
        yield from _steps(view, "hooks", intent, HookSending, HookFailed)
        yield because(hooked[1].reason, hooked[0].seq)
        yield from _ends(view, intent)
    elif accepted:
        yield from _delegation(view, *accepted, event)
        yield from _completion(view, event)
    elif inbound:
        yield from _refusal(event)
        yield from _inbound(view, view.of_inbound(inbound))
        for effect in map(view.event, view.causes.effects(event.seq)):
            if isinstance(effect.body, WireAccepted | IntentSuppressed | DelegationAccepted):
                label = "hands on" if isinstance(effect.body, DelegationAccepted) else "answered"
                yield from _steps(view, label, [effect])
    elif isinstance(event.body, ProcessCrashed):
        yield from _crashed(event, event.body)
    elif not isinstance(event.body, PeerSaid | RunEnded):
        yield Fact("what", describe(view, event), event.seq)


def _own(view: RunView, event: Event) -> Iterator[Fact]:
    """The explanation of a decision by its own fields; nothing for other events."""
    body, name, seq = event.body, view.places.label, event.seq
    if isinstance(body, PolicyDecided):
        started = view.nearest_body(seq, TurnStarted)
        more = facts(seq, ("setting", body.setting and f"tools.message.{body.setting}"))
        yield from policy_facts(body, name, seq, nowhere=started.work.value if started else "nowhere", more=more)
    elif isinstance(body, HeartbeatSkipped | HeartbeatStarted | HeartbeatEnded):
        yield from heartbeat_facts(body, name, seq)
    else:
        yield from own_facts(body, name, seq)
        yield from own_bound_facts(view, event)


def _crashed(event: Event, body: ProcessCrashed) -> Iterator[Fact]:
    """Why a process died; for an exception, where it was raised, and the calls that led there."""
    yield Fact("died", body.why, event.seq, Tone.BAD)
    # The reverse of a traceback, so that a short pane shows where it was raised.
    for number, frame in enumerate(reversed(body.frames)):
        label = "raised" if not number else "called by" if number == 1 else ""
        yield Fact(label, frame, event.seq, Tone.PLAIN if number else Tone.BAD)


def _inbound_after(view: RunView, event: Event) -> str | None:
    """The inbound that a platform event led to; the platform does not know the gateway's ids."""
    if not isinstance(event.body, PeerSaid | PlatformPushed):
        return None
    return next((view.event(seq).inbound for seq in view.causes.effects(event.seq) if view.event(seq).inbound), None)


def _intent(view: RunView, prepared: Event, body: IntentPrepared) -> Iterator[Fact]:
    seq, events = prepared.seq, view.of_intent(prepared.intent)
    yield Fact("says", quoted(body.text), seq)
    chunks = f", {count(body.chunks, 'chunk')}" if body.chunks > 1 else ""
    named = ", the agent named the target" if body.targeted else ""
    yield Fact("to", f"{view.places.label(body.address)}  ({body.intent_kind}{chunks}{named})", seq)
    session = body.named_session and body.mirror_key and f"{body.mirror_key}, named by the sender"
    yield from facts(seq, ("as", body.identity), ("files", ", ".join(body.media)), ("session", session or ""))
    yield because(body.reason, seq)
    for accepted, task in islice(typed(view.of_delegation(prepared.delegation), DelegationAccepted), 1):
        text = f"{view.delegations.of(accepted.delegation)} of hand {task.hand}: {quoted(task.task)}"
        yield Fact("reports", text, accepted.seq)
    yield from _aimed(view, seq)
    yield from _steps(view, "hooks", events, HookSending, HookFailed)
    for event in events:
        if isinstance(event.body, Fallback | TransportFallback):
            yield Fact("fallback", describe(view, event), event.seq, Tone.WARN)
    yield from spoken_facts(view, prepared.intent)
    for label, kinds in _STEPS.items():
        yield from _steps(view, label, events, *kinds)
    yield from _ends(view, events)


def _steps(view: RunView, label: str, events: Iterable[Event], *kinds: type[Body]) -> Iterator[Fact]:
    """A fact for each event of these kinds; without kinds, for all events."""
    for event in events:
        if isinstance(event.body, kinds or Body):
            yield event_fact(view, event, label, Tone.WARN if isinstance(event.body, _BAD) else Tone.PLAIN)


def _ends(view: RunView, events: Iterable[Event]) -> Iterator[Fact]:
    """How an intent ended, what operators did about it, and which hooks were notified."""
    return (event_fact(view, event, _ENDS[type(event.body)]) for event in events if type(event.body) in _ENDS)


def _aimed(view: RunView, seq: int) -> Iterator[Fact]:
    """The client that requested a send, and how its target was resolved."""
    asked = view.nearest(seq, SendRequested)
    for event, body in typed([asked], SendRequested):
        yield from requested_facts(body, event.seq)
    near = (view.nearest(one, TargetResolved) for one in (seq, *(view.causes.children(asked.seq) if asked else ())))
    for resolved, body in islice(typed(near, TargetResolved), 1):
        yield from target_facts(body, view.places.label, resolved.seq)


def _completion(view: RunView, event: Event) -> Iterator[Fact]:
    yield from routed_facts(view, event)
    planned = view.of_delegation(event.delegation, CompletionPlanned) or [view.nearest(event.seq, CompletionPlanned)]
    for plan, body in typed(planned, CompletionPlanned):
        busy = "requester busy" if body.requester_busy else "requester idle"
        yield Fact("plan", f"#{plan.seq} {count(len(body.steps), 'step')}, {busy}", plan.seq)
        for number, step in enumerate(body.steps, 1):
            yield Fact("", f"{number} {step_label(view, step)}: {step.reason.sentence}", plan.seq)


def _routes(view: RunView, events: Iterable[Event]) -> Iterator[Fact]:
    for event, body in typed(events, RouteDecided):
        # Ids of session bindings are long; screens show short names.
        bound = body.matched_by == BOUND_TIER
        shown = msgspec.structs.replace(body, binding=view.bindings.name(body.binding)) if bound else body
        yield from route_facts(shown, view.places.label, event.seq)


def _inbound(view: RunView, events: Sequence[Event]) -> Iterator[Fact]:
    for event, body in typed(events, InboundReceived):
        yield from _steps(view, "said", [view.posted(event.seq) or event])
        chain = f"{body.reply_chain} is a reply chain, not a thread: it is not part of the place"
        yield from facts(event.seq, ("chain", body.reply_chain and chain))
    for event, body in typed(events, InboundDropped):
        yield from _steps(view, "dropped", [event])
        yield because(body.reason, event.seq)
    yield from _routes(view, events)
    yield from _steps(view, "turn", events, TurnEnded)


def _delegation(view: RunView, accepted: Event, body: DelegationAccepted, event: Event) -> Iterator[Fact]:
    """A delegation: the task, who asked, both columns; and why `event` happened to it."""
    kind = f"{body.hand_kind} " if body.hand_kind in ("agent", "worker") else ""
    asked, name = body.asked_by, view.delegations.of
    yield from facts(
        accepted.seq,
        ("task", f"{quoted(body.task)} for {kind}hand {body.hand}  ({name(accepted.delegation)})"),
        ("label", body.label and quoted(body.label)),
        ("origin", f"{view.places.label(body.origin)}, frozen at #{accepted.seq}"),
        ("asked by", asked and f"{asked.name or asked.id} by message {body.message_id or '?'}"),
        ("above", body.parent and f"{name(body.parent)}, whose hand delegated this; depth {body.depth}"),
        ("session", body.session_key),
    )
    yield from _refusal(event)
    for label, kinds in _LISTED.items():
        yield from _steps(view, label, view.of_delegation(accepted.delegation), *kinds)


def _refusal(event: Event) -> Iterator[Fact]:
    """Why a call, an answer or a report was refused, ended or held back."""
    body = event.body
    if isinstance(body, ToolRefused | AnswerTurnedAway):
        yield from facts(event.seq, ("refused", body.detail, Tone.WARN), ("because", body.reason))
    elif isinstance(body, CallbackChanged | DelegationFinished):
        yield from facts(event.seq, ("because", body.reason))
